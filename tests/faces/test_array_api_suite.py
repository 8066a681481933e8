"""What the standard's own test suite found, as families: each row is a clause of its text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import array_api as xp

GRAD = pytest.mark.parametrize("grad", [False, True], ids=["plain", "grad"])


def made(array: Any, grad: bool) -> Any:
    """A tensor, on the tape but no leaf where it may be written to."""
    x = tg.tensor(np.asarray(array))
    return x.requires_grad_().clone() if grad and x.dtype.kind in "fc" else x


OF_AXES: dict[str, Callable[[Any], Any]] = {
    "expand_dims": lambda x: xp.expand_dims(x, axis=7),
    "expand_dims below": lambda x: xp.expand_dims(x, axis=-4),
    "sum": lambda x: xp.sum(x, axis=2),
    "mean": lambda x: xp.mean(x, axis=(0, 2)),
    "sort": lambda x: xp.sort(x, axis=-3),
    "concat": lambda x: xp.concat([x, x], axis=4),
    "flip": lambda x: xp.flip(x, axis=5),
    "cumulative_sum": lambda x: xp.cumulative_sum(x, axis=3),
}


@GRAD
@pytest.mark.parametrize("name", OF_AXES)
def test_an_axis_that_is_not_there_is_an_index_error(name: str, grad: bool) -> None:
    """And a ValueError, as NumPy's AxisError is both."""
    x = made(np.ones((2, 3)), grad)
    for kind in (IndexError, ValueError, tg.ShapeError):
        with pytest.raises(kind, match=r"out of (range|bounds)"):
            OF_AXES[name](x)


@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
def test_limits_of_dtypes_are_numbers_of_python(name: str) -> None:
    dtype, numpy = getattr(xp, name), np.finfo(name)
    for given in (dtype, xp.ones(2, dtype=dtype)):
        found = xp.finfo(given)
        assert type(found.bits) is int
        assert found.dtype == numpy.dtype
        for key in ("eps", "max", "min", "smallest_normal"):
            assert type(getattr(found, key)) is float
            assert getattr(found, key) == getattr(numpy, key)
        assert found.tiny == numpy.tiny


@GRAD
@pytest.mark.parametrize("mask", [(0,), (0, 3), (2, 0), (0, 0), (2, 3, 0), (0, 0, 0)])
@pytest.mark.parametrize("shape", [(2, 3, 2), (2, 3, 0)])
def test_a_mask_without_elements_chooses_nothing(
    shape: tuple[int, ...], mask: tuple[int, ...], grad: bool
) -> None:
    """ "The size of each dimension of a mask equals that of the array, or is 0.\""""
    numbers, key = np.ones(shape), np.zeros(mask, bool)
    x = made(numbers, grad)
    for k in (key, tg.tensor(key)):
        assert x[k].shape == numbers[key].shape
        x[k] = 5.0
        x[k] = made(np.ones(numbers[key].shape), grad)
        assert np.array_equal(x.detach().numpy(), numbers)
    with pytest.raises(IndexError, match="did not match"):
        x[np.zeros((2, 4), bool)]


@GRAD
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_the_pseudo_inverse_has_the_limit_of_the_standard(dtype: Any, grad: bool) -> None:
    """max(M, N) times the precision, not NumPy's 1e-15; numbers of `rtol` for each matrix."""
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    low = (rng.normal(size=(2, 4, 2)) @ rng.normal(size=(2, 2, 3))).astype(dtype)
    limits = np.array([1e-3, 0.5]).astype(np.zeros(0, dtype).real.dtype)
    for rtol in (None, 0.5, limits[0], limits, limits[:1]):
        arrays = [
            r if r is None or not np.ndim(r) else space.asarray(r)
            for space, r in ((xp, rtol), (strict, rtol))
        ]
        found = xp.linalg.pinv(made(low, grad), rtol=arrays[0])
        expected = np.asarray(strict.linalg.pinv(strict.asarray(low), rtol=arrays[1]))
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-2, atol=1e-3)
    assert xp.linalg.pinv(made(low[0], grad), rtol=xp.asarray(limits)).shape == (2, 3, 4)
    assert xp.linalg.pinv(made(low[:0], grad), rtol=xp.asarray(limits[:0])).shape == (0, 3, 4)
