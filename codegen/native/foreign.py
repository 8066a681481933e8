"""Calls of Fortran-style routines from compiled code: every argument by address, arrays by the
address of an element."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.np import numpy_support

from .bridge import implements, primitive
from .symbols import BLAS, LAPACK, register, symbol

LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
CHAR, INT, LONG, SCALAR, ARRAY, INFO = "c", "i", "l", "s", "a", "o"
LARGEST = 2**31 - 1
"""BLAS and LAPACK count in 32-bit integers."""


@cache
def routine(module: str, name: str, kinds: str) -> Callable[..., Any]:
    """A function that compiled code calls as `f(...)`, with one argument per letter of `kinds`.

    c: a character as an integer code; i: a 32-bit integer; l: a 64-bit one; s: a scalar of the
    arrays' dtype; a: an array, followed by the position of the element where it starts; o: no
    argument, but the routine's error code, which becomes the result.
    """
    native = symbol(module, name)

    def function(*args: Any) -> Any:
        raise TypeError(f"{name} is called from compiled code only")

    def typer(*args: Any) -> Any:
        register(native)
        element = next(a.dtype for a in args if isinstance(a, types.Array))
        wanted: list[Any] = []
        given = iter(args)
        for kind in kinds:
            if kind == CHAR:
                wanted.append(types.int8)
                next(given)
            elif kind == INT:
                wanted.append(types.int32)
                next(given)
            elif kind == LONG:
                wanted.append(types.int64)
                next(given)
            elif kind == SCALAR:
                wanted.append(element)
                next(given)
            elif kind == ARRAY:
                wanted += [next(given), types.intp]
                next(given)
        return signature(types.int32 if INFO in kinds else types.void, *wanted)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = ir.PointerType(ir.IntType(8))
        passed: list[Any] = []
        info = None
        at = 0
        for kind in kinds:
            if kind == ARRAY:
                array = context.make_array(sig.args[at])(context, builder, args[at])
                passed.append(builder.bitcast(builder.gep(array.data, [args[at + 1]]), pointer))
                at += 2
                continue
            if kind == INFO:
                info = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(32), 0))
                passed.append(builder.bitcast(info, pointer))
                continue
            slot = cgutils.alloca_once(builder, args[at].type)
            builder.store(args[at], slot)
            passed.append(builder.bitcast(slot, pointer))
            at += 1
        kind_of = ir.FunctionType(ir.VoidType(), [pointer] * len(passed))
        builder.call(cgutils.get_or_insert_function(builder.module, kind_of, native), passed)
        return builder.load(info) if info is not None else context.get_dummy_value()

    function.__name__ = function.__qualname__ = native
    primitive(function, typer_of(typer, sum(2 if k == ARRAY else k != INFO for k in kinds)))(lower)
    return function


def typer_of(typer: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The typer with as many named parameters as there are arguments: Numba reads them off its
    signature."""
    names = ", ".join(f"a{k}" for k in range(count))
    made: Callable[..., Any] = eval(f"lambda {names}: typer({names})", {"typer": typer})
    return made


def blas(dtype: Any, name: str, kinds: str) -> Callable[..., Any]:
    return routine(BLAS, letter(dtype) + name, kinds)


def lapack(dtype: Any, name: str, kinds: str, complex_name: str = "") -> Callable[..., Any]:
    """A LAPACK routine; where the complex one has another stem (`syevd`, `heevd`) or other
    arguments, the caller says so."""
    which = letter(dtype)
    return routine(
        LAPACK, which + (complex_name if which in "cz" and complex_name else name), kinds
    )


def letter(dtype: Any) -> str:
    return LETTERS[numpy_support.as_dtype(dtype).name]


# --- copies between the two orders ----------------------------------------------------------------


def turned(source: Any, target: Any) -> None:
    """Rows become columns: the copy between the two orders, in either direction, a square at a
    time, whose lines stay in the cache."""
    rows, columns = source.shape
    for top in range(0, rows, 16):
        for left in range(0, columns, 16):
            for j in range(left, min(columns, left + 16)):
                for i in range(top, min(rows, top + 16)):
                    target[j, i] = source[i, j]


def fill(target: Any, value: Any) -> None:
    """Numba takes far longer over an assignment to a slice than over these loops."""
    flat = target.reshape(target.size)
    for i in range(flat.size):
        flat[i] = value


def copied(source: Any, target: Any) -> None:
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


def finite(source: Any) -> bool:
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            if not np.isfinite(source[i, j]):
                return False
    return True


implements(turned, inline=False)(lambda source, target: turned)
implements(finite, inline=False)(lambda source: finite)
implements(copied, inline=False)(lambda source, target: copied)
implements(fill, inline=False)(lambda target, value: fill)
