"""`scan`: a loop with a carry over the leading axis of arrays, one node of the graph, one loop in
the code, and so is its adjoint."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._codegen import integers, lowering
from ..dtypes import INT64, is_differentiable
from ..errors import ShapeError
from ..ir.dispatch import STATE, bind
from ..ir.evaluate import evaluate
from ..ir.graph import Graph, Var
from ..ir.loops import Parts, parts
from ..ir.op import Types, op
from ..ir.trace import user_line
from ..ops import add, concatenate, convert, moveaxis, mul, slice_array, stack
from ..ops.arrays.shape import reshape
from ..tape.mode import MODE
from ..tape.rerun import rerun
from ..tensor import Boxed
from ..transforms.derive import batched, captures_of, joint, tangent
from ..transforms.partition import partition
from ..transforms.tracing import check_leaf, leaf_type, plain
from ..tree import flatten, unflatten
from ..types import ArrayType, Int
from .block import checkpointed
from .carry import Carry, arrays_of
from .region import ARRAYS, aligned, check_functions, closed, copied, region, repeated, strong, zero
from .running import natively, work, worth

# The order of operands and results, outside and in the body, is that of `ir/loops.py`.


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
    fixed, carry, xs = (
        inputs[:constants],
        list(inputs[constants : constants + carries]),
        inputs[constants + carries :],
    )
    kinds = body.output_types[carries:]
    ys = [np.empty((length, *t.shape), t.dtype) for t in kinds]
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
    types = [*map(strong, (*inputs.constants, *inputs.carries)), NUMBER, *map(_slice, inputs.xs)]
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


Checkpoint: TypeAlias = int | str | tuple[int, ...] | None


def spans_of(checkpoint: Checkpoint, length: Int, who: str) -> tuple[Int, ...]:
    """How many steps a segment has, and those within it."""
    if checkpoint is None:
        return ()
    if checkpoint == "sqrt":
        if not isinstance(length, int):
            return (integers.maximum(1, integers.root(length)),)
        near = math.isqrt(length)
        # Where segments of about this length fit without a rest, there is one loop less to compile.
        return (max(1, next((k for k in range(near, near // 2, -1) if length % k == 0), near)),)
    spans = checkpoint if isinstance(checkpoint, tuple) else (checkpoint,)
    if not spans or any(
        isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1 for k in spans
    ):
        raise ValueError(
            f"{who}: checkpoint is 'sqrt', the steps of a segment (at least 1), or a tuple of such numbers, not {checkpoint!r}"
        )
    return tuple(map(int, spans))


def segmented(
    body: Graph, inputs: Parts, length: Int, reverse: bool, spans: Sequence[Int]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The loop in segments of `spans[0]` steps, each a checkpoint, as a loop over segments and one
    over the steps that remain.

    What the adjoint keeps of a segment are its first carries; the rest it computes again, one
    segment at a time.
    """
    count = integers.floordiv(length, spans[0]) if spans else 0
    if isinstance(count, int) and count == 0:
        return bound(body, inputs, length, reverse)
    span, n, c = spans[0], len(inputs.constants), len(inputs.carries)
    whole = count * span
    fixed = list(map(strong, inputs.constants))
    kinds = [*map(strong, inputs.carries), NUMBER, *map(_slice, inputs.xs)]

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
    longer = [ArrayType(t.dtype, (span, *t.shape)) for t in kinds[c + 1 :]]
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
        results, ds = (
            evaluate(body, primal),
            evaluate(derived, [*primal, *directions, *consts[last_fixed:]]),
        )
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
    captured = captures_of(
        joint(body, [*fixed, *moving, False, *sliced], [*moving, *given]), "a loop"
    )
    both = partition(body, [*fixed, *moving, False, *sliced], [*moving, *given], known)
    _, kept = bound(both.forward, p, length, reverse)
    ys, residuals = kept[: len(given)], kept[len(given) :]
    # Values by their place among the inputs of a step, the numbers of steps among them.
    read = (
        [k for k in both.inputs if k < constants],
        [k for k in both.inputs if k > constants + carries],
    )
    numbered = constants + carries in both.inputs
    results = [ys[k - carries] for k in both.outputs]

    def step(consts: Any, state: Any, number: Any, slices: Any) -> Any:
        d_carries, sums = state[: sum(moving)], state[sum(moving) :]
        at = len(read[1])
        values = [
            *consts[: len(read[0])],
            *[number] * numbered,
            *slices[:at],
            *slices[at : at + len(results) + len(residuals)],
        ]
        found = evaluate(
            both.backward,
            [
                *values,
                *d_carries,
                *slices[at + len(results) + len(residuals) :],
                *consts[len(read[0]) :],
            ],
        )
        f, m = sum(fixed), sum(moving)
        return [*found[f : f + m], *map(add, sums, found[:f])], found[f + m :]

    start = [
        zero(x) if ct is None else ct
        for ct, x, m in zip(cts[:carries], p.carries, moving, strict=True)
        if m
    ]
    sums = [zero(x) for x, f in zip(p.constants, fixed, strict=True) if f]
    taken = Parts(
        [*[inputs[k] for k in read[0]], *captured],
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
        *[next(d_constants) if f else None for f in fixed],
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
    types = [*map(strong, (*moved.constants, *moved.carries)), NUMBER, *map(_slice, moved.xs)]
    last, stacked = bound(
        aligned(derived, out_axes, size, body, types, "scan_batched"), moved, length, reverse
    )
    return [*last, *stacked], [0] * carries + [1] * len(stacked)


NUMBER = ArrayType(INT64, ())


def _floating(x: Any) -> bool:
    return is_differentiable(x.dtype)


def _slice(x: Any) -> ArrayType:
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


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: Int | None = None,
    reverse: bool = False,
    checkpoint: Checkpoint = None,
) -> tuple[Any, Any]:
    """Loop over the leading axis: `carry, y = f(carry, x)` for each x; returns the last carry and
    the stacked ys.

    init, xs    trees of arrays; every leaf of `xs` has the same leading size (or give `length`
                alone)
    reverse     run from the last slice to the first; ys stay in the order of xs
    checkpoint  what reverse mode keeps of n steps. None: of each step what its derivative reads. A
                number k: the carry at every k-th step, and one segment of k steps at a time, which
                is computed again. "sqrt": k is about the square root of n. A tuple (k, l,
                ...): segments of k steps are themselves kept in segments of l steps, computed once
                more for each level (eagerly k alone counts)

    The carry must keep its structure, shapes and dtypes; a Python number in `init` takes the dtype
    that the steps give it, as in a Python loop (of float32 data float32), and stays the number
    where there is no step. Eagerly this is a plain Python loop (without slices `f` is traced once,
    for what ys are like); in a compiled function it is one loop of the generated code, whatever the
    length, and its derivative is another.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.scan(lambda s, x: (s + x, s * x), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 2., 9.]))
    """
    check_functions("scan", f=f)
    x_leaves, x_spec = flatten(xs)
    for x in x_leaves:
        check_leaf(x, "scan: xs holds")
    sizes = [leaf_type(x).shape[0] if leaf_type(x).shape else None for x in x_leaves]
    if any(s is None for s in sizes):
        raise ShapeError(
            f"{user_line()}: scan: every leaf of xs needs a leading axis to loop over; pass scalars through the carry or a closure"
        )
    if length is None and not sizes:
        raise ValueError(f"{user_line()}: scan: give xs or length")
    count: Any = _length(length) if length is not None else sizes[0]
    spans = spans_of(checkpoint, count, "scan")
    if any(s != count for s in sizes):
        raise ShapeError(
            f"{user_line()}: scan: the leading sizes of xs differ: {sizes}"
            + (f" (length={length})" if length is not None else "")
        )
    carried = Carry("scan", init)
    if not STATE.traces and count:
        return _loop(f, carried, x_leaves, x_spec, int(count), reverse, tuple(map(int, spans)))
    slices = list(map(_slice, x_leaves))
    traced = carried.trace(
        lambda kinds: region(f, (init, xs), [*kinds, *slices], "scan: the body"),
        lambda out: _pair(out)[0],
    )
    y_spec = flatten(_pair(unflatten(traced.out_spec, list(traced.graph.outputs)))[1])[1]
    carries, kinds = carried.operands(), carried.types
    # Captures become constants, which the body takes first.
    n, split = len(carries), len(carries) + len(x_leaves)
    inputs = traced.graph.inputs
    body = traced.graph.replace(
        inputs=(*inputs[split:], *inputs[:n], Var(NUMBER, "step"), *inputs[n:split]), name="body"
    )
    if list(body.output_types[:n]) != kinds:

        def converted(*v: Any) -> list[Any]:
            found = evaluate(body, v)
            return [*[convert(x, t.dtype) for x, t in zip(found, kinds, strict=False)], *found[n:]]

        step = closed("body", converted, [v.type for v in body.inputs], body)
    else:
        step = body
    last, ys = segmented(step, Parts(traced.captures, carries, x_leaves), count, reverse, spans)
    return carried.result(last, count), unflatten(y_spec, [plain(y) for y in ys])


def _length(length: Any) -> Int:
    """The number of steps, where it is known when the loop is traced."""
    if isinstance(length, integers.Integer):
        return length
    if not hasattr(length, "__index__") or (
        isinstance(length, Boxed) and isinstance(length._data, Var)
    ):
        raise TypeError(
            f"{user_line()}: scan: length must be an integer that is known when the function is traced, not a {type(length).__name__} "
            f"({length!r:.60}); fori_loop takes computed numbers of steps"
        )
    number = operator.index(length)
    if number < 0:
        raise ValueError(f"{user_line()}: scan: length must be at least 0, it is {number}")
    return number


def _pair(out: Any) -> tuple[Any, Any]:
    """The pair that the body returned."""
    if not isinstance(out, tuple) or len(out) != 2:
        found = f"a tuple of {len(out)}" if isinstance(out, tuple) else f"a {type(out).__name__}"
        raise TypeError(
            f"{user_line()}: scan: the body must return a pair (carry, y), it returned {found}"
        )
    return out


def in_segments(
    steps: Sequence[int], spans: Sequence[int], run: Callable[[Any, Sequence[int]], Any], carry: Any
) -> Any:
    """`carry = run(carry, steps)` segment by segment, each of which `backward` runs again; segments
    have no segments here."""
    if not spans or not MODE.enabled:
        return run(carry, steps)
    for start in range(0, len(steps), spans[0]):
        piece = steps[start : start + spans[0]]
        carry = rerun(functools.partial(run, carry, piece))
    return carry


def _loop(
    f: Callable[..., Any],
    carried: Carry,
    x_leaves: Sequence[Any],
    x_spec: Any,
    count: int,
    reverse: bool,
    spans: tuple[int, ...],
) -> tuple[Any, Any]:
    ys: dict[int, list[Any]] = {}
    y_spec: Any = None

    def run(carry: Any, steps: Sequence[int]) -> Any:
        nonlocal y_spec
        for i in steps:
            parts = [reshape(part(x, i, 1), x.shape[1:]) for x in x_leaves]
            out = f(carry, unflatten(x_spec, [plain(p) for p in parts]))
            carry, y = out if ys else _pair(out)
            carry = carried.next(carry)
            leaves, y_spec = flatten(y)
            state = flatten(carry)[0]
            # The next step may write into what shares memory with the carry.
            found = [
                copied(v)
                if isinstance(v, ARRAYS)
                and (
                    getattr(v, "_base", getattr(v, "base", None)) is not None
                    or any(v is c for c in state)
                )
                else v
                for v in leaves
            ]
            # A second run is there for what it saves.
            ys.setdefault(i, found)
        return carry

    carry = in_segments(range(count)[:: -1 if reverse else 1], spans, run, carried.start())
    if y_spec is None:
        return carry, None
    columns = [
        stack(arrays_of(column)) for column in zip(*[ys[i] for i in range(count)], strict=True)
    ]
    return carry, unflatten(y_spec, columns)


OPS = (scan_op,)
__all__ = ["NUMBER", "bound", "in_segments", "loop", "scan", "scan_op", "segmented", "spans_of"]
