"""NumPy's functions that call a function for each element or line, and its objects that join
arrays, with traced values: what NumPy gives for plain ones, derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import ConcretizationError, UnsupportedFunctionError

X = np.array([[0.7, 1.9, -0.4], [1.2, 0.3, 2.2]])


@np.vectorize
def kinked(x: Any) -> Any:
    return np.sin(x) if x > 1 else x**2


@np.vectorize
def two(x: Any, y: Any = 2.0) -> Any:
    return x * y, x + y


named = np.vectorize(lambda k, x, p: p[k] * x**k, excluded=("p", 0))
dots = np.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")
halves = np.vectorize(lambda a: a / 2, otypes=[np.float32])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "vectorize": lambda x: kinked(x),
    "vectorize two": lambda x: two(x, y=x[:, :1])[0] + two(x)[1],
    "vectorize excluded": lambda x: named(1, x, p=[1.0, 3.0]),
    "vectorize signature": lambda x: dots(x, x[0]),
    "vectorize otypes": lambda x: halves(x).astype(float),
    "vectorize one": lambda x: kinked(x[0, 0]),
    "along rows": lambda x: np.apply_along_axis(lambda r: np.sum(r**2), 1, x),
    "along columns": lambda x: np.apply_along_axis(lambda c: np.cumsum(c) * c[0], 0, x),
    "along planes": lambda x: np.apply_along_axis(np.outer, -1, x, [1.0, 2.0]),
    "along with a branch": lambda x: np.apply_along_axis(
        lambda r: r if r[0] > 1 else np.exp(r), 1, x),
    "r_": lambda x: np.r_[x[0], 1.0, x[1] * 2],
    "r_ of numbers": lambda x: np.r_[x[0, 0], 1, 0:3, x[1, 1]],
    "r_ with an imaginary step": lambda x: np.r_[0:1:3j, x[0]],
    "r_ rows": lambda x: np.r_[x, x[:1] ** 2],
    "r_ axis": lambda x: np.r_["1", x, x],
    "r_ as rows": lambda x: np.r_["0,2", x[0], x[1], 0:3],
    "r_ as columns": lambda x: np.r_["1,2,0", x[0], x[1]],
    "c_": lambda x: np.c_[x[0], x[1], 0:3],
    "c_ of matrices": lambda x: np.c_[x, x[:, 0]],
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_numpy(name: str) -> None:
    f = FUNCTIONS[name]
    value, tangent = tg.jvp(f, (X,), (np.ones_like(X),))
    np.testing.assert_allclose(value, f(X), rtol=1e-6 if "otypes" in name else 1e-14)
    step = np.full_like(X, 1e-6)
    if "otypes" not in name:
        wanted = (f(X + step) - f(X - step)) / 2e-6
        np.testing.assert_allclose(tangent, wanted, rtol=1e-6, atol=1e-8)
    gradient = tg.grad(lambda x: np.sum(f(x)))(X)
    np.testing.assert_allclose(gradient.sum(), np.sum(tangent), rtol=1e-6)
    out = tg.jit(f)._entry((X,), {})[0].graph.outputs[0].type
    assert tuple(map(int, out.shape)) == np.shape(f(X))


def test_compiled() -> None:
    functions = [f for n, f in FUNCTIONS.items() if "otypes" not in n]

    def all_of(x: Any) -> Any:
        return [f(x) for f in functions]

    for found, f in zip(tg.jit(all_of)(X), functions, strict=True):
        np.testing.assert_allclose(found, f(X), rtol=1e-13)


def test_gradients_compiled() -> None:
    chosen = [FUNCTIONS[n] for n in ("vectorize", "along with a branch", "r_ as columns", "c_")]

    def total(x: Any) -> Any:
        return sum(np.sum(np.sin(f(x))) for f in chosen)

    np.testing.assert_allclose(tg.jit(tg.grad(total))(X), tg.grad(total)(X), rtol=1e-12)


def test_second_order_and_batches() -> None:
    def total(x: Any) -> Any:
        return np.sum(np.apply_along_axis(lambda r: np.sum(r**3), 1, x)) + np.sum(kinked(x))

    wanted = np.diag(6 * X.ravel() + np.where(X > 1, -np.sin(X), 2.0).ravel())
    np.testing.assert_allclose(tg.hessian(total)(X).reshape(6, 6), wanted, rtol=1e-12)
    found = tg.vmap(lambda r: np.r_[kinked(r), r[0]])(X)
    np.testing.assert_allclose(found, np.c_[kinked(X), X[:, 0]], rtol=1e-14)


def test_float32_stays() -> None:
    x = X.astype(np.float32)
    for f in (lambda v: np.r_[v[0], 1.0], lambda v: kinked(v), lambda v: np.c_[v, v[:, 0]]):
        assert tg.jit(f)._entry((x,), {})[0].graph.outputs[0].type.dtype == np.float32


def test_many_lines_are_one_loop() -> None:
    x = np.random.default_rng(0).normal(size=(300, 4))
    f = tg.jit(lambda x: np.apply_along_axis(lambda r: np.sum(r * r), 1, x))
    np.testing.assert_allclose(f(x), np.sum(x * x, 1))
    assert len(f._entry((x,), {})[0].graph.nodes) < 40
    with pytest.raises(ConcretizationError, match="would trace"):
        tg.jit(lambda x: np.apply_along_axis(np.sum, 1, x), stage=False)(x)


def test_unique() -> None:
    """The first of equal elements has the derivative; compiled, it is refused."""
    x = np.array([3.0, 1.0, 3.0, 2.0])

    def f(x: Any) -> Any:
        values, index, inverse, counts = np.unique(x, True, True, True)
        assert [list(map(int, v)) for v in (index, inverse, counts)] == [
            [1, 3, 0], [2, 0, 2, 1], [1, 1, 2],
        ]  # fmt: skip
        return np.sum(values**2 * counts)

    np.testing.assert_allclose(tg.grad(f)(x), [12.0, 2.0, 0.0, 4.0])
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 5.0]])
    of_rows = tg.jacobian(lambda x: np.unique(x, axis=0) ** 2)(rows)
    assert of_rows.shape == (2, 2, 3, 2)
    assert of_rows[1, 0, 0, 0] == 2.0
    names = tg.grad(lambda x: np.sum(np.unique_counts(x).values ** 2))(x)
    np.testing.assert_allclose(names, [6.0, 2.0, 0.0, 4.0])
    many = np.array([5.0, -1.0, 5.0, 0.5, 7.0, -1.0, 3.0])
    for data in (many, many.astype(int), np.array([np.nan, 1.0, np.nan])):
        np.testing.assert_array_equal(
            np.unique_values(tg.tensor(data)).numpy(), np.unique_values(data)
        )
    with pytest.raises(ConcretizationError, match=r"np\.unique.*np\.sort"):
        tg.jit(np.unique)(x)


def test_all_nan() -> None:
    gaps = np.array([[np.nan, np.nan], [1.0, np.nan]])
    with pytest.raises(ValueError, match="All-NaN"):
        np.nanargmax(tg.tensor(gaps, requires_grad=True), 1)
    f = tg.jit(lambda x: np.nanargmax(x, 1))
    assert list(f(gaps[::-1][:1].repeat(2, 0))) == [0, 0]
    with pytest.raises(IndexError):
        f(gaps)


def test_dtypes_that_depend_on_values() -> None:
    z = np.array([1.0 + 0j, 2.0])
    assert tg.grad(lambda z: np.real(np.sum(np.real_if_close(z) ** 2)))(z).dtype == np.complex128
    with pytest.raises((ConcretizationError, UnsupportedFunctionError), match="real_if_close"):
        tg.jit(np.real_if_close)(z)
