"""What a distribution is here: formulas for its standard form, moved by `loc` and stretched by
`scale` as SciPy does it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import UnsupportedFunctionError
from ...ir.lines import user_line
from ..elementwise.arithmetic import (
    div,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    neg,
    sub,
    where,
)
from ..elementwise.comparison import floor
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, exp, expm1, log, log1p, square
from ..elementwise.floating import floating
from ..elementwise.logic import isnan, logical_and
from .calls import Frozen, method, of_reals

Formula = Callable[..., Any]
NAN, INFINITY = float("nan"), float("inf")


class OpenEnd(float):
    """An end of a support where formulas have no value: probabilities there are those outside."""


FINITE = (OpenEnd(-INFINITY), OpenEnd(INFINITY))
"""The support of a formula that has no value at infinity."""
ABOVE_ZERO = (OpenEnd(0.0), INFINITY)


def near_zero(power: Any, log_factor: Any) -> Any:
    """The log density at 0 of what is exp(log_factor) z^(power - 1) beside it."""
    return where(greater(power, 1), -INFINITY, where(less(power, 1), INFINITY, log_factor))


def size_of(z: Any) -> Any:
    """The absolute value, for smooth functions of it: np.abs has the slope 0 at 0, with which their
    derivatives of odd and even orders there would be wrong."""
    return where(less(z, 0), neg(z), z)


def log1p_square(z: Any) -> Any:
    """log(1 + z^2), where the square has no value, too."""
    large = greater(absolute(z), 1)
    size = where(large, absolute(z), 1.0)
    return add(mul(log(size), 2.0), log1p(square(where(large, div(1.0, size), z))))


def log_rest(x: Any) -> Any:
    """log(1 - exp(x)) for x < 0, to the last digits."""
    near = greater(x, -0.7)
    return where(near, log(neg(expm1(where(near, x, -1.0)))), log1p(neg(exp(where(near, -1.0, x)))))


def log_of_rest(log_y: Any) -> Any:
    """log(1 - exp(-y)), where y itself has no value, too."""
    small = less(log_y, -37)
    return where(small, log_y, log_rest(neg(exp(where(small, 0.0, log_y)))))


def above_of(below: Any, above: Any, whole: Any) -> Any:
    """above / whole, where below is the rest, and also where the whole is infinite."""
    share = div(below, whole)
    low = less(share, 0.5)
    return where(low, sub(1.0, share), div(where(low, 0.0, above), where(low, 1.0, whole)))


def small_or_rest(small: Any, rest: Any) -> Any:
    """log(small), where small + rest = 1: to the last digits where it is near 0, too."""
    low = less(small, 0.5)
    return where(low, log(where(low, small, 0.5)), log1p(neg(where(low, 0.5, rest))))


def _complete(one: str, other: str, given: dict[str, Formula | None]) -> dict[str, Formula | None]:
    """The formulas of `one` of cdf and sf and of its logarithm, of those that are given."""
    value, log_value = given[one], given[f"log{one}"]
    rest, log_rest = given[other], given[f"log{other}"]
    if value is None and log_value is not None:
        value = lambda *z: exp(log_value(*z))  # noqa: E731
    if rest is None and log_rest is not None:
        rest = lambda *z: exp(log_rest(*z))  # noqa: E731
    found = {one: value, f"log{one}": log_value}
    if value is None and rest is not None:
        found[one] = lambda *z: sub(1.0, rest(*z))
    if log_value is not None:
        return found
    if value is not None and rest is not None:
        found[f"log{one}"] = lambda *z: small_or_rest(value(*z), rest(*z))
    elif value is not None:
        found[f"log{one}"] = lambda *z: log(value(*z))
    elif rest is not None:
        found[f"log{one}"] = lambda *z: log1p(neg(rest(*z)))
    return found


def _of_rest(quantile: Formula | None) -> Formula | None:
    return None if quantile is None else lambda q, *shapes: quantile(sub(1.0, q), *shapes)


def of_tails(lower: Formula, upper: Formula) -> dict[str, Any]:
    """ppf and isf of the formulas of each that have all digits for small probabilities."""

    def either(near: Formula, far: Formula) -> Formula:
        def formula(q: Any, *shapes: Any) -> Any:
            small = less_equal(q, 0.5)
            rest = sub(1.0, where(small, 0.5, q))
            return where(small, near(where(small, q, 0.5), *shapes), far(rest, *shapes))

        return formula

    return {"ppf": either(lower, upper), "isf": either(upper, lower)}


class Univariate:
    """One distribution. Its methods take x, the shape parameters in SciPy's order, loc and scale,
    all of them broadcast; with parameters alone it is called for a `Frozen` one.

    Where a parameter is outside of its range results are NaN, as SciPy's. `inside` is a place that
    is in the support whatever the parameters are, where its ends may be infinite. `at_low` is the
    log density at the lower end, where the formula has no value there.
    """

    discrete = False

    def __init__(
        self,
        name: str,
        shapes: str = "",
        *,
        log_density: Formula,
        support: tuple[float | Formula, float | Formula] = (-INFINITY, INFINITY),
        inside: float | None = None,
        at_low: Formula | None = None,
        valid: Formula | None = None,
        cdf: Formula | None = None,
        sf: Formula | None = None,
        logcdf: Formula | None = None,
        logsf: Formula | None = None,
        ppf: Formula | None = None,
        isf: Formula | None = None,
    ) -> None:
        self.name, self.shapes = name, tuple(shapes.split())
        self.parameters = (*self.shapes, "loc", *(() if self.discrete else ("scale",)))
        sides: dict[str, Formula | None] = {"cdf": cdf, "sf": sf, "logcdf": logcdf, "logsf": logsf}
        self.formulas: dict[str, Formula | None] = {
            "density": log_density,
            **_complete("cdf", "sf", sides),
            **_complete("sf", "cdf", sides),
            "ppf": ppf or _of_rest(isf),
            "isf": isf or _of_rest(ppf),
        }
        self.support, self.valid, self.inside, self.at_low = support, valid, inside, at_low

    def __repr__(self) -> str:
        return f"<distribution {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """This distribution with these parameters.

        >>> import tracegrad as tg
        >>> round(float(tg.stats.norm(1.0, 2.0).logpdf(1.0)), 6)
        -1.612086
        """
        self._parameters("", args, kwargs)
        return Frozen(self, args, kwargs)

    def signature(self, method: str) -> inspect.Signature:
        """What a method takes."""
        of = inspect.Parameter
        first = "q" if method in ("ppf", "isf") else "k" if self.discrete else "x"
        usual = {"loc": 0, "scale": 1}
        return inspect.Signature(
            [
                of(name, of.POSITIONAL_OR_KEYWORD, default=usual.get(name, of.empty))
                for name in (first, *self.parameters)
            ]
        )

    # --- arguments --------------------------------------------------------------------------------

    def _parameters(
        self, method: str, args: Any, kwargs: Any, x: Any = None
    ) -> tuple[list[Any], Any, Any]:
        """The shapes, loc and scale; Python's numbers in the dtype of x."""
        names, who = self.parameters, f"{self.name}.{method}" if method else self.name
        if len(args) > len(names):
            raise TypeError(f"{who}: {len(args)} parameters; it takes {', '.join(names)}")
        given = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names or key in given:
                what = "given twice" if key in given else f"none of {', '.join(names)}"
                raise TypeError(f"{who}: the parameter {key!r} is {what}")
            given[key] = value
        missing = [n for n in self.shapes if n not in given]
        if missing:
            raise TypeError(f"{who}: the shape parameter {missing[0]!r} is missing")
        dtype = getattr(x, "dtype", None)
        kind = np.float64 if dtype is None or dtype.kind != "f" else dtype.type

        def number(name: str, usual: float) -> Any:
            value = given.get(name, usual)
            return kind(value) if type(value) in (int, float) else of_reals(who, name, value)

        return (
            [number(n, 0.0) for n in self.shapes],
            number("loc", 0.0),
            number("scale", 1.0),
        )

    def _formula(self, name: str, method: str) -> Formula:
        found = self.formulas[name]
        if found is None:
            raise UnsupportedFunctionError(
                f"{user_line()}: {self.name}.{method} is no closed formula here; "
                "scipy.stats has it for plain numbers"
            )
        return found

    def _known(self, shapes: list[Any], scale: Any, result: Any) -> Any:
        """NaN where a parameter is out of its range."""
        fits: Any = greater(scale, 0)
        for condition in (
            [greater(s, 0) for s in shapes] if self.valid is None else self.valid(*shapes)
        ):
            fits = logical_and(fits, condition)
        return where(fits, result, NAN)

    def _ends(self, shapes: list[Any]) -> tuple[Any, Any]:
        low, high = self.support
        return (
            low(*shapes) if callable(low) else float(low),
            high(*shapes) if callable(high) else float(high),
        )

    def _inside(self, z: Any, shapes: list[Any]) -> tuple[Any, Any]:
        """Whether z is where the density is, and z there, else a place where it is."""
        low, high = self._ends(shapes)
        first, last = (isinstance(e, OpenEnd) for e in self.support)
        inside = logical_and(
            (greater if first else greater_equal)(z, low), (less if last else less_equal)(z, high)
        )
        # At infinity there is no density, and formulas have none.
        inside = logical_and(inside, less(absolute(z), INFINITY))
        finite = [not callable(e) and math.isinf(e) for e in self.support]
        # Python's own numbers leave a result in the dtype of z.
        plain = type(low) is type(high) is float
        middle: Any = 0.0
        if self.inside is not None:
            middle = self.inside
        elif not finite[0] and not finite[1]:
            middle = (low + high) * 0.5 if plain else mul(add(low, high), 0.5)
        elif not finite[0]:
            middle = low + 1.0 if plain else add(low, 1.0)
        elif not finite[1]:
            middle = high - 1.0 if plain else sub(high, 1.0)
        return inside, where(inside, z, middle)

    @property
    def _everywhere(self) -> bool:
        """Whether formulas have values for all numbers, and for infinity."""
        return all(
            not callable(e) and math.isinf(e) and not isinstance(e, OpenEnd) for e in self.support
        )

    # --- methods ----------------------------------------------------------------------------------

    def _log_density(self, method: str, x: Any, args: Any, kwargs: Any) -> Any:
        x = of_reals(f"{self.name}.{method}", "x", x)
        shapes, loc, scale = self._parameters(method, args, kwargs, x)
        z = div(sub(x, loc), scale)
        if self._everywhere:
            value = self._formula("density", method)(z, *shapes)
        else:
            inside, at = self._inside(z, shapes)
            value = self._formula("density", method)(at, *shapes)
            value = where(inside, value, where(isnan(z), z.dtype.type(NAN), -INFINITY))
        if self.at_low is not None:
            value = where(equal(z, self._ends(shapes)[0]), self.at_low(*shapes), value)
        return self._known(shapes, scale, sub(value, log(scale)))

    @method
    def logpdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the density.

        >>> import tracegrad as tg
        >>> round(float(tg.stats.norm.logpdf(0.0)), 6)
        -0.918939
        """
        return self._log_density("logpdf", x, args, kwargs)

    @method
    def pdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The density.

        >>> import tracegrad as tg
        >>> round(float(tg.stats.norm.pdf(0.0)), 6)
        0.398942
        """
        return exp(self._log_density("pdf", x, args, kwargs))

    def _cumulative(
        self, name: str, x: Any, args: Any, kwargs: Any, below: float, above: float
    ) -> Any:
        x = of_reals(f"{self.name}.{name}", "x", x)
        shapes, loc, scale = self._parameters(name, args, kwargs, x)
        z = div(sub(x, loc), scale)
        formula = self._formula(name, name)
        if self._everywhere:
            return self._known(shapes, scale, formula(z, *shapes))
        low, _ = self._ends(shapes)
        inside, at = self._inside(z, shapes)
        number = z.dtype.type
        outside = where(greater(z, low), number(above), number(below))
        outside = where(isnan(z), number(NAN), outside)
        return self._known(shapes, scale, where(inside, formula(at, *shapes), outside))

    @method
    def cdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The distribution function.

        >>> import tracegrad as tg
        >>> float(tg.stats.norm.cdf(0.0))
        0.5
        """
        return self._cumulative("cdf", x, args, kwargs, 0.0, 1.0)

    @method
    def sf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The survival function, 1 - cdf.

        >>> import tracegrad as tg
        >>> float(tg.stats.norm.sf(0.0))
        0.5
        """
        return self._cumulative("sf", x, args, kwargs, 1.0, 0.0)

    @method
    def logcdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the distribution function.

        >>> import tracegrad as tg
        >>> round(float(tg.stats.norm.logcdf(-40.0)), 3)
        -804.608
        """
        return self._cumulative("logcdf", x, args, kwargs, -INFINITY, 0.0)

    @method
    def logsf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the survival function.

        >>> import tracegrad as tg
        >>> float(tg.stats.expon.logsf(1000.0))
        -1000.0
        """
        return self._cumulative("logsf", x, args, kwargs, 0.0, -INFINITY)

    @method
    def ppf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """Quantiles, the inverse of the distribution function.

        >>> import tracegrad as tg
        >>> float(tg.stats.norm.ppf(0.5))
        0.0
        """
        return self._quantile("ppf", q, args, kwargs)

    @method
    def isf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """The inverse of the survival function.

        >>> import tracegrad as tg
        >>> float(tg.stats.expon.isf(1.0)) == 0
        True
        """
        return self._quantile("isf", q, args, kwargs)

    def _quantile(self, name: str, q: Any, args: Any, kwargs: Any) -> Any:
        q = of_reals(f"{self.name}.{name}", "q", q)
        shapes, loc, scale = self._parameters(name, args, kwargs, q)
        formula = self._formula(name, name)
        inside = logical_and(greater(q, 0), less(q, 1))
        value = formula(where(inside, q, 0.5), *shapes)
        low, high = self._ends(shapes)
        first, last = (low, high) if name == "ppf" else (high, low)
        kind = value.dtype.type
        first, last = (kind(e) if type(e) is float else e for e in (first, last))
        ends = where(equal(q, 0), first, where(equal(q, 1), last, kind(NAN)))
        return self._known(shapes, scale, add(mul(where(inside, value, ends), scale), loc))


class Discrete(Univariate):
    """A distribution of integers: `pmf` and `logpmf` in place of densities, and no scale."""

    discrete = True

    @method
    def logpmf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the probability of k; -inf for numbers that are not whole.

        >>> import tracegrad as tg
        >>> round(float(tg.stats.poisson.logpmf(2, 1.5)), 6)
        -1.382217
        """
        return self._log_mass("logpmf", k, args, kwargs)

    @method
    def pmf(self, k: Any, *args: Any, **kwargs: Any) -> Any:
        """The probability of k.

        >>> import tracegrad as tg
        >>> round(float(tg.stats.poisson.pmf(2, 1.5)), 6)
        0.251021
        """
        return exp(self._log_mass("pmf", k, args, kwargs))

    def _log_mass(self, method: str, k: Any, args: Any, kwargs: Any) -> Any:
        k = of_reals(f"{self.name}.{method}", "k", k)
        shapes, loc, _ = self._parameters(method, args, kwargs, k)
        z = floating(sub(k, loc), "k")
        inside, at = self._inside(z, shapes)
        inside = logical_and(inside, equal(z, floor(z)))
        value = self._formula("density", method)(at, *shapes)
        value = where(inside, value, where(isnan(z), z.dtype.type(NAN), -INFINITY))
        return self._known(shapes, 1.0, value)

    def _cumulative(
        self, name: str, x: Any, args: Any, kwargs: Any, below: float, above: float
    ) -> Any:
        shapes, loc, _ = self._parameters(name, args, kwargs)
        whole = floor(sub(of_reals(f"{self.name}.{name}", "k", x), loc))
        return super()._cumulative(name, whole, (*shapes, 0.0), {}, below, above)

    @method
    def logpdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """None: the probabilities of integers are `logpmf`."""
        raise UnsupportedFunctionError(f"{user_line()}: {self.name} is discrete; write logpmf")

    @method
    def pdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """None: the probabilities of integers are `pmf`."""
        raise UnsupportedFunctionError(f"{user_line()}: {self.name} is discrete; write pmf")

    @method
    def ppf(self, q: Any, *args: Any, **kwargs: Any) -> Any:
        """None: quantiles of integers have no derivative."""
        raise UnsupportedFunctionError(
            f"{user_line()}: {self.name}.ppf gives integers, which have no derivative; "
            "scipy.stats has it for plain numbers"
        )

    isf = ppf
