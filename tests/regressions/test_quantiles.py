"""Medians, quantiles and percentiles, of all elements and of those that are not NaN: NumPy's values
and dtypes for each of its methods, with infinities and NaN among the elements, in running, traced
and compiled code; derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.ir.evaluate import evaluate
from tracegrad.ops.totals.quantiles import METHODS
from tracegrad.tensor import Array
from tracegrad.transforms.tracing import leaf_type, trace_function
from tracegrad.tree import flatten, unflatten

INF, NAN = np.inf, np.nan
VALUES = {
    "finite": np.array([3.0, 1.0, 2.0, 7.0]),
    "inf": np.array([1.0, INF, 2.0, -INF, 3.0]),
    "infs at the end": np.array([INF, INF, 1.0, 2.0]),
    "only inf": np.array([INF, INF, INF]),
    "both": np.array([INF, -INF]),
    "one": np.array([INF]),
    "nan": np.array([1.0, NAN, 2.0, 5.0]),
    "nan and inf": np.array([1.0, NAN, INF, -INF, 3.0]),
    "only nan": np.array([NAN, NAN]),
    "rows": np.array([[1.0, INF, 2.0], [NAN, -INF, 3.0], [INF, INF, 4.0], [0.0, 1.0, -2.0]]),
    "float32": np.array([[1.5, -2.25, 2.1], [3.7, -4.1, 3.3]], np.float32),
    "integers": np.array([[1, 5, 2], [3, -4, 3]]),
    "bytes": np.array([250, 3, 7, 1], np.uint8),
}
FRACTIONS: tuple[Any, ...] = (0.0, 1.0, 0.37, 1, [0.25, 0.5], np.float32(0.3), np.array([0, 1]))
QUANTILES = ("quantile", "percentile", "nanquantile", "nanpercentile")


def traced(function: Callable[[Any], Any], x: Any) -> Any:
    found = trace_function(function, flatten(((x,), {}))[1], [leaf_type(x)], [Array], name="f")
    return unflatten(found.out_spec, evaluate(found.graph, [x, *found.captures]))


def check(function: Callable[[Any], Any], x: Any) -> None:
    expected = function(x)
    ways = [traced(function, x)]
    if x.dtype.kind == "f":
        ways.append(tg.vjp(function, x)[0])
    for found in ways:
        np.testing.assert_allclose(found, expected, rtol=1e-14 if x.itemsize == 8 else 1e-6)
        assert found.dtype == expected.dtype


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("name", QUANTILES)
def test_each_method_is_numpys(name: str, values: str) -> None:
    x = VALUES[values]
    for method in METHODS:
        for k, q in enumerate(FRACTIONS):
            part = q if "quantile" in name else np.multiply(q, 100).tolist()
            for axis in ((None, 0), (1,))[k % 2] if x.ndim == 2 else (None,):
                check(
                    lambda v, q=part, axis=axis, method=method, k=k: getattr(np, name)(
                        v, q, axis=axis, keepdims=k > 2, method=method
                    ),
                    x,
                )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians_are_numpys(name: str, values: str) -> None:
    x = VALUES[values]
    for axis in (None, 0, 1, (0, 1)) if x.ndim == 2 else (None, 0):
        for keepdims in (False, True):
            check(
                lambda v, axis=axis, keepdims=keepdims: getattr(np, name)(
                    v, axis=axis, keepdims=keepdims
                ),
                x,
            )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["median", "nanmedian", *QUANTILES])
def test_compiled(name: str) -> None:
    def function(v: Any) -> Any:
        if "median" in name:
            return getattr(np, name)(v, axis=1)
        return getattr(np, name)(v, [0.3, 0.8], axis=1)

    compiled = tg.jit(function)
    x = VALUES["rows"]
    np.testing.assert_allclose(compiled(x), function(x), rtol=1e-14)
    np.testing.assert_allclose(compiled(x * 2 - 1), function(x * 2 - 1), rtol=1e-14)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_derivatives(name: str, method: str) -> None:
    x = np.random.default_rng(0).normal(size=(3, 6)) * 4
    if name == "nanquantile":
        x[1, 3] = x[2, 0] = x[2, 5] = NAN
    v = np.where(np.isnan(x), 0.0, np.cos(np.arange(18.0)).reshape(3, 6))

    def f(x: Any) -> Any:
        return np.sum(np.sin(getattr(np, name)(x, [0.1, 0.5, 0.83], axis=1, method=method)))

    slope = (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6
    gradient = tg.grad(f)(x)
    assert np.sum(gradient * v) == pytest.approx(slope, rel=1e-6)
    assert tg.jvp(f, (x,), (v,))[1] == pytest.approx(slope, rel=1e-6)
    assert not gradient[np.isnan(x)].any()


@pytest.mark.filterwarnings("ignore")
def test_at_a_whole_place_torch_takes_that_element_alone() -> None:
    x = np.array([1.0, 2.0, INF])
    assert tg.tensor(x).quantile(0.5).item() == 2.0
    assert np.isnan(np.quantile(x, 0.5))


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError, match=r"'best'.*median_unbiased"):
        tg.quantile(np.ones(3), 0.5, method="best")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("values", ["finite", "nan", "rows", "float32", "integers", "only nan"])
@pytest.mark.parametrize("name", QUANTILES)
def test_weights_are_numpys(name: str, values: str) -> None:
    x = VALUES[values]
    rng = np.random.default_rng(3)
    q: Any = np.array([0.0, 0.3, 0.75, 1.0]) * (100 if "percentile" in name else 1)
    for axis in (None, -1, (0,)):
        along = x.shape if axis is None else tuple(np.array(x.shape)[np.atleast_1d(axis)])
        for shape in (x.shape, along):
            weights = rng.integers(0, 3, shape) + 0.25
            weights.flat[0] = 0.0

            def weighted(x: Any, axis: Any = axis, weights: Any = weights) -> Any:
                return getattr(np, name)(x, q, axis, method="inverted_cdf", weights=weights)

            with np.errstate(all="ignore"):
                try:
                    weighted(x)
                except (ValueError, IndexError):
                    # No weight where the others are NaN; NumPy's nanquantile takes no vector.
                    continue
                check(weighted, x)
    order = getattr(tg, name)
    for wrong, message in (
        ({"weights": [1.0], "method": "inverted_cdf"}, "name the axis"),
        ({"weights": x * 0 - 1.0, "method": "inverted_cdf"}, "negative|finite"),
        ({"weights": x * 0 + 1.0}, "inverted_cdf"),
    ):
        with pytest.raises((ValueError, RuntimeError), match=message):
            order(x, q, **wrong)


def test_derivatives_with_weights() -> None:
    x, weights = np.array([3.0, 1.0, 2.0, 7.0]), np.array([1.0, 0.5, 4.0, 0.0])

    def middle(x: Any, w: Any) -> Any:
        return np.quantile(x, 0.4, method="inverted_cdf", weights=w) ** 2

    np.testing.assert_array_equal(tg.grad(middle)(x, weights), [0.0, 0.0, 4.0, 0.0])
    np.testing.assert_array_equal(tg.grad(middle, 1)(x, weights), np.zeros(4))
    assert tg.jit(middle)(x, weights) == 4.0
