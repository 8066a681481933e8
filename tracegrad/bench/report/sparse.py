"""What is told of `bench --sparse`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .files import Section
from .tables import Rows, met, milliseconds, seconds

BY_HAND, OWN = "by hand", "tracegrad"
AIM = 3.0
"""How many times a loop by hand values may take."""
SETUP = 3.0
"""How many seconds the pattern and compiling may take."""


class SparseRow(NamedTuple):
    """Values of one derivative by one contestant, in seconds."""

    problem: str
    size: int
    entries: int
    who: str
    setup: float
    values: float


class SolvedRow(NamedTuple):
    """What one contestant took to solve a problem, in seconds of processor time."""

    problem: str
    size: int
    who: str
    setup: float
    solved: float
    result: float
    """A number that all contestants have to find."""
    values: float | None = None
    """How much of it went into functions and derivatives, where that is known."""


class ColourRow(NamedTuple):
    """How many colours one pattern takes."""

    pattern: str
    size: int
    who: str
    colours: tuple[int | None, ...]
    """Of columns, of both, star, acyclic."""


AGREE = 1e-3
"""Relative difference of results that solve the same problem."""


@dataclass
class SparseTimes(Section):
    """What a run measured. `head` says with which version, machine and settings."""

    head: dict[str, Any]
    rows: Sequence[SparseRow]
    solved: Sequence[SolvedRow] = ()
    colours: Sequence[ColourRow] = ()
    remarks: list[str] = field(default_factory=list)
    name: str = "sparse"

    @property
    def wrong(self) -> bool:
        """Whether contestants found different solutions; values are compared where they are
        timed."""
        first: dict[tuple[str, int], float] = {}
        return any(
            abs(r.result - first.setdefault((r.problem, r.size), r.result)) > AGREE * abs(r.result)
            for r in self.solved
        )

    def by_hand(self, row: SparseRow) -> float:
        """The seconds of the loop by hand for the same values."""
        found = [r for r in self.rows if r.who == BY_HAND and r[:2] == row[:2]]
        return found[0].values

    def tables(self) -> list[tuple[str, Rows]]:
        """Titles, headings and rows."""
        headings = ["problem", "n", "entries", "who", "set-up", "values", "times by hand"]
        rows = [
            [r.problem, f"{r.size:,}", f"{r.entries:,}", r.who]
            + [seconds(r.setup) if r.who != BY_HAND else ""]
            + [milliseconds(r.values), f"{r.values / self.by_hand(r):.2f}"]
            for r in self.rows
        ]
        own = [r for r in self.rows if r.who == OWN]
        worst = max((r.values / self.by_hand(r) for r in own), default=0.0)
        slowest = max((r.setup for r in own), default=0.0)
        aims = [
            ["values over a loop by hand, at worst", f"{AIM}", f"{worst:.2f}", met(worst <= AIM)],
            ["set-up, s, at worst", f"{SETUP}", f"{slowest:.2f}", met(slowest <= SETUP)],
        ]
        solved_headings = ["problem", "n", "who", "set-up", "solved", "functions", "result"]
        solved = [
            [r.problem, f"{r.size:,}", r.who, seconds(r.setup), seconds(r.solved)]
            + ["" if r.values is None else seconds(r.values), f"{r.result:.6g}"]
            for r in self.solved
        ]
        colour_headings = ["pattern", "n", "who", "columns", "both", "star", "acyclic"]
        colours = [
            [r.pattern, f"{r.size:,}", r.who, *["" if c is None else f"{c:,}" for c in r.colours]]
            for r in self.colours
        ]
        return [
            ("Sparse derivatives, set-up in s, values in ms", (headings, rows)),
            *([("Solved with them, in s", (solved_headings, solved))] if solved else []),
            *([("Colours", (colour_headings, colours))] if colours else []),
            ("Aims of sparse derivatives", (["aim", "wanted", "measured", "met"], aims)),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Everything, times in seconds."""
        return {
            **self.head,
            "sparse": [r._asdict() for r in self.rows],
            "solved": [r._asdict() for r in self.solved],
            "colours": [r._asdict() for r in self.colours],
        }


__all__ = ["BY_HAND", "OWN", "ColourRow", "SolvedRow", "SparseRow", "SparseTimes"]
