"""What own factorisations of large real matrices are made of, by address: products of blocks,
substitution, transposed copies.

Matrices lie row by row; of each, `row` elements separate the beginnings of two rows. Nearly all of
the work is in `product`, which is `gemm`; what is left runs along rows and vectorises.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.np import numpy_support

from . import symbols
from .bridge import compiled, primitive
from .by_address import (
    REGISTER,
    ROWS,
    get,
    make_scratch,
    put,
    shifted,
    square_turned,
    word,
)
from .foreign import typer_of
from .gemm import ADD, NEGATE
from .substituted import NARROW, SEVERAL, substituted_1, substituted_several
from .support import index, outlined, wide

__all__ = [
    "BLOCK", "CHUNK", "FEW", "LARGE_BLOCK", "NARROW", "SUBSTITUTE_KINDS", "BlockParts",
    "block_of", "less", "parts", "pointers", "substitute", "substitute_signature",
]  # fmt: skip

BLOCK, LARGE_BLOCK, LARGE = 64, 128, 500
"""Rows and columns that are factorised at a time: more of them from so many rows on, where the
matrix is larger than the caches and is to be read less often."""
CHUNK = 256
"""Columns of NARROW rows stay in the innermost cache, of a block of rows in the second one."""
FEW = 8
"""Fewer right-hand sides than these leave nothing to do for products of blocks."""


def _own(name: str, count: int) -> Callable[..., None]:
    """A routine of `prebuilt` as a function of `count` integers and pointers, of one dtype."""

    def function(*args: Any) -> None:
        raise TypeError(f"{name}: compiled code only")

    def native(pointers: Any) -> str:
        element = next(k.dtype for k in pointers if isinstance(k, types.CPointer))
        return symbols.symbol(symbols.OWN, f"{name}_{element}")

    def typer(*kinds: Any) -> Any:
        symbols.register(native(kinds))
        given = [k if isinstance(k, types.CPointer) else types.uintp for k in kinds]
        return signature(types.none, *given)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        bytes_ = ir.PointerType(ir.IntType(8))
        passed = []
        for kind, value in zip(sig.args, args, strict=True):
            place = value
            if not isinstance(kind, types.CPointer):
                place = cgutils.alloca_once(builder, value.type)
                builder.store(value, place)
            passed.append(builder.bitcast(place, bytes_))
        kind_of = ir.FunctionType(ir.VoidType(), [bytes_] * len(passed))
        callee = cgutils.get_or_insert_function(builder.module, kind_of, native(sig.args))
        builder.call(callee, passed)
        return context.get_dummy_value()

    primitive(function, typer_of(typer, count))(lower)
    return function


gemm, _substitute = _own("gemm", 18), _own("substitute", 10)


def less(y: Any, f: Any, x: Any) -> Any:
    """`y - f * x`, rounded once where the machine can."""
    raise TypeError("compiled code only")


@primitive(less, lambda y, f, x: signature(y, y, y, y) if isinstance(y, types.Float) else None)
def _lower_less(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    y, f, x = args
    fuse = ("contract",)
    return builder.fsub(y, builder.fmul(f, x, flags=fuse), flags=fuse)


@compiled
def block_of(n: Any) -> Any:
    """The rows of a block in a matrix of n rows."""
    return index(LARGE_BLOCK) if n >= index(LARGE) else index(BLOCK)


def pointers(dtype: str) -> tuple[Any, Any, Any]:
    """Addresses of integers, of elements, and of an error number."""
    return (
        types.CPointer(types.int64),
        types.CPointer(numpy_support.from_dtype(np.dtype(dtype))),
        types.CPointer(types.int32),
    )


class BlockParts:
    """The functions that own factorisations share, for one dtype.

    product(m, n, k, a, row_a, step_a, b, step_b, c, row_c)
        c -= a @ b; rows of b and c are contiguous
    product_turned(m, n, k, a, row_a, b, row_b, c, row_c)
        c -= a @ b.T; rows of all three are contiguous
    substitute(n, k, a, row, col, forward, ones, b, step, lower)
        b[n, k] = a^-1 b for a triangular a with elements a[i * row + j * col], the lower triangle
        where `forward`; its diagonal counts as ones where `ones`; b is a lower triangle, too, and
        remains one where `lower`
    turn(m, n, a, row_a, b, row_b)
        b[j, i] = a[i, j]
    subtract(n, f, x, y)
        y -= f * x along rows
    divide(n, y, pivot)
        y /= pivot
    exchange(n, x, y)
        x, y = y, x
    """

    product: Callable[..., None]
    product_turned: Callable[..., None]
    substitute: Callable[..., None]
    turn: Callable[..., None]
    subtract: Callable[..., None]
    divide: Callable[..., None]
    exchange: Callable[..., None]


@cache
def parts(dtype: str) -> BlockParts:
    """Those for a dtype."""
    t = np.dtype(dtype).type
    one, zero = t(1), t(0)

    @compiled
    def product(m, n, k, a, row_a, step_a, b, step_b, c, row_c):  # type: ignore[no-untyped-def]
        outlined()
        o, unit = index(0), index(1)
        gemm(
            m, n, k, a, row_a, step_a, b, step_b, unit, a, c, row_c, index(ADD | NEGATE), unit, o,
            o, o, o,
        )  # fmt: skip

    @compiled
    def product_turned(m, n, k, a, row_a, b, row_b, c, row_c):  # type: ignore[no-untyped-def]
        outlined()
        o, unit = index(0), index(1)
        gemm(
            m, n, k, a, row_a, unit, b, unit, row_b, a, c, row_c, index(ADD | NEGATE), unit, o, o,
            o, o,
        )  # fmt: skip

    @compiled
    def subtract(n, f, x, y):  # type: ignore[no-untyped-def]
        outlined()
        for j in range(index(0), n):
            put(y, j, less(get(y, j), f, get(x, j)))

    @compiled
    def subtract_complex(n, f, x, y):  # type: ignore[no-untyped-def]
        outlined()
        for j in range(index(0), n):
            put(y, j, get(y, j) - f * get(x, j))

    @compiled
    def exchange(n, x, y):  # type: ignore[no-untyped-def]
        outlined()
        for j in range(index(0), n):
            kept = get(x, j)
            put(x, j, get(y, j))
            put(y, j, kept)

    @compiled
    def divide(n, y, pivot):  # type: ignore[no-untyped-def]
        outlined()
        inverse = one / pivot
        if inverse - inverse == zero:
            for j in range(index(0), n):
                put(y, j, get(y, j) * inverse)
        else:
            # The reciprocal of what is next to nothing overflows.
            for j in range(index(0), n):
                put(y, j, get(y, j) / pivot)

    @compiled
    def substitute(n, k, a, row, col, forward, ones, b, step, lower):  # type: ignore[no-untyped-def]
        outlined()
        _substitute(n, k, a, row, col, forward, ones, b, step, lower)

    @compiled
    def turn(m, n, a, row_a, b, row_b):  # type: ignore[no-untyped-def]
        outlined()
        o, side = index(0), index(ROWS)
        down, right = m // side * side, n // side * side
        # Squares side by side along the shorter axis, so that few rows are touched at a time.
        tall = m > n
        for outer in range(o, down if tall else right, side):
            for inner in range(o, right if tall else down, side):
                top, left = (outer, inner) if tall else (inner, outer)
                square_turned(
                    shifted(a, top * row_a + left), row_a, shifted(b, left * row_b + top), row_b
                )
        for i in range(o, m):
            for j in range(right if i < down else o, n):
                put(b, j * row_b + i, get(a, i * row_a + j))

    made = BlockParts()
    made.product, made.substitute = product, substitute
    made.product_turned = product_turned
    made.turn, made.divide, made.exchange = turn, divide, exchange
    made.subtract = subtract_complex if np.dtype(dtype).kind == "c" else subtract
    return made


SUBSTITUTE_KINDS = "llallllall"


def substitute_signature(dtype: str) -> Any:
    """n, k, a, the distances of its rows and columns, flags `forward` and `ones`, b, the distance
    of its rows, flag `lower`: see `BlockParts.substitute`."""
    i, t, _ = pointers(dtype)
    return types.void(i, i, t, i, i, i, i, t, i, i)


def substitute(dtype: str) -> Callable[..., None]:
    """b = a^-1 b for a triangular a."""
    own, t = parts(dtype), np.dtype(dtype).type
    product, subtract, divide = own.product, own.subtract, own.divide
    one, zero, lanes = t(1), t(0), REGISTER // np.dtype(dtype).itemsize
    inverses_space = make_scratch(NARROW)

    @compiled
    def in_registers(k, a, row, col, ones, b, step):  # type: ignore[no-untyped-def]
        """`substitute` of NARROW rows forward, vectors of columns at a time; how many columns are
        done: none where the reciprocal of a pivot overflows."""
        outlined()
        o, several = index(0), index(SEVERAL * lanes)
        inverses, sane = inverses_space(a), zero
        for i in range(o, index(NARROW)):
            inverse = one if ones else one / get(a, i * row + i * col)
            put(inverses, i, inverse)
            sane = sane + (inverse - inverse)
        if sane != zero:
            return o
        many, whole = k // several * several, k // index(lanes) * index(lanes)
        for j in range(o, many, several):
            substituted_several(a, row, col, inverses, shifted(b, j), step)
        for j in range(many, whole, index(lanes)):
            substituted_1(a, row, col, inverses, shifted(b, j), step)
        return whole

    @compiled
    def eliminate(n, k, a, row, col, forward, ones, b, step):  # type: ignore[no-untyped-def]
        """`substitute` of a few rows: what does not fit into registers row by row, along as many
        columns as stay in the cache."""
        outlined()
        o, unit, done = index(0), index(1), index(0)
        if n == index(NARROW):
            last = n - unit
            if forward:
                done = in_registers(k, a, row, col, ones, b, step)  # type: ignore[no-untyped-call]
            else:
                done = in_registers(  # type: ignore[no-untyped-call]
                    k, shifted(a, last * row + last * col), o - row, o - col, ones,
                    shifted(b, last * step), o - step,
                )  # fmt: skip
        for first in range(done, k, index(CHUNK)):
            end = min(k, first + index(CHUNK))
            for r in range(o, n):
                i = r if forward else n - unit - r
                to = i * step
                for s in range(o, r):
                    q = s if forward else n - unit - s
                    factor, source = get(a, i * row + q * col), q * step
                    subtract(
                        end - first, factor, shifted(b, source + first), shifted(b, to + first)
                    )
                if not ones:
                    divide(end - first, shifted(b, to + first), get(a, i * row + i * col))

    @compiled
    def inner(n, k, a, row, col, forward, ones, b, step):  # type: ignore[no-untyped-def]
        """`substitute` of one block: all rows along some columns, then along the next ones."""
        outlined()
        o, narrow = index(0), index(NARROW)
        for left in range(o, k, index(CHUNK)):
            count, here = min(index(CHUNK), k - left), shifted(b, left)
            for done in range(o, n, narrow):
                size = min(narrow, n - done)
                at = done if forward else n - done - size
                known = o if forward else at + size
                if done > o:
                    product(
                        size, count, done, shifted(a, at * row + known * col), row, col,
                        shifted(here, known * step), step, shifted(here, at * step), step,
                    )  # fmt: skip
                eliminate(  # type: ignore[no-untyped-call]
                    size, count, shifted(a, at * row + at * col), row, col, forward, ones,
                    shifted(here, at * step), step,
                )  # fmt: skip

    def function(  # type: ignore[no-untyped-def]
        of_n, of_k, a, of_row, of_col, of_forward, of_ones, b, of_step, of_lower
    ):
        wide()
        n, k, row, col, step = word(of_n), word(of_k), word(of_row), word(of_col), word(of_step)
        none = index(0)
        forward, ones, lower = (
            word(of_forward) != none,
            word(of_ones) != none,
            word(of_lower) != none,
        )
        o, block = index(0), block_of(n)
        for done in range(o, n, block):
            size = min(block, n - done)
            at = done if forward else n - done - size
            inner(  # type: ignore[no-untyped-call]
                size, min(k, at + size) if lower else k, shifted(a, at * row + at * col), row, col,
                forward, ones, shifted(b, at * step), step,
            )  # fmt: skip
            # Behind 2^j * odd blocks the last 2^j are taken from the next 2^j: products are as
            # thick as can be, and each number is read in as few of them as with halves of halves.
            ended = done + size
            many = ended & (o - ended)
            coming = min(many, n - ended)
            if coming > o:
                known, at = (ended - many, ended) if forward else (n - ended, n - ended - coming)
                product(
                    coming, min(k, ended) if lower else k, many,
                    shifted(a, at * row + known * col), row, col, shifted(b, known * step), step,
                    shifted(b, at * step), step,
                )  # fmt: skip

    return function
