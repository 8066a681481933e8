"""The syntax tree of a function, found by its code object; nothing where the text is not that of
the code."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple, TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.Lambda


class Definition(NamedTuple):
    """A function as it stands in its file."""

    node: Function
    owner: str
    """The class around it, whose name private names have; "" outside of classes."""
    lines: tuple[str, ...]
    """The lines of the file."""


class _File(NamedTuple):
    found: list[tuple[Function, str]]
    codes: frozenset[Any]
    lines: tuple[str, ...]


def definition_of(code: CodeType) -> Definition | None:
    """The definition that this code was compiled from; None where there is no text, or the text is
    another one by now."""
    lines = tuple(linecache.getlines(code.co_filename))
    file = _read(code.co_filename, lines) if lines else None
    if file is None:
        return None
    fitting = [
        (node, owner)
        for node, owner in file.found
        if _first_line(node) == code.co_firstlineno and _is_of(node, code)
    ]
    if not fitting:
        return None
    # Of lambdas in lambdas the innermost one that holds all of the code.
    node, owner = min(fitting, key=lambda found: _length(found[0]))
    # Where a test runner rewrote the assertions, the code is not what the text gives.
    if _key(code) in file.codes or any(isinstance(n, ast.Assert) for n in ast.walk(node)):
        return Definition(node, owner, lines)
    return None


def _length(node: Function) -> tuple[int, int]:
    return (node.end_lineno or 0) - node.lineno, (node.end_col_offset or 0) - node.col_offset


@functools.lru_cache(64)
def _read(name: str, lines: tuple[str, ...]) -> _File | None:
    text = "".join(lines)
    try:
        tree = ast.parse(text, name)
        codes = frozenset(map(_key, _codes(compile(text, name, "exec", dont_inherit=True))))
    except (SyntaxError, ValueError, RecursionError):
        return None
    return _File(list(_functions(tree, "")), codes, lines)


def _key(code: CodeType) -> Any:
    """What two compilations of one text have in common, whatever was done to the text around."""
    constants = tuple([type(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts])
    names = code.co_names, code.co_varnames, code.co_freevars, constants
    return code.co_name, code.co_firstlineno, code.co_code, names


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _functions(tree: ast.AST, owner: str) -> Iterator[tuple[Function, str]]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.FunctionDef, ast.Lambda)):
            yield child, owner
        yield from _functions(child, child.name if isinstance(child, ast.ClassDef) else owner)


def _first_line(node: Function) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *[d.lineno for d in decorators]])


def _is_of(node: Function, code: CodeType) -> bool:
    a = node.args
    names = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    if names != list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]):
        return False
    if isinstance(node, ast.FunctionDef):
        return node.name == code.co_name
    if code.co_name != "<lambda>":
        return False
    body = node.body
    span = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    places = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line is not None
        and end_line is not None
        and column is not None
        and end_column is not None
        and (column, end_column) != (0, 0)
    ]
    return all(
        span[0] <= start and end <= (span[1][0] or 0, span[1][1] or 0)
        for start, end in places
        if start != (node.lineno, node.col_offset)
    )


__all__ = ["Definition", "Function", "definition_of"]
