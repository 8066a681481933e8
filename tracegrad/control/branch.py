"""`cond` and `switch`: of several functions one is computed, and so in every derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._codegen import lowering
from ..checks import array, describe
from ..checks.ranges import out_of_range
from ..devices import to_host
from ..errors import ConcretizationError, ShapeError, TracegradError
from ..ir.dispatch import STATE, bind
from ..ir.evaluate import evaluate
from ..ir.forms import about
from ..ir.graph import Graph, Var
from ..ir.op import Types, op
from ..ir.trace import user_line
from ..ops import convert
from ..ops.elementwise.arithmetic import number
from ..tensor import Boxed, inside
from ..transforms.derive import adjoints, batched, captures_of, tangent
from ..transforms.tracing import leaf_type, plain
from ..transforms.weak import agreed, as_array, ends_of_atom
from ..tree import flatten, other_orders, unflatten
from ..types import ArrayType
from .region import (
    TracedRegion,
    aligned,
    captured,
    check_functions,
    closed,
    made_by,
    one_by_one,
    operands_of,
    path_of,
    region,
    strong,
)
from .scan_rules import scan_op

# Inputs of the operation: the number of the branch (an integer, or a bool of two branches), then
# the inputs of every branch.


def _infer(index: Any, *operands: Any, branches: tuple[Graph, ...]) -> Types:
    if index.type.shape != () or index.type.dtype.kind not in "biu":
        raise ShapeError(
            f"switch: the number of the branch is one integer or bool, not {index.type}"
        )
    return branches[0].output_types


def _evaluate(index: Any, *operands: Any, branches: tuple[Graph, ...]) -> tuple[Any, ...]:
    branch = branches[_checked(int(index), len(branches))]
    return tuple(
        np.array(o, t.dtype)
        for o, t in zip(evaluate(branch, operands), branch.output_types, strict=True)
    )


def _checked(index: int, count: int) -> int:
    if not 0 <= index < count:
        raise out_of_range(f"switch: index {index} is out of range for {count} branches")
    return index


def _vjp(
    cts: Any, inputs: Any, outs: Any, wanted: Any, *, branches: tuple[Graph, ...]
) -> list[Any]:
    index, *operands = inputs
    given = [ct is not None for ct in cts]
    known = about(operands)
    adjoined = adjoints(branches, wanted[1:], given, known)
    derived, around = _alike(adjoined.graphs)
    if not derived[0].outputs:
        return [None] * len(inputs)
    results = [outs[k] for k in adjoined.results]
    cotangents = [ct for ct in cts if ct is not None]
    found = bind(
        switch_op, [index, *operands, *results, *cotangents, *around], {"branches": derived}
    )
    return [None, *adjoined.spread(found)]


def _jvp(tangents: Any, inputs: Any, outs: Any, *, branches: tuple[Graph, ...]) -> list[Any]:
    given = [t is not None for t in tangents[1:]]
    derived, around = _alike([tangent(b, given) for b in branches])
    return list(
        bind(
            switch_op,
            [*inputs, *[t for t in tangents[1:] if t is not None], *around],
            {"branches": derived},
        )
    )


def _alike(graphs: Sequence[Graph]) -> tuple[tuple[Graph, ...], list[Any]]:
    """Derived branches that all take what the rules of the user's in any of them read around them,
    and these values."""
    captures = [captures_of(g, "a branch") for g in graphs]
    around = [x for found in captures for x in found]
    if not around:
        return tuple(graphs), []
    made, start = [], 0
    for graph, found in zip(graphs, captures, strict=True):
        count, own = len(graph.inputs) - len(found), slice(start, start + len(found))

        def branch(
            *v: Any, graph: Graph = graph, count: int = count, own: slice = own
        ) -> list[Any]:
            return evaluate(graph, [*v[:count], *v[count:][own]])

        types = [*[x.type for x in graph.inputs[:count]], *map(strong, around)]
        made.append(closed(graph.name, branch, types, graph))
        start += len(found)
    return tuple(made), around


def _batch(values: Any, axes: Any, size: Any, *, branches: tuple[Graph, ...]) -> Any:
    if axes[0] is not None:
        return one_by_one(
            switch_op, scan_op, values, axes, size, {"branches": branches}, branches[0]
        )
    types = [strong(v) for v in values[1:]]
    derived = tuple(aligned(*batched(b, axes[1:], size), size, b, types, b.name) for b in branches)
    return list(bind(switch_op, values, {"branches": derived})), [0] * len(branches[0].outputs)


switch_op = op(
    "switch",
    ["inputs"],
    evaluate=_evaluate,
    infer=_infer,
    vjp=_vjp,
    jvp=_jvp,
    batch=_batch,
    lowering=lowering.SWITCH,
    variadic=True,
    outputs=0,
    doc="One of several graphs, chosen by number.",
)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`, where only that branch is computed, and only its derivative.

    index       an integer, which may be traced; an IndexError where there is no such branch
    operands    trees of arrays; what the branches read around them (closures) counts as well

    All branches return the same structure, shapes and dtypes; eagerly a branch is called like any
    Python function.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> f = tg.jit(lambda k, x: tg.switch(k, [np.sin, np.cos, np.sqrt], x))
    >>> f(2, 9.0)
    np.float64(3.0)
    """
    if callable(branches):
        raise TypeError(
            f"{user_line()}: switch: branches is a sequence of functions, not one function"
        )
    branches = list(branches)
    if not branches:
        raise ValueError(f"{user_line()}: switch: give at least one branch")
    check_functions("switch", **{f"branch {k}": b for k, b in enumerate(branches)})
    number = _known(index, "switch: the number of the branch", "iub")
    if number is not None:
        return branches[_checked(int(number), len(branches))](*operands)
    return _chosen(index, branches, operands, "switch")


def cond(
    predicate: Any,
    true_function: Callable[..., Any],
    false_function: Callable[..., Any],
    *operands: Any,
) -> Any:
    """`true_function(*operands)` where the predicate holds, else `false_function(*operands)`; the
    other one is not computed.

    predicate   one bool (or number, true where it is not 0), which may be traced
    operands    trees of arrays; what the functions read around them (closures) counts as well

    Both return the same structure, shapes and dtypes; eagerly this is Python's `if`. Derivatives
    are those of the function taken: a NaN or a singular point of the other one does not reach them.
    (`np.where` computes both, and chooses by element.)

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> f = tg.jit(lambda x: tg.cond(x > 0, np.sqrt, np.zeros_like, x))
    >>> f(4.0), tg.grad(f)(4.0), tg.grad(f)(-1.0)
    (np.float64(2.0), np.float64(0.25), np.float64(0.0))
    """
    check_functions("cond", true_function=true_function, false_function=false_function)
    truth = _known(predicate, "cond: the predicate", "iubf")
    if truth is not None:
        return (true_function if truth else false_function)(*operands)
    flag = predicate if predicate.dtype.kind == "b" else predicate != 0
    return _chosen(flag, [false_function, true_function], operands, "cond")


def _known(value: Any, who: str, kinds: str) -> Any:
    """The value, where it is no traced one (then None): a Python number."""
    wanted = "an integer" if "f" not in kinds else "a bool or a number"
    try:
        dtype = leaf_type(value).dtype if isinstance(value, Boxed) else array(value).dtype
    except TypeError:
        raise TypeError(f"{user_line()}: {who} must be {wanted}, not {describe(value)}") from None
    if dtype.kind not in kinds:
        raise TypeError(f"{user_line()}: {who} must be {wanted}, not of dtype {dtype}")
    shape = leaf_type(value).shape if isinstance(value, Boxed) else np.shape(value)
    if shape != ():
        raise ShapeError(
            f"{user_line()}: {who} must be one value, it has shape {shape}; "
            "use tg.where to choose by element, or tg.vmap"
        )
    if isinstance(value, Boxed):
        if isinstance(value._data, Var) or STATE.traces:
            return None
        return to_host(value._data).item()
    return value if isinstance(value, (bool, int, float)) else np.asarray(value).item()


def _chosen(
    index: Any, functions: Sequence[Callable[..., Any]], operands: tuple[Any, ...], who: str
) -> Any:
    if not STATE.traces:
        raise ConcretizationError(
            f"{user_line()}: {who} got a traced value outside of the function that was traced"
        )
    leaves = operands_of(operands, f"{who}: an operand")
    types = list(map(leaf_type, flatten(operands)[0]))
    names = (
        ["if_false", "if_true"] if who == "cond" else [f"branch_{k}" for k in range(len(functions))]
    )
    regions = [
        region(f, operands, types, f"{who}: a branch", name, tells=True)
        for f, name in zip(functions, names, strict=True)
    ]
    kinds = _agreed(regions, who, names)
    count, written = len(kinds), sorted({k for r in regions for k in r.writes})
    captures = captured(*regions)
    targets = _targets(flatten(operands)[0], written, captures, who)
    given = [*leaves, *captures]
    every = [strong(x) for x in given]

    def whole(r: TracedRegion) -> Graph:
        def function(*values: Any) -> list[Any]:
            found = r.run(values[: len(leaves)], captures, values[len(leaves) :])
            new = {**dict(enumerate(values)), **dict(zip(r.writes, found[count:], strict=True))}
            return [
                *[convert(o, t.dtype) for o, t in zip(found[:count], kinds, strict=True)],
                *[new[k] for k in written],
            ]

        return closed(r.graph.name, function, every, r.graph)

    found = bind(switch_op, [inside(index), *given], {"branches": tuple(map(whole, regions))})
    for target, new in zip(targets, found[count:], strict=True):
        target._write(new)
    return unflatten(
        regions[0].out_spec,
        [number(o) if t.weak else plain(o) for o, t in zip(found[:count], kinds, strict=True)],
    )


def _targets(
    leaves: Sequence[Any], written: Sequence[int], captures: Sequence[Any], who: str
) -> list[Any]:
    """The operands that branches write into, as `if` would write into them."""
    found = [leaves[k] for k in written]
    for x in found:
        if not isinstance(x, Boxed):
            raise TracegradError(
                f"{user_line()}: {who}: a branch writes into an operand that is a plain array, "
                "which a branch on a traced value cannot carry out. Return the new value."
            )
        if sum(isinstance(y, Boxed) and x._root is y._root for y in (*leaves, *captures)) > 1:
            raise TracegradError(
                f"{user_line()}: {who}: a branch writes into an operand whose memory another one "
                "shows, or which a branch reads from outside, too. Give it once, and read what is "
                "given, or return the new value."
            )
    return found


def _agreed(regions: Sequence[TracedRegion], who: str, names: Sequence[str]) -> list[ArrayType]:
    """The types of the results, a TypeError where the branches differ. A Python number takes the
    dtype that the others have."""
    first = regions[0]
    kinds, ends = list(first.kinds), [*map(ends_of_atom, first.graph.outputs)]
    for r, name in zip(regions[1:], names[1:], strict=True):
        if r.out_spec != first.out_spec:
            raise TypeError(
                f"{user_line()}: {who}: {names[0]} returns {first.out_spec}, "
                f"{name} returns {r.out_spec}; the structures must agree"
            )
        if other := other_orders(r.out_spec, first.out_spec):
            raise TypeError(
                f"{user_line()}: {who}: in the result of {name} {other} as in that of {names[0]}; "
                "give both the same order"
            )
        for k, (path, a, b) in enumerate(zip(first.out_spec.paths(), kinds, r.kinds, strict=True)):
            own = ends_of_atom(r.graph.outputs[k])
            joined = agreed(a, b, ends[k], own)
            if joined is None:
                raise TypeError(
                    f"{user_line()}: {who}: the result {path_of(path)} is "
                    f"{as_array(a)} from {names[0]} and {as_array(b)} from {name}; "
                    "make the shapes and dtypes agree (np.broadcast_to, "
                    f".astype){made_by(first.graph.outputs[k], r.graph.outputs[k])}"
                )
            kinds[k] = joined
            known = ends[k] is not None and own is not None
            ends[k] = (min(ends[k][0], own[0]), max(ends[k][1], own[1])) if known else None
    return kinds


OPS = (switch_op,)
__all__ = ["cond", "switch", "switch_op"]
