"""Loops that only copy what the loop before them has made become part of that loop, where the
values still are in registers.

A step of a loop writes its new carries beside the old ones, and copies them when all is computed.
Where each element depends on the old carries of its own place only, as in a batch, there is nothing
to wait for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

from ..._codegen import integers, kernel, owners, traversal
from ...sizes import same_shape

UNROLLED = 8
"""Inner loops of so many passes are written out."""


Buffers: TypeAlias = Mapping[str, kernel.Buffer]


def fuse_copies(phases: Sequence[kernel.Phase], buffers: Buffers) -> list[kernel.Phase]:
    """The phases with such loops joined."""
    return [
        traversal.with_parts(p, body=_joined(p.body, buffers, p.kind == "serial")) for p in phases
    ]


def _joined(
    body: Sequence[kernel.Statement], buffers: Buffers, ordered: bool = True
) -> tuple[kernel.Statement, ...]:
    """`ordered`: whether the passes of these loops are run by one thread, which keeps their
    order."""
    result: list[kernel.Statement] = []
    for s in body:
        match s:
            case kernel.Loop() | kernel.While():
                s = traversal.with_parts(s, body=_joined(s.body, buffers))
            case kernel.If():
                s = traversal.with_parts(
                    s, then=_joined(s.then, buffers), otherwise=_joined(s.otherwise, buffers)
                )
        before = result[-1] if result else None
        both = (
            _both(before, s, buffers, ordered)
            if isinstance(before, kernel.Loop) and isinstance(s, kernel.Loop)
            else None
        )
        if both is None:
            result.append(s)
        else:
            result[-1] = both
    return tuple(result)


def _both(
    first: kernel.Loop, second: kernel.Loop, buffers: Buffers, ordered: bool
) -> kernel.Loop | None:
    """One loop for two; None where the second does more than copy, or needs more of the first than
    its own place; a copy to where no later pass of the first still reads joins in order."""
    if (
        first.sequential
        or second.sequential
        or first.own is not None
        or not same_shape((first.lo, first.hi), (second.lo, second.hi))
    ):
        return None
    copies = _copies(second, integers.symbol(first.index))
    if copies is None or any(isinstance(s, (kernel.Call, kernel.Allocate)) for s in _inside(first)):
        return None
    stored = {
        (s.buffer, s.index) for s in first.body if isinstance(s, kernel.Store) and s.combine is None
    }
    if not any(
        (c.value.buffer, c.value.index) in stored
        for c in copies
        if isinstance(c.value, kernel.Load)
    ):
        return None
    owner = owners.Owners(buffers)
    axes: dict[str, list[set[tuple[int, Any]]]] = {}
    """Of each access to some memory, the axes along which it is in a place that this pass alone
    has, and where that is."""
    inside = _defined(first)

    def alone(i: Any) -> bool:
        step = integers.coefficient(i, first.index) if _is_form(i) else None
        return step in (1, -1) and inside.isdisjoint(integers.symbols(i))

    def places(touched: Iterable[kernel.Load | kernel.Store], name: str) -> list[Any]:
        found = [owner.place(e.buffer, e.index) for e in touched]
        return [at for there, at in found if there == name]

    def ahead(name: str) -> bool:
        """Whether the first loop only reads some memory, in a place that only this pass or a later
        one copies to."""
        if any(isinstance(s, kernel.Store) and owner.of(s.buffer) == name for s in _inside(first)):
            return False
        to = places(copies, name)
        read = places([e for s in _inside(first) for e in traversal.loads(s)], name)
        again = places([e for c in copies for e in traversal.loads(c)], name)
        if again or not all([*to, *read]):
            return False
        return any(
            all(
                alone(r[d])
                and alone(w[d])
                and integers.coefficient(w[d], first.index) == 1
                and isinstance(apart := integers.sub(r[d], w[d]), int)
                and apart >= 0
                for w in to
                for r in read
            )
            for d in range(len(to[0]))
        )

    written: set[str] = set()
    for s in (*_inside(first), *copies):
        touched: list[kernel.Load | kernel.Store] = [
            *traversal.loads(s),
            *([s] if isinstance(s, kernel.Store) else []),
        ]
        for e in touched:
            name, at = owner.place(e.buffer, e.index)
            axes.setdefault(name, []).append({(d, i) for d, i in enumerate(at or ()) if alone(i)})
        if isinstance(s, kernel.Store):
            written.add(owner.of(s.buffer))
    waiting = {name for name in written if not set.intersection(*axes[name])}
    if waiting and not (ordered and all(ahead(name) for name in waiting)):
        return None
    held = _held(first)
    forwarded = []
    for c in copies:
        assert isinstance(c.value, kernel.Load)
        forwarded.append(replace(c, value=held.get((c.value.buffer, c.value.index), c.value)))
    return replace(first, body=(*first.body, *forwarded), sequential=bool(waiting))


def _held(loop: kernel.Loop) -> dict[tuple[str, Any], kernel.Name | kernel.Literal]:
    """The places of memory that hold a name or a constant when a pass of the loop ends."""
    held: dict[tuple[str, Any], kernel.Name | kernel.Literal] = {}
    for s in loop.body:
        changed: list[kernel.Statement] = []
        kernel.walk((s,), changed.append)
        for c in changed:
            match c:
                case kernel.Store(buffer, at):
                    held = {
                        p: v for p, v in held.items() if p[0] != buffer or traversal.apart(p[1], at)
                    }
                case kernel.Update(name):
                    held = {
                        p: v
                        for p, v in held.items()
                        if not isinstance(v, kernel.Name) or v.name != name
                    }
        if (
            isinstance(s, kernel.Store)
            and s.combine is None
            and isinstance(s.value, (kernel.Name, kernel.Literal))
        ):
            held[s.buffer, s.index] = s.value
    return held


def _defined(loop: kernel.Loop) -> set[str]:
    """The names that a pass of the loop makes."""
    return {
        s.index if isinstance(s, kernel.Loop) else s.name
        for s in _inside(loop)
        if isinstance(s, (kernel.Loop, kernel.Let, kernel.Declare))
    }


def _is_form(index: Any) -> bool:
    return isinstance(index, (int, integers.Integer))


def _inside(loop: kernel.Loop) -> list[kernel.Statement]:
    found: list[kernel.Statement] = []
    kernel.walk(loop.body, found.append)
    return found


def _copies(loop: kernel.Loop, here: Any) -> list[kernel.Store] | None:
    """What a loop copies in its pass `here`, inner loops written out."""
    indices: dict[str, tuple[Any, ...]] = {loop.index: (here,)}
    body = loop.body
    while len(body) == 1 and isinstance(inner := body[0], kernel.Loop):
        trips = inner.trips
        if not isinstance(trips, int) or not isinstance(inner.lo, int) or not 0 < trips <= UNROLLED:
            return None
        indices[inner.index] = tuple(range(inner.lo, inner.lo + trips))
        body = inner.body
    loaded = {s.name: s.value for s in body if isinstance(s, kernel.Let)}
    found = []
    for values in product(*indices.values()):
        known = dict(zip(indices, values, strict=True))

        def placed(at: Sequence[Any], known: dict[str, Any] = known) -> tuple[Any, ...] | None:
            if not all(map(_is_form, at)):
                return None
            return tuple([i if isinstance(i, int) else integers.substitute(i, known) for i in at])

        for s in body:
            if isinstance(s, kernel.Let):
                continue
            if not isinstance(s, kernel.Store) or s.combine is not None:
                return None
            value = loaded.get(s.value.name) if isinstance(s.value, kernel.Name) else s.value
            if not isinstance(value, kernel.Load):
                return None
            to, at = placed(s.index), placed(value.index)
            if to is None or at is None:
                return None
            found.append(kernel.Store(s.buffer, to, kernel.Load(value.buffer, at, value.dtype)))
    return found if all(isinstance(v, kernel.Load) for v in loaded.values()) else None


__all__ = ["fuse_copies"]
