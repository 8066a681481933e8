"""Lowerings: how an operation becomes kernel code, as data. A closed set, matched in one place
(schedule/lower.py).

Shapes are tuples of `Int`; index maps take and return tuples of `Int` (affine expressions of loop
indices mostly). `types` below means the operation's input types: objects with `.shape` and
`.dtype`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from .integers import Int
from .records import Record

Indices: TypeAlias = tuple[Int, ...]


class Pointwise(Record):
    """`out[i] = code(in0[i], in1[i], ...)` after broadcasting; operands are cast to the operation's
    compute dtypes first.

    `code` is a template over the operation's input names, calling only functions of
    `codegen.native.scalar`; `"{0}"`, `"{1}"`, ... name the element's own indices (int64), `{dtype}`
    the result's dtype name. A callable receives the parameters and returns the template.
    """

    code: str | Callable[[dict[str, Any]], str]
    cost: int = 1
    """How many additions it takes the time of, measured in vectorised loops; above 20 a value read
    from several nests is stored."""
    of_complex: str | Callable[[dict[str, Any]], str] = ""
    """The code for complex operands, where that is another one."""

    def template(self, params: dict[str, Any], dtypes: Iterable[np.dtype[Any]] = ()) -> str:
        """The code for these parameters, and operands of these dtypes."""
        code = self.code
        if self.of_complex and any(dtype.kind == "c" for dtype in dtypes):
            code = self.of_complex
        return code if isinstance(code, str) else code(params)


class Reduce(Record):
    """Combine over `params["axes"]` (a tuple of axes, which disappear)."""

    combine: str
    identity: float | int | bool | str
    """A number, or "lowest" / "highest" of the input's dtype."""


class ArgReduce(Record):
    """Index of the first extreme element along `params["axis"]` (an int), NaN counted as extreme
    like NumPy's."""

    combine: str


class Scan(Record):
    """Inclusive running combine along `params["axis"]`, backwards where `params["reverse"]`."""

    combine: str


class View(Record):
    """No work: `out[i] = in[index(i)]`. `index(out_index, in_shape, out_shape, params) ->
    in_index`.

    `reshape=True` marks the maps that keep the C order of all elements: such a view of a contiguous
    buffer is an alias.
    """

    index: Callable[[Indices, tuple[Int, ...], tuple[Int, ...], dict[str, Any]], Indices]
    reshape: bool = False


class Box(Record):
    """One part of a piecewise operation: for `lo <= i < hi` (per axis), the value is input `source`
    at `index(i)`."""

    lo: Indices
    hi: Indices
    source: int
    index: Callable[[Indices], Indices]


class Piecewise(Record):
    """The output box cut into boxes with their own index maps; elements in no box are zero (pad,
    concatenate).

    `boxes(in_shapes, out_shape, params) -> tuple[Box, ...]`, disjoint.
    """

    boxes: Callable[[tuple[tuple[Int, ...], ...], tuple[Int, ...], dict[str, Any]], tuple[Box, ...]]
    absent: Callable[[dict[str, Any]], bool] = lambda params: False
    """Whether, with these parameters, an element in no box is no number at all, so that adding it
    adds nothing."""


class Run(Record):
    """A place along an axis that is known only while a kernel runs: `offset` from the value at
    `position` of input `which`.

    `low` and `high` from that value are the ends of all places that it stands for, which must be
    inside the axis; below `-from_end` it counts from the end of the axis.
    """

    which: int
    position: Indices
    offset: Int = 0
    low: Int = 0
    high: Int = 1
    from_end: Int = 0


class Gather(Record):
    """`out[i] = source[index(i, indices read at i)]`, indices checked and clamped.

    Inputs are (source, index arrays...). `index(out_index, in_shapes, params)` returns one entry
    per source axis: an `Int` or a `Run`.
    """

    index: Callable[[Indices, tuple[tuple[Int, ...], ...], dict[str, Any]], tuple[Any, ...]]


class Scatter(Record):
    """A copy of input 0 into which input 1 is stored or combined at the places a Gather with inputs
    (0, 2...) would read.

    Inputs are (target, updates, index arrays...). `index` as Gather's, over the updates' index
    space; `combine` is None to overwrite, in order, or "add". A callable receives the parameters.
    """

    index: Callable[[Indices, tuple[tuple[Int, ...], ...], dict[str, Any]], tuple[Any, ...]]
    combine: str | None = None


class Library(Record):
    """A routine of `codegen.native.library` over whole contiguous buffers: BLAS, LAPACK.

    `call(in_types, out_types, params) -> (routine, extra)`: the routine is called as
    `routine(inputs..., outputs..., *extra)`. `absorbs_transpose` names the inputs for which a
    last-two-axes transpose may be absorbed: the routine then gets flags `(transposed_k...)` before
    `extra`. `absorbs_scale` names inputs and, for each, the axis (counted from the end) along which
    the routine sums: a factor that varies along that axis only may be taken out of one of them. The
    routine is then called `routine_scaled` and gets the factor after the inputs.
    """

    call: Callable[[Any, Any, dict[str, Any]], tuple[str, tuple[Any, ...]]]
    absorbs_transpose: tuple[int, ...] = ()
    absorbs_scale: tuple[tuple[int, int], ...] = ()
    share: Callable[[Any, Any], tuple[Int, Int]] | None = None
    """`share(in_types, out_types) -> (parts, work)`: into how many parts the routine may be
    divided, and its work in additions. Where it is more than one part, the routine gets `(part,
    parts)` after all else. It uses no threads of its own."""


class Kernel(Record):
    """An own sequential routine of `codegen.native.routines`: sort, searchsorted. Called like a
    Library routine."""

    call: Callable[[Any, Any, dict[str, Any]], tuple[str, tuple[Any, ...]]]


class Region(Record):
    """A loop, branch or block whose body is a sub-graph in the parameters; `kind` is "scan",
    "while", "switch", "sized", "taped" or "block"."""

    kind: str


SCAN, WHILE, SWITCH, SIZED, TAPED, BLOCK = map(
    Region, ("scan", "while", "switch", "sized", "taped", "block")
)
"""All kinds of regions: `op.lowering is SCAN` asks whether a node is such a loop."""


class Effect(Record):
    """Something that is done for its own sake, in its turn; `kind` is "check", "show" or
    "host"."""

    kind: str


CHECK = Effect("check")
"""Record an error where the operand is not 0: which of `params["errors"]`, counted from 1."""
SHOW = Effect("show")
"""Print the operands: what a graph prints becomes results of it before it is scheduled."""
HOST = Effect("host")
"""What Python computes of the operands: the graph is run in parts, before and behind it."""

Lowering: TypeAlias = (
    Pointwise
    | Reduce
    | ArgReduce
    | Scan
    | View
    | Piecewise
    | Gather
    | Scatter
    | Library
    | Kernel
    | Region
    | Effect
)
