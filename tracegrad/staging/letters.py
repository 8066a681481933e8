"""Letters of texts at places which only a run knows: numbers, which are compared, looked up in
dicts and found in texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from .. import ops
from ..ir.trace import user_line
from ..ops.elementwise.arithmetic import number
from ..tensor import inside
from ..tree import node
from .places import is_leaf
from .regions import Refused
from .stand_ins import one_of


class Letter:
    """A text of one letter."""

    __slots__ = ("code",)

    def __init__(self, code: Any) -> None:
        self.code = code

    def _same(self, other: Any) -> Any:
        if type(other) is Letter:
            return ops.equal(self.code, other.code)
        if isinstance(other, str) and len(other) == 1:
            return ops.equal(self.code, ord(other))
        return False

    def __eq__(self, other: object) -> Any:
        return self._same(other)

    def __ne__(self, other: object) -> Any:
        found = self._same(other)
        return True if found is False else ops.logical_not(found)

    def __hash__(self) -> int:
        _refused("is looked up")

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return 1

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") or name in PROBES:
            raise AttributeError(name)
        _refused(f"has its .{name} taken")


PROBES = frozenset(("shape", "dtype", "ndim", "_data", "requires_grad"))
"""Attributes that tell arrays from other things."""


def _refused(what: str) -> NoReturn:
    raise Refused(
        f"{user_line()}: a letter of a text {what}, and which one it is is not known while the "
        "function is traced. Make an array of numbers of the text before: np.array([ord(c) for c "
        "in s])"
    )


def _refusing(name: str) -> Callable[..., Any]:
    def method(self: Letter, *others: Any) -> NoReturn:
        _refused(f"stands in {name}")

    return method


for _name in ("add", "radd", "mul", "rmul", "mod", "rmod", "lt", "le", "gt", "ge"):
    setattr(Letter, f"__{_name}__", _refusing(_name))
for _name in ("str", "repr", "format", "iter", "getitem", "contains"):
    setattr(Letter, f"__{_name}__", _refusing(f"{_name}()"))

node(Letter, lambda x: ([x.code], None, None), lambda _, leaves: Letter(leaves[0]))


class Spelled:
    """The letters of a text, by number."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.count: Any = len(text)

    def item(self, k: Any) -> Any:
        """The letter of a number."""
        return letter_of(self.text, k)

    def __iter__(self) -> Iterator[str]:
        return iter(self.text)


def _codes(text: str) -> Any:
    return np.array([ord(c) for c in text])


def letter_of(text: Any, key: Any) -> Any:
    """`text[key]`, of a text or of bytes."""
    if isinstance(text, bytes):
        return number(inside(np.array(list(text)))[key])
    return Letter(number(inside(_codes(text))[key]))


def has_letter(x: Any) -> bool:
    """Whether it is such a letter, or a tuple with one."""
    return type(x) is Letter or (type(x) is tuple and any(type(v) is Letter for v in x))


def is_in(x: Letter, things: Any) -> Any:
    """`x in things`."""
    if isinstance(things, str):
        return ops.any(ops.equal(inside(_codes(things)), x.code)) if things else False
    found: Any = False
    for other in things:
        found = ops.logical_or(found, x == other)
    return found


def place_in(function: Any, x: Letter, check: Any) -> Any:
    """`text.index(x)` and `text.find(x)`."""
    text = function.__self__
    equal = ops.equal(inside(_codes(text)), x.code)
    there = ops.any(equal)
    if function.__name__ == "find":
        return number(ops.where(there, ops.argmax(equal), -1))
    check(there, lambda: ValueError("substring not found"))
    return number(ops.argmax(equal))


def looked_up(entries: Any, key: Any, check: Any) -> Any:
    """`entries[key]` of a dict by letters, of which the values are numbers or arrays of one shape;
    else NotImplemented."""
    parts = key if type(key) is tuple else (key,)
    keys = [k for k in entries if _fits(k, key)]
    values = [entries[k] for k in keys]
    if (
        not keys
        or not all(map(is_leaf, values))
        or len({getattr(v, "shape", ()) for v in values}) != 1
    ):
        return NotImplemented
    equal: Any = None
    for n, part in enumerate(parts):
        own = [k if type(key) is Letter else k[n] for k in keys]
        if type(part) is Letter:
            same: Any = ops.equal(inside(np.array([ord(c) for c in own])), part.code)
        elif is_leaf(part):
            same = ops.equal(inside(np.array(own)), part)
        else:
            same = np.array([c == part for c in own])
        equal = same if equal is None else ops.logical_and(equal, same)
    there = ops.any(equal)
    check(there, lambda: KeyError("a letter that only a run knows"))
    return one_of(values, ops.argmax(equal), "dict")


def _fits(k: Any, key: Any) -> bool:
    """Whether a key of a dict may be the one that is looked up."""
    if type(key) is Letter:
        return isinstance(k, str) and len(k) == 1
    if type(k) is not tuple or len(k) != len(key):
        return False
    return all(
        (isinstance(a, str) and len(a) == 1)
        if type(b) is Letter
        else (isinstance(a, (int, np.integer)) if is_leaf(b) else True)
        for a, b in zip(k, key, strict=True)
    )


__all__ = [
    "Letter", "Spelled", "has_letter", "is_in", "letter_of", "looked_up", "place_in",
]  # fmt: skip
