"""`root` and `fixed_point`: systems of nonlinear equations, whose solutions are differentiated by
the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..control.region import own
from ..control.repeat import while_loop
from ..errors import ShapeError
from ..ir.trace import user_line
from ..sizes import same_shape
from ..transforms.tracing import leaf_type
from ..tree import flatten
from .implicit import along, chosen
from .iteration import Step, either, largest, solution
from .vectors import Layout, count_equations, over_vectors, traced

MEMORY = 5
"""How many steps Anderson's acceleration combines."""
SHORTEST = 2.0**-20
"""The shortest part of a step that a line search tries."""
Function = Callable[[Any], Any]


def newton(function: Function, z: Any, linear_solver: str, tol: float) -> tuple[Any, Any, Step]:
    """The first state (z, residuals, the largest of them), whether it is the last, and the step of
    Newton's method with a line search."""
    eps, towards = float(np.finfo(z.dtype).eps), along(function, linear_solver)

    def step(state: Any) -> Any:
        z, r, size = state
        direction = towards(z, ops.neg(r))

        def trial(t: Any) -> Any:
            y = z + t * direction
            q = function(y)
            return y, q, largest(q), t

        # Along the direction all residuals become smaller, at first in proportion to the step.
        *new, _ = while_loop(
            lambda s: ~(s[2] < (1 - 1e-4 * s[3]) * size) & (s[3] > SHORTEST),
            lambda s: trial(s[3] * 0.5),
            trial(z.dtype.type(1)),
        )
        better = new[2] < size
        after = either(better, new, state)
        move, reach = largest(direction), largest(after[0])
        # The step says how far the solution was, which small residuals alone do not; the next one
        # would be of the order of its square.
        close = (after[2] <= tol) & (move <= tol**0.5 * ops.maximum(reach, 1))
        # Rounding leaves nothing to gain where the step is the last digit's, or makes nothing
        # better where it should.
        rounding = (move <= 4 * eps * reach) | (
            ~better & ((size <= tol) | (move <= eps**0.5 * reach))
        )
        return after, close | rounding | (after[2] == 0)

    r = function(z)
    size = largest(r)
    return (z, r, size), size == 0, step


def root(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    tol: float | None = None,
    max_steps: int = 100,
    linear_solver: str = "auto",
    info: bool = False,
) -> Any:
    """x with f(x, *args) = 0, near x0: by Newton's method, and differentiated by the implicit
    function theorem.

    f               returns as many numbers as x has, as a tree of any structure; it is traced, so
                    it must not branch on values
    x0              where to start: a number, an array or a tree of them, floating-point or complex;
                    x is like it
    tol             the iteration ends where no |f| is larger and the last step was shorter than
                    sqrt(tol) times the largest |x| (or than sqrt(tol)), or where rounding lets
                    nothing become smaller; eps ** 0.75 by default: 2e-12 in float64, 6e-6 in
                    float32
    max_steps       a RuntimeError after so many steps, in compiled code too; a singular matrix on
                    the way is a LinAlgError
    linear_solver   how linear systems with the matrix df/dx are solved, here and in derivatives:
                    "dense" makes the matrix; "sparse" finds where its entries are, as
                    `tg.sparse_jacobian` does, and factorizes it (with few diagonals by LAPACK, else
                    by SuperLU); "bicgstab", "gmres" and "cg" (for symmetric definite matrices) need
                    products with it only; "auto" is "dense" up to 500 unknowns, and "bicgstab"
                    beyond
    info            also return `(converged, steps, residual)`; then not to converge is no error

    A step is halved until it makes the residuals smaller. In a compiled function all of this is one
    loop. Derivatives of every mode and order, with respect to args and what `f` reads around it,
    are those of the solution and not of the steps: dx = -(df/dx)^-1 (df/dp) dp, one linear system
    for a gradient. With respect to x0 they are 0: near a solution it does not matter where the
    search began. An x that is not converged (`info=True`) gets the same formula, which then says
    nothing.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> kepler = tg.jit(lambda e, m: tg.root(lambda E: E - e * np.sin(E) - m, m))
    >>> round(float(kepler(0.3, 1.0)), 8), round(float(tg.grad(kepler)(0.3, 1.0)), 8)
    (1.28809131, 1.04800831)
    """
    layout = Layout(x0, "root: x0", linear_solver == "sparse")
    given = traced(lambda x: f(x, *args), layout, "root: f")
    equations = over_vectors(
        given, layout, lambda found: [count_equations(found, layout, "root: f")]
    )
    method = chosen(linear_solver, layout.size)
    equations = equations.with_matrix(method)
    function = equations.constant()
    return solution(
        "root",
        layout,
        equations,
        lambda z, limit: newton(function, z, method, limit),
        method,
        tol,
        max_steps,
        info,
    )


def fixed_point(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: str = "iteration",
    tol: float | None = None,
    max_steps: int = 10_000,
    linear_solver: str = "auto",
    info: bool = False,
) -> Any:
    """x with f(x, *args) = x, found from x0, and differentiated by the implicit function theorem.

    f               returns a tree like x0; it is traced, so it must not branch on values
    x0              where to start: a number, an array or a tree of them, floating-point or complex
    method          "iteration": x, f(x), f(f(x)), ..., which finds it where f is a contraction;
                    "anderson": of the last 5 steps that combination which would cancel their
                    changes (Anderson 1965), often in far fewer; "newton": as `root` does
    tol             the iteration ends where no number changes by more than tol times the largest
                    |x|, or tol where that is below 1 (by default eps ** 0.75: 2e-12 in float64,
                    6e-6 in float32)

    `max_steps`, `linear_solver`, `info`, and what is said of derivatives: see `root`. The matrix is
    1 - df/dx.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> f = tg.jit(lambda a: tg.fixed_point(lambda x: np.cos(a * x), 0.5))
    >>> round(float(f(1.0)), 8), round(float(tg.grad(f)(1.0)), 8)
    (0.73908513, -0.29747434)
    """
    if method not in ("iteration", "anderson", "newton"):
        raise ValueError(
            f'{user_line()}: fixed_point: there is no method {method!r}; choose "iteration", '
            '"anderson" or "newton"'
        )
    layout = Layout(x0, "fixed_point: x0", linear_solver == "sparse")

    def residuals(x: Any) -> list[Any]:
        # What f gets it may write into.
        found, spec = flatten(f(own(x), *args))
        shapes = [leaf_type(y).shape for y in found]
        if (
            spec != layout.spec
            or len(shapes) != len(layout.kinds)
            or any(not same_shape(a, k.shape) for a, k in zip(shapes, layout.kinds, strict=True))
        ):
            raise ShapeError(
                f"{user_line()}: fixed_point: f must return a tree like x0, "
                f"{layout.spec} with shapes {[k.shape for k in layout.kinds]}; "
                f"it returned {spec} with shapes {shapes}"
            )
        return [ops.sub(y, old) for y, old in zip(found, flatten(x)[0], strict=True)]

    equations = over_vectors(
        traced(residuals, layout, "fixed_point: f"), layout, lambda found: [layout.pack(found)]
    )
    linear = chosen(linear_solver, layout.size)
    equations = equations.with_matrix(linear)
    function = equations.constant()

    def begin(z: Any, limit: float) -> Any:
        if method == "newton":
            return newton(function, z, linear, limit)
        return (anderson if method == "anderson" else picard)(function, z, limit)

    return solution("fixed_point", layout, equations, begin, linear, tol, max_steps, info)


def _small(change: Any, z: Any, tol: float) -> Any:
    return change <= tol * ops.maximum(largest(z), 1)


def picard(change: Function, z: Any, tol: float) -> tuple[Any, Any, Step]:
    """The first state (z, the largest change), whether it is the last, and the step of the plain
    iteration."""

    def step(state: Any) -> Any:
        z, _ = state
        g = change(z)
        size = largest(g)
        return (z + g, size), _small(size, z, tol)

    return (z, largest(change(z))), np.False_, step


def anderson(change: Function, z: Any, tol: float) -> tuple[Any, Any, Step]:
    """As `picard`, of Anderson's acceleration: (z, change there, the last moves and changes of
    change, number, size).

    The weights come from normal equations with a small multiple of the identity, which also keeps
    out places not yet filled.
    """
    m, eps = MEMORY, float(np.finfo(z.dtype).eps)

    def step(state: Any) -> Any:
        z, g, moves, changes, k, _ = state
        gram = changes @ ops.transpose(changes)
        scale = eps**0.75 * ops.max(ops.diagonal(gram))
        # All is 0 at the first step.
        gram = gram + ops.where(scale > 0, scale, 1) * ops.eye(m, dtype=z.dtype)
        weights = ops.linalg.solve(gram, changes @ g)
        move = g - weights @ (moves + changes)
        after = z + move
        g_after = change(after)
        size = largest(g_after)
        moves[k % m] = move
        changes[k % m] = g_after - g
        return (after, g_after, moves, changes, k + 1, size), _small(size, after, tol)

    g, size, none = change(z), largest(change(z)), ops.zeros((m, leaf_type(z).shape[0]), z.dtype)
    return (z, g, none, none, np.int64(0), size), _small(size, z, tol), step


__all__ = ["anderson", "fixed_point", "newton", "picard", "root"]
