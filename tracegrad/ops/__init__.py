"""The operations: primitives with their rules in family files, and compositions that need no rule.

`OPS` lists every primitive; a printed graph is parsed by looking names up in it.
"""

from __future__ import annotations

from ..ir.op import Op, compose
from . import arithmetic, shape
from .arithmetic import (
    add, conj, convert, div, equal, greater, greater_equal, imag, less, less_equal, mul, neg, not_equal, real, strong_mul, sub, where,
)
from .shape import (
    broadcast_to, concatenate, embed, expand_dims, flip, moveaxis, reshape, slice_array, squeeze, stack, sum_axes, sum_to, swapaxes, transpose,
)

# Derived rules of `elementwise` need a few operations, which stand above it; this one call hands them down.
compose.add, compose.mul, compose.strong_mul, compose.conj, compose.real, compose.convert = add, mul, strong_mul, conj, real, convert
compose.sum_to, compose.broadcast_to, compose.expand_dims, compose.moveaxis = sum_to, broadcast_to, expand_dims, moveaxis
shape.CONVERT.append(convert)

OPS: tuple[Op, ...] = (*arithmetic.OPS, *shape.OPS)

__all__ = [
    "OPS", "add", "broadcast_to", "concatenate", "conj", "convert", "div", "embed", "equal", "expand_dims", "flip", "greater", "greater_equal",
    "imag", "less", "less_equal", "moveaxis", "mul", "neg", "not_equal", "real", "reshape", "slice_array", "squeeze", "stack", "strong_mul",
    "sub", "sum_axes", "sum_to", "swapaxes", "transpose", "where",
]
