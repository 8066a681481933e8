"""The stages of a fast Fourier transform: sums of 2 to 13 elements at a time, and of the elements
of a larger prime number, written as vector instructions.

Several transforms run side by side, one in each lane of the vectors, so that no stage needs a
shuffle. Real and imaginary parts lie apart: first all real parts, then all imaginary ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature

from ..bridge import primitive
from ..by_address import REGISTER

__all__ = ["LARGEST", "RADICES", "make_stage", "of_prime"]

RADICES = (8, 4, 2, 3, 5, 7, 11, 13)
LARGEST = 257
"""Primes from 17 to this one have one stage in common; lengths of a larger prime factor are
transformed as a convolution (`transform`)."""
FUSED = ("contract",)
Number = tuple[Any, Any]


class _Arithmetic:
    """Complex numbers as pairs of vectors."""

    def __init__(self, builder: Any, vector: Any) -> None:
        self.builder, self.vector = builder, vector

    def constant(self, value: float) -> Any:
        return ir.Constant(self.vector, [value] * self.vector.count)

    def plus(self, x: Number, y: Number) -> Number:
        return tuple(self.builder.fadd(a, b, flags=FUSED) for a, b in zip(x, y, strict=True))

    def minus(self, x: Number, y: Number) -> Number:
        return tuple(self.builder.fsub(a, b, flags=FUSED) for a, b in zip(x, y, strict=True))

    def scaled(self, x: Number, factor: Any) -> Number:
        return tuple(self.builder.fmul(a, factor, flags=FUSED) for a in x)

    def times_real(self, x: Number, c: float) -> Number:
        return self.scaled(x, self.constant(c))

    def times(self, x: Number, w: Number) -> Number:
        b = self.builder

        def product(p: Any, q: Any) -> Any:
            return b.fmul(p, q, flags=FUSED)

        return (
            b.fsub(product(x[0], w[0]), product(x[1], w[1]), flags=FUSED),
            b.fadd(product(x[0], w[1]), product(x[1], w[0]), flags=FUSED),
        )

    def turned(self, x: Number) -> Number:
        """-i x."""
        return x[1], self.builder.fneg(x[0])

    # --- sums over r elements ---------------------------------------------------------------------

    def transform(self, x: list[Number]) -> list[Number]:
        r = len(x)
        if r == 2:
            return [self.plus(*x), self.minus(*x)]
        if r in (4, 8):
            return self._halves(x)
        return self._odd(x)

    def _halves(self, x: list[Number]) -> list[Number]:
        even, odd = self.transform(x[::2]), self.transform(x[1::2])
        for k in range(1, len(odd)):
            odd[k] = self._eighth(odd[k], k * 8 // len(x))
        return [self.plus(a, b) for a, b in zip(even, odd, strict=True)] + [
            self.minus(a, b) for a, b in zip(even, odd, strict=True)
        ]

    def _eighth(self, x: Number, k: int) -> Number:
        """x times the k-th power of the eighth root exp(-i pi / 4)."""
        if k >= 2:
            return self._eighth(self.turned(x), k - 2)
        if k == 0:
            return x
        return self.times_real(self.plus(x, self.turned(x)), math.sqrt(0.5))

    def _odd(self, x: list[Number]) -> list[Number]:
        r = len(x)
        half = range(1, (r + 1) // 2)
        sums = {k: self.plus(x[k], x[r - k]) for k in half}
        gaps = {k: self.minus(x[k], x[r - k]) for k in half}
        out: list[Any] = [x[0]] + [None] * (r - 1)
        for k in half:
            out[0] = self.plus(out[0], sums[k])
        for j in half:
            along, across = x[0], None
            for k in half:
                angle = 2 * math.pi * (j * k % r) / r
                along = self.plus(along, self.times_real(sums[k], math.cos(angle)))
                term = self.times_real(gaps[k], math.sin(angle))
                across = term if across is None else self.plus(across, term)
            assert across is not None
            turned = self.turned(across)
            out[j], out[r - j] = self.plus(along, turned), self.minus(along, turned)
        return out


class _Lanes:
    """Vectors of one element per lane, in memory: the real part of a number lies `plane` elements
    before its imaginary part."""

    def __init__(self, context: Any, builder: Any, pointer: Any, word: Any) -> None:
        element = context.get_value_type(pointer.dtype)
        self.builder, self.word = builder, word
        self.size = context.get_abi_sizeof(element)
        self.count = REGISTER // self.size
        self.vector = ir.VectorType(element, self.count)

    def number(self, value: int) -> Any:
        return ir.Constant(self.word, value)

    def place(self, base: Any, at: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(base, [at]), self.vector.as_pointer())

    def load(self, base: Any, at: Any, plane: Any) -> Number:
        parts = []
        for here in (at, self.builder.add(at, plane)):
            value = self.builder.load(self.place(base, here))
            value.align = self.size
            parts.append(value)
        return tuple(parts)

    def store(self, value: Number, base: Any, at: Any, plane: Any) -> None:
        for part, here in zip(value, (at, self.builder.add(at, plane)), strict=True):
            self.builder.store(part, self.place(base, here)).align = self.size

    def spread(self, value: Any) -> Any:
        undefined = ir.Constant(self.vector, ir.Undefined)
        index = ir.IntType(32)
        first = self.builder.insert_element(undefined, value, ir.Constant(index, 0))
        lanes = ir.Constant(ir.VectorType(index, self.count), [0] * self.count)
        return self.builder.shuffle_vector(first, undefined, lanes)

    def root(self, roots: Any, k: Any) -> Number:
        """The k-th of the roots in all lanes."""
        at = self.builder.mul(k, self.number(2))
        places = (at, self.builder.add(at, self.number(1)))
        return tuple(
            self.spread(self.builder.load(self.builder.gep(roots, [here]))) for here in places
        )


def make_stage(r: int) -> Callable[..., None]:
    """`stage(x, y, roots, m, s, skip, plane)`: of the m * r elements along the first axis of x
    (each of s lanes), sums of r; y is ordered as the next stage wants it.

    `roots` are pairs of the real and the imaginary part; the first root of order m * r is `skip`
    of them away from the beginning. s is a multiple of the lanes of a vector. Imaginary parts lie
    `plane` elements behind the real ones.
    """

    def stage(x: Any, y: Any, roots: Any, m: Any, s: Any, skip: Any, plane: Any) -> None:
        raise TypeError("compiled code only")

    def typer(x: Any, y: Any, roots: Any, m: Any, s: Any, skip: Any, plane: Any) -> Any:
        u = types.uintp
        return signature(types.none, x, x, x, u, u, u, u)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x, y, roots, m, s, skip, plane = args
        word = m.type
        lanes = _Lanes(context, builder, sig.args[0], word)
        number = lanes.number
        do = _Arithmetic(builder, lanes.vector)
        step = builder.mul(m, s)

        def row(p: Any, twiddles: list[Number] | None) -> None:
            first_in, first_out = builder.mul(p, s), builder.mul(p, builder.mul(s, number(r)))
            with cgutils.for_range_slice(builder, number(0), s, number(lanes.count), word) as (
                q,
                _,
            ):
                at, to = builder.add(first_in, q), builder.add(first_out, q)
                taken = [
                    lanes.load(x, builder.add(at, builder.mul(step, number(k))), plane)
                    for k in range(r)
                ]
                for j, value in enumerate(do.transform(taken)):
                    if twiddles is not None and j:
                        value = do.times(value, twiddles[j - 1])
                    lanes.store(value, y, builder.add(to, builder.mul(s, number(j))), plane)

        row(number(0), None)
        with cgutils.for_range_slice(builder, number(1), m, number(1), word) as (p, _):
            first = builder.mul(p, skip)
            row(p, [lanes.root(roots, builder.mul(first, number(j))) for j in range(1, r)])
        return context.get_dummy_value()

    primitive(stage, typer)(lower)
    return stage


def of_prime(x: Any, y: Any, roots: Any, m: Any, s: Any, skip: Any, plane: Any, r: Any) -> None:
    """A stage of `make_stage` for an odd r of at most `LARGEST`, known when it runs: sums over the
    pairs of elements k and r - k, two results and their mirror images at a time."""
    raise TypeError("compiled code only")


def _type_of_prime(
    x: Any, y: Any, roots: Any, m: Any, s: Any, skip: Any, plane: Any, r: Any
) -> Any:
    u = types.uintp
    return signature(types.none, x, x, x, u, u, u, u, u)


@primitive(of_prime, _type_of_prime)
def _lower_of_prime(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    x, y, roots, m, s, skip, plane, r = args
    word = m.type
    lanes = _Lanes(context, builder, sig.args[0], word)
    number = lanes.number
    do = _Arithmetic(builder, lanes.vector)
    zero, one = number(0), number(1)
    step = builder.mul(m, s)
    half = builder.udiv(r, number(2))
    past_half = builder.add(half, one)
    of_r = builder.mul(m, skip)  # so many roots lie between two that are of order r
    # Sums and differences of pairs, from 1 on; the results of a vector while they grow.
    room = LARGEST // 2 + 1
    sums, gaps, grown = (
        [cgutils.alloca_once(builder, lanes.vector, size) for _ in range(2)]
        for size in (room, room, 4)
    )

    def get(pair: Any, at: Any) -> Number:
        return tuple(builder.load(builder.gep(part, [at])) for part in pair)

    def put(value: Number, pair: Any, at: Any) -> None:
        for part, memory in zip(value, pair, strict=True):
            builder.store(part, builder.gep(memory, [at]))

    nothing = (do.constant(0.0), do.constant(0.0))
    with (
        cgutils.for_range_slice(builder, zero, m, one, word) as (p, _),
        cgutils.for_range_slice(builder, zero, s, number(lanes.count), word) as (q, _),
    ):
        at = builder.add(builder.mul(p, s), q)
        to = builder.add(builder.mul(p, builder.mul(s, r)), q)
        first = lanes.load(x, at, plane)
        put(first, grown, zero)
        with cgutils.for_range_slice(builder, one, past_half, one, word) as (k, _):
            low = lanes.load(x, builder.add(at, builder.mul(step, k)), plane)
            high = lanes.load(x, builder.add(at, builder.mul(step, builder.sub(r, k))), plane)
            put(do.plus(low, high), sums, k)
            put(do.minus(low, high), gaps, k)
            put(do.plus(get(grown, zero), get(sums, k)), grown, zero)
        lanes.store(get(grown, zero), y, to, plane)
        turn = builder.mul(p, skip)
        with cgutils.for_range_slice(builder, one, past_half, number(2), word) as (j, _):
            # The last of an odd number of results is computed twice.
            after = builder.add(j, one)
            second = builder.select(builder.icmp_unsigned("<", after, past_half), after, j)
            both = (j, second)
            for slot in range(2):
                put(first, grown, number(2 * slot))
                put(nothing, grown, number(2 * slot + 1))
            powers = [cgutils.alloca_once_value(builder, zero) for _ in both]
            for power in powers:
                builder.store(zero, power)
            with cgutils.for_range_slice(builder, one, past_half, one, word) as (k, _):
                total, gap = get(sums, k), get(gaps, k)
                for slot, (result, power) in enumerate(zip(both, powers, strict=True)):
                    more = builder.add(builder.load(power), result)
                    less = builder.sub(more, r)
                    more = builder.select(builder.icmp_unsigned("<", more, r), more, less)
                    builder.store(more, power)
                    # The root is cos - i sin.
                    c, minus_s = lanes.root(roots, builder.mul(more, of_r))
                    along, across = number(2 * slot), number(2 * slot + 1)
                    put(do.plus(get(grown, along), do.scaled(total, c)), grown, along)
                    put(do.plus(get(grown, across), do.scaled(gap, minus_s)), grown, across)
            for slot, result in enumerate(both):
                along = get(grown, number(2 * slot))
                # -i times the sum with the sines.
                turned = do.turned(get(grown, number(2 * slot + 1)))
                mirrored = builder.sub(r, result)
                for index, value in (
                    (result, do.minus(along, turned)), (mirrored, do.plus(along, turned)),
                ):  # fmt: skip
                    value = do.times(value, lanes.root(roots, builder.mul(turn, index)))
                    lanes.store(value, y, builder.add(to, builder.mul(s, index)), plane)
    return context.get_dummy_value()
