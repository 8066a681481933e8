"""The syntax trees of functions that are translated, found in their files."""

from __future__ import annotations

import ast
import itertools
import linecache
import textwrap
from collections.abc import Callable, Sequence
from functools import cache
from types import CodeType, FunctionType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from ..syntax import parse

GENERATED: WeakKeyDictionary[CodeType, ast.FunctionDef] = WeakKeyDictionary()
"""The trees of functions made from text that stands in no file of a module."""
_COUNT = itertools.count()


Change: TypeAlias = Callable[[ast.FunctionDef], None]
"""Rewrites the tree of a function for who translates it."""


def generated(
    text: str,
    name: str,
    scope: dict[str, Any],
    file: str = "<generated>",
    change: Change | None = None,
) -> Callable[..., Any]:
    """Function `name` of a text, run in `scope`."""
    module = parse(text)
    exec(compile(module, file, "exec"), scope)
    function: Callable[..., Any] = scope[name]
    tree = next(n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == name)
    if change is not None:
        change(tree)
    GENERATED[function.__code__] = tree
    return function


def declared(
    text: str,
    name: str,
    scope: dict[str, Any],
    file: str,
    change: Change | None = None,
) -> Callable[..., Any]:
    """The same without instructions in it, for who reads the tree only: these take as long to make
    as some translations."""
    module = parse(text)
    at = next(
        k for k, n in enumerate(module.body) if isinstance(n, ast.FunctionDef) and n.name == name
    )
    tree = module.body[at]
    assert isinstance(tree, ast.FunctionDef)
    if change is not None:
        change(tree)
    # Code is found by its value, and without instructions many kernels would be equal.
    own = ast.Return(ast.Constant(next(_COUNT)))
    module.body[at] = ast.fix_missing_locations(
        ast.copy_location(ast.FunctionDef(name, tree.args, [own], [], None), tree)
    )
    exec(compile(module, file, "exec"), scope)
    function: Callable[..., Any] = scope[name]
    GENERATED[function.__code__] = tree
    return function


def complete(function: FunctionType) -> None:
    """Give a declared function its instructions."""
    tree = GENERATED.get(function.__code__)
    if tree is not None:
        scope: dict[str, Any] = {}
        plain = ast.copy_location(ast.FunctionDef(tree.name, tree.args, tree.body, [], None), tree)
        exec(compile(ast.Module([plain], []), function.__code__.co_filename, "exec"), scope)
        function.__code__ = scope[tree.name].__code__
        GENERATED[function.__code__] = tree


def tree_of(code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
    """The definition that this code was compiled from; None where its text is not there."""
    made = GENERATED.get(code)
    return made if made is not None else _in_file(code)


@cache
def _in_file(code: CodeType) -> ast.FunctionDef | ast.Lambda | None:
    """Parsed alone: a whole file takes a tenth of a second."""
    lines = linecache.getlines(code.co_filename)
    places = [p for p in code.co_positions() if p[0] and p[1] and p[2] is not None and p[3]]
    if not lines or not places:
        return None
    start = min((line, column) for line, _, column, _ in places)
    end = max((line, column) for _, line, _, column in places)
    try:
        if code.co_name == "<lambda>":
            return _lambda(code, lines, start, end)  # type: ignore[arg-type]
        text = "".join(lines[code.co_firstlineno - 1 : end[0]])
        found = parse(textwrap.dedent(text)).body[0]
    except SyntaxError:
        return None
    return found if isinstance(found, ast.FunctionDef) and found.name == code.co_name else None


def _lambda(
    code: CodeType, lines: Sequence[str], start: tuple[int, int], end: tuple[int, int]
) -> ast.Lambda:
    """The instructions of a lambda cover its body, which is all there is to it besides the names of
    its parameters."""
    chosen = [line.encode() for line in lines[start[0] - 1 : end[0]]]
    chosen[-1] = chosen[-1][: end[1]]
    chosen[0] = chosen[0][start[1] :]
    names = code.co_varnames[: code.co_argcount]
    found = parse(f"lambda {', '.join(names)}: ({b''.join(chosen).decode()})", mode="eval").body
    assert isinstance(found, ast.Lambda)
    return found


def assignments(tree: ast.FunctionDef | ast.Lambda) -> tuple[dict[str, int], set[str]]:
    """How often each name is assigned, and which arrays grow; all loops over one name together
    count once, since each binds it for its own body."""
    count = {a.arg: 1 for a in tree.args.args}
    grown: set[str] = set()
    counters: set[str] = set()
    # Names are assigned by statements only, of which there are far fewer than expressions.
    pending: list[ast.AST] = [] if isinstance(tree, ast.Lambda) else list(tree.body)
    while pending:
        s = pending.pop()
        match s:
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name("grown"))):
                # What grows is still the same variable.
                grown.add(name)
            case ast.Assign(targets):
                pending.extend(targets)
            case ast.AugAssign(target):
                pending.extend((target, target))
            case ast.AnnAssign(target):
                pending.append(target)
            case ast.Name(name):
                count[name] = count.get(name, 0) + 1
            case ast.Tuple(parts):
                pending.extend(parts)
            case ast.For(ast.Name(name), _, body, otherwise):
                counters.add(name)
                pending.extend((*body, *otherwise))
            case ast.For(target, _, body, otherwise):
                pending.extend((target, *body, *otherwise))
            case ast.While(_, body, otherwise) | ast.If(_, body, otherwise):
                pending.extend((*body, *otherwise))
    for name in counters:
        count[name] = count.get(name, 0) + 1
    return count, grown
