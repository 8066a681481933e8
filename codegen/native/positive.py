"""Own Cholesky factors of large real matrices, and their derivatives, in blocks.

Tangents are those of the algorithm, block by block, cotangents the same in reverse order (Murray,
Differentiation of the Cholesky decomposition, 2016): twice the work of the factor, whatever the
tangent or the cotangent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from .bridge import compiled
from .by_address import LINE, get, put, shifted, word
from .dense import BLOCK, LARGE_BLOCK, NARROW, block_of, less, parts, pointers
from .support import index, outlined, sqrt_float, wide

__all__ = [
    "adjoint", "adjoint_signature", "adjoint_space", "factor", "factor_signature", "factor_space",
    "tangent", "tangent_signature", "tangent_space",
]  # fmt: skip


FEWER, LARGE = 56, 800
"""Rows of float64 that `factor` takes at a time below so many rows."""


@compiled
def factor_space(n: Any) -> Any:
    """The elements of working space that `factor` takes."""
    return index(BLOCK) * (n + index(32))


@compiled
def adjoint_space(n: Any) -> Any:
    """The elements of working space that `adjoint` takes."""
    return index(LARGE_BLOCK) * (n + index(16 + LARGE_BLOCK))


@compiled
def tangent_space(n: Any) -> Any:
    """The elements of working space that `tangent` takes."""
    return index(LARGE_BLOCK) * (n + index(16 + 2))


def factor_signature(dtype: str) -> Any:
    """n, a[n, n], out[n, n], space for factor_space(n) elements; the number of the first pivot
    that is not positive."""
    i, t, o = pointers(dtype)
    return types.void(i, t, t, t, o)


def adjoint_signature(dtype: str) -> Any:
    """n, the factor l[n, n], its cotangent c[n, n], out[n, n], space for adjoint_space(n)
    elements."""
    i, t, _ = pointers(dtype)
    return types.void(i, t, t, t, t)


def tangent_signature(dtype: str) -> Any:
    """n, the factor l[n, n], the matrix's tangent a[n, n], out[n, n], space for tangent_space(n)
    elements."""
    return adjoint_signature(dtype)


def factor(dtype: str) -> Callable[..., None]:
    """The lower factor of `a`, of which the upper triangle is not read."""
    own, t = parts(dtype), np.dtype(dtype).type
    product, substitute, turn = own.product, own.substitute, own.turn
    subtract, divide, product_turned = own.subtract, own.divide, own.product_turned
    zero, in_line = t(0), LINE // np.dtype(dtype).itemsize
    fewer = FEWER if dtype == "float64" else BLOCK

    @compiled
    def square(rows, p, step):  # type: ignore[no-untyped-def]
        """The upper factor in the upper triangle of p; the number of the first pivot that is not
        positive."""
        outlined()
        o, unit, narrow, line = index(0), index(1), index(NARROW), index(in_line)
        for top in range(o, rows, narrow):
            end = min(rows, top + narrow)
            if top > o:
                # Whole lines: what is left of the diagonal nobody reads.
                left = top // line * line
                across = (rows + line - unit) // line * line - left
                product(
                    end - top, across, top, shifted(p, top), unit, step, shifted(p, left), step,
                    shifted(p, top * step + left), step,
                )  # fmt: skip
            for i in range(top, end):
                for q in range(top, i):
                    subtract(
                        rows - i, get(p, q * step + i), shifted(p, q * step + i),
                        shifted(p, i * step + i),
                    )  # fmt: skip
                pivot = get(p, i * step + i)
                if pivot <= zero:
                    return i + unit
                root = sqrt_float(pivot)
                put(p, i * step + i, root)
                divide(rows - i - unit, shifted(p, i * step + i + unit), root)
        return o

    def function(of_n, a, out, space, info):  # type: ignore[no-untyped-def]
        wide()
        o, unit, n, line = index(0), index(1), word(of_n), index(in_line)
        block = index(fewer) if n < index(LARGE) else index(BLOCK)
        put(info, o, 0)
        for at in range(o, n, block):
            rows, width = min(block, n - at), n - at
            # Rows of the working space are whole lines, with zeros behind the last column, and an
            # odd number of them apart.
            across = (width + line - unit) // line * line
            step = (across // line | unit) * line
            corner = shifted(out, at * n + at)
            turn(width, rows, shifted(a, at * n + at), n, space, step)
            for i in range(o, rows):
                for j in range(width, across):
                    put(space, i * step + j, zero)
            if at > o:
                product_turned(
                    rows, width, at, shifted(out, at * n), n, shifted(out, at * n), n, space, step
                )  # fmt: skip
            failed = square(rows, space, step)  # type: ignore[no-untyped-call]
            if failed != o:
                put(info, o, at + failed)
                return
            if width > rows:
                substitute(
                    rows, across - rows, space, unit, step, True, False, shifted(space, rows), step,
                    False,
                )  # fmt: skip
            turn(rows, width, space, step, corner, n)
            for i in range(o, rows):
                for j in range(i + unit, width):
                    put(corner, i * n + j, zero)

    return function


def adjoint(dtype: str) -> Callable[..., None]:
    """The cotangent of a symmetric matrix from that of its factor, spread evenly over both
    triangles."""
    own, t = parts(dtype), np.dtype(dtype).type
    product, substitute, turn, subtract = own.product, own.substitute, own.turn, own.subtract
    half = t(0.5)

    @compiled
    def small(n, l, row_l, c, row_c):  # type: ignore[no-untyped-def]  # noqa: E741
        """One block: row by row from the last."""
        outlined()
        o, unit = index(0), index(1)
        for back in range(o, n):
            j = n - unit - back
            pivot = get(l, j * row_l + j)
            change = get(c, j * row_c + j)
            for i in range(j + unit, n):
                change = less(change, get(l, i * row_l + j) / pivot, get(c, i * row_c + j))
                put(c, i * row_c + j, get(c, i * row_c + j) / pivot)
            change = change / pivot
            along = shifted(c, j * row_c)
            subtract(j, change, shifted(l, j * row_l), along)
            for i in range(j + unit, n):
                f = get(c, i * row_c + j)
                subtract(j, f, shifted(l, i * row_l), along)
                subtract(j, f, shifted(l, j * row_l), shifted(c, i * row_c))
            put(c, j * row_c + j, half * change)

    def function(of_n, l, c, out, space):  # type: ignore[no-untyped-def]  # noqa: E741
        wide()
        o, unit, n = index(0), index(1), word(of_n)
        block = block_of(n)
        square = shifted(space, block * (n + index(16)))
        for i in range(o, n):
            for j in range(o, i + unit):
                put(out, i * n + j, get(c, i * n + j))
        end = n
        while end > o:
            rows = (end - unit) % block + unit
            at = end - rows
            below = n - end
            corner = at * n + at
            if below > o:
                step = ((below + index(7)) // index(8) | unit) * index(8)
                under = end * n + at
                turn(below, rows, shifted(out, under), n, space, step)
                substitute(
                    rows, below, shifted(l, corner), unit, n, False, False, space, step, False
                )
                turn(rows, below, space, step, shifted(out, under), n)
                product(
                    below, at, rows, shifted(out, under), n, unit, shifted(l, at * n), n,
                    shifted(out, end * n), n,
                )  # fmt: skip
                product(
                    rows, end, below, space, step, unit, shifted(l, end * n), n,
                    shifted(out, at * n), n,
                )  # fmt: skip
            small(rows, shifted(l, corner), n, shifted(out, corner), n)  # type: ignore[no-untyped-call]
            for i in range(o, rows):
                for j in range(o, i + unit):
                    value = get(out, corner + i * n + j)
                    put(square, i * block + j, value)
                    put(square, j * block + i, value)
                put(square, i * block + i, get(square, i * block + i) + get(square, i * block + i))
            product(
                rows, at, rows, square, block, unit, shifted(l, at * n), n, shifted(out, at * n), n
            )
            end = at
        for top in range(o, n, index(16)):
            for left in range(o, top + unit, index(16)):
                for i in range(top, min(n, top + index(16))):
                    for j in range(left, min(left + index(16), i)):
                        value = half * get(out, i * n + j)
                        put(out, i * n + j, value)
                        put(out, j * n + i, value)

    return function


def tangent(dtype: str) -> Callable[..., None]:
    """The tangent of the lower factor from that of the matrix, of which the upper triangle is not
    read."""
    own, t = parts(dtype), np.dtype(dtype).type
    substitute, turn, subtract = own.substitute, own.turn, own.subtract
    product_turned, zero = own.product_turned, t(0)

    @compiled
    def small(n, l, row_l, c, row_c, space):  # type: ignore[no-untyped-def]  # noqa: E741
        """One block: column by column, each of which changes all that follow."""
        outlined()
        o, unit, moved = index(0), index(1), shifted(space, n)
        for j in range(o, n):
            pivot = get(l, j * row_l + j)
            change = get(c, j * row_c + j) / (pivot + pivot)
            put(c, j * row_c + j, change)
            for i in range(j + unit, n):
                f = get(l, i * row_l + j)
                g = less(get(c, i * row_c + j), f, change) / pivot
                put(c, i * row_c + j, g)
                put(space, i, f)
                put(moved, i, g)
            first = j + unit
            for i in range(first, n):
                along = shifted(c, i * row_c + first)
                subtract(i - j, get(moved, i), shifted(space, first), along)
                subtract(i - j, get(space, i), shifted(moved, first), along)
                put(c, j * row_c + i, zero)

    def function(of_n, l, a, out, space):  # type: ignore[no-untyped-def]  # noqa: E741
        wide()
        o, unit, n = index(0), index(1), word(of_n)
        block = block_of(n)
        panel = shifted(space, index(2) * block)
        for i in range(o, n):
            for j in range(o, n):
                put(out, i * n + j, get(a, i * n + j) if j <= i else zero)
        for at in range(o, n, block):
            rows = min(block, n - at)
            end, corner = at + rows, at * n + at
            below, under = n - end, end * n + at
            if at > o:
                before, known = shifted(out, at * n), shifted(l, at * n)
                product_turned(
                    n - at, rows, at, before, n, known, n, shifted(out, corner), n
                )  # fmt: skip
                product_turned(
                    n - at, rows, at, known, n, before, n, shifted(out, corner), n
                )  # fmt: skip
            small(rows, shifted(l, corner), n, shifted(out, corner), n, space)  # type: ignore[no-untyped-call]
            if below > o:
                step = ((below + index(7)) // index(8) | unit) * index(8)
                turn(below, rows, shifted(out, under), n, panel, step)
                product_turned(
                    rows, below, rows, shifted(out, corner), n, shifted(l, under), n, panel, step
                )  # fmt: skip
                substitute(
                    rows, below, shifted(l, corner), n, unit, True, False, panel, step, False
                )
                turn(rows, below, panel, step, shifted(out, under), n)

    return function
