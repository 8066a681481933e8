"""The syntax trees of functions that are translated, found in their files."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

GENERATED: WeakKeyDictionary[CodeType, ast.FunctionDef] = WeakKeyDictionary()
"""The trees of functions made from text that stands in no file of a module."""


def generated(text: str, name: str, scope: dict[str, Any], file: str = "<generated>") -> Callable[..., Any]:
    """Function `name` of a text, run in `scope`."""
    tree = ast.parse(text)
    exec(compile(tree, file, "exec"), scope)
    function: Callable[..., Any] = scope[name]
    GENERATED[function.__code__] = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    return function


def tree_of(code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
    """The definition that this code was compiled from; None where its text is not there."""
    made = GENERATED.get(code)
    return made if made is not None else _in_file(code)


@cache
def _in_file(code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
    names = code.co_varnames[: code.co_argcount]
    found: ast.FunctionDef | ast.Lambda | None = None
    for node in _definitions(code.co_filename):
        if tuple(a.arg for a in node.args.args) != names:
            continue
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *[d.lineno for d in node.decorator_list]])
            if node.name == code.co_name and first == code.co_firstlineno:
                return node
        elif code.co_name == "<lambda>" and node.lineno == code.co_firstlineno and _covers(node.body, code):
            # Of nested ones the inner comes later.
            found = node
    return found


@cache
def _definitions(file: str) -> tuple[ast.FunctionDef | ast.Lambda, ...]:
    text = "".join(linecache.getlines(file))
    return tuple([n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.Lambda))])


def _covers(body: ast.expr, code: CodeType) -> bool:
    """Whether all instructions with a known place lie in this expression."""
    assert body.end_lineno is not None
    assert body.end_col_offset is not None
    start, end = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    places = [(line, column) for line, _, column, to in code.co_positions() if line and column is not None and to]
    return bool(places) and all(start <= p <= end for p in places)
