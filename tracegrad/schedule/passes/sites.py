"""What is known of numbers where a statement stands: ranges of the loops around it, and sizes that
the program finds out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..._codegen import integers, kernel
from ...types import Int
from ..bounds import Ranges


@dataclass(frozen=True)
class Site:
    """What is known where a statement stands."""

    ranges: Mapping[str, tuple[Int, Int]] = field(default_factory=dict)
    """Those of the loops around it."""
    known: Mapping[str, Int] = field(default_factory=dict)
    """Expressions for the sizes that were found out."""

    def inside(self, s: kernel.Loop) -> Site:
        ends = integers.substitute(s.lo, self.known), integers.substitute(s.hi, self.known)
        return Site({**self.ranges, s.index: ends}, self.known)

    def behind(self, s: kernel.Statement) -> Site:
        match s:
            case kernel.Let(name, kernel.Apply("index({x})", ((_, kernel.Index(value)),))):
                value = integers.substitute(value, self.known)
                return Site(self.ranges, {**self.known, name: value})
        return self

    def known_loops(self, sizes: frozenset[str]) -> frozenset[str]:
        """The loops whose ends are expressions of these sizes, and of others of these loops."""
        found: set[str] = set()
        for name, ends in self.ranges.items():
            if all(integers.symbols(e) <= sizes | found for e in ends):
                found.add(name)
        return frozenset(found)

    def plain(self, index: Sequence[Any]) -> tuple[Any, ...]:
        """An index in terms of loops and of the program's own sizes, as far as it goes."""
        return tuple(
            [
                integers.substitute(i, self.known) if isinstance(i, integers.Integer) else i
                for i in index
            ]
        )


def largest(value: Int, ranges: Ranges) -> Int | None:
    """The largest that an expression is, in terms of what has no range."""
    left = dict(ranges)
    while names := sorted(integers.symbols(value) & left.keys()):
        # First those in terms of which no other's range is.
        name = next((n for n in names if not any(n in _of(left[m]) for m in names if m != n)), None)
        factor = integers.coefficient(value, name) if name is not None else None
        if name is None or not isinstance(factor, int):
            return None
        lo, hi = left.pop(name)
        value = integers.substitute(value, {name: hi - 1 if factor > 0 else lo})
    return value


def _of(ends: tuple[Int, Int]) -> frozenset[str]:
    return integers.symbols(ends[0]) | integers.symbols(ends[1])


__all__ = ["Site", "largest"]
