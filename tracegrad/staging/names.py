"""What statements bind and read: liveness and definite assignment on syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what is below it, without the inside of functions and classes."""
    yield node
    if not isinstance(node, SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from walk(child)


def bound(nodes: ast.AST | Iterable[ast.AST]) -> set[str]:
    """The names that statements bind in the function that they stand in."""
    found: set[str] = set()

    def look(node: ast.AST, own: frozenset[str]) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
            return
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, COMPREHENSIONS):
            own = own | {
                n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)
            }
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            if node.id not in own:
                found.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update((a.asname or a.name).partition(".")[0] for a in node.names)
        elif (isinstance(node, ast.ExceptHandler) and node.name) or (
            isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
        ):
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        for child in ast.iter_child_nodes(node):
            look(child, own)

    for node in [nodes] if isinstance(nodes, ast.AST) else nodes:
        look(node, frozenset())
    return found


def read(nodes: ast.AST | Iterable[ast.AST | None]) -> set[str]:
    """The names that are read anywhere in them, functions inside included."""
    return {
        n.id
        for node in ([nodes] if isinstance(nodes, ast.AST) else nodes)
        if node is not None
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Load, ast.Del))
    } | {
        n.target.id
        for node in ([nodes] if isinstance(nodes, ast.AST) else nodes)
        if node is not None
        for n in ast.walk(node)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)
    }


def declared(function: ast.AST, kind: type[ast.Global | ast.Nonlocal]) -> set[str]:
    """The names that a function declares to be global, or another function's."""
    return {
        name
        for child in ast.iter_child_nodes(function)
        for n in walk(child)
        if isinstance(n, kind)
        for name in n.names
    }


def shared(function: ast.AST) -> set[str]:
    """The names that functions inside this one read or bind: these may be read at any time."""
    found: set[str] = set()
    for child in ast.iter_child_nodes(function):
        for n in walk(child):
            if isinstance(n, SCOPES):
                found |= read(n) | {
                    name
                    for inner in ast.walk(n)
                    if isinstance(inner, ast.Nonlocal)
                    for name in inner.names
                }
    return found


# --- liveness, on statements without jumps out of what becomes a function ------------------------


class Liveness:
    """Which names may be read after a statement; `after` and `head` are kept by statement."""

    def __init__(self, always: set[str]) -> None:
        self.always = always
        self.after: dict[ast.stmt, set[str]] = {}
        self.head: dict[ast.stmt, set[str]] = {}
        """Of a loop: what its next pass, its test and what follows read."""

    def block(self, statements: Sequence[ast.stmt], out: set[str]) -> set[str]:
        """The names live before the statements, where these are after them."""
        for s in reversed(statements):
            out = self.statement(s, out)
        return out

    def statement(self, s: ast.stmt, out: set[str]) -> set[str]:
        """The names live before one statement."""
        out = out | self.always
        self.after[s] = out
        if getattr(s, "kept", False) or isinstance(s, (ast.Try, ast.Match)):
            around = out | read(s)
            self._inside(s, around)
            return around
        if isinstance(s, ast.If):
            return read(s.test) | self.block(s.body, out) | self.block(s.orelse, out)
        if isinstance(s, (ast.While, ast.For)):
            flag = getattr(s, "flag", "")
            live = out | ({flag} if flag else set())
            live |= read(s.test) if isinstance(s, ast.While) else set()
            while True:
                before = self.block(s.body, live)
                if isinstance(s, ast.For):
                    before -= bound(s.target)
                    before |= read(s.target)
                if before <= live:
                    break
                live |= before
            self.head[s] = live
            return live | (read(s.iter) if isinstance(s, ast.For) else set())
        if isinstance(s, ast.With):
            return read([i.context_expr for i in s.items]) | self.block(s.body, out)
        if isinstance(s, (ast.Return, ast.Raise)):
            return read(s) | self.always
        killed = bound(s)
        if any(isinstance(n, (ast.NamedExpr, ast.Delete)) for n in walk(s)):
            killed = set()
        return (out - killed) | read(s)

    def _inside(self, s: ast.stmt, around: set[str]) -> None:
        for name in ("body", "orelse", "finalbody"):
            self.block(getattr(s, name, []), around)
        for handler in getattr(s, "handlers", []):
            self.block(handler.body, around)
        for case in getattr(s, "cases", []):
            self.block(case.body, around)


# --- definite assignment --------------------------------------------------------------------------


def unassured(body: Sequence[ast.stmt], names: set[str], given: set[str]) -> set[str]:
    """Of these names those that some statement may read before anything was bound to them. All
    others are bound wherever they are read."""
    analysis = _Assignment(names)
    analysis.block(body, given)
    return analysis.found


class _Assignment:
    """The state is the set of names that are bound for sure; None where nobody comes."""

    def __init__(self, names: set[str]) -> None:
        self.names, self.found = names, set[str]()
        self.loops: list[list[set[str] | None]] = []

    def reads(self, node: ast.AST | None, state: set[str]) -> None:
        if node is not None:
            self.found |= (read(node) & self.names) - state

    def block(self, statements: Sequence[ast.stmt], state: set[str] | None) -> set[str] | None:
        for s in statements:
            if state is None:
                return None
            state = self.statement(s, state)
        return state

    def statement(self, s: ast.stmt, state: set[str]) -> set[str] | None:
        if isinstance(s, (ast.Return, ast.Raise)):
            self.reads(s, state)
            return None
        if isinstance(s, (ast.Break, ast.Continue)):
            if isinstance(s, ast.Break) and self.loops:
                self.loops[-1].append(state)
            return None
        if isinstance(s, ast.If):
            self.reads(s.test, state)
            return _both(self.block(s.body, state), self.block(s.orelse, state))
        if isinstance(s, (ast.While, ast.For)):
            endless = isinstance(s, ast.While) and is_true(s.test)
            self.reads(s.test if isinstance(s, ast.While) else s.iter, state)
            inner = state | (bound(s.target) if isinstance(s, ast.For) else set())
            self.loops.append([])
            self.block(s.body, inner)
            breaks = self.loops.pop()
            after = None if endless else self.block(s.orelse, state)
            for b in breaks:
                after = _both(after, b)
            return after
        if isinstance(s, (ast.Try, ast.Match)):
            self.reads(s, state)
            return state
        if isinstance(s, ast.With):
            for i in s.items:
                self.reads(i.context_expr, state)
                state = state | (bound(i.optional_vars) if i.optional_vars else set())
            return self.block(s.body, state)
        self.reads(s, state)
        if isinstance(s, ast.Delete):
            return state - bound(s)
        sure = bound(s)
        for n in walk(s):
            if isinstance(n, ast.NamedExpr):
                sure -= bound(n.target)
        return state | sure


def _both(a: set[str] | None, b: set[str] | None) -> set[str] | None:
    return b if a is None else a if b is None else a & b


def is_true(test: ast.expr) -> bool:
    """Whether a test is written as one that always holds."""
    return isinstance(test, ast.Constant) and bool(test.value)


__all__ = ["Liveness", "bound", "declared", "is_true", "read", "shared", "unassured", "walk"]
