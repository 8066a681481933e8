"""Elements read and written by a traced index: values, derivatives, what becomes one store, and
where a copy is needed after all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.linspace(0.5, 1.5, 6)


def recurrence(x: Any) -> Any:
    def step(i: Any, y: Any) -> Any:
        y[i] = y[i - 1] * x[i] + y[i]
        return y

    return tg.fori_loop(1, x.shape[0], step, x * 1.0)


def recurrence_plain(x: Any) -> Any:
    y = [x[0]]
    for i in range(1, len(x)):
        y.append(y[-1] * x[i] + x[i])
    return np.stack(y)


def tridiagonal(x: Any) -> Any:
    """Thomas' algorithm: two arrays written forwards, one backwards."""
    n = x.shape[0]
    a, b, c, d = 0.1 * x, 2.0 + x, -0.2 * x, np.sin(x)

    def forward(i: Any, carry: Any) -> Any:
        p, q = carry
        m = b[i] - a[i] * p[i - 1]
        q[i] = (d[i] - a[i] * q[i - 1]) / m
        p[i] = c[i] / m
        return p, q

    p, q = tg.fori_loop(1, n, forward, (c / b, d / b))

    def backward(k: Any, y: Any) -> Any:
        i = n - 2 - k
        y[i] = q[i] - p[i] * y[i + 1]
        return y

    return tg.fori_loop(0, n - 1, backward, q * 1.0)


def tridiagonal_plain(x: Any) -> Any:
    a, b, c, d = 0.1 * x, 2.0 + x, -0.2 * x, np.sin(x)
    n = len(x)
    return (
        np.linalg.solve(np.diag(b) + np.diag(a[1:], -1) + np.diag(c[:-1], 1), d) if n > 1 else d / b
    )


def rows(x: Any) -> Any:
    """A whole row from the row before, reversed: read before it is written."""
    n = x.shape[0]

    def step(i: Any, y: Any) -> Any:
        y[i, :] = y[i - 1, ::-1] * x
        return y

    return tg.fori_loop(1, n, step, np.ones((n, n)) * x)


def rows_plain(x: Any) -> Any:
    y = [np.ones(len(x)) * x]
    for _ in range(1, len(x)):
        y.append(y[-1][::-1] * x)
    return np.stack(y)


def same_row(x: Any) -> Any:
    """A row that is reversed in its own place."""

    def step(i: Any, y: Any) -> Any:
        y[i, :] = y[i, ::-1] * 2.0
        return y

    return tg.fori_loop(0, 2, step, np.stack([x, x * x]))


def exchanged(x: Any) -> Any:
    """Two arrays, each written from the other as it was before the step."""

    def step(i: Any, carry: Any) -> Any:
        p, q = carry
        a, b = q[i] * 1.0, p[i] * 1.0
        p[i] = a + 1.0
        q[i] = b * b
        return p, q

    p, q = tg.fori_loop(0, x.shape[0] - 1, step, (x * 2.0, x * 3.0))
    return p * q


def old_and_new(x: Any) -> Any:
    """The array before the write is a result of the step as well."""

    def step(y: Any, i: Any) -> Any:
        before = y * 1.0
        y[i] = y[i + 1] * 0.5
        return y, before

    y, seen = tg.scan(step, x * 1.0, np.arange(3))
    return np.sum(seen * np.arange(3.0)[:, None], axis=0) + y


def twice(x: Any) -> Any:
    """Two writes in a step, of which the second reads what the first has written."""

    def step(i: Any, y: Any) -> Any:
        y[i] = y[i] + y[i + 1]
        y[i + 1] = y[i] * x[i]
        return y

    return tg.fori_loop(0, x.shape[0] - 1, step, x * 1.0)


def twice_plain(x: Any) -> Any:
    y = [x[k] for k in range(len(x))]
    for i in range(len(x) - 1):
        y[i] = y[i] + y[i + 1]
        y[i + 1] = y[i] * x[i]
    return np.stack(y)


CASES: list[tuple[Callable[[Any], Any], Callable[[Any], Any] | None]] = [
    (recurrence, recurrence_plain),
    (tridiagonal, None),
    (rows, rows_plain),
    (same_row, lambda x: np.stack([x[::-1] * 2.0, (x * x)[::-1] * 2.0])),
    (exchanged, lambda x: np.concatenate([(3 * x[:-1] + 1) * 4 * x[:-1] ** 2, 6 * x[-1:] ** 2])),
    (old_and_new, None),
    (twice, twice_plain),
]


@pytest.mark.parametrize(("function", "plain"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_values_and_derivatives(
    function: Callable[[Any], Any], plain: Callable[[Any], Any] | None
) -> None:
    if function is tridiagonal:
        np.testing.assert_allclose(function(X), tridiagonal_plain(X), rtol=1e-13)
    plain = plain or function
    weights = np.cos(np.arange(plain(X).size)).reshape(plain(X).shape)

    def weighted(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: np.sum(f(x) * weights)

    expected = plain(X)
    np.testing.assert_allclose(function(X), expected, rtol=1e-13)
    np.testing.assert_allclose(tg.jit(function)(X), expected, rtol=1e-13)
    gradient = tg.grad(weighted(plain))(X)
    np.testing.assert_allclose(tg.grad(weighted(function))(X), gradient, rtol=1e-11)
    np.testing.assert_allclose(tg.jit(tg.grad(weighted(function)))(X), gradient, rtol=1e-11)
    np.testing.assert_allclose(
        tg.jit(tg.jacobian(function, mode="forward"))(X),
        tg.jacobian(plain)(X),
        rtol=1e-11,
        atol=1e-13,
    )
    np.testing.assert_allclose(
        tg.jit(tg.hessian(weighted(function)))(X),
        tg.hessian(weighted(plain))(X),
        rtol=1e-9,
        atol=1e-11,
    )
    batch = np.stack([X, X * 0.7])
    np.testing.assert_allclose(
        tg.jit(tg.vmap(function))(batch), [plain(x) for x in batch], rtol=1e-13
    )


def loop_body(source: str) -> str:
    return source.split('"""')[-1]


@pytest.mark.parametrize("function", [recurrence, twice])
def test_a_write_is_one_store(function: Callable[[Any], Any]) -> None:
    code = loop_body(tg.jit(function).source(X))
    # One loop fills the array, one runs the steps; none copies it.
    assert code.count("for ") == 2
    assert "status" not in code, "where an index cannot be out of range nothing is checked"


def test_the_gradient_of_a_sum_over_elements_stays_linear() -> None:
    code = loop_body(
        tg.jit(
            tg.grad(lambda x: tg.fori_loop(1, x.shape[0], lambda k, s: s + x[k] * x[k - 1], 0.0))
        ).source(X)
    )
    assert "for j in" not in code
    assert "_next" not in code


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit])
def test_out_of_range(wrap: Any) -> None:
    f = wrap(lambda x, n: tg.fori_loop(0, n, lambda i, s: s + x[i + 3], 0.0))
    assert f(X, 2) == X[3] + X[4]
    with pytest.raises(IndexError, match="index 6 is out of bounds for axis 0 with size 6"):
        f(X, 4)
    g = wrap(lambda x, k: tg.grad(lambda y: tg.fori_loop(0, 2, lambda i, s: s * y[k + i], 1.0))(x))
    np.testing.assert_allclose(g(X, -2), [0, 0, 0, 0, X[5], X[4]])
    with pytest.raises(IndexError, match="out of bounds"):
        g(X, 5)
