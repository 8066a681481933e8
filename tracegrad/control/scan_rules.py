"""The operation `scan`: its value, derivatives, batching, and loops in segments.

The order of operands and results, outside and in the body, is that of `ir/loops.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._codegen import lowering
from ..dtypes import INT64, is_differentiable
from ..ir.dispatch import bind
from ..ir.evaluate import evaluate
from ..ir.forms import about
from ..ir.graph import Graph
from ..ir.loops import Parts, parts
from ..ir.op import Types, op
from ..ops import add, concatenate, moveaxis, mul, slice_array
from ..ops.arrays.shape import reshape
from ..sizes import form, quotient_of
from ..transforms.derive import absent, batched, captures_of, joint, tangent
from ..transforms.partition import Stepped, partition
from ..types import ArrayType, Int
from .block import checkpointed
from .region import aligned, closed, repeated, strong, zero
from .running import natively, work, worth


def _infer(
    *inputs: Any, body: Graph, constants: int, carries: int, length: Int, reverse: bool
) -> Types:
    outs = body.output_types
    return (*outs[:carries], *[ArrayType(t.dtype, (length, *t.shape)) for t in outs[carries:]])


def _evaluate(
    *inputs: Any, body: Graph, constants: int, carries: int, length: int, reverse: bool
) -> tuple[Any, ...]:
    if worth(length * work(body), inputs):
        params = {
            "body": body,
            "constants": constants,
            "carries": carries,
            "length": length,
            "reverse": reverse,
        }
        return natively(scan_op, inputs, params)
    fixed = inputs[:constants]
    carry = list(inputs[constants : constants + carries])
    xs = inputs[constants + carries :]
    kinds = body.output_types[carries:]
    ys = [np.empty((length, *map(int, t.shape)), t.dtype) for t in kinds]
    for i in range(length)[:: -1 if reverse else 1]:
        outs = evaluate(body, [*fixed, *carry, np.int64(i), *[x[i] for x in xs]])
        carry = outs[:carries]
        for y, value in zip(ys, outs[carries:], strict=True):
            y[i] = value
    return (
        *[np.array(c, t.dtype) for c, t in zip(carry, body.output_types[:carries], strict=True)],
        *ys,
    )


def loop(
    name: str,
    step: Callable[..., Sequence[Any]],
    inputs: Parts,
    like: Graph,
    length: Int,
    reverse: bool,
    spans: Sequence[Int] = (),
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """A loop whose body is `step(constants, carries, number, slices) -> (carries, ys)`; its final
    carries and stacked ys."""
    types = [*map(strong, (*inputs.constants, *inputs.carries)), NUMBER, *map(step_type, inputs.xs)]
    n, c = len(inputs.constants), len(inputs.carries)

    def function(*values: Any) -> list[Any]:
        carries, ys = step(values[:n], values[n : n + c], values[n + c], values[n + c + 1 :])
        return [*carries, *ys]

    return segmented(closed(name, function, types, like), inputs, length, reverse, spans)


def bound(
    body: Graph, inputs: Parts, length: Int, reverse: bool
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The loop with this body: its final carries and stacked ys."""
    n, c = len(inputs.constants), len(inputs.carries)
    given = [*inputs.constants, *inputs.carries, *inputs.xs]
    found = bind(
        scan_op,
        given,
        {"body": body, "constants": n, "carries": c, "length": length, "reverse": reverse},
    )
    return found[:c], found[c:]


def segmented(
    body: Graph, inputs: Parts, length: Int, reverse: bool, spans: Sequence[Int]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The loop in segments of `spans[0]` steps, each a checkpoint, as a loop over segments and one
    over the steps that remain.

    What the adjoint keeps of a segment are its first carries; the rest it computes again, one
    segment at a time.
    """
    count = quotient_of(length, spans[0]) if spans else 0
    if isinstance(count, int) and count == 0:
        return bound(body, inputs, length, reverse)
    span, n, c = spans[0], len(inputs.constants), len(inputs.carries)
    whole = count * span
    fixed = list(map(strong, inputs.constants))
    kinds = [*map(strong, inputs.carries), NUMBER, *map(step_type, inputs.xs)]

    def step(*v: Any) -> list[Any]:
        return evaluate(
            body,
            [*v[:n], *v[n + 1 : n + 1 + c], add(mul(v[n], span), v[n + 1 + c]), *v[n + 2 + c :]],
        )

    def late(*v: Any) -> list[Any]:
        return evaluate(body, [*v[: n + c], add(v[n + c], whole), *v[n + c + 1 :]])

    def steps(*v: Any) -> list[Any]:
        last, ys = segmented(
            inner, Parts(v[: n + 1], v[n + 1 : n + 1 + c], v[n + 1 + c :]), span, reverse, spans[1:]
        )
        return [*last, *ys]

    def segment(constants: Any, carries: Any, number: Any, slices: Any) -> Any:
        found = checkpointed(stretch, [*constants, number, *carries, *slices])
        return found[:c], found[c:]

    def main(carries: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        xs = [reshape(part(x, 0, whole), (count, span, *x.shape[1:])) for x in inputs.xs]
        last, ys = loop(
            "segments", segment, Parts(inputs.constants, carries, xs), body, count, reverse
        )
        return last, [reshape(y, (whole, *y.shape[2:])) for y in ys]

    def rest(carries: Sequence[Any]) -> tuple[tuple[Any, ...], Sequence[Any]]:
        graph = closed(body.name, late, [*fixed, *kinds], body)
        return bound(
            graph,
            Parts(inputs.constants, carries, [part(x, whole, length - whole) for x in inputs.xs]),
            length - whole,
            reverse,
        )

    inner = closed(body.name, step, [*fixed, NUMBER, *kinds], body)
    longer = [ArrayType(t.dtype, (form(span), *t.shape)) for t in kinds[c + 1 :]]
    stretch = closed("segment", steps, [*fixed, NUMBER, *kinds[:c], *longer], body)
    if isinstance(whole, int) and whole == length:
        last, ys = main(inputs.carries)
        return last, tuple(ys)
    if reverse:
        last, later = rest(inputs.carries)
        last, ys = main(last)
    else:
        last, ys = main(inputs.carries)
        last, later = rest(last)
    return last, tuple([concatenate([a, b]) for a, b in zip(ys, later, strict=True)])


def part(x: Any, start: Int, size: Int) -> Any:
    """Slices from `start` on."""
    return slice_array(
        x, (start, *[0] * (len(x.shape) - 1)), (size, *x.shape[1:]), (1,) * len(x.shape)
    )


def _jvp(
    tangents: Any,
    inputs: Any,
    outs: Any,
    *,
    body: Graph,
    constants: int,
    carries: int,
    length: Int,
    reverse: bool,
) -> list[Any]:
    p, t = parts(inputs, constants, carries), parts(tangents, constants, carries)
    # Whether a carry gets a tangent depends on the whole loop; a zero one does no harm.
    moving = [_floating(x) for x in p.carries]
    start = [
        zero(x) if d is None else d
        for d, x, m in zip(t.carries, p.carries, moving, strict=True)
        if m
    ]
    fixed, sliced = [d is not None for d in t.constants], [d is not None for d in t.xs]
    derived = tangent(body, [*fixed, *moving, False, *sliced])
    # What a rule of the user's reads around it is the same in every step.
    captured = captures_of(derived, "a loop")
    counts = constants, carries, len(p.xs)
    last_fixed = constants + sum(fixed)

    def step(consts: Any, state: Any, number: Any, slices: Any) -> Any:
        primal = [*consts[: counts[0]], *state[: counts[1]], number, *slices[: counts[2]]]
        directions = [*consts[counts[0] : last_fixed], *state[counts[1] :], *slices[counts[2] :]]
        results = evaluate(body, primal)
        ds = evaluate(derived, [*primal, *directions, *consts[last_fixed:]])
        return (
            [*results[:carries], *[d for d, m in zip(ds[:carries], moving, strict=True) if m]],
            [*results[carries:], *ds[carries:]],
        )

    both = Parts(
        [*p.constants, *[d for d in t.constants if d is not None], *captured],
        [*p.carries, *start],
        [*p.xs, *[d for d in t.xs if d is not None]],
    )
    last, stacked = loop("scan_tangent", step, both, body, length, reverse)
    found = iter(last[carries:])
    return [*[next(found) if m else None for m in moving], *stacked[len(stacked) // 2 :]]


def _vjp(
    cts: Any,
    inputs: Any,
    outs: Any,
    wanted: Any,
    *,
    body: Graph,
    constants: int,
    carries: int,
    length: Int,
    reverse: bool,
) -> list[Any]:
    # As it stands in graphs: what is kept of these is found by it, which must not ask for a number.
    length = form(length)
    p, w = parts(inputs, constants, carries), parts(wanted, constants, carries)
    moving = [_floating(x) for x in p.carries]
    fixed = [ok and _floating(x) for ok, x in zip(w.constants, p.constants, strict=True)]
    sliced = [ok and _floating(x) for ok, x in zip(w.xs, p.xs, strict=True)]
    given = [ct is not None for ct in cts[carries:]]
    # Of a step the forward loop keeps what the adjoint reads and cannot get from constants, slices
    # and results.
    known = (
        [*[True] * constants, *[False] * carries, True, *[True] * len(p.xs)],
        [*[False] * carries, *[True] * len(given)],
    )
    told = about([*p.constants, *[None] * (carries + 1 + len(p.xs))], {constants + carries: length})
    asked = [*fixed, *moving, False, *sliced], [*moving, *given]
    joined = joint(body, *asked, told)
    captured = captures_of(joined, "a loop")
    there = [not none for none in absent(joined)[: sum(fixed)]]
    both = partition(body, *asked, known, Stepped(told, length, reverse))
    _, kept = bound(both.forward, p, length, reverse)
    ys, residuals = kept[: len(given)], kept[len(given) :]
    # Values by their place among the inputs of a step, the numbers of steps among them.
    read = (
        [k for k in both.inputs if k < constants],
        [k for k in both.inputs if k > constants + carries],
    )
    numbered = constants + carries in both.inputs
    results = [ys[k - carries] for k in both.outputs]
    ends = [*[outs[k] for k in both.lasts], *[p.carries[k] for k in both.firsts]]

    fixed_here = len(read[0]) + len(ends)

    def step(consts: Any, state: Any, number: Any, slices: Any) -> Any:
        d_carries, sums = state[: sum(moving)], state[sum(moving) :]
        at = len(read[1])
        values = [
            *consts[: len(read[0])],
            *[number] * numbered,
            *slices[: at + len(results)],
            *consts[len(read[0]) : fixed_here],
            *slices[at + len(results) : at + len(results) + len(residuals)],
        ]
        found = evaluate(
            both.backward,
            [
                *values,
                *d_carries,
                *slices[at + len(results) + len(residuals) :],
                *consts[fixed_here:],
            ],
        )
        f, m = sum(fixed), sum(moving)
        added = [x for x, ok in zip(found[:f], there, strict=True) if ok]
        return [*found[f : f + m], *map(add, sums, added)], found[f + m :]

    start = [
        zero(x) if ct is None else ct
        for ct, x, m in zip(cts[:carries], p.carries, moving, strict=True)
        if m
    ]
    summed = iter(there)
    ones = [f and next(summed) for f in fixed]
    sums = [zero(x) for x, f in zip(p.constants, ones, strict=True) if f]
    taken = Parts(
        [*[inputs[k] for k in read[0]], *ends, *captured],
        [*start, *sums],
        [
            *[inputs[k - 1] for k in read[1]],
            *results,
            *residuals,
            *[ct for ct in cts[carries:] if ct is not None],
        ],
    )
    last, stacked = loop("scan_adjoint", step, taken, body, length, not reverse)
    d_carries, d_constants, d_xs = iter(last[: len(start)]), iter(last[len(start) :]), iter(stacked)
    return [
        *[next(d_constants) if f else None for f in ones],
        *[next(d_carries) if m else None for m in moving],
        *[next(d_xs) if s else None for s in sliced],
    ]


def _batch(
    values: Any,
    axes: Any,
    size: Any,
    *,
    body: Graph,
    constants: int,
    carries: int,
    length: Int,
    reverse: bool,
) -> Any:
    p, a = parts(values, constants, carries), parts(axes, constants, carries)
    # Every carry is batched: whether one must be depends on the whole loop, and an unbatched one
    # can always be repeated.
    moved = Parts(
        p.constants,
        [repeated(v, axis, size) for v, axis in zip(p.carries, a.carries, strict=True)],
        [v if axis is None else moveaxis(v, axis, 1) for v, axis in zip(p.xs, a.xs, strict=True)],
    )
    places = [*a.constants, *[0] * carries, None, *[None if axis is None else 0 for axis in a.xs]]
    derived, out_axes = batched(body, places, size)
    types = [*map(strong, (*moved.constants, *moved.carries)), NUMBER, *map(step_type, moved.xs)]
    last, stacked = bound(
        aligned(derived, out_axes, size, body, types, "scan_batched"), moved, length, reverse
    )
    return [*last, *stacked], [0] * carries + [1] * len(stacked)


NUMBER = ArrayType(INT64, ())


def _floating(x: Any) -> bool:
    return is_differentiable(x.dtype)


def step_type(x: Any) -> ArrayType:
    """What one step reads of what is stacked."""
    kind = strong(x)
    return ArrayType(kind.dtype, kind.shape[1:])


scan_op = op(
    "scan",
    ["inputs"],
    evaluate=_evaluate,
    infer=_infer,
    vjp=_vjp,
    jvp=_jvp,
    batch=_batch,
    lowering=lowering.SCAN,
    variadic=True,
    outputs=0,
    doc="A loop with a carry over leading axes.",
)
OPS = (scan_op,)
