"""The names by which code finds variables: those that it spells, and, where it looks variables up
by their names (`globals()["x"]`, `getattr(module, "x")`), the texts that it holds."""

from __future__ import annotations

import dis
import functools
import importlib.util
import operator
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

LOOKUPS = frozenset(
    (
        "globals", "locals", "vars", "getattr", "attrgetter", "itemgetter", "methodcaller",
        "__dict__", "__globals__", "__getattribute__", "f_globals", "f_builtins", "modules",
        "import_module", "__import__", "getmembers", "getmembers_static", "getattr_static", "eval",
        "exec", "format", "format_map",
    )
)  # fmt: skip
"""What code names that looks variables up by texts."""
_IMPLIED = {
    **dict.fromkeys(("repr", "str", "format", "ascii"), "__repr__"),
    **dict.fromkeys(("fields", "asdict", "astuple"), "__dataclass_fields__"),
    **dict.fromkeys(("get_type_hints", "get_annotations", "signature"), "__annotations__"),
}
"""What functions of Python's library read of the objects that they are given."""
_PROGRAMS = frozenset(("eval", "exec", "format", "format_map"))
_BY_IDENTITY = frozenset(map(id, (globals, locals, vars, getattr, eval, exec, __import__)))
_SHOWING = frozenset(("FORMAT_VALUE", "CONVERT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"))
_NAME = re.compile(r"[^\W\d]\w*")


@functools.lru_cache(maxsize=4096)
def spelled(code: types.CodeType) -> tuple[str, ...]:
    """The names in code, functions inside of it included."""
    return tuple(dict.fromkeys([*code.co_names, *[n for c in inner(code) for n in spelled(c)]]))


def inner(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of the functions inside of code."""
    return (constant for constant in code.co_consts if isinstance(constant, types.CodeType))


@functools.lru_cache(maxsize=4096)
def texts_in(code: types.CodeType) -> tuple[str, ...]:
    """The names in the texts of code that looks variables up: of a text of several words (a
    docstring, a message) only where it may be a program."""
    programs = not _PROGRAMS.isdisjoint(spelled(code))
    own = [
        text
        for constant in code.co_consts
        for text in texts(constant)
        if programs or not isinstance(constant, str) or not re.search(r"\s", constant)
    ]
    return tuple(dict.fromkeys([*own, *[text for c in inner(code) for text in texts_in(c)]]))


def texts(value: Any) -> Iterator[str]:
    """The names in a text, and in a tuple, list, set or dict of texts; of a text with dots (a
    module's name) it is one itself."""
    if isinstance(value, str):
        if "." in value:
            yield value
        yield from _NAME.findall(value)
    elif isinstance(value, (tuple, list, set, frozenset, dict)):
        for part in value:
            if isinstance(part, str):
                yield from texts(part)


def given_to(value: Any) -> Iterator[str]:
    """The names that `operator.attrgetter` and `methodcaller` were given."""
    if isinstance(value, (operator.attrgetter, operator.methodcaller)):
        yield from texts(value.__reduce__()[1])


@functools.lru_cache(maxsize=4096)
def variables_of(code: types.CodeType) -> tuple[str, ...]:
    """The globals that a function and those inside it read: without attributes, or `x.mean` would
    seem to read a variable `mean`."""
    own = [i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    return tuple(dict.fromkeys([*own, *[n for c in inner(code) for n in variables_of(c)]]))


def texts_of(function: types.FunctionType) -> tuple[str, ...]:
    """Where a function looks variables up, the names in the texts that it reads."""
    code, space = function.__code__, function.__globals__
    if LOOKUPS.isdisjoint(spelled(code)) and not any(
        id(space.get(name)) in _BY_IDENTITY for name in variables_of(code)
    ):
        return ()
    read = [space.get(name) for name in variables_of(code)]
    for cell in function.__closure__ or ():
        try:
            read.append(cell.cell_contents)
        except ValueError:
            continue
    read += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    found = [text for value in read for text in texts(value)]
    return tuple(dict.fromkeys([*texts_in(code), *found]))


@functools.lru_cache(maxsize=4096)
def loaded(code: types.CodeType) -> frozenset[str]:
    """The names that code reads: unlike `spelled` without those that it only stores, as
    constructors do."""
    own = {
        i.argval
        for i in dis.get_instructions(code)
        if i.opname.startswith("LOAD_") and isinstance(i.argval, str)
    }
    return frozenset(own.union(_implied(code), *map(loaded, inner(code))))


@functools.lru_cache(maxsize=4096)
def iterates(code: types.CodeType) -> bool:
    """Whether the order of a dict may count in code, which has a loop, takes something apart or
    names what does."""
    return (
        not _APART.isdisjoint(spelled(code))
        or any(i.opname in _APART for i in dis.get_instructions(code))
        or any(map(iterates, inner(code)))
    )


_APART = frozenset(
    (
        "GET_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "DICT_UPDATE", "DICT_MERGE",
        "SET_UPDATE", "CALL_FUNCTION_EX", "chain", "dict", "dumps", "enumerate", "items", "iter",
        "keys", "leaves", "list", "map", "next", "popitem", "reduce", "reversed", "tuple", "values",
        "zip",
    )
)  # fmt: skip


def names_of(function: types.FunctionType) -> tuple[str, ...]:
    """The names by which a function finds variables: those that it spells, and those by which it
    looks them up."""
    code = function.__code__
    return tuple(dict.fromkeys([*spelled(code), *_implied(code), *texts_of(function)]))


@functools.lru_cache(maxsize=4096)
def _implied(code: types.CodeType) -> tuple[str, ...]:
    """The names that code reads without spelling them: what shows an object as text, what patterns
    (`case Point(x=0)`) and functions of Python's library read of it."""
    found = [_IMPLIED[name] for name in code.co_names if name in _IMPLIED]
    before = None
    for i in dis.get_instructions(code):
        if i.opname in _SHOWING:
            found.append("__repr__")
        elif i.opname == "MATCH_CLASS" and before is not None:
            found += ["__match_args__", *before.argval]
        before = i
    return tuple(dict.fromkeys([*found, *[n for c in inner(code) for n in _implied(c)]]))


@functools.lru_cache(maxsize=4096)
def _imports(code: types.CodeType) -> tuple[str, ...]:
    """The modules that code imports, functions inside of it included; relative ones with dots."""
    found: list[str] = []
    before: list[dis.Instruction] = []
    for i in dis.get_instructions(code):
        if i.opname == "IMPORT_NAME":
            level, parts = (b.argval for b in before[-2:])
            base = "." * level + i.argval
            found += [base, *(f"{base}{'' if base[-1] == '.' else '.'}{p}" for p in parts or ())]
        before = [*before[-2:], i]
    return tuple(dict.fromkeys([*found, *[n for c in inner(code) for n in _imports(c)]]))


def modules_of(function: types.FunctionType, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The modules that a function imports, or may find among `sys.modules` by these names."""
    space, code = function.__globals__, function.__code__
    package = space.get("__package__") or ""
    for name in dict.fromkeys((*names, *_imports(code))):
        full = _absolute(name, package) if name[:1] == "." else name
        found = sys.modules.get(full)
        if found is not None and not (space.get(name) is found and name in variables_of(code)):
            yield full, found


def not_loaded(function: types.FunctionType) -> set[str]:
    """What a function imports that is no module yet: modules that it will load, and what it takes
    out of modules."""
    package = function.__globals__.get("__package__") or ""
    found = {_absolute(n, package) if n[:1] == "." else n for n in _imports(function.__code__)}
    return found - sys.modules.keys()


def _absolute(name: str, package: str) -> str:
    try:
        return importlib.util.resolve_name(name, package)
    except ImportError:
        return ""
