"""Distributions of vectors, and of several numbers as one event."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import ops
from ...ops.random import DEFAULT
from ...tensor import Tensor
from .basic import Distribution
from .scalars import Gamma, positive


class Dirichlet(Distribution):
    """Dirichlet distributions over shares of a whole, by concentrations (..., K): the shares of
    gamma distributed numbers."""

    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        shape = tuple(concentration.shape)
        if not shape:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        super().__init__(shape[:-1], shape[-1:], validate_args)
        self.concentration = concentration
        positive(self, concentration=concentration)

    @property
    def mean(self) -> Any:
        """The mean."""
        return self.concentration / ops.sum(self.concentration, axis=-1, keepdims=True)

    @property
    def variance(self) -> Any:
        """The variances of the elements."""
        whole = ops.sum(self.concentration, axis=-1, keepdims=True)
        a = self.concentration
        return a * (whole - a) / (ops.square(whole) * (whole + 1))

    def entropy(self) -> Any:
        a = self.concentration
        k, whole = a.shape[-1], ops.sum(a, axis=-1)
        norm = ops.sum(ops.gammaln(a), axis=-1) - ops.gammaln(whole)
        inner = ops.sum((a - 1) * ops.digamma(a), axis=-1)
        return norm - (k - whole) * ops.digamma(whole) - inner

    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = Gamma(self.concentration, 1.0).rsample(sample_shape)
        return drawn / ops.sum(drawn, axis=-1, keepdims=True)

    def log_prob(self, value: Any) -> Any:
        a = self.concentration
        density = ops.sum(ops.xlogy(a - 1, value), axis=-1) + ops.gammaln(ops.sum(a, axis=-1))
        return density - ops.sum(ops.gammaln(a), axis=-1)


class MultivariateNormal(Distribution):
    """Normal distributions of vectors, by one of the covariance, its inverse (`precision_matrix`)
    and its lower factor (`scale_tril`).

    >>> import tracegrad.torch as torch
    >>> normal = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    >>> normal.log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    has_rsample = True

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
        scale_tril: Any = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        given = [x for x in (covariance_matrix, precision_matrix, scale_tril) if x is not None]
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        if not loc.shape:
            raise ValueError("loc must be at least one-dimensional.")
        if covariance_matrix is not None:
            tril = ops.linalg.cholesky(covariance_matrix)
        elif precision_matrix is not None:
            tril = ops.linalg.cholesky(ops.linalg.inv(precision_matrix))
        else:
            tril = scale_tril
        n = loc.shape[-1]
        batch = np.broadcast_shapes(tuple(loc.shape[:-1]), tuple(tril.shape[:-2]))
        super().__init__(batch, (n,), validate_args)
        self.loc = ops.broadcast_to(loc, (*batch, n))
        self.scale_tril = ops.broadcast_to(tril, (*batch, n, n))

    mean = property(lambda self: self.loc, doc="The mean.")
    mode = mean

    @property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        return ops.matmul(self.scale_tril, ops.swapaxes(self.scale_tril, -1, -2))

    @property
    def variance(self) -> Any:
        """The variances of the elements."""
        return ops.sum(ops.square(self.scale_tril), axis=-1)

    def _half_log_det(self) -> Any:
        return ops.sum(ops.log(ops.diagonal(self.scale_tril, 0, -2, -1)), axis=-1)

    def rsample(self, sample_shape: Any = ()) -> Any:
        noise = DEFAULT.standard_normal(self._extended(sample_shape), dtype=self.loc.dtype)
        turned = ops.matmul(self.scale_tril, ops.expand_dims(noise, len(noise.shape)))
        return self.loc + ops.squeeze(turned, -1)

    def log_prob(self, value: Any) -> Any:
        off = value - self.loc
        shape = (*off.shape, off.shape[-1])
        factor = ops.broadcast_to(self.scale_tril, shape)
        solved = ops.linalg.triangular_solve(factor, ops.expand_dims(off, len(off.shape)))
        size = ops.sum(ops.square(solved), axis=(-2, -1))
        return -0.5 * (off.shape[-1] * math.log(2 * math.pi) + size) - self._half_log_det()

    def entropy(self) -> Any:
        return 0.5 * self.loc.shape[-1] * (1 + math.log(2 * math.pi)) + self._half_log_det()


class Independent(Distribution):
    """A distribution whose last `reinterpreted_batch_ndims` batch axes are one event."""

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        batch = tuple(base_distribution.batch_shape)
        count = reinterpreted_batch_ndims
        if count > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {count} vs {len(batch)}"
            )
        cut = len(batch) - count
        event = (*batch[cut:], *base_distribution.event_shape)
        super().__init__(batch[:cut], event, validate_args)
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, count
        self.has_rsample = base_distribution.has_rsample

    mean = property(lambda self: self.base_dist.mean, doc="The mean.")
    variance = property(lambda self: self.base_dist.variance, doc="The variance.")

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def sample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def _summed(self, x: Tensor) -> Any:
        count = self.reinterpreted_batch_ndims
        return ops.sum(x, axis=tuple(range(-count, 0))) if count else x

    def log_prob(self, value: Any) -> Any:
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self) -> Any:
        return self._summed(self.base_dist.entropy())


__all__ = ["Dirichlet", "Independent", "MultivariateNormal"]
