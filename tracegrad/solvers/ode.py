"""`odeint`: initial value problems of ordinary differential equations, with steps of fixed or
adapted size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..control.repeat import loop_while
from ..control.scan import scan
from ..custom.rules import stop_gradient
from ..dtypes import FLOAT64, real_of
from ..errors import DTypeError, ShapeError
from ..ir.trace import user_line
from ..ops.check import check
from ..sizes import numel, seen_shape
from ..tensor import Boxed
from ..transforms.tracing import leaf_type
from ..tree import flatten, unflatten
from .rosenbrock import DENSE, rates
from .rosenbrock import attempt as stiff_step
from .vectors import Layout

# Dormand and Prince 1980: a step of order 5 and an estimate of its error of order 4. The last stage
# is the first of the next step.
NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
STAGES = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
# The weights of a solution of order 4 inside of the step (Shampine 1986), from Hairer, Norsett,
# Wanner, "Solving Ordinary Differential Equations I", section II.6: powers of the fraction of the
# step, from the first on, for each stage.
INSIDE = (
    (1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432),
    (0.0, 0.0, 0.0, 0.0),
    (0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799),
    (0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072),
    (0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632),
    (0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844),
    (0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423),
)
SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0


def _told(spec: Any, shapes: Sequence[Any]) -> str:
    """A tree of arrays in words."""
    if spec.is_leaf():
        return f"an array of shape {shapes[0]}"
    return f"a {getattr(spec.type, '__name__', 'tree')} with shapes {list(shapes)}"


def odeint(
    f: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    method: str = "dopri5",
    rtol: float = 1e-6,
    atol: float = 1e-9,
    max_steps: int = 100_000,
    linear_solver: str = "auto",
) -> Any:
    """The solution of dy/dt = f(y, t, *args) with y(t[0]) = y0 at the times `t`, stacked along a
    new first axis.

    f           gives the derivative of y, a tree like y0
    y0          a tree of floating-point arrays
    t           times of shape (n,), each later than the one before or equal, or all in the other
                order: then the solution is that backward in time
    method      "dopri5": steps of order 5 as long as the tolerances allow, with a solution of order
                4 inside of each for the times asked for; "rodas": steps of order 4 for stiff
                equations, whose length accuracy alone decides (an L-stable Rosenbrock method;
                Hairer and Wanner, "Solving Ordinary Differential Equations II", section VI.4), with
                a solution of order 3 inside of each; "rk4": one step of the classical method of
                order 4 from each time to the next
    rtol, atol  the error that a step may have, except of rk4: the root mean square of error /
                (atol + rtol * |y|) is at most 1
    max_steps   a RuntimeError where more steps are needed from one time to the next
    linear_solver  of rodas, which solves six systems a step with the matrix of f by y: "dense";
                "sparse", which finds where its entries are, as `tg.sparse_jacobian` does (few
                diagonals go to LAPACK, in what order of the unknowns they may be found, others to
                SuperLU); "auto" is "dense" up to 100 unknowns and where most entries are there

    In a compiled function the steps are one loop. Derivatives of every mode and order, with respect
    to y0, t, args and what `f` reads around it, are those of the steps taken: exact for the numbers
    that are returned. Sizes of steps count as constants.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.jit
    ... def decay(k):
    ...     times = np.array([0.0, 1.0])
    ...     return tg.odeint(lambda y, t: -k * y, 1.0, times, rtol=1e-10, atol=1e-12)[-1]
    >>> round(float(decay(2.0)), 8), round(float(tg.grad(decay)(2.0)), 8)
    (0.13533528, -0.13533528)
    """
    leaves, spec = flatten(y0)
    if not leaves:
        raise ValueError("odeint: y0 is empty")
    _check_how(rtol, atol, max_steps)
    if isinstance(t, (list, tuple)) and t:
        t = ops.stack(list(t))
    times = leaf_type(t)
    if times.dtype.kind == "c":
        raise DTypeError(f"{user_line()}: odeint: t must be real times, not {times.dtype}")
    if times.ndim != 1 or times.shape[0] == 0:
        raise ShapeError(
            "odeint: t must be the times, of shape (n,) with the first of them that of y0; "
            f"it has shape {times.shape}"
        )
    for x in (*leaves, t):
        kind = leaf_type(x)
        if kind.dtype.kind not in "fc" and not (kind.weak or x is t):
            raise DTypeError(
                f"odeint: y0 must hold floating-point numbers, not {kind.dtype}; "
                "convert it with .astype(float)"
            )
    state = [
        ops.convert(x, kind.dtype if kind.dtype.kind in "fc" else np.float64)
        for x, kind in zip(leaves, map(leaf_type, leaves), strict=True)
    ]
    asked = times.dtype if times.dtype.kind == "f" else FLOAT64
    # Steps are far smaller than times, whatever the dtype of the times.
    t = ops.convert(t, np.result_type(asked, FLOAT64))
    kinds = [leaf_type(x) for x in state]

    def slope(y: Sequence[Any], at: Any) -> list[Any]:
        found, structure = flatten(f(unflatten(spec, list(y)), ops.convert(at, asked), *args))
        shapes = [leaf_type(d).shape for d in found]
        if structure != spec or shapes != [k.shape for k in kinds]:
            raise ShapeError(
                f"{user_line()}: odeint: f must return a tree like y0, "
                f"{_told(spec, [k.shape for k in kinds])}; it returned {_told(structure, shapes)}"
                + (
                    ". Numbers in a list are a tree: np.array(y0) is one array, and np.stack "
                    "makes one of what f computes"
                    if structure != spec
                    else ""
                )
            )
        for d, k in zip(found, kinds, strict=True):
            given = leaf_type(d).dtype
            if given.kind == "c" and k.dtype.kind != "c":
                raise DTypeError(
                    f"{user_line()}: odeint: f returned {given} for a value of {k.dtype}; make y0 "
                    "complex, or return real numbers"
                )
        return [ops.convert(d, k.dtype) for d, k in zip(found, kinds, strict=True)]

    if method == "rk4":
        rest = _classical(slope, state, t)
    elif method == "dopri5":
        rest = _adapted(_explicit(slope), slope, state, t, (rtol, atol, max_steps, 5))
    elif method == "rodas":
        rest = _stiff(slope, state, t, (rtol, atol, max_steps, 4), linear_solver)
    else:
        raise ValueError(
            f'odeint: there is no method {method!r}; choose "dopri5", "rodas" or "rk4"'
        )
    return unflatten(
        spec,
        [ops.concatenate([ops.expand_dims(x, 0), r]) for x, r in zip(state, rest, strict=True)],
    )


Slope = Callable[[Sequence[Any], Any], list[Any]]
Attempted = tuple[list[Any], list[Any], list[list[Any]], list[Any]]
"""The values after a step, the estimates of their errors, the powers of the fraction of the step,
from the first on, of the solution inside, and what the next step may know."""
Attempt = Callable[[list[Any], Any, Any, list[Any]], Attempted]
"""One step from values, their time, its size and what is known there."""


def _check_how(rtol: Any, atol: Any, max_steps: Any) -> None:
    if isinstance(max_steps, bool) or not isinstance(max_steps, (int, np.integer)):
        raise TypeError(
            f"{user_line()}: odeint: max_steps must be an integer, not a "
            f"{type(max_steps).__name__} ({max_steps!r:.60})"
        )
    for name, value in (("rtol", rtol), ("atol", atol)):
        if isinstance(value, (int, float, np.number)) and not value >= 0:
            raise ValueError(f"{user_line()}: odeint: {name} must be at least 0, it is {value}")


def _direction(t: Any) -> Any:
    """1 where times increase, -1 where they decrease; other orders are errors."""
    if not isinstance(t, Boxed):
        steps = np.diff(t)
        if np.any(steps < 0) and np.any(steps > 0):
            raise ValueError(
                f"{user_line()}: odeint: t must increase or decrease, it does both: "
                f"{np.array2string(t, threshold=8)}"
            )
        return -1.0 if np.any(steps < 0) else 1.0
    sign = stop_gradient(ops.where(t[-1] < t[0], -1.0, 1.0))
    wrong = ops.any(ops.less(sign * (t[1:] - t[:-1]), 0.0))
    check(
        ops.convert(wrong, np.int64),
        (f"{user_line()}: odeint: t must increase or decrease, it does both",),
    )
    return sign


def _moved(
    y: Sequence[Any], h: Any, weights: Sequence[Any], slopes: Sequence[Sequence[Any]]
) -> list[Any]:
    """y + h * (the weighted sum of slopes)."""
    result = []
    for k, x in enumerate(y):
        total: Any = None
        for w, s in zip(weights, slopes, strict=False):
            if not (isinstance(w, float) and w == 0.0):
                total = w * s[k] if total is None else total + w * s[k]
        if total is None:
            result.append(x)
            continue
        # Times may have more digits than values, which keep their dtype.
        kind = leaf_type(total).dtype
        result.append(x + ops.convert(h, real_of(kind)) * total)
    return result


def _classical(slope: Slope, y0: list[Any], t: Any) -> list[Any]:
    def step(y: list[Any], ends: Any) -> Any:
        start, end = ends
        h = end - start
        a = slope(y, start)
        b = slope(_moved(y, h, (0.5,), (a,)), start + 0.5 * h)
        c = slope(_moved(y, h, (0.5,), (b,)), start + 0.5 * h)
        d = slope(_moved(y, h, (1.0,), (c,)), end)
        y = _moved(y, h, (1 / 6, 1 / 3, 1 / 3, 1 / 6), (a, b, c, d))
        return y, y

    return list(scan(step, y0, (t[:-1], t[1:]))[1])


def _explicit(slope: Slope) -> Attempt:
    def attempt(y: list[Any], start: Any, h: Any, first: list[Any]) -> Attempted:
        slopes = [first]
        for node, weights in zip(NODES[1:], STAGES[1:], strict=True):
            after = _moved(y, h, weights, slopes)
            slopes.append(slope(after, start + node * h))
        nothing = [ops.zeros_like(x) for x in y]
        inside = [_moved(nothing, h, [row[p] for row in INSIDE], slopes) for p in range(4)]
        return after, _moved(nothing, h, ERROR, slopes), inside, slopes[-1]

    return attempt


def _stiff(
    slope: Slope, y0: list[Any], t: Any, how: tuple[float, float, int, int], linear_solver: str
) -> list[Any]:
    layout = Layout(y0, "odeint: y0")
    if linear_solver == "sparse" or (linear_solver == "auto" and layout.size > DENSE):
        layout = Layout(y0, "odeint: y0", True)
    given = rates(slope, layout, t, linear_solver)

    def attempt(y: list[Any], start: Any, h: Any, first: list[Any]) -> Attempted:
        after, error, inside = stiff_step(given, y[0], start, h)
        return [after], [error], [[p] for p in inside], first

    def of_vector(y: Sequence[Any], at: Any) -> list[Any]:
        return [given.at(y[0], at)]

    rest = _adapted(attempt, of_vector, [layout.pack(y0)], t, how, layout.unpack)
    return [ops.convert(x, leaf_type(old).dtype) for x, old in zip(rest, y0, strict=True)]


def _adapted(
    attempt: Attempt,
    slope: Slope,
    y0: list[Any],
    t: Any,
    how: tuple[float, float, int, int],
    result: Callable[[Any], list[Any]] | None = None,
) -> list[Any]:
    """Steps as long as tolerances allow (`how`: rtol, atol, the most steps, the order) by attempts;
    `result` is what is wanted of the only value of the state."""
    rtol, atol, max_steps, order = how
    count = ops.maximum(sum(numel(seen_shape(x.shape)) for x in map(leaf_type, y0)), 1)
    sign, times = _direction(t), leaf_type(t).dtype

    def size(values: Sequence[Any], *scales: Sequence[Any]) -> Any:
        """The root mean square of values in units of what is allowed."""
        total: Any = 0.0
        for k, v in enumerate(values):
            largest = ops.absolute(scales[0][k])
            for s in scales[1:]:
                largest = ops.maximum(largest, ops.absolute(s[k]))
            total = total + ops.sum(ops.square(ops.absolute(v) / (atol + rtol * largest)))
        return ops.sqrt(total / count)

    first = slope(y0, t[0])
    # A first step that changes y by a hundredth of itself (Hairer, Norsett, Wanner, section II.4).
    d0, d1 = size(y0, y0), size(first, y0)
    guess = ops.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / ops.where(d1 < 1e-5, 1.0, d1))
    whole = ops.maximum(ops.absolute(t[-1] - t[0]), 1e-300)
    h0 = stop_gradient(ops.convert(sign * ops.minimum(guess, whole), times))
    nothing = [[ops.zeros_like(x) for x in y0] for _ in range(4)]
    within = np.result_type(*[real_of(leaf_type(x).dtype) for x in y0])
    failure = (
        f"odeint: still going after max_steps={max_steps} steps from one time to the next: f may "
        'give NaN, be stiff (method="rodas" is for that), or tolerances be too small'
    )
    if result is not None:
        first = []

    def reach(carry: Any, target: Any) -> Any:
        def step(state: Any) -> Any:
            start, size_of_step, y, known, *_ = state
            end = start + size_of_step
            # What lies between two times that can be told apart: smaller steps grow.
            moves = ops.not_equal(end, start)
            h = stop_gradient(ops.where(moves, end - start, size_of_step))
            after, error, powers, next_known = attempt(y, start, h, known)
            ratio = stop_gradient(size(error, y, after))
            good = ops.logical_and(moves, ratio <= 1.0)
            factor = ops.clip(SAFETY * ops.maximum(ratio, 1e-10) ** (-1 / order), SHRINK, GROW)
            factor = ops.where(moves, ops.where(ops.isfinite(ratio), factor, SHRINK), GROW)

            def either(new: Sequence[Any], old: Sequence[Any]) -> list[Any]:
                return [ops.where(good, a, b) for a, b in zip(new, old, strict=True)]

            kept = [either(new, old) for new, old in zip(powers, state[7], strict=True)]
            return (
                ops.where(good, end, start),
                ops.convert(stop_gradient(size_of_step * factor), times),
                either(after, y),
                either(next_known, known),
                ops.where(good, start, state[4]),
                ops.where(good, h, state[5]),
                either(y, state[6]),
                kept,
            )

        carry = loop_while(
            lambda state: ops.less(0.0, sign * (target - state[0])), step, carry, max_steps, failure
        )
        _, _, _, _, start, h, before, powers = carry
        fraction = ops.convert((target - start) / h, within)
        y = [
            x + fraction * (a + fraction * (b + fraction * (c + fraction * d)))
            for x, a, b, c, d in zip(before, *powers, strict=True)
        ]
        return carry, y if result is None else result(y[0])

    begin = (t[0], h0, y0, first, t[0], ops.ones_like(h0), y0, nothing)
    return list(scan(reach, begin, t[1:])[1])


__all__ = ["odeint"]
