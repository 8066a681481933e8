"""Densities of samples by Gaussian kernels, with scipy.stats' name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...checks import describe
from ...errors import ShapeError
from ...sizes import known_less, same
from ...types import show
from ..arrays.creation import ones
from ..arrays.diagonals import diagonal
from ..arrays.shape import expand_dims, reshape
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, sub
from ..elementwise.derived import add, mul
from ..elementwise.elementary import exp, log, square
from ..elementwise.floating import floating
from ..elementwise.powers import power
from ..elementwise.special import ndtr
from ..matrices.factorizations import cholesky
from ..matrices.linalg import inv, triangular_solve
from ..matrices.products import matmul, matrix_transpose
from ..totals.log_sum_exp import logsumexp
from ..totals.reductions import sum as sum_
from .calls import of_reals

NAME = "gaussian_kde"
MANY = 4
"""Squares of so many components are added one by one, without an array of them all."""
HERE = ("evaluate", "pdf", "logpdf", "integrate_box_1d", "set_bandwidth")


class gaussian_kde:
    """The density of samples as the mean of normal densities around them: their covariance is that
    of the samples, times the square of the bandwidth's factor. Differentiable by samples, weights,
    the bandwidth and the points.

    dataset     samples (n,), or (d, n) for those of d components, real
    bw_method   the factor: "scott" (None), "silverman", a positive number, or a function of this
                object that gives one
    weights     (n,), not negative; by default all are equal

    ShapeError, ValueError where samples and weights do not belong together or there are fewer
    samples than components; LinAlgError where the covariance is not positive definite.

    >>> import tracegrad as tg
    >>> density = tg.stats.gaussian_kde([0.0, 1.0, 2.0])
    >>> round(float(density(1.0)[0]), 6)
    0.318156
    """

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        self.dataset = self._rows("dataset", dataset)
        d, n = shape_of(self.dataset)
        if not isinstance(d, int):
            raise ShapeError(f"{NAME}: the number of components must be known; mark it static")
        if known_less(n * d, 2) or known_less(n, d):
            raise ValueError(
                f"{NAME}: dataset has {n} samples of {d} components (its columns); it must be "
                f"{max(d, 2)} or more"
            )
        self.d, self.n = d, n
        if weights is None:
            weights = ones((n,), self.dataset.dtype)
        else:
            weights = floating(as_array(of_reals(NAME, "weights", weights)), "weights")
            if ndim_of(weights) != 1 or not same(shape_of(weights)[0], n):
                raise ShapeError(
                    f"{NAME}: weights have the shape {show(shape_of(weights))}; they must be a "
                    f"vector, one for each of {n} samples"
                )
        self.weights = div(weights, sum_(weights))
        self.neff = div(1.0, sum_(square(self.weights)))
        off = sub(self.dataset, expand_dims(matmul(self.dataset, self.weights), 1))
        spread = matmul(mul(off, self.weights), matrix_transpose(off))
        self._spread = div(spread, sub(1.0, div(1.0, self.neff)))
        self._root = cholesky(self._spread)
        self.set_bandwidth(bw_method)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{NAME} has no {name!r} here; it has {', '.join(HERE)}")

    @staticmethod
    def _rows(word: str, x: Any) -> Any:
        x = floating(as_array(of_reals(NAME, word, x)), word)
        if ndim_of(x) > 2:
            raise ShapeError(
                f"{NAME}: {word} has the shape {show(shape_of(x))}; it must be a vector, or a "
                "matrix with a row for each component"
            )
        return x if ndim_of(x) == 2 else reshape(x, (1, -1))

    def scotts_factor(self) -> Any:
        """`neff ** (-1 / (d + 4))`.

        >>> import tracegrad as tg
        >>> round(float(tg.stats.gaussian_kde([0.0, 1.0]).scotts_factor()), 6)
        0.870551
        """
        return power(self.neff, -1.0 / (self.d + 4))

    def silverman_factor(self) -> Any:
        """`(neff * (d + 2) / 4) ** (-1 / (d + 4))`.

        >>> import tracegrad as tg
        >>> round(float(tg.stats.gaussian_kde([0.0, 1.0]).silverman_factor()), 6)
        0.922108
        """
        return power(mul(self.neff, (self.d + 2) / 4), -1.0 / (self.d + 4))

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Another bandwidth, as when it is made.

        >>> import tracegrad as tg
        >>> density = tg.stats.gaussian_kde([0.0, 1.0])
        >>> density.set_bandwidth(0.5)
        >>> float(density.factor)
        0.5
        """
        rules: dict[str, Callable[[], Any]] = {
            "scott": self.scotts_factor,
            "silverman": self.silverman_factor,
        }
        if bw_method is None:
            bw_method = "scott"
        if isinstance(bw_method, str):
            if bw_method not in rules:
                raise ValueError(
                    f'{NAME}: bw_method is {describe(bw_method)}; it must be "scott", "silverman", '
                    "a number or a function"
                )
            self.factor = rules[bw_method]()
        else:
            self.factor = bw_method(self) if callable(bw_method) else bw_method
        factor = as_array(of_reals(NAME, "bw_method", self.factor))
        if ndim_of(factor):
            raise ShapeError(
                f"{NAME}: bw_method has the shape {show(shape_of(factor))}; it must be one number"
            )

    def covariance_factor(self) -> Any:
        """The factor of the bandwidth.

        >>> import tracegrad as tg
        >>> float(tg.stats.gaussian_kde([0.0, 1.0], 0.5).covariance_factor())
        0.5
        """
        return self.factor

    @property
    def covariance(self) -> Any:
        """That of each kernel, (d, d)."""
        return mul(self._spread, square(self.factor))

    @property
    def inv_cov(self) -> Any:
        """Its inverse."""
        return div(inv(self._spread), square(self.factor))

    def _exponents(self, points: Any) -> tuple[Any, Any]:
        """Exponents of the kernels, a row for each point, and the logarithm of what divides."""
        points = self._rows("points", points)
        if not same(shape_of(points)[0], self.d):
            if not same(shape_of(points)[0], 1) or not same(shape_of(points)[1], self.d):
                raise ShapeError(
                    f"{NAME}: points of shape {show(shape_of(points))} for samples of {self.d} "
                    f"components; they must have {self.d} rows"
                )
            points = reshape(points, (self.d, 1))
        root = mul(self._root, self.factor)
        places, around = (triangular_solve(root, x, True) for x in (points, self.dataset))
        if self.d > MANY:
            apart = sub(expand_dims(places, 2), expand_dims(around, 1))
            total = sum_(square(apart), 0)
        else:
            total = 0.0
            for k in range(self.d):
                apart = sub(expand_dims(places[k], 1), around[k])
                total = add(total, square(apart))
        level = add(sum_(log(diagonal(root, 0, -2, -1))), 0.5 * self.d * math.log(2 * math.pi))
        return mul(total, -0.5), level

    def evaluate(self, points: Any) -> Any:
        """The density at points (m,), or (d, m) for those of d components: (m,).

        >>> import tracegrad as tg
        >>> tg.stats.gaussian_kde([0.0, 1.0], 1.0).evaluate([0.5, 3.0]).round(6)
        array([0.439391, 0.005202])
        """
        exponents, level = self._exponents(points)
        return mul(matmul(exp(exponents), self.weights), exp(mul(level, -1.0)))

    __call__ = evaluate

    def pdf(self, x: Any) -> Any:
        """As `evaluate`.

        >>> import tracegrad as tg
        >>> round(float(tg.stats.gaussian_kde([0.0, 1.0], 1.0).pdf(0.5)[0]), 6)
        0.439391
        """
        return self.evaluate(x)

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density, far away, too, where that is 0.

        >>> import tracegrad as tg
        >>> round(float(tg.stats.gaussian_kde([0.0, 1.0], 1.0).logpdf(90.0)[0]), 6)
        -7922.265512
        """
        exponents, level = self._exponents(x)
        return sub(logsumexp(exponents, 1, b=self.weights), level)

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The integral of the density of samples of one component from low to high.

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> float(tg.stats.gaussian_kde([0.0, 1.0]).integrate_box_1d(-np.inf, 0.5))
        0.5
        """
        if self.d != 1:
            raise ValueError(f"{NAME}: integrate_box_1d of samples of {self.d} components")
        ends = [as_array(of_reals(NAME, w, x)) for w, x in (("low", low), ("high", high))]
        if any(map(ndim_of, ends)):
            raise ShapeError(f"{NAME}: low and high must be numbers")
        scale = mul(self._root[0, 0], self.factor)
        below, above = (ndtr(div(sub(x, self.dataset[0]), scale)) for x in ends)
        return matmul(sub(above, below), self.weights)


__all__ = ["gaussian_kde"]
