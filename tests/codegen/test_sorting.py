"""Sorting in compiled code, in NumPy's order: by shares of the range, and by digits or merges where
these do not help."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.native.flash import flash_body, flash_scratch
from tracegrad.codegen.native.radix import SHORTEST, word_of

import tracegrad as tg

RNG = np.random.default_rng(7)
stable = tg.jit(lambda a: np.argsort(a, kind="stable"))
DTYPES = [np.float64, np.float32, np.int64, np.int32, np.int8, np.uint64, np.uint8, np.bool_]


def awkward(dtype: Any, n: int) -> Any:
    """Many ties, both zeros, infinities, NaN of both signs, and the ends of the integers."""
    if np.dtype(dtype).kind == "f":
        x = (RNG.normal(size=n) * 50).round(1).astype(dtype)
        x[::7], x[1::11], x[2::11], x[8::97] = np.nan, -0.0, 0.0, -np.nan
        x[5:7] = np.inf, -np.inf
        return x
    if dtype is np.bool_:
        return RNG.integers(0, 2, n).astype(bool)
    info = np.iinfo(dtype)
    x = RNG.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    x[3:9] = info.min, info.max, 0, 0, 1, info.max
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [SHORTEST - 1, SHORTEST, 5000])
def test_order_is_numpys(dtype: Any, n: int) -> None:
    x = awkward(dtype, n)
    np.testing.assert_array_equal(stable(x), np.argsort(x, kind="stable"))


def nested(n: int) -> Any:
    """Most numbers in one part of the range, of that part's, and so on."""
    x = 1.0 + RNG.integers(0, 60, n) * 2.0**-52
    x[1:11:2] = 1.0 + 0.5 / (2.0 * n) ** np.arange(5)
    return x


DISTRIBUTIONS = {
    "normal": lambda n: RNG.normal(size=n),
    "Cauchy": lambda n: RNG.standard_cauchy(n),
    "log-normal": lambda n: np.exp(100 * RNG.normal(size=n)),
    "both signs": lambda n: np.exp(30 * RNG.normal(size=n)) * RNG.choice([-1.0, 1.0], n),
    "ties": lambda n: RNG.integers(0, 5, n).astype(float),
    "equal": lambda n: np.full(n, 3.5),
    "rising": np.arange,
    "falling": lambda n: np.arange(n)[::-1] * 1.5,
    "denormal": lambda n: RNG.integers(0, 1000, n) * 5e-324,
    "the whole range": lambda n: RNG.uniform(-1.0, 1.0, n) * 1.79e308,
    "infinities": lambda n: RNG.choice([np.inf, -np.inf, np.nan, -np.nan], n),
    "one number": lambda n: np.where(np.arange(n) == n // 2, 2.0, RNG.choice([np.inf, np.nan], n)),
    "neighbours": lambda n: 1.0 + RNG.integers(0, 50, n) * 2.0**-52,
    "nested": nested,
    "long integers": lambda n: 2**62 + RNG.integers(0, 500, n),
}


@pytest.mark.parametrize("n", [11, 12, 60, SHORTEST - 1, 3000])
@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_all_distributions(kind: str, n: int) -> None:
    x = DISTRIBUTIONS[kind](n)
    np.testing.assert_array_equal(stable(x), np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(tg.jit(np.sort)(x), np.sort(x))


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_the_text_of_flashsort(kind: str, positions: bool) -> None:
    """Uncompiled; it says where it did not come to an end."""
    x, n = DISTRIBUTIONS[kind](300), 300
    result, places = np.empty_like(x), np.empty(n, int)
    with np.errstate(all="ignore"):
        done = flash_body(positions)(
            x.copy(), result, np.arange(n), places, np.empty(flash_scratch(n), np.int32)
        )
    assert done == (kind != "nested")
    if done:
        np.testing.assert_array_equal(result, np.sort(x))
    if done and positions:
        np.testing.assert_array_equal(places, np.argsort(x, kind="stable"))


def test_lanes_along_both_axes() -> None:
    x = RNG.normal(size=(3, 1500))
    for axis in (0, 1):
        for a in (x, x.T):
            np.testing.assert_array_equal(
                tg.jit(lambda a, axis=axis: np.sort(a, axis=axis))(a), np.sort(a, axis=axis)
            )


def test_gradient_of_a_long_sort() -> None:
    x, w = RNG.normal(size=2000), RNG.normal(size=2000)
    np.testing.assert_array_equal(
        tg.jit(tg.grad(lambda a: np.sum(np.sort(a) * w)))(x), w[np.argsort(np.argsort(x))]
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_words_have_the_order_of_their_numbers(dtype: Any) -> None:
    x = np.sort(awkward(dtype, 500))
    words = [int(word_of(v)) for v in x]
    assert words == sorted(words)
