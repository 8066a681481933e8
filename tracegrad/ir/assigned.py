"""Which variables of the user's program are assigned what an instruction of it makes: values of
graphs have their names."""

from __future__ import annotations

import dis
import re
from collections.abc import Iterable
from types import CodeType
from typing import Any

RETURNED = ("return",)
"""In place of names: the value goes to the caller. No variable has the name of a keyword."""
KEPT = 1024
"""Of so many functions it is known at once which instruction is followed by an assignment."""

_GENERATED = re.compile(r"_*|[tc]\d+")
"""What graphs call values by themselves, and what programs call those that nobody asks for."""
_STORES = {"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "STORE_FAST_MAYBE_NULL"}
_SKIPPED = {"CACHE", "EXTENDED_ARG", "NOP", "COPY"}
"""What may stand between a value and its assignment: `a = b = value` copies it."""
_Known = tuple[CodeType, dict[int, tuple[str, ...]], dict[int, tuple[str, ...]]]
_KNOWN: dict[int, _Known] = {}


def assigned(code: CodeType, at: int) -> tuple[str, ...]:
    """The names of the variables to which the result of the instruction at this place is assigned
    next: one, or those to which it is unpacked. RETURNED where it is what the function returns."""
    return _known(code)[1].get(at, ())


def unpacked(code: CodeType, at: int) -> tuple[str, ...]:
    """The names of the variables to which the instruction at this place unpacks a value; none
    where it does something else."""
    return _known(code)[2].get(at, ())


def _known(code: CodeType) -> _Known:
    known = _KNOWN.get(id(code))
    if known is None or known[0] is not code:
        if len(_KNOWN) >= KEPT:
            _KNOWN.clear()
        made, parts = _assignments(code)
        known = _KNOWN[id(code)] = code, made, parts
    return known


def _assignments(code: CodeType) -> tuple[dict[int, tuple[str, ...]], dict[int, tuple[str, ...]]]:
    """By place, of what instructions make and of what they unpack; an instruction's caches count as
    it, for there a frame stands while a function runs that it calls."""
    rows = [i for i in dis.get_instructions(code) if i.opname not in _SKIPPED]
    made: dict[int, tuple[str, ...]] = {}
    parts: dict[int, tuple[str, ...]] = {}
    for k in range(len(rows) - 1):
        row, following = rows[k], (rows[j] for j in range(k + 1, len(rows)))
        unpacks = row.opname == "UNPACK_SEQUENCE"
        names = _names(row.opname, following, (row.arg or 0) if unpacks else 1)
        if names:
            places = range(row.offset, rows[k + 1].offset, 2)
            (parts if unpacks else made).update(dict.fromkeys(places, names))
    return made, parts


def _names(made_by: str, following: Iterable[dis.Instruction], wanted: int) -> tuple[str, ...]:
    """What the value that an instruction made is assigned to by those that follow it."""
    names: list[str] = []
    for row in following:
        match row.opname:
            case "CALL" if made_by == "PRECALL":
                continue
            case "UNPACK_SEQUENCE" if wanted == 1 and not names:
                wanted = row.arg or 0
            case "STORE_FAST_STORE_FAST":
                names.extend(row.argval)
            case "STORE_FAST_LOAD_FAST":
                names.append(row.argval[0])
            case store if store in _STORES:
                names.append(row.argval)
            case "RETURN_VALUE" if not names:
                return RETURNED
            case _:
                return ()
        if len(names) >= wanted:
            return tuple(map(_own, names[:wanted]))
    return ()


def parameters_of(function: Any) -> tuple[str, ...]:
    """The names of a Python function's parameters; none of another callable's."""
    code = getattr(function, "__code__", None)
    return tuple(map(_own, code.co_varnames[: code.co_argcount])) if code is not None else ()


def _own(name: str) -> str:
    return "" if _GENERATED.fullmatch(name) else name
