"""What single eager operations cost, beside torch's: `bench --operations`."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .processes import Process
from .report.files import Costs
from .report.tables import Rows, significant
from .run import HERE, STANDALONE, Settings, surroundings
from .small import CHAINS, ITEMS, OPERATIONS, RECORDING, SIZES, Item

ROUNDS = 4
"""The libraries take turns this often, so that what disturbs the machine disturbs both."""


def started(library: str, python: str) -> Process:
    """A library in a process of its own, on the first core. A line is the number of an item and how
    many samples to take."""
    command = [python, "-c", STANDALONE, str(HERE), "small", library]
    return Process(library, command, surroundings(Settings()))


@dataclass
class Cost:
    """Seconds of one call, medians; of torch None where it did not run. `check` is "ok", or says
    that the results differ."""

    name: str
    size: int
    kind: str
    tracegrad: float
    torch: float | None = None
    check: str = "ok"

    @property
    def ratio(self) -> float | None:
        """tracegrad's time over torch's."""
        return None if self.torch is None else self.tracegrad / self.torch


@dataclass
class OperationTimes(Costs):
    """What a run measured. `head` says with which version, machine and settings."""

    head: dict[str, Any]
    costs: Sequence[Cost]
    remarks: list[str] = field(default_factory=list)
    name: str = "operations"

    def mean(self, kind: str | None = None) -> float | None:
        """The geometric mean of the ratios (of one kind)."""
        ratios = [c.ratio for c in self.costs if c.ratio is not None and kind in (None, c.kind)]
        return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None

    def tables(self) -> list[tuple[str, Rows]]:
        """Titles, headings and rows, in microseconds."""
        found = {(c.name, c.size, c.kind): c for c in self.costs}
        torch = any(c.torch is not None for c in self.costs)
        columns = ["torch", "tracegrad", "ratio"] if torch else ["tracegrad"]

        def cells(cost: Cost) -> list[str]:
            mine, theirs = significant(cost.tracegrad * 1e6), cost.torch
            return (
                [mine]
                if theirs is None
                else [significant(theirs * 1e6), mine, f"{cost.tracegrad / theirs:.2f}"]
            )

        single = [
            [
                name,
                f"{size:,}",
                *[cell for kind in RECORDING for cell in cells(found[name, size, kind])],
            ]
            for size in SIZES
            for name in OPERATIONS
        ]
        short = [
            [name, f"{size:,}", *cells(found[name, size, "chain"])]
            for size in SIZES
            for name in CHAINS
        ]
        headings = [f"{kind}, {column}" for kind in RECORDING for column in columns]
        tables = [
            ("One operation, us", (["operation", "n", *headings], single)),
            ("Short chains, us", (["chain", "n", *columns], short)),
        ]
        if torch:
            kinds = [(kind, self.mean(kind)) for kind in (*RECORDING, "chain", None)]
            rows = [
                [kind or "all", str(sum(kind in (None, c.kind) for c in self.costs)), f"{mean:.2f}"]
                for kind, mean in kinds
                if mean
            ]
            tables.append(
                ("Geometric means of tracegrad / torch", (["what", "count", "ratio"], rows))
            )
        return tables

    def as_dict(self) -> dict[str, Any]:
        """Everything, times in seconds."""
        return {**super().as_dict(), "geometric_mean": self.mean()}


def measure(
    head: dict[str, Any], peer_python: str | None, repeat: int, progress: Callable[[Item], None]
) -> OperationTimes:
    """Time every item, `repeat` samples of each; torch too where an interpreter is given that has
    it."""
    ours = started("tracegrad", sys.executable)
    theirs = None if peer_python is None else started("torch", peer_python)
    remarks = (
        [f"torch is left out: {theirs.missing}."] if theirs is not None and theirs.missing else []
    )
    running = [p for p in (ours, theirs) if p is not None and not p.missing]
    rounds = min(ROUNDS, repeat)
    costs = []
    try:
        for number, item in enumerate(ITEMS):
            samples: dict[str, list[float]] = {p.library: [] for p in running}
            sums = {}
            for k in range(rounds):
                for p in running:
                    answer = p.ask(f"{number} {(repeat + k) // rounds}")
                    samples[p.library] += answer["seconds"]
                    sums[p.library] = answer["sum"]
            median = {library: statistics.median(times) for library, times in samples.items()}
            cost = Cost(item.name, item.size, item.kind, median["tracegrad"], median.get("torch"))
            mine, other = sums["tracegrad"], sums.get("torch", sums["tracegrad"])
            if not math.isclose(mine, other, rel_tol=1e-9, abs_tol=1e-9):
                cost.check = f"the results differ: {mine} and {other}"
                remarks.append(f"{item.name}, n = {item.size:,}, {item.kind}: {cost.check}.")
            costs.append(cost)
            progress(item)
    finally:
        for process in (ours, theirs):
            if process is not None:
                process.close()
    return OperationTimes(head, costs, remarks)
