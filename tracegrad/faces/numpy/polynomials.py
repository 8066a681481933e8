"""NumPy's functions of polynomials given by their coefficients, the highest first."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ... import ops
from ...dtypes import FLOAT64
from ...errors import ShapeError
from ...ir.dispatch import Value
from ...ir.graph import Var
from ...ops.define import ndim_of, of_shape, shape_of
from ...ops.matrices import scipy_names
from ..operators import array_of
from . import compositions
from .lookup import result_type, unsupported


def _coefficients(word: str, x: Any) -> Any:
    x = array_of(x)
    if ndim_of(x) > 1:
        raise ShapeError(f"{word} must be a vector of numbers, not of shape {shape_of(x)}")
    return ops.reshape(x, -1)


def polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    if full or cov:
        raise unsupported("np.polyfit", " with full= or cov=")
    degree = operator.index(deg)
    x, y = array_of(x), array_of(y)
    if degree < 0:
        raise ValueError(f"deg is {degree}; it must be from 0 on")
    fit = None
    if ndim_of(x) == 1 and ndim_of(y) in (1, 2):
        fit = of_shape(
            y, (*shape_of(x), *shape_of(y)[1:]), "polyfit: expected x and y to have same length"
        )
    if fit is None:
        raise ShapeError(
            f"x and y have the shapes {shape_of(x)} and {shape_of(y)}; x must be a vector, and y "
            "as long"
        )
    x, y = x + 0.0, fit + 0.0
    columns = compositions.vander(x, degree + 1)
    if w is not None:
        given = array_of(w) + 0.0
        weights = of_shape(given, shape_of(x), "polyfit: expected w and y to have the same length")
        if weights is None:
            raise ShapeError(f"w has the shape {shape_of(given)}, and x {shape_of(x)}")
        columns = columns * weights[:, None]
        y = y * (weights[:, None] if ndim_of(y) == 2 else weights)
    # Columns of one length, so that what counts as zero does not depend on the units of x.
    scale = ops.sqrt(ops.sum(columns * columns, 0))
    limit = int(shape_of(x)[0]) * 2.0**-52 if rcond is None else rcond
    found = ops.linalg.lstsq(columns / scale, y, limit)[0]
    return found / (scale[:, None] if ndim_of(y) == 2 else scale)


def _as_long(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Both with zeros before, so that they are of one length."""
    x, y = _coefficients("a1", a1), _coefficients("a2", a2)
    longer = max(shape_of(x)[0], shape_of(y)[0])

    def filled(p: Any) -> Any:
        missing = longer - shape_of(p)[0]
        return ops.concatenate([np.zeros(missing, result_type(p)), p]) if missing else p

    return filled(x), filled(y)


def polyadd(a1: Any, a2: Any) -> Any:
    x, y = _as_long(a1, a2)
    return x + y


def polysub(a1: Any, a2: Any) -> Any:
    x, y = _as_long(a1, a2)
    return x - y


def polymul(a1: Any, a2: Any) -> Any:
    return compositions.convolve(_coefficients("a1", a1), _coefficients("a2", a2))


def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """Quotient and remainder, by long division. The remainder is one shorter than v, also where it
    begins with zeros, which NumPy's leaves out."""
    rest, divisor = (_coefficients(word, p) for word, p in (("u", u), ("v", v)))
    dtype = result_type(rest, divisor)
    dtype = dtype if dtype.kind in "fc" else FLOAT64
    rest, divisor = ops.convert(rest, dtype), ops.convert(divisor, dtype)
    m, n = (int(shape_of(p)[0]) - 1 for p in (rest, divisor))
    if n < 0 or m < 0:
        raise ShapeError("polydiv: both need coefficients")
    if m < n:
        return np.zeros(1, dtype), rest
    quotient, scale = [], 1 / divisor[0]
    for _ in range(m - n + 1):
        quotient.append(rest[0] * scale)
        left = rest[: n + 1] - quotient[-1] * divisor
        rest = ops.concatenate([left[1:], rest[n + 1 :]])
    return ops.stack(quotient), rest if n else left


def polyder(p: Any, m: int = 1) -> Any:
    p = _coefficients("p", p)
    # Behind the last derivative there is nothing, however many are asked for.
    for _ in range(min(operator.index(m), int(shape_of(p)[0]))):
        p = p[:-1] * np.arange(int(shape_of(p)[0]) - 1, 0, -1)
    return p


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    p = _coefficients("p", p)
    order = operator.index(m)
    constants = [0.0] * order if k is None else list(_coefficients("k", k))
    if len(constants) == 1 and order > 1:
        constants = constants * order
    if len(constants) < order:
        raise ValueError(f"k has {len(constants)} constants for {order} integrations")
    for constant in constants[:order]:
        p = ops.concatenate(
            [p / np.arange(int(shape_of(p)[0]), 0, -1), ops.reshape(constant, (1,))]
        )
    return p


def roots(p: Any) -> Any:
    """The eigenvalues of the companion matrix: complex, whatever they are. The first coefficient is
    divided by; leading zeros of known coefficients are left out."""
    p = array_of(p)
    if ndim_of(p) != 1:
        raise ShapeError(f"p has the shape {shape_of(p)}; it must be a vector")
    p = p if p.dtype.kind in "fc" else ops.convert(p, np.float64)
    if not (isinstance(p, Value) and isinstance(p._data, Var)):
        used = np.flatnonzero(p._data if isinstance(p, Value) else p)
        p = p[used[0] :] if used.size else p[:0]
    n = int(shape_of(p)[0]) - 1
    if n < 1:
        return np.zeros(0, complex)
    first = -p[1:] / p[:1]
    below = np.eye(n, dtype=p.dtype)[:-1]
    return scipy_names.eigvals(ops.concatenate([ops.expand_dims(first, 0), below]))


def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with these zeros, or of the characteristic one of a
    matrix, which are complex then."""
    zeros = array_of(seq_of_zeros)
    if ndim_of(zeros) == 2:
        zeros = scipy_names.eigvals(zeros)
    if ndim_of(zeros) != 1:
        raise ShapeError(f"the zeros have the shape {shape_of(zeros)}; they must be a vector")
    zeros = zeros if zeros.dtype.kind in "fc" else ops.convert(zeros, np.float64)
    found: Any = np.ones(1, zeros.dtype)
    for k in range(int(shape_of(zeros)[0])):
        moved = ops.concatenate([np.zeros(1, zeros.dtype), found * zeros[k]])
        found = ops.concatenate([found, np.zeros(1, zeros.dtype)]) - moved
    return found
