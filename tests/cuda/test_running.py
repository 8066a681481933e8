"""Running totals, which all threads of a block or grid compute together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.cuda.common import same_on_both

RNG = np.random.default_rng(3)
WITH_NAN = RNG.normal(size=1400)
WITH_NAN[700] = np.nan


def both(function: Callable[..., Any], *arrays: Any, tolerance: float = 1e-11) -> None:
    same_on_both(lambda device, *xs: tg.jit(function)(*xs), *arrays, tolerance=tolerance)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 33, 1501])
def test_lengths(n: int) -> None:
    both(np.cumsum, RNG.normal(size=n))


@pytest.mark.parametrize(
    "x",
    [
        np.arange(1500),
        RNG.normal(size=1500).astype(np.float32),
        RNG.normal(size=1400) + 1j,
        RNG.normal(size=1400) > 0,
        WITH_NAN,
    ],
    ids=["int64", "float32", "complex128", "bool", "nan"],
)
def test_kinds(x: Any) -> None:
    both(np.cumsum, x, tolerance=1e-4 if x.dtype == np.float32 else 1e-11)


@pytest.mark.parametrize(("shape", "axis"), [((5, 60), 1), ((60, 5), 0), ((3, 60, 2), 1)])
def test_axes(shape: tuple[int, ...], axis: int) -> None:
    both(lambda x: np.cumsum(x, axis=axis), RNG.normal(size=shape))


def test_kinds_of_totals() -> None:
    x = 1 + 0.01 * RNG.normal(size=500)
    both(lambda x: (np.cumprod(x), tg.ops.cummax(x)[0], tg.ops.cummin(x)[0]), x)


def test_several_at_once() -> None:
    both(lambda x: (np.cumsum(x), np.cumsum(np.sin(x)), np.sum(x)), RNG.normal(size=1500))


def test_gradients() -> None:
    both(tg.grad(lambda x: np.sum(np.cumsum(np.sin(x)) ** 2)), RNG.normal(size=(50, 30)))
    both(tg.grad(lambda x: np.sum(np.cumprod(np.sin(x)) ** 2)), RNG.normal(size=70))
