"""The instructions of Python's code that bind a variable or change what a container holds."""

from __future__ import annotations

import dis
import os
import types
from collections.abc import Collection
from typing import Any

from ..ir.trace import user_line
from .places import ATTRIBUTE, CELL, ENTRY, ITEM

_MUTATORS = frozenset([
    "append", "extend", "insert", "pop", "remove", "clear", "add", "update", "discard", "popleft",
    "appendleft", "setdefault", "sort", "reverse", "popitem", "fill", "put", "next", "__next__",
    "send",
])  # fmt: skip
_DRAWS = frozenset([
    "random", "gauss", "uniform", "randint", "randrange", "choice", "choices", "sample", "shuffle",
    "normalvariate", "betavariate", "expovariate",
])  # fmt: skip


def written_at(codes: Collection[types.CodeType], key: Any, code: str) -> str:
    """The line that writes: the first in the code that may run which binds this name, or calls a
    method that changes a container."""
    # Constructors bind what others change.
    for function in sorted(codes, key=lambda c: c.co_name[:2] == "__" and c.co_name != "__call__"):
        line, before = function.co_firstlineno, None
        for i in dis.get_instructions(function):
            if i.starts_line is not None:
                line = (
                    i.positions.lineno if i.positions is not None and i.positions.lineno else line
                )
            if _writes(i, before, key, code):
                return f"{os.path.basename(function.co_filename)}:{line}"
            before = i
    first = next(iter(codes), None)
    return (
        user_line()
        if first is None
        else f"{os.path.basename(first.co_filename)}:{first.co_firstlineno}"
    )


def _writes(i: dis.Instruction, before: dis.Instruction | None, key: Any, code: str) -> bool:
    if code == ITEM:
        if i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            return bool(i.argval == key)
        return (
            i.opname in ("STORE_SUBSCR", "DELETE_SUBSCR")
            and before is not None
            and (before.argval == key or not isinstance(key, str))
        )
    if code in (ENTRY, ATTRIBUTE):
        return i.opname in ("STORE_ATTR", "DELETE_ATTR") and i.argval == key
    if code == CELL:
        return i.opname == "STORE_DEREF"
    return (
        i.opname.startswith("LOAD_")
        and isinstance(i.argval, str)
        and i.argval in (_DRAWS if code == "draws" else _MUTATORS)
    )
