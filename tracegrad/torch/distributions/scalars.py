"""Further distributions of one number: densities with torch's parameters, and samples. Those with
`has_rsample` are quantiles of uniform numbers, and depend on the parameters as these do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import ops
from ...autograd.grad_mode import no_grad
from ...ops.random import DEFAULT
from ...ops.scipy_special import functions as special
from ..creation import poisson
from .basic import Distribution, Normal, inside_of, one_of, parameters

EULER = 0.5772156649015329
LOG_PI = math.log(math.pi)


def positive(of: Distribution, **given: Any) -> None:
    """A ValueError where a parameter is not positive."""
    for name, value in given.items():
        of._checked(f"parameter {name}", value, lambda x: x > 0, "GreaterThan(lower_bound=0.0)")


def _log_beta(a: Any, b: Any) -> Any:
    return ops.gammaln(a) + ops.gammaln(b) - ops.gammaln(a + b)


class _Scalar(Distribution):
    """One number a sample; parameters are broadcast."""

    def __init__(self, validate_args: bool | None, **given: Any) -> None:
        made = parameters(*given.values())
        for name, value in zip(given, made, strict=True):
            setattr(self, name, value)
        super().__init__(tuple(made[0].shape), (), validate_args)
        self._dtype = made[0].dtype

    def _uniform(self, sample_shape: Any) -> Any:
        """Numbers in (0, 1)."""
        drawn = DEFAULT.random(self._extended(sample_shape), dtype=self._dtype)
        eps = float(np.finfo(self._dtype).eps)
        return ops.clip(drawn, eps / 2, 1 - eps / 2)


class Exponential(_Scalar):
    """Exponential distributions of a rate.

    >>> import tracegrad.torch as torch
    >>> torch.distributions.Exponential(2.0).log_prob(torch.tensor(1.0))
    tensor(-1.3069)
    """

    rate: Any

    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__(validate_args, rate=rate)
        positive(self, rate=self.rate)

    mean = property(lambda self: 1 / self.rate, doc="The mean.")
    variance = property(lambda self: 1 / ops.square(self.rate), doc="The variance.")

    def rsample(self, sample_shape: Any = ()) -> Any:
        return -ops.log1p(-self._uniform(sample_shape)) / self.rate

    def log_prob(self, value: Any) -> Any:
        return ops.log(self.rate) - self.rate * value

    def entropy(self) -> Any:
        return 1 - ops.log(self.rate)

    def cdf(self, value: Any) -> Any:
        """The probability of smaller numbers."""
        return -ops.expm1(-self.rate * value)


class Gamma(_Scalar):
    """Gamma distributions of a shape (`concentration`) and a rate.

    >>> import tracegrad.torch as torch
    >>> torch.distributions.Gamma(2.0, 1.0).log_prob(torch.tensor(1.0))
    tensor(-1.)
    """

    concentration: Any
    rate: Any

    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__(validate_args, concentration=concentration, rate=rate)
        positive(self, concentration=self.concentration, rate=self.rate)

    mean = property(lambda self: self.concentration / self.rate, doc="The mean.")
    variance = property(
        lambda self: self.concentration / ops.square(self.rate), doc="The variance."
    )

    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = special.gammaincinv(self.concentration, self._uniform(sample_shape))
        return ops.maximum(drawn, float(np.finfo(self._dtype).tiny)) / self.rate

    def log_prob(self, value: Any) -> Any:
        a = self.concentration
        density = ops.xlogy(a, self.rate) + ops.xlogy(a - 1, value) - self.rate * value
        return density - ops.gammaln(a)

    def entropy(self) -> Any:
        a = self.concentration
        return a - ops.log(self.rate) + ops.gammaln(a) + (1 - a) * ops.digamma(a)


class Chi2(Gamma):
    """Distributions of chi squared with `df` degrees of freedom."""

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (self.df,) = parameters(df)
        super().__init__(self.df * 0.5, 0.5, validate_args)


class Beta(_Scalar):
    """Beta distributions on (0, 1).

    >>> import tracegrad.torch as torch
    >>> torch.distributions.Beta(2.0, 2.0).log_prob(torch.tensor(0.5))
    tensor(0.4055)
    """

    concentration1: Any
    concentration0: Any

    has_rsample = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        super().__init__(
            validate_args, concentration1=concentration1, concentration0=concentration0
        )
        positive(self, concentration1=self.concentration1, concentration0=self.concentration0)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self) -> Any:
        """The variance."""
        a, b = self.concentration1, self.concentration0
        return a * b / (ops.square(a + b) * (a + b + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        a, b = self.concentration1, self.concentration0
        return special.betaincinv(a, b, self._uniform(sample_shape))

    def log_prob(self, value: Any) -> Any:
        a, b = self.concentration1, self.concentration0
        return ops.xlogy(a - 1, value) + ops.xlog1py(b - 1, -value) - _log_beta(a, b)

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        inner = (a - 1) * ops.digamma(a) + (b - 1) * ops.digamma(b)
        return _log_beta(a, b) - inner + (a + b - 2) * ops.digamma(a + b)


class StudentT(_Scalar):
    """Student's t distributions, moved by `loc` and stretched by `scale`."""

    df: Any
    loc: Any
    scale: Any

    has_rsample = True

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        super().__init__(validate_args, df=df, loc=loc, scale=scale)
        positive(self, df=self.df, scale=self.scale)

    mean = property(lambda self: ops.where(self.df <= 1, math.nan, self.loc), doc="The mean.")

    @property
    def variance(self) -> Any:
        """The variance."""
        many = self.df > 2
        df = ops.where(many, self.df, 3.0)
        few = ops.where(self.df > 1, math.inf, math.nan)
        return ops.where(many, ops.square(self.scale) * df / (df - 2), few)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.loc + self.scale * special.stdtrit(self.df, self._uniform(sample_shape))

    def log_prob(self, value: Any) -> Any:
        away = (value - self.loc) / self.scale
        scale = ops.log(self.scale) + 0.5 * ops.log(self.df) + _log_beta(self.df * 0.5, self._half)
        return -0.5 * (self.df + 1) * ops.log1p(ops.square(away) / self.df) - scale

    _half = property(lambda self: ops.ones_like(self.df) * 0.5)

    def entropy(self) -> Any:
        half = (self.df + 1) * 0.5
        beta = _log_beta(self.df * 0.5, self._half)
        parts = ops.log(self.scale) + half * (ops.digamma(half) - ops.digamma(self.df * 0.5))
        return parts + 0.5 * ops.log(self.df) + beta


class _LocScale(_Scalar):
    """A standard distribution, moved by `loc` and stretched by `scale`."""

    loc: Any
    scale: Any

    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(validate_args, loc=loc, scale=scale)
        positive(self, scale=self.scale)

    def _standard(self, u: Any) -> Any:
        """The number below which the others lie with probability u."""
        raise NotImplementedError

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.loc + self.scale * self._standard(self._uniform(sample_shape))

    def icdf(self, value: Any) -> Any:
        """The number below which the others lie with this probability."""
        return self.loc + self.scale * self._standard(value)


class Laplace(_LocScale):
    """Laplace distributions.

    >>> import tracegrad.torch as torch
    >>> torch.distributions.Laplace(0.0, 1.0).log_prob(torch.tensor(1.0))
    tensor(-1.6931)
    """

    mean = property(lambda self: self.loc, doc="The mean.")
    variance = property(lambda self: 2 * ops.square(self.scale), doc="The variance.")

    def _standard(self, u: Any) -> Any:
        return -ops.sign(u - 0.5) * ops.log1p(-2 * ops.abs(u - 0.5))

    def log_prob(self, value: Any) -> Any:
        return -ops.log(2 * self.scale) - ops.abs(value - self.loc) / self.scale

    def entropy(self) -> Any:
        return 1 + ops.log(2 * self.scale)


class Cauchy(_LocScale):
    """Cauchy distributions."""

    mean = property(lambda self: self.loc * math.nan, doc="There is none: NaN.")
    variance = property(lambda self: self.scale * math.inf, doc="There is none: infinite.")

    def _standard(self, u: Any) -> Any:
        return ops.tan(math.pi * (u - 0.5))

    def log_prob(self, value: Any) -> Any:
        away = (value - self.loc) / self.scale
        return -LOG_PI - ops.log(self.scale) - ops.log1p(ops.square(away))

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + ops.log(self.scale)


class Gumbel(_LocScale):
    """Gumbel distributions."""

    mean = property(lambda self: self.loc + self.scale * EULER, doc="The mean.")
    variance = property(lambda self: ops.square(self.scale) * (math.pi**2 / 6), doc="The variance.")

    def _standard(self, u: Any) -> Any:
        return -ops.log(-ops.log(u))

    def log_prob(self, value: Any) -> Any:
        y = (self.loc - value) / self.scale
        return y - ops.exp(y) - ops.log(self.scale)

    def entropy(self) -> Any:
        return ops.log(self.scale) + (1 + EULER)


class LogNormal(Normal):
    """Distributions of numbers whose logarithms have mean `loc` and standard deviation `scale`."""

    mean = property(lambda self: ops.exp(self.loc + ops.square(self.scale) / 2), doc="The mean.")
    mode = property(lambda self: ops.exp(self.loc - ops.square(self.scale)), doc="The mode.")

    @property
    def variance(self) -> Any:
        """The variance."""
        square = ops.square(self.scale)
        return ops.expm1(square) * ops.exp(2 * self.loc + square)

    stddev = property(lambda self: ops.sqrt(self.variance), doc="The standard deviation.")

    def rsample(self, sample_shape: Any = ()) -> Any:
        return ops.exp(super().rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        return super().log_prob(ops.log(value)) - ops.log(value)

    def entropy(self) -> Any:
        return super().entropy() + self.loc

    def cdf(self, value: Any) -> Any:
        """The probability of smaller numbers."""
        return super().cdf(ops.log(value))

    def icdf(self, value: Any) -> Any:
        """The number below which the others lie with this probability."""
        return ops.exp(super().icdf(value))


class HalfNormal(_Scalar):
    """Distributions of the size of normal numbers of mean 0."""

    scale: Any

    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(validate_args, scale=scale)
        positive(self, scale=self.scale)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi), doc="The mean.")
    variance = property(
        lambda self: ops.square(self.scale) * (1 - 2 / math.pi), doc="The variance."
    )

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = DEFAULT.standard_normal(self._extended(sample_shape), dtype=self._dtype)
        return self.scale * ops.abs(noise)

    def log_prob(self, value: Any) -> Any:
        away = value / self.scale
        found = 0.5 * math.log(2 / math.pi) - 0.5 * ops.square(away) - ops.log(self.scale)
        return ops.where(value >= 0, found, -math.inf)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(math.pi / 2) + ops.log(self.scale)


class Poisson(_Scalar):
    """Poisson distributions of a rate."""

    rate: Any

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__(validate_args, rate=rate)
        self._checked("parameter rate", self.rate, lambda x: x >= 0, "GreaterThanEq")

    mean = property(lambda self: self.rate, doc="The mean.")
    variance = mean

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return poisson(self.rate.detach().expand(self._extended(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        return ops.xlogy(value, self.rate) - self.rate - ops.gammaln(value + 1)


class Geometric(_Scalar):
    """Distributions of the number of failures before the first success."""

    probs: Any

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        given = one_of("Geometric", probs, logits)
        super().__init__(validate_args, probs=given if logits is None else ops.sigmoid(given))
        self.logits = ops.logit(inside_of(given)) if logits is None else given
        self._checked("parameter probs", self.probs, lambda p: (p > 0) & (p <= 1), "Interval")

    mean = property(lambda self: 1 / self.probs - 1, doc="The mean.")
    variance = property(lambda self: (1 / self.probs - 1) / self.probs, doc="The variance.")

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return ops.floor(ops.log(self._uniform(sample_shape)) / ops.log1p(-self.probs))

    def log_prob(self, value: Any) -> Any:
        return ops.xlog1py(value, -self.probs) + ops.log(self.probs)

    def entropy(self) -> Any:
        p = self.probs
        return -(ops.xlogy(p, p) + ops.xlog1py(1 - p, -p)) / p


class Binomial(_Scalar):
    """Distributions of the number of successes in `total_count` trials, one known number."""

    logits: Any

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        given = one_of("Binomial", probs, logits)
        logits = ops.logit(inside_of(given)) if logits is None else given
        super().__init__(validate_args, logits=logits)
        self.probs = ops.sigmoid(self.logits) if probs is None else given
        self.total_count = total_count
        self._checked("parameter probs", self.probs, lambda p: (p >= 0) & (p <= 1), "Interval")

    mean = property(lambda self: self.total_count * self.probs, doc="The mean.")
    variance = property(
        lambda self: self.total_count * self.probs * (1 - self.probs), doc="The variance."
    )

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            shape = (int(self.total_count), *self._extended(sample_shape))
            drawn = DEFAULT.random(shape, dtype=self._dtype) < self.probs.detach()
            return ops.sum(ops.convert(drawn, self._dtype), axis=0)

    def log_prob(self, value: Any) -> Any:
        n = self.total_count
        ways = ops.gammaln(n + 1.0) - ops.gammaln(value + 1) - ops.gammaln(n - value + 1)
        return ways + value * self.logits - n * ops.softplus(self.logits)


__all__ = [
    "Beta", "Binomial", "Cauchy", "Chi2", "Exponential", "Gamma", "Geometric", "Gumbel",
    "HalfNormal", "Laplace", "LogNormal", "Poisson", "StudentT",
]  # fmt: skip
