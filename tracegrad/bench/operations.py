"""What single eager operations cost, beside torch's: `bench --operations`."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import machine
from .report.files import replace_section, table
from .report.tables import Rows, significant
from .run import HERE, STANDALONE, Settings, surroundings
from .small import CHAINS, ITEMS, OPERATIONS, RECORDING, SIZES, Item
from .worker import MARK

ROUNDS = 4
"""The libraries take turns this often, so that what disturbs the machine disturbs both."""
SECTION = "operations"


class Process:
    """A library in a process of its own, on the first core."""

    def __init__(self, library: str, python: str) -> None:
        self.library = library
        arguments = [python, "-c", STANDALONE, str(HERE), "small", library]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            arguments, stdin=pipe, stdout=pipe, text=True, env=surroundings(Settings())
        )
        said = self._listen()
        self.missing: str = said.get("missing", "")

    def measure(self, number: int, samples: int) -> dict[str, Any]:
        """Times of an item."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{number} {samples}\n")
        self.process.stdin.flush()
        return self._listen()

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def _listen(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(MARK):
                found: dict[str, Any] = json.loads(line[len(MARK) :])
                return found
        raise RuntimeError(
            f"bench --operations: the process of {self.library} ended with code "
            f"{self.process.wait()}"
        )


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
class OperationTimes:
    """What a run measured. `head` says with which version, machine and settings."""

    head: dict[str, Any]
    costs: Sequence[Cost]
    remarks: list[str] = field(default_factory=list)

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

    def write_json(self, path: Path) -> None:
        """Everything, times in seconds."""
        everything = {
            **self.head,
            "operations": [asdict(c) for c in self.costs],
            "geometric_mean": self.mean(),
            "remarks": self.remarks,
        }
        path.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")

    def write_markdown(self, path: Path) -> None:
        """Write the tables, or replace the section of operations in a file that has one."""
        replace_section(path, SECTION, self.markdown())

    def markdown(self) -> str:
        """The tables, with the machine and the settings above them."""
        parts = ["\n".join(f"- {line}" for line in (*machine.lines(self.head), *self.remarks))]
        return "\n\n".join([*parts, *[table(title, rows) for title, rows in self.tables()]]) + "\n"


def measure(
    head: dict[str, Any], peer_python: str | None, repeat: int, progress: Callable[[Item], None]
) -> OperationTimes:
    """Time every item, `repeat` samples of each; torch too where an interpreter is given that has
    it."""
    ours = Process("tracegrad", sys.executable)
    theirs = None if peer_python is None else Process("torch", peer_python)
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
                    answer = p.measure(number, (repeat + k) // rounds)
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
        for started in (ours, theirs):
            if started is not None:
                started.close()
    return OperationTimes(head, costs, remarks)
