"""Loops that choose among the elements of a lane, a vector register at a time: what is chosen of a
register moves together, and is written as one.

Elements are compared by keys, signed integers of the same order in which NaN is the largest and
-0.0 equals 0.0. A pointer to integers points to keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature

from .bridge import primitive
from .by_address import REGISTER

__all__ = ["FEW", "SLACK", "among", "both_among", "key_at", "narrowed", "ordered"]

FEW = 32
"""So many keys are put in order by comparing each with each."""
SLACK = 64
"""So many elements more than are kept may be written behind them."""

WORD, PLACE = ir.IntType(64), ir.IntType(32)


class _Lane:
    """The elements behind a pointer as vectors of keys."""

    def __init__(
        self, context: Any, builder: Any, kind: Any, pointer: Any, count: int | None = None
    ) -> None:
        self.builder, self.pointer = builder, pointer
        self.element = context.get_value_type(kind.dtype)
        self.size = int(context.get_abi_sizeof(self.element))
        self.count = count or REGISTER // self.size
        self.floats = isinstance(kind.dtype, types.Float)
        self.key = ir.IntType(8 * self.size)
        self.values = ir.VectorType(self.element, self.count)
        self.keys = ir.VectorType(self.key, self.count)
        self.flags = ir.VectorType(ir.IntType(1), self.count)

    def call(self, name: str, result: Any, args: list[Any]) -> Any:
        kind = ir.FunctionType(result, [a.type for a in args])
        return self.builder.call(
            cgutils.get_or_insert_function(self.builder.module, kind, name), args
        )

    def letters(self, kind: Any) -> str:
        one = kind.element
        return f"v{kind.count}" + (
            f"i{one.width}" if isinstance(one, ir.IntType) else f"f{8 * self.size}"
        )

    def spread(self, value: Any) -> Any:
        kind = ir.VectorType(value.type, self.count)
        undefined = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(undefined, value, ir.Constant(PLACE, 0))
        zeros = ir.Constant(ir.VectorType(PLACE, self.count), [0] * self.count)
        return self.builder.shuffle_vector(first, undefined, zeros)

    def steps(self, kind: Any) -> Any:
        return ir.Constant(ir.VectorType(kind, self.count), list(range(self.count)))

    def first(self, used: Any) -> Any:
        """The flags of so many elements (fewer than 2^31)."""
        used = self.spread(self.builder.trunc(used, PLACE))
        return self.builder.icmp_signed("<", self.steps(PLACE), used)

    def load(self, at: Any, flags: Any = None, otherwise: Any = None) -> Any:
        b = self.builder
        place = b.bitcast(b.gep(self.pointer, [at]), self.values.as_pointer())
        if flags is None:
            found = b.load(place)
            found.align = self.size
            return found
        name = f"llvm.masked.load.{self.letters(self.values)}.p0"
        other = ir.Constant(self.values, ir.Undefined) if otherwise is None else otherwise
        return self.call(name, self.values, [place, ir.Constant(PLACE, self.size), flags, other])

    def store(self, value: Any, pointer: Any, at: Any, flags: Any = None) -> None:
        b, size = self.builder, self._bytes(value)
        place = b.bitcast(b.gep(pointer, [at]), value.type.as_pointer())
        if flags is None:
            b.store(value, place).align = size
            return
        name = f"llvm.masked.store.{self.letters(value.type)}.p0"
        self.call(name, ir.VoidType(), [value, place, ir.Constant(PLACE, size), flags])

    def _bytes(self, value: Any) -> int:
        one = value.type.element
        return int(one.width) // 8 if isinstance(one, ir.IntType) else self.size

    def key_of(self, values: Any) -> Any:
        if not self.floats:
            return values
        b = self.builder
        lost = b.fcmp_unordered("uno", values, values)
        zero = ir.Constant(self.values, [0.0] * self.count)
        bits = b.bitcast(b.fadd(values, zero), self.keys)
        top = 8 * self.size - 1

        def all_of(value: int) -> Any:
            return ir.Constant(self.keys, [value] * self.count)

        sign = b.ashr(bits, all_of(top))
        turned = b.xor(bits, b.lshr(sign, all_of(1)))
        return b.select(lost, all_of(2**top - 1), turned)

    def pressed(self, values: Any, flags: Any) -> Any:
        """The flagged ones in front."""
        name = f"llvm.experimental.vector.compress.{self.letters(values.type)}"
        undefined = ir.Constant(values.type, ir.Undefined)
        return self.call(name, values.type, [values, flags, undefined])

    def how_many(self, flags: Any) -> Any:
        bits = self.builder.bitcast(flags, ir.IntType(self.count))
        return self.builder.zext(self.builder.ctpop(bits), WORD)

    def each(self, n: Any, body: Callable[[Any, Any], None]) -> None:
        """`body(first element, flags)` for each register, flags being None where all of it is."""
        b, width = self.builder, ir.Constant(WORD, self.count)
        at = cgutils.alloca_once_value(b, ir.Constant(WORD, 0))
        whole = b.sub(n, b.urem(n, width))
        loop, behind = b.append_basic_block("registers"), b.append_basic_block("rest")
        test = b.append_basic_block("more")
        b.branch(test)
        b.position_at_end(test)
        b.cbranch(b.icmp_unsigned("<", b.load(at), whole), loop, behind)
        b.position_at_end(loop)
        body(b.load(at), None)
        b.store(b.add(b.load(at), width), at)
        b.branch(test)
        b.position_at_end(behind)
        with b.if_then(b.icmp_unsigned("<", whole, n)):
            body(whole, self.first(b.sub(n, whole)))

    def keys_at(self, at: Any, flags: Any) -> tuple[Any, Any]:
        values = self.load(at, flags)
        return values, self.key_of(values)


def _added(builder: Any, total: Any, value: Any) -> None:
    builder.store(builder.add(builder.load(total), value), total)


def _pointers(*pointers: Any) -> bool:
    return all(isinstance(p, types.CPointer) for p in pointers)


def key_at(source: Any, at: Any) -> Any:
    """The key of one element."""
    raise TypeError("compiled code only")


@primitive(
    key_at,
    lambda source, at: (
        signature(types.int64 if source.dtype.bitwidth == 64 else types.int32, source, types.uintp)
        if _pointers(source)
        else None
    ),
)
def _lower_key_at(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    lane = _Lane(context, builder, sig.args[0], args[0], 1)
    return builder.extract_element(lane.keys_at(args[1], None)[1], ir.Constant(PLACE, 0))


def narrowed(source: Any, n: Any, low: Any, high: Any, kept: Any, counts: Any) -> None:
    """The keys from `low` to `high` into `kept`; `counts[0]` is how many lie below, `counts[1]` how
    many are kept."""
    raise TypeError("compiled code only")


@primitive(
    narrowed,
    lambda source, n, low, high, kept, counts: (
        signature(types.none, source, types.uintp, kept.dtype, kept.dtype, kept, counts)
        if _pointers(source, kept, counts)
        else None
    ),
)
def _lower_narrowed(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    source, n, low, high, kept, counts = args
    lane = _Lane(context, builder, sig.args[0], source)
    least, room = lane.spread(low), lane.spread(builder.sub(high, low))
    below = cgutils.alloca_once_value(builder, ir.Constant(WORD, 0))
    found = cgutils.alloca_once_value(builder, ir.Constant(WORD, 0))

    def body(at: Any, flags: Any) -> None:
        _, key = lane.keys_at(at, flags)
        less = builder.icmp_signed("<", key, least)
        inside = builder.icmp_unsigned("<=", builder.sub(key, least), room)
        if flags is not None:
            less, inside = builder.and_(less, flags), builder.and_(inside, flags)
        lane.store(lane.pressed(key, inside), kept, builder.load(found))
        _added(builder, below, lane.how_many(less))
        _added(builder, found, lane.how_many(inside))

    lane.each(n, body)
    for place, value in enumerate((below, found)):
        builder.store(builder.load(value), builder.gep(counts, [ir.Constant(WORD, place)]))
    return context.get_dummy_value()


def among(keys: Any, n: Any, rank: Any, found: Any, counts: Any) -> None:
    """Of at most `FEW` elements the key that stands at a place of the order, into `found`; how many
    are less, and how many equal to it, into `counts`. Behind what is found there is room for two
    keys more than `FEW`."""
    raise TypeError("compiled code only")


def both_among(keys: Any, one: Any, other: Any, found: Any) -> None:
    """Of `FEW` keys those at two places, into `found`."""
    raise TypeError("compiled code only")


@primitive(
    among,
    lambda keys, n, rank, found, counts: (
        signature(types.none, keys, types.uintp, types.uintp, found, counts)
        if _pointers(keys, found, counts)
        else None
    ),
)
def _lower_among(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    keys, n, rank, found, counts = args
    lane = _Lane(context, builder, sig.args[0], keys)
    half = ir.Constant(WORD, FEW // 2)
    with builder.if_else(builder.icmp_unsigned("<=", n, half)) as (few, many):
        with few:
            _counted(lane, FEW // 2, n, [rank], found, counts)
        with many:
            _counted(lane, FEW, n, [rank], found, counts)
    return context.get_dummy_value()


@primitive(
    both_among,
    lambda keys, one, other, found: (
        signature(types.none, keys, types.uintp, types.uintp, keys) if _pointers(keys) else None
    ),
)
def _lower_both(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    keys, one, other, found = args
    lane = _Lane(context, builder, sig.args[0], keys)
    _counted(lane, FEW, ir.Constant(WORD, FEW), [one, other], found)
    return context.get_dummy_value()


def _counted(
    lane: _Lane, most_of_them: int, n: Any, ranks: list[Any], found: Any, counts: Any = None
) -> None:
    """Each key is compared with all of them, which stay in registers."""
    registers, keys = max(1, most_of_them // lane.count), lane.pointer
    b = lane.builder

    def all_of(value: int) -> Any:
        return ir.Constant(lane.keys, [value] * lane.count)

    def total(name: str, value: Any) -> Any:
        full = f"llvm.vector.reduce.{name}.{lane.letters(lane.keys)}"
        return lane.call(full, lane.key, [value])

    most, least = 2 ** (lane.key.width - 1) - 1, -(2 ** (lane.key.width - 1))
    held, there = [], []
    for r in range(registers):
        at = ir.Constant(WORD, r * lane.count)
        left = b.sub(n, at)
        left = b.select(b.icmp_signed(">", left, ir.Constant(WORD, 0)), left, ir.Constant(WORD, 0))
        there.append(lane.first(left))
        absent = ir.Constant(lane.values, [math.nan] * lane.count) if lane.floats else all_of(most)
        held.append(lane.key_of(lane.load(at, there[-1], absent)))
    if lane.floats:
        keys = b.gep(found, [ir.Constant(WORD, 2)])
        for r in range(registers):
            lane.store(held[r], keys, ir.Constant(WORD, r * lane.count))
    before, loop = b.block, b.append_basic_block("each")
    after = b.append_basic_block("counted")
    b.branch(loop)
    b.position_at_end(loop)
    j = b.phi(WORD)
    behind = [b.phi(lane.keys) for _ in range(registers)]
    value = lane.spread(b.load(b.gep(keys, [j])))
    more = [
        b.select(b.icmp_signed("<", value, h), b.add(v, all_of(1)), v)
        for h, v in zip(held, behind, strict=True)
    ]
    following = b.add(j, ir.Constant(WORD, 1))
    for variable, first, later in [
        (j, ir.Constant(WORD, 0), following),
        *((v, all_of(0), m) for v, m in zip(behind, more, strict=True)),
    ]:
        variable.add_incoming(first, before)
        variable.add_incoming(later, loop)
    b.cbranch(b.icmp_unsigned("<", following, n), loop, after)
    b.position_at_end(after)
    # The key at a place is the largest of those before which at most so many come.
    for place, rank in enumerate(ranks):
        rank = lane.spread(b.trunc(rank, lane.key) if lane.key.width < 64 else rank)
        best, fewer = all_of(least), all_of(0)
        for h, m in zip(held, more, strict=True):
            fits = b.icmp_signed("<=", m, rank)
            here = b.select(fits, h, all_of(least))
            best = b.select(b.icmp_signed(">", here, best), here, best)
            here = b.select(fits, m, all_of(0))
            fewer = b.select(b.icmp_signed(">", here, fewer), here, fewer)
        chosen = total("smax", best)
        b.store(chosen, b.gep(found, [ir.Constant(WORD, place)]))
        if counts is not None:
            less, alike = total("smax", fewer), ir.Constant(WORD, 0)
            less = b.zext(less, WORD) if lane.key.width < 64 else less
            chosen = lane.spread(chosen)
            for h, t in zip(held, there, strict=True):
                same = b.and_(b.icmp_signed("==", h, chosen), t)
                alike = b.add(alike, lane.how_many(same))
            b.store(less, counts)
            b.store(alike, b.gep(counts, [ir.Constant(WORD, 1)]))


def ordered(x: Any, n: Any, bound: Any, less: Any, equal: Any, out: Any) -> None:
    """The elements with smaller keys, of which there are `less`, those with this one, and the
    others, each in the order they had; their positions where `out` takes integers and x has
    floats. Fewer than 2^31 of 4 bytes."""
    raise TypeError("compiled code only")


@primitive(
    ordered,
    lambda x, n, bound, less, equal, out: (
        signature(
            types.none, x, types.uintp,
            types.int64 if x.dtype.bitwidth == 64 else types.int32, types.uintp, types.uintp, out,
        )
        if _pointers(x, out)
        else None
    ),
)  # fmt: skip
def _lower_ordered(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    x, n, bound, less, equal, out = args
    lane, b = _Lane(context, builder, sig.args[0], x), builder
    positions = sig.args[0] != sig.args[5]
    pivot, behind = lane.spread(bound), b.add(less, equal)
    starts = [cgutils.alloca_once_value(b, v) for v in (ir.Constant(WORD, 0), less, behind)]
    width = ir.Constant(WORD, lane.count)

    def written(what: Any, flags: Any, start: Any, end: Any) -> None:
        count, at = lane.how_many(flags), b.load(start)
        found = lane.pressed(what, flags)
        if positions and lane.size < 8:
            found = b.zext(found, ir.VectorType(WORD, lane.count))
        with b.if_else(b.icmp_unsigned("<=", b.add(at, width), end)) as (whole, part):
            with whole:
                lane.store(found, out, at)
            with part:
                lane.store(found, out, at, lane.first(count))
        b.store(b.add(at, count), start)

    def body(at: Any, flags: Any) -> None:
        values, key = lane.keys_at(at, flags)
        smaller, larger = (b.icmp_signed(c, key, pivot) for c in "<>")
        alike = b.icmp_signed("==", key, pivot)
        if flags is not None:
            smaller, alike, larger = (b.and_(v, flags) for v in (smaller, alike, larger))
        what = values
        if positions:
            first = b.trunc(at, lane.key) if lane.key.width < 64 else at
            what = b.add(lane.spread(first), lane.steps(lane.key))
        written(what, smaller, starts[0], less)
        written(what, larger, starts[2], n)
        any_ = b.icmp_unsigned("!=", lane.how_many(alike), ir.Constant(WORD, 0))
        with b.if_then(any_):
            written(what, alike, starts[1], behind)

    lane.each(n, body)
    return context.get_dummy_value()
