"""Loops in tiles: where one array lies along the inner loop and another along the outer one, both
are walked in small squares.

`out[i, j] = a[i, j] + a[j, i]` touches a new line of memory at every step of j, and needs the same
line again at the next i. Inside a square of 32 by 32 these lines stay in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..._codegen import integers, kernel, traversal
from ...types import Int

TILE = 32
LONGEST_PROLOGUE = 4
"""Statements between the two loops, which run once per tile then, may be this many."""


def tile(phases: list[kernel.Phase], fresh: Callable[[str], str]) -> list[kernel.Phase]:
    """The phases with such pairs of loops in tiles."""
    return [
        traversal.with_parts(p, body=tuple([_statement(s, fresh) for s in p.body])) for p in phases
    ]


def _statement(s: kernel.Statement, fresh: Callable[[str], str]) -> kernel.Statement:
    match s:
        case kernel.Loop():
            inner = s.body[-1] if s.body else None
            if isinstance(inner, kernel.Loop) and _crosswise(s, inner):
                return _tiled(s, inner, fresh)
            return traversal.with_parts(s, body=tuple([_statement(b, fresh) for b in s.body]))
        case kernel.While():
            return traversal.with_parts(s, body=tuple([_statement(b, fresh) for b in s.body]))
        case kernel.If():
            then, otherwise = (
                tuple([_statement(b, fresh) for b in part]) for part in (s.then, s.otherwise)
            )
            return traversal.with_parts(s, then=then, otherwise=otherwise)
    return s


def _crosswise(outer: kernel.Loop, inner: kernel.Loop) -> bool:
    """Whether the order of the two loops is free, both are long, and memory runs along the one for
    some accesses, along the other for others."""
    between = outer.body[:-1]
    if len(between) > LONGEST_PROLOGUE or not all(isinstance(s, kernel.Let) for s in between):
        return False
    if not all(
        isinstance(s, (kernel.Let, kernel.Store))
        or (isinstance(s, kernel.Update) and s.combine is not None and not s.exact)
        for s in inner.body
    ):
        return False
    if any(
        isinstance(e, integers.Integer) and outer.index in integers.symbols(e)
        for e in (inner.lo, inner.hi)
    ):
        return False
    if not all(_long(loop) for loop in (outer, inner)):
        return False
    along = {_runs_along(at, (outer.index, inner.index)) for s in inner.body for at in _accesses(s)}
    return {outer.index, inner.index} <= along


def _long(loop: kernel.Loop) -> bool:
    trips = loop.trips
    return not isinstance(trips, int) or trips >= 4 * TILE


def _accesses(s: kernel.Statement) -> list[Sequence[Any]]:
    """The places of buffers that a statement touches."""
    stored: list[Sequence[Any]] = [s.index] if isinstance(s, kernel.Store) else []
    return stored + [load.index for load in traversal.loads(s)]


def _runs_along(at: Sequence[Any], loops: tuple[str, str]) -> str:
    """Which of the two loops an access follows in memory while the other one moves it by rows; ""
    where neither."""
    if len(at) < 2 or not all(isinstance(i, (int, integers.Integer)) for i in at):
        return ""
    last: Int = at[-1]
    rest = set().union(*[integers.symbols(i) for i in at[:-1] if isinstance(i, integers.Integer)])
    for mine, other in (loops, loops[::-1]):
        if (
            isinstance(last, integers.Integer)
            and integers.coefficient(last, mine) in (1, -1)
            and other in rest
            and mine not in rest
        ):
            return mine
    return ""


def _tiled(outer: kernel.Loop, inner: kernel.Loop, fresh: Callable[[str], str]) -> kernel.Loop:
    rows, columns = fresh("rows"), fresh("columns")

    def part(loop: kernel.Loop, number: str, body: tuple[kernel.Statement, ...]) -> kernel.Loop:
        start = loop.lo + integers.symbol(number) * TILE
        return replace(loop, lo=start, hi=integers.minimum(start + TILE, loop.hi), body=body)

    def count(loop: kernel.Loop) -> Int:
        return integers.floordiv(loop.trips + (TILE - 1), TILE)

    body = part(outer, rows, (*outer.body[:-1], part(inner, columns, inner.body)))
    return kernel.Loop(rows, 0, count(outer), (kernel.Loop(columns, 0, count(inner), (body,)),))
