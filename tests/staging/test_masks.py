"""Elements chosen by a mask that is computed in the function: `x[mask]`, `x[mask] = v`,
`np.nonzero(mask)` and what is done with arrays of such a length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import counted_traces
from tests.staging.ways import Programs, by_source, differences

X = np.array([0.7, -0.4, 1.1, 0.25, -2.0, 0.9])
PROGRAMS = program = Programs()


@program
def summed(x: Any) -> Any:
    a = x[x > 0]
    return np.sum(np.log(a)) + a.mean() + len(a) + x[(x > 0) & (x < 1)].std()


@program
def relaxed(x: Any) -> Any:
    y = np.zeros_like(x)
    for _ in range(4):
        m = x > y
        y[m] = 0.5 * (x[m] + y[m])
        y[~m] *= 0.9
    return y.sum()


@program
def orders(x: Any) -> Any:
    a = x[x > 0]
    middle = np.median(a) + np.percentile(a, [20, 70])[1] * np.quantile(a, 0.3, method="hazen")
    place = np.argmax(a) - a.argmin() + 2 * np.nanmedian(x[x > 0.3])
    return middle * place + np.var(a, ddof=1) * a.std(ddof=1.5) + np.ptp(np.roll(a, 2) * a)


@program
def in_place(x: Any) -> Any:
    y = x * 1
    y[y < 0] = 0
    y[y > 1] += y[y > 1] ** 2
    y[x > 100] = y[x > 100] * 2
    return (y**2).sum()


@program
def rows(x: Any) -> Any:
    m = np.outer(x, x)
    chosen = m[x > 0]
    return (chosen @ x).sum() + m[m > 0.3].sum() + np.max(m[x > 0.5])


@program
def in_a_loop(x: Any) -> Any:
    s = 0.0
    for k in range(3):
        sel = x[x > k * 0.4]
        s = s + sel.sum() * (k + 1)
        if len(sel) > 2:
            s = s * 1.1
    return s


@program
def places(x: Any) -> Any:
    i, j = np.flatnonzero(x > 0), np.where(x < 0)[0]
    m = np.outer(x, x)
    r, c = np.nonzero(m > 0.2)
    return np.sum(x[i] ** 2) + np.sum(i) * x[0] + len(j) + np.sum(m[r, c] * (r - c) ** 2)


@program
def plain_arrays(x: Any) -> Any:
    y = np.zeros(6)
    m = x > 0.3
    y[m] = np.exp(x[m])
    y[~m] = -1.0
    pairs = np.zeros((6, 2))
    pairs[m] = np.stack([x, x**2], 1)[m]
    return (y**2).sum() + (pairs * pairs).sum() + np.extract(x > 0, x).prod()


@program
def loops_over_it(x: Any) -> Any:
    s = 0.0
    a = x[x > 0]
    for v in a:
        s = s * 0.5 + v
    b = np.zeros(len(a))
    for i in range(len(a)):
        b[i] = a[i] * s
    return b.sum()


@program
def until_small(x: Any) -> Any:
    passes, y = 0, x.copy()
    while np.any(np.abs(y) > 0.3) and passes < 20:
        m = np.abs(y) > 0.3
        y[m] = y[m] * 0.7 - 0.01
        passes += 1
    return (y**2).sum()


def without_nan(x: Any) -> Any:
    return x[~np.isnan(x)]


@program
def by_a_helper(x: Any) -> Any:
    c = without_nan(x)
    return c.mean() + c.max() * np.min(x[x < 0])


@program
def until(x: Any) -> Any:
    k = 0
    while np.sum(x[x > 0.5]) > 0.5 and k < 9:
        x = x * 0.8
        k += 1
    return np.sum(x**2) * k


@program
def pairs(x: Any) -> Any:
    i, j = np.where(np.outer(x, x) > 0.2)
    return np.sum(x[i] * x[j] ** 2)


@pytest.mark.parametrize("name", PROGRAMS)
def test_equal_to_plain_python(name: str) -> None:
    f = PROGRAMS[name]
    compiled = tg.jit(tg.value_and_grad(f))
    for x in (X, X * 0.8):
        value, gradient = compiled(x)
        np.testing.assert_allclose(value, f(x.copy()), rtol=1e-12)
        np.testing.assert_allclose(gradient, differences(f, x), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["summed", "in_place", "rows"])
def test_nested(name: str) -> None:
    f = PROGRAMS[name]
    xs = np.stack([X, X[::-1], 1.5 * X])
    np.testing.assert_allclose(tg.jit(tg.vmap(f))(xs), [f(x) for x in xs], rtol=1e-12)
    expected = np.stack([differences(lambda x, k=k: tg.grad(f)(x)[k], X) for k in range(6)])
    np.testing.assert_allclose(tg.jit(tg.hessian(f))(X), expected, rtol=1e-5, atol=1e-5)


def test_a_lambda_and_all_sizes_by_one_executable() -> None:
    f = tg.jit(lambda x: np.sum(x[x > 0] ** 2) + len(x[x < 0]))
    with counted_traces() as traces:
        for n in (5, 7, 1, 17, 12):
            if n == 17:
                traces.clear()
            x = np.sin(np.arange(float(n)) * 2)
            np.testing.assert_allclose(f(x), np.sum(x[x > 0] ** 2) + len(x[x < 0]), rtol=1e-13)
    assert not traces
    empty = tg.jit(tg.value_and_grad(lambda x: x[x > 9].sum() + 0.0 * len(np.where(x > 9)[0])))(X)
    assert empty[0] == 0.0
    assert not empty[1].any()


@pytest.mark.parametrize("kind", ["f4", "i8", "c16", "?"])
def test_kinds(kind: str) -> None:
    x = (X * 3).astype(kind)

    def f(x: Any) -> Any:
        y = np.zeros(6, x.dtype)
        m = np.abs(x) > 1 if x.dtype != bool else x
        y[m] = x[m]
        return y, np.flatnonzero(m).sum()

    for found, expected in zip(tg.jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_errors_are_numpys() -> None:
    def other_count(x: Any) -> Any:
        y = np.zeros(6)
        y[x > 0] = x[x > 0.5]
        return y.sum()

    def none_left(x: Any) -> Any:
        a = x[x > 9]
        return a.max()

    for f, text in ((other_count, "another number"), (none_left, "no identity")):
        with pytest.raises(ValueError, match=text):
            tg.jit(f)(X)
    with pytest.raises(IndexError, match="its size is 6, the mask's is 2"):
        tg.jit(lambda x, m: x[m].sum())(X, np.array([True, False]))
    with pytest.raises(tg.errors.ConcretizationError, match="in a statement"):
        tg.jit(lambda x: sum(x[x > k].sum() for k in (0.1, 0.5)))(X)


@pytest.mark.parametrize("extreme", [max, np.max, min, np.min])
def test_extremes_with_nans(extreme: Callable[[Any], Any]) -> None:
    """Python's own pass NaNs but a first one; NumPy's give NaN. Both refuse nothing at all."""

    def of_array(x: Any) -> Any:
        a = x[~(x < 0)]
        return extreme(a)

    def of_list(x: Any) -> Any:
        a = [v for v in x if not v < 0]
        return extreme(a)

    for f in (of_array, of_list):
        for x in ([2.0, -1, 3, 1], [np.nan, -1, 3, 1], [-1, 3, np.nan, 1, np.nan]):
            np.testing.assert_array_equal(tg.jit(f)(np.array(x)), f(np.array(x)))
        with pytest.raises(ValueError, match=r"empty|zero-size"):
            tg.jit(f)(-np.ones(3))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["f4", "f8", "i8"])
def test_orders_of_few_elements(kind: str) -> None:
    """One element, ties, infinite and large ones, NaN: NumPy's numbers and dtypes."""

    def f(x: Any) -> Any:
        a = x[x != 7]
        places = np.argmax(a), a.argmin(), np.roll(a, -3)[0], np.ptp(a)
        return np.median(a), np.percentile(a, 20), np.var(a, ddof=1), *places

    given = [[7, 3, 7], [2, 2, 7, 2], [7, 5, 1, 9]]
    if kind[0] == "f":
        given += [[np.inf, 1, 7, 2], [np.nan, 7, 1, -1]]
    run = by_source(f)
    for x in (np.array(v, kind) for v in given):
        for got, want in zip(run(x), f(x), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)
            assert got.dtype == want.dtype


def test_of_nothing() -> None:
    """Sums over nothing are 0, whatever lies behind them; elements of nothing are asked for in
    vain."""
    x = np.array([-1.0, -2.0, -3.0])
    assert tg.jit(lambda x: np.sum(np.roll(x[x > 0], 2) * x[x > 0]))(x) == 0
    with pytest.raises(tg.errors.ShapeError, match="a quantile of no elements"):
        tg.jit(lambda x: np.median(x[x > 0]))(x)
    with pytest.raises(ValueError, match="attempt to get argmax of an empty sequence"):
        tg.jit(lambda x: np.argmax(x[x > 0]))(x)
