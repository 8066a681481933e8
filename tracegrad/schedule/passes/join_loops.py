"""Inside of loops: a loop that goes on with what another one has made, each pass in a place of its
own, becomes part of that.

A step that writes arrays in place has a loop for each write, and one for what is summed up. Most of
them read the same elements; together they read them once, and what one hands to the next stays in
registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ..._codegen import integers, kernel, owners, traversal
from ...sizes import same_shape
from ...types import Int

STRAIGHT = (kernel.Let, kernel.Store, kernel.Update)
"""What the loops consist of."""
Buffers: TypeAlias = Mapping[str, kernel.Buffer]


def join_loops(phases: Sequence[kernel.Phase], buffers: Buffers) -> list[kernel.Phase]:
    """The phases with such loops joined, where one thread goes through them. The outermost loops
    stay as they are: they may become phases that threads share."""
    owner = owners.Owners(buffers)

    def within(s: kernel.Statement) -> kernel.Statement:
        if not isinstance(s, (kernel.Loop, kernel.While, kernel.If)):
            return s
        inside = traversal.with_bodies(s, lambda body: tuple(map(within, body)))
        if isinstance(s, kernel.If):
            return inside
        return traversal.with_bodies(inside, lambda body: _joined(body, buffers, owner))

    return [
        traversal.with_parts(p, body=tuple(map(within, p.body))) if p.kind == "serial" else p
        for p in phases
    ]


class _Touched:
    """What a statement reads and changes."""

    def __init__(self, s: kernel.Statement, owner: owners.Owners) -> None:
        self.names: set[str] = set()
        """The names that it reads or makes."""
        self.made: set[str] = set()
        """The names that it makes or changes."""
        memory: set[str] = set()
        written: set[str] = set()
        for t in traversal.within([s]):
            traversal.add_read(t, self.names, memory)
            if isinstance(t, kernel.Store):
                written.add(t.buffer)
            elif isinstance(t, (kernel.Let, kernel.Declare, kernel.Update)):
                self.made.add(t.name)
        self.names |= self.made
        self.written = owner.all(written)
        self.memory = owner.all(memory) | self.written

    def shares_names(self, other: _Touched) -> bool:
        """Whether one of them changes a name that the other reads or changes."""
        return bool(self.made & other.names or other.made & self.names)

    def depends_on(self, other: _Touched) -> bool:
        """Whether it reads what the other one makes, or one of them changes memory of both."""
        return bool(other.made & self.names or self.meets(other))

    def meets(self, other: _Touched) -> set[str]:
        """The memory of both that one of them changes."""
        return (self.written & other.memory) | (other.written & self.memory)


def _joined(
    body: Sequence[kernel.Statement], buffers: Buffers, owner: owners.Owners
) -> tuple[kernel.Statement, ...]:
    result: list[kernel.Statement] = []
    for s in body:
        both = None
        if isinstance(s, kernel.Loop) and _is_straight(s):
            touched = _Touched(s, owner)
            before = _loop_before(result, touched, owner)
            if before is not None:
                k, moved = before
                first = result[k]
                assert isinstance(first, kernel.Loop)
                both = _both(first, s, touched, buffers, owner)
        if both is None:
            result.append(s)
        else:
            rest = [b for b in result[k + 1 :] if b not in moved]
            result[k:] = [*moved, both, *rest]
    return tuple(result)


def _is_straight(loop: kernel.Loop) -> bool:
    return loop.own is None and all(isinstance(s, STRAIGHT) for s in loop.body)


def _loop_before(
    body: Sequence[kernel.Statement], loop: _Touched, owner: owners.Owners
) -> tuple[int, list[kernel.Let]] | None:
    """The place of the loop before this one, if there are only numbers in between, and none that
    this loop reads or changes, but those that may as well be there before."""
    moved: list[kernel.Let] = []
    stays: list[_Touched] = []
    moving = [loop]
    for k in reversed(range(len(body))):
        s = body[k]
        if isinstance(s, kernel.Loop):
            if not _is_straight(s):
                return None
            stays.append(_Touched(s, owner))
            free = not any(m.depends_on(b) for m in moving[1:] for b in stays)
            return (k, moved[::-1]) if free else None
        if not isinstance(s, (*STRAIGHT, kernel.Declare)):
            return None
        between = _Touched(s, owner)
        if isinstance(s, kernel.Let) and any(m.depends_on(between) for m in moving):
            moved.append(s)
            moving.append(between)
        elif between.shares_names(loop) or between.meets(loop):
            return None
        else:
            stays.append(between)
    return None


def _both(
    first: kernel.Loop,
    second: kernel.Loop,
    touched: _Touched,
    buffers: Buffers,
    owner: owners.Owners,
) -> kernel.Loop | None:
    """One loop for two; None where they have nothing in common, or a pass of one needs what other
    passes of the other change."""
    before = _Touched(first, owner)
    if (
        second.sequential
        or not same_shape((first.lo, first.hi), (second.lo, second.hi))
        or not before.memory & touched.memory
        or before.shares_names(touched)
    ):
        return None
    later = traversal.mapped(second.body, _substituting(second.index, integers.symbol(first.index)))
    body = (*first.body, *later)
    inside = {s.name for s in body if isinstance(s, (kernel.Let, kernel.Update))}
    for name in before.meets(touched):
        places = [owner.place(b, at) for s in body for b, at in _accesses(s)]
        own = [
            {(d, i) for d, i in enumerate(at or ()) if _is_own(i, first.index, inside)}
            for there, at in places
            if there == name
        ]
        if not set.intersection(*own):
            return None
    return replace(first, body=forwarded(body, buffers, owner))


def _substituting(name: str, value: Int) -> Callable[[Any], Any]:
    return lambda e: integers.substitute(e, {name: value}) if isinstance(e, integers.Integer) else e


def _accesses(s: kernel.Statement) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for e in traversal.loads(s):
        yield e.buffer, e.index
    if isinstance(s, kernel.Store):
        yield s.buffer, s.index


def _is_own(i: Any, index: str, inside: set[str]) -> bool:
    """Whether an index is another one in each pass of a loop."""
    if not isinstance(i, (int, integers.Integer)):
        return False
    step = integers.coefficient(i, index)
    return isinstance(step, int) and step != 0 and inside.isdisjoint(integers.symbols(i))


def forwarded(
    body: Sequence[kernel.Statement], buffers: Buffers, owner: owners.Owners
) -> tuple[kernel.Statement, ...]:
    """The statements with names in place of elements that were read or written before."""
    held: dict[tuple[str, Any], kernel.Expression] = {}

    def known(e: Any) -> Any:
        return held.get((e.buffer, e.index), e) if isinstance(e, kernel.Load) else e

    result: list[kernel.Statement] = []
    for s in body:
        (s,) = traversal.mapped((s,), known)
        result.append(s)
        match s:
            case kernel.Let(name, kernel.Load(buffer, at, dtype)):
                held[buffer, at] = kernel.Name(name, dtype)
            case kernel.Store(buffer, at, value, combine):
                mine = owner.of(buffer)
                held = {
                    p: v
                    for p, v in held.items()
                    if owner.of(p[0]) != mine or (p[0] == buffer and apart(p[1], at))
                }
                named = isinstance(value, (kernel.Name, kernel.Literal))
                if combine is None and named and value.dtype == buffers[buffer].dtype:
                    held[buffer, at] = value
            case kernel.Update(name):
                held = {p: v for p, v in held.items() if name not in _names(p, v)}
    return tuple(result)


def apart(at: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two places of an array are certainly two."""
    return any(
        isinstance(i, int | integers.Integer)
        and isinstance(k, int | integers.Integer)
        and isinstance(between := integers.sub(i, k), int)
        and between != 0
        for i, k in zip(at, other, strict=True)
    )


def _names(place: tuple[str, Any], value: kernel.Expression) -> set[str]:
    """The names in a value and in the place that holds it."""
    found: set[str] = set()
    for e in (value, kernel.Load(*place, value.dtype)):
        traversal.mentions(e, found, set())
    return found


__all__ = ["forwarded", "join_loops"]
