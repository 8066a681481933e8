"""Distributions of vectors and matrices. Symmetric parameters are read whole, and their gradients
are symmetric. A matrix that is not positive definite raises LinAlgError."""

from __future__ import annotations

import inspect
import math
from typing import Any

from ...errors import ShapeError
from ...sizes import same
from ...types import show
from ..arrays.creation import eye
from ..arrays.diagonals import diagonal
from ..arrays.shape import broadcast_to, expand_dims, reshape
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, equal, greater, greater_equal, sub, where
from ..elementwise.beta_functions import log_beta
from ..elementwise.comparison import floor
from ..elementwise.derived import add, mul
from ..elementwise.elementary import exp, log, log1p, square
from ..elementwise.floating import floating
from ..elementwise.limits import largest
from ..elementwise.logic import isnan, logical_and, logical_not
from ..elementwise.special import lgamma, xlogy
from ..matrices.factorizations import cholesky
from ..matrices.linalg import triangular_solve
from ..matrices.products import matrix_transpose
from ..scipy_special.series import multigammaln
from ..totals.reductions import all as all_
from ..totals.reductions import any as any_
from ..totals.reductions import sum as sum_
from .calls import Frozen, method, of_reals


def _whole(name: str, word: str, matrix: Any) -> Any:
    """The symmetric part of a square matrix."""
    matrix = as_array(of_reals(name, word, matrix))
    shape = shape_of(matrix)
    if len(shape) != 2 or not same(*shape):
        raise ShapeError(f"{name}: {word} must be a square matrix, not of shape {show(shape)}")
    matrix = floating(matrix, word)
    return mul(add(matrix, matrix_transpose(matrix)), 0.5)


def _log_det(factor: Any) -> Any:
    """Of the matrix with this Cholesky factor."""
    return mul(sum_(log(diagonal(factor, 0, -2, -1)), -1), 2.0)


class Multivariate:
    """A distribution with `logpdf` and `pdf`; called with its parameters, a frozen one."""

    name = ""

    def __repr__(self) -> str:
        return f"<distribution {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """This distribution with these parameters."""
        return Frozen(self, args, kwargs)

    def signature(self, _: str) -> inspect.Signature:
        """What its methods take."""
        return inspect.signature(self.logpdf)

    @method
    def logpdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The logarithm of the density."""
        raise NotImplementedError

    @method
    def pdf(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        """The density."""
        return exp(inspect.unwrap(type(self).logpdf)(self, x, *args, **kwargs))


class NormalDensity(Multivariate):
    """The normal distribution of vectors."""

    name = "multivariate_normal"

    @method
    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The logarithm of the density of points (..., d). cov: a matrix (d, d), the variances
        (d,), or one variance for all; positive definite.

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> normal = tg.stats.multivariate_normal(np.zeros(2), np.eye(2))
        >>> round(float(normal.logpdf(np.zeros(2))), 6)
        -1.837877
        """
        if allow_singular:
            raise ValueError("multivariate_normal: allow_singular=True has no derivative")
        off, factor, n = _centred(self.name, x, mean, cov)
        total = add(_log_det(factor), n * math.log(2 * math.pi))
        return mul(add(_distance(factor, off), total), -0.5)


def _centred(name: str, x: Any, mean: Any, cov: Any) -> tuple[Any, Any, Any]:
    """x - mean, the Cholesky factor, and how many components there are."""
    middle, spread = ("mean", "cov") if name == "multivariate_normal" else ("loc", "shape")
    x, cov = as_array(of_reals(name, "x", x)), as_array(of_reals(name, spread, cov))
    mean = None if mean is None else as_array(of_reals(name, middle, mean))
    n: Any = (
        shape_of(cov)[-1] if ndim_of(cov)
        else shape_of(mean)[-1] if mean is not None and ndim_of(mean)
        else 1
    )  # fmt: skip
    if ndim_of(cov) < 2:
        cov = mul(eye(n), broadcast_to(cov, (n,)))
    factor = cholesky(_whole(name, spread, cov))
    if ndim_of(x) == 0 or (same(n, 1) and not same(shape_of(x)[-1], 1)):
        x = expand_dims(x, -1)
    if not same(shape_of(x)[-1], n):
        raise ShapeError(
            f"{name}: points of shape {show(shape_of(x))} for {n} components; the last axis must "
            "be that of the components"
        )
    if mean is not None and not (ndim_of(mean) == 1 and same(shape_of(mean)[0], n)):
        if ndim_of(mean) or not same(n, 1):
            raise ShapeError(
                f"{name}: {middle} has shape {show(shape_of(mean))}; it must be a vector of the "
                f"{n} components"
            )
    off = x if mean is None else sub(x, mean)
    return floating(off, "x"), factor, n


def _degrees(name: str, df: Any) -> Any:
    """The degrees of freedom, one number."""
    df = of_reals(name, "df", df)
    if ndim_of(df):
        raise ShapeError(f"{name}: df has shape {show(shape_of(df))}; it must be one number")
    return df


def _distance(factor: Any, off: Any) -> Any:
    """The squares of Mahalanobis' distance."""
    shape = shape_of(off)
    rows = reshape(off, (-1, shape[-1])) if len(shape) != 1 else reshape(off, (1, shape[0]))
    solved = triangular_solve(factor, matrix_transpose(rows), True)
    return reshape(sum_(square(solved), 0), shape[:-1])


class MultivariateT(Multivariate):
    """Student's distribution of vectors."""

    name = "multivariate_t"

    @method
    def logpdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
        """The logarithm of the density of points (..., d).

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> round(float(tg.stats.multivariate_t.logpdf(np.zeros(2), np.zeros(2), np.eye(2), 3)), 6)
        -1.837877
        """
        off, factor, n = _centred(self.name, x, loc, shape)
        df = _degrees(self.name, df)
        df = where(greater(df, 0), df, math.nan)
        df = largest(floating(df, "df"))
        half, rest = mul(add(df, n), 0.5), mul(add(mul(df, 0.0), n), 0.5)
        front = sub(lgamma(rest), log_beta(mul(df, 0.5), rest))
        front = sub(front, mul(add(mul(log(mul(df, math.pi)), n), _log_det(factor)), 0.5))
        return sub(front, mul(half, log1p(div(_distance(factor, off), df))))


class DirichletDensity(Multivariate):
    """The distribution of shares that sum to 1."""

    name = "dirichlet"

    @method
    def logpdf(self, x: Any, alpha: Any) -> Any:
        """The logarithm of the density; the components are the first axis of x, as SciPy has it.
        That they sum to 1 is not checked.

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> round(float(tg.stats.dirichlet.logpdf([0.5, 0.5], [1.0, 1.0])), 6)
        0.0
        """
        x, alpha = (as_array(of_reals(self.name, w, v)) for w, v in (("x", x), ("alpha", alpha)))
        if ndim_of(alpha) != 1 or not ndim_of(x) or not same(shape_of(x)[0], shape_of(alpha)[0]):
            raise ShapeError(
                f"dirichlet: shares of shape {show(shape_of(x))} for alpha of shape "
                f"{show(shape_of(alpha))}; their first axis must be that of alpha"
            )
        alpha = where(greater(alpha, 0), alpha, math.nan)
        norm = sub(sum_(lgamma(alpha)), lgamma(sum_(alpha)))
        powers = reshape(sub(alpha, 1.0), (-1, *(1,) * (ndim_of(x) - 1)))
        return sub(sum_(xlogy(powers, x), 0), norm)


class Wishart(Multivariate):
    """The distribution of sample covariances."""

    name = "wishart"

    @method
    def logpdf(self, x: Any, df: Any, scale: Any) -> Any:
        """The logarithm of the density of one positive definite matrix x (d, d).

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> round(float(tg.stats.wishart.logpdf(np.eye(2), 3, np.eye(2))), 6)
        -3.531024
        """
        x, scale = _whole(self.name, "x", x), _whole(self.name, "scale", scale)
        n = int(shape_of(scale)[-1])
        if not same(shape_of(x)[-1], n):
            raise ShapeError(
                f"wishart: x has shape {show(shape_of(x))}, and scale {show(shape_of(scale))}"
            )
        of_x, of_scale = cholesky(x), cholesky(scale)
        inside = triangular_solve(of_scale, of_x, True)
        total = sum_(square(inside))
        df = _degrees(self.name, df)
        df = where(greater(df, n - 1), df, math.nan)
        half = mul(df, 0.5)
        front = add(mul(half, add(_log_det(of_scale), n * math.log(2.0))), multigammaln(half, n))
        return sub(mul(sub(mul(sub(df, n + 1.0), _log_det(of_x)), total), 0.5), front)


class Multinomial:
    """How often each of several outcomes comes up."""

    name = "multinomial"

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """This distribution with these parameters."""
        return Frozen(self, args, kwargs)

    def signature(self, _: str) -> inspect.Signature:
        """What its methods take."""
        return inspect.signature(self.logpmf)

    @method
    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """The logarithm of the probability of counts (..., d), for probabilities (d,), of which it
        is not checked that they sum to 1; -inf for counts that do not sum to n, or are none, NaN
        for an n that is none.

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> round(float(tg.stats.multinomial.logpmf([1, 1], 2, [0.5, 0.5])), 6)
        -0.693147
        """
        x, p = of_reals("multinomial", "x", x), of_reals("multinomial", "p", p)
        n = of_reals("multinomial", "n", n)
        if not ndim_of(x) or not ndim_of(p) or not same(shape_of(x)[-1], shape_of(p)[-1]):
            raise ShapeError(
                f"multinomial: counts of shape {show(shape_of(x))} for probabilities of shape "
                f"{show(shape_of(p))}; their last axis must be that of the outcomes"
            )
        known = logical_and(greater_equal(n, 0), logical_not(any_(isnan(x), -1)))
        counts = logical_and(equal(x, floor(x)), greater_equal(x, 0))
        there = logical_and(equal(sum_(x, -1), n), all_(counts, -1))
        x = where(counts, x, 0.0)
        terms = sub(xlogy(x, p), lgamma(add(x, 1.0)))
        value = where(there, add(lgamma(add(n, 1.0)), sum_(terms, -1)), -math.inf)
        return where(known, value, math.nan)

    @method
    def pmf(self, x: Any, n: Any, p: Any) -> Any:
        """The probability."""
        return exp(inspect.unwrap(Multinomial.logpmf)(self, x, n, p))


multivariate_normal, multivariate_t = NormalDensity(), MultivariateT()
dirichlet, wishart, multinomial = DirichletDensity(), Wishart(), Multinomial()
DISTRIBUTIONS = (multivariate_normal, multivariate_t, dirichlet, wishart, multinomial)
