"""Functions of the user as regions: closed graphs whose captured values become operands of the node
that holds them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import INT64, is_differentiable
from ..errors import ConcretizationError, TracegradError
from ..faces.certainty import gives_in_order, see_in_order
from ..ir.assigned import parameters_of
from ..ir.dispatch import STATE, bind
from ..ir.evaluate import evaluate
from ..ir.forms import NOTHING, About, bounded, form_of
from ..ir.graph import Graph
from ..ir.op import Op
from ..ir.trace import Trace, user_line
from ..ops import broadcast_to, moveaxis
from ..sizes import form, same_shape
from ..tape.copies import copied
from ..tape.engine import zeros
from ..tape.mode import MODE
from ..tape.modes import restoring
from ..tensor import Array, Boxed, inside
from ..transforms.derive import with_axis
from ..transforms.tracing import Standing, Traced, check_leaf, face_of, leaf_type, trace_function
from ..transforms.weak import as_array, explicit, for_arrays, types_of
from ..tree import flatten, input_names, map_leaves
from ..types import ArrayType, Int

_REPEATED = (
    "which is traced once whatever number of times it runs. "
    "Make it part of the loop's carry or of the branches' results, or change it outside."
)
NUMBERS = (bool, int, float, complex)
ARRAYS = (Boxed, np.generic, np.ndarray)
VALUES: tuple[type[Any], ...] = (*ARRAYS, *NUMBERS)
"""What has an array's type."""


class TracedRegion(NamedTuple):
    """A traced function: its graph over (arguments..., captures...), in which all are arrays, and
    what it captured."""

    graph: Graph
    captures: list[Any]
    out_spec: Any
    """The structure of its result."""
    kinds: tuple[ArrayType, ...]
    """The types of its results, of which Python's numbers are weak."""
    as_arrays: bool
    """Whether it computes the same where its arguments are arrays in place of Python's numbers."""
    writes: tuple[int, ...] = ()
    """The arguments that it writes into, of a region that tells: their new values are the last
    outputs of its graph."""

    def run(
        self, arguments: Sequence[Any], captures: Sequence[Any], values: Sequence[Any]
    ) -> list[Any]:
        """The results for these arguments, where `values` stand for `captures`, those of this
        region among them."""
        at = {_identity(c): v for c, v in zip(captures, values, strict=True)}
        return evaluate(self.graph, [*arguments, *[at[_identity(c)] for c in self.captures]])


def captured(*regions: TracedRegion) -> list[Any]:
    """What several regions capture, each once."""
    return list({_identity(c): c for r in regions for c in r.captures}.values())


def _identity(x: Any) -> Any:
    """What is equal of two captured values that are one, with one history: as two operands they
    would have two cotangents."""
    if not isinstance(x, Boxed) or x._base is not None or (x._requires_grad and not x._grad_fn):
        return id(x)
    return id(x._data), id(x._grad_fn), x._output_nr, id(x._tangents)


def region(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    types: Sequence[ArrayType],
    who: str,
    name: str = "body",
    tells: bool = False,
) -> TracedRegion:
    """Trace `function(*args)` for leaves of these types. What it writes into its arguments stays
    inside, unless it `tells` that."""
    leaves, spec = flatten((args, {}))
    sizes = STATE.traces[-1].sizes if STATE.traces else None
    # A step may be differentiated whatever its first operands are; where a rule is being run, its
    # own graph stays open to derivatives.
    standing = [Standing(MODE.enabled and is_differentiable(t.dtype)) for t in types]
    parameters = parameters_of(inspect.unwrap(function))
    traced = trace_function(
        function,
        spec,
        types,
        [face_of(x) for x in leaves],
        input_names(parameters, spec, ()) if parameters else (),
        name,
        sizes,
        standing=standing,
        repeated=_REPEATED,
    )
    if traced.rests:
        _see_layout(who, traced, leaves, types)
    if traced.generators:
        raise TracegradError(
            f"{user_line()}: {who} draws random numbers; draw them before, and pass them in"
        )
    count = len(traced.out_boxed)
    writes = traced.writes if tells else ()
    graph = traced.graph.replace(outputs=traced.graph.outputs[: count + len(writes)])
    return TracedRegion(
        explicit(graph),
        traced.captures,
        traced.out_spec,
        tuple(types_of(graph.outputs[:count])),
        for_arrays(graph),
        writes,
    )


def _see_layout(
    who: str, traced: Traced, leaves: Sequence[Any], types: Sequence[ArrayType]
) -> None:
    """See that what a region takes to lie in C order does: what it is given, the rows of arrays,
    and what it gives, which a loop's next step is given."""
    rows = [
        None if same_shape(leaf_type(x).shape, t.shape) else 0
        for x, t in zip(leaves, types, strict=True)
    ]
    see_in_order(who, traced.rests, leaves, rows)
    if not gives_in_order(traced.graph):
        raise ConcretizationError(
            f"{next(iter(traced.rests.values()))}: {who} writes into a reshape here, which is a "
            "view of arrays in C order, and a copy of others; and what it gives need not lie so. "
            "Reshape a copy, or give np.ascontiguousarray of the results."
        )


def in_range(body: Callable[[Any, Any], Any], lower: Any, upper: Any) -> Callable[[Any, Any], Any]:
    """The body, which tells between which numbers its first argument is."""
    ends = form_of(form(lower)), form_of(form(upper))

    @functools.wraps(body)
    def counted(i: Any, carry: Any) -> Any:
        bounded(i, *ends)
        return body(i, carry)

    return counted


def operands_of(tree: Any, who: str) -> list[Any]:
    """The leaves of a tree of arrays and numbers, as values of the innermost trace."""
    leaves = flatten(tree)[0]
    for x in leaves:
        check_leaf(x, f"{who} holds")
    return [inside(x) for x in leaves]


@restoring
def closed(
    name: str,
    function: Callable[..., Any],
    types: Sequence[ArrayType],
    like: Graph,
    known: About = NOTHING,
) -> Graph:
    """The graph of `function` over values of these types, of which so much is known; that it
    captures anything is a defect of a rule."""
    trace = Trace(name, like.sizes)
    with trace:
        boxes = [Array(trace.input(t)) for t in types]
        known.tell(trace, boxes)
        graph, captures = trace.finish(list(function(*boxes)))
    assert not captures, name
    return graph


def strong(x: Any) -> ArrayType:
    """The type of a value as an operand of a region, where Python's numbers are arrays."""
    return as_array(leaf_type(x))


def zero(x: Any) -> Any:
    """A zero of a value's type."""
    return zeros(strong(x))


def path_of(path: Sequence[Any]) -> str:
    """Where in a tree a leaf stands, as its reader would write it."""
    return "".join(f"[{p!r}]" for p in path) or "itself"


def made_by(*results: Any) -> str:
    """Where results of regions were made, as the end of a sentence; nothing where that is not
    known."""
    origins = [getattr(x, "origin", None) or ("", "", "") for x in results]
    places = [f"{op} at {where}" for _, op, where in origins if where]
    return f". Made by {' and '.join(places)}" if places else ""


def aligned(
    graph: Graph,
    places: Sequence[int | None],
    size: Int,
    like: Graph,
    types: Sequence[ArrayType],
    name: str,
) -> Graph:
    """A batched graph with the batch axis of every output in front."""

    def function(*values: Any) -> list[Any]:
        return [
            with_axis(o, a, size, 0) for o, a in zip(evaluate(graph, values), places, strict=True)
        ]

    return closed(name, function, types, like)


def one_by_one(
    op: Op,
    loop: Op,
    values: Sequence[Any],
    axes: Sequence[int | None],
    size: Any,
    params: dict[str, Any],
    like: Graph,
) -> Any:
    """The batch of an operation as a loop over its items: for control flow that each item decides
    for itself."""
    order = sorted(range(len(values)), key=lambda k: axes[k] is not None)
    fixed = sum(a is None for a in axes)
    operands = [
        values[k] if (axis := axes[k]) is None else moveaxis(values[k], axis, 0) for k in order
    ]
    types = [
        ArrayType(t.dtype, t.shape if k < fixed else t.shape[1:])
        for k, t in enumerate(map(strong, operands))
    ]
    types.insert(fixed, ArrayType(INT64, ()))

    def item(*given: Any) -> list[Any]:
        # Between what is fixed and what is sliced a body is told the number of its step.
        sorted_back = dict(zip(order, given[:fixed] + given[fixed + 1 :], strict=True))
        found = bind(op, [sorted_back[k] for k in range(len(values))], params)
        return [found] if op.outputs == 1 else list(found)

    body = closed(f"{op.name}_item", item, types, like)
    found = bind(
        loop,
        operands,
        {"body": body, "constants": fixed, "carries": 0, "length": size, "reverse": False},
    )
    return list(found), [0] * len(found)


def repeated(x: Any, axis: int | None, size: Int) -> Any:
    """A value with the batch axis in front."""
    return broadcast_to(x, (size, *x.shape)) if axis is None else moveaxis(x, axis, 0)


def own(tree: Any) -> Any:
    """A tree of arrays that a function may write into."""

    def array(c: Any) -> Any:
        check_leaf(c, "the initial value holds")
        return np.asarray(c)[()] if isinstance(c, NUMBERS) else copied(c)

    return map_leaves(array, tree)


def check_functions(who: str, **given: Any) -> None:
    """A TypeError where something given is no function."""
    for name, function in given.items():
        if not callable(function):
            raise TypeError(
                f"{user_line()}: {who}: {name} must be a function, not {type(function).__name__}"
            )
