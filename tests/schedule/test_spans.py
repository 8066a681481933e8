"""Places that clipping, remainders and counts keep inside of an array are not checked one by one,
and are NumPy's wherever they are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

N = 12
Y = np.random.default_rng(0).standard_normal(N)
EDGES = [-1e300, -5.0, -1.0, -0.0, 0.0, 0.5, 3.0, 9.999, 10.0, 10.9999999, 11.0, 12.5, 1e300]
ODD = np.array([*EDGES, -np.inf, np.inf])


def linear(x: Any, y: Any) -> Any:
    """Between the numbers of y."""
    x = np.clip(x, 0.0, N - 1.001)
    left = np.floor(x)
    i = left.astype(np.int64)
    return (1.0 - (x - left)) * y[i] + (x - left) * y[i + 1]


def in_rows(x: Any, y: Any) -> Any:
    """The same of an image of 3 rows of 4."""
    x = np.minimum(np.maximum(x, 0.0), 2.5)
    left, top = np.floor(x), np.trunc(x * 0.5)
    i = (top * 4.0 + left).astype(np.int64)
    return y[i] + y[i + 1] + y[4 + i] + y[i + 5]


def of_integers(x: Any, y: Any) -> Any:
    i = np.clip(x, -9.0, 40.0).astype(np.int64)
    return y[i % N] + y[np.clip(i, 2, N - 1) - 2] + y[np.where(i > 3, 5, i % 4)]


def beyond(x: Any, y: Any) -> Any:
    """Which may be one too far, or count from the end."""
    i = np.floor(np.clip(x, -2.0, N - 1.0)).astype(np.int64)
    return y[i] + y[i - 1]


def sums(f: Callable[..., Any]) -> Callable[..., Any]:
    return tg.value_and_grad(lambda x, y: np.sum(f(x, y) ** 2), argnums=(0, 1))


def code(f: Callable[..., Any], *given: Any) -> str:
    return str(tg.jit(f).programs(*given)[-1])


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize(
    ("f", "checks"), [(linear, 1), (in_rows, 1), (of_integers, 0), (beyond, 2)]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_as_numpy(f: Callable[..., Any], checks: int, dtype: Any) -> None:
    x, y = ODD.astype(dtype), Y.astype(dtype)
    assert code(f, x, y).count("check ") == checks
    with np.errstate(invalid="ignore"):
        expected = f(x, y)
        np.testing.assert_allclose(tg.jit(f)(x, y), expected, rtol=1e-6)
        ours, eager = tg.jit(sums(f))(x, y), sums(f)(x, y)
    for a, b in zip([ours[0], *ours[1]], [eager[0], *eager[1]], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("f", [linear, in_rows])
@pytest.mark.parametrize("compiled", [False, True])
def test_nan_is_no_place(
    f: Callable[..., Any], compiled: bool, request: pytest.FixtureRequest
) -> None:
    if not compiled:
        request.getfixturevalue("kernels_in_python")
    g = tg.jit(sums(f))
    g(ODD, Y)
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(IndexError, match=f"index {-(2**63)} is out of bounds for axis 0 with size"),
    ):
        g(np.where(ODD == 3.0, np.nan, ODD), Y)


@pytest.mark.usefixtures("kernels_in_python")
def test_one_too_far() -> None:
    """Ends that the clipping does not exclude are errors as before."""

    def f(x: Any, y: Any) -> Any:
        i = np.floor(np.clip(x, 0.0, float(N))).astype(np.int64)
        return y[i]

    assert code(f, ODD[:4], Y).count("check ") == 1
    np.testing.assert_array_equal(tg.jit(f)(ODD[4:10], Y), f(ODD[4:10], Y))
    with pytest.raises(IndexError, match=f"index {N} is out of bounds for axis 0 with size {N}"):
        tg.jit(f)(ODD, Y)


def test_contracted_products_are_not_trusted() -> None:
    f = tg.jit(in_rows, contract=True)
    assert str(f.programs(ODD, Y)[-1]).count("check ") == 4
