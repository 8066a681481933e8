"""Arrays of 0 dimensions, and the dtype of quantiles, as NumPy has them: plain, in running
derivatives, compiled."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import sampled

Function = Callable[[Any], Any]
REDUCTIONS = [
    "sum",
    "prod",
    "max",
    "min",
    "ptp",
    "any",
    "all",
    "nansum",
    "nanmax",
    "nanmin",
    "nanmean",
    "count_nonzero",
]
OTHERS = ["argmin", "argmax", "argsort", "cumsum", "cumprod", "squeeze"]
VALUES = [np.array(2.5), np.array(2.5, np.float32), np.array(3), np.array(True)]


def results(function: Function, x: Any) -> list[Any]:
    """What the function gives for a value of each kind."""
    seen = []
    found = [tg.jit(function)(x)]
    if x.dtype.kind == "f":

        def kept(v: Any) -> Any:
            seen.append(np.asarray(getattr(y := function(v), "_data", y)))
            return np.sum(v)

        tg.grad(kept)(x)
    return [np.asarray(f) for f in found + seen]


@pytest.mark.parametrize("x", VALUES, ids=lambda x: str(x.dtype))
@pytest.mark.parametrize("name", [*REDUCTIONS, *OTHERS])
@pytest.mark.parametrize("axis", [0, -1])
def test_the_axis_that_is_not_there(name: str, axis: int, x: Any) -> None:
    if (name == "ptp" and x.dtype == bool) or (name == "nanmean" and x.dtype.kind != "f"):
        with pytest.raises((TypeError, ValueError)):
            getattr(np, name)(x, axis=axis)
        return
    expected = getattr(np, name)(x, axis=axis)
    for found in results(lambda v: getattr(np, name)(v, axis=axis), x):
        assert found.shape == np.shape(expected)
        assert found.dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["mean", "var", "median", "flip", "sort", "roll", "diff"])
def test_what_numpy_refuses_is_refused(name: str) -> None:
    arguments = (1,) if name == "roll" else ()
    with pytest.raises(ValueError):
        getattr(np, name)(np.array(2.5), *arguments, axis=0)
    for way in (tg.jit, lambda f: tg.grad(lambda x: np.sum(f(x)))):
        with pytest.raises(ValueError):
            way(lambda x: getattr(np, name)(x, *arguments, axis=0))(np.array(2.5))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.argsort(x),
        lambda x: x.argsort(),
        lambda x: np.take(x, 0, axis=0),
        lambda x: np.repeat(x, 3, axis=0),
        lambda x: np.argmax(x, axis=0, keepdims=True),
        lambda x: np.sum(x, axis=-1, keepdims=True),
        lambda x: np.cov(np.stack([x, x])),
    ],
)
def test_others(function: Function) -> None:
    expected = function(np.array(2.5))
    for found in results(function, np.array(2.5)):
        assert found.shape == np.shape(expected)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "f",
    [lambda x: np.sum(x, axis=0), lambda x: np.cumsum(x, axis=-1)[0], lambda x: np.max(x, axis=0)],
)
def test_derivatives(f: Function) -> None:
    for way in (tg.grad(f), tg.jit(tg.grad(f)), tg.grad(tg.jit(f))):
        np.testing.assert_array_equal(way(np.array(2.5)), 1.0)


def test_tensors_keep_torchs_shapes() -> None:
    x = tg.tensor(2.5)
    assert x.sort().values.shape == x.argsort().shape == x.cumsum(0).shape == ()


QUANTILES = [
    0.3,
    [0.1, 0.9],
    np.array([0.1, 0.9]),
    np.float64(0.3),
    np.float32(0.25),
    np.array([0.25, 0.5], np.float32),
    0,
    [0, 1],
]
DTYPES = [np.float32, np.float64, np.int64]
METHODS = ["linear", "lower", "higher", "nearest", "midpoint"]


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize(
    "places",
    sampled(
        itertools.product(*[range(len(x)) for x in (QUANTILES, DTYPES, METHODS)]),
        lambda places: sum(places) % 3 == 0,
    ),
    ids=lambda p: f"{QUANTILES[p[0]]!r}-{DTYPES[p[1]].__name__}-{METHODS[p[2]]}",
)
def test_the_dtype_of_quantiles(places: tuple[int, int, int]) -> None:
    """One of three of all combinations, in which any two stand together; all with `--soak 1`."""
    q, dtype, method = QUANTILES[places[0]], DTYPES[places[1]], METHODS[places[2]]
    x = np.array([3, 1, 4, 1, 5, 9, 2], dtype)
    expected = np.quantile(x, q, method=method)
    for found in results(lambda v: np.quantile(v, q, method=method), x):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "q", [30, 30.0, np.array([10.0, 90.0]), np.array([25.0], np.float32)], ids=repr
)
def test_the_dtype_of_percentiles(q: Any) -> None:
    x = np.array([3, 1, 4, 1, 5, 9, 2], np.float32)
    for found in results(lambda v: np.percentile(v, q), x):
        assert found.dtype == np.percentile(x, q).dtype
        np.testing.assert_allclose(found, np.percentile(x, q), rtol=1e-6)
