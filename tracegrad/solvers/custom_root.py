"""`custom_root`: the user's own solver, differentiated by the implicit function theorem."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..custom.rules import stop_gradient
from ..tensor import Boxed
from ..transforms.tracing import plain
from ..tree import map_leaves
from .implicit import chosen, implicit
from .vectors import Layout, count_equations, over_vectors, traced


def custom_root(
    residual: Callable[..., Any], linear_solver: str = "auto"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for a function that solves residual(x, *args) = 0 for x and returns x, by
    whatever means.

    residual        returns as many numbers as x has; it is traced at the solution, so it must not
                    branch on values
    linear_solver   how linear systems with d residual/dx are solved: see `root`

    The solver gets its arguments without history, as NumPy arrays where nothing is traced: it may
    call SciPy or compiled libraries. In a function that `jit` or `vmap` traces it gets traced
    arrays. It is not differentiated; derivatives of every mode and order, with respect to the
    arguments and what `residual` reads around it, are those of the solution. They assume that it is
    one: nothing is checked. Keyword arguments go to the solver alone.

    >>> import numpy as np
    >>> import scipy.optimize
    >>> import tracegrad as tg
    >>> @tg.custom_root(lambda x, a: x**3 + x - a)
    ... def solve(a):
    ...     return scipy.optimize.brentq(lambda x: x**3 + x - a, 0.0, 10.0)
    >>> [round(float(f(2.0)), 8) for f in (solve, tg.grad(solve), tg.grad(tg.grad(solve)))]
    [1.0, 0.25, -0.09375]
    """

    def decorate(solver: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(solver)
        def solve(*args: Any, **kwargs: Any) -> Any:
            found = solver(*map_leaves(_constant, args), **kwargs)
            layout = Layout(found, f"{solve.__name__}: its result")
            if layout.size == 0:
                return found
            who = f"{solve.__name__}: the residual"
            given = traced(lambda x: residual(x, *args), layout, who)
            equations = over_vectors(given, layout, lambda r: [count_equations(r, layout, who)])
            return layout.result(
                implicit(layout.pack(layout.leaves), equations, chosen(linear_solver, layout.size))
            )

        return solve

    return decorate


def _constant(x: Any) -> Any:
    return plain(stop_gradient(x)) if isinstance(x, Boxed) else x


__all__ = ["custom_root"]
