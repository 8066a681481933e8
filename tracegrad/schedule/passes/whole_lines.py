"""Rows of temporaries are whole lines of memory, and loops along them whole vectors, where such a
loop only computes more of what nobody reads.

    for i in 0 .. n:                             for i in 0 .. n:
        for j in 0 .. 100:             ->            for j in 0 .. 104:
            t[2, j] = t[2, j] + w * c[j]                 t[2, j] = t[2, j] + w * c[j]

Rows of 100 numbers begin in the middle of a line, so that every second vector of them crosses one,
and the last four are computed one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..._codegen import integers, kernel, owners, traversal
from .transpose_short_axes import idle, is_long

LINE = 64
"""Bytes of a line of memory, and of the widest registers."""
ROW = range(32, 1024)
"""Numbers in a row: of shorter ones much would be added, of longer ones the end counts for
little."""
ADDED = 8
"""At most one number is added for so many."""
ALIASED = 1024
"""Rows of a multiple of so many bytes are in each other's way in the cache."""
MOST = 1 << 20
"""Bytes of the lines of a temporary in which what is added is set to zero, at most."""


class Row(NamedTuple):
    """The length of a temporary's rows, as it is and in whole lines."""

    length: int
    whole: int


def whole_lines(
    phases: Sequence[kernel.Phase],
    buffers: MutableMapping[str, kernel.Buffer],
    fresh: Callable[[str], str],
) -> list[kernel.Phase]:
    """The phases with such loops and temporaries; changes `buffers`."""
    rows = _rows(phases, buffers)
    longer: dict[int, Row] = {}
    """By the identity of a loop."""
    unset: set[str] = set()
    while rows:
        used: set[str] = set()
        longer = {}
        for loop, around in [pair for p in phases for pair in _loops(p.body, ())]:
            if (found := _crossing(loop, around, rows)) is not None:
                longer[id(loop)] = rows[min(found.rows)]
                used |= found.rows if found.again else set()
        unset = used & _written(phases, longer)
        large = {n for n in unset if _lines(buffers[n]) * LINE > MOST}
        if rows.keys() == used - large:
            break
        rows = {name: row for name, row in rows.items() if name in used - large}
    if not rows:
        return list(phases)

    def change(s: kernel.Statement) -> kernel.Statement:
        if id(s) in longer:
            assert isinstance(s, kernel.Loop)
            return replace(s, hi=longer[id(s)].whole)
        return traversal.with_bodies(s, lambda body: tuple(map(change, body)))

    made = [traversal.with_parts(p, body=tuple(map(change, p.body))) for p in phases]
    for name in sorted(unset):
        _set(buffers[name], rows[name], made, fresh)
    for name, row in rows.items():
        buffers[name] = replace(buffers[name], shape=(*buffers[name].shape[:-1], row.whole))
    return made


def _rows(phases: Sequence[kernel.Phase], buffers: Mapping[str, kernel.Buffer]) -> dict[str, Row]:
    """The temporaries whose rows may be longer: nothing else says where an element lies."""
    owner = owners.Owners(buffers)
    fixed = {b.name for b in buffers.values() if b.of} | {b.of for b in buffers.values()}
    for s in traversal.within([s for p in phases for s in (*p.local, *p.body)]):
        if isinstance(s, kernel.Call):
            fixed |= owner.all(a for a in s.arguments if isinstance(a, str))
        elif isinstance(s, kernel.Allocate):
            fixed.add(s.of)
    found = {}
    for b in buffers.values():
        if b.role != "temp" or b.name in fixed or len(b.shape) < 2 or b.dtype.kind != "f":
            continue
        length = b.shape[-1]
        if not all(isinstance(n, int) for n in b.shape[:-1]):
            continue
        if not isinstance(length, int) or length not in ROW:
            continue
        size = b.dtype.itemsize
        row = Row(length, -(-length * size // LINE) * LINE // size)
        if 0 < (row.whole - length) * ADDED <= length and row.whole * size % ALIASED:
            found[b.name] = row
    return found


def _loops(
    body: Sequence[kernel.Statement], around: tuple[kernel.Loop, ...]
) -> Iterator[tuple[kernel.Loop, tuple[kernel.Loop, ...]]]:
    """All loops with those around them."""
    for s in body:
        inside = around
        if isinstance(s, kernel.Loop):
            yield s, around
            inside = (*around, s)
        for part in traversal.bodies(s):
            yield from _loops(part, inside)


def _lines(buffer: kernel.Buffer) -> int:
    """How many rows there are."""
    return math.prod(n for n in buffer.shape[:-1] if isinstance(n, int))


class Crossing(NamedTuple):
    """The temporaries along whose rows a loop goes."""

    rows: set[str]
    again: bool
    """Whether it reads a row that it has read before, in an earlier pass of a loop around: else
    the more passes save nothing."""


def _crossing(
    loop: kernel.Loop, around: tuple[kernel.Loop, ...], rows: Mapping[str, Row]
) -> Crossing | None:
    """What a loop goes along, if more passes of it would change nothing else: it writes nothing
    else, and reads at its place nothing else. None for other loops."""
    if loop.sequential or loop.lo != 0 or not isinstance(loop.hi, int):
        return None
    j = integers.symbol(loop.index)
    moving = {loop.index}
    found: dict[str, Row] = {}

    def at_its_place(buffer: str, at: Sequence[Any]) -> bool:
        if buffer not in rows or at[-1] != j or any(map(moves, at[:-1])):
            return False
        found[buffer] = rows[buffer]
        return True

    def moves(e: Any) -> bool:
        return not moving.isdisjoint(traversal.names_in(e))

    again = writes = False
    for s in loop.body:
        if not isinstance(s, kernel.Let | kernel.Store) or not _of_floats(s.value):
            return None
        if isinstance(s, kernel.Store):
            writes = True
            if not at_its_place(s.buffer, s.index):
                return None
        for load in traversal.loads(s):
            if any(map(moves, load.index)):
                if not at_its_place(load.buffer, load.index):
                    return None
                again = again or any(map(is_long, idle(load.index, (*around, loop))))
        if isinstance(s, kernel.Let):
            moving.add(s.name)
    fits = len(set(found.values())) == 1 and all(r.length == loop.hi for r in found.values())
    return Crossing(set(found), again) if fits and writes else None


def _of_floats(e: kernel.Expression) -> bool:
    """Whether it is made of floats and flags: quotients of integers stop the processor where there
    are only zeros."""
    if e.dtype.kind not in "fb":
        return False
    return not isinstance(e, kernel.Apply) or all(_of_floats(a) for _, a in e.arguments)


def _written(phases: Sequence[kernel.Phase], but: Mapping[int, Any]) -> set[str]:
    """What is written outside of some loops."""
    found = set()

    def look(body: Sequence[kernel.Statement]) -> None:
        for s in body:
            if isinstance(s, kernel.Store):
                found.add(s.buffer)
            if id(s) not in but:
                for part in traversal.bodies(s):
                    look(part)

    for phase in phases:
        look(phase.body)
    return found


def _set(
    buffer: kernel.Buffer, row: Row, phases: list[kernel.Phase], fresh: Callable[[str], str]
) -> None:
    """Set what is added to a temporary's rows to zero before it is used: what the memory held may
    be denormal, and slow. No loop along a row: that would be a short one."""
    names = [fresh("p") for _ in buffer.shape[:-1]]
    at = tuple(map(integers.symbol, names))
    zero = kernel.Literal(0.0, buffer.dtype)
    fill: tuple[kernel.Statement, ...] = tuple(
        [kernel.Store(buffer.name, (*at, k), zero) for k in range(*row)]
    )
    for name, n in reversed(list(zip(names, buffer.shape[:-1], strict=True))):
        fill = (kernel.Loop(name, 0, n, fill),)
    k = next(k for k, p in enumerate(phases) if buffer.name in traversal.mentioned(p.body))
    if phases[k].kind == "serial":
        phases[k] = replace(phases[k], body=(*fill, *phases[k].body))
    elif k and phases[k - 1].kind == "serial":
        phases[k - 1] = replace(phases[k - 1], body=(*phases[k - 1].body, *fill))
    else:
        phases.insert(k, kernel.Phase("serial", fill, f"ends of the rows of {buffer.name}"))


__all__ = ["whole_lines"]
