"""Jumps out of branches and loops as values: `break`, `continue` and early `return` become flags,
and what follows a jump stands in the other branch."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from .names import SCOPES, is_true

T = TypeVar("T", bound=ast.AST)
RESULT, DONE = "_tg_result", "_tg_done"
LOOPS = (ast.While, ast.For)
QUIET = frozenset(("errstate", "no_grad", "enable_grad", "inference_mode", "catch_warnings"))
"""Contexts that let statements pass as they are."""


class LoopAround(NamedTuple):
    """The loop around a statement."""

    flag: str
    """True from when on no further pass is to be made."""
    next: str
    """True from when on the rest of the pass is left out."""
    kept: bool


def is_closed(s: ast.AST) -> bool:
    """Whether a statement stays Python's whatever stands in it: what passes through it may be an
    exception."""
    if isinstance(s, ast.With):
        calls = [i.context_expr for i in s.items]
        return not all(
            isinstance(c, ast.Call)
            and (c.func.attr if isinstance(c.func, ast.Attribute) else getattr(c.func, "id", ""))
            in QUIET
            for c in calls
        ) or bool(list(escapes(s)))
    return isinstance(s, (ast.Try, ast.Match, ast.AsyncWith, ast.AsyncFor)) or (
        type(s).__name__ == "TryStar"
    )


def escapes(s: ast.AST, inside: bool = False) -> Iterator[ast.stmt]:
    """The jumps that lead out of a statement (inside: those of a loop's own body left out)."""
    for child in ast.iter_child_nodes(s):
        if isinstance(child, SCOPES):
            continue
        if isinstance(child, ast.Return) or (
            isinstance(child, (ast.Break, ast.Continue)) and not inside
        ):
            yield child
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            deeper = inside or (isinstance(s, LOOPS) and child in s.body)
            within = isinstance(child, LOOPS)
            if within:
                yield from _of_loop(child, deeper)  # type: ignore[arg-type]
            else:
                yield from escapes(child, deeper)


def _of_loop(loop: ast.While | ast.For, inside: bool) -> Iterator[ast.stmt]:
    for s in loop.body:
        for j in jumps_of(s):
            if isinstance(j, ast.Return):
                yield j
    for s in loop.orelse:
        for j in jumps_of(s):
            if isinstance(j, ast.Return) or not inside:
                yield j


def jumps_of(s: ast.stmt) -> list[ast.stmt]:
    """A statement itself where it jumps; else the jumps that lead out of it."""
    if isinstance(s, (ast.Return, ast.Break, ast.Continue)):
        return [s]
    if isinstance(s, SCOPES):
        return []
    if isinstance(s, LOOPS):
        return list(_of_loop(s, False))
    return list(escapes(s))


def ends(statements: Sequence[ast.stmt]) -> bool:
    """Whether nothing behind these statements is reached."""
    return any(map(_ends, statements))


def _ends(s: ast.stmt) -> bool:
    if isinstance(s, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
        return True
    if isinstance(s, ast.If):
        return bool(s.orelse) and ends(s.body) and ends(s.orelse)
    if isinstance(s, ast.While):
        return is_true(s.test) and not any(isinstance(j, ast.Break) for j in _direct(s.body))
    return isinstance(s, ast.With) and not is_closed(s) and ends(s.body)


def _direct(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for s in statements:
        yield from jumps_of(s)


class Jumps:
    """The statements of one function with jumps as values. `returns` says whether its result is
    kept in a variable."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.numbers = itertools.count()
        nested = [n for s in body for n in _statements(s)]
        closed = [s for s in nested if is_closed(s)]
        self.returns_kept = any(isinstance(j, ast.Return) for s in closed for j in jumps_of(s))
        self.closed = closed
        self.raises = False
        self.used: set[str] = set()

    def function(self, body: list[ast.stmt], value: bool = False) -> list[ast.stmt]:
        """The body of a function, which returns at its end alone (`value`: a variable there)."""
        early = [
            j
            for s in body
            if not isinstance(s, ast.Return)
            for j in jumps_of(s)
            if isinstance(j, ast.Return)
        ]
        raises = any(isinstance(n, ast.Raise) for s in body for n in _statements(s))
        if not (early or raises or value) or self.returns_kept:
            return self.block(body, [])
        self.raises = raises
        if not ends(body):
            body = [*body, _at(ast.Return(ast.Constant(None)), body[-1])]
        found = self.block(body, [], True)
        first, last = body[0], body[-1]
        start = [_set(DONE, False, first)] if DONE in self.used else []
        return [*start, *found, _at(ast.Return(_load(RESULT)), last)]

    def block(
        self, statements: Sequence[ast.stmt], loops: list[LoopAround], early: bool = False
    ) -> list[ast.stmt]:
        """The statements without jumps; `early`: returns become values."""
        out: list[ast.stmt] = []
        for k, s in enumerate(statements):
            rest = list(statements[k + 1 :])
            if isinstance(s, (ast.Return, ast.Break, ast.Continue)):
                return [*out, *self._jump(s, loops, early)]
            jumps = jumps_of(s)
            if is_closed(s) or self._stays(s, jumps, loops):
                out.append(self._kept(s, loops, early))
                continue
            if isinstance(s, ast.If) and (jumps or self._raises(s)):
                made, rest = self._branch(s, rest, loops, early)
                out.append(made)
            elif isinstance(s, ast.If):
                out.append(
                    _like(
                        s,
                        body=self.block(s.body, loops, early),
                        orelse=self.block(s.orelse, loops, early),
                    )
                )
            elif isinstance(s, LOOPS):
                made_loop, rest = self._loop(s, rest, loops, early)
                out += made_loop
                returns = [j for b in s.body for j in jumps_of(b) if isinstance(j, ast.Return)]
                if rest and returns:
                    return [*out, self._guard(returns, rest, loops, early)]
                return [*out, *self.block(rest, loops, early)]
            elif isinstance(s, ast.With):
                out.append(_like(s, body=self.block(s.body, loops, early)))
            else:
                out.append(s)
            if jumps and rest:
                return [*out, self._guard(jumps, rest, loops, early)]
            if jumps or not rest:
                return out
        return out

    def _raises(self, s: ast.If) -> bool:
        """Whether a branch ends with an exception, so that what follows belongs to the other."""
        return self.raises and (ends(s.body) or ends(s.orelse))

    def _stays(self, s: ast.stmt, jumps: list[ast.stmt], loops: list[LoopAround]) -> bool:
        """Whether a jump in a statement must stay one, so that the statement stays as well."""
        if self.returns_kept and any(isinstance(j, ast.Return) for j in jumps):
            return True
        if any(isinstance(j, (ast.Break, ast.Continue)) for j in jumps) and (
            loops and loops[-1].kept
        ):
            return True
        return isinstance(s, LOOPS) and self._keeps(s)

    def _keeps(self, loop: ast.While | ast.For) -> bool:
        inner = {id(n) for b in loop.body for n in _statements(b)}
        own = {id(j) for j in _direct(loop.body)}
        return any(id(c) in inner and any(id(j) in own for j in jumps_of(c)) for c in self.closed)

    def _kept(self, s: ast.stmt, loops: list[LoopAround], early: bool) -> ast.stmt:
        inner = loops
        if isinstance(s, LOOPS):
            inner = [*loops, LoopAround("", "", True)]
        made = _like(s)
        made.kept = True  # type: ignore[attr-defined]
        for name in ("body", "orelse", "finalbody"):
            if getattr(s, name, None):
                own = inner if name == "body" else loops
                setattr(made, name, self._as_is(getattr(s, name), own))
        if isinstance(s, (ast.Try, ast.Match)) or type(s).__name__ == "TryStar":
            for part in (*getattr(made, "handlers", []), *getattr(made, "cases", [])):
                part.body = self._as_is(part.body, loops)
        return made

    def _as_is(self, statements: Sequence[ast.stmt], loops: list[LoopAround]) -> list[ast.stmt]:
        found = []
        for s in statements:
            whole = isinstance(s, (ast.If, *LOOPS, ast.With)) or is_closed(s)
            found.append(self._kept(s, loops, False) if whole else s)
        return found

    def _jump(self, s: ast.stmt, loops: list[LoopAround], early: bool) -> list[ast.stmt]:
        if isinstance(s, ast.Return):
            if not early:
                return [s]
            value = s.value or _at(ast.Constant(None), s)
            self.used |= {DONE, *[loop.flag for loop in loops]}
            return [
                _at(ast.Assign([_store(RESULT)], value), s),
                _set(DONE, True, s),
                *[_set(loop.flag, True, s) for loop in loops],
            ]
        if loops[-1].kept:
            return [s]
        name = loops[-1].flag if isinstance(s, ast.Break) else loops[-1].next
        self.used.add(name)
        return [_set(name, True, s)]

    def _branch(
        self, s: ast.If, rest: list[ast.stmt], loops: list[LoopAround], early: bool
    ) -> tuple[ast.stmt, list[ast.stmt]]:
        body, orelse = list(s.body), list(s.orelse)
        if ends(body):
            orelse, rest = [*orelse, *rest], []
        elif ends(orelse):
            body, rest = [*body, *rest], []
        return _like(
            s, body=self.block(body, loops, early), orelse=self.block(orelse, loops, early)
        ), rest

    def _loop(
        self, s: ast.While | ast.For, rest: list[ast.stmt], loops: list[LoopAround], early: bool
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        number = next(self.numbers)
        loop = LoopAround(f"_tg_stop_{number}", f"_tg_skip_{number}", False)
        body = self.block(s.body, [*loops, loop], early)
        if loop.next in self.used:
            body = [_set(loop.next, False, s), *body]
        made = _like(s, body=body, orelse=[])
        made.flag = loop.flag if loop.flag in self.used else ""  # type: ignore[attr-defined]
        start = [_set(loop.flag, False, s)] if loop.flag in self.used else []
        if s.orelse:
            if loop.flag in self.used:
                rest = [_at(ast.If(_not([loop.flag], s), list(s.orelse), []), s), *rest]
            else:
                rest = [*s.orelse, *rest]
        return [*start, made], rest

    def _guard(
        self, jumps: Sequence[ast.stmt], rest: list[ast.stmt], loops: list[LoopAround], early: bool
    ) -> ast.stmt:
        flags = []
        if any(isinstance(j, ast.Return) for j in jumps):
            flags.append(DONE)
        if any(isinstance(j, ast.Break) for j in jumps):
            flags.append(loops[-1].flag)
        if any(isinstance(j, ast.Continue) for j in jumps):
            flags.append(loops[-1].next)
        return _at(ast.If(_not(flags, rest[0]), self.block(rest, loops, early), []), rest[0])


def _statements(s: ast.AST) -> Iterator[ast.stmt]:
    if isinstance(s, SCOPES):
        return
    if isinstance(s, ast.stmt):
        yield s
    for child in ast.iter_child_nodes(s):
        yield from _statements(child)


def _at(node: T, like: ast.AST) -> T:
    return ast.fix_missing_locations(ast.copy_location(node, like))


def _like(s: ast.stmt, **changes: object) -> ast.stmt:
    made = type(s)(**{**{f: getattr(s, f) for f in s._fields}, **changes})
    return ast.copy_location(made, s)


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _set(name: str, value: bool, like: ast.AST) -> ast.stmt:
    return _at(ast.Assign([_store(name)], ast.Constant(value)), like)


def _not(flags: Sequence[str], like: ast.AST) -> ast.expr:
    parts: list[ast.expr] = [ast.UnaryOp(ast.Not(), _load(f)) for f in flags]
    test = parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)
    return _at(test, like)


__all__ = ["DONE", "LOOPS", "RESULT", "Jumps", "is_closed", "jumps_of"]
