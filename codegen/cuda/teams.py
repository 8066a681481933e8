"""Statements divided among threads, as the source of a CUDA kernel.

A *team* is a thread, a block, or the whole grid. What stands outside of loops is executed by every
member of the team with the same values, and stored by one of them; the iterations of a loop that
may be shared (`dependence.parallel`) are dealt out to the members, in each of which the body is the
work of a smaller team; a loop that may not runs in order, its body again shared. Before memory is
touched that other members touched differently, the team waits for all its members.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import kernel, traversal
from ..integers import Binary, Int, Integer, add, mul, product, symbols
from ..owners import Owners
from ..printer import Printer, dtype_name, integer, literal
from .accumulators import in_registers
from .dependence import (
    Accumulator,
    Parallel,
    Running,
    accesses,
    interchanged,
    names_in,
    nest,
    parallel,
    running,
    statements,
    touched,
    trips,
)
from .vectors import vectors
from .vectors import write as write_vectors

MOST_THREADS = 256
"""Threads of a block, and the elements of the shared arrays that reductions use."""
WARP = 32
FEW_OF_BLOCK, FEW_OF_GRID = 16, 4
"""Iterations that a team rather goes through in order, if there are long loops inside."""
FEW_THREADS = 1 << 13
"""Fewer iterations than this leave most of a GPU idle, if a thread takes each."""
PARTS = 1024
"""The most blocks of a grid whose members wait for each other."""


class Team(enum.Enum):
    THREAD = "thread"
    BLOCK = "block"
    GRID = "grid"


@dataclass
class Memory:
    """What a team's members have read and written since they last waited for each other."""

    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)

    def meets(self, read: set[str], written: set[str]) -> bool:
        return bool(written & (self.read | self.written) or read & self.written)

    def note(self, read: set[str], written: set[str]) -> None:
        self.read |= read
        self.written |= written

    def clear(self) -> None:
        self.read.clear()
        self.written.clear()


def extent_of(chain: Sequence[kernel.Loop]) -> int:
    """The passes of loops inside one another; very many where that is not known."""
    found = product([add(c.hi, mul(-1, c.lo)) for c in chain])
    return found if isinstance(found, int) else 1 << 30


class Body(Printer):
    """The lines of one kernel."""

    defers = False

    def __init__(
        self,
        program: kernel.Program,
        names: Mapping[str, str],
        owners: Owners,
        team: Team,
        deterministic: bool,
    ) -> None:
        super().__init__(program)
        self.names = names
        self.buffers = {b.name: b for b in program.buffers}
        self.owners = owners
        self.team = team
        self.deterministic = deterministic
        self.memory = Memory()
        self.atomics: frozenset[str] = frozenset()
        self.shared: dict[str, str] = {}
        """Shared arrays by dtype."""
        self.used["cuda"] = set()
        self.waits = False
        self.count = 0
        self.work: Int = 1
        self.widest = 1
        """The longest loop that a block shares."""
        self.per_block = False
        self.outermost: bool = True

    # --- statements -------------------------------------------------------------------------------

    def statement(self, depth: int, s: kernel.Statement) -> None:
        if self.team is Team.THREAD:
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
                entry = Memory(set(self.memory.read), set(self.memory.written))
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

    def rank(self) -> str:
        return self.names["member"] if self.team is Team.GRID else self.names["thread"]

    def size(self) -> str:
        return self.names["members"] if self.team is Team.GRID else self.names["threads"]

    # --- waiting ----------------------------------------------------------------------------------

    def before(self, depth: int, read: set[str], written: set[str]) -> None:
        """Wait where what comes next meets what members may still be doing; then it counts as done
        by them."""
        if self.memory.meets(read, written):
            self.wait(depth)
        self.memory.note(read, written)

    def wait(self, depth: int) -> None:
        if self.team is Team.GRID:
            self.used["cuda"].add("wait_for_grid")
            self.waits = True
            round_ = self.names["round"]
            self.line(depth, f"{round_} += {self.names['blocks']}")
            self.line(depth, f"wait_for_grid(arrivals, {round_})")
        else:
            self.line(depth, "cuda.syncthreads()")
        self.memory.clear()

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
        earlier, self.memory = self.memory, Memory(set(first))
        self.outermost = False
        self.body(depth, body)
        if written:
            self.wait(depth)
        else:
            self.memory.note(read, written)
        self.memory.note(earlier.read, earlier.written)

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

    def fresh(self, word: str = "flat") -> str:
        self.count += 1
        return f"{self.names[word]}{self.count}"

    def deal(self, depth: int, s: kernel.Loop, how: Parallel) -> None:
        """A shared loop: its iterations, and those of loops that are alone in it, go to the
        members."""
        chain = self.collapsed(s, how)
        body = self.in_registers(chain[-1].body, how)
        chain[-1] = replace(chain[-1], body=body)
        s = chain[0] if len(chain) == 1 else s
        outer_team, outer_atomics = self.team, self.atomics
        by_block = (
            self.team is Team.GRID
            and not how.accumulators
            and not how.atomics
            and self.suits_block(chain, body)
        )
        self.atomics = self.atomics | how.atomics
        if by_block:
            rank, size, inner = self.names["block"], self.names["blocks"], Team.BLOCK
        else:
            rank, size, inner = self.rank(), self.size(), Team.THREAD
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
        memory, self.memory, self.team = self.memory, Memory(), inner
        outermost, self.outermost = self.outermost, False
        if moved is not None:
            write_vectors(self, depth, s, moved, rank, size, inside)
        else:
            self.body(depth + 1, inside)
        if by_block:
            self.line(depth + 1, "cuda.syncthreads()")
        self.memory, self.team, self.atomics, self.outermost = (
            memory,
            outer_team,
            outer_atomics,
            outermost,
        )
        for a in how.accumulators:
            self.total(depth, a)

    def measure(self, chain: Sequence[kernel.Loop], by_block: bool) -> None:
        """What the launch must know of a loop that is dealt out."""
        extent = product([add(c.hi, mul(-1, c.lo)) for c in chain])
        if self.team is Team.BLOCK or not by_block:
            self.widest = max(self.widest, extent if isinstance(extent, int) else MOST_THREADS)
        if self.team is Team.GRID:
            self.per_block = by_block
            self.work = extent if self.outermost else larger(self.work, extent)

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
        if how.accumulators or how.atomics or self.team is Team.THREAD:
            return False
        few, plenty = (FEW_OF_BLOCK, WARP) if self.team is Team.BLOCK else (FEW_OF_GRID, 1 << 16)
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

    # --- reductions -------------------------------------------------------------------------------

    def partial(self, a: Accumulator) -> str:
        return f"{self.names['own']}_{a.name}"

    def own(
        self, body: Sequence[kernel.Statement], accumulators: Sequence[Accumulator]
    ) -> Sequence[kernel.Statement]:
        """Statements that combine into this thread's own accumulators."""
        for a in accumulators:
            body = traversal.renamed(body, a.name, self.partial(a))
        return body

    def total(self, depth: int, a: Accumulator) -> None:
        """What all members have found, combined into the accumulator of each."""
        own, shared = self.partial(a), self.shared_array(a)
        function = f"total_{a.combine}"
        self.used["cuda"].add(function)
        self.line(depth, f"{own} = {function}({own}, {shared})")
        if self.team is Team.GRID:
            self.gathered(depth, a, own, self.published(depth, a), self.names["blocks"])
        super().statement(depth, kernel.Update(a.name, kernel.Name(own, a.dtype), a.combine))

    def published(self, depth: int, a: Accumulator) -> str:
        """The name of an array with what the threads of each block have found together, as all
        blocks see it."""
        own = self.partial(a)
        if self.memory.meets(set(), {"parts"}):
            self.wait(depth)
        name = self.fresh("found")
        self.line(
            depth, f"{name} = view(parts, index(0), (index({PARTS}),), np.{dtype_name(a.dtype)})"
        )
        self.line(depth, f"if {self.names['thread']} == 0:")
        self.line(depth + 1, f"{name}[{self.names['block']}] = {own}")
        self.memory.note(set(), {"parts"})
        self.wait(depth)
        return name

    def gathered(self, depth: int, a: Accumulator, own: str, parts: str, blocks: str) -> None:
        """Set `own` to what the first blocks have found."""
        self.line(depth, f"{own} = {literal(start(a), a.dtype)}")
        k = self.fresh()
        self.line(
            depth, f"for {k} in range({self.names['thread']}, {blocks}, {self.names['threads']}):"
        )
        update = kernel.Update(
            own, kernel.Load(parts, (kernel.Name(k, kernel.INT64),), a.dtype), a.combine
        )
        super().statement(depth + 1, update)
        self.line(depth, f"{own} = total_{a.combine}({own}, {self.shared_array(a)})")
        self.memory.note({"parts"}, set())

    # --- running totals ---------------------------------------------------------------------------

    def deal_running(self, depth: int, s: kernel.Loop, how: Running) -> None:
        """A loop whose iterations read what has been accumulated so far.

        A block goes through its range a tile of one iteration per thread at a time: what the
        threads contribute is combined by doubling distances (Hillis and Steele 1986), and the body
        runs on top of that. Blocks of a grid have first found what their ranges contribute in
        total, and start from what is before them.
        """
        self.measure([s], False)
        first, last = integer(s.lo), integer(s.hi)
        carries = {a.name: a.name for a in how.accumulators}
        if self.team is Team.GRID:
            each, first, last, carries = self.ranges(depth, s, how)
        tile, i = self.fresh("tile"), s.index
        self.line(depth, f"for {tile} in range({first}, {last}, {self.names['threads']}):")
        self.line(depth + 1, f"{i} = {tile} + {self.names['thread']}")
        self.contributions(depth + 1, how, f"if {i} < {last}:")
        before = {a.name: self.fresh("before") for a in how.accumulators}
        for a in how.accumulators:
            function = f"running_{a.combine}"
            self.used["cuda"].add(function)
            carry = carries[a.name]
            self.line(
                depth + 1,
                f"{before[a.name]}, {carry} = {function}({self.partial(a)}, {carry}, {self.shared_array(a)})",
            )
        self.line(depth + 1, f"if {i} < {last}:")
        body: Sequence[kernel.Statement] = s.body
        for old, new in before.items():
            body = traversal.renamed(body, old, new)
        self.by_thread(depth + 2, body)
        if self.team is Team.GRID:
            for a in how.accumulators:
                super().statement(
                    depth, kernel.Update(a.name, kernel.Name(each[a.name], a.dtype), a.combine)
                )

    def contributions(self, depth: int, how: Running, line: str) -> None:
        """This thread's own accumulators after what `line` heads."""
        for a in how.accumulators:
            self.line(depth, f"{self.partial(a)} = {literal(start(a), a.dtype)}")
        self.line(depth, line)
        self.by_thread(depth + 1, self.own(how.contribution, how.accumulators))

    def by_thread(self, depth: int, body: Sequence[kernel.Statement]) -> None:
        memory, team, outermost = self.memory, self.team, self.outermost
        self.memory, self.team, self.outermost = Memory(), Team.THREAD, False
        self.body(depth, body)
        self.memory, self.team, self.outermost = memory, team, outermost

    def ranges(
        self, depth: int, s: kernel.Loop, how: Running
    ) -> tuple[dict[str, str], str, str, dict[str, str]]:
        """The range of each block, and the accumulators at its start. (What all blocks contribute;
        the bounds; the accumulators.)"""
        block, blocks, size = self.names["block"], self.names["blocks"], self.fresh("size")
        first, last = self.fresh("first"), self.fresh("last")
        self.line(
            depth, f"{size} = ({integer(add(s.hi, mul(-1, s.lo)))} + {blocks} - 1) // {blocks}"
        )
        self.line(depth, f"{first} = {plus(s.lo, f'{block} * {size}')}")
        self.line(depth, f"{last} = min({first} + {size}, {integer(s.hi)})")
        self.contributions(
            depth,
            how,
            f"for {s.index} in range({first} + {self.names['thread']}, {last}, {self.names['threads']}):",
        )
        each, carries = {}, {}
        for a in how.accumulators:
            self.used["cuda"].add(f"total_{a.combine}")
            own = self.partial(a)
            self.line(depth, f"{own} = total_{a.combine}({own}, {self.shared_array(a)})")
            parts = self.published(depth, a)
            each[a.name], carries[a.name] = self.fresh("all"), self.fresh("before")
            self.gathered(depth, a, each[a.name], parts, blocks)
            self.gathered(depth, a, own, parts, block)
            self.line(depth, f"{carries[a.name]} = {a.name}")
            super().statement(
                depth, kernel.Update(carries[a.name], kernel.Name(own, a.dtype), a.combine)
            )
        return each, first, last, carries

    def shared_array(self, a: Accumulator) -> str:
        return self.shared.setdefault(a.dtype.name, f"{self.names['shared']}_{a.dtype.name}")


def start(a: Accumulator) -> Any:
    """What changes nothing when it is combined."""
    if a.combine in ("add", "mul"):
        return 0 if a.combine == "add" else 1
    if a.combine in ("and", "or"):
        return a.combine == "and" if a.dtype.kind == "b" else -1 if a.combine == "and" else 0
    if a.dtype.kind == "b":
        return a.combine == "min"
    if a.dtype.kind == "f":
        return -np.inf if a.combine == "max" else np.inf
    info = np.iinfo(a.dtype)
    return info.min if a.combine == "max" else info.max


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


def larger(a: Int, b: Int) -> Int:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return a if not isinstance(a, int) else b


def last_places(body: Iterable[kernel.Statement]) -> list[set[str]]:
    """The names on which the last axis of each access depends."""
    return [names_in(a.index[-1]) for a in accesses(body) if a.index]


def atom(value: Int) -> str:
    text = integer(value)
    return text if isinstance(value, int) else f"({text})"


def plus(lo: Int, rank: str) -> str:
    return rank if lo == 0 else f"{integer(lo)} + {rank}"


__all__ = ["MOST_THREADS", "PARTS", "Body", "Team"]
