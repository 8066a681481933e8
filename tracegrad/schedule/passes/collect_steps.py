"""Steps in order that do nothing but where a kept flag is set: their numbers first, then what they
do (stream compaction).

    for k in 0 .. n, in order:                   count = 0
        if flags[k]:                             for k in 0 .. n:
            g[i] = g[i] + g[k]                       steps[count] = k
            g[k] = 0                   ->            count = count + flags[k]
                                                 for m in 0 .. count:
                                                     k = steps[m]
                                                     g[i] = g[i] + g[k]
                                                     g[k] = 0

A flag that is guessed wrong takes as long as twenty that are only counted. What is done is done in
the same order. Loops whose steps have elements of their own stay, for they may be vectorised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from ..._codegen import integers, kernel, owners, traversal

FEWEST = 16
"""Loops of fewer steps stay as they are."""
INT64 = np.dtype(np.int64)


def collect_steps(
    phases: Sequence[kernel.Phase],
    buffers: dict[str, kernel.Buffer],
    sizes: Sequence[str],
    fresh: Callable[[str], str],
) -> list[kernel.Phase]:
    """The phases with such loops in two, where one thread goes through them; adds to `buffers`."""
    owner = owners.Owners(buffers)

    def within(body: Sequence[kernel.Statement]) -> tuple[kernel.Statement, ...]:
        result: list[kernel.Statement] = []
        for s in body:
            flag = _flag(s, owner, frozenset(sizes))
            if flag is not None and isinstance(s, kernel.Loop):
                result += _collected(s, flag, buffers, fresh)
            else:
                result.append(traversal.with_bodies(s, within))
        return tuple(result)

    return [
        traversal.with_parts(p, body=within(p.body)) if p.kind == "serial" else p for p in phases
    ]


def _flag(s: kernel.Statement, owner: owners.Owners, sizes: frozenset[str]) -> Any:
    """The flag that each step of such a loop reads; None of others."""
    match s:
        case kernel.Loop(
            body=(
                kernel.Let(name, kernel.Load() as flag),
                kernel.If(kernel.Name(asked), then, ()),
            )
        ) if name == asked and s.sequential and not s.apart and s.own is None:
            pass
        case _:
            return None
    trips = s.trips
    if not integers.symbols(trips) <= sizes or (isinstance(trips, int) and trips < FEWEST):
        return None
    if not all(isinstance(t, kernel.Let | kernel.Store) or _is_handed_on(t) for t in then):
        return None
    if any(name in traversal.names_in(e) for t in then for e in traversal.expressions(t)):
        return None
    written = {owner.of(t.buffer) for t in then if isinstance(t, kernel.Store)}
    return flag if owner.of(flag.buffer) not in written and _meet(then, owner) else None


def _is_handed_on(s: kernel.Statement) -> bool:
    """Whether a statement changes a number that steps hand on in their order."""
    return isinstance(s, kernel.Update) and (s.combine is None or s.exact)


def _meet(body: Sequence[kernel.Statement], owner: owners.Owners) -> bool:
    """Whether a step may read, or write, what another one writes."""
    if any(map(_is_handed_on, body)):
        return True
    places: dict[str, list[tuple[str, tuple[Any, ...]]]] = {}
    written: set[str] = set()
    for t in body:
        found = [(e.buffer, e.index) for e in traversal.loads(t)]
        if isinstance(t, kernel.Store):
            found.append((t.buffer, t.index))
            written.add(owner.of(t.buffer))
        for buffer, at in found:
            places.setdefault(owner.of(buffer), []).append((buffer, at))
    return any(
        a != b and not (a[0] == b[0] and traversal.apart(a[1], b[1]))
        for name in written
        for a, b in combinations(places[name], 2)
    )


def _collected(
    loop: kernel.Loop,
    flag: kernel.Load,
    buffers: dict[str, kernel.Buffer],
    fresh: Callable[[str], str],
) -> list[kernel.Statement]:
    """The numbers of the steps, and what is done in each."""
    _, branch = loop.body
    assert isinstance(branch, kernel.If)
    steps, count, many = fresh("steps"), fresh("count"), fresh("many")
    turn, step = fresh("turn"), fresh(loop.index)
    buffers[steps] = kernel.Buffer(steps, INT64, (loop.trips,), "temp")
    number = kernel.Name(count, INT64)
    # A place is a word without a sign, which is counted from no end.
    place = kernel.Apply("index({x})", (("x", number),), INT64)
    one = kernel.Apply("np.int64({x})", (("x", flag),), INT64)
    collect = (
        kernel.Store(steps, (place,), kernel.Index(integers.symbol(loop.index))),
        kernel.Update(count, one, "add"),
    )
    found = kernel.Load(steps, (integers.symbol(turn),), INT64)
    then = traversal.mapped(
        branch.then,
        lambda e: (
            integers.substitute(e, {loop.index: integers.symbol(step)})
            if isinstance(e, integers.Integer)
            else e
        ),
    )
    return [
        kernel.Declare(count, kernel.Literal(0, INT64)),
        replace(loop, body=collect),
        kernel.Let(many, kernel.Apply("index({x})", (("x", number),), INT64)),
        kernel.Loop(
            turn, 0, integers.symbol(many),
            (kernel.Let(step, kernel.Apply("index({x})", (("x", found),), INT64)), *then), True,
        ),
    ]  # fmt: skip


__all__ = ["collect_steps"]
