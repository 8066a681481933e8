"""Totals that a loop builds up in one element of memory, built up in a register instead.

A thread that adds to memory waits for what it added before: half a microsecond each time. Besides,
a total in a register is one that the threads of a block may share (see dependence.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from .. import kernel, traversal
from ..owners import Owners
from .dependence import Access, accesses, defined, statements

MOST = 32
"""Registers for one loop."""
Found = list[tuple[str, kernel.Store]]
"""The names of registers, each with a store to the element that it stands for."""


def in_registers(
    body: Sequence[kernel.Statement],
    buffers: Mapping[str, kernel.Buffer],
    owners: Owners,
    fresh: Callable[[str], str],
    shared: frozenset[str] = frozenset(),
) -> tuple[kernel.Statement, ...]:
    """Statements of one thread or block, in which every loop that only adds to an element (or
    multiplies it, ...) does so in a register, and stores it once. In `shared` buffers others add to
    the same elements meanwhile."""
    result: list[kernel.Statement] = []
    for s in body:
        found = _totals(s, buffers, owners, fresh, shared) if isinstance(s, kernel.Loop) else []
        for name, store in found:
            before = kernel.Load(store.buffer, store.index, buffers[store.buffer].dtype)
            result.append(kernel.Declare(name, before))
        if found:
            assert isinstance(s, kernel.Loop)
            s = replace(s, body=_updating(s.body, found, s.sequential))
        result.append(
            traversal.with_bodies(s, lambda b: in_registers(b, buffers, owners, fresh, shared))
            if traversal.bodies(s)
            else s
        )
        for name, store in found:
            total = kernel.Name(name, buffers[store.buffer].dtype)
            result.append(kernel.Store(store.buffer, store.index, total))
    return tuple(result)


def _totals(
    loop: kernel.Loop,
    buffers: Mapping[str, kernel.Buffer],
    owners: Owners,
    fresh: Callable[[str], str],
    shared: frozenset[str],
) -> Found:
    """The elements that the loop touches in no way but to combine into them."""
    if any(isinstance(s, (kernel.Call, kernel.Allocate, kernel.Grow)) for s in statements([loop])):
        return []
    inner = defined([loop])
    inner |= {s.name for s in statements([loop]) if isinstance(s, kernel.Update)}
    by_owner: dict[str, list[Access]] = {}
    for a in accesses(loop.body):
        by_owner.setdefault(owners.of(a.buffer), []).append(a)
    found: Found = []
    for touched in by_owner.values():
        stores = {a.index: a.store for a in touched if a.store is not None}
        first = touched[0].store
        if first is None or first.combine is None or any(a.buffer in shared for a in touched):
            continue
        combined = all(
            a.store is not None
            and (a.buffer, a.store.combine) == (first.buffer, first.combine)
            and a.store.value.dtype == buffers[first.buffer].dtype
            for a in touched
        )
        # The places stay what they are all through the loop, and are each other's or certainly not.
        still = not set[str]().union(*[traversal.names_in(i) for at in stores for i in at]) & inner
        # What a place reads from memory may be written meanwhile.
        still = still and not any(_reads_memory(i) for at in stores for i in at)
        if (
            combined
            and still
            and len(stores) <= MOST
            and all(traversal.apart(at, other) for at, other in combinations(stores, 2))
        ):
            found += [(fresh("total"), store) for store in stores.values()]
    return found


def _reads_memory(value: Any) -> bool:
    match value:
        case kernel.Load():
            return True
        case kernel.Index(inner, _):
            return _reads_memory(inner)
        case kernel.Apply(_, arguments, _):
            return any(_reads_memory(a) for _, a in arguments)
    return False


def _updating(
    body: Sequence[kernel.Statement], found: Found, exact: bool
) -> tuple[kernel.Statement, ...]:
    names = {(store.buffer, store.index): name for name, store in found}
    result: list[kernel.Statement] = []
    for s in body:
        if isinstance(s, kernel.Store) and (s.buffer, s.index) in names:
            result.append(kernel.Update(names[s.buffer, s.index], s.value, s.combine, exact))
        elif traversal.bodies(s):
            result.append(traversal.with_bodies(s, lambda b: _updating(b, found, exact)))
        else:
            result.append(s)
    return tuple(result)


__all__ = ["in_registers"]
