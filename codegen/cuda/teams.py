"""Statements divided among threads, as the source of a CUDA kernel.

A *team* is a thread, a block, or the whole grid. What stands outside of loops is executed by every
member of the team with the same values, and stored by one of them; the iterations of a loop that
may be shared (`dependence.parallel`) are dealt out to the members, in each of which the body is the
work of a smaller team; a loop that may not runs in order, its body again shared. Before memory is
touched that other members touched differently, the team waits for all its members.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .. import kernel, traversal
from ..integers import Binary, Integer, add, mul, product, symbols
from ..printer import integer, literal
from .accumulators import in_registers
from .dependence import (
    Parallel,
    accesses,
    interchanged,
    nest,
    parallel,
    running,
    statements,
    touched,
    trips,
)
from .team import MOST_THREADS, WARP, TeamMemory, ThreadTeam, atom, plus
from .totals import Totals, start
from .vectors import vectors
from .vectors import write as write_vectors

FEW_OF_BLOCK, FEW_OF_GRID = 16, 4
"""Iterations that a team rather goes through in order, if there are long loops inside."""
FEW_THREADS = 1 << 13
"""Fewer iterations than this leave most of a GPU idle, if a thread takes each."""


def extent_of(chain: Sequence[kernel.Loop]) -> int:
    """The passes of loops inside one another; very many where that is not known."""
    found = product([add(c.hi, mul(-1, c.lo)) for c in chain])
    return found if isinstance(found, int) else 1 << 30


class Body(Totals):
    """The lines of one kernel."""

    # --- statements -------------------------------------------------------------------------------

    def statement(self, depth: int, s: kernel.Statement) -> None:
        if self.team is ThreadTeam.THREAD:
            self.alone(depth, s)
            return
        match s:
            case kernel.Loop():
                self.loop(depth, s)
            case kernel.While(condition, body):
                read, written = touched([s], self.owners)
                if self.memory.meets(read, written):
                    self.wait(depth)
                self.line(depth, f"while {self.expression(condition)}:")
                self.iteration(
                    depth + 1,
                    body,
                    read,
                    written,
                    touched([kernel.Check(condition, 0, condition)], self.owners)[0],
                )
            case kernel.If(condition, then, otherwise):
                # Branches wait inside, since all members take the same one; who reads the condition
                # must have done so before it changes.
                self.before(
                    depth, touched([kernel.Check(condition, 0, condition)], self.owners)[0], set()
                )
                self.line(depth, f"if {self.expression(condition)}:")
                entry = TeamMemory(set(self.memory.read), set(self.memory.written))
                self.body(depth + 1, then)
                after, self.memory = self.memory, entry
                if otherwise:
                    self.line(depth, "else:")
                    self.body(depth + 1, otherwise)
                self.memory.note(after.read, after.written)
            case kernel.Store():
                self.before(depth, *touched([s], self.owners))
                self.line(depth, f"if {self.rank()} == 0:")
                self.alone(depth + 1, s)
            case _:
                self.before(depth, *touched([s], self.owners))
                self.alone(depth, s)

    def alone(self, depth: int, s: kernel.Statement) -> None:
        """A statement as one thread executes it."""
        match s:
            case kernel.Store(buffer, at, value, "add") if buffer in self.atomics:
                self.used["cuda"].add("add_atomically")
                where = self.position(at) if len(at) == 1 else f"({self.position(at)})"
                self.line(depth, f"add_atomically({buffer}, {where}, {self.expression(value)})")
            case kernel.Check(condition, code, value):
                self.used["cuda"].add("record")
                self.line(depth, f"if not ({self.expression(condition)}):")
                self.line(depth + 1, f"record(status, {code}, {self.expression(value)})")
            case _:
                super().statement(depth, s)

    # --- loops ------------------------------------------------------------------------------------

    def loop(self, depth: int, s: kernel.Loop) -> None:
        how = parallel(s, self.owners, self.deterministic)
        if how is not None and self.thin(s, how):
            s = replace(s, body=self.in_registers(s.body, how))
            self.in_order(depth, s)
            return
        if how is None:
            turned = interchanged(s, self.owners, self.fresh())
            if turned is not None:
                s, how = turned, Parallel()
        read, written = touched([s], self.owners)
        if how is not None:
            self.before(depth, read, written)
            self.deal(depth, s, how)
            return
        totals = running(s, self.owners, self.deterministic)
        if totals is not None:
            self.before(depth, read, written)
            self.deal_running(depth, s, totals)
            # Its blocks have waited in between, and touched all this after that.
            self.memory.note(read, written)
            return
        self.in_order(depth, s)

    def in_order(self, depth: int, s: kernel.Loop) -> None:
        """A loop that the whole team runs. What its body meets of earlier statements it meets
        before its first iteration."""
        read, written = touched([s], self.owners)
        if self.memory.meets(read, written):
            self.wait(depth)
        self.line(depth, f"for {s.index} in range({integer(s.lo)}, {integer(s.hi)}):")
        self.iteration(depth + 1, s.body, read, written)

    def shared_loop(self, depth: int, s: kernel.Loop) -> None:
        """A loop of which the schedule promises that its iterations are independent."""
        self.memory.note(*touched([s], self.owners))
        self.deal(depth, s, parallel(s, self.owners, self.deterministic) or Parallel())

    def iteration(
        self,
        depth: int,
        body: Sequence[kernel.Statement],
        read: set[str],
        written: set[str],
        first: Iterable[str] = (),
    ) -> None:
        """The body of a loop that the whole team runs in order; its end meets its beginning, where
        `first` is read. What members may still be doing of earlier statements meets nothing in it,
        and they may go on with that: there may be no iteration in which they wait."""
        earlier, self.memory = self.memory, TeamMemory(set(first))
        self.body(depth, body)
        if written:
            self.wait(depth)
        else:
            self.memory.note(read, written)
        self.memory.note(earlier.read, earlier.written)

    def deal(self, depth: int, s: kernel.Loop, how: Parallel) -> None:
        """A shared loop: its iterations, and those of loops that are alone in it, go to the
        members."""
        chain = self.collapsed(s, how)
        body = self.in_registers(chain[-1].body, how)
        chain[-1] = replace(chain[-1], body=body)
        s = chain[0] if len(chain) == 1 else s
        outer_team, outer_atomics = self.team, self.atomics
        by_block = (
            self.team is ThreadTeam.GRID
            and not how.accumulators
            and not how.atomics
            and self.suits_block(chain, body)
        )
        self.atomics = self.atomics | how.atomics
        if by_block:
            rank, size, inner = self.names["block"], self.names["blocks"], ThreadTeam.BLOCK
        else:
            rank, size, inner = self.rank(), self.size(), ThreadTeam.THREAD
        self.measure(chain, by_block)
        for a in how.accumulators:
            self.line(depth, f"{self.partial(a)} = {literal(start(a), a.dtype)}")
        inside = self.own(body, how.accumulators)
        moved = (
            vectors(s, self.buffers, self.owners, how.atomics)
            if len(chain) == 1 and not by_block
            else None
        )
        if moved is None and len(chain) == 1:
            self.line(
                depth, f"for {s.index} in range({plus(s.lo, rank)}, {integer(s.hi)}, {size}):"
            )
        elif moved is None:
            self.flattened(depth, chain, rank, size)
        memory, self.memory, self.team = self.memory, TeamMemory(), inner
        if moved is not None:
            write_vectors(self, depth, s, moved, rank, size, inside)
        else:
            self.body(depth + 1, inside)
        if by_block:
            self.line(depth + 1, "cuda.syncthreads()")
        self.memory, self.team, self.atomics = memory, outer_team, outer_atomics
        for a in how.accumulators:
            self.total(depth, a)

    def collapsed(self, s: kernel.Loop, how: Parallel) -> list[kernel.Loop]:
        """The loop and those alone in it that are shared the same way and whose ranges are
        boxes."""
        chain = [s]
        if not box(s):
            return chain
        for inner in nest(s)[1:]:
            outer = {c.index for c in chain}
            same = parallel(inner, self.owners, self.deterministic)
            if same is None or not box(inner) or (symbols(inner.lo) | symbols(inner.hi)) & outer:
                break
            if {a.name for a in same.accumulators} != {
                a.name for a in how.accumulators
            } or not same.atomics <= how.atomics:
                break
            chain.append(inner)
        return chain

    def flattened(self, depth: int, chain: Sequence[kernel.Loop], rank: str, size: str) -> None:
        flat = self.fresh()
        extents = [add(c.hi, mul(-1, c.lo)) for c in chain]
        self.line(depth, f"for {flat} in range({rank}, {integer(product(extents))}, {size}):")
        rest = flat
        for k in reversed(range(len(chain))):
            place = f"{rest} % {atom(extents[k])}" if k else rest
            lo = chain[k].lo
            self.line(
                depth + 1, f"{chain[k].index} = {place}" + ("" if lo == 0 else f" + {integer(lo)}")
            )
            if k:
                following = self.fresh() if k > 1 else flat
                self.line(depth + 1, f"{following} = {rest} // {atom(extents[k])}")
                rest = following

    def in_registers(
        self, body: Sequence[kernel.Statement], how: Parallel
    ) -> tuple[kernel.Statement, ...]:
        shared = self.atomics | how.atomics
        return in_registers(body, self.buffers, self.owners, self.fresh, shared)

    def thin(self, s: kernel.Loop, how: Parallel) -> bool:
        """Whether a loop has too few iterations for the team, and loops inside it have plenty: then
        the team goes through it in order."""
        if how.accumulators or how.atomics or self.team is ThreadTeam.THREAD:
            return False
        few, plenty = (
            (FEW_OF_BLOCK, WARP) if self.team is ThreadTeam.BLOCK else (FEW_OF_GRID, 1 << 16)
        )
        return extent_of(self.collapsed(s, how)) <= few and any(
            trips(x) >= plenty and parallel(x, self.owners, self.deterministic)
            for x in statements(self.in_registers(s.body, how))
            if isinstance(x, kernel.Loop) and box(x)
        )

    def suits_block(self, chain: Sequence[kernel.Loop], body: Sequence[kernel.Statement]) -> bool:
        """Whether a block should share one iteration: where long loops inside it can be shared and
        follow memory at least as well."""
        inside = [x for x in statements(body) if isinstance(x, kernel.Loop)]
        shared = {
            id(x)
            for x in inside
            if (
                parallel(x, self.owners, self.deterministic)
                or running(x, self.owners, self.deterministic)
            )
        }
        long = [x for x in inside if trips(x) >= WARP and id(x) in shared]
        if not long or all(isinstance(x, kernel.Loop) and id(x) not in shared for x in body):
            return False
        own = {c.index for c in chain}
        along_own = along_inner = 0
        for x in long:
            for place in last_places([x]):
                along_inner += x.index in place
                along_own += bool(own & place) and x.index not in place
        few = extent_of(chain) < FEW_THREADS and max(map(trips, long)) >= MOST_THREADS
        return few or along_inner >= along_own


def box(s: kernel.Loop) -> bool:
    """Whether a loop has as many iterations as its bounds differ: it is not the intersection of
    ranges, which may be empty."""
    bounds = [v for v in (s.lo, s.hi) if isinstance(v, Integer)]
    return not any(
        isinstance(a, Binary) and a.op in ("min", "max")
        for v in bounds
        for m, _ in v.terms
        for a in m
    ) and (s.lo == 0 or (isinstance(s.lo, int) and isinstance(s.hi, int) and s.lo <= s.hi))


def last_places(body: Iterable[kernel.Statement]) -> list[set[str]]:
    """The names on which the last axis of each access depends."""
    return [traversal.names_in(a.index[-1]) for a in accesses(body) if a.index]


__all__ = ["Body"]
