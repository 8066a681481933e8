"""`while_loop` and `fori_loop`: loops whose number of steps is known only while they run, differentiated in every mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._codegen import integers, lowering
from ..dtypes import is_differentiable
from ..errors import ShapeError
from ..ir.dispatch import STATE, bind
from ..ir.evaluate import evaluate
from ..ir.graph import Graph, Var
from ..ir.op import Types, op
from ..ir.trace import user_line
from ..ops import add, convert, maximum, sub
from ..tensor import Boxed
from ..transforms.derive import adjoint, batched, tangent
from ..transforms.tracing import leaf_type, plain
from ..tree import flatten, map_leaves, unflatten
from ..types import ArrayType
from .region import Region, captured, check_carry, closed, one_by_one, operands_of, own, region, repeated, strong, zero
from .scan import NUMBER, Parts, bound, loop, scan_op
from .sized import sized_op, unused_symbol

# Inputs of the operation: constants, initial carries. Inputs of test and body: constants, carries. Outputs of the operation: final carries, and the
# number of steps that were taken.


def _infer(*inputs: Any, test: Graph, body: Graph, constants: int, max_steps: int | None, failure: str = "") -> Types:
    return (*body.output_types, NUMBER)


def _evaluate(*inputs: Any, test: Graph, body: Graph, constants: int, max_steps: int | None, failure: str = "") -> tuple[Any, ...]:
    fixed, carry = inputs[:constants], list(inputs[constants:])
    steps = 0
    while evaluate(test, [*fixed, *carry])[0]:
        _check_steps(steps, max_steps, failure)
        carry = evaluate(body, [*fixed, *carry])
        steps += 1
    return (*[np.array(c, t.dtype) for c, t in zip(carry, body.output_types, strict=True)], np.int64(steps))


def _limit(max_steps: int | None, failure: str) -> dict[str, Any]:
    """The parameters that bound a loop."""
    return {"max_steps": max_steps, "failure": failure} if failure else {"max_steps": max_steps}


def _check_steps(steps: int, max_steps: int | None, failure: str) -> None:
    if max_steps is not None and steps == max_steps:
        raise RuntimeError(failure or f"while_loop: still going after max_steps={max_steps} steps")


def _vjp(
    cts: Any, inputs: Any, outs: Any, wanted: Any, *, test: Graph, body: Graph, constants: int, max_steps: int | None, failure: str = ""
) -> list[Any]:
    # As many steps as were taken, as a loop with a known number of them.
    symbol = unused_symbol(test, body)
    key = "counted", symbol
    if key not in body.derived:
        step = body.replace(inputs=(*body.inputs, Var(NUMBER, "step")), name=body.name)
        types = [v.type for v in body.inputs]
        body.derived[key] = closed(
            "steps", lambda *v: bound(step, Parts(v[:constants], v[constants:], ()), integers.symbol(symbol), False)[0], types, body
        )
    derived = adjoint(body.derived[key], wanted, [ct is not None for ct in cts[:-1]])
    given = [ct for ct in cts[:-1] if ct is not None]
    found = iter(bind(sized_op, [outs[-1], *inputs, *given], {"graph": derived, "symbol": symbol}))
    return [next(found) if w else None for w in wanted]


def _jvp(
    tangents: Any, inputs: Any, outs: Any, *, test: Graph, body: Graph, constants: int, max_steps: int | None, failure: str = ""
) -> list[Any]:
    consts, start = inputs[:constants], inputs[constants:]
    fixed = [t for t in tangents[:constants] if t is not None]
    moving = [is_differentiable(x.dtype) for x in start]
    # Whether a carry gets a tangent depends on the whole loop; a zero one does no harm.
    directions = [zero(x) if t is None else t for t, x, m in zip(tangents[constants:], start, moving, strict=True) if m]
    derived = tangent(body, [*[t is not None for t in tangents[:constants]], *moving])
    n, f, c = constants, len(fixed), len(start)

    def going(*v: Any) -> Any:
        return evaluate(test, [*v[:n], *v[n + f : n + f + c]])

    def step(*v: Any) -> Any:
        primal = [*v[:n], *v[n + f : n + f + c]]
        ds = evaluate(derived, [*primal, *v[n : n + f], *v[n + f + c :]])
        return [*evaluate(body, primal), *[d for d, m in zip(ds, moving, strict=True) if m]]

    operands = [*consts, *fixed, *start, *directions]
    types = list(map(strong, operands))
    params = {
        "test": closed(f"{test.name}_tangent", going, types, test),
        "body": closed(f"{body.name}_tangent", step, types, body),
        "constants": n + f,
        **_limit(max_steps, failure),
    }
    found = iter(bind(while_op, operands, params)[c:-1])
    return [*[next(found) if m else None for m in moving], None]


def _batch(values: Any, axes: Any, size: Any, *, test: Graph, body: Graph, constants: int, max_steps: int | None, failure: str = "") -> Any:
    params = {"test": test, "body": body, "constants": constants, **_limit(max_steps, failure)}
    places: list[int | None] = [*axes[:constants], *[None if a is None else 0 for a in axes[constants:]]]
    while True:
        # A carry is batched where its start is, or what it becomes.
        outs = batched(body, places, size)[1]
        more = [0 if a is not None or b is not None else None for a, b in zip(places[constants:], outs, strict=True)]
        if more == places[constants:]:
            break
        places[constants:] = more
    if batched(test, places, size)[1][0] is not None:
        return one_by_one(while_op, scan_op, values, axes, size, params, body)
    operands = [
        v if k < constants or p is None else repeated(v, a, size) for k, (v, a, p) in enumerate(zip(values, axes, places, strict=True))
    ]
    types = list(map(strong, operands))
    inner, out_axes = batched(body, places, size)

    def step(*v: Any) -> Any:
        found = evaluate(inner, v)
        return [o if p is None else repeated(o, a, size) for o, a, p in zip(found, out_axes, places[constants:], strict=True)]

    params |= {
        "test": closed(test.name, lambda *v: evaluate(batched(test, places, size)[0], v), types, test),
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
    lowering=lowering.Region("while"),
    variadic=True,
    outputs=0,
    doc="A loop that ends when a condition does not hold.",
)


def while_loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, max_steps: int | None = None) -> Any:
    """Repeat `carry = body(carry)` as long as `cond(carry)` holds; returns the last carry.

    init        a tree of arrays, which keeps its structure, shapes and dtypes
    max_steps   a RuntimeError after so many steps, where given

    Eagerly this is Python's `while`; in a compiled function it is one loop, and its derivatives, reverse mode included, are loops as well: no
    bound on the number of steps is needed. What `cond` and `body` read around them (closures) is differentiated too.

    >>> import tracegrad as tg
    >>> def root(a):  # Newton's iteration for the square root
    ...     return tg.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)
    >>> round(float(tg.jit(root)(2.0)), 10), round(float(tg.jit(tg.grad(root))(2.0)), 10)
    (1.4142135624, 0.3535533906)
    """
    if max_steps is not None and max_steps < 0:
        raise ValueError(f"while_loop: max_steps must be at least 0, it is {max_steps}")
    return loop_while(cond, body, init, max_steps)


def loop_while(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, max_steps: int | None, failure: str = "") -> Any:
    """`while_loop`, with an error that says `failure` where there are more than `max_steps` steps."""
    if not STATE.traces:
        carry, steps = own(init), 0
        leaves, spec = flatten(carry)
        kinds = [strong(x) for x in leaves]
        while _condition(cond(carry)):
            _check_steps(steps, max_steps, failure)
            carry = body(carry)
            if steps == 0:
                check_carry("while_loop", carry, spec, kinds)
            steps += 1
        return map_leaves(plain, carry)
    leaves, spec = operands_of(init, "while_loop: the initial carry"), flatten(init)[1]
    kinds = [strong(x) for x in leaves]
    test = region(cond, (init,), kinds, "while_loop: the condition", "test")
    (flag,) = test.graph.outputs if len(test.graph.outputs) == 1 else (None,)
    if flag is None or flag.type.shape != ():
        raise ShapeError(f"{user_line()}: while_loop: the condition must return one value, use np.any or np.all")
    step = region(body, (init,), kinds, "while_loop: the body")
    _check_region("while_loop", step, spec, kinds)
    captures = captured(test, step)
    types = [*map(strong, captures), *kinds]
    n = len(captures)

    def joined(r: Region) -> Callable[..., list[Any]]:
        return lambda *v: r.run(v[n:], captures, v[:n])

    params = {
        "test": closed("test", lambda *v: [convert(joined(test)(*v)[0], np.bool_)], types, test.graph),
        "body": closed("body", lambda *v: [convert(x, t.dtype) for x, t in zip(joined(step)(*v), kinds, strict=True)], types, step.graph),
        "constants": n,
        **_limit(max_steps, failure),
    }
    found = bind(while_op, [*captures, *leaves], params)
    return unflatten(spec, [plain(x) for x in found[:-1]])


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """`for i in range(lower, upper): carry = body(i, carry)`; returns the last carry, `init` where there is no step.

    lower, upper    integers, which may be traced
    init            a tree of arrays, which keeps its structure, shapes and dtypes

    Eagerly a Python loop; in a compiled function one loop, whatever the number of steps, and so are its derivatives.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> f = tg.jit(lambda n, x: tg.fori_loop(0, n, lambda i, s: s * x + i, 1.0))
    >>> f(3, 2.0), tg.grad(f, 1)(3, 2.0)
    (np.float64(12.0), np.float64(13.0))
    """
    ends = [_integer(x) for x in (lower, upper)]
    if not STATE.traces:
        carry = own(init)
        leaves, spec = flatten(carry)
        kinds = [strong(x) for x in leaves]
        for i in range(*map(int, ends)):
            carry = body(np.int64(i), carry)
            if i == int(ends[0]):
                check_carry("fori_loop", carry, spec, kinds)
        return map_leaves(plain, carry)
    leaves, spec = operands_of(init, "fori_loop: the initial carry"), flatten(init)[1]
    kinds = [strong(x) for x in leaves]
    step = region(body, (np.int64(0), init), [NUMBER, *kinds], "fori_loop: the body")
    _check_region("fori_loop", step, spec, kinds)
    n = len(step.captures)

    def inner(consts: Any, carries: Any, number: Any, _: Any) -> Any:
        found = evaluate(step.graph, [add(number, consts[n]), *carries, *consts[:n]])
        return [convert(x, t.dtype) for x, t in zip(found, kinds, strict=True)], []

    given = [*step.captures, convert(ends[0], np.int64) if isinstance(ends[0], Boxed) else np.int64(ends[0])]
    if any(isinstance(x, Boxed) for x in ends):
        symbol = unused_symbol(step.graph)
        types = list(map(strong, (*given, *leaves)))
        graph = closed(
            "steps",
            lambda *v: loop("body", inner, Parts(v[: n + 1], v[n + 1 :], ()), step.graph, integers.symbol(symbol), False)[0],
            types,
            step.graph,
        )
        count = maximum(convert(sub(ends[1], ends[0]), np.int64), 0)
        found = bind(sized_op, [count, *given, *leaves], {"graph": graph, "symbol": symbol})
    else:
        length = integers.maximum(0, ends[1] - ends[0])
        found = loop("body", inner, Parts(given, leaves, ()), step.graph, length, False)[0]
    return unflatten(spec, [plain(x) for x in found])


def _condition(value: Any) -> bool:
    shape = leaf_type(value).shape
    if shape != ():
        raise ShapeError(
            f"{user_line()}: while_loop: the condition must return one value, not an array of shape {shape}; use np.any or np.all"
        )
    return bool(value)


def _integer(x: Any) -> Any:
    """A bound of fori_loop: an int, a size, or a traced integer."""
    if isinstance(x, integers.Integer):
        return x
    kind = leaf_type(x)
    if kind.dtype.kind not in "iu" or kind.shape != ():
        raise TypeError(f"{user_line()}: fori_loop: a bound must be one integer, not {kind}")
    return x if isinstance(x, Boxed) and STATE.traces else int(x)


def _check_region(who: str, step: Region, spec: Any, kinds: Sequence[ArrayType]) -> None:
    check_carry(who, unflatten(step.out_spec, list(step.graph.outputs)), spec, kinds, lambda a: a.type)


OPS = (while_op,)
__all__ = ["fori_loop", "loop_while", "while_loop", "while_op"]
