"""Small systems, inverses, determinants and factors inside of loops, which are written out
there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_triangular

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
    names = [
        s.routine
        for p in program.phases
        for s in traversal.within(p.body)
        if isinstance(s, kernel.Call)
    ]
    return names, graph, [*args, *entry.traced.captures]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1,), (2,), (3,), (4,), (2, 3), (3, 3), (5,)])
def test_solutions(shape: tuple[int, ...], dtype: Any) -> None:
    n, tolerance = shape[0], 1e-12 if dtype == np.float64 else 2e-4
    m = (RNG.normal(size=(n, n)) + (n + 1) * np.eye(n)[::-1]).astype(
        dtype
    )  # the largest are not on the diagonal
    x = RNG.normal(size=shape).astype(dtype)
    np.testing.assert_allclose(
        tg.jit(steps)(m, x), steps_plain(m, x, False), rtol=tolerance, atol=tolerance
    )
    assert (calls(steps, m, x)[0] == []) == (n * (n + np.prod(shape[1:], dtype=int)) <= 20)
    if n <= 3:
        np.testing.assert_allclose(
            tg.jit(inverses)(m, x), steps_plain(m, x, True), rtol=tolerance * 10, atol=tolerance
        )
        names, graph, inputs = calls(inverses, m, x)
        assert names == []
        np.testing.assert_allclose(
            run_unjitted(graph, inputs)[0], tg.jit(inverses)(m, x), rtol=tolerance
        )


def each(f: Any) -> Any:
    """A function of each matrix of a stack, in a loop."""
    return lambda stack: tg.map(f, stack)


def lower_of(m: Any) -> Any:
    return np.linalg.cholesky(m @ m.T + np.eye(m.shape[0], dtype=m.dtype))


OTHERS = {
    "det": (np.linalg.det, np.linalg.det),
    "slogdet": (
        lambda m: np.stack([x * 1.0 for x in np.linalg.slogdet(m)]),
        lambda m: np.array(np.linalg.slogdet(m)),
    ),
    "cholesky": (lower_of, lower_of),
    **{
        f"triangle {lower} {trans} {unit}": (
            lambda m, lower=lower, trans=trans, unit=unit: triangular(m, lower, trans, unit),
            lambda m, lower=lower, trans=trans, unit=unit: solve_triangular(
                m, m[:, :1], trans, lower, unit
            ),
        )
        for lower in (False, True)
        for trans in (0, 1)
        for unit in (False, True)
    },
}


def triangular(m: Any, lower: bool, trans: int, unit: bool) -> Any:
    return tg.linalg.triangular_solve(m, m[:, :1], lower, trans, unit)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("what", OTHERS)
def test_other_operations(what: str, dtype: Any) -> None:
    f, reference = OTHERS[what]
    for n in (1, 2, 3, 4):
        stack = RNG.normal(size=(6, n, n)).astype(dtype)
        found = tg.jit(each(f))(stack)
        assert found.dtype == dtype
        np.testing.assert_allclose(
            found,
            np.stack([reference(m) for m in stack]),
            rtol=1e-10 if dtype == np.float64 else 2e-3,
            atol=1e-5,
        )
        assert (calls(each(f), stack)[0] == []) == (n * (n + ("triangle" in what)) <= 20)


def test_determinants_of_singular_matrices() -> None:
    stack = np.array(
        [
            np.zeros((3, 3)),
            np.ones((3, 3)),
            np.diag([1.0, 0.0, 2.0]),
            np.diag([1.0, 2.0, 0.0]),
            np.eye(3)[::-1],
        ]
    )
    np.testing.assert_array_equal(tg.jit(each(np.linalg.det))(stack), [0, 0, 0, 0, -1])
    signs, logarithms = tg.jit(each(np.linalg.slogdet))(stack)
    np.testing.assert_array_equal(signs, [0, 0, 0, 0, -1])
    np.testing.assert_array_equal(logarithms, [-np.inf] * 4 + [0])
    stack[1, 2, 1] = np.nan
    assert np.isnan(tg.jit(each(np.linalg.det))(stack)[1])


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (np.linalg.inv, "Singular matrix"),
        (lambda m: tg.linalg.triangular_solve(m, m), "Singular matrix"),
        (lambda m: np.linalg.cholesky(m), "not positive definite"),
    ],
)
def test_what_routines_refuse(f: Any, message: str) -> None:
    stack = np.stack([np.eye(2), np.array([[0.0, 0.0], [1.0, 1.0]])])
    with pytest.raises(np.linalg.LinAlgError, match=message):
        tg.jit(each(f))(stack)
    stack[1] = np.nan
    if f is np.linalg.inv:
        assert np.all(np.isnan(tg.jit(each(f))(stack)[1]))


def test_derivatives() -> None:
    m, x = RNG.normal(size=(3, 3)) + 4 * np.eye(3), RNG.normal(size=3)
    for f in (steps, inverses):
        eager, compiled = (
            (lambda m, x, f=f: np.sum(np.sin(f(m, x)))),
            tg.jit(lambda m, x, f=f: np.sum(np.sin(f(m, x)))),
        )
        for derivative in (
            lambda g: tg.grad(g, (0, 1)),
            lambda g: tg.hessian(g, 1),
            lambda g: lambda m, x: tg.jvp(g, (m, x), (m, x))[1],
        ):
            expected, found = derivative(eager)(m, x), tg.jit(derivative(compiled))(m, x)
            for a, b in zip(
                *(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True
            ):
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
    np.testing.assert_allclose(
        np.stack([equations(a, b) for a, b in zip(u, p, strict=True)]), 0, atol=1e-10
    )
    alone = tg.jit(solution)
    np.testing.assert_array_equal(u, np.stack([alone(b) for b in p]))
    # d(u)/d(p) by the implicit function theorem
    jacobians = tg.jit(tg.vmap(tg.jacobian(solution)))(p)
    for a, j in zip(u, jacobians, strict=True):
        np.testing.assert_allclose(
            np.array([[2 * a[0], 2 * a[1]], [a[1], a[0]]]) @ j, np.eye(2), atol=1e-9
        )
    assert calls(tg.vmap(solution), p)[0] == []
