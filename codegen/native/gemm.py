"""Matrix products of floats in registers: one routine per dtype for every size, layout and
transposition.

A block of `ROWS` rows by up to three vectors of columns of the result stays in registers while the
summed axis runs; the columns of `b` that it needs are copied side by side first. The vectors are
LLVM's own, as wide as the machine's registers, so nothing here belongs to one vendor. On a machine
with 512-bit registers this takes about half the time of OpenBLAS's 256-bit kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import llvmlite.binding as binding
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.np import numpy_support

from .bridge import primitive
from .by_address import (
    REGISTER,
    either,
    fetched,
    get,
    given_back,
    is_there,
    make_scratch,
    put,
    reserved,
    shifted,
    word,
)
from .lift import lift
from .support import index, wide

__all__ = ["ADD", "DTYPES", "NEGATE", "SCALED", "SYMMETRIC", "entry", "entry_signature"]

DTYPES = ("float32", "float64")
ADD, SCALED, SYMMETRIC, NEGATE = 1, 2, 4, 8
"""Flags: add to `c` instead of overwriting it; weigh the terms of the sums by `scale`; `c` is
symmetric, so that half of it is enough; take minus the sums.

Of a symmetric result the first m rows may be asked for: what stands below them in the first m
columns is written too."""


# The accumulators, the vectors of b and one element of a must fit into the registers: 32 of them,
# or 16 on x86 before AVX-512.
ROWS = 8 if REGISTER == 64 or binding.get_process_triple().startswith(("aarch64", "arm64")) else 4
VECTORS = 3
DEEP, TALL = 256, 256
"""The terms summed and the rows taken at a time, so that what is read again and again stays in the
caches."""
LARGE = 64, 480, 128
"""Rows, columns and terms from which on operands lie outside of the nearest caches: rows of `a` are
copied block by block (far apart they would meet in the same sets of a cache, and each panel reads
them again), and what the next blocks read and write is fetched ahead."""


def _masks(builder: Any, lanes: int, vectors: int, used: Any) -> list[Any]:
    """Which lanes of each vector are among the first `used`."""
    number = ir.IntType(32)
    kind = ir.VectorType(number, lanes)
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, builder.trunc(used, number), ir.Constant(number, 0))
    count = builder.shuffle_vector(first, undefined, ir.Constant(kind, [0] * lanes))
    return [
        builder.icmp_unsigned(
            "<", ir.Constant(kind, list(range(v * lanes, (v + 1) * lanes))), count
        )
        for v in range(vectors)
    ]


class _Masked:
    """Reading and writing some lanes of a vector; the others are not touched."""

    def __init__(self, builder: Any, vector: Any, align: int) -> None:
        self.builder, self.align = builder, ir.Constant(ir.IntType(32), align)
        name = f"v{vector.count}{ {'float': 'f32', 'double': 'f64'}[str(vector.element)] }.p0"
        pointer, mask = vector.as_pointer(), ir.VectorType(ir.IntType(1), vector.count)
        kinds = (
            (vector, [pointer, ir.IntType(32), mask, vector], "load"),
            (ir.VoidType(), [vector, pointer, ir.IntType(32), mask], "store"),
        )
        self._load, self._store = (
            cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(result, given), f"llvm.masked.{what}.{name}"
            )
            for result, given, what in kinds
        )

    def load(self, place: Any, mask: Any, otherwise: Any) -> Any:
        return self.builder.call(self._load, [place, self.align, mask, otherwise])

    def store(self, value: Any, place: Any, mask: Any) -> None:
        self.builder.call(self._store, [value, place, self.align, mask])


def _make_tile(vectors: int) -> Callable[..., None]:
    """`c[i, j] (+)= sign * sum_q a[i, q] b[q, j]` for ROWS rows and `vectors` vectors of columns,
    of which the first `rows` and `used` are written."""

    def tile(*args: Any) -> None:
        raise TypeError("compiled code only")

    def typer(  # type: ignore[no-untyped-def]
        k, a, at_a, row_a, step_a, b, at_b, step_b, c, at_c, row_c, rows, used, add, sign,
    ):  # fmt: skip
        u = types.uintp
        return signature(types.none, u, a, u, u, u, b, u, u, c, u, u, u, u, types.boolean, a.dtype)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        k, a, at_a, row_a, step_a, b, at_b, step_b, c, at_c, row_c, rows, used, add, sign = args
        element = context.get_value_type(sig.args[1].dtype)
        size = context.get_abi_sizeof(element)
        lanes = REGISTER // size
        vector = ir.VectorType(element, lanes)
        word, spread = k.type, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        undefined = ir.Constant(vector, ir.Undefined)

        def number(value: int) -> Any:
            return ir.Constant(word, value)

        def place(base: Any, offset: Any) -> Any:
            return builder.bitcast(builder.gep(base, [offset]), vector.as_pointer())

        from_a, from_b, to_c = (
            builder.gep(a, [at_a]),
            builder.gep(b, [at_b]),
            builder.gep(c, [at_c]),
        )
        last = builder.sub(rows, number(1))
        offsets = [
            builder.mul(
                builder.select(builder.icmp_unsigned("<", number(r), rows), number(r), last), row_a
            )
            for r in range(ROWS)
        ]
        before, loop, after = (
            builder.block,
            builder.append_basic_block("terms"),
            builder.append_basic_block("sums"),
        )
        builder.branch(loop)
        builder.position_at_end(loop)
        q, pa, pb = builder.phi(word), builder.phi(from_a.type), builder.phi(from_b.type)
        sums = [[builder.phi(vector) for _ in range(vectors)] for _ in range(ROWS)]
        columns = []
        for v in range(vectors):
            columns.append(builder.load(place(pb, number(v * lanes))))
            columns[-1].align = size
        new = []
        for r in range(ROWS):
            x = builder.load(builder.gep(pa, [offsets[r]]))
            xs = builder.shuffle_vector(
                builder.insert_element(undefined, x, ir.Constant(ir.IntType(32), 0)),
                undefined,
                spread,
            )
            fuse = ("contract",)
            new.append(
                [
                    builder.fadd(builder.fmul(xs, column, flags=fuse), total, flags=fuse)
                    for column, total in zip(columns, sums[r], strict=True)
                ]
            )
        following = builder.add(q, number(1))
        steps = [
            (q, number(0), following),
            (pa, from_a, builder.gep(pa, [step_a])),
            (pb, from_b, builder.gep(pb, [step_b])),
        ]
        zero = ir.Constant(vector, [0.0] * lanes)
        steps += [(sums[r][v], zero, new[r][v]) for r in range(ROWS) for v in range(vectors)]
        for variable, first, later in steps:
            variable.add_incoming(first, before)
            variable.add_incoming(later, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, k), loop, after)
        builder.position_at_end(after)
        first = builder.insert_element(undefined, sign, ir.Constant(ir.IntType(32), 0))
        signs = builder.shuffle_vector(first, undefined, spread)
        new = [[builder.fmul(x, signs) for x in row] for row in new]
        targets = [
            [
                place(to_c, builder.add(builder.mul(number(r), row_c), number(v * lanes)))
                for v in range(vectors)
            ]
            for r in range(ROWS)
        ]
        whole = builder.and_(
            builder.icmp_unsigned("==", rows, number(ROWS)),
            builder.icmp_unsigned("==", used, number(vectors * lanes)),
        )
        with builder.if_else(whole) as (inside, edge):
            with inside, builder.if_else(add) as branches:
                for adds, branch in zip((True, False), branches, strict=True):
                    with branch:
                        for r, v in product(range(ROWS), range(vectors)):
                            value = new[r][v]
                            if adds:
                                old = builder.load(targets[r][v])
                                old.align = size
                                value = builder.fadd(old, value)
                            builder.store(value, targets[r][v]).align = size
            with edge:
                # All vectors but the last are whole: masked stores take some machines 20 cycles.
                (mask,) = _masks(builder, lanes, vectors, used)[-1:]
                masked = _Masked(builder, vector, size)
                for r in range(ROWS):
                    with builder.if_then(builder.icmp_unsigned("<", number(r), rows)):
                        for v, target in enumerate(targets[r]):
                            if v < vectors - 1:
                                old = builder.load(target)
                                old.align = size
                            else:
                                old = masked.load(target, mask, zero)
                            value = builder.select(add, builder.fadd(old, new[r][v]), new[r][v])
                            if v < vectors - 1:
                                builder.store(value, target).align = size
                            else:
                                masked.store(value, target, mask)
        return context.get_dummy_value()

    primitive(tile, typer)(lower)
    return tile


_tile_1, _tile_2, _tile_3 = (_make_tile(v + 1) for v in range(VECTORS))


def entry_signature(dtype: str) -> Any:
    """Everything by address, as the routines of BLAS: m, n, k, a and its strides, b and its
    strides, scale, c and its row's stride, flags.

    Then how many such products there are, and how far the next a, b, scale and c lie.
    """
    i, t = types.CPointer(types.int64), types.CPointer(numpy_support.from_dtype(np.dtype(dtype)))
    return types.void(i, i, i, t, i, i, t, i, i, t, t, i, i, i, i, i, i, i)


def entry(dtype: str) -> Callable[..., None]:
    """The Python function that is compiled for `dtype`, with the arguments of `entry_signature`.
    Strides count elements."""
    t = np.dtype(dtype).type
    lanes = REGISTER // np.dtype(dtype).itemsize
    widest = lanes * VECTORS
    zero, one, minus = t(0), t(1), t(-1)
    panel_space, lift_of = make_scratch(DEEP * widest), lift(dtype)

    def products(  # type: ignore[no-untyped-def]
        of_m, of_n, of_k, first_a, at_row_a, at_step_a, first_b, at_step_b, at_col_b, first_scale,
        first_c, at_row_c, at_flags, at_count, next_a, next_b, next_scale, next_c,
    ):  # fmt: skip
        o, unit, two, three = index(0), index(1), index(2), index(3)
        block, widths, deep, tall = index(ROWS), index(widest), index(DEEP), index(TALL)
        # As wide as the machine has them, whatever the compiler would choose by itself.
        wide()
        m, n, k, row_a, step_a = word(of_m), word(of_n), word(of_k), word(at_row_a), word(at_step_a)
        step_b, col_b, row_c, flags = (
            word(at_step_b),
            word(at_col_b),
            word(at_row_c),
            word(at_flags),
        )
        onto, scaled, half = (
            (flags & index(ADD)) != o,
            (flags & index(SCALED)) != o,
            (flags & index(SYMMETRIC)) != o,
        )
        sign = minus if (flags & index(NEGATE)) != o else one
        panel = panel_space(first_a)
        large = m >= index(LARGE[0]) and n >= index(LARGE[1]) and k >= index(LARGE[2])
        # Without memory the block is read where it lies.
        store = reserved(first_a, tall * deep if large else o)
        packs = is_there(store)
        row, step = unit if packs else row_a, block if packs else step_a
        for number in range(o, word(at_count)):
            a, b = shifted(first_a, number * word(next_a)), shifted(first_b, number * word(next_b))
            scale, c = (
                shifted(first_scale, number * word(next_scale)),
                shifted(first_c, number * word(next_c)),
            )
            lifted = one
            if scaled:
                lifted = lift_of(m, n, k, a, row_a, step_a, b, step_b, col_b, scale)
            factor = sign / lifted
            if k == o and not onto:
                for i in range(o, m):
                    for j in range(o, n):
                        put(c, i * row_c + j, zero)
            from_a = either(packs, store, a)
            for top in range(o, m, tall):
                end = min(m, top + tall)
                for start in range(o, k, deep):
                    depth = min(deep, k - start)
                    add = onto or start > o
                    # Where blocks of rows begin: told here, so that the loops below have no choice
                    # in them, of which the compiler would make two loops.
                    first, across = top if packs else o, depth if packs else row_a
                    start_a = o if packs else start * step_a
                    share = (depth * block + end - top - unit) // (end - top)
                    if packs:
                        for i in range(top, end, block):
                            at = (i - top) * depth
                            for q in range(o, depth):
                                for r in range(o, block):
                                    place = min(i + r, end - unit) * row_a + (start + q) * step_a
                                    put(store, at + q * block + r, get(a, place))
                    for j in range(top // widths * widths if half else o, n, widths):
                        used = min(widths, n - j)
                        vectors = (used + index(lanes - 1)) // index(lanes)
                        width = vectors * index(lanes)
                        # Copying the columns side by side pays where several blocks of rows read
                        # them.
                        direct = (
                            end - top <= block + block
                            and used == width
                            and col_b == unit
                            and not scaled
                        )
                        source = either(direct, b, panel)
                        at_b = start * step_b + j if direct else o
                        apart = step_b if direct else width
                        if direct:
                            pass
                        elif col_b == unit and used == widths:
                            for q in range(o, depth):
                                s = get(scale, start + q) * lifted if scaled else one
                                for z in range(o, widths):
                                    put(
                                        panel,
                                        q * widths + z,
                                        get(b, (start + q) * step_b + j + z) * s,
                                    )
                        else:
                            for q in range(o, depth):
                                s = get(scale, start + q) * lifted if scaled else one
                                for z in range(o, width):
                                    put(
                                        panel,
                                        q * width + z,
                                        get(b, (start + q) * step_b + (j + z) * col_b) * s
                                        if z < used
                                        else zero,
                                    )
                        ahead = large and not direct and col_b == unit and j + widths < n
                        fetched_to = o
                        for i in range(top, min(end, j + used) if half else end, block):
                            rows = min(block, end - i)
                            until = min(depth, fetched_to + share) if ahead else fetched_to
                            for q in range(fetched_to, until):
                                to_come = (start + q) * step_b + j + widths
                                fetched(b, to_come)
                                fetched(b, to_come + widths - unit)
                            fetched_to = until
                            if large and rows == block:
                                for r in range(o, block):
                                    fetched(c, (i + r) * row_c + j)
                                    fetched(c, (i + r) * row_c + j + used - unit)
                            at_a = (i - first) * across + start_a
                            at_c = i * row_c + j
                            if vectors == three:
                                _tile_3(
                                    depth, from_a, at_a, row, step, source, at_b, apart, c, at_c,
                                    row_c, rows, used, add, factor,
                                )  # fmt: skip
                            elif vectors == two:
                                _tile_2(
                                    depth, from_a, at_a, row, step, source, at_b, apart, c, at_c,
                                    row_c, rows, used, add, factor,
                                )  # fmt: skip
                            else:
                                _tile_1(
                                    depth, from_a, at_a, row, step, source, at_b, apart, c, at_c,
                                    row_c, rows, used, add, factor,
                                )  # fmt: skip
            if half:
                for j in range(unit, n):
                    for i in range(o, min(j, m)):
                        put(c, j * row_c + i, get(c, i * row_c + j))
        given_back(store)

    return products
