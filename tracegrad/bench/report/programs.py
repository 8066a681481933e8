"""What is told of `bench --programs`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .files import Costs
from .tables import Rows, milliseconds, seconds

NUMBA, FUNCTION, BOTH = "Numba", "function", "value and gradient"
LINES = 50


@dataclass
class ProgramCost:
    """A program at a size: seconds of a call of Numba, of the function, and of value and gradient
    of its result's squared distance from ones, least processor times; and of first calls. JAX's are
    empty where it did not run. `check` is "ok", or says what is wrong."""

    name: str
    n: int
    lines: int
    seconds: dict[str, float] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    check: str = "ok"
    seconds_jax: dict[str, float] = field(default_factory=dict)
    first_jax: dict[str, float] = field(default_factory=dict)
    check_jax: str = ""

    def slowest_start(self) -> float | None:
        """The longer of our first calls."""
        return max(self.first[FUNCTION], self.first[BOTH]) if self.first else None

    def over_numba(self, what: str) -> float | None:
        """Our time over that of Numba's function."""
        return self.seconds[what] / self.seconds[NUMBA] if self.check == "ok" else None

    def ahead_of_jax(self, what: str) -> float | None:
        """JAX's time over ours."""
        if self.check != "ok" or self.check_jax != "ok":
            return None
        return self.seconds_jax[what] / self.seconds[what]


@dataclass
class FirstCalls:
    """Seconds to compile a program's function, and value and gradient, by size."""

    name: str
    seconds: dict[int, list[float]]

    @property
    def growth(self) -> float:
        """How much longer the largest size takes than the smallest, at worst."""
        sizes = sorted(self.seconds)
        smallest, largest = self.seconds[sizes[0]], self.seconds[sizes[-1]]
        return max(b / a for a, b in zip(smallest, largest, strict=True))


@dataclass
class ProgramTimes(Costs):
    """What a run measured. `head` says with which version, machine and settings."""

    head: dict[str, Any]
    costs: Sequence[ProgramCost]
    compiled: Sequence[FirstCalls]
    remarks: list[str] = field(default_factory=list)
    name: str = "programs"

    def __post_init__(self) -> None:
        for cost in self.costs:
            if cost.check != "ok":
                self.remarks.append(f"{cost.name}: {cost.check}.")
            if cost.check_jax not in ("", "ok"):
                self.remarks.append(f"JAX, {cost.name}: {cost.check_jax}.")

    @property
    def beside_jax(self) -> bool:
        """Whether JAX ran."""
        return any(cost.check_jax for cost in self.costs)

    def tables(self) -> list[tuple[str, Rows]]:
        """Titles, headings and rows."""
        found = [
            ("Programs, ms of a call", self.call_rows()),
            ("Programs, CPU seconds of the first call", self.first_rows()),
        ]
        if self.compiled:
            found.append(("Programs, CPU seconds to compile", self.compile_rows()))
        return [*found, ("Aims of programs", self.aim_rows())]

    def call_rows(self) -> Rows:
        """Times and their ratios."""
        headings = ["program", "n", "Numba", FUNCTION, BOTH]
        headings += [f"JAX, {FUNCTION}", f"JAX, {BOTH}"] if self.beside_jax else []
        headings += [f"{FUNCTION} / Numba", f"{BOTH} / Numba"]
        headings += [f"JAX / {FUNCTION}", f"JAX / {BOTH}"] if self.beside_jax else []
        rows = []
        for c in self.costs:
            right = c.seconds if c.check == "ok" else {}
            times = [right.get(what) for what in (NUMBA, FUNCTION, BOTH)]
            ratios = [c.over_numba(what) for what in (FUNCTION, BOTH)]
            if self.beside_jax:
                of_jax = c.seconds_jax if c.check_jax == "ok" else {}
                times += [of_jax.get(what) for what in (FUNCTION, BOTH)]
                ratios += [c.ahead_of_jax(what) for what in (FUNCTION, BOTH)]
            shown = [milliseconds(t) for t in times] + [ratio(r) for r in ratios]
            rows.append([c.name, f"{c.n:,}", *shown])
        return headings, rows

    def first_rows(self) -> Rows:
        """Tracing and compiling with an empty cache, and one run."""
        headings = ["program", "lines", FUNCTION, BOTH]
        headings += [f"JAX, {FUNCTION}", f"JAX, {BOTH}"] if self.beside_jax else []
        rows = []
        for c in self.costs:
            taken = [c.first.get(what) for what in (FUNCTION, BOTH)]
            if self.beside_jax:
                taken += [c.first_jax.get(what) for what in (FUNCTION, BOTH)]
            rows.append([c.name, str(c.lines), *map(seconds, taken)])
        return headings, rows

    def compile_rows(self) -> Rows:
        """A row per function and per gradient."""
        sizes = sorted(self.compiled[0].seconds)
        return ["what", *[f"n = {n:,}" for n in sizes]], [
            [f"{c.name}, {what}", *[f"{c.seconds[n][k]:.2f}" for n in sizes]]
            for c in self.compiled
            for k, what in enumerate((FUNCTION, BOTH))
        ]

    def aim_rows(self) -> Rows:
        """What is wanted of the programs, and who misses it."""
        limits: tuple[tuple[str, float, Callable[[ProgramCost], float | None]], ...] = (
            (f"{FUNCTION} / Numba", 1.3, lambda c: c.over_numba(FUNCTION)),
            (f"{BOTH} / Numba", 4.0, lambda c: c.over_numba(BOTH)),
            (
                f"first call of at most {LINES} lines, s",
                1.0,
                lambda c: c.slowest_start() if c.lines <= LINES else None,
            ),
        )
        rows = []
        for what, limit, number in limits:
            found = {c.name: x for c in self.costs if (x := number(c)) is not None}
            over = {name: x for name, x in found.items() if x > limit}
            shown = f"{len(found) - len(over)} of {len(found)}" + "".join(
                f"; {name} {ratio(x)}" for name, x in sorted(over.items(), key=lambda i: -i[1])
            )
            rows.append([f"{what}, each", f"<= {limit:g}", shown, "missed" if over else "met"])
        for what in (FUNCTION, BOTH) if self.beside_jax else ():
            mean = self.ahead_of_jax(what)
            if mean is not None:
                met = "met" if mean >= 5 else "missed"
                rows.append([f"JAX / {what}, geometric mean", ">= 5", ratio(mean), met])
        if self.compiled:
            growth = max(c.growth for c in self.compiled)
            met = "met" if growth <= 1.25 else "missed"
            rows.append(["compile time, largest / smallest n", "<= 1.25", ratio(growth), met])
        return ["aim", "wanted", "measured", "met"], rows

    def ahead_of_jax(self, what: str) -> float | None:
        """The geometric mean of JAX's times over ours."""
        ratios = [x for c in self.costs if (x := c.ahead_of_jax(what)) is not None]
        return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None

    def as_dict(self) -> dict[str, Any]:
        """Everything, times in seconds."""
        headings, rows = self.aim_rows()
        return {
            **super().as_dict(),
            "compiled": [asdict(c) for c in self.compiled],
            "targets": [dict(zip(headings, row, strict=True)) for row in rows],
        }


def ratio(value: float | None) -> str:
    """Two digits after the point; fewer where it is large."""
    if value is None:
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"
