"""Loops as plain Python: what workloads with loops are written with, and what libraries replace by
their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy.integrate import solve_ivp


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: int | None = None
) -> tuple[Any, list[Any]]:
    """`carry, y = f(carry, x)` for each x of one array, or a tuple of arrays; the last carry, and a
    list of the ys."""
    count = length if xs is None else len(xs[0] if isinstance(xs, tuple) else xs)
    ys = []
    carry = init
    for i in range(count or 0):
        carry, y = f(
            carry,
            None if xs is None else tuple([x[i] for x in xs]) if isinstance(xs, tuple) else xs[i],
        )
        ys.append(y)
    return carry, ys


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """`carry = body(carry)` as long as `condition(carry)` holds."""
    carry = init
    while condition(carry):
        carry = body(carry)
    return carry


def vmap(f: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    """`f` of every row, as a list."""
    return lambda rows: [f(row) for row in rows]


def odeint(f: Callable[..., Any], y0: Any, times: Any, *args: Any, rtol: float, atol: float) -> Any:
    """The solution of dy/dt = f(y, t, *args) at these times, far more exactly than asked for."""
    ends, finer = (times[0], times[-1]), (min(rtol, 1e-12), min(atol, 1e-14))
    return solve_ivp(
        lambda t, y: f(y, t, *args),
        ends,
        y0,
        method="DOP853",
        t_eval=times,
        rtol=finer[0],
        atol=finer[1],
    ).y.T
