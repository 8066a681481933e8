"""Systems of a few equations inside of loops, which are written out there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad._codegen import kernel, traversal
from tracegrad.schedule import schedule
from tracegrad.transforms.rewrite import optimize

RNG = np.random.default_rng(3)


def steps(m: Any, x: Any) -> Any:
    """A few solutions one after the other, with matrices that change."""

    def step(c: Any, k: Any) -> Any:
        c = np.linalg.solve(m + 0.1 * k * np.eye(m.shape[0], dtype=m.dtype), c) + 0.5
        return c, np.sum(c**2)

    return tg.scan(step, x, np.arange(4, dtype=m.dtype))[1]


def inverses(m: Any, x: Any) -> Any:
    def step(c: Any, k: Any) -> Any:
        c = np.linalg.inv(m + 0.1 * k * np.eye(m.shape[0], dtype=m.dtype)) @ c
        return c, np.sum(c)

    return tg.scan(step, x, np.arange(4, dtype=m.dtype))[1]


def steps_plain(m: Any, x: Any, inverse: bool) -> Any:
    found = []
    for k in range(4):
        x = np.linalg.solve(m + 0.1 * k * np.eye(len(m)), x) + (0.0 if inverse else 0.5)
        found.append(np.sum(x) if inverse else np.sum(x**2))
    return np.array(found)


def calls(f: Any, *args: Any) -> tuple[list[str], Any, list[Any]]:
    """The routines that a kernel calls, its graph and its inputs."""
    entry = tg.jit(f)._entry(args, {})[0]
    graph = optimize(entry.graph)
    program = schedule(graph, ("C",) * len(graph.inputs))
    names = [s.routine for p in program.phases for s in traversal.within(p.body) if isinstance(s, kernel.Call)]
    return names, graph, [*args, *entry.traced.captures]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1,), (2,), (3,), (4,), (2, 3), (3, 3), (5,)])
def test_solutions(shape: tuple[int, ...], dtype: Any) -> None:
    n, tolerance = shape[0], 1e-12 if dtype == np.float64 else 2e-4
    m = (RNG.normal(size=(n, n)) + (n + 1) * np.eye(n)[::-1]).astype(dtype)  # the largest are not on the diagonal
    x = RNG.normal(size=shape).astype(dtype)
    np.testing.assert_allclose(tg.jit(steps)(m, x), steps_plain(m, x, False), rtol=tolerance, atol=tolerance)
    assert (calls(steps, m, x)[0] == []) == (n * (n + np.prod(shape[1:], dtype=int)) <= 20)
    if n <= 3:
        np.testing.assert_allclose(tg.jit(inverses)(m, x), steps_plain(m, x, True), rtol=tolerance * 10, atol=tolerance)
        names, graph, inputs = calls(inverses, m, x)
        assert names == []
        np.testing.assert_allclose(run_unjitted(graph, inputs)[0], tg.jit(inverses)(m, x), rtol=tolerance)


def test_derivatives() -> None:
    m, x = RNG.normal(size=(3, 3)) + 4 * np.eye(3), RNG.normal(size=3)
    for f in (steps, inverses):
        eager, compiled = (lambda m, x, f=f: np.sum(np.sin(f(m, x)))), tg.jit(lambda m, x, f=f: np.sum(np.sin(f(m, x))))
        for derivative in (lambda g: tg.grad(g, (0, 1)), lambda g: tg.hessian(g, 1), lambda g: lambda m, x: tg.jvp(g, (m, x), (m, x))[1]):
            expected, found = derivative(eager)(m, x), tg.jit(derivative(compiled))(m, x)
            for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_singular_matrices() -> None:
    x = np.ones(2)
    f = tg.jit(lambda m: tg.scan(lambda c, _: (np.linalg.solve(m, c), c), x, None, length=3)[0])
    np.testing.assert_allclose(f(np.array([[0.0, 2.0], [4.0, 0.0]])), [1 / 32, 1 / 16])
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        f(np.array([[1.0, 2.0], [2.0, 4.0]]))
    assert np.all(np.isnan(f(np.full((2, 2), np.nan))))


def test_roots_of_small_systems_go_side_by_side() -> None:
    def equations(u: Any, p: Any) -> Any:
        return np.stack([u[0] ** 2 + u[1] ** 2 - p[0], u[0] * u[1] - p[1]])

    def solution(p: Any) -> Any:
        return tg.root(lambda u: equations(u, p), np.stack([1.0 + 0 * p[0], 0.2 + 0 * p[0]]))

    p = np.stack([RNG.uniform(1, 2, 100), RNG.uniform(0.1, 0.3, 100)], 1)
    u = tg.jit(tg.vmap(solution))(p)
    np.testing.assert_allclose(np.stack([equations(a, b) for a, b in zip(u, p, strict=True)]), 0, atol=1e-10)
    np.testing.assert_array_equal(u, np.stack([tg.jit(solution)(b) for b in p]))
    # d(u)/d(p) by the implicit function theorem
    jacobians = tg.jit(tg.vmap(tg.jacobian(solution)))(p)
    for a, j in zip(u, jacobians, strict=True):
        np.testing.assert_allclose(np.array([[2 * a[0], 2 * a[1]], [a[1], a[0]]]) @ j, np.eye(2), atol=1e-9)
    assert calls(tg.vmap(solution), p)[0] == []
