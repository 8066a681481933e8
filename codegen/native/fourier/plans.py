"""What a length with a large prime factor needs in each call, kept for the next one: blocks of
memory that are written once and then only read, by any number of threads.

There are `SLOTS` of them to a routine, filled in the order in which lengths come and never emptied,
so that nobody has to be asked before a block is read. A length that finds no slot is prepared anew
in each call.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ..bridge import compiled, primitive
from ..by_address import get, given_back, is_there, put, reserved
from ..support import index

__all__ = ["SLOTS", "find", "kept", "share", "viewed"]

SLOTS = 16
MOST = 1 << 20
"""The largest block that is kept, in doubles."""
WORD = ir.IntType(64)
NAME = "plans"


def _slot(builder: Any, k: Any) -> Any:
    """The address of a slot. One more than are used ends them: it stays empty."""
    module = builder.module
    table = module.globals.get(NAME)
    if table is None:
        kind = ir.ArrayType(WORD, SLOTS + 1)
        table = ir.GlobalVariable(module, kind, NAME)
        table.linkage, table.initializer = "internal", ir.Constant(kind, None)
    return builder.gep(table, [ir.Constant(WORD, 0), k])


def kept(like: Any, k: Any) -> Any:
    """The block in a slot, no address where there is none."""
    raise TypeError("compiled code only")


@primitive(
    kept,
    lambda like, k: (
        signature(like, like, types.uintp) if isinstance(like, types.CPointer) else None
    ),
)
def _lower_kept(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    address = builder.load_atomic(_slot(builder, args[1]), "acquire", 8)
    return builder.inttoptr(address, context.get_value_type(sig.args[0]))


def claimed(block: Any, k: Any) -> bool:
    """Put a block into a slot, if that is empty; whether it was."""
    raise TypeError("compiled code only")


@primitive(
    claimed,
    lambda block, k: (
        signature(types.boolean, block, types.uintp) if isinstance(block, types.CPointer) else None
    ),
)
def _lower_claimed(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    address = builder.ptrtoint(args[0], WORD)
    pair = builder.cmpxchg(
        _slot(builder, args[1]), ir.Constant(WORD, 0), address, "acq_rel", "acquire"
    )
    return builder.extract_value(pair, 1)


def viewed(pointer: Any, like: Any) -> Any:
    """The same address, of elements of another type."""
    raise TypeError("compiled code only")


@primitive(
    viewed,
    lambda pointer, like: (
        signature(like, pointer, like) if isinstance(like, types.CPointer) else None
    ),
)
def _lower_viewed(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.bitcast(args[0], context.get_value_type(sig.args[1]))


@compiled
def find(like: Any, key: Any) -> Any:
    """The slot of the block that begins with this number; `SLOTS` where there is none."""
    found = index(SLOTS)
    for k in range(index(0), index(SLOTS)):
        block = kept(like, k)
        if is_there(block):
            if get(block, index(0)) == key:
                found = k
                break
        else:
            break
    return found


@compiled
def share(block: Any, count: Any) -> None:
    """Keep a copy of a block of so many doubles, where a slot is left for it. Of two threads that
    find the same slot empty one keeps its own; the other one's length finds a slot next time."""
    for k in range(index(0), index(SLOTS)):
        if not is_there(kept(block, k)):
            copy = reserved(block, count if count <= index(MOST) else index(0))
            if is_there(copy):
                for i in range(index(0), count):
                    put(copy, i, get(block, i))
                if not claimed(copy, k):
                    given_back(copy)
            break
