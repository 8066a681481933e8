"""`minimize`: a minimum of a function, differentiated by the implicit function theorem applied to
its gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..control.region import closed
from ..control.repeat import while_loop
from ..derivatives.forward import jvp
from ..derivatives.reverse import value_and_grad
from ..ir.evaluate import evaluate
from ..ir.trace import user_line
from ..sizes import seen
from ..transforms.tracing import leaf_type
from .implicit import along, chosen
from .iteration import Step, either, largest, solution
from .krylov import dot, norm
from .vectors import Closed, Layout, over_vectors, traced

SHORTEST = 2.0**-30
"""The shortest part of a step that a line search tries."""
Function = Callable[[Any], Sequence[Any]]
"""Value and gradient."""


def minimize(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: str = "newton",
    tol: float | None = None,
    max_steps: int = 200,
    linear_solver: str = "auto",
    info: bool = False,
) -> Any:
    """x where f(x, *args) is least among its neighbours, found from x0, and differentiated by the
    implicit function theorem.

    f               returns one real number; it is traced, so it must not branch on values
    x0              where to start: a number, an array or a tree of them, floating-point or complex;
                    x is like it
    method          "newton": directions from as many conjugate gradients on the Hessian as pay
                    (Nocedal and Wright, "Numerical Optimization", section 7.1), from products with
                    it alone, so for any number of unknowns; "bfgs": an approximate inverse of the
                    Hessian from gradients, as a matrix
    tol             the iteration ends where no element of the gradient is larger and the last step
                    was short: see `root`
    linear_solver   how systems with the Hessian are solved for derivatives: "auto" is "dense" up to
                    500 unknowns, "cg" beyond; "sparse" finds where its entries are and factorizes
                    it, and "newton" takes its directions from that, too, wherever they go down

    Every step makes f smaller, so x is a minimum unless the search began at another place of zero
    gradient. `max_steps`, `info`, and what is said of derivatives: see `root`; the equations are
    those of a zero gradient, and the matrix is the Hessian. At a minimum of which the Hessian is
    singular a derivative does not exist: a LinAlgError, or a RuntimeError of an iterative linear
    solver.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> best = tg.jit(lambda a: tg.minimize(lambda x: np.sum(np.cosh(x) - a * x), np.zeros(2)))
    >>> bool(np.allclose(best(np.array([1.0, 2.0])), np.arcsinh([1.0, 2.0])))
    True
    >>> tg.jacobian(best)(np.array([0.0, 2.0])).round(6)
    array([[1.      , 0.      ],
           [0.      , 0.447214]])
    """
    if method not in ("newton", "bfgs"):
        raise ValueError(
            f'{user_line()}: minimize: there is no method {method!r}; choose "newton" or "bfgs"'
        )
    layout = Layout(x0, "minimize: x0", linear_solver == "sparse")

    value = over_vectors(
        traced(lambda x: f(x, *args), layout, "minimize: f"), layout, _one_number, "value"
    )

    def both(z: Any, *captures: Any) -> list[Any]:
        return list(value_and_grad(lambda y: evaluate(value.graph, [y, *captures])[0])(z))

    graph = closed("gradient", both, [v.type for v in value.graph.inputs], value.graph)
    linear = chosen(linear_solver, layout.size, symmetric=True)
    equations = Closed(graph.replace(outputs=graph.outputs[1:]), value.captures)
    equations = equations.with_matrix(linear)
    function = Closed(graph, value.captures).constant()
    hessian = along(equations.constant(), linear) if linear == "sparse" else None
    return solution(
        "minimize",
        layout,
        equations,
        lambda z, limit: (
            newton(function.all, z, limit, hessian)
            if method == "newton"
            else bfgs(function.all, z, limit)
        ),
        linear,
        tol,
        max_steps,
        info,
    )


def _one_number(found: list[Any]) -> list[Any]:
    kinds = [leaf_type(y) for y in found]
    if [k.shape for k in kinds] != [()] or kinds[0].dtype.kind != "f":
        raise TypeError(
            f"{user_line()}: minimize: f must return one real number, "
            f"it returned {', '.join(map(str, kinds))}"
        )
    return found


def _searched(function: Function, state: Any, direction: Any, tol: float) -> tuple[Any, Any, Any]:
    """The next z, value, gradient and its size along a direction; whether it is better, and whether
    it is the last."""
    z, value, g, size = state
    eps = float(np.finfo(z.dtype).eps)
    slope = dot(g, direction)

    def trial(t: Any) -> Any:
        y = z + t * direction
        v, q = function(y)
        return y, v, q, largest(q), t

    def refused(s: Any) -> Any:
        # Near the minimum the values differ by rounding alone, and the gradient tells.
        lower = s[1] <= value + 1e-4 * s[4] * slope
        equal = (ops.absolute(s[1] - value) <= 8 * eps * ops.absolute(value)) & (s[3] < size)
        return ~(lower | equal)

    *new, t = while_loop(
        lambda s: refused(s) & (s[4] > SHORTEST),
        lambda s: trial(s[4] * 0.5),
        trial(z.dtype.type(1)),
    )
    better = ~refused((*new, t))
    after = either(better, new, state)
    move, reach = largest(direction), largest(after[0])
    # The step says how far the minimum was, which a small gradient alone does not.
    close = (after[3] <= tol) & (move <= tol**0.5 * ops.maximum(reach, 1))
    rounding = (move <= 4 * eps * reach) | (~better & ((size <= tol) | (move <= eps**0.5 * reach)))
    ended = close | rounding | (after[3] == 0)
    # Where the value or the gradient is NaN nothing was found.
    return after, better, ended & _known(after[1], after[3])


def _known(value: Any, size: Any) -> Any:
    return ops.isfinite(value) & ops.isfinite(size)


def newton(
    function: Function, z: Any, tol: float, hessian: Callable[[Any, Any], Any] | None = None
) -> tuple[Any, Any, Step]:
    """The first state (z, value, gradient, its largest element), whether it is the last, and the
    step. `hessian(z, b)` solves systems with the Hessian, where that is done directly."""
    eps = float(np.finfo(z.dtype).eps)
    n = leaf_type(z).shape[0]
    most = 2 * n + 10 if isinstance(n, int) else 1000

    def step(state: Any) -> Any:
        z, _, g, size = state

        def product(v: Any) -> Any:
            return jvp(lambda y: function(y)[1], (z,), (v,))[1]

        gg = dot(g, g)
        # Exactly enough for quadratic convergence.
        goal = gg * ops.square(ops.minimum(0.01, size))

        def improve(inner: Any) -> Any:
            d, r, p, rr, k, _ = inner
            q = product(p)
            curvature = dot(p, q)
            usable = curvature > eps * dot(p, p)
            alpha = rr / ops.where(usable, curvature, 1)
            r_after = r - alpha * q
            after = dot(r_after, r_after)
            # Where the Hessian has a direction of negative curvature, what was found before it goes
            # down; at first, the direction itself.
            d_after = ops.where(usable, d + alpha * p, ops.where(k > 0, d, p))
            return d_after, r_after, r_after + (after / rr) * p, after, k + 1, usable

        start = ops.zeros_like(z), -g, -g, gg, np.int64(0), np.True_
        if hessian is not None:
            direct = hessian(z, -g)
            # Where it goes down there is nothing left to improve.
            down = dot(g, direct) < 0
            start = (
                ops.where(down, direct, start[0]), *start[1:3],
                ops.where(down, ops.zeros_like(gg), gg), *start[4:],
            )  # fmt: skip
        direction = while_loop(lambda s: s[5] & (s[3] > goal) & (s[4] < most), improve, start)[0]
        after, _, ended = _searched(function, state, direction, tol)
        return after, ended

    value, g = function(z)
    size = largest(g)
    return (z, value, g, size), (size == 0) & _known(value, size), step


def bfgs(function: Function, z: Any, tol: float) -> tuple[Any, Any, Step]:
    """As `newton`, with an approximate inverse of the Hessian in the state (Broyden, Fletcher,
    Goldfarb, Shanno 1970)."""
    kind = leaf_type(z)
    identity = ops.eye(seen(kind.shape[0]), dtype=kind.dtype)
    eps = float(np.finfo(kind.dtype).eps)

    def step(state: Any) -> Any:
        z, value, g, inverse, first, size = state
        after, better, ended = _searched(function, (z, value, g, size), -(inverse @ g), tol)
        s, y = after[0] - z, after[2] - g
        sy, yy = dot(s, y), dot(y, y)
        # Without curvature along the step there is nothing to learn from it; the first one gives
        # the scale.
        usable = sy > eps * norm(s) * ops.sqrt(yy)
        rho = ops.where(usable, 1 / ops.where(usable, sy, 1), 0)
        scaled = ops.where(first & usable, sy / ops.where(usable, yy, 1) * identity, inverse)
        left = identity - rho * ops.outer(s, y)
        updated = left @ scaled @ ops.transpose(left) + rho * ops.outer(s, s)
        # What led nowhere is forgotten.
        inverse = ops.where(better, ops.where(usable, updated, inverse), identity)
        after = (*after[:3], inverse, first & ~usable, after[3])
        return after, ended

    value, g = function(z)
    size = largest(g)
    return (
        (z, value, g, identity / ops.maximum(norm(g), 1), np.True_, size),
        (size == 0) & _known(value, size),
        step,
    )


__all__ = ["bfgs", "minimize", "newton"]
