"""`scan`: a loop with a carry over the leading axis of arrays, one node of the graph, one loop in
the code, and so is its adjoint."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..errors import ShapeError
from ..ir.dispatch import STATE
from ..ir.evaluate import evaluate
from ..ir.graph import Var
from ..ir.loops import Parts
from ..ir.trace import user_line
from ..ops import convert, stack
from ..ops.arrays.shape import reshape
from ..sizes import SYMBOLIC, larger_of, root_of, same, seen
from ..tape.copies import copied, unshared
from ..tape.mode import MODE
from ..tape.rerun import rerun
from ..tensor import Boxed
from ..transforms.tracing import check_leaf, leaf_type, plain
from ..tree import flatten, map_leaves, unflatten
from ..types import Int, equal_types
from .carry import GivenCarry, arrays_of
from .region import ARRAYS, check_functions, closed, region
from .scan_rules import NUMBER, part, segmented, step_type

Checkpoint: TypeAlias = int | str | tuple[int, ...] | None


def spans_of(checkpoint: Checkpoint, length: Int, who: str) -> tuple[Int, ...]:
    """How many steps a segment has, and those within it."""
    if checkpoint is None:
        return ()
    if checkpoint == "sqrt":
        if not isinstance(length, int):
            return (larger_of(1, root_of(length)),)
        near = math.isqrt(length)
        # Where segments of about this length fit without a rest, there is one loop less to compile.
        return (max(1, next((k for k in range(near, near // 2, -1) if length % k == 0), near)),)
    spans = checkpoint if isinstance(checkpoint, tuple) else (checkpoint,)
    if not spans or any(
        isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1 for k in spans
    ):
        raise ValueError(
            f"{who}: checkpoint is 'sqrt', the steps of a segment (at least 1), "
            f"or a tuple of such numbers, not {checkpoint!r}"
        )
    return tuple(map(int, spans))


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
    sizes = [seen(leaf_type(x).shape[0]) if leaf_type(x).shape else None for x in x_leaves]
    if any(s is None for s in sizes):
        raise ShapeError(
            f"{user_line()}: scan: every leaf of xs needs a leading axis to loop over; "
            "pass scalars through the carry or a closure"
        )
    if length is None and not sizes:
        raise ValueError(f"{user_line()}: scan: give xs or length")
    count: Any = _length(length) if length is not None else sizes[0]
    spans = spans_of(checkpoint, count, "scan")
    if any(not same(s, count) for s in sizes):
        raise ShapeError(
            f"{user_line()}: scan: the leading sizes of xs differ: {sizes}"
            + (f" (length={length})" if length is not None else "")
        )
    carried = GivenCarry("scan", init)
    if not STATE.traces and count:
        return _loop(f, carried, x_leaves, x_spec, int(count), reverse, tuple(map(int, spans)))
    slices = list(map(step_type, x_leaves))
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
    if not all(map(equal_types, body.output_types[:n], kinds)):

        def converted(*v: Any) -> list[Any]:
            found = evaluate(body, v)
            return [*[convert(x, t.dtype) for x, t in zip(found, kinds, strict=False)], *found[n:]]

        step = closed("body", converted, [v.type for v in body.inputs], body)
    else:
        step = body
    last, ys = segmented(step, Parts(traced.captures, carries, x_leaves), count, reverse, spans)
    return carried.result(last, count), unflatten(y_spec, [plain(y) for y in ys])


def _length(length: Any) -> Any:
    """The number of steps, where it is known when the loop is traced."""
    if isinstance(length, SYMBOLIC):
        return length
    if not hasattr(length, "__index__") or (
        isinstance(length, Boxed) and isinstance(length._data, Var)
    ):
        raise TypeError(
            f"{user_line()}: scan: length must be an integer that is known when the "
            f"function is traced, not a {type(length).__name__} ({length!r:.60}); "
            "fori_loop takes computed numbers of steps"
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
        carry = rerun(functools.partial(of_a_copy, run, carry, piece))
    return carry


def of_a_copy(run: Callable[..., Any], carry: Any, *steps: Any) -> Any:
    """A run of some steps, which may write into the carry that they are handed."""
    return run(map_leaves(unshared, carry), *steps)


def _loop(
    f: Callable[..., Any],
    carried: GivenCarry,
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
            out = f(carry, unflatten(x_spec, [unshared(plain(p)) for p in parts]))
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


__all__ = ["in_segments", "scan", "spans_of"]
