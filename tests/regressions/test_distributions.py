"""Every distribution against SciPy's: all of its methods, inside and outside of its support, and
derivatives of two orders by the point and every parameter."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.stats

import tracegrad as tg
from tests.checks import check_first_order, check_second_order
from tracegrad.errors import ShapeError, UnsupportedFunctionError
from tracegrad.ops.stats.calls import METHODS
from tracegrad.ops.stats.summaries import __all__ as SUMMARIES

stats: Any = tg.stats
CONTINUOUS: dict[str, tuple[float, ...]] = {
    "norm": (), "uniform": (), "expon": (), "gamma": (2.3,), "chi2": (3.5,), "beta": (1.7, 2.4),
    "t": (3.2,), "cauchy": (), "laplace": (), "logistic": (), "lognorm": (0.7,),
    "invgamma": (2.2,), "weibull_min": (1.6,), "pareto": (2.1,), "gumbel_r": (), "gumbel_l": (),
    "halfnorm": (), "halfcauchy": (), "rayleigh": (), "f": (3.0, 5.5), "invgauss": (0.8,),
    "vonmises": (1.4,), "levy": (), "powerlaw": (1.8,), "truncnorm": (-0.7, 1.2),
    "skewnorm": (-1.3,),
}  # fmt: skip
DISCRETE: dict[str, tuple[float, ...]] = {
    "poisson": (2.6,), "binom": (7.0, 0.3), "bernoulli": (0.3,), "nbinom": (3.4, 0.4),
    "geom": (0.35,), "logser": (0.6,),
}  # fmt: skip
EAGER: dict[str, tuple[float, ...]] = {
    "maxwell": (), "chi": (2.4,), "nakagami": (1.3,), "erlang": (2.0,), "gengamma": (1.4, 1.2),
    "loggamma": (1.2,), "dgamma": (1.4,), "gennorm": (1.5,), "betaprime": (1.5, 2.0),
    "genextreme": (0.2,), "genpareto": (0.3,), "weibull_max": (1.6,), "invweibull": (1.3,),
    "exponweib": (1.4, 1.2), "dweibull": (1.4,), "gompertz": (1.1,), "loguniform": (0.5, 4.0),
    "reciprocal": (0.5, 4.0), "lomax": (2.2,), "fisk": (2.2,), "burr12": (1.5, 2.0),
    "johnsonsu": (0.3, 1.2), "johnsonsb": (0.3, 1.2), "exponnorm": (1.2,), "moyal": (),
    "rice": (0.8,), "truncexpon": (2.0,), "laplace_asymmetric": (1.3,), "halflogistic": (),
    "hypsecant": (), "arcsine": (), "wald": (), "alpha": (1.4,), "fatiguelife": (0.8,),
    "foldnorm": (0.9,), "gibrat": (), "levy_l": (), "powernorm": (1.6,),
    "powerlognorm": (1.6, 0.7), "recipinvgauss": (0.8,), "norminvgauss": (1.4, 0.5),
    "burr": (2.1, 1.3), "exponpow": (1.4,), "genlogistic": (0.7,), "halfgennorm": (1.3,),
    "kappa3": (1.2,), "loglaplace": (1.8,), "mielke": (2.1, 1.7), "truncpareto": (1.3, 4.0),
    "truncweibull_min": (1.4, 0.2, 1.9), "pearson3": (-0.7,), "anglit": (), "cosine": (),
    "semicircular": (), "rdist": (2.6,), "wrapcauchy": (0.4,), "foldcauchy": (0.9,),
    "skewcauchy": (0.4,), "bradford": (1.7,), "triang": (0.3,), "trapezoid": (0.2, 0.7),
}  # fmt: skip
"""Compositions like the others, which are compiled nowhere here."""
DISCRETE |= {
    "betabinom": (7.0, 1.4, 2.2), "hypergeom": (20.0, 7.0, 12.0), "randint": (-1.0, 5.0),
    "planck": (0.7,), "dlaplace": (0.8,), "skellam": (1.3, 2.2), "zipf": (2.3,),
    "boltzmann": (0.6, 9.0), "betanbinom": (5.0, 2.2, 1.4),
}  # fmt: skip
COUNTS = {"binom": 1, "betabinom": 1, "hypergeom": 3, "randint": 2, "betanbinom": 1}
"""How many of the parameters are whole numbers."""
ENDS = {
    "genextreme": ((1.0,), (-0.4,), (1e-9,), (2.5,)), "genpareto": ((-1.0,), (-0.4,), (1e-9,)),
    "gengamma": ((1.4, -1.2),), "vonmises": ((0.0,),), "skewnorm": ((0.0,),), "halfnorm": ((),),
}  # fmt: skip
LOC, SCALE = 0.3, 1.7
QUANTILES = np.array([0.0, 0.05, 0.5, 0.9, 1.0, np.nan, 1.5])


def test_all_are_here() -> None:
    names = {*CONTINUOUS, *EAGER, *DISCRETE, *MANY, "multinomial"}
    assert names == set(stats.__all__) - set(SUMMARIES) - {"gaussian_kde"}
    assert len(names) >= 25


def compare(name: str, points: Any, parameters: tuple[float, ...], compiled: bool = True) -> None:
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    found: dict[str, Any] = {}
    for method in METHODS:
        if not hasattr(theirs, method) or not hasattr(ours, method):
            continue
        x = QUANTILES if method in ("ppf", "isf") else points
        run = getattr(ours, method)
        try:
            found[method] = (run(x, *parameters), x)
        except UnsupportedFunctionError:
            continue
        expected = getattr(theirs, method)(x, *parameters)
        np.testing.assert_allclose(
            found[method][0], expected, rtol=1e-9, atol=1e-12, err_msg=method
        )
    assert len(found) >= 2
    if not compiled:
        return
    native = tg.jit(lambda x, q: [getattr(ours, m)(q if m in ("ppf", "isf") else x, *parameters)
                                    for m in found])  # fmt: skip
    for (eager, _), value in zip(found.values(), native(points, QUANTILES), strict=True):
        np.testing.assert_allclose(value, eager, rtol=1e-11, atol=1e-14)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [*CONTINUOUS, *EAGER])
def test_continuous(name: str) -> None:
    compiled = name in CONTINUOUS
    shapes = CONTINUOUS[name] if compiled else EAGER[name]
    theirs = getattr(scipy.stats, name)
    inside = theirs(*shapes, LOC, SCALE).ppf([0.1, 0.35, 0.7, 0.95])
    low, high = theirs.support(*shapes, LOC, SCALE)
    below = low - 1 if np.isfinite(low) else LOC - 6 * SCALE
    above = high + 1 if np.isfinite(high) else LOC + 6 * SCALE
    points = np.array([*inside, LOC + SCALE * 1.01, below, above, np.nan])
    compare(name, points, (*shapes, LOC, SCALE), compiled)
    parameters = tuple(np.float64(p) for p in (*shapes, LOC, SCALE))

    def value(x: Any, *parameters: Any) -> Any:
        return getattr(stats, name).logpdf(x, *parameters)

    arrays = (inside, *parameters)
    every = list(range(len(arrays)))
    check_first_order(value, arrays, every, 1e-6, np.random.default_rng(0))
    check_second_order(value, arrays, every, 1e-5, np.random.default_rng(0))
    # Outside of the support nothing pulls, and what stands there does not spread.
    outside = np.array([inside[0], below, above])
    slope = tg.grad(lambda x: np.sum(np.exp(value(x, *parameters))))
    gradient = (tg.jit(slope) if compiled else slope)(outside)
    assert np.isfinite(gradient).all()
    assert gradient[0] != 0 or name == "uniform"
    for pull, end in zip(gradient[1:], (low, high), strict=True):
        assert pull == 0 or not np.isfinite(end) or name == "vonmises"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name: str) -> None:
    shapes = DISCRETE[name]
    compiled = name in ("poisson", "binom", "bernoulli", "nbinom", "geom", "logser")
    compare(name, np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 2.5, 8.0]), shapes, compiled)
    np.testing.assert_allclose(
        getattr(stats, name).pmf(np.arange(1, 4), *shapes, 1),
        getattr(scipy.stats, name).pmf(np.arange(1, 4), *shapes, 1),
    )
    whole = COUNTS.get(name, 0)
    last = 1 if name == "boltzmann" else 0
    free = shapes[whole : len(shapes) - last]

    def value(*given: Any) -> Any:
        first = shapes[:whole]
        counts = np.array([1.0, 1.0, 0.0 if name == "bernoulli" else 1.0])
        return getattr(stats, name).logpmf(counts, *first, *given, *shapes[len(shapes) - last :])

    arrays = tuple(np.float64(p) for p in free)
    if arrays:
        every = list(range(len(arrays)))
        check_first_order(value, arrays, every, 1e-6, np.random.default_rng(0))
        check_second_order(value, arrays, every, 1e-5, np.random.default_rng(0))
    with pytest.raises(UnsupportedFunctionError, match="discrete; write logpmf"):
        getattr(stats, name).logpdf(1.0, *shapes)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [*CONTINUOUS, *EAGER])
def test_at_the_ends(name: str) -> None:
    """At ends, at infinity, far in both tails, with NaN, with parameters out of their range: what
    SciPy has, where that is a number."""
    given = CONTINUOUS.get(name) or EAGER.get(name) or ()
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    wrong = [
        tuple(-abs(s) if j == k else s for j, s in enumerate(given)) for k in range(len(given))
    ]
    points = np.array([-np.inf, -5, -1, -0.5, 0, 0.3, 1, 2.5, 7, np.inf, np.nan])
    for shapes in (given, *ENDS.get(name, ()), *wrong):
        for method in METHODS:
            if not hasattr(theirs, method) or not hasattr(ours, method):
                continue
            q = np.array([1e-9, 0.3, 0.9999, 1.2])
            x = q if method in ("ppf", "isf") else points
            expected = getattr(theirs, method)(x, *shapes, scale=1.5)
            try:
                found = getattr(ours, method)(x, *shapes, scale=1.5)
            except UnsupportedFunctionError:
                continue
            # At infinity SciPy's densities are NaN here and there.
            nothing = 0.0 if method == "pdf" else -np.inf
            kept = ~(np.isnan(expected) & np.isinf(x) & (found == nothing))
            np.testing.assert_allclose(
                found[kept], expected[kept], rtol=3e-7, atol=1e-13, err_msg=f"{method} {shapes}"
            )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [*CONTINUOUS, *EAGER])
def test_digits_of_both_tails(name: str) -> None:
    """Quantiles of tiny probabilities go back to these, logarithms near 0 have digits, ends are
    those of the support, float32 stays what it is."""
    shapes = CONTINUOUS.get(name) or EAGER.get(name) or ()
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    single = [f for f in ours.formulas if ours.formulas[f] is not None and f != "density"]
    for method in (*single, "pdf", "logpdf"):
        for x in np.float32([0.3, 0.6]), np.float32(0.6):
            assert getattr(ours, method)(x, *shapes).dtype == np.float32, method
    ends = tuple(float(e) for e in theirs.support(*shapes))
    if "ppf" in single:
        np.testing.assert_array_equal(ours.ppf([0.0, 1.0], *shapes), ends)
        np.testing.assert_array_equal(ours.isf([1.0, 0.0], *shapes), ends)
    q = np.array([1e-60, 1e-20, 1e-8, 1e-3, 0.2])
    for end, tail, log_rest, quantile in (
        (ends[0], "cdf", "logsf", "ppf"),
        (ends[1], "sf", "logcdf", "isf"),
    ):
        # Places near other ends than these have no digits for tiny probabilities.
        if tail not in single or quantile not in single or end not in (0.0, -np.inf, np.inf):
            continue
        x = getattr(ours, quantile)(q, *shapes)
        np.testing.assert_allclose(getattr(ours, tail)(x, *shapes), q, rtol=1e-9, err_msg=tail)
        rest = getattr(ours, log_rest)(x, *shapes)
        np.testing.assert_allclose(rest, np.log1p(-q), rtol=1e-9, err_msg=log_rest)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_that_were_wrong() -> None:
    """Against the functions' series and limits, where SciPy's have few digits or none, too."""
    pi = np.pi
    for found, expected in (
        (stats.cauchy.sf(1e10), 1e-10 / pi),
        (stats.cauchy.logpdf(1e200), -400 * np.log(10) - np.log(pi)),
        (stats.halfcauchy.logsf(1e30), np.log(2e-30 / pi)),
        (stats.skewcauchy.sf(1e20, 0.4), 1.4**2 * 1e-20 / pi),
        (stats.skewcauchy.cdf(0.0, 0.4), 0.3),
        (stats.foldcauchy.cdf(1e-20, 2.0), 2e-20 / (5 * pi)),
        (stats.foldcauchy.sf(1e200, 2.0), 2e-200 / pi),
        (stats.foldnorm.sf(30.0, 1.9), 4.89804236688e-174),
        (stats.foldnorm.cdf(1e-20, 2.0), 2e-20 * np.exp(-2) / np.sqrt(2 * pi)),
        (stats.kappa3.sf(1e10, 2.5), 1e-25),
        (stats.kappa3.isf(1e-20, 1.0), 1e20),
        (stats.geom.sf(200, 0.3), 0.7**200),
        (stats.planck.sf(200, 0.51), np.exp(-0.51 * 201)),
        (stats.randint.sf(7, 2, 9), 1 / 7),
        (stats.f.cdf(1e-16, 1.0, 3.0), scipy.stats.f.cdf(1e-16, 1.0, 3.0)),
        (stats.f.isf(1 - 1e-15, 1.0, 3.0), scipy.stats.f.ppf(1 - (1 - 1e-15), 1.0, 3.0)),
        (stats.f.ppf(1e-20, 500.0, 3.0), scipy.stats.f.ppf(1e-20, 500.0, 3.0)),
        (stats.betaprime.sf(1e10, 2.0, 3.0), 4e-30 * (1 - 3.75e-10)),
        (stats.loggamma.logcdf(-900.0, 0.8), -720 - scipy.special.gammaln(1.8)),
        (stats.truncnorm.sf(2 - 1e-6, -1.0, 2.0), scipy.stats.truncnorm.sf(2 - 1e-6, -1.0, 2.0)),
        (stats.alpha.sf(1e20, 3.5), 1e-20 * np.exp(scipy.stats.norm.logpdf(3.5)
            - scipy.stats.norm.logcdf(3.5))),
        (stats.pearson3.pdf(1.0, -2.0), 1.0),
        (stats.truncexpon.cdf(1.0, np.inf), 1 - np.exp(-1)),
        (stats.norm.logcdf(9.0), scipy.stats.norm.logcdf(9.0)),
        (stats.expon.logcdf(40.0), -np.exp(-40.0)),
    ):  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    for nothing in (stats.boltzmann.pmf(1, 1.4, 1.5), stats.binom.cdf(1, np.inf, 0.3),
                    stats.f.sf(1.0, np.inf, 3.0)):  # fmt: skip
        assert np.isnan(nothing)


@pytest.mark.parametrize(
    ("name", "shapes"), [("logistic", ()), ("hypsecant", ()), ("laplace", ()), ("cauchy", ()),
                         ("gennorm", (2.0,)), ("skewcauchy", (0.3,)), ("norm", ()), ("t", (3.0,))],
)  # fmt: skip
def test_derivatives_at_the_middle(name: str, shapes: tuple[float, ...]) -> None:
    """The slope of the distribution function is the density, and smooth densities are so at 0."""
    ours = getattr(stats, name)
    for method, sign in (("cdf", 1), ("sf", -1)):
        if ours.formulas[method] is not None:
            slope = tg.grad(lambda x, m=method: getattr(ours, m)(x, *shapes))(0.0)
            np.testing.assert_allclose(slope, sign * ours.pdf(0.0, *shapes), rtol=1e-12)
    if name not in ("laplace", "skewcauchy"):
        log_density = lambda x: ours.logpdf(x, *shapes)  # noqa: E731
        h = 1e-4
        curve = 2 * (log_density(h) - log_density(0.0)) / h**2
        np.testing.assert_allclose(tg.grad(tg.grad(log_density))(0.0), curve, rtol=1e-5)


def positive(n: int, seed: int) -> Any:
    m = np.random.default_rng(seed).normal(size=(n, n))
    return m @ m.T + n * np.eye(n)


RNG = np.random.default_rng(4)
MANY: dict[str, tuple[Any, ...]] = {
    "multivariate_normal": (RNG.normal(size=(2, 4, 3)), RNG.normal(size=3), positive(3, 0)),
    "multivariate_t": (RNG.normal(size=(4, 3)), RNG.normal(size=3), positive(3, 1), 4.5),
    "dirichlet": (RNG.dirichlet([1.0, 2.0, 3.0], size=2).T, np.array([1.2, 0.7, 2.0])),
    "wishart": (positive(3, 2), 5.5, positive(3, 3)),
}


@pytest.mark.parametrize("name", MANY)
def test_several_variables(name: str) -> None:
    given = MANY[name]
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    expected = [theirs.logpdf(x, given[1]) for x in given[0].T] if name == "dirichlet" else (
        theirs.logpdf(*given))  # fmt: skip
    for run in (ours.logpdf, tg.jit(ours.logpdf)):
        np.testing.assert_allclose(run(*given), expected, rtol=1e-11)
    np.testing.assert_allclose(ours(*given[1:]).pdf(given[0]), np.exp(expected), rtol=1e-10)

    def value(*xs: Any) -> Any:
        return ours.logpdf(*[(x + x.T) / 2 if name == "wishart" and np.ndim(x) == 2 else x
                             for x in xs])  # fmt: skip

    arrays = tuple(np.asarray(x, float) for x in given)
    every = list(range(len(arrays)))
    check_first_order(value, arrays, every, 1e-6, np.random.default_rng(0))
    check_second_order(value, arrays, every, 1e-5, np.random.default_rng(0))
    batched = tg.vmap(lambda a: ours.logpdf(given[0], a, *given[2:]))(np.stack([given[1]] * 2))
    np.testing.assert_allclose(batched[1], expected, rtol=1e-11)


def test_forms_of_a_covariance() -> None:
    x = RNG.normal(size=(3, 2))
    for cov in (2.0, np.array([1.0, 2.0])):
        np.testing.assert_allclose(
            stats.multivariate_normal.logpdf(x, np.zeros(2), cov),
            scipy.stats.multivariate_normal.logpdf(x, np.zeros(2), cov),
        )
    for points in (0.4, np.array([0.4, 1.0])):
        np.testing.assert_allclose(
            stats.multivariate_normal.logpdf(points, 0.1, 2.0),
            scipy.stats.multivariate_normal.logpdf(points, 0.1, 2.0),
        )
    with pytest.raises(ShapeError, match="points of shape"):
        stats.multivariate_normal.logpdf(np.ones(3), np.zeros(2), np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        stats.multivariate_normal.logpdf(np.ones(2), np.zeros(2), -np.eye(2))
    np.testing.assert_allclose(
        stats.multinomial.pmf([[1, 2], [0, 3]], 3, [0.3, 0.7]),
        scipy.stats.multinomial.pmf([[1, 2], [0, 3]], 3, [0.3, 0.7]),
    )


def test_parameters() -> None:
    gamma: Any = stats.gamma
    with np.errstate(all="ignore"):
        for outside in (
            gamma.logpdf(1.0, -2.0),
            gamma.logpdf(1.0, 2.0, 0.0, -1.0),
            stats.poisson.logpmf(1, -2.0),
            stats.binom.pmf(1, 2.5, 0.5),
        ):
            assert np.isnan(outside)
    np.testing.assert_allclose(
        gamma.logpdf(1.5, a=2.0, scale=3.0), scipy.stats.gamma.logpdf(1.5, a=2.0, scale=3.0)
    )
    assert stats.norm.logpdf(np.ones(2, np.float32), 0.0, 2.0).dtype == np.float32
    for call, text in (
        (lambda: gamma.logpdf(1.0), "shape parameter 'a' is missing"),
        (lambda: gamma.logpdf(1.0, 2.0, b=1.0), "'b' is none of a, loc, scale"),
        (lambda: gamma.logpdf(1.0, 2.0, a=1.0), "'a' is given twice"),
        (lambda: gamma(1.0, 2.0, 3.0, 4.0), "4 parameters; it takes a, loc, scale"),
    ):
        with pytest.raises(TypeError, match=text):
            call()
    with pytest.raises(UnsupportedFunctionError, match=r"vonmises\.cdf is no closed formula here"):
        stats.vonmises.cdf(1.0, 0.5)
    found = tg.grad(lambda a: gamma.cdf(1.0, a))(2.0)
    step = 1e-5
    sides = [scipy.stats.gamma.cdf(1.0, 2.0 + s) for s in (step, -step)]
    np.testing.assert_allclose(found, (sides[0] - sides[1]) / (2 * step), rtol=1e-8)
    with pytest.raises(AttributeError, match="no 'rvs' here"):
        _ = stats.norm(0.0, 1.0).rvs


@pytest.mark.parametrize("name", SUMMARIES)
def test_summaries(name: str) -> None:
    """Along axes and of all elements, with every option; derivatives of two orders."""
    x = np.random.default_rng(2).uniform(0.5, 2.0, size=(4, 5))
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    options: dict[str, tuple[dict[str, Any], ...]] = {
        "zscore": ({"ddof": 1},), "gmean": ({"weights": x * x},), "hmean": ({"weights": x * x},),
        "moment": ({"order": 3}, {"center": 0.2, "order": 2}), "skew": ({"bias": False},),
        "kurtosis": ({"bias": False}, {"fisher": False}), "sem": ({"ddof": 0},),
        "variation": ({"ddof": 1},), "entropy": ({"base": 2.0}, {"qk": x * x}),
    }  # fmt: skip
    for axis in (0, 1, -1, None):
        for more in ({}, *([] if axis is None else options[name])):
            kept = {} if name == "zscore" else {"keepdims": axis == -1}
            np.testing.assert_allclose(
                ours(x, axis=axis, **more, **kept), theirs(x, axis=axis, **more, **kept),
                rtol=1e-12, atol=1e-14)  # fmt: skip
    value = lambda v: ours(v, axis=1)  # noqa: E731
    check_first_order(value, (x,), [0], 1e-6, np.random.default_rng(0))
    check_second_order(value, (x,), [0], 1e-5, np.random.default_rng(0))
    with pytest.raises(UnsupportedFunctionError, match="nan_policy='omit' is not supported"):
        ours(x, nan_policy="omit")


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5, 2.0])
def test_slopes_at_the_end_of_halfgennorm(beta: float) -> None:
    density = scipy.stats.halfgennorm.pdf(0.0, beta)
    for method, sign in (("cdf", 1), ("sf", -1)):
        function = getattr(tg.stats.halfgennorm, method)
        slope = tg.grad(lambda x, f=function: f(x, beta))(0.0)
        np.testing.assert_allclose(slope, sign * density, rtol=1e-13)


def test_multivariate_distributions_outside_of_their_parameters() -> None:
    assert tg.stats.multinomial.logpmf([1, 1], 3, [0.5, 0.5]) == -np.inf
    assert np.isnan(tg.stats.multivariate_t.logpdf(np.zeros(2), np.zeros(2), np.eye(2), -1.5))
    assert np.isnan(tg.stats.dirichlet.logpdf([0.5, 0.5], [-0.5, 1.0]))
    assert tg.stats.poisson.pmf(np.array(3), 1.5, np.array(1)) == tg.stats.poisson.pmf(2, 1.5)


LAST: dict[str, tuple[Any, float, float, float]] = {
    "xlogy": (lambda z: tg.xlogy(0.0, z), 0.0, 0.0, 0.0),
    "xlog1py": (lambda z: tg.xlog1py(0.0, z), -1.0, 0.0, 0.0),
    "log2": (lambda z: tg.ops.strong_mul(0.0, np.log2(z)), 0.0, 0.0, 0.0),
    "log10": (lambda z: tg.ops.strong_mul(0.0, np.log10(z)), 0.0, 0.0, 0.0),
    "gamma": (lambda z: tg.stats.gamma.logpdf(z, 1.0), 0.0, -1.0, 0.0),
    "beta low": (lambda z: tg.stats.beta.logpdf(z, 1.0, 2.0), 0.0, -1.0, -1.0),
    "beta high": (lambda z: tg.stats.beta.logpdf(z, 2.0, 1.0), 1.0, 1.0, -1.0),
    "chi": (lambda z: tg.stats.chi.logpdf(z, 1.0), 0.0, 0.0, -1.0),
    "chi2": (lambda z: tg.stats.chi2.logpdf(z, 2.0), 0.0, -0.5, 0.0),
    "f": (lambda z: tg.stats.f.logpdf(z, 2.0, 1.0), 0.0, -3.0, 6.0),
    "nakagami": (lambda z: tg.stats.nakagami.logpdf(z, 0.5), 0.0, 0.0, -1.0),
    "powerlaw": (lambda z: tg.stats.powerlaw.logpdf(z, 1.0), 0.0, 0.0, 0.0),
}


@pytest.mark.filterwarnings("ignore")
def test_second_derivatives_at_the_last_point_of_a_support() -> None:
    """Where the density is neither 0 nor infinite they are those from inside, by every way."""

    def forward(f: Any) -> Any:
        return lambda z: tg.jvp(f, (z,), (1.0,))[1]

    ways = [(a, b) for a in (tg.grad, forward) for b in (tg.grad, forward)]

    def found(*ends: float) -> Any:
        return [
            (b(f)(z), a(b(f))(z))
            for (f, *_), z in zip(LAST.values(), ends, strict=True)
            for a, b in ways
        ]

    ends = [end for _, end, *_ in LAST.values()]
    wanted = [row[2:] for row in LAST.values() for _ in ways]
    np.testing.assert_allclose(found(*ends), wanted, rtol=1e-12)
    np.testing.assert_allclose(tg.jit(found)(*ends), wanted, rtol=1e-12)


ENDS_APART = {"arcsine": "SciPy's quotient has a sign at -0.0"}
"""Densities at ends that are not SciPy's, and why."""
AT_EDGES = (0.5, 1.0, 2.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [*CONTINUOUS, *EAGER])
def test_at_ends(name: str) -> None:
    """Where a support ends, beside it and at infinity, for parameters with which a density there is
    0, a number and infinite: as SciPy has it wherever it has a number."""
    theirs, ours = getattr(scipy.stats, name), getattr(stats, name)
    usual = CONTINUOUS.get(name, EAGER.get(name, ()))
    for shapes in {usual, *itertools.product(AT_EDGES, repeat=len(usual))}:
        low, high = theirs.support(*shapes)
        if not low < high:
            continue
        points = [-np.inf, np.inf, np.nan, -0.0, 0.0, 1.0]
        for end in (low, high):
            if np.isfinite(end):
                points += [end, end - 0.1, end + 0.1]
        with_end = {"pdf": np.array(points), "logpdf": np.array(points), "cdf": np.array(points),
                    "sf": np.array(points), "ppf": QUANTILES, "isf": QUANTILES}  # fmt: skip
        for method, x in with_end.items():
            try:
                found = getattr(ours, method)(x, *shapes)
            except UnsupportedFunctionError:
                continue
            expected = np.asarray(getattr(theirs, method)(x, *shapes))
            known = ~np.isnan(expected)
            if name in ENDS_APART:
                known &= (x != 0) | ~np.signbit(x)
            np.testing.assert_allclose(
                found[known], expected[known], rtol=1e-9, atol=1e-12, err_msg=f"{method} {shapes}"
            )
            if method in ("pdf", "logpdf") and name != "vonmises":  # infinities
                assert not np.isnan(found[~known & ~np.isnan(x)]).any(), (method, shapes)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_parameters_at_ends() -> None:
    """At 0, where the density is a number, it has its derivatives by the parameters."""
    for name, shapes, factor in (
        ("fisk", (1.0,), lambda c: np.log(c)),
        ("burr12", (1.0, 2.0), lambda c, d: np.log(c * d)),
        ("burr", (0.5, 2.0), lambda c, d: np.log(c * d)),
        ("exponweib", (2.0, 0.5), lambda a, c: np.log(a * c)),
        ("gengamma", (1.0, 1.0), lambda a, c: np.log(c) - scipy.special.gammaln(a)),
        ("mielke", (1.0, 2.0), lambda k, s: np.log(k)),
        ("loglaplace", (1.0,), lambda c: np.log(c / 2)),
    ):
        every = tuple(range(len(shapes)))
        dist = getattr(stats, name)
        for found, expected in (
            (tg.grad(lambda *s, d=dist: d.logpdf(0.0, *s), argnums=every), tg.grad(factor, every)),
            (lambda *s, d=dist: d.logpdf(0.0, *s), factor),
        ):
            np.testing.assert_allclose(found(*shapes), expected(*shapes), err_msg=name)
    assert stats.kappa3.cdf(0.0, 1e-3) == 0.0
    np.testing.assert_allclose(
        stats.kappa3.cdf([1e-300, 1e-5, 2.0], 1e-3),
        scipy.stats.kappa3.cdf([1e-300, 1e-5, 2.0], 1e-3),
    )
