"""Distributions in many digits: SciPy's definitions in mpmath, and their limits where a parameter
is infinite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
from mpmath import erfc, exp, expm1, inf, log, log1p, loggamma, mp, mpf, pi, sqrt

Formula = Callable[..., Any]
DIGITS = 170
"""Enough for the logarithm of a gamma function of LARGE[-1] to have all digits of a float."""
LARGE = ("1e40", "1e60", "1e80")
"""What stands for infinity; what differs between them has no limit but 0 and infinity."""
VERY_LARGE = tuple(f"1e{10**k}" for k in (12, 14, 16))
"""The same for a distribution of logarithms."""
SMALL = -1e5
"""Of smaller logarithms the exponential is 0."""


def beta(a: Any, b: Any) -> Any:
    """The logarithm of the beta function."""
    return loggamma(a) + loggamma(b) - loggamma(a + b)


def choose(n: Any, k: Any) -> Any:
    return -beta(n - k + 1, k + 1) - log(n + 1)


def soft(z: Any) -> Any:
    """log(1 + exp(z))."""
    return z if z > 1e6 else log1p(exp(z))


def rest(z: Any) -> Any:
    """log(1 - exp(z))."""
    return log(-expm1(z)) if z < 0 else -inf


def normal(z: Any) -> Any:
    return -z * z / 2 - log(2 * pi) / 2


def below(z: Any) -> Any:
    """The logarithm of a normal number's probability of being below z."""
    if z < -1e8:
        return normal(z) - log(-z) - 1 / z**2
    return log(erfc(-z / sqrt(2)) / 2)


def logit(z: Any) -> Any:
    return log(z) - log1p(-z)


def log_i(k: Any, z: Any) -> Any:
    """The logarithm of the modified Bessel function, for large orders by Debye's series."""
    if k < 1e4:
        return log(mp.besseli(k, z))
    t = z / k
    root = sqrt(1 + t * t)
    p = 1 / root
    terms = (
        (3 * p - 5 * p**3) / 24 / k
        + (81 * p**2 - 462 * p**4 + 385 * p**6) / 1152 / k**2
        + (30375 * p**3 - 369603 * p**5 + 765765 * p**7 - 425425 * p**9) / 414720 / k**3
    )
    eta = root + log(t / (1 + root))
    return k * eta - log(2 * pi * k) / 2 - log(root) / 2 + log1p(terms)


def pareto_span(b: Any, c: Any) -> Any:
    return -expm1(-b * log(c))


DENSITY: dict[str, Formula] = {
    "norm": normal,
    "gamma": lambda z, a: (a - 1) * log(z) - z - loggamma(a),
    "gennorm": lambda z, b: log(b / 2) - loggamma(1 / b) - abs(z) ** b,
    "halfgennorm": lambda z, b: log(b) - loggamma(1 / b) - z**b,
    "recipinvgauss": lambda z, mu: -((1 / mu - z) ** 2) / (2 * z) - log(2 * pi * z) / 2,
    "beta": lambda z, a, b: (a - 1) * log(z) + (b - 1) * log1p(-z) - beta(a, b),
    "t": lambda z, n: -(n + 1) / 2 * log1p(z * z / n) - beta(n / 2, mpf(0.5)) - log(n) / 2,
    "f": lambda z, n, m: (
        n / 2 * log(n / m)
        + (n / 2 - 1) * log(z)
        - (n + m) / 2 * log1p(n * z / m)
        - beta(n / 2, m / 2)
    ),
    "laplace": lambda z: -abs(z) - log(2),
    "lognorm": lambda z, s: normal(log(z) / s) - log(z) - log(s),
    "invgauss": lambda z, mu: (
        -log(2 * pi) / 2 - mpf(1.5) * log(z) - (z - mu) ** 2 / (2 * z * mu**2)
    ),
    "levy": lambda z: -log(2 * pi) / 2 - mpf(1.5) * log(z) - 1 / (2 * z),
    "skewnorm": lambda z, a: log(2) + normal(z) + below(a * z),
    "alpha": lambda z, a: normal(a - 1 / z) - 2 * log(z) - below(a),
    "fatiguelife": lambda z, c: (
        log1p(z) - log(2 * c) - mpf(1.5) * log(z) - log(2 * pi) / 2 - (z - 1) ** 2 / (2 * z * c * c)
    ),
    "foldnorm": lambda z, c: log(exp(normal(z - c)) + exp(normal(z + c))),
    "foldcauchy": lambda z, c: log((1 / (1 + (z - c) ** 2) + 1 / (1 + (z + c) ** 2)) / pi),
    "powernorm": lambda z, c: log(c) + normal(z) + (c - 1) * below(-z),
    "norminvgauss": lambda z, a, b: (
        log(a / pi) - log(1 + z * z) / 2 + log(mp.besselk(1, a * sqrt(1 + z * z)))
        + sqrt(a * a - b * b) + b * z
    ),
    "burr": lambda z, c, d: (
        log(c) + log(d) - (c + 1) * log(z) - (d + 1) * soft(-c * log(z))
    ),
    "burr12": lambda z, c, d: (
        log(c) + log(d) + (c - 1) * log(z) - (d + 1) * soft(c * log(z))
    ),
    "fisk": lambda z, c: log(c) + (c - 1) * log(z) - 2 * soft(c * log(z)),
    "kappa3": lambda z, a: (
        log(a) - (1 / a + 1) * (log(a) + soft(a * log(z) - log(a)))
    ),
    "mielke": lambda z, k, s: log(k) + (k - 1) * log(z) - (1 + k / s) * soft(s * log(z)),
    "loglaplace": lambda z, c: log(c / 2) - log(z) - c * abs(log(z)),
    "loguniform": lambda z, a, b: -log(z) - log(log(b / a)),
    "lomax": lambda z, c: log(c) - (c + 1) * log1p(z),
    "genlogistic": lambda z, c: log(c) - z - (c + 1) * soft(-z),
    "hypsecant": lambda z: log(2 / pi) - abs(z) - log1p(exp(-2 * abs(z))),
    "invweibull": lambda z, c: log(c) - (c + 1) * log(z) - exp(-c * log(z)),
    "johnsonsb": lambda z, a, b: log(b) - log(z) - log1p(-z) + normal(a + b * logit(z)),
    "johnsonsu": lambda z, a, b: log(b) - log1p(z * z) / 2 + normal(a + b * mp.asinh(z)),
    "moyal": lambda z: -(z + exp(-z)) / 2 - log(2 * pi) / 2,
    "rice": lambda z, b: log(z) - (z * z + b * b) / 2 + log_i(0, z * b),
    "truncexpon": lambda z, b: -z - rest(-b),
    "truncpareto": lambda z, b, c: log(b / pareto_span(b, c)) - (b + 1) * log(z),
    "betabinom": lambda k, n, a, b: choose(n, k) + beta(k + a, n - k + b) - beta(a, b),
    "binom": lambda k, n, p: choose(n, k) + k * log(p) + (n - k) * log1p(-p),
    "nbinom": lambda k, n, p: choose(n + k - 1, k) + n * log(p) + k * log1p(-p),
    "poisson": lambda k, mu: k * log(mu) - loggamma(k + 1) - mu,
    "boltzmann": lambda k, a, n: rest(-a) - rest(-a * n) - a * k,
    "dlaplace": lambda k, a: log(mp.tanh(a / 2)) - a * abs(k),
    "logser": lambda k, p: k * log(p) - log(k) - log(-log1p(-p)),
    "planck": lambda k, a: rest(-a) - a * k,
    "randint": lambda k, low, high: -log(high - low),
    "skellam": lambda k, a, b: (
        -a - b + k / 2 * log(a / b) + log_i(abs(k), 2 * sqrt(a * b))
    ),
    "zipf": lambda k, a: -a * log(k) - log(mp.zeta(a)),
}  # fmt: skip
"""The logarithms of densities of standard forms, inside of the support."""
BELOW: dict[str, Formula] = {
    "norm": below,
    "t": lambda z, n: log(
        mpf(0.5) + mp.sign(z) * (1 - mp.betainc(n / 2, mpf(0.5), 0, n / (n + z * z), True)) / 2
    ),
    "alpha": lambda z, a: below(a - 1 / z) - below(a),
    "exponnorm": lambda z, k: log(
        exp(below(z)) - exp(1 / (2 * k * k) - z / k + below(z - 1 / k))
    ),
    "foldnorm": lambda z, c: log(exp(below(z - c)) - exp(below(-z - c))),
    "foldcauchy": lambda z, c: log((mp.atan(z - c) + mp.atan(z + c)) / pi),
    "burr": lambda z, c, d: -d * soft(-c * log(z)),
    "kappa3": lambda z, a: log(z) - (log(a) + soft(a * log(z) - log(a))) / a,
    "mielke": lambda z, k, s: -k / s * soft(-s * log(z)),
    "genlogistic": lambda z, c: -c * soft(-z),
    "gumbel_l": lambda z: rest(-exp(z)) if z > -1e4 else z,
    "halfgennorm": lambda z, b: (
        log(z) - loggamma(1 + 1 / b)
        if b * log(z) < -1e4
        else log(mp.gammainc(1 / b, 0, z**b, regularized=True))
    ),
    "invweibull": lambda z, c: -exp(-c * log(z)),
    "johnsonsb": lambda z, a, b: below(a + b * logit(z)),
    "johnsonsu": lambda z, a, b: below(a + b * mp.asinh(z)),
    "loggamma": lambda z, c: log(mp.gammainc(c, 0, exp(z), regularized=True)),
    "loguniform": lambda z, a, b: log(log(z / a) / log(b / a)),
    "powernorm": lambda z, c: rest(c * below(-z)),
    "skewcauchy": lambda z, a: log(
        (1 - a) / 2 + (1 + a * mp.sign(z)) / pi * mp.atan(z / (1 + a * mp.sign(z)))
    ),
    "truncexpon": lambda z, b: rest(-z) - rest(-b),
    "truncpareto": lambda z, b, c: log(pareto_span(b, z) / pareto_span(b, c)),
}  # fmt: skip
"""The logarithms of distribution functions."""
ABOVE: dict[str, Formula] = {
    "alpha": lambda z, a: log(exp(below(a)) - exp(below(a - 1 / z))) - below(a),
    "burr12": lambda z, c, d: -d * soft(c * log(z)),
    "fisk": lambda z, c: -soft(c * log(z)),
    "foldnorm": lambda z, c: log(exp(below(c - z)) + exp(below(-z - c))),
    "gompertz": lambda z, c: -c * expm1(z),
    "gumbel_r": lambda z: rest(-exp(-z)) if z < 1e4 else -z,
    "invgauss": lambda z, mu: log(
        exp(below((1 - z / mu) / sqrt(z))) - exp(2 / mu + below(-(1 + z / mu) / sqrt(z)))
    ),
    "johnsonsb": lambda z, a, b: below(-a - b * logit(z)),
    "johnsonsu": lambda z, a, b: below(-a - b * mp.asinh(z)),
    "lomax": lambda z, c: -c * log1p(z),
    "norm": lambda z: below(-z),
    "powernorm": lambda z, c: c * below(-z),
    "randint": lambda k, low, high: log((high - 1 - k) / (high - low)),
}
"""The logarithms of survival functions, where 1 - BELOW would have no digits or there is none."""
ALIASES = {"reciprocal": "loguniform", "erlang": "gamma"}
FIXED = {"wald": ("invgauss", (1.0,))}
"""Distributions that are others', with these parameters."""


def _logarithm(name: str, method: str, z: Any, shapes: list[Any]) -> Any:
    """Of a density or a probability."""
    kind = method.removeprefix("log")
    if kind in ("pdf", "pmf"):
        return DENSITY[name](z, *shapes)
    first, other = (BELOW, ABOVE) if kind == "cdf" else (ABOVE, BELOW)
    return first[name](z, *shapes) if name in first else rest(other[name](z, *shapes))


def _limit(values: list[Any]) -> Any:
    """Of logarithms where numbers stand for infinity, what they go to."""
    first, second, third = values
    if second == third:
        return third
    if abs(third - second) <= 1e-10 * max(1, abs(third)):
        return third
    if abs(third - second) < abs(second - first) * mpf("1e-6"):
        return third
    return -inf if third < second else inf


def exact(
    name: str,
    method: str,
    x: float,
    *shapes: float,
    loc: float = 0.0,
    scale: float = 1.0,
    by: int | None = None,
) -> float | None:
    """What a method gives for a place in the support, or None where that is not written here; its
    derivative `by` x (0) or a shape parameter (1, ...), of logarithms."""
    name = ALIASES.get(name, name)
    name, more = FIXED.get(name, (name, ()))
    kind = method.removeprefix("log")
    known = {"cdf": (BELOW, ABOVE), "sf": (BELOW, ABOVE)}.get(kind, (DENSITY,))
    if not any(name in formulas for formulas in known):
        return None
    given = (*shapes, *more)
    with mp.workdps(DIGITS):
        z = (mpf(float(x)) - mpf(float(loc))) / mpf(float(scale))

        def at(large: str) -> Any:
            parameters = [
                mpf(large) * mp.sign(s) if mp.isinf(s) else s for s in map(mpf, map(float, given))
            ]
            if by is None:
                return mp.re(_logarithm(name, method, z, parameters))
            return mp.re(
                mp.diff(
                    lambda *at: _logarithm(name, method, at[0], list(at[1:])),
                    (z, *parameters),
                    tuple(int(k == by) for k in range(len(parameters) + 1)),
                )
            )

        infinite = any(mp.isinf(mpf(float(s))) for s in given)
        sizes = VERY_LARGE if name == "loguniform" else LARGE
        value = _limit([at(size) for size in sizes]) if infinite else at("0")
        if kind == "pdf" and by is None:
            value -= log(mpf(float(scale)))
        if method.startswith("log"):
            return float(value)
        return float(exp(value)) if value > SMALL else 0.0


def is_quantile(
    name: str, method: str, found: float, q: float, *shapes: float, loc: float, scale: float
) -> bool:
    """Whether the probability beyond `found` is q, to the digits of `found`."""
    side = {"ppf": "cdf", "isf": "sf"}[method]
    step = 1e-7 * max(abs(found - loc), 1e-300)
    sides = [exact(name, side, found + s, *shapes, loc=loc, scale=scale) for s in (-step, step)]
    return None not in sides and min(sides) <= q <= max(sides)  # type: ignore[type-var, operator]


__all__ = ["exact", "is_quantile", "mpmath"]
