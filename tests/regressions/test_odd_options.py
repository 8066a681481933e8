"""Options that few people give, and arrays of kinds for which an option means something else: the
same values, dtypes and shapes as NumPy's, eagerly and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

RANDOM = np.random.default_rng(7)
REAL = RANDOM.normal(size=(3, 4))
COMPLEX = REAL + 1j * RANDOM.normal(size=(3, 4))
SMALL = RANDOM.integers(0, 200, (3, 4)).astype(np.uint8)
WEIGHTS = np.arange(12.0).reshape(3, 4)
ODD = REAL.copy()
ODD[0, 0], ODD[2, 3], ODD[1, 1] = np.nan, np.inf, -np.inf

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        f"var_{dtype}": (lambda x, d=dtype: np.var(x, axis=0, dtype=d), (REAL, COMPLEX, SMALL))
        for dtype in ("float32", "float64", "complex64", "complex128")
    },
    "std_of_complex_in_float32": (lambda x: np.std(x, dtype=np.float32, ddof=1), (COMPLEX,)),
    "mean_in_bool": (lambda x: np.mean(x, axis=1, dtype=bool), (REAL, SMALL, SMALL > 99)),
    "weights_that_are_no_numbers": (
        lambda x: np.histogram(x, 3, (-1, 1), weights=x * x)[0], (REAL, ODD)
    ),
    "weights_between_edges": (
        lambda x: np.histogram(x, [-2.0, 0, 2], weights=WEIGHTS)[0], (REAL, ODD)
    ),
    **{
        f"select_beside_{dtype}": (
            lambda x, d=dtype: np.select([x > 1, x < 0], [np.astype(x, np.dtype(d)), x > 2]),
            (REAL, SMALL),
        )
        for dtype in ("float32", "int8", "uint8", "complex64", "bool")
    },
    "unwrap": (lambda x: np.unwrap(x, discont=4.0), (REAL * 5, SMALL, SMALL > 99)),
    "ediff1d": (lambda x: np.ediff1d(x, to_end=[2, 3], to_begin=1), (REAL, COMPLEX)),
    **{
        f"pad_{mode}_{width}": (
            lambda x, m=mode, w=width: np.pad(x, w, m, reflect_type="odd"),
            (REAL, ODD, SMALL, SMALL > 99, COMPLEX, REAL[:1], REAL[:, :2]),
        )
        for mode in ("reflect", "symmetric")
        for width in (((1, 2), (0, 3)), 7)
    },
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weights", [None, np.array([1.0, 0.0, 2.0])])
def test_harmonic_means_of_negative_numbers(weights: Any) -> None:
    x = np.array([[1.0, 2, 4], [1, -2, 3], [0, 1, 2], [-1, -2, -3], [0, -1, 2], [np.nan, 1, 2]])
    expected = scipy.stats.hmean(x, axis=1, weights=weights)
    for function in (tg.stats.hmean, tg.jit(tg.stats.hmean, static_argnames="axis")):
        np.testing.assert_allclose(function(x, axis=1, weights=weights), expected)


@pytest.mark.parametrize("method", ["linear", "quadratic", "logarithmic", "hyperbolic"])
def test_numbers_decide_the_dtype_of_a_chirp_in_both_modes(method: str) -> None:
    t = np.float32([0.1, 0.2])
    expected = scipy.signal.chirp(t, 1, 2, 5, method)
    for function in (tg.signal.chirp, tg.jit(lambda *x: tg.signal.chirp(*x, 1, 2, 5, method))):
        found = function(t) if function is not tg.signal.chirp else function(t, 1, 2, 5, method)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", [tg.tensor, None])
@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name: str, way: Any) -> None:
    function, arrays = CASES[name]
    for x in arrays:
        expected = np.asarray(function(x))
        found = tg.jit(function)(x) if way is None else function(way(x)).numpy()
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        close = 1e-5 if expected.dtype in (np.float32, np.complex64) else 1e-12
        np.testing.assert_allclose(found, expected, rtol=close, atol=close)


def test_unsigned_steps_down() -> None:
    for compiled in (lambda f: f, tg.jit):
        with pytest.raises(tg.errors.DTypeError, match="steps down have no place in unsigned"):
            compiled(lambda x: np.unwrap(x, period=4))(tg.tensor(SMALL))


def test_derivatives_of_odd_reflection() -> None:
    weights = RANDOM.normal(size=(17, 18))

    def function(x: Any) -> Any:
        return np.sum(weights * np.pad(x, 7, "reflect", reflect_type="odd") ** 2)

    assert tg.autograd.gradcheck(function, tg.tensor(REAL, requires_grad=True))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dim", [[], ()])
@pytest.mark.parametrize(
    "name", ["sum", "mean", "amax", "amin", "std", "var", "norm", "nansum", "nanmean"]
)
def test_no_dimensions_named_are_all_of_them(name: str, dim: Any, compiled: bool) -> None:
    """torch's meaning of a Tensor's method; NumPy's function leaves all axes."""
    x = tg.tensor(REAL)
    for more in ({}, {"keepdim": True}):
        function = lambda x, more=more: getattr(x, name)(dim=dim, **more)  # noqa: E731
        found = (tg.jit(function) if compiled else function)(x)
        expected = getattr(x, name)(**({"dim": (0, 1)} | more))
        assert found.shape == ((1, 1) if more else ())
        np.testing.assert_allclose(found, expected)
    assert np.sum(x, axis=()).shape == REAL.shape


@pytest.mark.parametrize("compiled", [False, True])
def test_single_precision_stays(compiled: bool) -> None:
    """Numbers that a method makes of Python's decide no dtype."""
    x = tg.tensor(REAL.astype(np.float32))
    for function in (
        lambda x: x.sub(1, alpha=3),
        lambda x: x.add(2.5, alpha=0.5),
        lambda x: x.median(),
        lambda x: x.nanmedian(),
        lambda x: x.median(1).values,
    ):
        assert (tg.jit(function) if compiled else function)(x).dtype == np.float32
    np.testing.assert_allclose(x.sub(1, alpha=3), REAL - 3, rtol=1e-6)
    assert tg.tensor([3, 4]).sub(1, alpha=3).tolist() == [0, 1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("compiled", [False, True])
def test_nan_is_no_small_norm(compiled: bool) -> None:
    x = tg.tensor([[np.nan, 3.0], [1.0, 4.0], [0.0, 0.0]])
    for p in (1, 2, np.inf):
        function = lambda x, p=p: tg.nn.functional.normalize(x, p=p)  # noqa: E731
        found = (tg.jit(function) if compiled else function)(x).numpy()
        assert np.isnan(found[0]).all()
        np.testing.assert_allclose(np.linalg.norm(found[1], p), 1.0)
        assert (found[2] == 0).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.bool_])
@pytest.mark.parametrize(
    "resampled",
    [
        lambda F, x: F.interpolate(x, size=(5, 3), mode="bilinear", align_corners=True),
        lambda F, x: F.interpolate(x, size=(5, 3), mode="bicubic"),
        lambda F, x: F.interpolate(x[0], scale_factor=2.5, mode="linear"),
        lambda F, x: F.avg_pool2d(x, 2, padding=1, count_include_pad=False),
        lambda F, x: F.avg_pool1d(x[0], 3, ceil_mode=True),
        lambda F, x: F.affine_grid(x[0, :, :2, :3], (1, 1, 3, 4), align_corners=False),
    ],
)
def test_weights_of_integers_are_no_integers(resampled: Any, dtype: Any) -> None:
    """Shares between 0 and 1 were cut to 0."""
    x = RANDOM.integers(0, 9, (1, 1, 3, 4)).astype(dtype)
    expected = resampled(tg.nn.functional, tg.tensor(x.astype(np.float64)))
    for function in (resampled, tg.jit(resampled, static_argnums=0)):
        found = function(tg.nn.functional, tg.tensor(x))
        assert found.dtype.kind == "f"
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.bool_, np.float32])
def test_quantiles_and_counts_of_integers(dtype: Any) -> None:
    """Quantiles were cut to integers, and counts were of the dtype of what is counted."""
    numbers = np.array([[1, 2, 4, 7], [0, 0, 1, 9]]).astype(dtype)
    x = tg.tensor(numbers)
    for q in (0.3, 0.5):
        for more in ({}, {"dim": 1}):
            found = x.nanquantile(q, **more)
            axis = more.get("dim")
            np.testing.assert_allclose(
                found, np.quantile(numbers.astype(float), q, axis=axis), 1e-6
            )
    many = tg.tensor(np.ones(1000).astype(dtype)).histc(2, 0, 2)
    assert many.tolist() == [0, 1000]
