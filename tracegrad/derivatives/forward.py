"""Forward mode: jvp and linearize, which run a function on dual numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks import pair_of
from ..devices import CPU
from ..dtypes import is_differentiable, kind_of
from ..errors import DTypeError, ShapeError
from ..ir.aside import AsideTrace
from ..ir.dispatch import STATE
from ..ir.evaluate import evaluate
from ..ir.graph import Graph, Var
from ..ir.levels import forward_level
from ..ir.trace import user_line
from ..labels import values_of
from ..ops import convert
from ..ops.arrays.transfer import place_of, transfer
from ..sizes import forms
from ..staging.session import staged
from ..tape.copies import unshared
from ..tape.hooks import boxed
from ..tape.modes import restoring
from ..tensor import Array, Boxed, Tensor, primal
from ..transforms.history import cut_history, history_of
from ..transforms.tracing import check_leaf, plain, result_of
from ..transforms.weak import explicit
from ..tree import flatten, map_leaves, unflatten
from ..types import ArrayType

Function = Callable[..., Any]
_TWICE = (
    "in a function that is linearized, which a compiled function runs once for the result and "
    "once for the pushforward. Call tg.jvp, or change it outside."
)


def jvp(
    function: Function, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> Any:
    """`(result, tangent)`: the result and its derivative in the direction of `tangents` (same
    structure and shapes as `primals`).

    Forward mode with dual numbers (Wengert 1964). A tangent is what its result is: a Tensor, an
    array or a number. With `has_aux`: `(result, tangent, aux)`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp takes its primals and tangents as tuples: tg.jvp(f, (x,), (v,))")
    values, spec = flatten(values_of(tuple(primals)))
    directions, direction_spec = flatten(values_of(tuple(tangents)))
    if spec != direction_spec:
        raise ValueError(f"primals and tangents differ in structure: {spec} and {direction_spec}")
    outs, tangent_outs, out_spec, aux = staged(
        lambda f: _push(f, values, directions, spec, has_aux), function, eager=True
    )
    made = (
        unflatten(out_spec, [plain(o) for o in outs]),
        unflatten(out_spec, _as_results(tangent_outs, _tensors(outs), directions)),
    )
    return (*made, map_leaves(plain, aux)) if has_aux else made


@restoring
def _push(
    function: Function,
    values: Sequence[Any],
    directions: Sequence[Any],
    spec: Any,
    has_aux: bool = False,
    aside: AsideTrace | None = None,
) -> Any:
    """Results of a function of dual numbers: primal leaves, their tangents, their structure, and
    what it returned besides."""
    with forward_level() as level:
        if aside is not None:
            aside.level = level
        duals = []
        for x, t in zip(values, directions, strict=True):
            box = primal_of(x)
            duals.append(box.face._dual(box, direction_of(t, box), level))
        result = function(*unflatten(spec, duals))
        result, aux = pair_of(result, "jvp") if has_aux else (result, None)
        outs, out_spec = flatten(result)
        primal_outs, tangent_outs = [], []
        for o in outs:
            check_leaf(o, "jvp: the function returned")
            t = (o._tangents or {}).get(level) if isinstance(o, Boxed) else None
            o = o._without(level) if t is not None else o
            primal_outs.append(o)
            tangent_outs.append(_zero_like(o) if t is None else t)
        aux = map_leaves(lambda a: a._without(level) if isinstance(a, Boxed) else a, aux)
    return primal_outs, tangent_outs, out_spec, aux


def primal_of(x: Any) -> Boxed:
    check_leaf(x, "jvp: a primal is")
    box = primal(x)
    if not is_differentiable(box.dtype):
        raise DTypeError(
            f"{user_line()}: jvp needs floating-point or complex primals, got {box.dtype}. "
            "Convert with .astype(float)."
        )
    return box


def direction_of(t: Any, x: Boxed) -> Any:
    """A tangent for the primal x, in its dtype."""
    check_leaf(t, "jvp: a tangent is")
    if getattr(t, "shape", ()) != x.shape:
        raise ShapeError(
            f"jvp: a tangent of shape {getattr(t, 'shape', ())} was given for a "
            f"primal of shape {x.shape}"
        )
    t = t if isinstance(t, Boxed) else np.asarray(t)
    check_real(t, x, "jvp: a tangent", "a primal")
    return convert(t, x.dtype)


def check_real(given: Any, of: Any, what: str, whose: str) -> None:
    """A complex derivative of a real value would lose its imaginary part."""
    dtype, real = np.dtype(kind_of(given)), np.dtype(kind_of(of))
    if dtype.kind == "c" and real.kind != "c":
        raise DTypeError(
            f"{user_line()}: {what} of dtype {dtype} was given for {whose} of dtype {real}, and "
            "its imaginary part would be lost; give real and imaginary part one after the other"
        )


def copies(tree: Any, tracked: bool = True) -> Any:
    """A tree whose arrays, and Tensors (`tracked`: also those with a history), are copies, so that
    what is kept of them for later stays as it is; in a trace, itself."""

    def copied(x: Any) -> Any:
        if type(x) in (np.ndarray, np.memmap):  # what is refused, is refused as it is
            return np.array(x)
        if not isinstance(x, Tensor) or isinstance(x._data, Var):
            return x
        return x.clone() if tracked or not x._requires_grad else x

    return tree if STATE.traces else map_leaves(copied, tree)


def _zero_like(x: Any) -> Any:
    dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    zero = np.zeros(getattr(x, "shape", ()), dtype if is_differentiable(dtype) else np.float64)
    return zero if place_of(x) == CPU else transfer(boxed(Tensor, zero), place_of(x))


def _tensors(values: Sequence[Any]) -> list[bool]:
    return [isinstance(x, Tensor) for x in values]


def _as_results(
    tangents: Sequence[Any], tensors: Sequence[bool], directions: Sequence[Any]
) -> list[Any]:
    """Each tangent of the kind of the result that it belongs to, whatever the directions were;
    where one of these is a Tensor on the tape, Tensors are also what follows from it there."""
    recorded = any(isinstance(v, Tensor) and v._requires_grad for v in directions)
    return [
        result_of(t, tensor or (recorded and getattr(t, "_requires_grad", False)))
        for t, tensor in zip(tangents, tensors, strict=True)
    ]


def linearize(function: Function, *primals: Any) -> Any:
    """`(result, pushforward)`: the result, and the derivative at `primals` as a linear function of
    tangents.

    The function runs once; what depends on the tangents is kept as a graph, which the pushforward
    evaluates. Arrays that the function got, read or returned may be written to afterwards.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> y, push = tg.linearize(np.exp, np.zeros(2))
    >>> push(np.array([1.0, 2.0]))
    array([1., 2.])
    """
    primals = values_of(primals)
    if STATE.traces or STATE.levels:
        # An enclosing trace merges what is computed twice; the tangents of an enclosing jvp must
        # reach the pushforward. What the function, or whoever calls it, writes into its arguments
        # reaches none of the calls.
        watches = [(t.watch, t.watch.mark()) for t in STATE.traces if t.watch is not None]
        point = map_leaves(lambda x: unshared(primal_of(x)), copies(primals))
        result = staged(lambda f: f(*map_leaves(unshared, point)), function, eager=True)
        for watch, mark in watches:
            watch.check(mark, _TWICE)
        for o in flatten(result)[0]:
            check_leaf(o, "linearize: the function returned")
        return map_leaves(plain, result), lambda *tangents: jvp(function, point, tangents)[1]
    values, spec = flatten(copies(primals))
    boxes = [primal_of(x) for x in values]
    linear = staged(lambda f: linear_at(f, boxes, spec), function, eager=True)
    known = copies(linear.captured)

    def pushforward(*tangents: Any) -> Any:
        given, given_spec = flatten(tangents)
        if given_spec != spec:
            raise ValueError(f"primals and tangents differ in structure: {spec} and {given_spec}")
        directions = [direction_of(t, b) for t, b in zip(given, boxes, strict=True)]
        found = evaluate(linear.graph, [*directions, *known])
        return unflatten(linear.spec, _as_results(found, _tensors(linear.outs), given))

    return (
        unflatten(linear.spec, [copies(plain(o), tracked=False) for o in linear.outs]),
        pushforward,
    )


class Linearized(NamedTuple):
    """A function at a point: its results there, and the graph of their tangents."""

    outs: list[Any]
    spec: Any
    """The structure of the results."""
    graph: Graph
    captured: list[Any]


@restoring
def linear_at(function: Function, primals: Sequence[Any], spec: Any) -> Linearized:
    """`function` run once on these boxes, the leaves of its arguments; what depends on tangents is
    recorded, for later or for many of them."""
    trace = AsideTrace("linear")
    directions = [Array(trace.input(ArrayType(b.dtype, forms(b.shape)))) for b in primals]
    with trace:
        outs, tangents, out_spec, _ = _push(function, primals, directions, spec, aside=trace)
    history = [history_of(t, trace) for t in tangents]
    graph, captured = trace.finish(tangents, "linearize")
    # What a derivative inside read without recording it has no history for the pushforward either.
    graph = cut_history(explicit(graph), trace.live, history)
    return Linearized(outs, out_spec, graph, captured)
