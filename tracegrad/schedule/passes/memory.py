"""After the loops are written: drop what nobody reads, and give temporaries their places in the
arena."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ..._codegen import integers, kernel, owners, traversal
from ...sizes import same
from ...types import Int
from ..bounds import Ranges, at_most, divides, reshape_index

ALIGNMENT = 64


def prune(phases: list[kernel.Phase], buffers: dict[str, kernel.Buffer]) -> list[kernel.Phase]:
    """Without locals that nothing needs, and without stores to temporaries of which nothing that is
    needed is computed: what only counts itself goes, too."""
    owner = owners.Owners(buffers)
    names: set[str] = set()
    loaded: set[str] = set()
    seen: set[int] = set()
    """The statements without others inside of which it is known what they read."""

    def needed(s: kernel.Statement) -> bool:
        match s:
            case kernel.Let(name) | kernel.Declare(name) | kernel.Update(name):
                return name in names
            case kernel.Store(buffer):
                of = owner.of(buffer)
                return of in loaded or buffers[of].role not in ("temp", "local")
            case kernel.Allocate(name) | kernel.Grow(name):
                return name in loaded
        return True

    def keep(body: Sequence[kernel.Statement]) -> tuple[kernel.Statement, ...]:
        """What is needed of a body as far as that is known; learns what it reads. From behind:
        most is read after it was made."""
        result: list[kernel.Statement] = []
        for s in reversed(body):
            if isinstance(s, (kernel.Loop, kernel.While)):
                s = traversal.with_parts(s, body=keep(s.body))
                if not s.body:
                    continue
            elif isinstance(s, kernel.If):
                otherwise = keep(s.otherwise)
                s = traversal.with_parts(s, then=keep(s.then), otherwise=otherwise)
                if not (s.then or otherwise):
                    continue
            elif not needed(s):
                continue
            elif id(s) in seen:
                result.append(s)
                continue
            else:
                seen.add(id(s))
            read: set[str] = set()
            traversal.add_read(s, names, read)
            for buffer in read - loaded:
                loaded.update((buffer, owner.of(buffer)))
            result.append(s)
        return tuple(reversed(result))

    while True:
        known = len(names) + len(loaded)
        bodies = [keep(p.body) for p in reversed(phases)][::-1]
        if len(names) + len(loaded) == known:
            changed = [
                traversal.with_parts(p, body=body) for p, body in zip(phases, bodies, strict=True)
            ]
            return [p for p in changed if p.body]


def resolve_views(
    phases: Iterable[kernel.Phase], buffers: dict[str, kernel.Buffer], sizes: Iterable[str] = ()
) -> list[kernel.Phase]:
    """The phases with elements that a view shows as those of its owner, where no division is needed
    to say which.

    Passes then see that they are the same memory at the same place, and elements at known places
    may live in registers.
    """
    known = frozenset(sizes)
    places: dict[Any, tuple[Int, ...]] = {}
    """What was found once: nests of the same loops come again and again."""

    def element(name: str, at: tuple[Any, ...], ranges: Ranges) -> tuple[str, tuple[Any, ...]]:
        view = buffers[name]
        if not view.of or not all(
            isinstance(i, int)
            or (isinstance(i, integers.Integer) and integers.symbols(i) <= known | ranges.keys())
            for i in at
        ):
            return name, at
        owner = buffers[view.of]
        key = owner.shape, view.shape, at, tuple(ranges.items())
        if key not in places:
            places[key] = reshape_index(at, owner.shape, view.shape, ranges)
        return (name, at) if any(map(divides, places[key])) else (owner.name, places[key])

    def statement(s: kernel.Statement, ranges: Ranges) -> kernel.Statement:
        inside = {**ranges, s.index: (s.lo, s.hi)} if isinstance(s, kernel.Loop) else ranges
        parts = iter([tuple([statement(t, inside) for t in part]) for part in traversal.bodies(s)])
        if any(buffers[e.buffer].of for e in traversal.loads(s)):
            own = traversal.with_bodies(s, lambda _: ())
            (s,) = traversal.moved((own,), lambda name, at: element(name, at, ranges))
        return traversal.with_bodies(s, lambda _: next(parts))

    if not any(b.of for b in buffers.values()):
        return list(phases)
    return [traversal.with_parts(p, body=tuple([statement(s, {}) for s in p.body])) for p in phases]


def plan(
    phases: list[kernel.Phase], buffers: dict[str, kernel.Buffer]
) -> tuple[list[kernel.Buffer], Int]:
    """The used buffers, temporaries at offsets that they share over time, and the bytes of the
    whole arena."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    owner = owners.Owners(buffers)
    for number, phase in enumerate(phases):
        names = traversal.mentioned_in(phase)
        for name in names | owner.all(names):
            first.setdefault(name, number)
            last[name] = number
    slots: list[tuple[Int, Int, int]] = []
    placed: dict[str, Int] = {}
    top: Int = 0

    @cache
    def fits(room: Int, extent: Int) -> bool:
        """Many temporaries are of few sizes, and a proof takes a millisecond."""
        return same(room, extent) or at_most(room, extent)

    temps = [b for b in buffers.values() if b.role == "temp" and not b.of and b.name in first]
    for b in sorted(temps, key=lambda b: first[b.name]):
        size = integers.product(b.shape) * b.dtype.itemsize
        room = (
            -(-size // ALIGNMENT) * ALIGNMENT
            if isinstance(size, int)
            else (size + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT
        )
        for k, (offset, extent, busy) in enumerate(slots):
            if busy < first[b.name] and fits(room, extent):
                slots[k] = (offset, extent, last[b.name])
                placed[b.name] = offset
                break
        else:
            slots.append((top, room, last[b.name]))
            placed[b.name] = top
            top = top + room
    result = [b for b in buffers.values() if b.role in ("in", "out")]
    result += [replace(buffers[name], offset=offset) for name, offset in placed.items()]
    result += [b for b in buffers.values() if b.of and b.role == "temp" and b.name in first]
    return result, top
