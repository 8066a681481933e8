"""NumPy's functions of numbers as they are kept (their neighbours, their fractions), and products
of matrices and vectors in stacks: ufuncs in words of operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...dtypes import inexact, kind_of, promote
from ...errors import DTypeError, ShapeError
from ...ops.define import ndim_of, shape_of
from ...ops.scipy_special import functions as special_functions
from ...types import show
from ..operators import array_of


def _real(name: str, *values: Any) -> list[Any]:
    dtype = inexact(promote(*map(kind_of, values)))
    if dtype.kind == "c":
        raise DTypeError(f"{name} is not defined for complex numbers; take .real or .imag")
    return [ops.convert(array_of(v), dtype) for v in values]


def _step(x: Any) -> Any:
    """More than half of the distance between |x| and the next number, and less than one and a half,
    for a number that is not tiny (Rump, Zimmermann, Boldo and Melquiond, "Computing predecessor and
    successor in rounding to nearest", 2009)."""
    unit = np.finfo(x.dtype).eps / 2
    return ops.mul(ops.absolute(x), x.dtype.type(unit * (1 + 2 * unit)))


def nextafter(x1: Any, x2: Any) -> Any:
    """The number next to x1 in the direction of x2: x1 and a constant, for derivatives."""
    x, to = _real("nextafter", x1, x2)
    kind, facts = x.dtype.type, np.finfo(x.dtype)
    # Tiny numbers are scaled, which is exact; those that lie evenly are one smallest number apart.
    scale = kind(2.0 ** (facts.nmant + 8))
    least, even = kind(facts.smallest_subnormal), kind(facts.tiny)
    size = ops.absolute(x)
    scaled = size < kind(facts.tiny * scale)
    up, large = to > x, ops.where(scaled, x * scale, x)
    step = ops.where(up, _step(large), -_step(large))
    moved = large + step
    found = ops.where(scaled, moved / scale, moved)
    found = ops.where(
        ops.logical_or(size < even, ops.logical_and(size == even, up == (x < 0))),
        x + ops.where(up, least, -least),
        found,
    )
    found = ops.where(ops.isinf(x), ops.copysign(kind(facts.max), x), found)
    # Zeros are equal: then, as for NaN, it is x2 itself.
    found = ops.where(x == to, to, found)
    return ops.where(ops.isnan(to), to, ops.where(ops.isnan(x), x, found))


def spacing(x: Any) -> Any:
    """The distance to the next number away from 0, with the sign of x; no derivative."""
    (x,) = _real("spacing", x)
    # NumPy's of -0.0 is positive.
    away = ops.where(x < 0, x.dtype.type(-np.inf), x.dtype.type(np.inf))
    found = nextafter(x, away) - x
    return ops.where(ops.isinf(x), x.dtype.type(np.nan), found)


def modf(x: Any) -> tuple[Any, Any]:
    """Fraction and whole part, both with the sign of x."""
    (x,) = _real("modf", x)
    whole = ops.trunc(x)
    # Of an infinite number there is no difference.
    rest = ops.where(ops.isinf(x), x.dtype.type(0), x - whole)
    return ops.copysign(rest, x), whole


def _pair(name: str, matrix: Any, vector: Any) -> tuple[Any, Any]:
    matrix, vector = array_of(matrix), array_of(vector)
    if ndim_of(matrix) < 2 or ndim_of(vector) < 1:
        raise ShapeError(
            f"{name} takes matrices and vectors, or stacks of them, not a matrix of shape "
            f"{show(shape_of(matrix))} and a vector of shape {show(shape_of(vector))}"
        )
    return matrix, vector


def matvec(x1: Any, x2: Any) -> Any:
    """Matrices and vectors in stacks."""
    matrix, vector = _pair("matvec", x1, x2)
    return ops.squeeze(ops.matmul(matrix, ops.expand_dims(vector, -1)), -1)


def vecmat(x1: Any, x2: Any) -> Any:
    """Conjugate vectors and matrices in stacks."""
    matrix, vector = _pair("vecmat", x2, x1)
    return ops.squeeze(ops.matmul(ops.expand_dims(ops.conj(vector), -2), matrix), -2)


def i0(x: Any) -> Any:
    """The modified Bessel function of order 0; of integers in double precision, however short."""
    x = array_of(x)
    return special_functions.i0(x if x.dtype.kind in "fc" else ops.convert(x, np.float64))


ALL = (nextafter, spacing, modf, matvec, vecmat)
