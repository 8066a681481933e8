"""Whole discrete Fourier transforms of complex and real arrays along an axis.

Lengths whose prime factors are at most 257 are transformed stage by stage; others as a convolution
with a chirp, whose length is such a one. Transforms of an even number of real elements are made of
complex ones of half that length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.np import numpy_support

from ..bridge import compiled
from ..by_address import REGISTER, either, get, make_scratch, put, shifted, word
from ..support import index, wide
from .passes import passes
from .roots import coarse_size, root_imag, root_real, shift_of, tabulate
from .stages import LARGEST

__all__ = [
    "COMPLEX", "KINDS", "TO_COMPLEX", "TO_REAL", "doubles", "entry", "entry_signature", "room",
]  # fmt: skip

COMPLEX, TO_COMPLEX, TO_REAL = 0, 1, 2
"""Of complex elements to complex ones; of real ones to the half that says all; and back."""
KINDS = "lllllaaaa"
SIDE_BY_SIDE, NEAR = 1024, 16384
"""Up to this length several lines are transformed at once: lines that run along memory, and lines
that lie side by side in it."""

ALONE = 127
"""The largest prime whose stage is faster than a convolution for less than four transforms."""


@compiled
def smooth(n: Any, count: Any) -> Any:
    """Whether `count` lines of length n are transformed stage by stage; of 0 nothing is asked. The
    stages of the largest primes want several transforms for the lanes of their vectors."""
    left = n
    while left % index(2) == index(0):
        left = left // index(2)
    for p in range(3, LARGEST + 1, 2):
        if index(p) > index(ALONE) and n // index(p) * count < index(4):
            break
        while left % index(p) == index(0):
            left = left // index(p)
    return left == index(1)


@compiled
def length_of_convolution(n: Any) -> Any:
    """The least power of 2, or 3, 5, 9, 15, 25, 27, 45, 75 times one, that is at least 2 n - 1:
    lengths that are transformed fast."""
    best = index(16)
    while best < index(2) * n - index(1):
        best = best + best
    for odd in (3, 5, 9, 15, 25, 27, 45, 75):
        size = index(16 * odd)
        while size < index(2) * n - index(1):
            size = size + size
        best = min(best, size)
    return best


@compiled
def shorter_side(n: Any) -> Any:
    """The largest divisor that is not above the root."""
    d = index(1) << shift_of(n)
    while d * d > n or n % d != index(0):
        d = d - index(1)
    return d


@compiled
def length_of(kind: Any, n: Any) -> Any:
    """The length of the complex transforms that one of length n is made of."""
    return n // index(2) if kind != index(COMPLEX) and n % index(2) == index(0) else n


@compiled
def room_of_line(n: Any, side: Any) -> Any:
    """The elements that one line takes: roots, two buffers, what is between the two halves."""
    n2 = shorter_side(n)
    n1 = n // n2
    return index(2) * (n1 + n2 + index(2) * side * n1 + (n1 + side) * n2)


@compiled
def room(kind: Any, n: Any, count: Any, side: Any) -> Any:
    """How many elements of working memory a transform takes."""
    m = length_of(kind, n)
    if smooth(m, count):
        space = max(room_of_line(m, side), index(2) * m * (index(1) + index(2) * side)
                    if m <= index(NEAR) else index(0))  # fmt: skip
    else:
        size = length_of_convolution(m)
        space = room_of_line(size, side) + index(2) * m + index(4) * size
    lines = side if m <= index(NEAR) else index(1)
    return space + (index(2) * m * lines if kind == index(TO_REAL) else index(0))


@compiled
def doubles(kind: Any, n: Any, count: Any, side: Any) -> Any:
    """How many doubles the tables of roots take, and the turns between the two halves of a line."""
    m = length_of(kind, n)
    space = coarse_size(max(n, m))
    if not smooth(m, count):
        size = length_of_convolution(m)
        space = space + coarse_size(index(2) * m) + coarse_size(size)
        m = size
    return space + index(2) * side * (m // shorter_side(m))


def entry_signature(dtype: str) -> Any:
    """kind, n, outer, inner, inverse, x, out, working memory, tables: the arrays are read as
    (outer, length, inner)."""
    i, t = types.CPointer(types.int64), types.CPointer(numpy_support.from_dtype(np.dtype(dtype)))
    return types.void(i, i, i, i, i, t, t, t, types.CPointer(types.float64))


def entry(dtype: str) -> Callable[..., None]:
    """The Python function that is compiled for parts of `dtype`. Results are not scaled."""
    t = np.dtype(dtype).type
    parts = passes(dtype)
    line, lines, fill_roots, fill_turns, lanes = parts
    half = t(0.5)
    places = make_scratch(2 * lanes)
    assert lanes == REGISTER // np.dtype(dtype).itemsize

    @compiled
    def join(out: Any, base: Any, step: Any, h: Any, coarse: Any, shift: Any) -> None:
        """The spectrum of 2 h real elements out of that of h complex ones, in place."""
        unit = index(1)
        a, b = get(out, base), get(out, base + unit)
        put(out, base, a + b)
        put(out, base + unit, t(0))
        put(out, base + h * step, a - b)
        put(out, base + h * step + unit, t(0))
        for k in range(unit, h // index(2) + unit):
            low, high = base + k * step, base + (h - k) * step
            a, b, c, d = get(out, low), get(out, low + unit), get(out, high), get(out, high + unit)
            even_r, even_i = (a + c) * half, (b - d) * half
            odd_r, odd_i = (b + d) * half, (c - a) * half
            u, v = t(root_real(coarse, shift, k)), t(root_imag(coarse, shift, k))
            turned_r, turned_i = u * odd_r - v * odd_i, u * odd_i + v * odd_r
            put(out, low, even_r + turned_r)
            put(out, low + unit, even_i + turned_i)
            put(out, high, even_r - turned_r)
            put(out, high + unit, turned_i - even_i)

    @compiled
    def part(  # type: ignore[no-untyped-def]
        x, base, step, h, z, at, coarse, shift
    ) -> None:
        """The spectrum of h complex elements, parts exchanged, out of that of 2 h real ones."""
        unit, two = index(1), index(2)
        for k in range(index(0), h):
            low, high = base + k * step, base + (h - k) * step
            a, c = get(x, low), get(x, high)
            b = get(x, low + unit) if k != index(0) else t(0)
            d = get(x, high + unit) if k != index(0) else t(0)
            gap_r, gap_i = a - c, b + d
            u, v = t(root_real(coarse, shift, k)), -t(root_imag(coarse, shift, k))
            put(z, at + two * k + unit, (a + c) - (u * gap_i + v * gap_r))
            put(z, at + two * k, (b - d) + (u * gap_r - v * gap_i))

    @compiled
    def whole(x: Any, base: Any, step: Any, n: Any, z: Any, at: Any) -> None:
        """The conjugate of the whole spectrum of n real elements, n odd."""
        unit, two = index(1), index(2)
        put(z, at, get(x, base))
        put(z, at + unit, t(0))
        for k in range(unit, (n + unit) // two):
            a, b = get(x, base + k * step), get(x, base + k * step + unit)
            put(z, at + two * k, a)
            put(z, at + two * k + unit, -b)
            put(z, at + two * (n - k), a)
            put(z, at + two * (n - k) + unit, b)

    def function(  # type: ignore[no-untyped-def]
        of_kind, of_n, of_outer, of_inner, of_inverse, x, out, work, tables
    ):
        wide()
        o, unit, two, side = index(0), index(1), index(2), index(lanes)
        kind, n, outer, inner = word(of_kind), word(of_n), word(of_outer), word(of_inner)
        inverse = word(of_inverse) != o
        m = length_of(kind, n)
        packed = m != n
        here = n // two + unit if kind == index(TO_REAL) else n
        there = n // two + unit if kind == index(TO_COMPLEX) else n
        # In elements of the parts' dtype: how far neighbours along the axis lie from each other.
        wide_in = unit if kind == index(TO_COMPLEX) else two
        wide_out = unit if kind == index(TO_REAL) else two
        real = kind == index(TO_COMPLEX) and not packed
        real_out = kind == index(TO_REAL) and not packed
        step_in = wide_in * inner * (two if packed and kind == index(TO_COMPLEX) else unit)
        step_out = wide_out * inner * (two if packed and kind == index(TO_REAL) else unit)
        apart_in = inner if kind == index(TO_COMPLEX) else unit
        apart_out = inner if kind == index(TO_REAL) else unit
        shift_in, shift_out = o, o
        swapped = inverse and kind == index(COMPLEX)
        if swapped:
            shift_in, apart_in = unit, o - unit
        if swapped or (packed and kind == index(TO_REAL)):
            shift_out, apart_out = apart_out, o - apart_out
        keep = m if packed or kind != index(TO_COMPLEX) else there
        count = outer * inner
        fits = smooth(m, count)
        tabulate(tables, n)
        shift = shift_of(n)
        ratio = n // m
        ahead = work
        several = (
            count > two and fits and m <= (index(SIDE_BY_SIDE) if inner == unit else index(NEAR))
        )
        z = work
        if kind == index(TO_REAL):
            ahead = shifted(work, two * m * (side if m <= index(NEAR) else unit))
            step_in, apart_in = two, unit
        bases = places(of_n)
        bases_out = shifted(bases, side)
        size, chirp, other, signal = m, ahead, ahead, ahead
        of_chirp = shifted(tables, coarse_size(n))
        of_size = tables
        turns = of_chirp
        if not fits:
            size = length_of_convolution(m)
            signal = shifted(ahead, two * m)
            other = shifted(signal, two * size)
            ahead = shifted(other, two * size)
            tabulate(of_chirp, two * m)
            of_size = shifted(of_chirp, coarse_size(two * m))
            tabulate(of_size, size)
            turns = shifted(of_size, coarse_size(size))
        n2 = shorter_side(size)
        n1 = size // n2
        roots1 = ahead
        roots2 = shifted(roots1, two * n1)
        first = shifted(roots2, two * n2)
        second = shifted(first, two * n1 * side)
        between = shifted(second, two * n1 * side)
        many = side if several else unit
        shift_of_size, shift_of_chirp = shift_of(size), shift_of(two * m)
        if several:
            fill_roots(ahead, tables, shift, m, ratio)
            first = shifted(ahead, two * m)
            second = shifted(first, two * m * side)
        elif fits:
            fill_roots(roots1, tables, shift, n1, ratio * n2)
            fill_roots(roots2, tables, shift, n2, ratio * n1)
            fill_turns(turns, tables, shift, n1, n2, ratio)
        else:
            fill_roots(roots1, of_size, shift_of_size, n1, n2)
            fill_roots(roots2, of_size, shift_of_size, n2, n1)
            fill_turns(turns, of_size, shift_of_size, n1, n2, unit)
            power = o
            for k in range(o, two * size):
                put(other, k, t(0))
            for k in range(o, m):
                c = t(root_real(of_chirp, shift_of_chirp, power))
                s = t(root_imag(of_chirp, shift_of_chirp, power))
                put(chirp, two * k, c)
                put(chirp, two * k + unit, s)
                put(other, two * k, c)
                put(other, two * k + unit, -s)
                if k != o:
                    put(other, two * (size - k), c)
                    put(other, two * (size - k) + unit, -s)
                power = power + two * k + unit  # k * k, less than 4 m before it is taken back
                power = power - two * m if power >= two * m else power
            line(
                other, o, two, unit, False, other, o, two, unit, False, size,
                n1, n2, roots1, roots2, turns, of_size, shift_of_size, unit, first, second, between,
            )  # fmt: skip
        for start in range(o, count, many):
            used = min(many, count - start)
            for k in range(o, used):
                at = start + k
                row, column = at // inner, at % inner
                base = (row * here * inner + column) * wide_in
                if kind == index(TO_REAL):
                    if packed:
                        part(x, base, two * inner, m, z, k * two * m, tables, shift)
                    else:
                        whole(x, base, two * inner, m, z, k * two * m)
                    put(bases, k, k * two * m)
                else:
                    put(bases, k, base + shift_in)
                put(bases_out, k, (row * there * inner + column) * wide_out + shift_out)
            at, at_out = word(bases), word(bases_out)
            x_now = either(kind == index(TO_REAL), z, x)
            if several:
                lines(
                    x_now, bases, step_in, apart_in, real, out, bases_out, step_out, apart_out,
                    real_out, keep, used, inner == unit, m, ahead, first, second,
                )  # fmt: skip
            elif fits:
                line(
                    x_now, at, step_in, apart_in, real, out, at_out, step_out, apart_out, real_out,
                    keep, n1, n2, roots1, roots2, turns, tables, shift, ratio, first, second,
                    between,
                )  # fmt: skip
            else:
                for k in range(o, m):
                    a = get(x_now, at + k * step_in)
                    b = t(0) if real else get(x_now, at + k * step_in + apart_in)
                    c, s = get(chirp, two * k), get(chirp, two * k + unit)
                    put(signal, two * k, a * c - b * s)
                    put(signal, two * k + unit, a * s + b * c)
                for k in range(two * m, two * size):
                    put(signal, k, t(0))
                line(
                    signal, o, two, unit, False, signal, o, two, unit, False, size,
                    n1, n2, roots1, roots2, turns, of_size, shift_of_size, unit, first, second,
                    between,
                )  # fmt: skip
                for k in range(o, size):
                    a, b = get(signal, two * k), get(signal, two * k + unit)
                    c, s = get(other, two * k), get(other, two * k + unit)
                    # With the parts exchanged the same transform is the inverse one.
                    put(signal, two * k, a * s + b * c)
                    put(signal, two * k + unit, a * c - b * s)
                line(
                    signal, o, two, unit, False, signal, o, two, unit, False, m,
                    n1, n2, roots1, roots2, turns, of_size, shift_of_size, unit, first, second,
                    between,
                )  # fmt: skip
                scale = t(1) / t(size)
                for k in range(o, keep):
                    a, b = get(signal, two * k + unit) * scale, get(signal, two * k) * scale
                    c, s = get(chirp, two * k), get(chirp, two * k + unit)
                    put(out, at_out + k * step_out, a * c - b * s)
                    if not real_out:
                        put(out, at_out + k * step_out + apart_out, a * s + b * c)
            if packed and kind == index(TO_COMPLEX):
                for k in range(o, used):
                    join(out, word(shifted(bases_out, k)), step_out, m, tables, shift)

    return function
