"""Sorting in compiled code: long lanes by digits, short ones by merging, in NumPy's order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
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
