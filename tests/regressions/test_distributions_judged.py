"""Distributions at infinite and at large parameters against mpmath: values, and slopes by the place
and by every parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.exact_distributions import exact

INF = np.inf
LIMITS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "t": ((INF,), (-0.4, 1.7)),
    "invgauss": ((INF,), (0.3, 1.7)),
    "recipinvgauss": ((INF,), (0.3, 1.7)),
    "skewnorm": ((INF,), (0.3, 1.7)),
    "gennorm": ((INF,), (-0.4, 0.3)),
    "halfgennorm": ((INF,), (0.3, 0.9)),
    "kappa3": ((INF,), (0.3, 0.9)),
    "mielke": ((2.1, INF), (0.3, 0.9)),
    "loguniform": ((0.5, INF), (0.6, 1.7)),
    "johnsonsu": ((INF, 1.2), (-0.4, 1.7)),
    "johnsonsb": ((INF, 1.2), (0.3, 0.9)),
    "truncexpon": ((INF,), (0.3, 1.7)),
    "truncpareto": ((1.3, INF), (1.5, 3.0)),
    "planck": ((INF,), (0, 2)),
    "dlaplace": ((INF,), (0, -2)),
    "boltzmann": ((INF, 9), (0, 2)),
    "zipf": ((INF,), (1, 2)),
    "randint": ((-1, INF), (1, 3)),
}
"""Parameters whose infinity gives a distribution, and places."""
LARGE: dict[str, tuple[tuple[tuple[float, ...], float], ...]] = {
    "betabinom": (((2.0**62, 1.5, 2.5), 3),),
    "nbinom": (((1e10, 0.9999999), 1000),),
    "binom": (((2.0**62, 1e-18), 3),),
    "burr": (((2.1, 1e18), 0.7), ((1e10, 1.3), 1.7)),
    "burr12": (((1e10, 2.0), 0.3), ((2.0, 1e10), 0.3)),
    "fisk": (((1e10,), 0.3), ((1e10,), 1.7)),
    "invweibull": (((400.0,), 7.0),),
    "gumbel_l": (((), -800.0), ((), -3.0)),
    "gumbel_r": (((), 800.0), ((), 3.0)),
    "halfgennorm": (((2000.0,), 0.5),),
    "mielke": (((2.1, 1e10), 1.7), ((1e10, 1.3), 0.3)),
    "t": (((1e10,), -0.4),),
    "invgauss": (((1e10,), 0.7),),
    "skellam": (
        ((1e10, 1e10), 1e5), ((1e10, 1e10), -3), ((3e10, 1e10), 2e10 + 7e4), ((1.3, 2.2), 1e6),
        ((1e10, 1e-3), 1e10), ((700.0, 300.0), 410), ((30.0, 20.0), -3), ((1e18, 2e18), -1e18),
        ((450.0, 560.0), -100),
    ),
}  # fmt: skip
METHODS = ("logpdf", "logpmf", "logcdf", "logsf")


def compare(name: str, shapes: tuple[float, ...], x: float) -> int:
    """Of each method here and there, the value and all slopes; how many there were."""
    dist, count = getattr(tg.stats, name), 0
    for method in METHODS:
        if exact_or_none(name, method, x, shapes) is None or not hasattr(dist, method):
            continue
        function = getattr(dist, method)
        value = exact(name, method, x, *shapes)
        given = [np.float64(v) for v in (x, *shapes)]
        np.testing.assert_allclose(function(*given), value, rtol=3e-11, atol=1e-12, err_msg=method)
        count += 1
        if not np.isfinite(value):  # type: ignore[arg-type]
            continue
        free = [by for by in range(dist.discrete, len(given))
                if (name, by) not in WHOLE and np.isfinite(given[by])]  # fmt: skip
        slopes = tg.grad(function, argnums=tuple(free))(*given) if free else ()
        for by, slope in zip(free, slopes, strict=True):
            expected = exact(name, method, x, *shapes, by=by)
            np.testing.assert_allclose(
                slope, expected, rtol=1e-8, atol=1e-10, err_msg=f"{method} by {by}"
            )
    return count


WHOLE = {("betabinom", 1), ("binom", 1), ("boltzmann", 2), ("randint", 1), ("randint", 2)}


def exact_or_none(name: str, method: str, x: float, shapes: tuple[float, ...]) -> float | None:
    if (method == "logpdf") == getattr(tg.stats, name).discrete and method[3:] in ("pdf", "pmf"):
        return None
    return exact(name, method, x, *shapes)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", LIMITS)
def test_infinite_parameters(name: str) -> None:
    shapes, points = LIMITS[name]
    assert all(compare(name, shapes, float(x)) for x in points)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", LARGE)
def test_large_parameters(name: str) -> None:
    assert all(compare(name, shapes, float(x)) for shapes, x in LARGE[name])


def test_far_out_of_counts() -> None:
    found = tg.stats.skellam.logpmf(np.array([2.0**62, -(2.0**70)]), 1.3, 2.2)
    expected = [exact("skellam", "logpmf", k, 1.3, 2.2) for k in (2.0**62, -(2.0**70))]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("name", "shapes", "places"),
    [
        ("kappa3", (INF,), (0.25, 0.75)),
        ("mielke", (1.5, INF), (0.25 ** (1 / 1.5), 0.75 ** (1 / 1.5))),
        ("johnsonsu", (INF, 1.2), (-INF, -INF)),
        ("johnsonsb", (INF, 1.2), (0.0, 0.0)),
        ("loguniform", (0.5, INF), (INF, INF)),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_quantiles_of_limits(
    name: str, shapes: tuple[float, ...], places: tuple[float, float]
) -> None:
    dist: Any = getattr(tg.stats, name)
    np.testing.assert_allclose(dist.ppf([0.25, 0.75], *shapes), places, rtol=1e-14)
    np.testing.assert_allclose(dist.isf([0.75, 0.25], *shapes), places, rtol=1e-14)


def test_student_of_many_degrees_of_freedom() -> None:
    """Of vectors, too, where it is the normal distribution."""
    x, shape = np.array([0.5, 0.25]), np.array([[4.0, 1.0], [1.0, 3.0]])
    normal = tg.stats.multivariate_normal.logpdf(x, np.zeros(2), shape)
    slopes = tg.grad(tg.stats.multivariate_normal.logpdf, argnums=(0, 2))(x, np.zeros(2), shape)
    for df in (2.0**62, 1e100, INF):
        student = lambda x, shape, df=df: tg.stats.multivariate_t.logpdf(  # noqa: E731
            x, np.zeros(2), shape, df
        )
        np.testing.assert_allclose(student(x, shape), normal, rtol=1e-13)
        for found, expected in zip(tg.grad(student, argnums=(0, 1))(x, shape), slopes, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
