"""What a function's syntax tree has to be before it is rewritten."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection

from .matching import Matches
from .names import walk
from .pieces import binds, loaded, place, stored
from .source import Function

UNTOUCHED = frozenset(
    ("locals", "globals", "vars", "eval", "exec", "dir", "__import__", "breakpoint")
)
"""Functions that look at who calls them."""


class Unstaged(Exception):
    """The function stays as it is; the text says why."""


class LaterBindings(ast.NodeTransformer):
    """`if a and (n := f()):` binds n only where a holds: as statements."""

    def __init__(self) -> None:
        self.count = 0

    def visit_If(self, s: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(s)
        if not binds_later(s.test):
            return s
        if not s.orelse and (parts := _one_by_one(s)):
            return parts
        self.count += 1
        name = f"_tg_test_{self.count}_{s.lineno}"
        made = self._bound(s.test, name)
        s.test = place(loaded(name), s.test)
        return [*made, s]

    def _bound(self, e: ast.expr, name: str) -> list[ast.stmt]:
        """What binds the name to the value of a condition."""
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not) and binds_later(e.operand):
            turned = place(ast.UnaryOp(ast.Not(), loaded(name)), e)
            return [*self._bound(e.operand, name), self._to(name, turned)]
        if not (isinstance(e, ast.BoolOp) and binds_later(e)):
            return [self._to(name, e)]
        first, *others = e.values
        rest = others[0] if len(others) == 1 else place(ast.BoolOp(e.op, others), others[0])
        going: ast.expr = loaded(name)
        if isinstance(e.op, ast.Or):
            going = ast.UnaryOp(ast.Not(), going)
        test = place(ast.If(going, self._bound(rest, name), []), rest)
        return [*self._bound(first, name), test]

    def _to(self, name: str, e: ast.expr) -> ast.stmt:
        return place(ast.Assign([stored(name)], e), e)


def _one_by_one(s: ast.If) -> list[ast.stmt]:
    """`if a and b: ...` as one branch in another, so that what b binds is bound in it, and
    `if not (a and b): break` as one behind another; nothing of other ones."""
    test, turned = s.test, False
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, turned = test.operand, True
    if not (isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)):
        return []
    if not turned:
        body = s.body
        for value in reversed(test.values):
            body = [place(ast.If(value, body, []), value)]
        return body
    if not (len(s.body) == 1 and isinstance(s.body[0], ast.Break)):
        return []
    return [
        place(ast.If(place(ast.UnaryOp(ast.Not(), v), v), [place(ast.Break(), v)], []), v)
        for v in test.values
    ]


def binds_later(e: ast.expr) -> bool:
    """Whether a condition binds a name in an operand that is not always computed."""
    if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
        return binds_later(e.operand)
    return isinstance(e, ast.BoolOp) and (any(map(binds, e.values[1:])) or binds_later(e.values[0]))


def prepared(given: Function, lines: Collection[int]) -> Function:
    """A copy of a function's tree; Unstaged where it cannot be rewritten. What is computed at the
    `lines` where a block is cut (cuts.py) stands in a statement."""
    node = copy.deepcopy(given)
    Matches().visit(node)
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
    LaterBindings().visit(node)
    if isinstance(node, ast.Lambda) and lines:
        return place(ast.FunctionDef("_", node.args, [ast.Return(node.body)], []), given)
    return node


__all__ = ["UNTOUCHED", "Unstaged", "prepared"]
