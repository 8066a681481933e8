"""Who executes the lines of a kernel: a thread, a block or the grid, what each has touched since
its members last waited for each other, and how they wait."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .. import kernel
from ..integers import Int, add, maximum, mul, product
from ..owners import Owners
from ..printer import Printer, integer

MOST_THREADS = 256
"""Threads of a block, and the elements of the shared arrays that reductions use."""
WARP = 32
PARTS = 1024
"""The most blocks of a grid whose members wait for each other."""


class ThreadTeam(enum.Enum):
    THREAD = "thread"
    BLOCK = "block"
    GRID = "grid"


@dataclass
class TeamMemory:
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


class Members(Printer):
    """The lines of one kernel, as far as they are about who executes them."""

    word = "index({})"
    defers = False

    def __init__(
        self,
        program: kernel.Program,
        names: Mapping[str, str],
        owners: Owners,
        team: ThreadTeam,
        deterministic: bool,
    ) -> None:
        super().__init__(program)
        self.names = names
        self.buffers = {b.name: b for b in program.buffers}
        self.owners = owners
        self.team = team
        self.deterministic = deterministic
        self.memory = TeamMemory()
        self.atomics: frozenset[str] = frozenset()
        self.shared: dict[str, str] = {}
        """Shared arrays by dtype."""
        self.used["cuda"] = set()
        self.waits = False
        self.count = 0
        self.of_threads: Int = 0
        """The longest loop that the threads of all blocks share."""
        self.of_blocks: Int = 0
        """The longest loop each of whose iterations a block takes."""
        self.widest = 1
        """The longest loop that a block shares."""

    def fresh(self, word: str = "flat") -> str:
        self.count += 1
        return f"{self.names[word]}{self.count}"

    def rank(self) -> str:
        return self.names["member"] if self.team is ThreadTeam.GRID else self.names["thread"]

    def size(self) -> str:
        return self.names["members"] if self.team is ThreadTeam.GRID else self.names["threads"]

    # --- waiting ----------------------------------------------------------------------------------

    def before(self, depth: int, read: set[str], written: set[str]) -> None:
        """Wait where what comes next meets what members may still be doing; then it counts as done
        by them."""
        if self.memory.meets(read, written):
            self.wait(depth)
        self.memory.note(read, written)

    def wait(self, depth: int) -> None:
        if self.team is ThreadTeam.GRID:
            self.used["cuda"].add("wait_for_grid")
            self.waits = True
            round_ = self.names["round"]
            self.line(depth, f"{round_} += {self.names['blocks']}")
            self.line(depth, f"wait_for_grid(arrivals, {round_})")
        else:
            self.line(depth, "cuda.syncthreads()")
        self.memory.clear()

    def measure(self, chain: Sequence[kernel.Loop], by_block: bool) -> None:
        """What the launch must know of a loop that is dealt out."""
        extent = product([add(c.hi, mul(-1, c.lo)) for c in chain])
        if self.team is ThreadTeam.BLOCK or not by_block:
            self.widest = max(self.widest, extent if isinstance(extent, int) else MOST_THREADS)
        if self.team is ThreadTeam.GRID and by_block:
            self.of_blocks = maximum(self.of_blocks, extent)
        elif self.team is ThreadTeam.GRID:
            self.of_threads = maximum(self.of_threads, extent)

    @property
    def per_block(self) -> bool:
        """Whether blocks are all that is dealt out to, so that there is work for so many."""
        return self.of_threads == 0 and self.of_blocks != 0

    @property
    def work(self) -> Int:
        """How many blocks find something to do, or, where threads do, how many of those."""
        if self.per_block:
            return self.of_blocks
        return maximum(1, maximum(self.of_threads, mul(self.of_blocks, MOST_THREADS)))


def atom(value: Int) -> str:
    """A bound as text that may be subtracted, multiplied and divided."""
    text = integer(value)
    return text if isinstance(value, int) or text.isidentifier() else f"({text})"


def plus(lo: Int, rank: str) -> str:
    return rank if lo == 0 else f"{integer(lo)} + {rank}"


__all__ = ["MOST_THREADS", "PARTS", "WARP", "Members", "TeamMemory", "ThreadTeam", "atom", "plus"]
