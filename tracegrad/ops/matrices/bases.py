"""Orthonormal columns that complete given ones to a basis."""

from __future__ import annotations

from math import sqrt
from typing import Any

from ..arrays.concatenation import concatenate
from ..arrays.creation import iota
from ..arrays.shape import broadcast_to, expand_dims
from ..arrays.slices import slice_array
from ..define import shape_of
from ..elementwise.derived import add, convert, mul
from ..elementwise.trigonometric import sin
from .triangular import qr_stack


def waves(m: Any, k: Any, dtype: Any) -> Any:
    """k columns of m elements that no data comes by: waves whose frequency rises."""
    i, j = convert(iota(m), float), convert(iota(k), float)
    i = expand_dims(i + 1, 1)
    return convert(sin(mul(i, add(mul(i, sqrt(2)), mul(j + 1, sqrt(5))))), dtype)


def completed(columns: Any) -> Any:
    """A stack of orthonormal columns (b, m, k) with m - k further ones behind them.

    No basis of what is orthogonal to the columns is better than another. Here it is what QR makes
    of the columns followed by fixed ones, waves whose frequency rises, which no data comes by: a
    smooth function of the columns, so that it is differentiated as any other.
    """
    b, m, k = shape_of(columns)
    others = broadcast_to(waves(m, m - k, columns.dtype), (b, m, m - k))
    q, _ = qr_stack(concatenate([columns, others], 2))
    return concatenate([columns, slice_array(q, (0, 0, k), (b, m, m - k), (1, 1, 1))], 2)
