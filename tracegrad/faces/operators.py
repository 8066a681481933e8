"""Python's operators, indexing and iteration, the same on both faces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import ops
from .._codegen import integers
from ..ir.dispatch import Value

OPERANDS = (Value, np.ndarray, np.generic, bool, int, float, complex, integers.Integer)


def operand(x: Any) -> Any:
    """`x` as an operand of an operation: lists and tuples become arrays, stacked where they hold boxed values."""
    return x if isinstance(x, OPERANDS) else array_of(x)


def array_of(x: Any) -> Any:
    """An array of nested lists and tuples, which may hold boxed values."""
    if isinstance(x, (list, tuple)):
        if holds_boxed(x):
            return ops.stack([array_of(item) for item in x])
        return np.asarray(x)
    return x if isinstance(x, Value) else np.asarray(x)


def holds_boxed(x: Any) -> bool:
    """Whether a boxed value stands somewhere in nested lists and tuples."""
    return any(holds_boxed(item) for item in x) if isinstance(x, (list, tuple)) else isinstance(x, Value)


def _binary(name: str) -> Callable[[Any, Any], Any]:
    def forward(self: Any, other: Any) -> Any:
        if isinstance(other, OPERANDS):
            return getattr(ops, name)(self, other)
        if isinstance(other, (list, tuple)):
            return getattr(ops, name)(self, array_of(other))
        return NotImplemented

    forward.__name__ = name
    return forward


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    def reflected(self: Any, other: Any) -> Any:
        if isinstance(other, OPERANDS):
            return getattr(ops, name)(other, self)
        if isinstance(other, (list, tuple)):
            return getattr(ops, name)(array_of(other), self)
        return NotImplemented

    reflected.__name__ = name
    return reflected


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    def augmented(self: Any, other: Any) -> Any:
        return self._update(getattr(ops, name), operand(other))

    augmented.__name__ = name
    return augmented


def _unary(name: str) -> Callable[[Any], Any]:
    def unary(self: Any) -> Any:
        return getattr(ops, name)(self)

    unary.__name__ = name
    return unary


class Operators(Value):
    """Operators as methods. In-place forms go through `_update`, which each face defines by its own rules of writing."""

    __slots__ = ()

    __add__, __radd__, __iadd__ = _binary("add"), _reflected("add"), _in_place("add")
    __sub__, __rsub__, __isub__ = _binary("sub"), _reflected("sub"), _in_place("sub")
    __mul__, __rmul__, __imul__ = _binary("mul"), _reflected("mul"), _in_place("mul")
    __truediv__, __rtruediv__, __itruediv__ = _binary("div"), _reflected("div"), _in_place("div")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floor_divide"), _reflected("floor_divide"), _in_place("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("remainder"), _reflected("remainder"), _in_place("remainder")
    __pow__, __rpow__, __ipow__ = _binary("power"), _reflected("power"), _in_place("power")
    __matmul__, __rmatmul__, __imatmul__ = _binary("matmul"), _reflected("matmul"), _in_place("matmul")
    __and__, __rand__, __iand__ = _binary("bitwise_and"), _reflected("bitwise_and"), _in_place("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or"), _reflected("bitwise_or"), _in_place("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor"), _reflected("bitwise_xor"), _in_place("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _binary("left_shift"), _reflected("left_shift"), _in_place("left_shift")
    __rshift__, __rrshift__, __irshift__ = _binary("right_shift"), _reflected("right_shift"), _in_place("right_shift")
    __lt__, __le__, __gt__, __ge__ = _binary("less"), _binary("less_equal"), _binary("greater"), _binary("greater_equal")
    __eq__ = _binary("equal")
    __ne__ = _binary("not_equal")
    __neg__, __pos__, __abs__, __invert__ = _unary("neg"), _unary("positive"), _unary("absolute"), _unary("invert")
    # Where __eq__ is defined, Python drops the hash: boxed values are hashed by identity.
    __hash__ = object.__hash__

    def __divmod__(self: Any, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self: Any, other: Any) -> Any:
        return other // self, other % self

    def __getitem__(self: Any, index: Any) -> Any:
        return ops.getitem(self, index)

    def __setitem__(self: Any, index: Any, value: Any) -> None:
        if isinstance(value, Value) and self._holds(index, value):
            return  # the second half of `x[index] += y`, whose first half has written through the view already
        self._update(ops.index_update, index, operand(value))

    def __delitem__(self, index: Any) -> None:
        raise TypeError("elements of an array cannot be deleted; build a new one with np.delete or by indexing")

    def __iter__(self: Any) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(len(self)))

    def __contains__(self: Any, item: Any) -> bool:
        return bool(ops.any(self == item))

    def __round__(self: Any, ndigits: int | None = None) -> Any:
        return ops.round(self, ndigits or 0)

    def __trunc__(self: Any) -> Any:
        return ops.trunc(self)

    def __floor__(self: Any) -> Any:
        return ops.floor(self)

    def __ceil__(self: Any) -> Any:
        return ops.ceil(self)
