"""SciPy's functions at infinity, at large numbers and at places that are none: limits with their
slopes, or NaN, and never a number that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy

import tracegrad as tg
from tracegrad.errors import ShapeError

INF, NAN = np.inf, np.nan
special: Any = tg.special
ROWS: tuple[tuple[str, tuple[Any, ...], Any], ...] = (
    ("agm", (INF, 2.0), INF), ("agm", (1e308, 1e308), 1e308), ("agm", (-INF, -1.0), -INF),
    ("agm", (INF, -1.0), NAN), ("agm", (0.0, 1.0), 0.0),
    ("powm1", (1.0, INF), 0.0), ("powm1", (1.0, NAN), 0.0), ("powm1", (2.0, INF), INF),
    ("powm1", (0.5, INF), -1.0), ("powm1", (2.0, NAN), NAN),
    ("pseudo_huber", (2.0, INF), INF), ("pseudo_huber", (2.0, 1e200), 2e200),
    ("voigt_profile", (INF, 1.0, 1.0), 0.0), ("voigt_profile", (1.0, 1.0, INF), 0.0),
    ("voigt_profile", (NAN, 1.0, 1.0), NAN),
    ("fdtr", (2.0**62, 1.0, 1.0), 0.31731050786291415),
    ("fdtrc", (2.0**62, 1.0, 1.0), 0.6826894921370859),
    ("fdtr", (1.0, 2.0**62, 1.0), 0.6826894921370859),
    ("fdtrc", (1.0, 2.0**62, 1.0), 0.31731050786291415),
    ("fdtr", (2.0, 3.0, INF), 1.0), ("fdtrc", (2.0, 3.0, INF), 0.0), ("fdtr", (2.0, 3.0, 0.0), 0.0),
    ("fdtr", (INF, 3.0, 1.0), NAN),
    ("spherical_jn", (1, INF), 0.0), ("spherical_yn", (1, INF), 0.0),
    ("spherical_in", (1, -INF), -INF), ("spherical_kn", (1, INF), 0.0),
    ("spherical_yn", (1, -7.0), -0.109240988681119),
    ("spherical_yn", (2, -7.0), -0.060882755471421),
    ("eval_legendre", (5, 1e200), INF), ("eval_legendre", (5, -INF), -INF),
    ("eval_legendre", (0, INF), 1.0), ("eval_legendre", (4, NAN), NAN),
    ("eval_hermite", (3, INF), INF), ("eval_laguerre", (3, INF), -INF),
    ("eval_jacobi", (4, 2.0, 1e10, 1.0), 15.0), ("eval_jacobi", (4, 1e10, 2.0, -1.0), 15.0),
    ("zeta", (2.5, INF), 0.0), ("zeta", (INF, INF), 0.0), ("zeta", (2.5, NAN), NAN),
    ("boxcox", (0.0, 0.0), -INF), ("boxcox", (INF, 0.0), INF), ("boxcox1p", (-1.0, 0.0), -INF),
    ("boxcox", (0.0, -0.5), -INF), ("boxcox", (NAN, 0.0), NAN),
    ("eval_jacobi", (4, 0.5, 0.7, -0.3), -0.06985011), ("eval_jacobi", (2, 0.5, 0.7, NAN), NAN),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "given", "expected"), ROWS)
def test_limits(
    name: str, given: tuple[Any, ...], expected: float, kernels_in_python: None
) -> None:
    function = getattr(special, name)
    np.testing.assert_allclose(function(*given), expected, rtol=2e-10)
    # What is no float is a degree.
    traced = [k for k, x in enumerate(given) if type(x) is float]

    def of_floats(*floats: Any) -> Any:
        at = dict(zip(traced, floats, strict=True))
        return function(*[at.get(k, x) for k, x in enumerate(given)])

    found = tg.jit(of_floats)(*[given[k] for k in traced])
    np.testing.assert_allclose(found, expected, rtol=2e-10)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["beta", "betaln"])
def test_beta_functions_at_poles(name: str) -> None:
    """Where one argument is a pole of gamma and both are whole, that of the sum may cancel it."""
    places = np.array([-3.0, -2, -1, 0, 1, 2, 3, 0.5, -0.5, 2.5, -1.7, 40, 200, INF, NAN])
    expected = getattr(scipy.special, name)(places[:, None], places)
    for function in (getattr(special, name), tg.jit(getattr(special, name))):
        np.testing.assert_allclose(function(places[:, None], places), expected, rtol=1e-12)
    single = getattr(special, name)(np.float32([-2, 2.5]), np.float32(2))
    assert single.dtype == np.float32


@pytest.mark.parametrize("name", ["rel_entr", "kl_div", "huber", "pseudo_huber"])
def test_what_compares_is_for_real_numbers(name: str) -> None:
    for given in ((1.0, np.array([1j])), (tg.tensor([1j]), 1.0)):
        with pytest.raises(tg.errors.DTypeError, match="must be real"):
            getattr(special, name)(*given)


@pytest.mark.parametrize("z", [1e14, 3e15, 2.0**62, 2.0**70])
def test_oscillating_functions_of_large_numbers(z: float) -> None:
    with mpmath.workdps(60):
        j, y = (float(f(1, mpmath.mpf(z))) for f in (mpmath.besselj, mpmath.bessely))
    np.testing.assert_allclose(special.jve(1.0, z), j, rtol=1e-10)
    np.testing.assert_allclose(special.yve(1.0, z), y, rtol=1e-10)
    np.testing.assert_allclose(special.hankel1(1.0, z), j + 1j * y, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("function", "x", "slope"),
    [
        (lambda x: special.pseudo_huber(2.0, x), INF, 2.0),
        (lambda x: special.powm1(x, 3.0), 1.0, 3.0),
        (lambda x: special.voigt_profile(x, 1.0, 1.0), INF, 0.0),
        (lambda x: special.fdtr(3.0, 5.0, x), 1.3, 0.2688367598629388),
        (lambda x: special.fdtrc(3.0, 5.0, x), 1.3, -0.2688367598629388),
        (lambda n: special.stdtr(n, 1.7), 1e8, 1.5548663705669e-17),
        (lambda n: special.stdtr(n, 1.7), 1e14, 1.55486637173e-29),
        (lambda n: special.stdtr(n, 1.7), INF, 0.0),
        (lambda t: special.stdtr(INF, t), 1.7, 0.09404907737688695),
    ],
)
def test_slopes(function: Callable[[Any], Any], x: float, slope: float) -> None:
    np.testing.assert_allclose(tg.grad(function)(x), slope, rtol=1e-9, atol=1e-300)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_places_that_are_none() -> None:
    grid, values = (np.arange(3.0), np.arange(4.0)), np.arange(12.0).reshape(3, 4)
    places = np.array([[0.5, 0.7], [NAN, 1.0]])
    interpn: Any = tg.interpolate.interpn
    for method, first in (("linear", 2.7), ("nearest", 1.0)):
        for fill in (None, -1.0):
            found = interpn(grid, values, places, method, bounds_error=False, fill_value=fill)
            np.testing.assert_allclose(found, [first, NAN])
    with pytest.raises(ValueError, match="outside of the grid"):
        interpn(grid, values, places)
    assert interpn(grid, values, (0.5, 1.5)).shape == (1,)
    assert interpn(grid, values, [0.5, 1.5]).shape == (1,)
    assert tg.interpolate.RegularGridInterpolator(grid, values)((0.5, 1.5)).shape == ()
    for mode in ("constant", "nearest", "wrap"):
        found = tg.ndimage.map_coordinates(values, places.T, order=1, mode=mode)
        np.testing.assert_allclose(found, [2.7, NAN], err_msg=mode)


@pytest.mark.parametrize("name", ["CubicSpline", "PchipInterpolator", "Akima1DInterpolator"])
def test_what_extrapolates(name: str) -> None:
    x = np.arange(5.0)
    make = getattr(tg.interpolate, name)
    for none in (False, 0, np.False_):
        assert np.isnan(make(x, x**2, extrapolate=none)(9.0))
    for some in (True, 1, np.True_):
        assert np.isfinite(make(x, x**2, extrapolate=some)(9.0))
    with pytest.raises(ValueError, match=f"{name}: extrapolate is"):
        make(x, x**2, extrapolate=np.zeros(2))


def test_words_of_refusals() -> None:
    y = np.arange(6.0).reshape(2, 3)
    tg.integrate.cumulative_simpson(y, initial=np.ones((2, 1)))
    calls: tuple[tuple[Callable[[], Any], type[Exception], str], ...] = (
        (lambda: tg.integrate.cumulative_simpson(y, initial=[]), ShapeError, "initial has the"),
        (lambda: tg.ndimage.zoom(y, 2**62), ShapeError, "more than memory"),
        (lambda: tg.rot90(y, 1.5), TypeError, "rot90: k is the number 1.5; it must be an integer"),
        (lambda: tg.rot90(y, INF), TypeError, "rot90: k is .*; it must be an integer"),
        (lambda: tg.stats.multinomial.pmf(2, 3, [0.5, 0.5]), ShapeError, "counts of shape"),
    )
    for call, kind, words in calls:
        with pytest.raises(kind, match=words):
            call()
    np.testing.assert_array_equal(tg.rot90(y, 2.0), np.rot90(y, 2))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_counts_and_samples() -> None:
    logpmf = tg.stats.multinomial.logpmf
    assert np.isnan(logpmf([2, 1], -3, [0.5, 0.5]))
    assert np.isnan(logpmf([NAN, 1], 3, [0.5, 0.5]))
    assert np.isnan(tg.stats.variation([1.0, 3.0], ddof=3))
    assert np.isnan(tg.stats.zscore([1.0, 3.0], ddof=3)).all()
    assert tg.stats.variation([1.0, 3.0], ddof=2) == INF

    def count(weights: Any) -> Any:
        return np.bincount(np.zeros(0, int), weights, 3)

    assert np.asarray(count(tg.tensor(np.zeros(0)))).dtype == count(np.zeros(0)).dtype
