"""Dry runs: what one element reads, found by writing it for nobody.

The tasks of a graph have much in common: of 29 sums that share a loop each is looked at by itself,
and with it all that they are made of. So what was found of a value at an index is kept while the
places of stored values stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .._codegen import kernel
from ..ir.graph import Atom, Var
from ..types import Int
from .indices import Index

Key = tuple[Atom, Index]


@dataclass(slots=True)
class SeenElement:
    """One element of a value: what it is, and what it adds to a run that has not met it.

    statements  its own ones, without those of its parts
    parts       the elements that it asks for, in order
    stored      whether it is read from memory
    """

    value: kernel.Expression
    statements: int = 1
    parts: list[Key] = field(default_factory=list)
    stored: bool = False


@dataclass(slots=True)
class OpenElement:
    """An element that is being written."""

    before: int
    """The statements that there were."""
    parts: list[Key] = field(default_factory=list)
    inner: int = 0
    """The statements of parts."""


@dataclass
class Probe:
    """What one element reads, found by a dry run: elements of stored variables, where loop ranges
    should be cut, and the periods with which what is computed changes along a loop."""

    seen: dict[Key, SeenElement] = field(default_factory=dict)
    """By earlier runs in the same ranges."""
    reads: list[tuple[Var, Index]] = field(default_factory=list)
    cuts: dict[str, set[Int]] = field(default_factory=dict)
    periods: dict[str, int] = field(default_factory=dict)
    statements: int = 0
    """Of what was taken from earlier runs."""
    open: list[OpenElement] = field(default_factory=list)
    forgets: bool = False
    """Whether the ranges are no longer those that the run began with."""
    hidden: int = 0
    """How many of the open ones write into scopes of their own, and so with all around them are
    written anew each time."""

    def meet(self, key: Key, memo: dict[Any, kernel.Expression]) -> kernel.Expression | None:
        """An element that an earlier run has seen, with all that it adds to this one."""
        if key not in self.seen:
            return None
        pending = [key]
        while pending:
            k = pending.pop()
            if k in memo:
                continue
            found = self.seen[k]
            memo[k] = found.value
            self.statements += found.statements
            if found.stored:
                assert isinstance(k[0], Var)
                self.reads.append((k[0], k[1]))
            pending.extend(reversed(found.parts))
        self.ask(key)
        return memo[key]

    def read(self, var: Var, index: Index, value: kernel.Expression, kept: bool) -> None:
        """An element of a stored variable."""
        self.reads.append((var, index))
        if kept and self.open:
            self.open[-1].inner += 1
        if kept and not self.forgets:
            self.seen[var, index] = SeenElement(value, stored=True)
        self.ask((var, index))

    def ask(self, key: Key) -> None:
        """The innermost open element asks for one that is there."""
        if key not in self.seen:
            self.hide()
        elif self.open:
            self.open[-1].parts.append(key)

    def hide(self, changed: bool = False) -> None:
        """What is open is written into scopes of its own, or with what later runs do not know, as
        `changed` ranges."""
        self.hidden = len(self.open)
        self.forgets |= changed

    def begin(self, statements: int) -> None:
        self.open.append(OpenElement(statements))

    def end(self, key: Key, value: kernel.Expression, statements: int, kept: bool) -> None:
        """The innermost open element is written; `kept` where it is what all ask for by this
        key."""
        made = self.open.pop()
        total = statements - made.before
        if self.open:
            self.open[-1].inner += total
        if self.hidden > len(self.open):
            self.hidden = len(self.open)
        elif kept and not self.forgets:
            self.seen[key] = SeenElement(value, total - made.inner, made.parts)
            self.ask(key)
        else:
            self.hide()


@dataclass
class DryRuns:
    """What dry runs in the same ranges have seen; None while places of values may change."""

    seen: dict[Any, dict[Key, SeenElement]] | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Places of values stay the same meanwhile."""
        self.seen = {}
        try:
            yield
        finally:
            self.seen = None

    def probe(self, ranges: Mapping[str, tuple[Int, Int]]) -> Probe:
        """A run in these ranges of loops."""
        if self.seen is None:
            return Probe()
        return Probe(self.seen.setdefault(tuple(ranges.items()), {}))


__all__ = ["DryRuns", "Probe"]
