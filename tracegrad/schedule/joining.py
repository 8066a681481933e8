"""Loops that only copy what the loop before them has made become part of that loop, where the values still are in registers.

A step of a loop writes its new carries beside the old ones, and copies them when all is computed. Where each element depends on the old carries
of its own place only, as in a batch, there is nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

from .._codegen import integers, kernel, traversal

UNROLLED = 8
"""Inner loops of so many passes are written out."""


Buffers: TypeAlias = Mapping[str, kernel.Buffer]


def join(phases: Sequence[kernel.Phase], buffers: Buffers) -> list[kernel.Phase]:
    """The phases with such loops joined."""
    return [replace(p, body=_joined(p.body, buffers)) for p in phases]


def _joined(body: Sequence[kernel.Statement], buffers: Buffers) -> tuple[kernel.Statement, ...]:
    result: list[kernel.Statement] = []
    for s in body:
        match s:
            case kernel.Loop() | kernel.While():
                s = replace(s, body=_joined(s.body, buffers))
            case kernel.If():
                s = replace(s, then=_joined(s.then, buffers), otherwise=_joined(s.otherwise, buffers))
        before = result[-1] if result else None
        both = _both(before, s, buffers) if isinstance(before, kernel.Loop) and isinstance(s, kernel.Loop) else None
        if both is None:
            result.append(s)
        else:
            result[-1] = both
    return tuple(result)


def _both(first: kernel.Loop, second: kernel.Loop, buffers: Buffers) -> kernel.Loop | None:
    """One loop for two; None where the second does more than copy, or needs more of the first than its own place."""
    if first.sequential or second.sequential or first.own is not None or (first.lo, first.hi) != (second.lo, second.hi):
        return None
    copies = _copies(second, integers.symbol(first.index))
    if copies is None or any(isinstance(s, (kernel.Call, kernel.Allocate)) for s in _inside(first)):
        return None
    made = {(s.buffer, s.index): s.value for s in first.body if isinstance(s, kernel.Store) and s.combine is None}
    if not any((c.value.buffer, c.value.index) in made for c in copies if isinstance(c.value, kernel.Load)):
        return None
    accesses: dict[str, list[tuple[Any, ...]]] = {}
    written: set[str] = set()
    for s in (*_inside(first), *copies):
        for e in traversal.loads(s):
            accesses.setdefault(e.buffer, []).append(e.index)
        if isinstance(s, kernel.Store):
            accesses.setdefault(s.buffer, []).append(s.index)
            written.add(s.buffer)
    # What is read of the same memory in another shape stands at places that these indices do not tell.
    memory = [buffers[name].of or name if name in buffers else name for name in accesses]
    if any(memory.count(buffers[name].of or name if name in buffers else name) > 1 for name in written):
        return None
    here = integers.symbol(first.index)
    if not all(set.intersection(*[{d for d, i in enumerate(at) if i == here} for at in accesses[name]]) for name in written):
        return None
    forwarded = []
    for c in copies:
        assert isinstance(c.value, kernel.Load)
        value = made.get((c.value.buffer, c.value.index))
        forwarded.append(replace(c, value=value) if isinstance(value, (kernel.Name, kernel.Literal)) else c)
    return replace(first, body=(*first.body, *forwarded))


def _inside(loop: kernel.Loop) -> list[kernel.Statement]:
    found: list[kernel.Statement] = []
    kernel.walk(loop.body, found.append)
    return found


def _copies(loop: kernel.Loop, here: Any) -> list[kernel.Store] | None:
    """What a loop copies in its pass `here`, inner loops written out."""
    indices: dict[str, tuple[Any, ...]] = {loop.index: (here,)}
    body = loop.body
    while len(body) == 1 and isinstance(inner := body[0], kernel.Loop):
        trips = inner.hi - inner.lo
        if not isinstance(trips, int) or not isinstance(inner.lo, int) or not 0 < trips <= UNROLLED:
            return None
        indices[inner.index] = tuple(range(inner.lo, inner.lo + trips))
        body = inner.body
    loaded = {s.name: s.value for s in body if isinstance(s, kernel.Let)}
    found = []
    for values in product(*indices.values()):
        known = dict(zip(indices, values, strict=True))

        def placed(at: Sequence[Any], known: dict[str, Any] = known) -> tuple[Any, ...] | None:
            if not all(isinstance(i, (int, integers.Integer)) for i in at):
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


__all__ = ["join"]
