"""The functions of scipy.special that are known, over all of the real line: signs, poles, and where
sums of logarithms cancel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as special

import tracegrad as tg
from tracegrad.faces.numpy.ufuncs import SCIPY

REALS = np.array(
    [
        -200.5,
        -3.5,
        -2.7,
        -1.7,
        -0.5,
        -1e-10,
        0.0,
        1e-300,
        1e-10,
        0.3,
        0.5,
        1.0,
        1.3,
        2.0,
        2.5,
        3.0,
        10.0,
        170.5,
        1e5,
        2e6,
        1e10,
        1e300,
        np.nan,
    ]
)

BOUNDED = ("hyp0f1", "kn", "yn")
"""Those that are asked of numbers up to 1e5 here; test_beyond has the rest."""


ELSEWHERE = frozenset(
    (
        *("eval_chebyt", "eval_chebyu", "eval_gegenbauer", "eval_genlaguerre", "eval_hermite"),
        *("eval_hermitenorm", "eval_laguerre", "eval_legendre", "expn"),
        *("eval_chebyc", "eval_chebys", "eval_jacobi", "eval_sh_chebyt", "eval_sh_chebyu"),
        *("eval_sh_legendre", "jve", "yve"),
        *("airy", "airye", "ellipj", "fresnel", "kelvin", "shichi", "sici"),
        *("eval_sh_jacobi", "it2i0k0", "it2j0y0", "iti0k0", "itj0y0", "pbwa"),
        *(
            "agm",
            "bdtr",
            "bdtrc",
            "hankel1",
            "hankel1e",
            "hankel2",
            "hankel2e",
            "nbdtr",
            "nbdtrc",
            "nbdtri",
            "pdtri",
            "powm1",
        ),
    )
)
"""Of degrees that must be known, with several results, or of real numbers where SciPy goes on to
complex ones, cuts off broken counts, loses digits, or knows no limits: uses of them are in
tests/name_uses."""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [n for n in SCIPY if n not in ELSEWHERE])
def test_values(name: str) -> None:
    function = getattr(special, name)
    points = REALS if function.nin <= 2 else REALS[[4, 9, 10, 12, 13, 22]]
    if name in BOUNDED:
        points = points[~(np.abs(points) > 1e5)]
    args = tuple(np.meshgrid(*[points] * function.nin, indexing="ij"))
    expected = function(*args)
    # At poles (0 and sums that are 0 or negative integers) one infinity is as good as the other, or
    # NaN.
    regular = np.isfinite(expected) | np.isnan(args[0]) | np.isnan(args[-1])
    if name == "pseudo_huber":
        # Of NaN beside a 0 SciPy makes 0.
        regular &= ~np.isnan(args[0] + args[1])
    if name in ("inv_boxcox", "inv_boxcox1p"):
        # SciPy takes the limit for lmbda = 0 of the latter for y itself; a product may overflow.
        product = np.abs(args[0] * args[1])
        regular &= (args[1] == 0) | ((product > 1e-150) & (product < 1e300))
    if name in ("pdtr", "pdtrc"):
        # Of NaN events SciPy makes a number where the mean is 0.
        regular &= ~np.isnan(args[0])
    if name == "nrdtrisd":
        # No width has a half below another number than the mean: SciPy divides by 1e-16.
        regular &= args[1] != 0.5
    if name in ("beta", "betaln"):
        regular &= (args[0] != 0) & (args[1] != 0) & ~np.isnan(args[0] + args[1])
    for found in (
        tg.vjp(lambda *a: function(*a), *args)[0],
        tg.jit(lambda *a: function(*a))(*args),
    ):
        np.testing.assert_allclose(found[regular], expected[regular], rtol=1e-8, atol=1e-300)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_where_functions_go_on() -> None:
    """Riemann's zeta function below 1, with derivatives (of mpmath), and Hankel's scaled ones of
    negative numbers: there was NaN."""
    x = np.array([-170.2, -20.0, -21.0, -3.5, -0.3, -0.2, -1e-300, 0.0, 0.5, 0.99, 1.0, 1.5, 9.0])
    z = np.array([-30.0, -2.0, -1e-3, 0.5])
    for function in compiled_and_not(tg.special.zeta):
        np.testing.assert_allclose(function(x), special.zeta(x), rtol=2e-12, atol=1e-300)
    assert tg.special.zeta(np.float32([0.3, -2.5])).dtype == np.float32
    assert np.isnan(tg.special.zeta(0.5, 1.0))  # Hurwitz'
    slopes = [tg.grad(tg.special.zeta)(v) for v in (-3.5, -2.0, 0.0, 0.3)]
    expected = [0.00915421362994151, -0.0304484570583933, -0.918938533204673, -1.96186086008988]
    np.testing.assert_allclose(slopes, expected, rtol=1e-11)
    for name in ("hankel1e", "hankel2e"):
        for v in (0.0, 0.5, 1.3, 2.0):
            found, theirs = getattr(tg.special, name)(v, z), getattr(special, name)(v, z)
            np.testing.assert_allclose(found, theirs, rtol=1e-11, atol=1e-14)


def test_places_outside_of_a_grid() -> None:
    """Of eager Tensors they are known, as plain ones are."""
    table = tg.interpolate.RegularGridInterpolator(([0.0, 1.0],), np.array([1.0, 3.0]))
    for places in (np.array([[2.0]]), tg.Tensor(np.array([[2.0]]))):
        with pytest.raises(ValueError, match="outside of the grid along axis 0"):
            table(places)
    with pytest.raises(ValueError, match="outside of the grid"):
        tg.grad(lambda at: table(at)[0])(np.array([[2.0]]))
    assert np.isnan(tg.jit(table)(np.array([[2.0]])))


@pytest.mark.parametrize("large", [2e6, 1e10, 1e300])
def test_beyond(large: float) -> None:
    """Orders that would take SciPy's kn and yn as many steps, or overflow its integers (every
    order from 2^31 gives the same number there), and 0F1(; 1; z) that SciPy gives as 0."""
    for name in ("kn", "yn"):
        for function in compiled_and_not(getattr(tg.special, name)):
            found = np.asarray(function(np.array([large, 2.0, -large]), np.array([1e10, 3.0, 1.0])))
            np.testing.assert_array_equal(np.isnan(found), [True, False, True])
    for function in compiled_and_not(tg.special.hyp0f1):
        found = function(np.array([1.0, 1.0]), np.array([large, 1.0]))
        np.testing.assert_allclose(found, [np.inf, special.iv(0, 2.0)])


def compiled_and_not(function: Any) -> Any:
    return function, tg.jit(function)


@pytest.mark.parametrize(
    ("a", "b"),
    [(-1.7, 1.3), (1.3, -1.7), (-0.4, -0.3), (-2.5, -1.2), (3.0, 1e10), (2.0, 3.5), (-2.7, 0.6)],
)
def test_derivatives_of_beta(a: float, b: float) -> None:
    value, digamma = special.beta(a, b), special.digamma
    if abs(a) + abs(b) < 1e6:
        expected = [value * (digamma(a) - digamma(a + b)), value * (digamma(b) - digamma(a + b))]
    else:
        expected = [value * (digamma(a) - digamma(a + b)), value * -a / b]
    for gradient in compiled_and_not(tg.grad(lambda x, y: special.beta(x, y), (0, 1))):
        np.testing.assert_allclose(gradient(a, b), expected, rtol=1e-7)
    np.testing.assert_allclose(tg.jvp(special.beta, (a, b), (1.0, 0.0))[1], expected[0], rtol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_dtypes_of_beta(dtype: Any) -> None:
    a, b = np.array([2, 3, 5]).astype(dtype), np.array([1, 4, 2]).astype(dtype)
    found = tg.jit(special.beta)(a, b)
    assert found.dtype == special.beta(a, b).dtype
    np.testing.assert_allclose(found, special.beta(a, b), rtol=1e-6)
