"""Variables that a function looks up by a name while it is traced: `globals()[name]`,
`getattr(module, name)`, `eval(text)`.

The names that stand in the code, and in the texts that it reads, were found before (names.py).
Here it is seen what is looked up by another: a variable's number or text is compared at later
calls, all else is refused with the line.
"""

from __future__ import annotations

import bisect
import dis
import functools
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FrameType, ModuleType
from typing import Any

from .places import ITEM, Fact, root
from .reach import library

SPACES = {globals: "globals()", vars: "vars()"}
"""Functions whose result is indexed by names."""
ASKED = {**SPACES, getattr: "getattr()", eval: "eval()", exec: "exec()"}
_PLAIN = (bool, int, float, complex, str, type(None))
_UNKNOWN = object()
_SILENT = ("PRECALL", "CACHE", "PUSH_NULL", "KW_NAMES", "NOP", "EXTENDED_ARG", "COPY")


def looked_up(frame: FrameType, function: Any, known: set[str]) -> Fact | str | None:
    """What later calls have to compare where the user's code in a frame calls one of `ASKED`; a
    text that says what it asks for where that is not known; else None."""
    before, after = _around(frame)
    if function in SPACES:
        holder = _holder(frame, function, before)
        space = vars(holder) if isinstance(holder, (ModuleType, type)) else holder
        key = _key(frame, before, after)
    elif function is getattr:
        holder, key = _arguments(frame, before)
        space = vars(holder) if isinstance(holder, (ModuleType, type)) else None
    else:
        text = _first(frame, function, before)
        return None if isinstance(text, str) and _in_texts(text, known) else ASKED[function]
    if not isinstance(space, Mapping) or library(space.get("__name__", space.get("__module__"))):
        return None
    if key is None or (isinstance(key, str) and (key in known or key[:2] == "__")):
        return None
    if isinstance(key, str) and key in space and isinstance(space[key], _PLAIN):
        return root("", space).then(key, ITEM, key), space[key]
    return ASKED[function]


def _first(frame: FrameType, function: Any, before: Sequence[dis.Instruction]) -> Any:
    """The first argument of a call, where that is a constant or a variable."""
    start = max((k for k, i in enumerate(before) if i.argval == function.__name__), default=-1)
    given = before[start + 1 :] if start >= 0 else []
    computed = len(given) > 1 and not given[1].opname.startswith(
        ("LOAD_CONST", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF", "BUILD_MAP")
    )
    return _UNKNOWN if computed or not given else _value_of(frame, given[0])


def _in_texts(text: str, known: set[str]) -> bool:
    try:
        code = compile(text, "", "exec")
    except (SyntaxError, ValueError):
        return True
    return known.issuperset(code.co_names)


def _around(frame: FrameType) -> tuple[list[dis.Instruction], list[dis.Instruction]]:
    """The instructions before and behind the call that a frame carries out."""
    all_of = _instructions(frame.f_code)
    k = bisect.bisect_left(all_of, frame.f_lasti, key=lambda i: i.offset)
    return all_of[max(k - 12, 0) : k], all_of[k + 1 : k + 4]


@functools.lru_cache(maxsize=256)
def _instructions(code: CodeType) -> list[dis.Instruction]:
    return [i for i in dis.get_instructions(code) if i.opname not in _SILENT]


def _value_of(frame: FrameType, i: dis.Instruction) -> Any:
    """What an instruction loads: a constant or a variable."""
    if i.opname == "LOAD_CONST":
        return i.argval
    if i.opname.startswith("LOAD_") and isinstance(i.argval, str) and "ATTR" not in i.opname:
        return frame.f_locals.get(i.argval, frame.f_globals.get(i.argval, _UNKNOWN))
    return _UNKNOWN


def _holder(frame: FrameType, function: Any, before: Sequence[dis.Instruction]) -> Any:
    if function is globals:
        return frame.f_globals
    found = list(_loaded(frame, before[-4:]))
    return found[-1] if found else None


def _loaded(frame: FrameType, before: Sequence[dis.Instruction]) -> Iterator[Any]:
    """What these instructions load, one after the other."""
    value: Any = None
    for i in before:
        if i.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            value = getattr(value, i.argval, None) if isinstance(value, ModuleType) else None
        elif i.opname.startswith("LOAD_"):
            value = _value_of(frame, i)
        else:
            value = _UNKNOWN
        yield value


def _arguments(frame: FrameType, before: Sequence[dis.Instruction]) -> tuple[Any, Any]:
    """The object and the name that `getattr` is called with: None for a name that is none of the
    caller's, or is asked of anything but a module or a class."""
    start = max((k for k, i in enumerate(before) if i.argval == "getattr"), default=-1)
    given = before[start + 1 :]
    values = list(_loaded(frame, given))
    holders = [k for k, x in enumerate(values) if isinstance(x, (ModuleType, type))]
    if not holders:
        return None, None
    k = holders[-1]
    rest = values[k + 1 :]
    return values[k], rest[0] if rest and len(rest) <= 2 else _UNKNOWN


def _key(
    frame: FrameType, before: Sequence[dis.Instruction], after: Sequence[dis.Instruction]
) -> Any:
    """The name by which the result of the call is read; None where it is only asked whether it has
    a name that is known."""
    names = [i.opname for i in after]
    if names and names[0] in ("LOAD_ATTR", "LOAD_METHOD"):
        by_name = after[0].argval in ("get", "__getitem__", "setdefault", "pop")
        return _value_of(frame, after[1]) if by_name and len(after) > 1 else _UNKNOWN
    if names and names[0] == "CONTAINS_OP":
        asked = [_value_of(frame, i) for i in before[-3:]]
        return next((x for x in asked if isinstance(x, str)), _UNKNOWN)
    if len(names) > 1 and names[1] in ("BINARY_SUBSCR", "BINARY_OP", "STORE_SUBSCR"):
        return _value_of(frame, after[0])
    return _UNKNOWN
