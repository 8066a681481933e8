"""Arguments of Fortran's routines: all by address, integers of 32 bits, matrices by columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.np import numpy_support

__all__ = ["conj_of", "described", "real_of", "real_part", "size_of"]


def described(kinds: str, dtype: str) -> Any:
    """The signature for a letter of each argument.

    c: a character, i: an integer, t: numbers of the dtype, r: real numbers of its precision.
    """
    number = np.dtype(dtype)
    pointers = {
        "c": types.CPointer(types.int8),
        "i": types.CPointer(types.int32),
        "t": types.CPointer(numpy_support.from_dtype(number)),
        "r": types.CPointer(numpy_support.from_dtype(np.dtype(real_of(dtype)))),
    }
    return types.void(*[pointers[kind] for kind in kinds])


def real_of(dtype: str) -> Any:
    """The type of real numbers of its precision."""
    return np.dtype(dtype).type(0).real.dtype.type


def conj_of(dtype: str) -> Any:
    """The function that conjugates a number."""
    return (lambda x: np.conj(x)) if np.dtype(dtype).kind == "c" else (lambda x: x)


def real_part(dtype: str) -> Any:
    return (lambda x: x.real) if np.dtype(dtype).kind == "c" else (lambda x: x)


def size_of(dtype: str) -> Any:
    """The function by which LAPACK compares pivots: |re| + |im|."""
    if np.dtype(dtype).kind == "c":
        return lambda x: abs(x.real) + abs(x.imag)
    return lambda x: abs(x)
