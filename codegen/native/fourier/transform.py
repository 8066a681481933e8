"""Whole discrete Fourier transforms of complex and real arrays along an axis.

Lengths whose prime factors are at most 257 are transformed stage by stage; others as a convolution
whose length is such a one (`convolved`). Transforms of an even number of real elements are made of
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
from .convolved import convolved, length_of_convolution, plan_room, shorter_side
from .passes import passes, plane_of
from .plans import SLOTS, kept
from .roots import coarse_size, root_imag, root_real, shift_of, tabulate
from .stages import LARGEST

__all__ = [
    "COMPLEX", "KINDS", "TO_COMPLEX", "TO_REAL", "doubles", "entry", "entry_signature", "room",
]  # fmt: skip

COMPLEX, TO_COMPLEX, TO_REAL = 0, 1, 2
"""Of complex elements to complex ones; of real ones to the half that says all; and back."""
KINDS = "lllllaaaa"
SIDE_BY_SIDE, NEAR, CONVOLVED = 1024, 16384, 65536
"""Up to this length several lines are transformed at once: lines that run along memory, lines that
lie side by side in it, and the convolutions of either."""

ALONE = 127
"""The largest prime whose stage is faster than a convolution for less than four transforms."""


@compiled
def smooth(n: Any, count: Any) -> Any:
    """Whether `count` lines of length n are transformed stage by stage; of 0 nothing is asked. The
    stages of the largest primes want several transforms for the lanes of their vectors."""
    left = n
    while left % index(2) == index(0):
        left = left // index(2)
    p = index(3)
    while p * p <= left:
        if p > index(ALONE) and n // p * count < index(4):
            break
        while left % p == index(0):
            left = left // p
        p = p + index(2)
    # A prime, 1, or more than all of these.
    return left <= index(ALONE) or (left <= index(LARGEST) and n // left * count >= index(4))


@compiled
def length_of(kind: Any, n: Any) -> Any:
    """The length of the complex transforms that one of length n is made of."""
    return n // index(2) if kind != index(COMPLEX) and n % index(2) == index(0) else n


@compiled
def longest_in_lanes(fits: Any, along: Any) -> Any:
    """Up to which length, or length of a convolution, several lines are transformed at once."""
    if fits:
        return index(SIDE_BY_SIDE) if along else index(NEAR)
    return index(CONVOLVED)


@compiled
def in_front_of_vectors(m: Any, side: Any) -> Any:
    """The elements that m complex ones take, such that vectors behind them are aligned."""
    return (index(2) * m + side - index(1)) // side * side


@compiled
def spectra_of(m: Any, side: Any) -> Any:
    """The elements that spectra of real lines take: of as many lines as may be transformed at
    once."""
    return in_front_of_vectors(m * side if m <= index(CONVOLVED) else m, side)


@compiled
def room_of_line(n: Any, side: Any) -> Any:
    """The elements that one line takes: roots, two buffers, what is between the two halves."""
    n2 = shorter_side(n)
    n1 = n // n2
    space = in_front_of_vectors(n1 + n2, side)
    return space + index(2) * (index(2) * side * n1 + (n1 + side) * n2)


@compiled
def room(kind: Any, n: Any, count: Any, side: Any) -> Any:
    """How many elements of working memory a transform takes."""
    m = length_of(kind, n)
    fits = smooth(m, count)
    if fits:
        space = room_of_line(m, side)
        in_lanes = in_front_of_vectors(m, side) + index(4) * plane_of(m, side) + m + index(2)
        size = m
    else:
        size = length_of_convolution(m)
        space = room_of_line(size, side) + index(2) * size
        in_lanes = index(4) * plane_of(size, side)
    space = max(space, in_lanes if size <= longest_in_lanes(fits, False) else index(0))
    return space + (spectra_of(m, side) if kind == index(TO_REAL) else index(0))


@compiled
def doubles(kind: Any, n: Any, count: Any, side: Any) -> Any:
    """How many doubles the tables of roots take, and the turns between the two halves of a line, or
    the plan of a convolution."""
    m = length_of(kind, n)
    space = coarse_size(max(n, m))
    if smooth(m, count):
        return space + index(2) * side * (m // shorter_side(m))
    size = length_of_convolution(m)
    n2 = shorter_side(size)
    return space + coarse_size(index(2) * m) + plan_room(m, size, size // n2, n2, side)


def entry_signature(dtype: str) -> Any:
    """kind, n, outer, inner, inverse, x, out, working memory, tables: the arrays are read as
    (outer, length, inner)."""
    i, t = types.CPointer(types.int64), types.CPointer(numpy_support.from_dtype(np.dtype(dtype)))
    return types.void(i, i, i, i, i, t, t, t, types.CPointer(types.float64))


def entry(dtype: str) -> Callable[..., None]:
    """The Python function that is compiled for parts of `dtype`. Results are not scaled."""
    t = np.dtype(dtype).type
    parts = passes(dtype)
    line, lines, _, _, fill_roots, fill_turns, fill_halves, lanes = parts
    planned, one_convolved, several_convolved = convolved(dtype, parts)
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
        shift = shift_of(n)
        ratio = n // m
        size = m if fits else length_of_convolution(m)
        several = count > two and size <= longest_in_lanes(fits, inner == unit)
        many = side if several else unit
        z, ahead, halves = work, work, work
        # Lines in lanes are joined and parted there.
        joined = packed and several and fits and kind == index(TO_COMPLEX)
        parted = packed and several and fits and kind == index(TO_REAL)
        if joined:
            keep = there
        if kind == index(TO_REAL) and not parted:
            ahead = shifted(work, spectra_of(m, side))
            step_in, apart_in = two, unit
        elif parted:
            step_in, apart_in = two * inner, unit
        bases = places(of_n)
        bases_out = shifted(bases, side)
        if fits or packed:
            tabulate(tables, n)
        turns = shifted(tables, coarse_size(n))
        n2 = shorter_side(size)
        n1 = size // n2
        signal, plan = ahead, turns
        roots1 = ahead
        roots2 = shifted(roots1, two * n1)
        first = shifted(ahead, in_front_of_vectors(n1 + n2, side) if fits else two * size)
        second = shifted(first, two * n1 * side)
        between = shifted(second, two * n1 * side)
        if not fits:
            slot = planned(m, size, n1, n2, turns, first, second, between)
            plan = shifted(turns, coarse_size(two * m))
            plan = either(slot < index(SLOTS), kept(turns, slot), plan)
            if several:
                first = ahead
                second = shifted(first, two * plane_of(size, side))
        elif several:
            fill_roots(ahead, tables, shift, m, ratio)
            first = shifted(ahead, in_front_of_vectors(m, side))
            second = shifted(first, two * plane_of(m, side))
            if packed:
                halves = shifted(second, two * plane_of(m, side))
                fill_halves(halves, tables, shift, m, parted)
        else:
            fill_roots(roots1, tables, shift, n1, ratio * n2)
            fill_roots(roots2, tables, shift, n2, ratio * n1)
            fill_turns(turns, tables, shift, n1, n2, ratio)
        for start in range(o, count, many):
            used = min(many, count - start)
            for k in range(o, used):
                at = start + k
                row, column = at // inner, at % inner
                base = (row * here * inner + column) * wide_in
                if kind == index(TO_REAL) and not parted:
                    if packed:
                        part(x, base, two * inner, m, z, k * two * m, tables, shift)
                    else:
                        whole(x, base, two * inner, m, z, k * two * m)
                    put(bases, k, k * two * m)
                else:
                    put(bases, k, base + shift_in)
                put(bases_out, k, (row * there * inner + column) * wide_out + shift_out)
            at, at_out = word(bases), word(bases_out)
            x_now = either(kind == index(TO_REAL) and not parted, z, x)
            if several and fits:
                lines(
                    x_now, bases, step_in, apart_in, real, out, bases_out, step_out, apart_out,
                    real_out, keep, used, inner == unit, m, ahead, first, second, joined, parted,
                    halves,
                )  # fmt: skip
            elif several:
                several_convolved(
                    x_now, bases, step_in, apart_in, real, out, bases_out, step_out, apart_out,
                    real_out, keep, used, inner == unit, m, size, n1, n2, plan, first, second,
                )  # fmt: skip
            elif fits:
                line(
                    x_now, at, step_in, apart_in, real, out, at_out, step_out, apart_out, real_out,
                    keep, n1, n2, roots1, roots2, turns, tables, shift, ratio, first, second,
                    between,
                )  # fmt: skip
            else:
                one_convolved(
                    x_now, at, step_in, apart_in, real, out, at_out, step_out, apart_out, real_out,
                    keep, m, size, n1, n2, plan, signal, first, second, between,
                )  # fmt: skip
            if packed and kind == index(TO_COMPLEX) and not joined:
                for k in range(o, used):
                    join(out, word(shifted(bases_out, k)), step_out, m, tables, shift)

    return function
