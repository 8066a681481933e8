"""`bench --linalg`: factorisations of large matrices and their derivatives, beside torch's, which
is MKL's on x86."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from .processes import Process
from .report.files import Costs
from .report.tables import Rows, met, milliseconds
from .run import HERE, STANDALONE, Settings, surroundings

DTYPES = ("float64", "float32")
ROWS = (100, 300, 1000)
ROUNDS, TURNS = 5, 2
"""The libraries take turns at each call, so that what disturbs the machine disturbs both; and so
for all calls in several rounds, since what disturbs it may last for minutes."""
LIKELIHOODS = ("Gaussian process, value and gradient", "Gaussian process, Hessian")
SPEED, LIKELIHOOD = 0.95, 2.0
"""How many times as fast as the peer all of it is to be, and likelihoods."""


@dataclass
class DenseCost:
    """Seconds of one call, the least that were seen; of torch None where it did not run. `check` is
    "ok", or says what is wrong."""

    name: str
    size: int
    dtype: str
    tracegrad: float
    torch: float | None = None
    check: str = "ok"

    @property
    def speed(self) -> float | None:
        """torch's time over tracegrad's."""
        return None if self.torch is None else self.torch / self.tracegrad


@dataclass
class DenseTimes(Costs):
    """What a run measured. `head` says with which version, machine and settings."""

    head: dict[str, Any]
    costs: Sequence[DenseCost]
    remarks: list[str] = field(default_factory=list)
    name: str = "linalg"

    def tables(self) -> list[tuple[str, Rows]]:
        """Titles, headings and rows."""
        found = {(c.name, c.size, c.dtype): c for c in self.costs}
        names = list(dict.fromkeys(c.name for c in self.costs))
        sizes = list(dict.fromkeys(c.size for c in self.costs))
        torch = any(c.torch is not None for c in self.costs)
        made = []
        for dtype in dict.fromkeys(c.dtype for c in self.costs):
            rows = []
            for name in names:
                cells = [name]
                for size in sizes:
                    cost = found[name, size, dtype]
                    cells.append(milliseconds(cost.tracegrad))
                    if torch:
                        theirs, speed = cost.torch, cost.speed
                        cells.append("" if theirs is None else milliseconds(theirs))
                        cells.append("" if speed is None else f"{speed:.2f}")
                rows.append(cells)
            columns = ["tracegrad", "torch", "speed"] if torch else ["tracegrad"]
            headings = [f"n = {size:,}, {c}" for size in sizes for c in columns]
            made.append((f"Linear algebra, {dtype}, ms", (["call", *headings], rows)))
        if torch:
            made.append(("Aims of linear algebra", (AIMS, list(self.aims()))))
        return made

    def aims(self) -> Sequence[list[str]]:
        """The least speed of each kind, and whether it is what was wanted."""
        rows = []
        for what, wanted, of_kind in (
            ("times the speed of torch, at least", SPEED, False),
            ("likelihoods, times the speed of torch, at least", LIKELIHOOD, True),
        ):
            speeds = {
                f"{c.name}, n = {c.size:,}, {c.dtype}": c.speed
                for c in self.costs
                if c.speed is not None and (not of_kind or c.name in LIKELIHOODS)
            }
            if speeds:
                worst = min(speeds, key=lambda k: speeds[k])
                least = speeds[worst]
                rows.append([what, f"{wanted}", f"{least:.2f}", worst, met(least >= wanted)])
        return rows


AIMS = ["aim", "wanted", "measured", "where", "met"]


def started(library: str, python: str) -> Process:
    """A library in a process of its own, on the first core."""
    command = [python, "-c", STANDALONE, str(HERE), "dense_worker", library]
    return Process(library, command, surroundings(Settings()))


def problems(size: str) -> list[tuple[int, str]]:
    """Numbers of rows, and dtypes."""
    return [(n, dtype) for dtype in DTYPES for n in (ROWS[:1] if size == "small" else ROWS)]


def steps(size: str) -> int:
    """How often `measure` tells its progress."""
    return ROUNDS * len(problems(size))


def measure(
    head: dict[str, Any],
    size: str,
    peer_python: str | None,
    seconds: float,
    progress: Callable[[str], None],
) -> DenseTimes:
    """Time all calls, each for so many seconds in all; torch's too where an interpreter is given
    that has it."""
    ours = started("tracegrad", sys.executable)
    theirs = None if peer_python is None else started("torch", peer_python)
    remarks = (
        [f"torch is left out: {theirs.missing}."] if theirs is not None and theirs.missing else []
    )
    running = [p for p in (ours, theirs) if p is not None and not p.missing]
    seen: dict[tuple[int, str, str], dict[str, list[dict[str, Any]]]] = {}
    try:
        for _ in range(ROUNDS):
            for n, dtype in problems(size):
                names = [p.ask(f"{n} {dtype}")["names"] for p in running][0]
                for name, _, p in product(names, range(TURNS), running):
                    line = f"{n} {dtype} {seconds / ROUNDS / TURNS} {name}"
                    times = seen.setdefault((n, dtype, name), {p.library: [] for p in running})
                    times[p.library].append(p.ask(line))
                progress(f"{dtype}, n = {n:,}")
    finally:
        for process in (ours, theirs):
            if process is not None:
                process.close()
    costs = [compared(name, n, dtype, found) for (n, dtype, name), found in seen.items()]
    remarks += [
        f"{c.name}, n = {c.size:,}, {c.dtype}: {c.check}." for c in costs if c.check != "ok"
    ]
    return DenseTimes(head, costs, remarks)


def compared(name: str, n: int, dtype: str, seen: dict[str, list[dict[str, Any]]]) -> DenseCost:
    """The least times of one call, and whether the libraries agree."""
    mine = seen["tracegrad"]
    if "failed" in mine[0]:
        return DenseCost(name, n, dtype, math.nan, None, mine[0]["failed"])
    cost = DenseCost(name, n, dtype, min(s["seconds"] for s in mine))
    theirs = [s for s in seen.get("torch", ()) if "failed" not in s]
    if theirs:
        cost.torch = min(s["seconds"] for s in theirs)
        ours, other = mine[0]["sum"], theirs[0]["sum"]
        if not math.isclose(ours, other, rel_tol=1e-2 if dtype == "float32" else 1e-6):
            cost.check = f"the results differ: {ours} and {other}"
    return cost
