"""What solves with sparse derivatives, from end to end, beside others: optimal control in
IPOPT, Newton's method for a nonlinear elliptic equation, a stiff equation with a banded Jacobian.

Contestants solve the same equations to the same tolerances, and their results are compared.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from time import process_time
from typing import Any

import numba
import numpy as np
import scipy.integrate
import scipy.sparse
import scipy.sparse.linalg

from ..compiled.jit import jit
from ..solvers.ode import odeint
from ..sparse.derivatives import sparse_jacobian
from .report.sparse import BY_HAND, OWN, SolvedRow

CART, POLE, LENGTH, GRAVITY = 1.0, 0.3, 0.5, 9.81
SECONDS, DISTANCE, FORCE = 2.0, 1.0, 20.0
"""The swing-up of M. Kelly, SIAM Review 59 (2017), section 6."""
LAMBDA = 6.0
"""Of Bratu's equation: below the fold at 6.81, where there is a solution."""


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """The processor time of a call, and its result."""
    start = process_time()
    found = run()
    return process_time() - start, found


# --- the swing-up of a pole on a cart -------------------------------------------------------------


def accelerations(angle: Any, turning: Any, force: Any, np: Any = np) -> tuple[Any, Any]:
    """Of the cart and of the pole; `np` may be another library."""
    s, c = np.sin(angle), np.cos(angle)
    mass = CART + POLE * s * s
    cart = (LENGTH * POLE * s * turning * turning + force + POLE * GRAVITY * c * s) / mass
    pole = LENGTH * POLE * c * s * turning * turning + force * c + (CART + POLE) * GRAVITY * s
    return cart, -pole / (LENGTH * mass)


def swing_up(steps: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """The effort, and the gaps of the trapezoidal rule, of a path: position, angle, their speeds
    and the force at each of steps + 1 times."""
    h = SECONDS / steps

    def effort(z: Any) -> Any:
        u = z[:, 4]
        return 0.5 * h * np.sum(u[1:] ** 2 + u[:-1] ** 2)

    def gaps(z: Any) -> Any:
        cart, pole = accelerations(z[:, 1], z[:, 3], z[:, 4])
        slope = np.stack([z[:, 2], z[:, 3], cart, pole], 1)
        return (z[1:, :4] - z[:-1, :4] - 0.5 * h * (slope[1:] + slope[:-1])).ravel()

    return effort, gaps


def swing_up_limits(steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where to start, and the lowest and highest values of all unknowns."""
    path = np.zeros((steps + 1, 5))
    path[:, :2] = np.linspace(0, 1, steps + 1)[:, None] * [DISTANCE, np.pi]
    high = np.tile([2 * DISTANCE, np.inf, np.inf, np.inf, FORCE], (steps + 1, 1))
    low = -high
    low[0, :4] = high[0, :4] = 0.0
    low[-1, :4] = high[-1, :4] = [DISTANCE, np.pi, 0.0, 0.0]
    return path, low.reshape(-1), high.reshape(-1)


def control_rows(steps: int) -> Iterator[SolvedRow]:
    """IPOPT with functions of tracegrad's and of CasADi's, where these are installed."""
    name, n = "cart-pole in IPOPT", 5 * (steps + 1)
    path, low, high = swing_up_limits(steps)
    zero = np.zeros(4 * steps)
    if find_spec("ipyopt"):
        ipyopt = import_module("ipyopt")
        effort, gaps = swing_up(steps)

        def made() -> Any:
            program = jit(effort).cfunc(path, signature="ipopt", constraints=gaps)
            return ipyopt.Problem(
                program.n,
                low,
                high,
                program.m,
                zero,
                zero,
                program.jac_structure,
                program.h_structure,
                *program.capsules,
                ipopt_options={"print_level": 0, "sb": "yes", "tol": 1e-8},
            )

        setup, problem = timed(made)
        taken, (_, value, status) = timed(lambda: problem.solve(path.reshape(-1).copy()))
        assert status == 0, f"IPOPT ended with {status}"
        yield SolvedRow(name, n, OWN, setup, taken, float(value))
    if find_spec("casadi"):
        casadi = import_module("casadi")

        def stated() -> Any:
            z, h = casadi.SX.sym("z", 5, steps + 1), SECONDS / steps
            cart, pole = accelerations(z[1, :], z[3, :], z[4, :], casadi)
            slope = casadi.vertcat(z[2, :], z[3, :], cart, pole)
            gaps = z[:4, 1:] - z[:4, :-1] - 0.5 * h * (slope[:, 1:] + slope[:, :-1])
            effort = 0.5 * h * (casadi.sumsqr(z[4, 1:]) + casadi.sumsqr(z[4, :-1]))
            problem = {"x": casadi.vec(z), "f": effort, "g": casadi.vec(gaps)}
            quiet = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-8}}
            return casadi.nlpsol("swing_up", "ipopt", problem, quiet)

        setup, solver = timed(stated)
        taken, found = timed(
            lambda: solver(x0=path.reshape(-1), lbx=low, ubx=high, lbg=0.0, ubg=0.0)
        )
        yield SolvedRow(name, n, "CasADi (SX)", setup, taken, float(found["f"]))


# --- Bratu's equation in the unit square ----------------------------------------------------------


def bratu(grid: int) -> Callable[[Any], Any]:
    """Residuals of -laplace(u) = LAMBDA exp(u) in the inner points of a square, times h**2."""
    h = 1.0 / (grid + 1)

    def residuals(u: Any) -> Any:
        inside = np.pad(u.reshape(grid, grid), 1)
        around = inside[2:, 1:-1] + inside[:-2, 1:-1] + inside[1:-1, 2:] + inside[1:-1, :-2]
        mine = inside[1:-1, 1:-1]
        return (4 * mine - around - h * h * LAMBDA * np.exp(mine)).ravel()

    return residuals


@numba.njit  # type: ignore[untyped-decorator]
def bratu_by_hand(u: Any, grid: Any, load: Any, r: Any, out: Any) -> None:  # pragma: no cover
    """Residuals and the entries of the Jacobian in the order of the rows."""
    k = 0
    for i in range(grid):
        for j in range(grid):
            p = i * grid + j
            grown = load * np.exp(u[p])
            total = 4 * u[p] - grown
            if i > 0:
                total -= u[p - grid]
                out[k] = -1.0
                k += 1
            if j > 0:
                total -= u[p - 1]
                out[k] = -1.0
                k += 1
            out[k] = 4 - grown
            k += 1
            if j < grid - 1:
                total -= u[p + 1]
                out[k] = -1.0
                k += 1
            if i < grid - 1:
                total -= u[p + grid]
                out[k] = -1.0
                k += 1
            r[p] = total


def bratu_rows(grid: int) -> Iterator[SolvedRow]:
    """Newton's method, whose systems SuperLU solves: values of tracegrad's, and by hand."""
    name, n = "Bratu, Newton", grid * grid
    residuals = jit(bratu(grid))
    jacobian = sparse_jacobian(bratu(grid), format="csc")
    start = np.zeros(n)
    setup, matrix = timed(lambda: (residuals(start), jacobian(start))[1])
    spent = 0.0

    def newton(value: Callable[[Any], Any]) -> np.ndarray:
        u = start.copy()
        for _ in range(20):
            r, j = value(u)
            step = scipy.sparse.linalg.spsolve(j, r)
            u -= step
            if abs(step).max() < 1e-9:
                return u
        raise AssertionError("Newton's method did not converge")

    load, entries, r = LAMBDA / (grid + 1) ** 2, np.empty(matrix.nnz), np.empty(n)

    def by_hand(u: Any) -> tuple[Any, Any]:
        # A symmetric matrix: its rows are its columns.
        nonlocal spent
        taken, _ = timed(lambda: bratu_by_hand(u, grid, load, r, entries))
        spent += taken
        return r, scipy.sparse.csc_array((entries, matrix.indices, matrix.indptr), matrix.shape)

    def own(u: Any) -> tuple[Any, Any]:
        nonlocal spent
        taken, (r, j) = timed(lambda: (residuals(u), jacobian(u)))
        spent += taken
        return r, j

    by_hand(start)
    for who, value, first in ((BY_HAND, by_hand, 0.0), (OWN, own, setup)):
        spent = 0.0
        taken, u = timed(functools.partial(newton, value))
        yield SolvedRow(name, n, who, first, taken, float(u.max()), spent)


# --- a stiff equation -----------------------------------------------------------------------------


def reaction(u: Any, t: Any, d: float, np: Any = np) -> Any:
    """Diffusion with a bistable reaction on a line."""
    inside = np.pad(u, 1)
    return d * (inside[2:] - 2 * u + inside[:-2]) + 20.0 * u * (1 - u) * (u - 0.3)


@numba.njit  # type: ignore[untyped-decorator]
def reaction_by_hand(t: Any, u: Any, d: Any) -> Any:  # pragma: no cover
    out = np.empty_like(u)
    n = u.size
    for i in range(n):
        left = u[i - 1] if i > 0 else 0.0
        right = u[i + 1] if i < n - 1 else 0.0
        out[i] = d * (left - 2 * u[i] + right) + 20.0 * u[i] * (1 - u[i]) * (u[i] - 0.3)
    return out


@numba.njit  # type: ignore[untyped-decorator]
def reaction_bands(t: Any, u: Any, d: Any) -> Any:  # pragma: no cover
    out = np.full((3, u.size), d)
    for i in range(u.size):
        out[1, i] = 20.0 * ((2 * u[i] - 3 * u[i] ** 2) - 0.3 * (1 - 2 * u[i])) - 2 * d
    return out


def stiff_rows(n: int) -> Iterator[SolvedRow]:
    """`odeint(method="rodas")` in one compiled function, and LSODA with loops by hand."""
    name, d = "stiff, banded", float((n + 1) ** 2) * 1e-2
    u = np.exp(-(((np.arange(n) + 1) / (n + 1) - 0.3) ** 2) * 200)
    times = np.array([0.0, 0.5, 1.0])
    solve = jit(lambda u: odeint(reaction, u, times, d, method="rodas", rtol=1e-6, atol=1e-8))
    setup, _ = timed(lambda: solve(u))
    taken, found = timed(lambda: solve(u))

    def lsoda() -> Any:
        return scipy.integrate.solve_ivp(
            reaction_by_hand,
            (0.0, 1.0),
            u,
            "LSODA",
            times,
            args=(d,),
            jac=reaction_bands,
            lband=1,
            uband=1,
            rtol=1e-6,
            atol=1e-8,
        )

    lsoda()
    by_hand, other = timed(lsoda)
    np.testing.assert_allclose(found[-1], other.y[:, -1], atol=1e-4)
    yield SolvedRow(name, n, "LSODA, " + BY_HAND, 0.0, by_hand, float(other.y[:, -1].max()))
    yield SolvedRow(name, n, OWN, setup, taken, float(found[-1].max()))


def solved_rows(size: str, progress: Callable[[str], None]) -> Iterator[SolvedRow]:
    """All of them."""
    small = size == "small"
    for title, rows in (
        ("cart-pole", control_rows(50 if small else 2_000)),
        ("Bratu", bratu_rows(16 if small else 512)),
        ("stiff", stiff_rows(100 if small else 1_000)),
    ):
        yield from rows
        progress(title)


__all__ = ["solved_rows"]
