"""One transform of a line of elements, or of several lines side by side: copied into the lanes of
vectors, transformed stage by stage, and copied out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..bridge import compiled
from ..by_address import REGISTER, either, get, make_scratch, put, shifted, word
from ..support import index
from .roots import root_imag, root_real
from .stages import RADICES, make_stage, of_prime
from .tiles import (
    from_lanes,
    from_neighbours,
    join_two,
    part_two,
    rotate,
    to_lanes,
    to_neighbours,
    turn,
)

__all__ = ["Passes", "passes", "plane_of", "stages"]

APART = 4
_STAGE = {r: make_stage(r) for r in RADICES}
_2, _3, _4, _5, _7, _8, _11, _13 = (_STAGE[r] for r in sorted(RADICES))


@compiled
def plane_of(n: Any, side: Any) -> Any:
    """How far the imaginary parts of n vectors lie behind the real ones where lines lie in lanes:
    more than all of those, or both would fall to the same places of the first cache."""
    return (n + index(APART)) * side


@compiled
def beside_another(apart: Any) -> Any:
    """Whether the parts of a complex element lie beside each other, in either order."""
    return apart == index(1) or apart == index(0) - index(1)


@compiled
def pairs_of(apart: Any) -> Any:
    """Of elements whose parts lie beside each other: how far behind the first part the real one
    lies, and the planes, 0 and 1, of the first part and of the second."""
    if apart == index(1):
        return index(0), index(0), index(1)
    return index(1), index(1), index(0)


class Passes(NamedTuple):
    """The functions for one dtype, and how many lanes its vectors have."""

    line: Callable[..., None]
    lines: Callable[..., None]
    enter: Callable[..., None]
    leave: Callable[..., None]
    fill_roots: Callable[..., None]
    fill_turns: Callable[..., None]
    fill_halves: Callable[..., None]
    lanes: int


@compiled
def stages(x: Any, y: Any, roots: Any, n: Any, s: Any, plane: Any) -> Any:
    """All stages of s transforms of length n, from x and with room in y; 1 where the result is in
    y, else 0."""
    o, unit = index(0), index(1)
    left, side, other = n, s, o
    while left > unit:
        a, b = either(other == o, x, y), either(other == o, y, x)
        skip = n // left
        if left % index(8) == o and left != index(16):
            left = left // index(8)
            _8(a, b, roots, left, side, skip, plane)
            side = side * index(8)
        elif left % index(4) == o:
            left = left // index(4)
            _4(a, b, roots, left, side, skip, plane)
            side = side * index(4)
        elif left % index(2) == o:
            left = left // index(2)
            _2(a, b, roots, left, side, skip, plane)
            side = side * index(2)
        elif left % index(3) == o:
            left = left // index(3)
            _3(a, b, roots, left, side, skip, plane)
            side = side * index(3)
        elif left % index(5) == o:
            left = left // index(5)
            _5(a, b, roots, left, side, skip, plane)
            side = side * index(5)
        elif left % index(7) == o:
            left = left // index(7)
            _7(a, b, roots, left, side, skip, plane)
            side = side * index(7)
        elif left % index(11) == o:
            left = left // index(11)
            _11(a, b, roots, left, side, skip, plane)
            side = side * index(11)
        elif left % index(13) == o:
            left = left // index(13)
            _13(a, b, roots, left, side, skip, plane)
            side = side * index(13)
        else:
            prime = index(17)
            while left % prime != o:
                prime = prime + index(2)
            left = left // prime
            of_prime(a, b, roots, left, side, skip, plane, prime)
            side = side * prime
        other = unit - other
    return other


def passes(dtype: str) -> Passes:
    """Elements lie `step` apart; the imaginary part of one is `apart` behind its real part. `real`
    lines have none."""
    t = np.dtype(dtype).type
    lanes = REGISTER // np.dtype(dtype).itemsize
    zero = t(0)
    place = make_scratch(2)

    @compiled
    def fill_roots(roots: Any, coarse: Any, shift: Any, n: Any, ratio: Any) -> None:
        """The n-th roots, out of tables of roots of the order n * ratio."""
        for k in range(index(0), n):
            at = k * ratio
            put(roots, index(2) * k, t(root_real(coarse, shift, at)))
            put(roots, index(2) * k + index(1), t(root_imag(coarse, shift, at)))

    half = lanes // 2

    @compiled
    def fill_turns(turns: Any, coarse: Any, shift: Any, n: Any, columns: Any, ratio: Any) -> None:
        """For each of n rows the roots by which its first vector of elements is turned: real parts,
        then imaginary ones. Beyond the end of a row nothing is asked."""
        two, side = index(2), index(lanes)
        for i in range(index(0), n):
            for lane in range(index(0), side):
                power = i * min(lane, columns - index(1)) * ratio
                put(turns, i * two * side + lane, root_real(coarse, shift, power))
                put(turns, i * two * side + side + lane, root_imag(coarse, shift, power))

    @compiled
    def line(  # type: ignore[no-untyped-def]
        x, at, step, apart, real, out, at_out, step_out, apart_out, real_out, keep,
        n1, n2, roots1, roots2, turns, coarse, shift, ratio, first, second, between,
    ):  # fmt: skip
        """One line of n1 * n2 elements: n2 transforms of every n2-th element, then n1 of those.
        The first `keep` elements are written."""
        o, unit, two, side = index(0), index(1), index(2), index(lanes)
        plane1, plane2 = n1 * side, n2 * side
        root = place(coarse)
        # Whole vectors of complex elements enter and leave as two loads and two shuffles.
        pair, even, odd = pairs_of(apart)
        pair_out, even_out, odd_out = pairs_of(apart_out)
        fast = not real and step == two and beside_another(apart)
        fast_out = not real_out and step_out == two and beside_another(apart_out)
        for start in range(o, n2, side):
            used = min(side, n2 - start)
            vectors = n1 if fast and used == side else o
            for i in range(o, vectors):
                here = at - pair + (i * n2 + start) * two
                to_neighbours(x, first, here, i * side + even * plane1, i * side + odd * plane1)
            for i in range(vectors, n1):
                here = at + (i * n2 + start) * step
                for lane in range(o, used):
                    put(first, i * side + lane, get(x, here + lane * step))
                if real:
                    for lane in range(o, used):
                        put(first, plane1 + i * side + lane, zero)
                else:
                    for lane in range(o, used):
                        put(first, plane1 + i * side + lane, get(x, here + lane * step + apart))
                for lane in range(used, side):
                    put(first, i * side + lane, zero)
                    put(first, plane1 + i * side + lane, zero)
            moved = stages(first, second, roots1, n1, side, plane1)
            done = either(moved == unit, second, first)
            whole = n1 - n1 % side if used == side else o
            for i in range(unit, n1):
                put(root, o, root_real(coarse, shift, i * start * ratio))
                put(root, unit, root_imag(coarse, shift, i * start * ratio))
                rotate(done, turns, root, i * side, plane1, i * two * side, o)
            # Blocks of as many rows as there are lanes, real and imaginary parts apart.
            for i in range(o, whole, side):
                to = i * two * n2 + start * side
                turn(done, between, i * side, to)
                turn(done, between, plane1 + i * side, to + plane2)
            for i in range(whole, n1):
                to = (i // side) * (two * plane2) + i % side
                for lane in range(o, used):
                    there = to + (start + lane) * side
                    put(between, there, get(done, i * side + lane))
                    put(between, there + plane2, get(done, plane1 + i * side + lane))
        for start in range(o, n1, side):
            used = min(side, n1 - start)
            block = shifted(between, start * two * n2)
            for i in range(used, side):
                for j in range(o, n2):
                    put(block, j * side + i, zero)
                    put(block, plane2 + j * side + i, zero)
            moved = stages(block, second, roots2, n2, side, plane2)
            done = either(moved == unit, second, block)
            for j in range(o, n2):
                if j * n1 + start >= keep:
                    break
                count = min(used, keep - (j * n1 + start))
                there = at_out + (j * n1 + start) * step_out
                if fast_out and count == side:
                    here = j * side
                    from_neighbours(
                        out, done, there - pair_out, here + even_out * plane2,
                        here + odd_out * plane2,
                    )  # fmt: skip
                    continue
                for lane in range(o, count):
                    put(out, there + lane * step_out, get(done, j * side + lane))
                if not real_out:
                    for lane in range(o, count):
                        put(out, there + lane * step_out + apart_out,
                            get(done, plane2 + j * side + lane))  # fmt: skip

    @compiled
    def beside(bases: Any, apart: Any, used: Any) -> Any:
        """Whether the complex elements of all lanes lie beside each other in memory; bases of lines
        of their own ascend by two or more."""
        first, last = word(bases), word(shifted(bases, index(lanes - 1)))
        pairs = apart == index(1) or apart == index(0) - index(1)
        return used == index(lanes) and pairs and last == first + index(2 * lanes - 2)

    @compiled
    def enter(  # type: ignore[no-untyped-def]
        x, bases, step, apart, real, bases_out, used, along, n, plane, first
    ):
        """n elements of the lines that begin at the first `used` of `bases`, one line in each lane;
        the lines lie side by side in memory where `along` is not the direction in which it
        runs. Lanes without a line of their own repeat the last one."""
        o, side = index(0), index(lanes)
        for lane in range(used, side):
            put(bases, lane, word(shifted(bases, used - index(1))))
            put(bases_out, lane, word(shifted(bases_out, used - index(1))))
        fast = along and not real and step == index(2)
        even, odd = index(0) if apart == index(1) else plane, plane if apart == index(1) else o
        pair = o if apart == index(1) else index(1)
        done_in = n - n % index(half) if fast else o
        for i in range(o, done_in, index(half)):
            to_lanes(x, bases, first, i * step - pair, i * side, even, odd)
        if along:
            for lane in range(o, side):
                here = word(shifted(bases, lane))
                for i in range(done_in, n):
                    put(first, i * side + lane, get(x, here + i * step))
                    if real:
                        put(first, plane + i * side + lane, zero)
                    else:
                        put(first, plane + i * side + lane, get(x, here + i * step + apart))
        elif not real and beside(bases, apart, used):
            here = word(bases) - pair
            for i in range(o, n):
                at = i * side
                to_neighbours(x, first, here + i * step, at + even, at + odd)
        else:
            for i in range(o, n):
                for lane in range(o, side):
                    here = word(shifted(bases, lane)) + i * step
                    put(first, i * side + lane, get(x, here))
                    if real:
                        put(first, plane + i * side + lane, zero)
                    else:
                        put(first, plane + i * side + lane, get(x, here + apart))

    @compiled
    def leave(  # type: ignore[no-untyped-def]
        done, out, bases_out, step_out, apart_out, real_out, keep, used, along, plane
    ):
        """The first `keep` elements out of the lanes."""
        o, side = index(0), index(lanes)
        fast = along and not real_out and step_out == index(2)
        even = index(0) if apart_out == index(1) else plane
        odd = plane if apart_out == index(1) else o
        pair = o if apart_out == index(1) else index(1)
        done_out = keep - keep % index(half) if fast else o
        for i in range(o, done_out, index(half)):
            from_lanes(out, bases_out, done, i * step_out - pair, i * side, even, odd)
        if along:
            for lane in range(o, used):
                there = word(shifted(bases_out, lane))
                for i in range(done_out, keep):
                    put(out, there + i * step_out, get(done, i * side + lane))
                    if not real_out:
                        put(out, there + i * step_out + apart_out,
                            get(done, plane + i * side + lane))  # fmt: skip
        elif not real_out and beside(bases_out, apart_out, used):
            there = word(bases_out) - pair
            for i in range(o, keep):
                at = i * side
                from_neighbours(out, done, there + i * step_out, at + even, at + odd)
        else:
            for i in range(o, keep):
                for lane in range(o, used):
                    there = word(shifted(bases_out, lane)) + i * step_out
                    put(out, there, get(done, i * side + lane))
                    if not real_out:
                        put(out, there + apart_out, get(done, plane + i * side + lane))

    @compiled
    def fill_halves(roots: Any, coarse: Any, shift: Any, m: Any, backwards: Any) -> None:
        """The roots by which the halves of 2 m real elements are joined, or parted."""
        scale = t(1) if backwards else t(0.5)
        sign = t(-1) if backwards else t(0.5)
        for k in range(index(0), m // index(2) + index(1)):
            put(roots, index(2) * k, scale * t(root_real(coarse, shift, k)))
            put(roots, index(2) * k + index(1), sign * t(root_imag(coarse, shift, k)))

    @compiled
    def join(x: Any, roots: Any, m: Any, plane: Any) -> None:
        """In all lanes the spectrum of 2 m real elements out of that of m complex ones."""
        side = index(lanes)
        for lane in range(index(0), side):
            a, b = get(x, lane), get(x, plane + lane)
            put(x, lane, a + b)
            put(x, plane + lane, zero)
            put(x, m * side + lane, a - b)
            put(x, plane + m * side + lane, zero)
        for k in range(index(1), m // index(2) + index(1)):
            join_two(x, roots, k * side, (m - k) * side, plane, index(2) * k)

    @compiled
    def part(x: Any, roots: Any, m: Any, plane: Any) -> None:
        """In all lanes the spectrum of m complex elements, parts exchanged, out of that of 2 m
        real ones."""
        side = index(lanes)
        for lane in range(index(0), side):
            a, c = get(x, lane), get(x, m * side + lane)
            put(x, lane, a - c)
            put(x, plane + lane, a + c)
        for k in range(index(1), m // index(2) + index(1)):
            part_two(x, roots, k * side, (m - k) * side, plane, index(2) * k)

    @compiled
    def lines(  # type: ignore[no-untyped-def]
        x, bases, step, apart, real, out, bases_out, step_out, apart_out, real_out, keep,
        used, along, n, roots, first, second, joined, parted, halves,
    ):  # fmt: skip
        """Several lines; those that are `joined` or `parted` are of twice as many real elements,
        whose spectra have n + 1."""
        side = index(lanes)
        plane = plane_of(n, side)
        enter(  # type: ignore[no-untyped-call]
            x, bases, step, apart, real, bases_out, used, along,
            n + index(1) if parted else n, plane, first,
        )  # fmt: skip
        if parted:
            part(first, halves, n, plane)
        moved = stages(first, second, roots, n, side, plane)
        done = either(moved == index(1), second, first)
        if joined:
            join(done, halves, n, plane)
        leave(  # type: ignore[no-untyped-call]
            done, out, bases_out, step_out, apart_out, real_out, keep, used, along, plane
        )

    return Passes(line, lines, enter, leave, fill_roots, fill_turns, fill_halves, lanes)
