"""Solvers that factorize a sparse matrix: the same solutions and derivatives as with dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

P = np.linspace(1.0, 2.0, 6)


def bratu(u: Any, p: Any) -> Any:
    wide = np.pad(u, 1)
    return (wide[2:] - 2 * u + wide[:-2]) * 20 + p * np.exp(-u)


def of_a_tree(x: Any, p: Any) -> Any:
    """A line and a number that all of it depends on: an arrow."""
    u, level = x["u"], x["level"]
    return {"line": 3 * u - np.pad(u, 1)[2:] + np.sin(level) - p, "level": level - 0.1 * np.sum(u)}


def scanned(u: Any, p: Any) -> Any:
    """A matrix that is found by colours."""
    return 2 * u + 0.1 * tg.scan(lambda c, v: (c * 0.5 + v**2, c), p[0], u)[1] - p


def energy(x: Any, p: Any) -> Any:
    return np.sum(np.cosh(x)) + np.sum((x[1:] - x[:-1]) ** 2) - np.sum(p * x)


def solvers(kind: str) -> dict[str, Any]:
    """From p to a solution, with linear systems of one kind."""
    how: Any = {"linear_solver": kind}

    @tg.custom_root(bratu, linear_solver=kind)
    def own(p: Any) -> Any:
        return tg.root(bratu, np.zeros(6), p)

    def tree(p: Any) -> Any:
        found = tg.root(of_a_tree, {"u": np.zeros(6), "level": 0.0}, p, **how)
        return np.append(found["u"], found["level"])

    def wave(p: Any) -> Any:
        found = tg.root(lambda z: z**2 + z * 1j - p + 0.1 * np.pad(z, 1)[2:], P + 1j, **how)
        return np.concatenate([found.real, found.imag])

    return {
        "root": lambda p: tg.root(bratu, np.zeros(6), p, **how),
        "tree": tree,
        "complex": wave,
        "colours": lambda p: tg.root(scanned, np.zeros(6), p, **how),
        "fixed point": lambda p: tg.fixed_point(
            lambda x: 0.3 * np.cos(np.pad(x, 1)[2:] * p), np.zeros(6), method="newton", **how
        ),
        "minimize": lambda p: tg.minimize(energy, np.zeros(6), p, **how),
        "custom": own,
        "linear": lambda p: tg.linear_solve(
            lambda v: v * (4 + p**2) - np.pad(v, 1)[:-2], np.sin(p), method=kind
        ),
    }


SPARSE, DENSE = solvers("sparse"), solvers("dense")


@pytest.mark.parametrize("name", SPARSE)
def test_as_dense_ones(name: str) -> None:
    """Solutions, first derivatives in both modes, second ones."""
    f, wanted = SPARSE[name], DENSE[name]
    np.testing.assert_allclose(f(P), wanted(P), rtol=1e-9, atol=1e-12)

    def of(g: Any) -> Any:
        return lambda p: np.sum(np.sin(g(p)))

    dense = tg.jit(lambda p: (tg.grad(of(wanted))(p), tg.hvp(of(wanted), p, P)))
    for x, y in zip((tg.grad(of(f))(P), tg.hvp(of(f), P, P)), dense(P), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-10)
    tangent = tg.jvp(f, (P,), (np.cos(P),))[1]
    np.testing.assert_allclose(tg.grad(of(f))(P) @ np.cos(P), np.cos(f(P)) @ tangent, rtol=1e-9)


def test_compiled_and_mapped() -> None:
    """Of any size in one function; a map over parameters."""

    def found(p: Any) -> Any:
        return tg.root(bratu, np.zeros(p.shape[0]), p, linear_solver="sparse")

    compiled = tg.jit(tg.value_and_grad(lambda p: np.sum(found(p) ** 2)))
    for n in (6, 40, 9):
        p = np.linspace(0.5, 1.0, n)
        value, gradient = compiled(p)
        dense = tg.root(bratu, np.zeros(n), p, linear_solver="dense")
        np.testing.assert_allclose(value, np.sum(dense**2), rtol=1e-9)
        step = 1e-6 * np.cos(np.arange(n))
        low, high = (compiled(p + s * step)[0] for s in (-1, 1))
        np.testing.assert_allclose(gradient @ step, (high - low) / 2, rtol=1e-5)
    stack = np.stack([P, 2 * P])
    mapped = tg.vmap(found)(stack)
    np.testing.assert_allclose(mapped, [found(p) for p in stack], rtol=1e-9)


def test_many_unknowns() -> None:
    """No matrix of n x n: 20,000 unknowns, and a number that is not said to be sparse."""
    n = 20_000
    u = tg.root(bratu, np.zeros(n, np.float64), 1.0, linear_solver="sparse", info=True)
    assert u[1].converged
    assert abs(bratu(u[0], 1.0)).max() < 1e-9
    with pytest.raises(tg.errors.TracegradError, match=r"entries are allowed.*tg.jvp"):
        tg.root(lambda x: x - np.sum(np.sin(x)), np.zeros(n), linear_solver="sparse")


def test_a_valley() -> None:
    """Directions where the Hessian is not definite, and 1,000 unknowns."""

    def chained(x: Any) -> Any:
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    for start in (np.zeros(8), np.full(8, -1.2), np.linspace(-1, 2, 8)):
        found, how = tg.minimize(chained, start, linear_solver="sparse", info=True)
        assert how.converged
        assert chained(found) < 5.0
        np.testing.assert_array_less(0, np.linalg.eigvalsh(tg.hessian(chained)(found)))
    smooth = tg.minimize(energy, np.zeros(1000), np.ones(1000), linear_solver="sparse")
    np.testing.assert_allclose(smooth, np.arcsinh(1.0), rtol=1e-9)


def test_refusals() -> None:
    with pytest.raises(ValueError, match='"sparse", "iterative"'):
        tg.root(bratu, np.zeros(3), 1.0, linear_solver="banded")
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        tg.root(lambda x: x**2 + np.ones(3), np.zeros(3), linear_solver="sparse")
