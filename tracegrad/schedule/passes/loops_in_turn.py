"""A loop whose passes go in order, block by block behind the parallel loop that makes what it
reads.

The derivative of `x[i]` for an array of indices is such a pair: what each element adds is computed
by a loop that threads share, and added at its places in order. One behind the other, the two read
what they have in common twice from memory, with all that is handed over in between; in turn they
find a block's rows in the cache. Both do what they did, in the same order.

Threads no longer share the first loop then, so it must not be the longer one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from ..._codegen import integers, kernel, owners, traversal, work
from ...types import Int
from .one_row import as_one

INSIDE = (
    kernel.Let,
    kernel.Declare,
    kernel.Update,
    kernel.Store,
    kernel.Check,
    kernel.If,
    kernel.Loop,
)
"""What the second loop consists of."""
IN_ORDER = 2
"""How many times as long a statement takes where passes go in order, and so not side by side."""

NEAR = 128
"""So many rows at a time: what both loops read of them stays in the nearest cache."""


def loops_in_turn(
    phases: Sequence[kernel.Phase], buffers: dict[str, kernel.Buffer], fresh: Callable[[str], str]
) -> list[kernel.Phase]:
    """The phases with such loops in turn; changes what is handed over in `buffers` to one block."""
    result = list(phases)
    k = 0
    while k < len(result):
        joined = _with_a_later_loop(result, k, buffers, fresh)
        if joined is None:
            k += 1
        else:
            result = joined
    return result


def _with_a_later_loop(
    phases: list[kernel.Phase],
    k: int,
    buffers: dict[str, kernel.Buffer],
    fresh: Callable[[str], str],
) -> list[kernel.Phase] | None:
    """The phases with phase k and the first later loop that fits in turn."""
    body = phases[k].body
    if phases[k].local or len(body) != 1 or not isinstance(body[0], kernel.Loop):
        return None
    owner = owners.Owners(buffers)
    touched: _Meeting | None = None
    for n in range(k + 1, len(phases)):
        if phases[n].kind != "serial" or phases[n].local:
            continue
        for m, s in enumerate(phases[n].body):
            if not isinstance(s, kernel.Loop) or not _is_plain(s):
                continue
            blocks = _InBlocks.of(body[0], s)
            if blocks is None:
                continue
            touched = touched or _Meeting(body, owner)
            later = _Meeting([s], owner)
            if not (touched.written & later.read) or not _pays(blocks, s):
                continue
            handed = touched.meets(later)
            if not all(blocks.are_rows(name, owner) for name in handed):
                continue
            order = _order(phases, k, (n, m), touched, later, owner)
            if order is not None:
                before, after = order
                others = [p for j, p in enumerate(phases) if j != k]
                own = [name for name in handed if _is_theirs(name, others, s, buffers, owner)]
                loop = blocks.in_turn(own, buffers, owner, fresh)
                together = kernel.Phase("serial", (loop,), phases[k].comment)
                return [*phases[:k], *before, together, *after, *phases[n + 1 :]]
    return None


def _is_plain(loop: kernel.Loop) -> bool:
    return loop.own is None and all(isinstance(s, INSIDE) for s in traversal.within(loop.body))


def _pays(blocks: _InBlocks, loop: kernel.Loop) -> bool:
    """Whether the loop that threads share is not the longer one."""
    shared = sum(work.of_body(rows.body) for rows in blocks.rows)
    mine = work.of_body(loop.body)
    return isinstance(shared, int) and isinstance(mine, int) and shared <= IN_ORDER * mine


@dataclass(frozen=True)
class _InBlocks:
    """A loop over blocks of rows, the loops over rows in it, and one over all rows behind it."""

    outer: kernel.Loop
    rows: tuple[kernel.Loop, ...]
    later: kernel.Loop
    count: Int
    """How many rows a block has."""

    @staticmethod
    def of(outer: kernel.Loop, later: kernel.Loop) -> _InBlocks | None:
        """None where the second loop goes over something else."""
        block = integers.symbol(outer.index)
        for s in outer.body:
            if not isinstance(s, kernel.Loop) or isinstance(s.lo, int):
                continue
            count = integers.coefficient(s.lo, outer.index)
            if count is None or s.lo != block * count:
                continue
            many = integers.floordiv(later.hi + count - 1, count)
            if (later.lo, outer.lo, outer.hi) != (0, 0, many):
                continue
            ends = s.lo, integers.minimum(later.hi, s.lo + count)
            rows = tuple(
                [t for t in outer.body if isinstance(t, kernel.Loop) and (t.lo, t.hi) == ends]
            )
            if rows:
                return _InBlocks(outer, rows, later, count)
        return None

    @property
    def ends(self) -> tuple[Int, Int]:
        """The rows of a block."""
        return self.rows[0].lo, self.rows[0].hi

    def are_rows(self, name: str, owner: owners.Owners) -> bool:
        """Whether all that is read or written of a buffer lies in the row of the pass."""
        inside = [t for t in self.outer.body if t not in self.rows]
        return not any(owner.of(b) == name for b, _ in _accesses(inside)) and all(
            not owner.is_view(b) and bool(at) and at[0] == integers.symbol(loop.index)
            for loop in (*self.rows, self.later)
            for b, at in _accesses(loop.body)
            if owner.of(b) == name
        )

    def in_turn(
        self,
        own: Iterable[str],
        buffers: dict[str, kernel.Buffer],
        owner: owners.Owners,
        fresh: Callable[[str], str],
    ) -> kernel.Loop:
        """The loop over blocks with the second loop in it; what nobody else reads has the rows of
        one turn."""
        (lo, hi), rows = self.ends, self.count
        behind = self.outer.body[self.outer.body.index(self.rows[-1]) + 1 :]
        apart = not _Meeting(behind, owner).meets(_Meeting([self.later], owner))
        one = None
        if len(self.rows) == 1 and apart:
            one = as_one(self.rows[0], self.later, set(own), buffers, fresh)
        if one is not None:
            start = self.outer.body.index(self.rows[0])
            return replace(
                self.outer, body=(*self.outer.body[:start], one, *behind), sequential=True
            )
        if isinstance(rows, int) and rows > 2 * NEAR and len(self.rows) == 1 and apart:
            turn = fresh("turn")
            lo, rows = lo + NEAR * integers.symbol(turn), NEAR
            hi = integers.minimum(hi, lo + NEAR)
            turns = integers.floordiv(self.ends[1] - self.ends[0] + NEAR - 1, NEAR)
            both = [replace(t, lo=lo, hi=hi) for t in (self.rows[0], self.later)]
            together = kernel.Loop(turn, 0, turns, tuple(both), sequential=True)
            start = self.outer.body.index(self.rows[0])
            body = (*self.outer.body[:start], together, *behind)
        else:
            body = (*self.outer.body, replace(self.later, lo=lo, hi=hi))
        loop = replace(self.outer, body=body, sequential=True)
        names = set(own)
        for name in names:
            buffers[name] = replace(buffers[name], shape=(rows, *buffers[name].shape[1:]))

        def move(name: str, at: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
            return (name, (at[0] - lo, *at[1:])) if name in names else (name, at)

        (moved,) = traversal.moved((loop,), move)
        assert isinstance(moved, kernel.Loop)
        return moved


class _Meeting:
    """The memory that statements read and write, by its owners."""

    def __init__(self, body: Iterable[kernel.Statement], owner: owners.Owners) -> None:
        read: set[str] = set()
        written: set[str] = set()
        for s in traversal.within(body):
            traversal.add_read(s, set(), read)
            match s:
                case kernel.Store(buffer):
                    written.add(buffer)
                    if s.combine is not None:
                        read.add(buffer)
                case kernel.Call(_, arguments):
                    written.update([a for a in arguments if isinstance(a, str)])
                case kernel.Allocate(name) | kernel.Grow(name):
                    written.add(name)
        self.read, self.written = owner.all(read), owner.all(written)

    def meets(self, other: _Meeting) -> set[str]:
        """The memory of both that one of them changes."""
        return (
            (self.written & other.read)
            | (self.read & other.written)
            | (self.written & other.written)
        )


def _order(
    phases: list[kernel.Phase],
    k: int,
    place: tuple[int, int],
    first: _Meeting,
    later: _Meeting,
    owner: owners.Owners,
) -> tuple[list[kernel.Phase], list[kernel.Phase]] | None:
    """What lies between phase k and a statement of a later one, before and behind both, and the
    rest of that phase; None where something needs the one and is needed by the other."""
    n, m = place
    groups = _apart(phases[n].body)
    alone = next((g for g, (start, end) in enumerate(groups) if (start, end) == (m, m + 1)), None)
    if alone is None:
        return None
    parts = [
        (j, replace(phases[j], body=phases[j].body[start:end]))
        for j in range(k + 1, n + 1)
        for start, end in (
            groups[:alone]
            if j == n
            else _apart(phases[j].body)
            if phases[j].kind == "serial"
            else [(0, 1)]
        )
    ]
    before: list[tuple[int, kernel.Phase]] = []
    after = [(n, replace(phases[n], body=phases[n].body[m + 1 :]))]
    waited = [later]
    for j, part in reversed(parts):
        touched = _Meeting((*part.local, *part.body), owner)
        if any(touched.meets(t) for t in waited):
            if touched.meets(first):
                return None
            waited.append(touched)
            before.insert(0, (j, part))
        else:
            after.insert(0, (j, part))
    return _together(before), _together(after)


def _apart(body: Sequence[kernel.Statement]) -> list[tuple[int, int]]:
    """The statements in groups, of which none reads the locals of another: [start, end)."""
    last: dict[str, int] = {}
    for k, s in enumerate(body):
        for t in traversal.within([s]):
            names = {t.name} if isinstance(t, kernel.Update) else set()
            traversal.add_read(t, names, set())
            last.update(dict.fromkeys(names, k))
    found: list[tuple[int, int]] = []
    start = end = 0
    for k, s in enumerate(body):
        if isinstance(s, (kernel.Let, kernel.Declare)):
            end = max(end, last.get(s.name, k))
        if k >= end:
            found.append((start, k + 1))
            start = end = k + 1
    return found


def _together(parts: Iterable[tuple[int, kernel.Phase]]) -> list[kernel.Phase]:
    """The parts of one phase that follow each other as one again."""
    result: list[kernel.Phase] = []
    for _, group in groupby(parts, key=lambda part: part[0]):
        same = [p for _, p in group]
        body = tuple([s for p in same for s in p.body])
        if body:
            result.append(replace(same[0], body=body))
    return result


def _accesses(body: Iterable[kernel.Statement]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """All that is read or written, and where."""
    for s in traversal.within(body):
        for e in traversal.loads(s):
            yield e.buffer, e.index
        match s:
            case kernel.Store(buffer, at):
                yield buffer, at
            case kernel.Call(_, arguments):
                yield from [(a, ()) for a in arguments if isinstance(a, str)]
            case kernel.Allocate(name) | kernel.Grow(name):
                yield name, ()


def _is_theirs(
    name: str,
    others: Iterable[kernel.Phase],
    loop: kernel.Loop,
    buffers: dict[str, kernel.Buffer],
    owner: owners.Owners,
) -> bool:
    """Whether a temporary is read and written by two loops only."""
    if buffers[name].role != "temp" or owner.views(name):
        return False
    return not any(
        b == name
        for p in others
        for b, _ in _accesses([s for s in (*p.local, *p.body) if s is not loop])
    )


__all__ = ["loops_in_turn"]
