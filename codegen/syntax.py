"""Syntax trees, made by one thread at a time.

CPython 3.11 counts how deep a tree is in one place for all threads, and raises a SystemError where
two of them meet in the middle (github.com/python/cpython/issues/106905).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from .locks import lock

_ALONE = lock()


def parse(text: str, mode: str = "exec") -> Any:
    """`ast.parse`."""
    with _ALONE:
        return ast.parse(text, mode=mode)


_CHILDREN: dict[type, tuple[str, ...]] = {ast.Constant: ()}
"""By the kinds of nodes that were met: the fields that hold statements and expressions."""
_WORDS = frozenset({"ctx", "op", "ops", "id", "attr", "arg", "kind", "name", "type_comment"})
"""Fields that hold none."""


def walk(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of several trees, without operators and contexts, in some order: a third of the
    time of `ast.walk`, which looks at each field."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        kind = type(node)
        fields = _CHILDREN.get(kind)
        if fields is None:
            fields = _CHILDREN[kind] = tuple([f for f in kind._fields if f not in _WORDS])
        for field in fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                pending.append(value)
            elif isinstance(value, list):
                pending += [x for x in value if isinstance(x, ast.AST)]


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """The variables that trees mention."""
    return {n.id for n in walk(nodes) if isinstance(n, ast.Name)}


__all__ = ["names_in", "parse", "walk"]
