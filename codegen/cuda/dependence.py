"""Which iterations of a loop may run at the same time, and what their threads must then do
together.

A loop is *independent* where no two iterations touch an element that one of them writes. It is a
*reduction* where iterations meet only in accumulators whose order of combination is free, and
*running* where they also read what has been accumulated so far. It needs *atomics* where they meet
only in elements that they add to. Anything else runs in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import kernel, traversal
from ..integers import Integer, add, mul, symbol, symbols
from ..owners import Owners

ANY_ORDER = frozenset({"max", "min", "and", "or"})
ATOMIC = frozenset({"float32", "float64", "int32", "uint32", "int64", "uint64"})
"""The dtypes that the device adds to in memory atomically."""


@dataclass(frozen=True)
class Accumulator:
    """A local scalar of the enclosing code that iterations combine their contributions into."""

    name: str
    dtype: np.dtype[Any]
    combine: kernel.Combine


@dataclass(frozen=True)
class Parallel:
    """How a loop's iterations may be shared: what they reduce into, and the buffers that they add
    to atomically."""

    accumulators: tuple[Accumulator, ...] = ()
    atomics: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Access:
    buffer: str
    index: tuple[Any, ...]
    store: kernel.Store | None


def statements(body: Iterable[kernel.Statement]) -> Iterator[kernel.Statement]:
    """Every statement, outermost first."""
    for s in body:
        yield s
        for inner in traversal.bodies(s):
            yield from statements(inner)


def accesses(body: Iterable[kernel.Statement]) -> Iterator[Access]:
    """Every element that statements read or write."""
    for s in statements(body):
        for load in traversal.loads(s):
            yield Access(load.buffer, load.index, None)
        if isinstance(s, kernel.Store):
            yield Access(s.buffer, s.index, s)


def touched(body: Iterable[kernel.Statement], owners: Owners) -> tuple[set[str], set[str]]:
    """The memory that statements read, and that they write, by the buffers that own it. An addition
    to memory reads as well."""
    read: set[str] = set()
    written: set[str] = set()
    for a in accesses(body):
        owner = owners.of(a.buffer)
        if a.store is None or a.store.combine is not None:
            read.add(owner)
        if a.store is not None:
            written.add(owner)
    return read, written


def defined(body: Iterable[kernel.Statement]) -> set[str]:
    """The names that statements make: locals and loop indices."""
    found: set[str] = set()
    for s in statements(body):
        match s:
            case kernel.Let(name, _, _) | kernel.Declare(name, _) | kernel.Loop(name, _, _, _, _):
                found.add(name)
    return found


def used(body: Iterable[kernel.Statement]) -> set[str]:
    """The names that statements read or update, whoever made them."""
    found: set[str] = set()
    for s in statements(body):
        for e in traversal.expressions(s):
            found |= traversal.names_in(e)
        if isinstance(s, kernel.Update):
            found.add(s.name)
    return found


def parallel(loop: kernel.Loop, owners: Owners, deterministic: bool) -> Parallel | None:
    """How the iterations of a loop may be shared, or None where they must run in order."""
    # Of a loop over items all that its iterations write is their own, once their temporaries are.
    found, atomics = (
        _accumulators(loop),
        frozenset[str]() if loop.own == frozenset() else _atomics(loop, owners, deterministic),
    )
    if (
        found is None
        or atomics is None
        or any(_reads(s) & found.keys() for s in statements(loop.body))
    ):
        return None
    return Parallel(tuple(found.values()), atomics)


@dataclass(frozen=True)
class Running:
    """A loop whose iterations read its accumulators: the statements that find what one of them
    contributes."""

    accumulators: tuple[Accumulator, ...]
    contribution: tuple[kernel.Statement, ...]


def running(loop: kernel.Loop, owners: Owners, deterministic: bool) -> Running | None:
    """How a loop of running totals may be shared, or None where it is not one, or what it adds
    depends on the totals."""
    found = _accumulators(loop, ordered=True)
    if not found or _atomics(loop, owners, deterministic) != frozenset():
        return None
    late = set(found)
    part: list[kernel.Statement] = []
    for s in loop.body:
        match s:
            case kernel.Update(name, value, _, _) if name in found:
                if traversal.names_in(value) & late:
                    return None
                part.append(s)
            case (
                kernel.Let()
                | kernel.Declare()
                | kernel.Update()
                | kernel.Loop()
                | kernel.While()
                | kernel.If()
            ):
                changed = {
                    x.name
                    for x in statements([s])
                    if isinstance(x, (kernel.Let, kernel.Declare, kernel.Update))
                }
                if changed & found.keys():
                    return None
                if used([s]) & late or any(isinstance(x, kernel.Store) for x in statements([s])):
                    late |= changed
                else:
                    part.append(s)
    return Running(tuple(found.values()), tuple(part))


def _accumulators(loop: kernel.Loop, ordered: bool = False) -> dict[str, Accumulator] | None:
    """What the iterations combine into, by name; None where the order matters (or, for what keeps
    the order, the way they combine)."""
    inner = defined(loop.body)
    found: dict[str, Accumulator] = {}
    for s in statements(loop.body):
        if isinstance(s, (kernel.Call, kernel.Allocate)):
            return None
        if isinstance(s, kernel.Update) and s.name not in inner:
            free = (
                ordered
                or s.combine in ANY_ORDER
                or not s.exact
                or (s.combine is not None and s.value.dtype.kind in "iub")
            )
            if (
                s.combine is None
                or not free
                or found.setdefault(s.name, _accumulator(s)).combine != s.combine
            ):
                return None
    return found


def _atomics(loop: kernel.Loop, owners: Owners, deterministic: bool) -> frozenset[str] | None:
    """The buffers that iterations must add to atomically; None where they meet in memory in another
    way."""
    inner = defined(loop.body)
    stored: dict[str, list[Access]] = {}
    loaded: dict[str, list[Access]] = {}
    for a in accesses(loop.body):
        (stored if a.store is not None else loaded).setdefault(owners.of(a.buffer), []).append(a)
    atomics: set[str] = set()
    for owner, writes in stored.items():
        everything = [*writes, *loaded.get(owner, ())]
        if _owned(everything, loop.index, inner):
            continue
        combines = {a.store.combine for a in writes if a.store is not None}
        if (
            combines == {None}
            and owner not in loaded
            and not loop.sequential
            and _distinct(writes, loop.index, inner)
        ):
            continue
        exact = all(a.store is not None and a.store.value.dtype.kind in "iu" for a in writes)
        addable = (
            combines == {"add"}
            and owner not in loaded
            and all(a.store.value.dtype.name in ATOMIC for a in writes if a.store)
        )
        if not addable or (deterministic and not exact):
            return None
        atomics.update(a.buffer for a in writes)
    return frozenset(atomics)


def _accumulator(s: kernel.Update) -> Accumulator:
    assert s.combine is not None
    return Accumulator(s.name, s.value.dtype, s.combine)


def _reads(s: kernel.Statement) -> set[str]:
    return (
        set().union(*[traversal.names_in(e) for e in traversal.expressions(s)])
        if traversal.expressions(s)
        else set()
    )


def _owned(found: list[Access], index: str, inner: set[str]) -> bool:
    """Whether all accesses agree in an axis whose place tells the iteration: then no two iterations
    meet."""
    if len({a.buffer for a in found}) != 1:
        return False
    for axis in range(min(len(a.index) for a in found)):
        places = {a.index[axis] for a in found}
        if len(places) != 1:
            continue
        (place,) = places
        if (
            isinstance(place, Integer)
            and index in symbols(place)
            and not symbols(place) & inner
            and _one_to_one(place, index)
        ):
            return True
    return False


def _one_to_one(place: Integer, index: str) -> bool:
    """Whether different values of `index` give different values: `index` with a constant factor,
    plus what does not depend on it."""
    own = [
        (monomial, c)
        for monomial, c in place.terms
        if any(index in str_names(atom) for atom in monomial)
    ]
    return len(own) == 1 and len(own[0][0]) == 1 and getattr(own[0][0][0], "name", None) == index


def str_names(atom: Any) -> frozenset[str]:
    return symbols(Integer((((atom,), 1),)))


def _distinct(writes: list[Access], index: str, inner: set[str]) -> bool:
    """Whether plain stores go to elements that differ between iterations, as the schedule promises
    of loops without an order.

    What places depend on must be known: an index read from memory may occur twice.
    """
    if any(not isinstance(i, (int, Integer)) for a in writes for i in a.index):
        return False
    return all(any(isinstance(i, Integer) and index in symbols(i) for i in a.index) for a in writes)


def trips(s: kernel.Loop) -> int:
    """The passes of a loop; very many where that is not known."""
    extent = add(s.hi, mul(-1, s.lo))
    return extent if isinstance(extent, int) else 1 << 30


def nest(loop: kernel.Loop) -> list[kernel.Loop]:
    """The loop and those that are alone in it, outermost first."""
    found = [loop]
    while len(found[-1].body) == 1 and isinstance(found[-1].body[0], kernel.Loop):
        found.append(found[-1].body[0])
    return found


def interchanged(loop: kernel.Loop, owners: Owners, fresh: str) -> kernel.Loop | None:
    """A loop in order whose body consists of loops over the same independent range, turned inside
    out; None where it is not one.

    If every element that a step writes is only touched at the same place of one axis, each place
    can run all steps by itself: the batch of many small systems, columns that are summed, states of
    which each element goes its own way.
    """
    _, written = touched(loop.body, owners)
    inner = defined(loop.body)
    chains = [nest(s) for s in loop.body if isinstance(s, kernel.Loop)]
    if (
        not chains
        or not written
        or any(isinstance(s, kernel.Update) and s.name not in inner for s in statements(loop.body))
    ):
        return None
    # What stands between the loops is done by every iteration for itself, so it may not depend on
    # the others.
    between = [s for s in loop.body if not isinstance(s, kernel.Loop)]
    if not all(isinstance(s, kernel.Let) for s in between) or touched(between, owners)[0] & written:
        return None
    # It goes outside of all that is named in here, the loops that it stands in among that.
    named = {loop.index, *inner, *[c.index for chain in chains for c in chain]}
    for candidate in chains[0]:
        if named & (traversal.names_in(candidate.lo) | traversal.names_in(candidate.hi)):
            continue
        axes: dict[str, set[int]] = {}
        chosen: list[kernel.Loop] = []
        for chain in chains:
            found = next(
                (
                    c
                    for c in chain
                    if (c.lo, c.hi) == (candidate.lo, candidate.hi)
                    and _agree(chain[0], c, written, owners, axes)
                ),
                None,
            )
            if found is None:
                break
            chosen.append(found)
        if len(chosen) == len(chains) and all(axes.values()):
            own = {id(chain[0]): c for chain, c in zip(chains, chosen, strict=True)}
            body = tuple(
                part
                for s in loop.body
                for part in (_without(s, own[id(s)], fresh) if isinstance(s, kernel.Loop) else (s,))
            )
            return kernel.Loop(fresh, candidate.lo, candidate.hi, (replace(loop, body=body),))
    return None


def _agree(
    chain: kernel.Loop,
    own: kernel.Loop,
    written: set[str],
    owners: Owners,
    axes: dict[str, set[int]],
) -> bool:
    """Narrow the axes along which written memory is divided to those that `own` runs along; False
    (and no change) where none is left."""
    place = symbol(own.index)
    narrowed = dict(axes)
    for a in accesses([chain]):
        owner = owners.of(a.buffer)
        if owner not in written:
            continue
        if a.buffer != owner:
            return False
        here = {axis for axis, i in enumerate(a.index) if i == place}
        narrowed[owner] = narrowed[owner] & here if owner in narrowed else here
        if not narrowed[owner]:
            return False
    axes.update(narrowed)
    return True


def _without(outer: kernel.Loop, own: kernel.Loop, fresh: str) -> tuple[kernel.Statement, ...]:
    """The nest `outer` without its loop `own`, whose index is now `fresh`."""
    if outer is own:
        return traversal.renamed(own.body, own.index, fresh)
    inside = outer.body[0]
    assert isinstance(inside, kernel.Loop)
    return (replace(outer, body=_without(inside, own, fresh)),)
