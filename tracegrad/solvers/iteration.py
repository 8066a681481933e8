"""What iterative solvers share: repeating a step until it says that it is done, and what is said
where that does not come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..control.repeat import loop_while
from ..custom.rules import stop_gradient
from ..ir.trace import user_line
from ..transforms.tracing import plain
from .implicit import implicit, tolerance
from .vectors import Closed, Layout


class Info(NamedTuple):
    """How an iteration ended: whether it converged, after how many steps, and how large what should
    be 0 still is."""

    converged: Any
    steps: Any
    residual: Any


Step = Callable[[Any], tuple[Any, Any]]
"""From a state (the unknowns first, the size of what should be 0 last) to the next one, and whether
that is the last."""


def solution(
    who: str,
    layout: Layout,
    equations: Closed,
    begin: Callable[[Any, float], tuple[Any, Any, Step]],
    linear_solver: str,
    tol: float | None,
    max_steps: int,
    info: bool,
) -> Any:
    """The tree laid out so that fulfils the equations, differentiated as what they make it.

    `begin(start, tol)` gives a first state, whether it is the last, and the step, which is
    repeated. Without `info` a RuntimeError where that takes more than `max_steps`.
    """
    if max_steps < 0:
        raise ValueError(f"{user_line()}: {who}: max_steps must be at least 0, it is {max_steps}")
    limit = tolerance(layout.dtype) if tol is None else float(tol)
    z = stop_gradient(layout.pack(layout.leaves))
    how = Info(np.True_, np.int64(0), layout.dtype.type(0))
    if layout.size != 0:
        z, how = _repeated(who, *begin(z, limit), limit, max_steps, info)
        z = implicit(z, equations, linear_solver)
    x = layout.result(z)
    return (x, how) if info else x


def _repeated(
    who: str, start: Any, done: Any, step: Step, tol: float, max_steps: int, info: bool
) -> tuple[Any, Info]:
    def body(state: Any) -> Any:
        inner, _, count = state
        return *step(inner), count + 1

    def going(state: Any) -> Any:
        return ~state[1] & (state[2] < max_steps) if info else ~state[1]

    failure = (
        f"{who} has not converged to tol={tol:.2g} within max_steps={max_steps}: "
        "start nearer to the solution, allow more steps or a larger tol, or ask for info=True, "
        "which returns where it stopped"
    )
    # A trial outside of where the function is defined gives a NaN, and is refused.
    with np.errstate(all="ignore"):
        state, done, count = loop_while(
            going, body, (start, done, np.int64(0)), None if info else max_steps, failure
        )
    return state[0], Info(plain(done), plain(count), plain(state[-1]))


def largest(x: Any) -> Any:
    """The largest absolute value; NaN where there is one."""
    return ops.max(ops.absolute(x))


def either(better: Any, new: Any, old: Any) -> tuple[Any, ...]:
    """One of two states."""
    return tuple([ops.where(better, a, b) for a, b in zip(new, old, strict=True)])


__all__ = ["Info", "Step", "either", "largest", "solution"]
