"""What expressions are while a function is translated to LLVM code: values at run time, or things
known beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core import errors, types
from numba.np import numpy_support


class UntranslatableError(errors.NumbaError):  # type: ignore[misc]
    """The one pass does not cover this; Numba's own pipeline compiles the function instead."""


@dataclass(frozen=True, eq=False)
class NumbaValue:
    """A number, array or tuple at run time, in the form in which Numba passes values."""

    type: Any
    ir: Any


@dataclass(frozen=True, eq=False)
class ArrayFields(NumbaValue):
    """An array whose fields were taken apart where it was bound."""

    data: Any
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    memory: Room | None = None
    """Where it lies, if that is known: in memory that this function was given, or (`LENT`) in what
    the kernel's caller lends."""


@dataclass(frozen=True, eq=False)
class Static:
    """Something known while translating: a number, function, module, dtype."""

    value: Any


@dataclass(frozen=True, eq=False)
class Tuple:
    items: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Room:
    """Where a function keeps the address of memory that it was given, and how many bytes that
    has."""

    address: Any
    size: Any


LENT = Room(None, None)


Operand = NumbaValue | Static | Tuple
NUMBERS = (bool, int, float, complex, np.generic)
SCALARS = (types.Boolean, types.Integer, types.Float, types.Complex)
PLACED = (*SCALARS, types.CPointer)
"""The types of variables that may live in memory."""


def type_of_constant(value: Any) -> Any:
    """Numba's type of a number that stands in the code."""
    if isinstance(value, np.generic):
        return numpy_support.from_dtype(value.dtype)
    if isinstance(value, bool):
        return types.boolean
    if isinstance(value, int):
        return types.int64 if -(2**63) <= value < 2**63 else types.uint64
    return types.float64 if isinstance(value, float) else types.complex128
