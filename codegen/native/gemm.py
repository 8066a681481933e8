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

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.np import numpy_support

from .bridge import compiled, primitive
from .by_address import (
    LINE,
    REGISTER,
    ROWS,
    either,
    fetch,
    fetched,
    get,
    given_back,
    is_there,
    lined,
    make_scratch,
    put,
    reserved,
    shifted,
    square_turned,
    word,
)
from .lift import lift
from .support import index, outlined, wide

__all__ = ["ADD", "DTYPES", "NEGATE", "SCALED", "SYMMETRIC", "entry", "entry_signature"]

DTYPES = ("float32", "float64")
ADD, SCALED, SYMMETRIC, NEGATE = 1, 2, 4, 8
"""Flags: add to `c` instead of overwriting it; weigh the terms of the sums by `scale`; `c` is
symmetric, so that half of it is enough; take minus the sums.

Of a symmetric result the first m rows may be asked for: what stands below them in the first m
columns is written too."""


VECTORS = 3
DEEP, NEAR = 512, 256
"""The terms of float64 summed and the rows taken at a time (of float32 twice as many terms): each
part of a sum more is a pass more over the result."""
CROWDED = 4096
"""Bytes from one row to the next, or a multiple, at which rows share the same few places of a
cache."""
BROAD, TALL = 240, 1024
"""The columns and rows whose copies are kept at a time: a block of columns fills half of a cache of
2 MB, and each row of tiles passes over it while the rows of `a` are still near."""
STREAMS = 7
"""The panels that are written side by side: each lies in pages of its own."""
FITS = 128
"""The terms whose columns of `b` lie in the nearest cache even where `b` is read as it is."""
AHEAD = 16
"""Copies lie in the second cache: what a tile reads so many terms later is fetched from there."""
LARGE = 128, 240, 128
"""Rows, columns and terms from which on operands lie outside of the nearest caches, so that both
are copied as they are read, once for each block, and lines of `c` are fetched ahead."""


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


def _make_tile(vectors: int, height: int = ROWS, ahead: int = 0) -> Callable[..., None]:
    """`c[i, j] (+)= sign * sum_q a[i, q] b[q, j]` for `height` rows and `vectors` vectors of
    columns, of which the first `rows` and `used` are written; what is read so many terms `ahead` is
    fetched.

    The first `known` columns have been computed before: nothing is added to them again.
    """

    def tile(*args: Any) -> None:
        raise TypeError("compiled code only")

    def typer(  # type: ignore[no-untyped-def]
        k, a, at_a, row_a, step_a, b, at_b, step_b, c, at_c, row_c, rows, used, known, add, factor,
    ):  # fmt: skip
        u, yes = types.uintp, types.boolean
        return signature(types.none, u, a, u, u, u, b, u, u, c, u, u, u, u, u, yes, a.dtype)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        k, a, at_a, row_a, step_a, b, at_b, step_b, c, at_c, row_c = args[:11]
        rows, used, known, add, sign = args[11:]
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
            for r in range(height)
        ]
        before, loop, after = (
            builder.block,
            builder.append_basic_block("terms"),
            builder.append_basic_block("sums"),
        )
        builder.branch(loop)
        builder.position_at_end(loop)
        q, pa, pb = builder.phi(word), builder.phi(from_a.type), builder.phi(from_b.type)
        sums = [[builder.phi(vector) for _ in range(vectors)] for _ in range(height)]
        columns = []
        for v in range(vectors):
            columns.append(builder.load(place(pb, number(v * lanes))))
            columns[-1].align = size
        new = []
        for r in range(height):
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
        if ahead:
            for base, between, lines in ((pa, step_a, 1), (pb, step_b, vectors)):
                coming = builder.gep(base, [builder.mul(between, number(ahead))])
                for line in range(lines):
                    fetch(builder, builder.gep(coming, [number(line * lanes)]))
        following = builder.add(q, number(1))
        steps = [
            (q, number(0), following),
            (pa, from_a, builder.gep(pa, [step_a])),
            (pb, from_b, builder.gep(pb, [step_b])),
        ]
        zero = ir.Constant(vector, [0.0] * lanes)
        steps += [(sums[r][v], zero, new[r][v]) for r in range(height) for v in range(vectors)]
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
            for r in range(height)
        ]
        (before_them, *_) = _masks(builder, lanes, 1, known)
        nothing = ir.Constant(vector, [-0.0] * lanes)
        more = [[builder.select(before_them, nothing, row[0]), *row[1:]] for row in new]
        whole = builder.and_(
            builder.icmp_unsigned("==", rows, number(height)),
            builder.icmp_unsigned("==", used, number(vectors * lanes)),
        )
        with builder.if_else(whole) as (inside, edge):
            with inside, builder.if_else(add) as branches:
                for adds, branch in zip((True, False), branches, strict=True):
                    with branch:
                        # All are read before any is written: a load waits for a store before it
                        # with the same last bits of the address, as rows of 2^n elements have.
                        values = [list(row) for row in new]
                        for r, v in product(range(height), range(vectors)) if adds else ():
                            old = builder.load(targets[r][v])
                            old.align = size
                            values[r][v] = builder.fadd(old, more[r][v])
                        for r, v in product(range(height), range(vectors)):
                            builder.store(values[r][v], targets[r][v]).align = size
            with edge:
                # All vectors but the last are whole: masked stores take some machines 20 cycles.
                (mask,) = _masks(builder, lanes, vectors, used)[-1:]
                masked = _Masked(builder, vector, size)
                for r in range(height):
                    with builder.if_then(builder.icmp_unsigned("<", number(r), rows)):
                        for v, target in enumerate(targets[r]):
                            if v < vectors - 1:
                                old = builder.load(target)
                                old.align = size
                            else:
                                old = masked.load(target, mask, zero)
                            value = builder.select(add, builder.fadd(old, more[r][v]), new[r][v])
                            if v < vectors - 1:
                                builder.store(value, target).align = size
                            else:
                                masked.store(value, target, mask)
        return context.get_dummy_value()

    primitive(tile, typer)(lower)
    return tile


_tile_1, _tile_2, _tile_3 = (_make_tile(v + 1) for v in range(VECTORS))
_half_tile = _make_tile(VECTORS, ROWS // 2, AHEAD)
_far_tile = _make_tile(VECTORS, ahead=AHEAD)


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
    size = np.dtype(dtype).itemsize
    lanes = REGISTER // size
    widest = lanes * VECTORS
    zero, one, minus = t(0), t(1), t(-1)
    deepest, page = DEEP * 8 // size, CROWDED // size
    panel_space, lift_of = make_scratch(deepest * widest), lift(dtype)

    @compiled
    def copied_columns(depth, width, b, step, col, scale, scaled, lifted, panels):  # type: ignore[no-untyped-def]
        """Columns of b, times the factor of their row, in panels as broad as a tile is: row by row
        of a panel, zeros behind the last column."""
        outlined()
        o, unit, widths, side = index(0), index(1), index(widest), index(ROWS)
        along, turns = col == unit, step == unit and not scaled
        whole, squares = width // widths * widths if along else o, depth // side * side
        part = index(STREAMS) * widths
        for start in range(o, whole, part):
            for q in range(o, depth):
                s = get(scale, q) * lifted if scaled else one
                for j in range(start, min(whole, start + part), widths):
                    source = shifted(b, q * step + j)
                    target = shifted(panels, j * depth + q * widths)
                    for z in range(o, widths):
                        put(target, z, get(source, z) * s)
        for j in range(whole, width, widths):
            used = min(widths, width - j)
            across = (used + index(lanes - 1)) // index(lanes) * index(lanes)
            source, target = shifted(b, j * col), shifted(panels, j * depth)
            # Columns that lie along memory are turned in registers.
            turned = used // side * side if turns else o
            for z in range(o, turned, side):
                for q in range(o, squares, side):
                    square_turned(
                        shifted(source, z * col + q), col, shifted(target, q * across + z), across
                    )
            for q in range(o, depth):
                s = get(scale, q) * lifted if scaled else one
                for z in range(turned if q < squares else o, across):
                    inside = get(source, q * step + z * col) * s if z < used else zero
                    put(target, q * across + z, inside)

    @compiled
    def copied_rows(rows, depth, a, row, step, panel):  # type: ignore[no-untyped-def]
        """The rows of a tile side by side: term by term, the last row again where there are too
        few."""
        outlined()
        o, unit, block = index(0), index(1), index(ROWS)
        done = o
        if rows == block and step == unit:
            done = depth // block * block
            for q in range(o, done, block):
                square_turned(shifted(a, q), row, shifted(panel, q * block), block)
        elif rows == block and row == unit:
            done = depth
            for q in range(o, depth):
                for r in range(o, block):
                    put(panel, q * block + r, get(a, r + q * step))
        for q in range(done, depth):
            for r in range(o, block):
                put(panel, q * block + r, get(a, min(r, rows - unit) * row + q * step))

    def products(  # type: ignore[no-untyped-def]
        of_m, of_n, of_k, first_a, at_row_a, at_step_a, first_b, at_step_b, at_col_b, first_scale,
        first_c, at_row_c, at_flags, at_count, next_a, next_b, next_scale, next_c,
    ):  # fmt: skip
        o, unit, two, three = index(0), index(1), index(2), index(3)
        block, widths = index(ROWS), index(widest)
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
        large = m >= index(LARGE[0]) and n >= index(LARGE[1]) and k >= index(LARGE[2])
        # Blocks of nearly one size. Their depth depends on k alone, and so do the bits of the sums.
        depths = max(unit, (k + index(deepest) - unit) // index(deepest))
        deep = max(unit, (k + depths - unit) // depths)
        tall, broad = index(NEAR), widths
        if large:
            tall = min(index(TALL), (m + block - unit) // block * block)
            blocks = (n + index(BROAD) - unit) // index(BROAD)
            broad = ((n + blocks - unit) // blocks + widths - unit) // widths * widths
        # Copying columns side by side pays where many blocks of rows read more of them than fit
        # into the nearest cache as they lie; rows that lie a power of two apart, or a multiple,
        # share few places of it.
        unturned, alike = col_b == unit and not scaled, step_b & (o - step_b)
        few = (
            two if alike >= index(page) else index(6) if alike >= index(page // 4) else index(12)
        ) * block
        # Without memory a is read where it lies, and b is copied panel by panel.
        memory = reserved(first_a, (tall + broad) * deep + index(2 * LINE) if large else o)
        packs = is_there(memory)
        store = lined(memory)
        panels = either(packs, lined(shifted(store, tall * deep)), panel_space(first_a))
        broad = broad if packs else widths
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
                leftmost = top // widths * widths if half else o
                for start in range(o, k, deep):
                    depth = min(deep, k - start)
                    shallow = depth <= index(FITS)
                    near = shallow and alike < index(page // 4) and depth * alike <= index(8 * page)
                    add = onto or start > o
                    # Where blocks of rows begin: told here, so that the loops below have no choice
                    # in them, of which the compiler would make two loops.
                    first, apart = top if packs else o, depth if packs else row_a
                    start_a = o if packs else start * step_a
                    for left in range(leftmost, n, broad):
                        right = min(n, left + broad)
                        across = (right - left + index(lanes - 1)) // index(lanes) * index(lanes)
                        direct = (
                            unturned
                            and not packs
                            and across <= right
                            and (near or end - top <= few)
                        )
                        source, between = either(direct, shifted(b, start * step_b), panels), step_b
                        if not direct:
                            copied_columns(  # type: ignore[no-untyped-call]
                                depth, right - left, shifted(b, start * step_b + left * col_b),
                                step_b, col_b, shifted(scale, start), scaled, lifted,
                                panels,
                            )  # fmt: skip
                        for i in range(top, end if packs or not half else min(end, right), block):
                            rows = min(block, end - i)
                            at_a = (i - first) * apart + start_a
                            if packs and left == leftmost:
                                copied_rows(  # type: ignore[no-untyped-call]
                                    rows, depth, shifted(a, i * row_a + start * step_a), row_a,
                                    step_a, shifted(store, at_a),
                                )  # fmt: skip
                            inner = min(right, max(left, i // widths * widths)) if half else left
                            for j in range(inner, right, widths):
                                used = min(widths, n - j)
                                vectors = (used + index(lanes - 1)) // index(lanes)
                                # The last columns are read with some before them, that no vector
                                # reaches behind the end.
                                known = vectors * index(lanes) - used if direct else o
                                used += known
                                at_c = i * row_c + j - known
                                if packs and rows == block:
                                    for r in range(o, block):
                                        fetched(c, at_c + r * row_c)
                                        fetched(c, at_c + r * row_c + used - unit)
                                if not direct:
                                    between = vectors * index(lanes)
                                at = left - known if direct else (j - left) * depth
                                if vectors == three and rows <= index(ROWS // 2):
                                    _half_tile(
                                        depth, from_a, at_a, row, step, source, at, between, c,
                                        at_c, row_c, rows, used, known, add, factor,
                                    )  # fmt: skip
                                elif vectors == three and (packs or not shallow):
                                    _far_tile(
                                        depth, from_a, at_a, row, step, source, at, between, c,
                                        at_c, row_c, rows, used, known, add, factor,
                                    )  # fmt: skip
                                elif vectors == three:
                                    _tile_3(
                                        depth, from_a, at_a, row, step, source, at, between, c,
                                        at_c, row_c, rows, used, known, add, factor,
                                    )  # fmt: skip
                                elif vectors == two:
                                    _tile_2(
                                        depth, from_a, at_a, row, step, source, at, between, c,
                                        at_c, row_c, rows, used, known, add, factor,
                                    )  # fmt: skip
                                else:
                                    _tile_1(
                                        depth, from_a, at_a, row, step, source, at, between, c,
                                        at_c, row_c, rows, used, known, add, factor,
                                    )  # fmt: skip
            if half:
                for j in range(unit, n):
                    for i in range(o, min(j, m)):
                        put(c, j * row_c + i, get(c, i * row_c + j))
        given_back(memory)

    return products
