"""Arrays of a length that only a run knows, as short as they come: the numbers that NumPy gives,
and an error where NumPy has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([0.7, -0.4, 1.1, 0.25, -2.0, 0.9])
B = np.array([1.0, -2.0, 0.5])
Rule = Callable[[Any], Any]


def by_its_size(a: Any) -> Any:
    n, s = a.shape[0], 0.5
    if n == 0:
        s = 2.0
    elif n != 3 and a.size > 1:
        s = s * (n - 3) // 2 + (n - 5) % 4
    while n > 1:
        n = n // 2
        s = s + B[n - 1] * n
    return B * s


def at_its_size(a: Any) -> Any:
    n = a.shape[0]
    b = np.zeros(7)
    b[n] = 2.0
    b[n // 2 :] += B[0] + n
    b[:n] *= a
    b[n - 1] += X[n - 2]
    return b + np.sum(X[n - 3 :]) * np.sum(X[: n - 2])


def halves(a: Any) -> Any:
    n = a.size
    first, second = a[: n // 2], a[n // 2 :]
    return B * np.sum(np.concatenate([second**2, first * n]))


RULES: dict[str, Rule] = {
    "by its size": by_its_size,
    "at its size": at_its_size,
    "halves": halves,
    # Places that are counted from the end.
    "one from the end": lambda a: a[-1],
    "two from the end": lambda a: a[-2],
    "three from the end": lambda a: (a * 2)[-3],
    "of a part": lambda a: a[1:][-2],
    "of a short part": lambda a: a[:3][-3],
    "of a pair": lambda a: a[(-3,)],
    "of rows": lambda a: np.outer(a, B)[-2],
    "of one row": lambda a: np.outer(a, B)[-2, 1],
    "of columns": lambda a: np.outer(B, a)[:, -2],
    "beside places": lambda a: np.outer(B, a)[[0, 1], -2],
    # One length, however an array is cut: a[2:], a[1:-1], a[:-2].
    "second differences": lambda a: (a[2:] - 2 * a[1:-1] + a[:-2]) * a[1:][1:],
    "cuts of cuts": lambda a: a[4:] * a[2:-2] + a[1:-1][1:-1] - np.diff(a, 2)[:-2],
    "cuts of rows": lambda a: np.diff(np.outer(a, B), axis=0)[1:] * np.outer(a, B)[1:-1],
    "places of cuts": lambda a: a[:3][1:] * a[1:3] + a[-3:][:-1] * a[-3:-1],
    "each other one of a cut": lambda a: a[1:-1][::2] * 2 + a[1:-1][::2][::-1],
    # Nothing, or what is left of it, in a mean and in a product.
    "mean of rows": lambda a: np.outer(a[1:], B).mean(0),
    "mean of columns": lambda a: np.outer(B, a[1:]).mean(1) * B,
    "spread of columns": lambda a: np.outer(B, a[1:]).std(1) * B + np.prod(np.outer(B, a), 1),
    "product": lambda a: np.prod(a[1:]) * B + np.prod(a),
    "rows of another length": lambda a: (np.outer(a, X).reshape(-1, 3) ** 2).sum(1),
    # What takes so many elements at least.
    "partition": lambda a: np.partition(a, 1),
    "partition from the end": lambda a: np.partition(a, -2),
    "argpartition": lambda a: a[np.argpartition(a, 1)],
    "pad edge": lambda a: np.pad(a, 2, mode="edge"),
    "pad edge of rows": lambda a: np.pad(np.outer(B, a), (1, 2), mode="edge"),
    "pad ramp": lambda a: np.pad(a, (1, 2), mode="linear_ramp", end_values=3.0),
    "pad mean": lambda a: np.pad(a, 2, mode="mean"),
    "gradient": lambda a: np.gradient(a) * a,
    "gradient of steps": lambda a: np.gradient(a, 0.5, edge_order=2),
    "gradient at places": lambda a: np.gradient(a, np.cumsum(a * a + 0.1)),
    "gradient of edges": lambda a: np.gradient(a, np.cumsum(a * a + 0.1), edge_order=2),
    "gradient of rows": lambda a: np.gradient(np.outer(a, B), axis=0),
    "trapezoid": lambda a: np.trapezoid(a, np.cumsum(a)),
    "window": lambda a: tg.nn.functional.conv1d(a[None, None], np.ones((1, 1, 3)), padding=1),
}


def weighted(rule: Rule, x: Any, mask: Any) -> Any:
    r = np.ravel(rule(x[mask]))
    return np.sum(r * np.sin(np.cumsum(np.ones_like(r))))


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:Degrees of freedom")
@pytest.mark.parametrize("name", RULES)
def test_as_numpy(name: str) -> None:
    rule = RULES[name]

    def f(x: Any, mask: Any) -> Any:
        return weighted(rule, x, mask)

    compiled = tg.jit(tg.value_and_grad(f))
    for n in (4, 3, 0, 1, 2, 6):
        mask = np.arange(6) >= 6 - n
        try:
            expected = f(X, mask)
        except (ValueError, IndexError, RuntimeError) as error:
            with pytest.raises((ValueError, IndexError, type(error))):
                compiled(X, mask)
            continue
        if n == 0 and "partition" in name:
            continue  # NumPy lets any place pass where there is nothing to be ordered
        value, gradient = compiled(X, mask)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        np.testing.assert_allclose(gradient, tg.grad(f)(X, mask), rtol=1e-10, atol=1e-12)


SECOND = ["mean of columns", "product"]


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_over_nothing(name: str) -> None:
    """0 where an array has no element, in reverse over reverse as in forward over reverse."""

    def slope(x: Any, mask: Any) -> Any:
        return tg.grad(lambda x: weighted(RULES[name], x, mask))(x)

    def reverse(x: Any, mask: Any) -> Any:
        return tg.grad(lambda x: (slope(x, mask) * X).sum())(x)

    def forward(x: Any, mask: Any) -> Any:
        return tg.jvp(lambda x: slope(x, mask), (x,), (X,))[1]

    compiled = tg.jit(reverse), tg.jit(forward)
    for n in (0, 1, 3):
        mask = np.arange(6) >= 6 - n
        expected = reverse(X, mask)
        assert np.isfinite(expected).all()
        for f in (forward, *compiled):
            np.testing.assert_allclose(f(X, mask), expected, rtol=1e-10, atol=1e-12)


DIVISIONS: dict[str, Rule] = {
    "quotient": lambda a: 10 // len(a),
    "remainder": lambda a: 10 % len(a),
    "of the shape": lambda a: 10 // a.shape[0],
    "of the shape less one": lambda a: divmod(7, a.shape[0] - 1)[1],
    "of a number": lambda a: np.int64(10) // (len(a) + 1),
    "of an integer": lambda a: 10 / len(a),
    "of a float": lambda a: 1.0 / len(a),
    "of lengths": lambda a: len(a) / len(a),
    "of an element and a length": lambda a: a.sum() / len(a) + 0.0,
    "of NumPy's number": lambda a: np.float64(1.0) / len(a) + np.int64(2) / a.size,
    "by NumPy's function": lambda a: np.divide(1.0, len(a)),
    "of the size less one": lambda a: 3 / (a.size - 1),
    "as a float": lambda a: 2 / float(len(a)),
    "times a float": lambda a: 1 / (len(a) * 2.0),
    "half of it": lambda a: 1 / (len(a) / 2),
    "less a float": lambda a: 1.0 / (len(a) - 1.0),
    "rounded float": lambda a: 1.5 // len(a),
    "remainder of a float": lambda a: divmod(1.5, len(a))[1],
    "negative power": lambda a: len(a) ** -1,
    "power of half": lambda a: len(a) ** -0.5,
    "at least one": lambda a: 1 / max(len(a), 1),
    "where there are some": lambda a: 1 / len(a) if len(a) else 2.0,
    "of a list": lambda a: 1 / len([v for v in a if v > 0]),
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("name", DIVISIONS)
def test_divided_by_its_length(name: str) -> None:
    def f(x: Any, mask: Any) -> Any:
        return x[0] * DIVISIONS[name](x[mask])

    compiled, slope = tg.jit(f), tg.jit(tg.grad(f))
    for n in (3, 0, 1, 2):
        mask = np.arange(6) >= 6 - n
        try:
            expected = f(X, mask)
        except ZeroDivisionError:
            for g in (compiled, slope):
                with pytest.raises(ZeroDivisionError):
                    g(X, mask)
            continue
        np.testing.assert_allclose(compiled(X, mask), expected)
        np.testing.assert_allclose(slope(X, mask), tg.grad(f)(X, mask))


KINDS: dict[str, Rule] = {
    "sum": lambda x: sum(1 for v in x if v > 0),
    "sum with a start": lambda x: sum([2 for v in x if v > 0], 1.5),
    "sum of a known length": lambda x: sum([2 for v in x]),
    "max": lambda x: max([3 for v in x if v > 0]),
    "min": lambda x: min([i for i, v in enumerate(x) if v > 0]),
    "mean": lambda x: sum([1.5 for v in x if v > 0]) / len([1 for v in x if v > 0]),
    "of elements": lambda x: sum([v for v in x if v > 0]),
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("name", KINDS)
def test_of_pythons_numbers(name: str) -> None:
    """What Python makes of a list of its numbers is one of them, and raises no dtype."""
    x = X.astype(np.float32)
    expected = x * KINDS[name](x)
    found = tg.jit(lambda x: x * KINDS[name](x))(x)
    assert found.dtype == expected.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.usefixtures("kernels_in_python")
def test_narrow() -> None:
    f = tg.jit(tg.grad(lambda x, mask: tg.tensor(x[mask]).narrow(0, 1, 2).sum()))
    np.testing.assert_array_equal(f(X, X > 0.5), [0, 0, 1, 0, 0, 1])
    for least in (0.8, 1.0, 2.0):
        with pytest.raises(IndexError, match=r"exceeds dimension size \(less than 3\)"):
            f(X, least < X)
