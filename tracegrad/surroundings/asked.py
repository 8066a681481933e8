"""What code asks for that may not be there, and goes on: `hasattr(x, name)`, a default of
`getattr`, an exception that it catches. What appears later is seen by the next call."""

from __future__ import annotations

import builtins
import dis
import functools
import itertools
import types
from collections.abc import Iterator

from .names import inner, names_of, spelled, texts_in, variables_of

_IN_OWN_MODULE = frozenset(("globals", "vars", "f_globals", "eval", "exec"))
"""Names of what may ask for a variable of the function's own module which is not there yet."""
_ALL = ("Exception", "BaseException")
_NO_ATTRIBUTE, _NO_VARIABLE = ("AttributeError", *_ALL), ("NameError", *_ALL)
_NO_MODULE = ("ImportError", "ModuleNotFoundError", *_ALL)


def _catches(code: types.CodeType, names: tuple[str, ...]) -> bool:
    """Whether code, functions inside of it included, goes on behind one of these exceptions."""
    return not set(names).isdisjoint(spelled(code)) or _catches_all(code)


@functools.lru_cache(maxsize=4096)
def _catches_all(code: types.CodeType) -> bool:
    """Whether code has an `except:` without a name."""
    steps = {i.offset: i for i in dis.get_instructions(code)}
    for before, i in itertools.pairwise(steps.values()):
        # Where a handler begins, and where its name is not that of the exception.
        handler = {"PUSH_EXC_INFO": i, "CHECK_EXC_MATCH": steps.get(i.argval)}.get(before.opname)
        if handler is not None and handler.opname == "POP_TOP":
            return True
    return any(map(_catches_all, inner(code)))


@functools.lru_cache(maxsize=4096)
def _attributes(code: types.CodeType) -> frozenset[str]:
    """The attributes that code reads, and what it takes out of modules."""
    own = {
        i.argval
        for i in dis.get_instructions(code)
        if i.opname in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")
    }
    return frozenset(own.union(*map(_attributes, inner(code))))


def asked_of(function: types.FunctionType) -> frozenset[str]:
    """The names of attributes that a function may find missing."""
    code, found = function.__code__, set[str]()
    if not {"hasattr", "getattr"}.isdisjoint(spelled(code)):
        found.update(text for text in texts_in(code) if text.isidentifier())
    if _catches(code, _NO_ATTRIBUTE) or _catches(code, _NO_MODULE):
        found |= _attributes(code)
    return frozenset(found)


def may_appear(function: types.FunctionType, texts: tuple[str, ...]) -> Iterator[str]:
    """The names of variables that a function may find in its module at a later call, if they are
    not there: those of Python's own functions, those that it looks up by these texts, and all where
    it catches a NameError."""
    code = function.__code__
    read = variables_of(code)
    yield from read if _catches(code, _NO_VARIABLE) else (n for n in read if n in vars(builtins))
    if not _IN_OWN_MODULE.isdisjoint(names_of(function)):
        yield from texts


def goes_on_unbound(function: types.FunctionType) -> bool:
    """Whether a function goes on where a variable around it has no value."""
    return _catches(function.__code__, _NO_VARIABLE)


def goes_on_without(function: types.FunctionType) -> bool:
    """Whether a function goes on where a module that it imports is not there."""
    return _catches(function.__code__, _NO_MODULE)


__all__ = ["asked_of", "goes_on_unbound", "goes_on_without", "may_appear"]
