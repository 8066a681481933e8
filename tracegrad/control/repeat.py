"""`while_loop` and `fori_loop`: loops whose number of steps is known only while they run,
differentiated in every mode."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._codegen import integers, lowering
from ..dtypes import is_differentiable
from ..errors import ShapeError
from ..ir.dispatch import STATE, bind
from ..ir.evaluate import evaluate
from ..ir.forms import about, form_of, largest, smallest
from ..ir.graph import Graph, Var
from ..ir.loops import Parts
from ..ir.op import Types, op
from ..ir.trace import user_line
from ..ops import add, convert, maximum, sub
from ..sizes import SYMBOLIC, form, larger_of, seen
from ..tape.mode import MODE
from ..tape.rerun import rerun
from ..tensor import Boxed
from ..transforms.derive import adjoints, batched, captures_of, tangent
from ..transforms.tracing import leaf_type, plain
from ..tree import flatten, map_leaves
from .carry import GivenCarry
from .counted import counted_steps
from .region import (
    VALUES,
    TracedRegion,
    captured,
    check_functions,
    closed,
    in_range,
    one_by_one,
    region,
    repeated,
    strong,
    zero,
)
from .running import natively, work, worth
from .scan import Checkpoint, in_segments, of_a_copy, spans_of
from .scan_rules import NUMBER, scan_op, segmented
from .sized import reversed_by, sized, unused_symbol

# The order of operands and results, outside, in the test and in the body, is that of `ir/loops.py`.


def _infer(
    *inputs: Any,
    test: Graph,
    body: Graph,
    constants: int,
    max_steps: int | None,
    failure: str = "",
    checkpoint: Checkpoint = None,
) -> Types:
    return (*body.output_types, NUMBER)


def _evaluate(
    *inputs: Any,
    test: Graph,
    body: Graph,
    constants: int,
    max_steps: int | None,
    failure: str = "",
    checkpoint: Checkpoint = None,
) -> tuple[Any, ...]:
    fixed, carry = inputs[:constants], list(inputs[constants:])
    steps, each = 0, work(test) + work(body)
    while evaluate(test, [*fixed, *carry])[0]:
        _check_steps(steps, max_steps, failure)
        if worth(steps * each, inputs):
            params = {
                "test": test,
                "body": body,
                "constants": constants,
                **_options(max_steps, failure, checkpoint),
            }
            return natively(while_op, inputs, params)
        carry = evaluate(body, [*fixed, *carry])
        steps += 1
    return (
        *[np.array(c, t.dtype) for c, t in zip(carry, body.output_types, strict=True)],
        np.int64(steps),
    )


def _options(max_steps: int | None, failure: str, checkpoint: Checkpoint) -> dict[str, Any]:
    """The parameters that bound a loop, and what its adjoint keeps, where there is something to
    say."""
    return {
        "max_steps": max_steps,
        **({"failure": failure} if failure else {}),
        **({"checkpoint": checkpoint} if checkpoint else {}),
    }


def _check_steps(steps: int, max_steps: int | None, failure: str) -> None:
    if max_steps is not None and steps == max_steps:
        raise RuntimeError(
            f"{failure or f'while_loop: still going after max_steps={max_steps} steps'} "
            f"({user_line()})"
        )


def _vjp(
    cts: Any,
    inputs: Any,
    outs: Any,
    wanted: Any,
    *,
    test: Graph,
    body: Graph,
    constants: int,
    max_steps: int | None,
    failure: str = "",
    checkpoint: Checkpoint = None,
) -> list[Any]:
    # As many steps as were taken, as a loop with a known number of them.
    symbol = unused_symbol(test, body)
    key = "counted", symbol, checkpoint
    if key not in body.derived:
        step = body.replace(inputs=(*body.inputs, Var(NUMBER, "step")), name=body.name)
        types = [v.type for v in body.inputs]
        length = integers.symbol(symbol)
        spans = spans_of(checkpoint, length, "while_loop")
        body.derived[key] = closed(
            "steps",
            lambda *v: segmented(
                step, Parts(v[:constants], v[constants:], ()), length, False, spans
            )[0],
            types,
            body,
        )
    known = about(inputs, sizes={symbol: outs[-1]})
    given = [ct is not None for ct in cts[:-1]]
    adjoined = adjoints([body.derived[key]], wanted, given, known)
    return reversed_by(adjoined, outs[-1], inputs, outs[:-1], cts[:-1], symbol, None)


def _jvp(
    tangents: Any,
    inputs: Any,
    outs: Any,
    *,
    test: Graph,
    body: Graph,
    constants: int,
    max_steps: int | None,
    failure: str = "",
    checkpoint: Checkpoint = None,
) -> list[Any]:
    consts, start = inputs[:constants], inputs[constants:]
    fixed = [t for t in tangents[:constants] if t is not None]
    moving = [is_differentiable(x.dtype) for x in start]
    # Whether a carry gets a tangent depends on the whole loop; a zero one does no harm.
    directions = [
        zero(x) if t is None else t
        for t, x, m in zip(tangents[constants:], start, moving, strict=True)
        if m
    ]
    derived = tangent(body, [*[t is not None for t in tangents[:constants]], *moving])
    # What a rule of the user's reads around it is the same in every step.
    given, fixed = len(fixed), [*fixed, *captures_of(derived, "a loop")]
    n, f, c = constants, len(fixed), len(start)

    def going(*v: Any) -> Any:
        return evaluate(test, [*v[:n], *v[n + f : n + f + c]])

    def step(*v: Any) -> Any:
        primal = [*v[:n], *v[n + f : n + f + c]]
        ds = evaluate(derived, [*primal, *v[n : n + given], *v[n + f + c :], *v[n + given : n + f]])
        return [*evaluate(body, primal), *[d for d, m in zip(ds, moving, strict=True) if m]]

    operands = [*consts, *fixed, *start, *directions]
    types = list(map(strong, operands))
    params = {
        "test": closed(f"{test.name}_tangent", going, types, test),
        "body": closed(f"{body.name}_tangent", step, types, body),
        "constants": n + f,
        **_options(max_steps, failure, checkpoint),
    }
    found = iter(bind(while_op, operands, params)[c:-1])
    return [*[next(found) if m else None for m in moving], None]


def _batch(
    values: Any,
    axes: Any,
    size: Any,
    *,
    test: Graph,
    body: Graph,
    constants: int,
    max_steps: int | None,
    failure: str = "",
    checkpoint: Checkpoint = None,
) -> Any:
    params = {
        "test": test,
        "body": body,
        "constants": constants,
        **_options(max_steps, failure, checkpoint),
    }
    places: list[int | None] = [
        *axes[:constants],
        *[None if a is None else 0 for a in axes[constants:]],
    ]
    while True:
        # A carry is batched where its start is, or what it becomes.
        outs = batched(body, places, size)[1]
        more = [
            0 if a is not None or b is not None else None
            for a, b in zip(places[constants:], outs, strict=True)
        ]
        if more == places[constants:]:
            break
        places[constants:] = more
    if batched(test, places, size)[1][0] is not None:
        return one_by_one(while_op, scan_op, values, axes, size, params, body)
    operands = [
        v if k < constants or p is None else repeated(v, a, size)
        for k, (v, a, p) in enumerate(zip(values, axes, places, strict=True))
    ]
    types = list(map(strong, operands))
    inner, out_axes = batched(body, places, size)

    def step(*v: Any) -> Any:
        found = evaluate(inner, v)
        return [
            o if p is None else repeated(o, a, size)
            for o, a, p in zip(found, out_axes, places[constants:], strict=True)
        ]

    params |= {
        "test": closed(
            test.name, lambda *v: evaluate(batched(test, places, size)[0], v), types, test
        ),
        "body": closed(body.name, step, types, body),
    }
    return list(bind(while_op, operands, params)), [*places[constants:], None]


while_op = op(
    "while_loop",
    ["inputs"],
    evaluate=_evaluate,
    infer=_infer,
    vjp=_vjp,
    jvp=_jvp,
    batch=_batch,
    lowering=lowering.WHILE,
    variadic=True,
    outputs=0,
    doc="A loop that ends when a condition does not hold.",
)


def while_loop(
    cond: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    max_steps: int | None = None,
    checkpoint: Checkpoint = None,
) -> Any:
    """Repeat `carry = body(carry)` as long as `cond(carry)` holds; returns the last carry.

    init        a tree of arrays, which keeps its structure, shapes and dtypes; a Python number in
                it takes the dtype that the steps give it, as in a Python loop
    max_steps   a RuntimeError after so many steps, where given
    checkpoint  what reverse mode keeps of the steps that were taken, as in `scan`

    Eagerly this is Python's `while`; in a compiled function it is one loop, and its derivatives,
    reverse mode included, are loops as well: no bound on the number of steps is needed. What `cond`
    and `body` read around them (closures) is differentiated too.

    >>> import tracegrad as tg
    >>> def root(a):  # Newton's iteration for the square root
    ...     return tg.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)
    >>> round(float(tg.jit(root)(2.0)), 10), round(float(tg.jit(tg.grad(root))(2.0)), 10)
    (1.4142135624, 0.3535533906)
    """
    if max_steps is not None and (
        isinstance(max_steps, bool) or not isinstance(max_steps, (int, np.integer))
    ):
        raise TypeError(
            f"{user_line()}: while_loop: max_steps must be an integer or None, "
            f"not a {type(max_steps).__name__} ({max_steps!r:.60})"
        )
    if max_steps is not None and max_steps < 0:
        raise ValueError(f"while_loop: max_steps must be at least 0, it is {max_steps}")
    check_functions("while_loop", cond=cond, body=body)
    spans_of(checkpoint, 1, "while_loop")
    return loop_while(cond, body, init, max_steps, "", checkpoint)


def loop_while(
    cond: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    max_steps: int | None,
    failure: str = "",
    checkpoint: Checkpoint = None,
) -> Any:
    """`while_loop`, with an error that says `failure` where there are more than `max_steps`
    steps."""
    carried = GivenCarry("while_loop", init)
    if not STATE.traces:

        def run(carry: Any, steps: int, most: float) -> tuple[Any, int]:
            while steps < most and _condition(cond(carry)):
                _check_steps(steps, max_steps, failure)
                carry = carried.next(body(carry))
                steps += 1
            return carry, steps

        carry, steps, most = carried.start(), 0, 0.0
        while steps == most:
            most = steps + _span(checkpoint, steps) if MODE.enabled else math.inf
            carry, steps = (
                rerun(functools.partial(of_a_copy, run, carry, steps, most))
                if most < math.inf
                else run(carry, steps, most)
            )
        return map_leaves(plain, carry)
    step = carried.trace(lambda kinds: region(body, (init,), kinds, "while_loop: the body"))
    test = region(cond, (init,), carried.kinds, "while_loop: the condition", "test")
    if test.out_spec != flatten(0)[1]:
        raise TypeError(
            f"{user_line()}: while_loop: the condition must return one bool, "
            f"it returned {test.out_spec}"
        )
    if test.graph.outputs[0].type.shape != ():
        raise ShapeError(
            f"{user_line()}: while_loop: the condition must return one value, use np.any or np.all"
        )
    kinds = carried.types
    captures = captured(test, step)
    types = [*map(strong, captures), *kinds]
    n = len(captures)

    def joined(r: TracedRegion) -> Callable[..., list[Any]]:
        return lambda *v: r.run(v[n:], captures, v[:n])

    params = {
        "test": closed(
            "test", lambda *v: [convert(joined(test)(*v)[0], np.bool_)], types, test.graph
        ),
        "body": closed(
            "body",
            lambda *v: [convert(x, t.dtype) for x, t in zip(joined(step)(*v), kinds, strict=True)],
            types,
            step.graph,
        ),
        "constants": n,
        **_options(max_steps, failure, checkpoint),
    }
    found = bind(while_op, [*captures, *carried.operands()], params)
    return carried.result(found[:-1], None)


def _span(checkpoint: Checkpoint, steps: int) -> float:
    """How long a segment that begins after so many steps may be. Segments that grow by one are
    about as many as the longest has steps."""
    if checkpoint == "sqrt":
        return math.isqrt(2 * steps) + 1
    return next((int(k) for k in spans_of(checkpoint, 1, "while_loop")), math.inf)


def fori_loop(
    lower: Any,
    upper: Any,
    body: Callable[[Any, Any], Any],
    init: Any,
    checkpoint: Checkpoint = None,
) -> Any:
    """`for i in range(lower, upper): carry = body(i, carry)`; returns the last carry, `init` where
    there is no step.

    lower, upper    integers, which may be traced
    init            a tree of arrays, which keeps its structure, shapes and dtypes; a Python number
                    in it takes the dtype that the steps give it, as in a Python loop: of float32
                    data float32. With no step it stays the number; only where the number of steps
                    is computed in compiled code it has that dtype then, too
    checkpoint      what reverse mode keeps of the steps, as in `scan`

    Eagerly a Python loop; in a compiled function one loop, whatever the number of steps, and so are
    its derivatives.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> f = tg.jit(lambda n, x: tg.fori_loop(0, n, lambda i, s: s * x + i, 1.0))
    >>> f(3, 2.0), tg.grad(f, 1)(3, 2.0)
    (np.float64(12.0), np.float64(13.0))
    """
    check_functions("fori_loop", body=body)
    ends = [_integer(x) for x in (lower, upper)]
    carried = GivenCarry("fori_loop", init)
    if not STATE.traces:
        first, last = map(int, ends)

        def run(carry: Any, steps: Sequence[int]) -> Any:
            for i in steps:
                carry = carried.next(body(np.int64(i), carry))
            return carry

        spans = spans_of(checkpoint, max(0, last - first), "fori_loop")
        return map_leaves(
            plain, in_segments(range(first, last), tuple(map(int, spans)), run, carried.start())
        )
    counted = in_range(body, *ends)
    step = carried.trace(
        lambda kinds: region(counted, (np.int64(0), init), [NUMBER, *kinds], "fori_loop: the body")
    )
    leaves, kinds = carried.operands(), carried.types
    n = len(step.captures)

    def inner(consts: Any, carries: Any, number: Any, _: Any) -> Any:
        found = evaluate(step.graph, [add(number, consts[n]), *carries, *consts[:n]])
        return [convert(x, t.dtype) for x, t in zip(found, kinds, strict=True)], []

    given = [
        *step.captures,
        convert(ends[0], np.int64)
        if isinstance(ends[0], (Boxed, *SYMBOLIC))
        else np.int64(ends[0]),
    ]
    if any(isinstance(x, Boxed) for x in ends):
        symbol = unused_symbol(step.graph)
        types = list(map(strong, (*given, *leaves)))
        length: Any = integers.symbol(symbol)
        spans = spans_of(checkpoint, length, "fori_loop")
        # Not in the dtype of the bounds: that of small or unsigned ones cannot hold every
        # difference.
        count = sub(*[convert(x, np.int64) if isinstance(x, Boxed) else x for x in reversed(ends)])
        distance = form_of(form(ends[1])) - form_of(form(ends[0]))
        fewest, most = smallest(distance), largest(distance)
        if not (isinstance(fewest, int) and fewest >= 0):
            count = maximum(count, 0)
            most = most if most is None else larger_of(0, seen(most))
        known = about([*given, *leaves], sizes={symbol: count})
        graph = closed(
            "steps",
            lambda *v: counted_steps(inner, v, n + 1, length, spans, step.graph),
            types,
            step.graph,
            known,
        )
        found = sized(count, [*given, *leaves], graph, symbol, most)
    else:
        length = larger_of(0, ends[1] - ends[0])
        spans = spans_of(checkpoint, length, "fori_loop")
        found = counted_steps(inner, [*given, *leaves], n + 1, length, spans, step.graph)
    return carried.result(found, length)


def _condition(value: Any) -> bool:
    if not isinstance(value, VALUES):
        raise TypeError(
            f"{user_line()}: while_loop: the condition must return one bool, "
            f"it returned a {type(value).__name__} ({value!r:.60})"
        )
    shape = leaf_type(value).shape
    if shape != ():
        raise ShapeError(
            f"{user_line()}: while_loop: the condition must return one value, "
            f"not an array of shape {shape}; use np.any or np.all"
        )
    return bool(value)


def _integer(x: Any) -> Any:
    """A bound of fori_loop: an int, a size, or a traced integer."""
    if isinstance(x, SYMBOLIC):
        return x
    if not isinstance(x, VALUES):
        raise TypeError(
            f"{user_line()}: fori_loop: a bound must be one integer, "
            f"not a {type(x).__name__} ({x!r:.60})"
        )
    kind = leaf_type(x)
    if kind.dtype.kind not in "iu" or kind.shape != ():
        raise TypeError(f"{user_line()}: fori_loop: a bound must be one integer, not {kind}")
    return x if isinstance(x, Boxed) and STATE.traces else int(x)


OPS = (while_op,)
__all__ = ["fori_loop", "loop_while", "while_loop", "while_op"]
