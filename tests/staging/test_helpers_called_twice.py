"""A helper that is called more than once in one trace is traced for each call: what was found out
about its branches, loops and lists for one call must not reach another one with arrays of other
dtypes and shapes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import sampled

pytestmark = pytest.mark.usefixtures("kernels_in_python")

X = np.linspace(-0.7, 1.3, 20)
ARRAYS = {
    "float64": X,
    "shorter": X[::2] * 0.9,
    "float32": X.astype(np.float32),
    "int64": np.arange(-3, 17),
    "int32": np.arange(-3, 17, dtype=np.int32),
}


def late(x: Any) -> Any:
    a = x[x > 0]
    if len(a) == 0:
        return x
    return x * 2


def late_sum(x: Any) -> Any:
    a = x[x > 0]
    total = 0 if len(a) == 0 else np.sum(a) * 2
    return x * total


def returned(x: Any) -> Any:
    for v in x:
        if v > 0.5:
            return v * 3
    return x[0] * 2


def last(x: Any) -> Any:
    for v in x:
        w = v * 2
        if w > 1:
            break
    return w


def chosen(x: Any) -> Any:
    if x[3] > 0:
        y = x * 2
    else:
        y = x[::-1] * 1
    return y


def counted(x: Any) -> Any:
    s, n = x[0] * 0, 0
    while n < len(x) and s < 3:
        s = s + abs(x[n])
        n += 1
    return s


def listed(x: Any) -> Any:
    found = []
    for v in x:
        if v > 0:
            found.append(v * 2)  # noqa: PERF401
    return found[-1] if found else x[0]


def nested(x: Any) -> Any:
    s = x[0] * 0
    for v in x[:3]:
        for w in x:
            t = v * w
            if t > 1:
                break
        s = s + t
    return s


def placed(x: Any) -> Any:
    a = [x[0] * 0, x[1] * 0, x[2] * 0]
    for v in x:
        a[int(abs(v) * 3) % 3] = v * v
    return a[0] + a[2]


def placed_beside_numbers(x: Any) -> Any:
    a = [0] * 3
    for v in x:
        a[int(abs(v) * 3) % 3] += v * v
    return x[0] * a[1]


PAIRS = [
    ("float64", "shorter"), ("float64", "float32"), ("int64", "int32"), ("int64", "float64"),
    ("float32", "int32"),
]  # fmt: skip
HELPERS = [
    late,
    late_sum,
    returned,
    last,
    chosen,
    counted,
    listed,
    nested,
    placed,
    placed_beside_numbers,
]


def one_after_the_other(f: Callable[[Any], Any]) -> Callable[..., Any]:
    def both(x: Any, y: Any) -> Any:
        a = f(x)
        b = f(y)
        return a, b

    return both


def in_branches(f: Callable[[Any], Any]) -> Callable[..., Any]:
    def both(x: Any, y: Any) -> Any:
        a, b = x[0] * 0, y[0] * 0
        if x[0] < 0:
            a = a + np.sum(f(x))
        else:
            b = b + np.sum(f(y))
        if x[0] < 0:
            b = b + np.sum(f(y))
        return a, b

    return both


def in_one_line(f: Callable[[Any], Any]) -> Callable[..., Any]:
    def both(x: Any, y: Any) -> Any:
        a = np.sum(f(x)) if x[0] < 0 else x[0]
        b = np.sum(f(x)) + np.sum(f(y)) if y[0] < 0 else y[0]
        return a, b

    return both


def in_a_loop(f: Callable[[Any], Any]) -> Callable[..., Any]:
    def both(x: Any, y: Any) -> Any:
        a, b = x[0] * 0, y[0] * 0
        for v in x:
            if v > 1:
                break
            a = a + np.sum(f(x)) * 1
            b = b + np.sum(f(y)) * 1
        return a, b

    return both


WAYS = [one_after_the_other, in_branches, in_one_line, in_a_loop]


@pytest.mark.parametrize(
    "pair",
    sampled(
        itertools.product(HELPERS, WAYS),
        lambda pair: (HELPERS.index(pair[0]) + WAYS.index(pair[1])) % 2 == 0,
    ),
    ids=lambda pair: "-".join(f.__name__ for f in pair),
)
def test_each_call_has_its_own_types(pair: tuple[Any, Any]) -> None:
    """Each helper in two of the four ways."""
    helper, way = pair
    function = way(helper)
    fast = tg.jit(function)
    for first, second in PAIRS:
        x, y = ARRAYS[first], ARRAYS[second]
        for found, wanted in zip(fast(x, y), function(x, y), strict=True):
            assert np.asarray(found).dtype == np.asarray(wanted).dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("helper", HELPERS, ids=lambda f: f.__name__)
def test_derivatives_of_both_calls(helper: Callable[[Any], Any]) -> None:
    def loss(x: Any, y: Any) -> Any:
        a = helper(x)
        b = helper(y)
        return np.sum(np.sin(a)) * np.sum(b)

    x, y = ARRAYS["float64"], ARRAYS["shorter"]
    found = tg.jit(tg.grad(loss, (0, 1)))(x, y)
    v, w = np.cos(np.arange(len(x))), np.sin(np.arange(len(y)))
    h = 1e-6
    slope = (loss(x + h * v, y + h * w) - loss(x - h * v, y - h * w)) / (2 * h)
    assert found[0].dtype == found[1].dtype == np.float64
    np.testing.assert_allclose(found[0] @ v + found[1] @ w, slope, rtol=1e-7)
