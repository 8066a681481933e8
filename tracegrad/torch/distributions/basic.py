"""The distributions of most programs, what all share, and divergences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ops
from ...autograd.grad_mode import no_grad
from ...config import default_dtype
from ...faces.tensor.shapes import Size
from ...nn import functional as F
from ...nn.functional.common import known
from ...ops.random import DEFAULT
from ...ops.totals.statistics import stop_gradient
from ...tensor import Tensor
from ...tensors import tensor


def parameters(*values: Any) -> list[Any]:
    """Parameters as Tensors of one shape: numbers become Tensors of the default dtype."""
    made = [x if isinstance(x, Tensor) else tensor(float(x), dtype=default_dtype()) for x in values]
    shape = np.broadcast_shapes(*[tuple(x.shape) for x in made])
    return [x.expand(shape) for x in made]


class Distribution:
    """What all distributions share: `batch_shape` (one distribution for each of its places),
    `event_shape` (of one sample), samples."""

    has_rsample = False

    def __init__(
        self, batch_shape: tuple[Any, ...], event_shape: tuple[Any, ...], validate_args: bool | None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        self._validate = validate_args is not False

    @property
    def batch_shape(self) -> Size:
        """One distribution for each place of this shape."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution."""
        return self._event_shape

    def _checked(self, name: str, x: Any, holds: Callable[[Any], Any], wanted: str) -> None:
        """A ValueError where a parameter or a value that is known is not as it must be."""
        data = known(x) if self._validate else None
        if data is not None and not np.all(holds(data)):
            raise ValueError(
                f"{type(self).__name__}: Expected {name} to satisfy the constraint {wanted}, "
                f"but found invalid values: {x!r}"
            )

    def _extended(self, sample_shape: Any) -> tuple[Any, ...]:
        shape = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        return (*shape, *self._batch_shape, *self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples (sample_shape, batch_shape, event_shape) that depend on the parameters
        differentiably."""
        raise NotImplementedError(
            f"{type(self).__name__} has no rsample: "
            "its samples do not depend on the parameters differentiably"
        )

    def sample(self, sample_shape: Any = ()) -> Any:
        """Samples (sample_shape, batch_shape, event_shape), through which no gradients flow."""
        with no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Any:
        """`sample((n,))`."""
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability (density) of a value."""
        raise NotImplementedError(f"{type(self).__name__} has no log_prob")

    def entropy(self) -> Any:
        """The entropy in nats."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy")

    @property
    def mean(self) -> Any:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__} has no mean")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__} has no variance")

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return ops.sqrt(self.variance)

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return ops.exp(self.entropy())


class Normal(Distribution):
    """Normal distributions of mean `loc` and standard deviation `scale`, which are broadcast.

    >>> import tracegrad.torch as torch
    >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-0.9189)
    """

    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = parameters(loc, scale)
        super().__init__(tuple(self.loc.shape), (), validate_args)
        self._checked(
            "parameter scale", self.scale, lambda s: s > 0, "GreaterThan(lower_bound=0.0)"
        )

    mean = property(lambda self: self.loc, doc="The mean.")
    mode = mean
    stddev = property(lambda self: self.scale, doc="The standard deviation.")
    variance = property(lambda self: self.scale * self.scale, doc="The variance.")

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = DEFAULT.standard_normal(self._extended(sample_shape), dtype=self.loc.dtype)
        return self.loc + self.scale * noise

    def log_prob(self, value: Any) -> Any:
        away = (value - self.loc) / self.scale
        return -0.5 * away * away - ops.log(self.scale) - 0.5 * math.log(2 * math.pi)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + ops.log(self.scale)

    def cdf(self, value: Any) -> Any:
        """The probability of smaller numbers."""
        return 0.5 * (1 + ops.erf((value - self.loc) / (self.scale * math.sqrt(2))))

    def icdf(self, value: Any) -> Any:
        """The number below which the others lie with this probability."""
        return self.loc + self.scale * ops.erfinv(2 * value - 1) * math.sqrt(2)


class Uniform(Distribution):
    """Uniform distributions on [low, high), which are broadcast."""

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = parameters(low, high)
        super().__init__(tuple(self.low.shape), (), validate_args)
        self._checked(
            "high - low", self.high - self.low, lambda d: d > 0, "GreaterThan(lower_bound=0.0)"
        )

    mean = property(lambda self: (self.low + self.high) / 2, doc="The mean.")
    variance = property(lambda self: ops.square(self.high - self.low) / 12, doc="The variance.")
    stddev = property(
        lambda self: (self.high - self.low) / math.sqrt(12), doc="The standard deviation."
    )

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = DEFAULT.random(self._extended(sample_shape), dtype=self.low.dtype)
        return self.low + (self.high - self.low) * noise

    def log_prob(self, value: Any) -> Any:
        inside = ops.logical_and(value >= self.low, value < self.high)
        return ops.where(inside, -ops.log(self.high - self.low), -math.inf)

    def entropy(self) -> Any:
        return ops.log(self.high - self.low)


def one_of(name: str, probs: Any, logits: Any) -> Any:
    if (probs is None) == (logits is None):
        raise ValueError(f"{name}: Either `probs` or `logits` must be specified, but not both.")
    given = probs if logits is None else logits
    return given if isinstance(given, Tensor) else parameters(given)[0]


def inside_of(probs: Any) -> Any:
    """Probabilities away from 0 and 1, whose logarithms are finite."""
    eps = float(np.finfo(probs.dtype).eps)
    return ops.clip(probs, eps, 1 - eps)


class Categorical(Distribution):
    """Distributions over 0, ..., K - 1 by probabilities (..., K), which need not sum to 1, or by
    unnormalised logarithms of them.

    >>> import tracegrad.torch as torch
    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        given = one_of("Categorical", probs, logits)
        if not given.shape:
            raise ValueError(
                "Categorical: the parameter must be at least one-dimensional: "
                "probabilities of K classes along the last axis"
            )
        super().__init__(tuple(given.shape[:-1]), (), validate_args)
        self._num_events = given.shape[-1]
        self._by_logits = logits is not None
        if self._by_logits:
            self._checked(
                "parameter logits", given, np.isfinite, "IndependentConstraint(Real(), 1)"
            )
            self.logits = given - ops.logsumexp(given, axis=-1, keepdims=True)
            self.probs = ops.softmax(self.logits, axis=-1)
        else:
            self._checked(
                "parameter probs",
                given,
                lambda p: (p >= 0) & (p.sum(-1, keepdims=True) > 0),
                "Simplex()",
            )
            self.probs = given / ops.sum(given, axis=-1, keepdims=True)
            self.logits = ops.log(inside_of(self.probs))

    mode = property(
        lambda self: ops.argmax(self.probs, axis=-1), doc="The class that is most probable."
    )
    param_shape = property(lambda self: Size(self.probs.shape), doc="The shape of the parameter.")

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            shape = self._extended(sample_shape)
            ends = ops.cumsum(stop_gradient(self.probs), axis=-1)
            # Relative to the last of them, so that rounding leaves no gap at the end.
            drawn = DEFAULT.random(shape, dtype=self.probs.dtype) * ends[..., -1]
            found = ops.sum(ops.expand_dims(drawn, len(shape)) >= ends[..., :-1], axis=-1)
            return found if isinstance(found, Tensor) else Tensor(np.asarray(found))

    def log_prob(self, value: Any) -> Any:
        self._checked(
            "value argument",
            value,
            lambda v: (v == np.floor(v)) & (v >= 0) & (v < self._num_events),
            "IntegerInterval",
        )
        index = ops.expand_dims(ops.convert(value, np.int64), len(value.shape))
        shape = np.broadcast_shapes(tuple(index.shape[:-1]), tuple(self._batch_shape))
        logits = ops.broadcast_to(self.logits, (*shape, self._num_events))
        return ops.squeeze(
            ops.take_along_axis(logits, ops.broadcast_to(index, (*shape, 1)), -1), -1
        )

    def entropy(self) -> Any:
        least = float(np.finfo(self.logits.dtype).min)
        return -ops.sum(ops.where(self.logits < least, least, self.logits) * self.probs, axis=-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All classes, along a new first axis."""
        classes = tensor(np.arange(self._num_events)).reshape(-1, *[1] * len(self._batch_shape))
        return classes.expand(-1, *self._batch_shape) if expand else classes


class Bernoulli(Distribution):
    """Distributions over 0 and 1 by the probability of 1, or its logit."""

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        given = one_of("Bernoulli", probs, logits)
        super().__init__(tuple(given.shape), (), validate_args)
        if logits is not None:
            self.logits, self.probs = given, ops.sigmoid(given)
        else:
            self._checked(
                "parameter probs",
                given,
                lambda p: (p >= 0) & (p <= 1),
                "Interval(lower_bound=0.0, upper_bound=1.0)",
            )
            self.probs, self.logits = given, ops.logit(inside_of(given))

    mean = property(lambda self: self.probs, doc="The mean.")
    variance = property(lambda self: self.probs * (1 - self.probs), doc="The variance.")
    stddev = property(
        lambda self: ops.sqrt(self.probs * (1 - self.probs)), doc="The standard deviation."
    )

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            drawn = (
                DEFAULT.random(self._extended(sample_shape), dtype=self.probs.dtype)
                < self.probs.detach()
            )
            return ops.convert(drawn, self.probs.dtype)

    def log_prob(self, value: Any) -> Any:
        self._checked("value argument", value, lambda v: (v == 0) | (v == 1), "Boolean()")
        return -self._cross_entropy(ops.convert(value, self.logits.dtype))

    def entropy(self) -> Any:
        return self._cross_entropy(self.probs)

    def _cross_entropy(self, target: Any) -> Any:
        shape = np.broadcast_shapes(tuple(target.shape), tuple(self.logits.shape))
        logits, wanted = ops.broadcast_to(self.logits, shape), ops.broadcast_to(target, shape)
        return F.binary_cross_entropy_with_logits(logits, wanted, reduction="none")


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The Kullback-Leibler divergence of q from p, two Normal, two Categorical or two Bernoulli
    distributions.

    >>> import tracegrad.torch as torch
    >>> from tracegrad.torch.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = ops.square(p.scale / q.scale)
        return 0.5 * (ratio + ops.square((p.loc - q.loc) / q.scale) - 1 - ops.log(ratio))
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        parts = p.probs * (p.logits - q.logits)
        parts = ops.where(q.probs == 0, math.inf, parts)
        return ops.sum(ops.where(p.probs == 0, 0.0, parts), axis=-1)
    if isinstance(p, Bernoulli) and isinstance(q, Bernoulli):
        one = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
        return one + (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


__all__ = ["Bernoulli", "Categorical", "Distribution", "Normal", "Uniform", "kl_divergence"]
