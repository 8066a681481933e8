"""The stages of a fast Fourier transform: sums of 2 to 13 elements at a time, written as vector
instructions.

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
from ..gemm import REGISTER

__all__ = ["RADICES", "make_stage"]

RADICES = (8, 4, 2, 3, 5, 7, 11, 13)
"""Lengths of any other prime factor are transformed as a convolution (`transform`)."""
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

    def times_real(self, x: Number, c: float) -> Number:
        factor = self.constant(c)
        return tuple(self.builder.fmul(a, factor, flags=FUSED) for a in x)

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


def make_stage(r: int) -> Callable[..., None]:
    """`stage(x, y, roots, m, s, skip)`: of the m * r elements along the first axis of x (each of s
    lanes), sums of r; y is ordered as the next stage wants it.

    `roots` are pairs of the real and the imaginary part; the first root of order m * r is `skip`
    of them away from the beginning. s is a multiple of the lanes of a vector.
    """

    def stage(x: Any, y: Any, roots: Any, m: Any, s: Any, skip: Any) -> None:
        raise TypeError("compiled code only")

    def typer(x: Any, y: Any, roots: Any, m: Any, s: Any, skip: Any) -> Any:
        u = types.uintp
        return signature(types.none, x, x, x, u, u, u)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x, y, roots, m, s, skip = args
        element = context.get_value_type(sig.args[0].dtype)
        size = context.get_abi_sizeof(element)
        lanes = REGISTER // size
        vector = ir.VectorType(element, lanes)
        word = m.type
        do = _Arithmetic(builder, vector)

        def number(value: int) -> Any:
            return ir.Constant(word, value)

        def place(base: Any, at: Any) -> Any:
            return builder.bitcast(builder.gep(base, [at]), vector.as_pointer())

        def load(base: Any, at: Any) -> Any:
            value = builder.load(place(base, at))
            value.align = size
            return value

        def spread(value: Any) -> Any:
            undefined = ir.Constant(vector, ir.Undefined)
            index = ir.IntType(32)
            first = builder.insert_element(undefined, value, ir.Constant(index, 0))
            return builder.shuffle_vector(
                first, undefined, ir.Constant(ir.VectorType(index, lanes), [0] * lanes)
            )

        step = builder.mul(m, s)
        plane = builder.mul(step, number(r))

        def row(p: Any, twiddles: list[Number] | None) -> None:
            first_in, first_out = builder.mul(p, s), builder.mul(p, builder.mul(s, number(r)))
            with cgutils.for_range_slice(builder, number(0), s, number(lanes), word) as (q, _):
                at = builder.add(first_in, q)
                taken: list[Number] = []
                for k in range(r):
                    here = builder.add(at, builder.mul(step, number(k)))
                    taken.append((load(x, here), load(x, builder.add(here, plane))))
                made = do.transform(taken)
                to = builder.add(first_out, q)
                for j, value in enumerate(made):
                    if twiddles is not None and j:
                        value = do.times(value, twiddles[j - 1])
                    there = builder.add(to, builder.mul(s, number(j)))
                    for part, shift in zip(value, (there, builder.add(there, plane)), strict=True):
                        builder.store(part, place(y, shift)).align = size

        row(number(0), None)
        with cgutils.for_range_slice(builder, number(1), m, number(1), word) as (p, _):
            twiddles = []
            for j in range(1, r):
                at = builder.mul(builder.mul(p, skip), number(2 * j))
                parts = [builder.load(builder.gep(roots, [builder.add(at, number(k))]))
                         for k in (0, 1)]  # fmt: skip
                twiddles.append((spread(parts[0]), spread(parts[1])))
            row(p, twiddles)
        return context.get_dummy_value()

    primitive(stage, typer)(lower)
    return stage
