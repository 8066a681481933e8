"""Special functions where formulas lose their digits, and derivatives that are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sp

import tracegrad as tg
from tests.cuda_plans import plan_of
from tracegrad.errors import UnsupportedFunctionError


def exactly(function: Callable[[Any], Any], x: float, order: int) -> float:
    """A derivative, in 30 digits; in 60, which takes ten times as long, it is the same float."""
    with mpmath.workdps(30):
        return float(mpmath.diff(function, mpmath.mpf(x), order))


def log_ndtr(x: Any) -> Any:
    return mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2)


def erfcx(x: Any) -> Any:
    return mpmath.exp(x * x) * mpmath.erfc(x)


POINTS = (
    ("log_ndtr", log_ndtr, (-1e6, -1e3, -40.0, -3.0, 0.0, 3.0, 8.0), (1e-13, 3e-9)),
    ("erfcx", erfcx, (-3.0, 0.0, 1.0, 20.0, 25.9, 26.1, 1e4, 1e8), (3e-13, 1e-9)),
    ("ellipk", mpmath.ellipk, (-1e4, -2.0, -1e-9, 0.0, 1e-12, 0.5, 0.999), (1e-12, 1e-11)),
    ("ellipe", mpmath.ellipe, (-1e4, -2.0, -1e-9, 0.0, 1e-12, 0.5, 0.999), (1e-12, 1e-11)),
    ("j1", lambda x: mpmath.besselj(1, x), (-3.0, 0.0, 1e-9, 1.999, 2.0, 50.0), (1e-13, 1e-12)),
    ("y1", lambda x: mpmath.bessely(1, x), (1e-9, 0.5, 2.0, 50.0), (1e-13, 1e-12)),
    ("i1", lambda x: mpmath.besseli(1, x), (-3.0, 0.0, 1e-9, 1.999, 2.0, 50.0, 700.0),
     (1e-13, 1e-12)),
    ("i1e", lambda x: mpmath.besseli(1, x) * mpmath.exp(-x), (1e-9, 2.0, 50.0, 300.0),
     (1e-12, 1e-9)),
    ("k1", lambda x: mpmath.besselk(1, x), (1e-3, 2.0, 50.0, 600.0, 700.0), (1e-13, 1e-12)),
    ("k1e", lambda x: mpmath.besselk(1, x) * mpmath.exp(x), (1e-3, 2.0, 50.0, 300.0),
     (1e-12, 1e-9)),
    ("erfcinv", lambda y: mpmath.erfinv(1 - y), (1e-10, 0.5, 1.9), (1e-11, 1e-10)),
)  # fmt: skip


@pytest.mark.parametrize(("name", "exact", "points", "errors"), POINTS, ids=[p[0] for p in POINTS])
def test_derivatives_over_the_whole_domain(
    name: str, exact: Any, points: tuple[float, ...], errors: tuple[float, float]
) -> None:
    function = getattr(tg.special, name)
    for k, (derived, error) in enumerate(
        zip((tg.grad(function), tg.grad(tg.grad(function))), errors, strict=True)
    ):
        compiled = tg.jit(tg.vmap(derived))
        expected = np.array([exactly(exact, x, k + 1) for x in points])
        for found in ([float(derived(x)) for x in points], compiled(np.array(points))):
            np.testing.assert_allclose(found, expected, rtol=error, atol=1e-310)


@pytest.mark.parametrize("name", ["i1e", "k1", "k1e"])
def test_bessel_functions_have_derivatives_at_infinity(name: str) -> None:
    derived = tg.jit(tg.vmap(tg.grad(getattr(tg.special, name))))
    assert not np.any(derived(np.array([np.inf])))
    assert tg.grad(tg.special.i1)(800.0) == np.inf


REFUSED: tuple[tuple[str, int, tuple[float, ...]], ...] = (
    ("jv", 0, (1.5, 2.0)), ("yv", 0, (1.5, 2.0)), ("iv", 0, (1.5, 2.0)), ("kv", 0, (1.5, 2.0)),
    ("hyp2f1", 2, (1.5, 2.0, 3.0, 0.5)), ("expn", 0, (2.0, 0.5)),
)  # fmt: skip


@pytest.mark.parametrize(("name", "place", "point"), REFUSED)
def test_refused_derivatives_name_the_operand(
    name: str, place: int, point: tuple[float, ...]
) -> None:
    function = getattr(sp, name)

    def of_one(x: Any) -> Any:
        given = list(point)
        given[place] = x
        return function(*given)

    x = np.float64(point[place])
    runs: tuple[Callable[[], Any], ...] = (
        lambda: tg.grad(of_one)(x),
        lambda: tg.jit(tg.grad(of_one))(x),
        lambda: tg.jvp(of_one, (x,), (x,)),
        lambda: of_one(tg.tensor(x, requires_grad=True)).backward(),
    )
    for run in runs:
        with pytest.raises(
            UnsupportedFunctionError, match=rf"special\.{name} has no derivative by \w.*custom_jvp"
        ):
            run()
    # By the others there is one, whatever stands there; and the value is no question.
    assert np.isfinite(tg.grad(function, len(point) - 1 if place != len(point) - 1 else 0)(*point))
    assert np.isfinite(tg.vmap(of_one)(np.array([x]))[0])


def test_derivatives_by_parameters_of_distributions() -> None:
    """Against differences with 40 digits (mpmath), far into the tails and for large shapes; what
    lies at the ends or beyond has none; and quantiles move as their probabilities say."""
    by_a = tg.grad(tg.special.gammainc)
    for a, x, expected in (
        (0.05, 1e-9, -7.3715651515412922),
        (2.5, 1.0, -0.18009960695404151),
        (2.5, 9.0, -0.0047416795481938814),
        (1000.0, 1010.0, -0.011945731337225442),
    ):
        np.testing.assert_allclose(by_a(a, x), expected, rtol=1e-9)
        z = sp.gammaincinv(a, sp.gammainc(a, x))
        slope = tg.grad(tg.special.gammaincinv)(a, sp.gammainc(a, x))
        density = tg.grad(tg.special.gammainc, 1)(a, z)
        np.testing.assert_allclose(slope * density, -by_a(a, z), rtol=1e-9)
    by_both = tg.grad(tg.special.betainc, (0, 1))
    for a, b, x, *expected in (
        (0.3, 2.0, 1e-6, -0.26880043047399375, 0.003652098793753054),
        (40.0, 3.0, 0.9, -0.01309229723593076, 0.15028928939203177),
        (1000.0, 0.5, 0.99, -7.7420206863323735e-8, 3.2068467965414122e-5),
    ):
        np.testing.assert_allclose(by_both(a, b, x), expected, rtol=1e-8)
    assert by_both(1.5, 2.0, 0.0) == by_both(1.5, 2.0, 1.0) == (0.0, 0.0)
    assert by_a(1.5, 0.0) == tg.grad(tg.special.stdtr)(3.0, 0.0) == 0.0
    assert tg.grad(tg.special.gammaincinv)(np.float32(1e-3), np.float32(0.1)) == 0.0


def test_on_a_device_they_are_refused_by_name() -> None:
    with pytest.raises(NotImplementedError, match="jv is computed on processors only"):
        plan_of(lambda x: sp.jv(1.0, x), (np.ones(3),))


def test_wanted_derivatives_beside_a_constant_array() -> None:
    order, x = np.array([0.5, 1.5]), np.array([1.0, 2.0])
    found = tg.jit(tg.grad(lambda x: np.sum(sp.jv(order, x) * x)))(x)
    np.testing.assert_allclose(found, sp.jv(order, x) + x * sp.jvp(order, x), rtol=1e-13)


@pytest.mark.parametrize("way", [lambda f: f, tg.jit])
def test_multigammaln_of_nan(way: Any) -> None:
    """NaN is no number outside of the domain, of which SciPy tells."""
    a = np.array([np.nan, 4.0])
    found = way(lambda a: tg.special.multigammaln(a, 3))(a)
    np.testing.assert_allclose(found, [np.nan, sp.multigammaln(4.0, 3)])
    with pytest.raises(ValueError, match="must be greater than"):
        tg.special.multigammaln(np.array([1.0, 4.0]), 3)
