"""Memory by address, as own routines over whole arrays read and write it, and the machine's vector
registers that they fill."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import llvmlite.binding as binding
from llvmlite import ir
from numba.core import cgutils, config, types
from numba.core.typing import signature

from .bridge import primitive

__all__ = [
    "LINE", "REGISTER", "ROWS", "either", "fetch", "fetched", "get", "given_back",
    "in_large_pages", "is_there", "lined", "make_scratch", "put", "reserved", "shifted",
    "square_turned", "word",
]  # fmt: skip


def register_bytes() -> int:
    """The width of the vector registers for which Numba compiles."""
    features = (
        binding.get_host_cpu_features().flatten()
        if config.CPU_FEATURES is None
        else config.CPU_FEATURES
    )
    return 64 if "+avx512f" in features else 32 if "+avx" in features else 16


REGISTER = register_bytes()
# The accumulators of a product, the vectors of b and one element of a must fit into the registers:
# 32 of them, or 16 on x86 before AVX-512.
ROWS = 8 if REGISTER == 64 or binding.get_process_triple().startswith(("aarch64", "arm64")) else 4
"""The rows of a block of a product that stays in registers, and of a square that is turned
there."""


LINE = 64
"""The bytes of a line of memory."""


def make_scratch(count: int) -> Callable[..., Any]:
    """`count` elements on the stack of the function, of the type that the pointer `like` points
    to."""

    def scratch(like: Any) -> Any:
        raise TypeError("compiled code only")

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        with builder.goto_entry_block():
            space = builder.alloca(context.get_value_type(sig.args[0].dtype), count)
            space.align = REGISTER
        return space

    primitive(scratch, lambda like: signature(like, like))(lower)
    return scratch


def get(pointer: Any, at: Any) -> Any:
    raise TypeError("compiled code only")


def put(pointer: Any, at: Any, value: Any) -> None:
    raise TypeError("compiled code only")


def either(condition: Any, x: Any, y: Any) -> Any:
    """One of two pointers."""
    raise TypeError("compiled code only")


@primitive(
    either,
    lambda condition, x, y: (
        signature(x, types.boolean, x, y) if isinstance(x, types.CPointer) else None
    ),
)
def _lower_either(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.select(*args)


def shifted(pointer: Any, count: Any) -> Any:
    """The address of the element that comes `count` elements later."""
    raise TypeError("compiled code only")


@primitive(
    shifted,
    lambda pointer, count: (
        signature(pointer, pointer, types.uintp) if isinstance(pointer, types.CPointer) else None
    ),
)
def _lower_shifted(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.gep(args[0], [args[1]])


def lined(pointer: Any) -> Any:
    """The address of the first line of memory that begins at or behind an address."""
    raise TypeError("compiled code only")


@primitive(
    lined,
    lambda pointer: signature(pointer, pointer) if isinstance(pointer, types.CPointer) else None,
)
def _lower_lined(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    word = ir.IntType(64)
    address = builder.add(builder.ptrtoint(args[0], word), ir.Constant(word, LINE - 1))
    return builder.inttoptr(builder.and_(address, ir.Constant(word, -LINE)), args[0].type)


def word(pointer: Any) -> int:
    """The integer at an address, as an index."""
    raise TypeError("compiled code only")


@primitive(
    word,
    lambda pointer: (
        signature(types.uintp, pointer) if isinstance(pointer, types.CPointer) else None
    ),
)
def _lower_word(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(args[0])


@primitive(
    get,
    lambda pointer, at: (
        signature(pointer.dtype, pointer, types.uintp)
        if isinstance(pointer, types.CPointer)
        else None
    ),
)
def _lower_get(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(builder.gep(args[0], [args[1]]))


@primitive(
    put, lambda pointer, at, value: signature(types.none, pointer, types.uintp, pointer.dtype)
)
def _lower_put(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(args[2], builder.gep(args[0], [args[1]]))
    return context.get_dummy_value()


def reserved(like: Any, count: Any) -> Any:
    """So many elements on the heap, of the type that the pointer `like` points to; no address where
    there is no memory, or none is asked for."""
    raise TypeError("compiled code only")


@primitive(
    reserved,
    lambda like, count: (
        signature(like, like, types.uintp) if isinstance(like, types.CPointer) else None
    ),
)
def _lower_reserved(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, count = context.get_value_type(sig.args[0]), args[1]
    size = ir.Constant(
        count.type, context.get_abi_sizeof(context.get_value_type(sig.args[0].dtype))
    )
    callee = ir.FunctionType(ir.IntType(8).as_pointer(), [ir.IntType(64)])
    make = cgutils.get_or_insert_function(builder.module, callee, "malloc")
    found = cgutils.alloca_once_value(builder, ir.Constant(kind, None))
    with builder.if_then(builder.icmp_unsigned("!=", count, ir.Constant(count.type, 0))):
        builder.store(builder.bitcast(builder.call(make, [builder.mul(count, size)]), kind), found)
    return builder.load(found)


def is_there(pointer: Any) -> bool:
    """Whether an address leads anywhere."""
    raise TypeError("compiled code only")


@primitive(
    is_there,
    lambda pointer: (
        signature(types.boolean, pointer) if isinstance(pointer, types.CPointer) else None
    ),
)
def _lower_is_there(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.icmp_unsigned("!=", args[0], ir.Constant(args[0].type, None))


def given_back(pointer: Any) -> None:
    """Give back what was reserved."""
    raise TypeError("compiled code only")


@primitive(
    given_back,
    lambda pointer: signature(types.none, pointer) if isinstance(pointer, types.CPointer) else None,
)
def _lower_given_back(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    bytes_ = ir.IntType(8).as_pointer()
    give = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.VoidType(), [bytes_]), "free"
    )
    with builder.if_then(builder.icmp_unsigned("!=", args[0], ir.Constant(args[0].type, None))):
        builder.call(give, [builder.bitcast(args[0], bytes_)])
    return context.get_dummy_value()


LARGE_PAGE = 2**21
_LARGE_PAGES = 14
"""Linux's advice that memory may lie in large pages (MADV_HUGEPAGE)."""


def in_large_pages(address: Any, size: Any) -> None:
    """Ask the system to give memory that has not been touched yet in large pages where two and more
    of them fit: as a rule each page costs a visit to the system. It does as it likes."""
    raise TypeError("compiled code only")


@primitive(in_large_pages, lambda address, size: signature(types.none, types.uintp, types.uintp))
def _lower_in_large_pages(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    if not sys.platform.startswith("linux"):
        return context.get_dummy_value()
    long, bytes_ = ir.IntType(64), ir.IntType(8).as_pointer()
    mask = ir.Constant(long, -LARGE_PAGE)
    first = builder.and_(builder.add(args[0], ir.Constant(long, LARGE_PAGE - 1)), mask)
    end = builder.and_(builder.add(args[0], args[1]), mask)
    least = builder.add(first, ir.Constant(long, 2 * LARGE_PAGE))
    with builder.if_then(builder.icmp_unsigned(">=", end, least)):
        kind = ir.FunctionType(ir.IntType(32), [bytes_, long, ir.IntType(32)])
        advise = cgutils.get_or_insert_function(builder.module, kind, "madvise")
        place = builder.inttoptr(first, bytes_)
        advice = ir.Constant(ir.IntType(32), _LARGE_PAGES)
        builder.call(advise, [place, builder.sub(end, first), advice])
    return context.get_dummy_value()


def fetched(pointer: Any, at: Any) -> None:
    """Say that an element will be read soon: its line of memory is brought nearer."""
    raise TypeError("compiled code only")


def fetch(builder: Any, place: Any) -> None:
    """The instruction of `fetched`."""
    bytes_, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [bytes_, word, word, word])
    callee = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    given = [ir.Constant(word, n) for n in (0, 3, 1)]
    builder.call(callee, [builder.bitcast(place, bytes_), *given])


@primitive(
    fetched,
    lambda pointer, at: (
        signature(types.none, pointer, types.uintp) if isinstance(pointer, types.CPointer) else None
    ),
)
def _lower_fetched(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    fetch(builder, builder.gep(args[0], [args[1]]))
    return context.get_dummy_value()


def square_turned(a: Any, row_a: Any, b: Any, row_b: Any) -> None:
    """`b[j, i] = a[i, j]` for ROWS rows and columns, in registers; rows lie so many elements
    apart."""
    raise TypeError("compiled code only")


@primitive(
    square_turned,
    lambda a, row_a, b, row_b: (
        signature(types.none, a, types.uintp, b, types.uintp)
        if isinstance(a, types.CPointer)
        else None
    ),
)
def _lower_square_turned(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    a, row_a, b, row_b = args
    element = context.get_value_type(sig.args[0].dtype)
    size, half, number = context.get_abi_sizeof(element), ROWS // 2, ir.IntType(32)
    vector = ir.VectorType(element, ROWS)

    def place(base: Any, row: Any, r: int) -> Any:
        start = builder.gep(base, [builder.mul(row, ir.Constant(row.type, r))])
        return builder.bitcast(start, vector.as_pointer())

    rows = [builder.load(place(a, row_a, r)) for r in range(ROWS)]
    for x in rows:
        x.align = size
    # Each round deals the elements of two rows out by turns, as cards are shuffled; after as many
    # rounds as ROWS has bits all have changed the places of row and column.
    deals = [
        ir.Constant(
            ir.VectorType(number, ROWS),
            [first + k + second for k in range(half) for second in (0, ROWS)],
        )
        for first in (0, half)
    ]
    for _ in range(half.bit_length()):
        pairs = zip(rows[:half], rows[half:], strict=True)
        rows = [builder.shuffle_vector(x, y, deal) for x, y in pairs for deal in deals]
    for r, x in enumerate(rows):
        builder.store(x, place(b, row_b, r)).align = size
    return context.get_dummy_value()
