"""Transforms of lengths with a large prime factor, as convolutions with a chirp (Bluestein 1970):
two transforms of a length that is made of small primes, and a third one of the chirp, which is part
of what `plans` keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..bridge import compiled
from ..by_address import either, get, put, shifted
from ..support import index
from .passes import Passes, plane_of, stages
from .plans import SLOTS, find, share, viewed
from .roots import coarse_size, root_imag, root_real, shift_of, tabulate
from .tiles import by_root

__all__ = ["Convolved", "convolved", "length_of_convolution", "plan_room", "shorter_side"]

HEAD = 8
"""Doubles before a plan's tables: the first is the length."""


@compiled
def length_of_convolution(n: Any) -> Any:
    """The least power of 2, or 3, 5, 9, 15, 25, 27, 45, 75 times one, that is at least 2 n - 1:
    lengths that are transformed fast."""
    least = index(2) * n - index(1)
    return min(
        doubled(index(16), least),
        doubled(index(48), least),
        doubled(index(80), least),
        doubled(index(144), least),
        doubled(index(240), least),
        doubled(index(400), least),
        doubled(index(432), least),
        doubled(index(720), least),
        doubled(index(1200), least),
    )


@compiled
def doubled(size: Any, least: Any) -> Any:
    """The size times the power of 2 that takes it to the least."""
    while size < least:
        size = size + size
    return size


@compiled
def shorter_side(n: Any) -> Any:
    """The largest divisor that is not above the root."""
    d = index(1) << shift_of(n)
    while d * d > n or n % d != index(0):
        d = d - index(1)
    return d


@compiled
def plan_room(m: Any, size: Any, n1: Any, n2: Any, side: Any) -> Any:
    """How many doubles a plan takes, whatever the precision: the tables of roots and the turns
    between the halves of a line; the chirp, its spectrum, and the roots of the halves and of the
    whole."""
    tables = index(HEAD) + coarse_size(size) + index(2) * side * n1
    return tables + index(2) * (m + size + n1 + n2 + size)


class Convolved(NamedTuple):
    """The functions for one dtype."""

    planned: Callable[..., Any]
    one: Callable[..., None]
    several: Callable[..., None]


def convolved(dtype: str, parts: Passes) -> Convolved:
    """`m` is the length, `size` that of the convolution, n1 * n2; the other arguments are those of
    the passes without a convolution."""
    t = np.dtype(dtype).type
    line, _, enter, leave, fill_roots, fill_turns, _, lanes = parts

    @compiled
    def fill(  # type: ignore[no-untyped-def]
        plan, m, size, n1, n2, of_chirp, first, second, between
    ):
        o, unit, two, side = index(0), index(1), index(2), index(lanes)
        put(plan, o, np.float64(m))
        table = shifted(plan, index(HEAD))
        turns = shifted(table, coarse_size(size))
        chirp = viewed(shifted(turns, two * side * n1), first)
        other = shifted(chirp, two * m)
        roots1 = shifted(other, two * size)
        roots2 = shifted(roots1, two * n1)
        tabulate(of_chirp, two * m)
        tabulate(table, size)
        shift, shift_of_chirp = shift_of(size), shift_of(two * m)
        fill_roots(roots1, table, shift, n1, n2)
        fill_roots(roots2, table, shift, n2, n1)
        fill_roots(shifted(roots2, two * n2), table, shift, size, unit)
        fill_turns(turns, table, shift, n1, n2, unit)
        power = o
        for k in range(o, two * size):
            put(other, k, t(0))
        scale = t(1) / t(size)
        for k in range(o, m):
            c = t(root_real(of_chirp, shift_of_chirp, power))
            s = t(root_imag(of_chirp, shift_of_chirp, power))
            put(chirp, two * k, c)
            put(chirp, two * k + unit, s)
            put(other, two * k, c * scale)
            put(other, two * k + unit, -s * scale)
            if k != o:
                put(other, two * (size - k), c * scale)
                put(other, two * (size - k) + unit, -s * scale)
            power = power + two * k + unit  # k * k, less than 4 m before it is taken back
            power = power - two * m if power >= two * m else power
        line(
            other, o, two, unit, False, other, o, two, unit, False, size,
            n1, n2, roots1, roots2, turns, table, shift, unit, first, second, between,
        )  # fmt: skip

    @compiled
    def planned(  # type: ignore[no-untyped-def]
        m, size, n1, n2, tables, first, second, between
    ):
        """The slot of the plan for a length; where there is none, it stands in `tables` behind
        the room of the chirp's roots."""
        slot = find(tables, np.float64(m))
        if slot == index(SLOTS):
            plan = shifted(tables, coarse_size(index(2) * m))
            fill(  # type: ignore[no-untyped-call]
                plan, m, size, n1, n2, tables, first, second, between
            )
            share(plan, plan_room(m, size, n1, n2, index(lanes)))
        return slot

    @compiled
    def one(  # type: ignore[no-untyped-def]
        x, at, step, apart, real, out, at_out, step_out, apart_out, real_out, keep,
        m, size, n1, n2, plan, signal, first, second, between,
    ):  # fmt: skip
        o, unit, two, side = index(0), index(1), index(2), index(lanes)
        table = shifted(plan, index(HEAD))
        turns = shifted(table, coarse_size(size))
        chirp = viewed(shifted(turns, two * side * n1), first)
        other = shifted(chirp, two * m)
        roots1 = shifted(other, two * size)
        roots2 = shifted(roots1, two * n1)
        shift = shift_of(size)
        for k in range(o, m):
            a = get(x, at + k * step)
            b = t(0) if real else get(x, at + k * step + apart)
            c, s = get(chirp, two * k), get(chirp, two * k + unit)
            put(signal, two * k, a * c - b * s)
            put(signal, two * k + unit, a * s + b * c)
        for k in range(two * m, two * size):
            put(signal, k, t(0))
        line(
            signal, o, two, unit, False, signal, o, two, unit, False, size,
            n1, n2, roots1, roots2, turns, table, shift, unit, first, second, between,
        )  # fmt: skip
        for k in range(o, size):
            a, b = get(signal, two * k), get(signal, two * k + unit)
            c, s = get(other, two * k), get(other, two * k + unit)
            # With the parts exchanged the same transform is the inverse one.
            put(signal, two * k, a * s + b * c)
            put(signal, two * k + unit, a * c - b * s)
        line(
            signal, o, two, unit, False, signal, o, two, unit, False, m,
            n1, n2, roots1, roots2, turns, table, shift, unit, first, second, between,
        )  # fmt: skip
        for k in range(o, keep):
            a, b = get(signal, two * k + unit), get(signal, two * k)
            c, s = get(chirp, two * k), get(chirp, two * k + unit)
            put(out, at_out + k * step_out, a * c - b * s)
            if not real_out:
                put(out, at_out + k * step_out + apart_out, a * s + b * c)

    @compiled
    def several(  # type: ignore[no-untyped-def]
        x, bases, step, apart, real, out, bases_out, step_out, apart_out, real_out, keep,
        used, along, m, size, n1, n2, plan, first, second,
    ):  # fmt: skip
        """One line in each lane, as `lines` of the passes."""
        o, unit, two, side = index(0), index(1), index(2), index(lanes)
        chirp = viewed(shifted(plan, index(HEAD) + coarse_size(size) + two * side * n1), first)
        other = shifted(chirp, two * m)
        roots = shifted(other, two * (size + n1 + n2))
        plane = plane_of(size, side)
        enter(x, bases, step, apart, real, bases_out, used, along, m, plane, first)
        for k in range(o, m):
            at = k * side
            by_root(first, chirp, at, plane, two * k, at, at + plane)
        for k in range(m * side, size * side):
            put(first, k, t(0))
            put(first, plane + k, t(0))
        moved = stages(first, second, roots, size, side, plane)
        done, spare = either(moved == unit, second, first), either(moved == unit, first, second)
        for k in range(o, size):
            at = k * side
            by_root(done, other, at, plane, two * k, at + plane, at)
        moved = stages(done, spare, roots, size, side, plane)
        done = either(moved == unit, spare, done)
        for k in range(o, keep):
            at = k * side
            by_root(done, chirp, at + plane, o - plane, two * k, at, at + plane)
        leave(done, out, bases_out, step_out, apart_out, real_out, keep, used, along, plane)

    return Convolved(planned, one, several)
