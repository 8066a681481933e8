"""What the members of a team combine: reductions, and running totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import kernel, traversal
from ..integers import add, mul
from ..printer import dtype_name, integer, literal
from .dependence import Accumulator, Running
from .team import PARTS, Members, TeamMemory, ThreadTeam, plus


class Totals(Members):
    """The lines of one kernel, as far as they combine what members have found."""

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
        if self.team is ThreadTeam.GRID:
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
        if self.team is ThreadTeam.GRID:
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
                f"{before[a.name]}, {carry} = {function}({self.partial(a)}, {carry}, "
                f"{self.shared_array(a)})",
            )
        self.line(depth + 1, f"if {i} < {last}:")
        body: Sequence[kernel.Statement] = s.body
        for old, new in before.items():
            body = traversal.renamed(body, old, new)
        self.by_thread(depth + 2, body)
        if self.team is ThreadTeam.GRID:
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
        memory, team = self.memory, self.team
        self.memory, self.team = TeamMemory(), ThreadTeam.THREAD
        self.body(depth, body)
        self.memory, self.team = memory, team

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
            f"for {s.index} in range({first} + {self.names['thread']}, {last}, "
            f"{self.names['threads']}):",
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


__all__ = ["Totals", "start"]
