"""`match` as branches, so that a graph can choose by what a pattern compares."""

from __future__ import annotations

import ast
import builtins
import copy
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .pieces import HELPERS, loaded, place, stored

OF_ITSELF = frozenset((bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple))
"""Classes whose one pattern is for the value itself."""


class Patterns:
    """The helpers of patterns."""

    python = builtins
    """What patterns call, whatever variables of these names there are."""

    @staticmethod
    def is_sequence(x: Any) -> bool:
        """Whether a pattern of items may match."""
        return isinstance(x, Sequence) and not isinstance(x, (str, bytes, bytearray))

    @staticmethod
    def is_mapping(x: Any) -> bool:
        """Whether a pattern of keys may match."""
        return isinstance(x, Mapping)

    @staticmethod
    def has_part(x: Any, cls: Any, k: int) -> bool:
        """Whether there is what the pattern of a number in `cls(...)` is for."""
        return cls in OF_ITSELF or hasattr(x, cls.__match_args__[k])

    @staticmethod
    def part_of(x: Any, cls: Any, k: int) -> Any:
        """What the pattern of a number in `cls(...)` is for."""
        return x if cls in OF_ITSELF else getattr(x, cls.__match_args__[k])


class Unmatched(Exception):
    """A pattern is of a kind that stays Python's."""


Subject = Callable[[], ast.expr]
Binding = tuple[str, Subject]


class Matches(ast.NodeTransformer):
    """`match` as `if`, but for patterns that take what is left of a dict, or of a tuple that is
    written out."""

    def __init__(self) -> None:
        self.count = itertools.count()

    def visit_Match(self, s: ast.Match) -> ast.AST | list[ast.stmt]:
        self.generic_visit(s)
        try:
            return self._branches(s)
        except Unmatched:
            return s

    def _branches(self, s: ast.Match) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        parts = s.subject.elts if isinstance(s.subject, (ast.Tuple, ast.List)) else None
        if parts is None or any(isinstance(x, ast.Starred) for x in parts):
            test = _Tests(self._kept(s.subject, made))
        else:
            test = _Tests(None, [self._kept(x, made) for x in parts])
        body: list[ast.stmt] = []
        for case in reversed(s.cases):
            tests, bindings = test.of(case.pattern)
            if case.guard is not None:
                # Read before they are bound: that is done where the case is taken.
                tests = [*tests, _Bound(dict(bindings)).visit(copy.deepcopy(case.guard))]
            named = [place(ast.Assign([stored(n)], e()), case.pattern) for n, e in bindings]
            taken = [*named, *case.body]
            body = [place(ast.If(_all(tests, s), taken, body), case.pattern)] if tests else taken
        return [*made, *body]

    def _kept(self, e: ast.expr, made: list[ast.stmt]) -> Subject:
        """A subject, which is computed once."""
        name = f"_tg_subject_{next(self.count)}_{e.lineno}"
        made.append(place(ast.Assign([stored(name)], e), e))
        return lambda: place(loaded(name), e)


class _Bound(ast.NodeTransformer):
    """A guard with what names stand for in their place."""

    def __init__(self, names: dict[str, Subject]) -> None:
        self.names = names

    def visit_Name(self, e: ast.Name) -> ast.AST:
        return place(self.names[e.id](), e) if e.id in self.names else e


def _all(tests: list[ast.expr], like: ast.AST) -> ast.expr:
    return tests[0] if len(tests) == 1 else place(ast.BoolOp(ast.And(), tests), like)


class _Tests:
    """What has to hold for a pattern, each where those before it do; and what it binds."""

    def __init__(self, subject: Subject | None, parts: Sequence[Subject] = ()) -> None:
        self.subject, self.parts = subject, parts

    def of(self, p: ast.pattern) -> tuple[list[ast.expr], list[Binding]]:
        self.tests: list[ast.expr] = []
        self.bindings: list[Binding] = []
        if self.subject is not None:
            self._add(p, self.subject)
        elif isinstance(p, ast.MatchSequence):
            if any(isinstance(q, ast.MatchStar) for q in p.patterns):
                raise Unmatched
            if len(p.patterns) != len(self.parts):
                return [place(ast.Constant(False), p)], []
            for q, x in zip(p.patterns, self.parts, strict=True):
                self._add(q, x)
        elif not (isinstance(p, ast.MatchAs) and p.pattern is None and p.name is None):
            raise Unmatched
        return self.tests, self.bindings

    def _add(self, p: ast.pattern, subject: Subject) -> None:
        match p:
            case ast.MatchAs():
                if p.pattern is not None:
                    self._add(p.pattern, subject)
                if p.name is not None:
                    self.bindings.append((p.name, subject))
            case ast.MatchOr():
                each = [_Tests(subject).of(q) for q in p.patterns]
                if any(bindings for _, bindings in each):
                    raise Unmatched
                if all(tests for tests, _ in each):
                    parts = [_all(tests, p) for tests, _ in each]
                    self.tests.append(place(ast.BoolOp(ast.Or(), parts), p))
            case ast.MatchValue():
                self._compare(p, subject(), ast.Eq(), p.value)
            case ast.MatchSingleton():
                self._compare(p, subject(), ast.Is(), ast.Constant(p.value))
            case ast.MatchClass():
                self.tests.append(place(_python("isinstance", subject(), p.cls), p))
                for k, q in enumerate(p.patterns):
                    has = _help("has_part", subject(), p.cls, ast.Constant(k))
                    self.tests.append(place(has, p))
                    self._add(q, _argument(p, subject, p.cls, k))
                for name, q in zip(p.kwd_attrs, p.kwd_patterns, strict=True):
                    self.tests.append(place(_python("hasattr", subject(), ast.Constant(name)), p))
                    self._add(q, _attribute(p, subject, name))
            case ast.MatchMapping(rest=None):
                self.tests.append(place(_help("is_mapping", subject()), p))
                for key, q in zip(p.keys, p.patterns, strict=True):
                    self._compare(p, key, ast.In(), subject())
                    self._add(q, _item(p, subject, key))
            case ast.MatchSequence():
                self._sequence(p, subject)
            case _:
                raise Unmatched

    def _compare(self, p: ast.pattern, a: ast.expr, how: ast.cmpop, b: ast.expr) -> None:
        self.tests.append(place(ast.Compare(a, [how], [b]), p))

    def _sequence(self, p: ast.MatchSequence, subject: Subject) -> None:
        stars = [k for k, q in enumerate(p.patterns) if isinstance(q, ast.MatchStar)]
        least, n = len(p.patterns) - len(stars), len(p.patterns)
        self.tests.append(place(_help("is_sequence", subject()), p))
        length = _python("len", subject())
        self._compare(p, length, ast.GtE() if stars else ast.Eq(), ast.Constant(least))
        for k, q in enumerate(p.patterns):
            behind = bool(stars) and k > stars[0]
            if not isinstance(q, ast.MatchStar):
                self._add(q, _item(p, subject, ast.Constant(k - n if behind else k)))
            elif q.name is not None:
                end = ast.Constant(k - n + 1) if k < n - 1 else None
                cut = _item(p, subject, ast.Slice(ast.Constant(k), end))
                self.bindings.append((q.name, _listed(p, cut)))


def _later(like: ast.AST, make: Callable[[], ast.expr]) -> Subject:
    return lambda: place(make(), like)


def _item(p: ast.AST, subject: Subject, key: ast.expr) -> Subject:
    return _later(p, lambda: ast.Subscript(subject(), copy.deepcopy(key), ast.Load()))


def _attribute(p: ast.AST, subject: Subject, name: str) -> Subject:
    return _later(p, lambda: ast.Attribute(subject(), name, ast.Load()))


def _argument(p: ast.AST, subject: Subject, cls: ast.expr, k: int) -> Subject:
    return _later(p, lambda: _help("part_of", subject(), cls, ast.Constant(k)))


def _listed(p: ast.AST, items: Subject) -> Subject:
    return _later(p, lambda: _python("list", items()))


def _python(name: str, *args: ast.expr) -> ast.expr:
    given = [copy.deepcopy(a) for a in args]
    python = ast.Attribute(loaded(HELPERS), "python", ast.Load())
    return ast.Call(ast.Attribute(python, name, ast.Load()), given, [])


def _help(name: str, *args: ast.expr) -> ast.expr:
    given = [copy.deepcopy(a) for a in args]
    return ast.Call(ast.Attribute(loaded(HELPERS), name, ast.Load()), given, [])


__all__ = ["Matches", "Patterns"]
