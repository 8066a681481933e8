"""`bench --scipy`: functions of NumPy and SciPy, compiled, beside NumPy's and SciPy's own, and
their compiled gradients, with `--peers` beside JAX's.

Values are checked against NumPy's and SciPy's, gradients by a central difference of those along a
random direction and against JAX's.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .processes import Process
from .report.files import Costs
from .report.tables import Rows, met, significant
from .run import HERE, STANDALONE, Settings, surroundings
from .scipy_expressions import EXPRESSIONS, Expression

ROUNDS = 2
"""The libraries take turns this often, so that what disturbs the machine disturbs both."""
OF_DIFFERENCES, OF_JAX = 1e-4, 1e-6
"""How far slopes may be from others, relatively."""
FASTER, FOURIER, LEAST = 2.0, 1 / 1.2, 0.5
"""How many times as fast as SciPy functions are to be, and as JAX gradients, in the geometric mean;
as SciPy every Fourier transform, and every function."""


@dataclass
class NameCost:
    """The least seconds of one call that were seen: of the function, ours and SciPy's, of the
    gradient, ours and JAX's; None where there is none. `check` is "ok", or says what is wrong,
    `refused` why there is no gradient, `failed` why JAX has none."""

    name: str
    tracegrad: float | None = None
    scipy: float | None = None
    gradient: float | None = None
    jax: float | None = None
    check: str = "ok"
    refused: str = ""
    failed: str = ""

    @property
    def speed(self) -> float | None:
        """SciPy's time over ours."""
        return self.scipy / self.tracegrad if self.tracegrad and self.scipy else None

    @property
    def gradient_speed(self) -> float | None:
        """JAX's time over ours."""
        return self.jax / self.gradient if self.gradient and self.jax else None


@dataclass
class NameTimes(Costs):
    """What a run measured. `head` says with which version, machine and settings."""

    head: dict[str, Any]
    costs: Sequence[NameCost]
    remarks: list[str] = field(default_factory=list)
    name: str = "scipy"

    def tables(self) -> list[tuple[str, Rows]]:
        """Titles, headings and rows, in microseconds."""
        jax = any(c.jax is not None for c in self.costs)
        headings = ["function", "ours", "SciPy or NumPy", "speed", "gradient"]
        rows = []
        for c in self.costs:
            cells = [microseconds(c.tracegrad), microseconds(c.scipy), ratio(c.speed)]
            cells.append(microseconds(c.gradient))
            if jax:
                cells += [microseconds(c.jax), ratio(c.gradient_speed)]
            rows.append([c.name, *cells])
        if jax:
            headings += ["JAX's gradient", "speed of gradients"]
        made = [("Functions of NumPy and SciPy, us", (headings, rows))]
        if aims := list(self.aims()):
            made.append(("Aims of functions of NumPy and SciPy", (AIMS, aims)))
        return made

    def aims(self) -> Sequence[list[str]]:
        """What was wanted, and what was measured."""
        speeds = {c.name: c.speed for c in self.costs if c.speed is not None}
        gradients = {c.name: s for c in self.costs if (s := c.gradient_speed) is not None}
        fourier = {name: s for name, s in speeds.items() if name.startswith("np.fft.")}
        rows = []
        for what, wanted, of in (
            ("functions, times SciPy's speed, geometric mean", FASTER, speeds),
            ("gradients, times JAX's speed, geometric mean", FASTER, gradients),
        ):
            if of:
                mean = math.exp(statistics.fmean(map(math.log, of.values())))
                rows.append([what, f"{wanted}", f"{mean:.2f}", f"{len(of)}", met(mean >= wanted)])
        for what, wanted, of in (
            ("Fourier transforms, times SciPy's speed, at least", FOURIER, fourier),
            ("functions, times SciPy's speed, at least", LEAST, speeds),
        ):
            if of:
                worst = min(of, key=lambda name: of[name])
                least = of[worst]
                rows.append([what, f"{wanted:.2g}", f"{least:.2f}", worst, met(least >= wanted)])
        return rows


AIMS = ["aim", "wanted", "measured", "where, or how many", "met"]


def microseconds(seconds: float | None) -> str:
    """In a table."""
    return "" if seconds is None else significant(seconds * 1e6)


def ratio(value: float | None) -> str:
    """In a table."""
    return "" if value is None else f"{value:.2f}"


def started(library: str, python: str) -> Process:
    """A library in a process of its own, on the first core."""
    command = [python, "-c", STANDALONE, str(HERE), "scipy_worker", library]
    return Process(library, command, surroundings(Settings()))


def measure(
    head: dict[str, Any],
    size: str,
    peer_python: str | None,
    seconds: float,
    progress: Callable[[str], None],
    expressions: Sequence[Expression] = EXPRESSIONS,
) -> NameTimes:
    """Time all functions, each for so many seconds a round; JAX's gradients too where an
    interpreter is given that has it."""
    ours = started("tracegrad", sys.executable)
    theirs = None if peer_python is None else started("jax", peer_python)
    remarks, costs = [], []
    try:
        if theirs is not None and theirs.missing:
            remarks.append(f"JAX is left out: {theirs.missing}.")
        jax = None if theirs is None or theirs.missing else theirs
        for expression in expressions:
            made = cost(expression, size, ours, jax if expression.jax else None, seconds)
            costs.append(made)
            if made.check != "ok":
                remarks.append(f"`{made.name}`: {made.check}.")
            if made.refused:
                remarks.append(f"`{made.name}` has no gradient: {made.refused}")
            if made.failed:
                remarks.append(f"JAX has no gradient of `{made.name}`: {made.failed}.")
            progress(expression.text)
    finally:
        for process in (ours, theirs):
            if process is not None:
                process.close()
    return NameTimes(head, costs, remarks)


def cost(
    expression: Expression, size: str, ours: Process, jax: Process | None, seconds: float
) -> NameCost:
    """What a function costs, and whether its results are right."""
    asked = json.dumps({"expression": asdict(expression), "size": size})
    made, told = NameCost(expression.text), ours.ask(asked)
    if "failed" in told:
        made.check = told["failed"]
        return made
    made.check, made.refused = told["check"], told.get("refused", "")
    running = [ours]
    if jax is not None:
        of_jax = jax.ask(asked)
        if "failed" in of_jax:
            made.failed = of_jax["failed"]
        running.append(jax)
        if made.check == "ok" and "slope" in told and "slope" in of_jax:
            made.check = apart("JAX's", told["slope"], of_jax["slope"], OF_JAX)
    if made.check == "ok" and "slope" in told:
        made.check = apart("differences'", told["slope"], told["difference"], OF_DIFFERENCES)
    for _ in range(ROUNDS):
        for process in running:
            for what, taken in process.ask(json.dumps({"seconds": seconds})).items():
                before = getattr(made, what)
                setattr(made, what, taken if before is None else min(before, taken))
    return made


def apart(whose: str, slope: float, other: float, tolerance: float) -> str:
    """Why a slope is wrong, "ok" where it is not."""
    if abs(slope - other) <= tolerance * max(1.0, abs(other)):
        return "ok"
    return f"the gradient's slope is {slope}, {whose} {other}"
