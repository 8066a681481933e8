"""What a function's syntax tree has to be before it is rewritten."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection

from .names import walk
from .pieces import binds, place
from .source import Function

UNTOUCHED = frozenset(
    ("locals", "globals", "vars", "eval", "exec", "dir", "__import__", "breakpoint")
)
"""Functions that look at who calls them."""


class Unstaged(Exception):
    """The function stays as it is; the text says why."""


def prepared(given: Function, lines: Collection[int]) -> Function:
    """A copy of a function's tree; Unstaged where it cannot be rewritten. What is computed at the
    `lines` where a block is cut (cuts.py) stands in a statement."""
    node = copy.deepcopy(given)
    for n in ast.walk(node):
        if isinstance(n, (ast.AsyncFunctionDef, ast.Await)):
            raise Unstaged(f"line {n.lineno}: it is asynchronous")
    for child in ast.iter_child_nodes(node):
        for n in walk(child):
            if isinstance(n, (ast.Yield, ast.YieldFrom)):
                raise Unstaged(f"line {n.lineno}: it is a generator")
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in UNTOUCHED:
                raise Unstaged(f"line {n.lineno}: it calls {n.func.id}")
    for n in ast.walk(node):
        if (
            isinstance(n, ast.While)
            and not n.orelse
            and (
                binds(n.test) or any(n.test.lineno <= k <= (n.test.end_lineno or 0) for k in lines)
            )
        ):
            # What the condition binds, or finds the length of, the body does.
            end = place(ast.If(ast.UnaryOp(ast.Not(), n.test), [ast.Break()], []), n.test)
            n.test, n.body = place(ast.Constant(True), n.test), [end, *n.body]
    if isinstance(node, ast.Lambda) and lines:
        return place(ast.FunctionDef("_", node.args, [ast.Return(node.body)], []), given)
    return node


__all__ = ["UNTOUCHED", "Unstaged", "prepared"]
