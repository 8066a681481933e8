"""Summaries of samples, with scipy.stats' names: compositions. NaN spread (nan_policy="propagate"
alone)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...checks import describe
from ...errors import ShapeError, UnsupportedFunctionError
from ...ir.lines import user_line
from ...sizes import known_less, same
from ...types import broadcast_shapes, normalize_axis
from ..arrays.shape import broadcast_to, reshape
from ..define import as_array, ndim_of, of_list, shape_of
from ..elementwise.arithmetic import div, less, sub, where
from ..elementwise.derived import add, convert, mul
from ..elementwise.elementary import exp, log, sqrt, square
from ..elementwise.floating import floating
from ..elementwise.powers import power
from ..elementwise.special import entr
from ..scipy_special.compositions import rel_entr
from ..totals.reductions import sum as sum_
from ..totals.statistics import average, mean
from ..totals.statistics import std as std_


def _samples(name: str, a: Any, axis: Any, nan_policy: str) -> tuple[Any, int]:
    """Floats, and the axis; without one they are made a vector."""
    if nan_policy != "propagate":
        raise UnsupportedFunctionError(
            f"{user_line()}: stats.{name} with nan_policy={nan_policy!r} is not supported; use "
            "np.nanmean and its like"
        )
    a = floating(of_list(a), "the sample")
    if axis is None:
        return reshape(a, (-1,)), 0
    if not ndim_of(a):
        raise ShapeError(f"stats.{name}: one number has no axis {axis}; give axis=None")
    return a, normalize_axis(axis, ndim_of(a))


def _moments(name: str, a: Any, axis: Any, nan_policy: str, *orders: int) -> tuple[list[Any], Any]:
    """Central moments of these orders (axes kept), and how many samples there are."""
    a, place = _samples(name, a, axis, nan_policy)
    off = sub(a, mean(a, axis=place, keepdims=True))
    return [mean(power(off, k), axis=place, keepdims=True) for k in orders], (
        a, place, shape_of(a)[place])  # fmt: skip


def _shaped(x: Any, given: Any, axis: Any, keepdims: bool) -> Any:
    """A result whose axis was kept."""
    if axis is None:
        return reshape(x, (1,) * ndim_of(as_array(of_list(given))) if keepdims else ())
    place = normalize_axis(axis, ndim_of(x))
    shape = shape_of(x)
    return x if keepdims else reshape(x, (*shape[:place], *shape[place + 1 :]))


def _deviations(v: Any, place: Any, ddof: Any) -> Any:
    """Standard deviations; of fewer samples than degrees of freedom none, where NumPy's are
    infinite."""
    found = std_(v, axis=place, ddof=ddof, keepdims=True)
    n = shape_of(v)[place]
    few = ddof > n if isinstance(n, int) else known_less(n, math.ceil(ddof))
    return mul(found, np.nan) if few else found


def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """The samples without their mean, in units of their standard deviation.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.stats.zscore(np.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    shape = shape_of(as_array(of_list(a)))
    a, place = _samples("zscore", a, axis, nan_policy)
    off = sub(a, mean(a, axis=place, keepdims=True))
    found = div(off, _deviations(a, place, ddof))
    n = shape_of(a)[place]
    as_many = ddof == n if isinstance(n, int) else ddof == int(ddof) and same(n, int(ddof))
    found = mul(found, np.nan) if as_many else found
    return reshape(found, shape)


def gmean(
    a: Any, axis: Any = 0, dtype: Any = None, weights: Any = None, *,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """The geometric mean, with weights or not.

    >>> import tracegrad as tg
    >>> round(float(tg.stats.gmean([1.0, 4.0])), 12)
    2.0
    """
    return exp(_mean("gmean", lambda v: log(v), a, axis, dtype, weights, nan_policy, keepdims))


def hmean(
    a: Any, axis: Any = 0, dtype: Any = None, *, weights: Any = None,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> Any:  # fmt: skip
    """The harmonic mean, with weights or not; NaN where a sample is negative.

    >>> import tracegrad as tg
    >>> float(tg.stats.hmean([1.0, 3.0]))
    1.5
    """
    inverse = lambda v: div(1.0, where(less(v, 0), math.nan, v))  # noqa: E731
    return div(1.0, _mean("hmean", inverse, a, axis, dtype, weights, nan_policy, keepdims))


def _mean(
    name: str, f: Any, a: Any, axis: Any, dtype: Any, weights: Any, nan_policy: str, keepdims: bool
) -> Any:
    given = a
    a, place = _samples(name, a, axis, nan_policy)
    a = a if dtype is None else convert(a, np.dtype(dtype))
    if weights is None:
        found = mean(f(a), axis=place, keepdims=True)
    else:
        weights = as_array(of_list(weights))
        weights = reshape(weights, (-1,)) if axis is None else weights
        # Not as `np.average`, for which a vector's weights are along the axis.
        weights = broadcast_to(weights, shape_of(a))
        found = average(f(a), place, weights, keepdims=True)
    return _shaped(found, given, axis, keepdims)


def moment(
    a: Any, order: int = 1, axis: Any = 0, nan_policy: str = "propagate", *, center: Any = None,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The mean power of the distance from the mean, or from `center`.

    >>> import tracegrad as tg
    >>> float(tg.stats.moment([1.0, 3.0], 2))
    1.0
    """
    given = a
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)) or order < 0:
        raise ValueError(f"moment: order is {describe(order)}; it must be an integer from 0 on")
    if ndim_of(of_list(center)):
        raise ShapeError(f"moment: center is {describe(center)}; it must be a number")
    a, place = _samples("moment", a, axis, nan_policy)
    middle = mean(a, axis=place, keepdims=True) if center is None else center
    off = power(sub(a, middle), order)
    return _shaped(mean(off, axis=place, keepdims=True), given, axis, keepdims)


def skew(
    a: Any, axis: Any = 0, bias: bool = True, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The skewness of samples (`bias=False`: corrected for their number).

    >>> import tracegrad as tg
    >>> float(tg.stats.skew([1.0, 2.0, 3.0]))
    0.0
    """
    (two, three), (_, _, n) = _moments("skew", a, axis, nan_policy, 2, 3)
    found = div(three, mul(two, sqrt(two)))
    if not bias and n > 2:
        found = mul(found, float(np.sqrt((n - 1.0) * n) / (n - 2.0)))
    return _shaped(found, a, axis, keepdims)


def kurtosis(
    a: Any, axis: Any = 0, fisher: bool = True, bias: bool = True, nan_policy: str = "propagate",
    *, keepdims: bool = False,
) -> Any:  # fmt: skip
    """The kurtosis of samples, 0 for normal ones (`fisher=False`: 3), corrected for their number or
    not.

    >>> import tracegrad as tg
    >>> float(tg.stats.kurtosis([1.0, 1.0, 3.0, 3.0]))
    -2.0
    """
    (two, four), (_, _, n) = _moments("kurtosis", a, axis, nan_policy, 2, 4)
    found = div(four, square(two))
    if not bias and n > 3:
        excess = sub(mul(found, n**2 - 1.0), 3 * (n - 1) ** 2.0)
        found = add(mul(excess, 1.0 / (n - 2) / (n - 3)), 3.0)
    return _shaped(sub(found, 3.0) if fisher else found, a, axis, keepdims)


def sem(
    a: Any, axis: Any = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Any:
    """The standard error of the mean.

    >>> import tracegrad as tg
    >>> float(tg.stats.sem([1.0, 3.0]))
    1.0
    """
    v, place = _samples("sem", a, axis, nan_policy)
    found = div(std_(v, axis=place, ddof=ddof, keepdims=True), float(np.sqrt(shape_of(v)[place])))
    return _shaped(found, a, axis, keepdims)


def variation(
    a: Any, axis: Any = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False
) -> Any:
    """The standard deviation over the mean.

    >>> import tracegrad as tg
    >>> float(tg.stats.variation([1.0, 3.0]))
    0.5
    """
    v, place = _samples("variation", a, axis, nan_policy)
    found = div(_deviations(v, place, ddof), mean(v, axis=place, keepdims=True))
    return _shaped(found, a, axis, keepdims)


def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The entropy of the shares of pk, or relative to those of qk; in units of log(base).

    >>> import tracegrad as tg
    >>> round(float(tg.stats.entropy([1.0, 1.0], base=2)), 12)
    1.0
    """
    p, place = _samples("entropy", pk, axis, nan_policy)
    p = div(p, sum_(p, axis=place, keepdims=True))
    if qk is None:
        terms = entr(p)
    else:
        q, _ = _samples("entropy", qk, axis, nan_policy)
        q = broadcast_to(q, broadcast_shapes(shape_of(p), shape_of(q)))
        terms = rel_entr(p, div(q, sum_(q, axis=place, keepdims=True)))
    found = sum_(terms, axis=place, keepdims=True)
    if type(base) in (int, float) and not base > 0:
        raise ValueError(f"entropy: base is {base!r}; it must be a number above 0")
    if base is not None and np.shape(base) != ():
        raise ShapeError(f"entropy: base is {describe(base)}; it must be one number")
    if base is not None:
        found = div(found, float(np.log(base)) if type(base) in (int, float) else log(base))
    return _shaped(found, pk, axis, keepdims)


__all__ = [
    "entropy", "gmean", "hmean", "kurtosis", "moment", "sem", "skew", "variation", "zscore",
]  # fmt: skip
