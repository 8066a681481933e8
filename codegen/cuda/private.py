"""Memory for each item of a loop over items, so that items can run at the same time.

On a CPU one item follows the other in the same memory. Here each temporary of such a loop gets one
more axis, the last, along which neighbouring threads find neighbours. Where an item asks for memory
whose size only it knows, a loop before finds out how much that is at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import kernel, traversal
from ..integers import Int, Integer, add, floordiv, mul, product, substitute, symbol, symbols
from ..owners import Owners
from .dependence import accesses, defined, parallel, statements, trips, used

FEW = 32
"""Fewer items than this take turns where there is much to share inside each."""
WIDE = 256
ALIGNED = 16
"""Bytes."""


def private(program: kernel.Program) -> kernel.Program:
    """The program with memory for each item."""
    work = _Private(program)
    phases = tuple(
        [
            p if p.kind == "parallel" else replace(p, body=work.body(sunk(p.body)))
            for p in program.phases
        ]
    )
    return (
        replace(program, phases=phases, buffers=tuple(work.buffers.values()), arena=work.arena)
        if work.changed
        else program
    )


def sunk(body: Sequence[kernel.Statement]) -> tuple[kernel.Statement, ...]:
    """Locals that are only used in one loop over items are made there."""
    found = list(body)
    for s in [s for s in found if isinstance(s, kernel.Declare)]:
        rest = _with(s, [x for x in found if x is not s])
        found = rest if rest is not None else found
    return tuple([traversal.with_bodies(s, sunk) for s in found])


def _with(
    declared: kernel.Declare, body: Sequence[kernel.Statement]
) -> list[kernel.Statement] | None:
    """The statements with the local made in the loop over items that alone uses it, or None."""
    users = [k for k, s in enumerate(body) if declared.name in used([s]) | defined([s])]
    if len(users) != 1:
        return None
    (k,) = users
    s = body[k]
    if not isinstance(s, (kernel.Loop, kernel.While)) or any(
        declared.name in traversal.names_in(e) for e in traversal.expressions(s)
    ):
        return None
    over_items = isinstance(s, kernel.Loop) and s.own is not None
    inner = [declared, *s.body] if over_items else _with(declared, s.body)
    return None if inner is None else [*body[:k], replace(s, body=tuple(inner)), *body[k + 1 :]]


@dataclass
class _Private:
    program: kernel.Program

    def __post_init__(self) -> None:
        self.buffers = {b.name: b for b in self.program.buffers}
        self.arena = self.program.arena
        self.owners = Owners(self.buffers)
        self.changed = False
        self.count = 0

    def body(self, body: Iterable[kernel.Statement]) -> tuple[kernel.Statement, ...]:
        """Statements with their loops over items made independent, inner ones first."""
        return tuple(
            part for s in body for part in self.statement(traversal.with_bodies(s, self.body))
        )

    def statement(self, s: kernel.Statement) -> Iterator[kernel.Statement]:
        if not isinstance(s, kernel.Loop) or s.own is None:
            yield s
            return
        known = {name for name, _ in self.program.sizes}
        if (
            any(isinstance(x, kernel.Call) for x in statements(s.body))
            or not symbols(s.lo) | symbols(s.hi) <= known
            or self.narrow(s)
        ):
            yield replace(s, own=None)
            return
        self.changed = True
        parts = self.distributed(s)
        done: set[str] = set()
        for part in parts if parts is not None else [s]:
            yield self.with_memory(part, done) if isinstance(part, kernel.Loop) else part

    def narrow(self, s: kernel.Loop) -> bool:
        """Whether few items have much inside that can be shared."""
        count = trips(s)
        return count < FEW and any(
            isinstance(x, kernel.Loop) and trips(x) >= WIDE and parallel(x, self.owners, True)
            for x in statements(s.body)
        )

    def with_memory(self, s: kernel.Loop, done: set[str]) -> kernel.Loop:
        """A loop with an axis more for what its items have in the arena, which that has already
        where an earlier part of the loop has `done` it."""
        assert s.own is not None
        there = self.owners.all(a.buffer for a in accesses(s.body)) & s.own
        extent = add(s.hi, mul(-1, s.lo))
        names: set[str] = set()
        for name in sorted(there & self.buffers.keys()):
            b, members = self.buffers[name], (name, *self.owners.views(name))
            names.update(members)
            if name in done:
                continue
            done.add(name)
            for member in members:
                inside = self.buffers[member]
                self.buffers[member] = replace(inside, shape=(*inside.shape, extent))
            self.buffers[name] = replace(self.buffers[name], offset=self.place(b, extent))
        return replace(s, body=extended(s.body, names, s), own=frozenset())

    def place(self, b: kernel.Buffer, extent: Int) -> Int:
        """New room at the end of the arena."""
        start = mul(ALIGNED, floordiv(add(self.arena, ALIGNED - 1), ALIGNED))
        self.arena = add(start, product([b.dtype.itemsize, *b.shape, extent]))
        return start

    # --- memory of sizes that items know ----------------------------------------------------------

    def distributed(self, s: kernel.Loop) -> list[kernel.Statement] | None:
        """A loop whose items ask for memory as one that finds how much, a request for all, and the
        rest; None where it is not so."""
        assert s.own is not None
        at = next((k for k, x in enumerate(s.body) if isinstance(x, kernel.Allocate)), None)
        if at is None:
            return None
        before = s.body[:at]
        asked = [x for x in s.body if isinstance(x, kernel.Allocate)]
        if len(asked) != sum(isinstance(x, kernel.Allocate) for x in statements(s.body)):
            return None
        made = {x.name for x in before if isinstance(x, kernel.Let)}
        wanted = {name for x in asked for n in x.shape for name in symbols(n)}
        sizes = sorted(wanted & made)
        if not wanted <= made | {name for name, _ in self.program.sizes} or any(
            symbols(n) & made for x in asked for n in x.shape[1:]
        ):
            return None
        if any(
            a.store is not None and self.owners.of(a.buffer) not in s.own for a in accesses(before)
        ):
            return None
        most = {n: self.fresh(f"most_{n}") for n in sizes}
        found: list[kernel.Statement] = [
            kernel.Declare(f"{m}_found", kernel.Literal(0, kernel.INT64)) for m in most.values()
        ]
        count = (
            *before,
            *[
                kernel.Update(f"{m}_found", kernel.Name(n, kernel.INT64), "max")
                for n, m in most.items()
            ],
        )
        for name in sorted(defined(count)):
            count = traversal.renamed(count, name, self.fresh(name))
        found.append(replace(s, body=count))
        found += [
            kernel.Let(
                m,
                kernel.Apply(
                    "index({x})", (("x", kernel.Name(f"{m}_found", kernel.INT64)),), kernel.INT64
                ),
            )
            for m in most.values()
        ]
        extent = add(s.hi, mul(-1, s.lo))
        places = {n: symbol(m) for n, m in most.items()}
        found += [
            replace(
                x,
                shape=(
                    *[substitute(n, places) if isinstance(n, Integer) else n for n in x.shape],
                    extent,
                ),
            )
            for x in asked
        ]
        rest = tuple(x for x in s.body if not isinstance(x, kernel.Allocate))
        found.append(replace(s, body=extended(rest, {x.name for x in asked}, s)))
        return found

    def fresh(self, hint: str) -> str:
        self.count += 1
        return f"{hint}_item{self.count}"


def extended(
    body: tuple[kernel.Statement, ...], names: set[str], s: kernel.Loop
) -> tuple[kernel.Statement, ...]:
    """The statements with the number of the item as the last index of these buffers."""
    item = add(symbol(s.index), mul(-1, s.lo))

    def load(x: kernel.Load) -> Any:
        return replace(x, index=(*x.index, item)) if x.buffer in names else x

    def store(x: kernel.Store) -> kernel.Statement:
        return replace(x, index=(*x.index, item)) if x.buffer in names else x

    return traversal.rewritten(body, load, store)


__all__ = ["private"]
