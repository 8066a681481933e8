"""`bench --programs`: programs in plain Python as tracegrad and Numba compile the same text, with
`--peers` beside JAX's loops.

Values are checked against plain Python, gradients by a central difference of plain Python along a
random direction; JAX's against ours.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from .processes import Process
from .program_texts import Text, texts
from .report.programs import BOTH, FUNCTION, NUMBA, FirstCalls, ProgramCost, ProgramTimes
from .run import HERE, STANDALONE, Settings, environment
from .workload import disagreement

ROUNDS = 3
"""The libraries take turns this often, so that what disturbs the machine disturbs both."""
SECONDS = 0.1
"""How long each function is called in a round."""
SMALL = 8
"""The size of all programs where problems are small: no measurement, only whether all works."""
TOLERANCE = 1e-12
OF_JAX = 1e-9
OF_DIFFERENCES = 1e-4
"""How far results may be from others, relatively."""
LOOPS = ("recurrence", "GARCH", "Viterbi")
SIZES = (20, 2_000)
"""Programs whose compile time is compared, and at which sizes; the last is a nest of loops. None
takes so much memory that its first use of new pages would count."""
WARM = "LU"
"""What a first program of a process costs is counted for none of them."""


def measure(
    head: dict[str, Any],
    names: Sequence[str],
    size: str,
    peer_python: str | None,
    progress: Callable[[str], None],
) -> ProgramTimes:
    """Time the programs, with JAX where an interpreter is given that has it."""
    known, small = texts(), size == "small"
    remarks, costs = [], []
    with tempfile.TemporaryDirectory(prefix="tracegrad-bench-") as name, ExitStack() as running:
        folder = Path(name)
        ours = running.enter_context(started("tracegrad", folder))
        theirs = None
        if peer_python is not None:
            theirs = running.enter_context(started("jax", folder, peer_python))
            if theirs.missing:
                remarks, theirs = [f"JAX is left out: {theirs.missing}."], None
        for key in names:
            n = {"small": SMALL, "default": known[key].n, "large": 4 * known[key].n}[size]
            costs.append(cost(key, known[key], n, ours, theirs, SECONDS / (10 if small else 1)))
            progress(key)
    repeat = 1 if small else 3
    compiled = [compile_time(key, known[key], repeat) for key in LOOPS if key in names]
    return ProgramTimes(head, costs, compiled, remarks)


class ProgramLibrary(Process):
    """Numba and tracegrad, or JAX, in a process that keeps its cache and its files in a folder."""

    def __init__(self, library: str, command: Sequence[str], folder: Path) -> None:
        super().__init__(library, command, environment(Settings(), folder))
        self.given, self.result = folder / f"{library}-given.npz", folder / f"{library}-result.npz"

    def prepare(
        self, name: str, arguments: Sequence[Any], *calls: str
    ) -> tuple[dict[str, float], list[Any], str]:
        """Seconds of first calls, the results of the function and of value and gradient, and why
        there are none."""
        np.savez(self.given, *arguments)
        asked = {"name": name, "arguments": str(self.given), "result": str(self.result)}
        answer = self.ask(json.dumps({**asked, "calls": calls}))
        if "failed" in answer:
            return {}, [], answer["failed"]
        with np.load(self.result) as stored:
            return answer, [stored[f"arr_{k}"] for k in range(len(stored.files))], ""

    def least(self, seconds: float) -> dict[str, float]:
        """The least seconds of each call."""
        return self.ask(json.dumps({"seconds": seconds}))


def started(library: str, folder: Path, python: str = sys.executable) -> ProgramLibrary:
    """A library in a process of its own, on the first core, with an empty cache."""
    command = [python, "-c", STANDALONE, str(HERE), "program_worker", library]
    if library == "tracegrad":
        command = [python, "-m", f"{__package__}.program_worker", library]
    return ProgramLibrary(library, command, folder)


def cost(
    key: str,
    text: Text,
    n: int,
    ours: ProgramLibrary,
    theirs: ProgramLibrary | None,
    seconds: float,
) -> ProgramCost:
    """What a program costs, and whether its results are right."""
    arguments = text.at(n)
    lines = len(inspect.getsource(text.function).splitlines())
    first, found, failed = ours.prepare(key, arguments, NUMBA, FUNCTION, BOTH)
    if failed:
        return ProgramCost(key, n, lines, check=failed)
    made = ProgramCost(key, n, lines, first=first, check=wrong(text, arguments, found) or "ok")
    running = [(ours, made.seconds)]
    if theirs is not None:
        made.first_jax, of_jax, failed = theirs.prepare(key, arguments, FUNCTION, BOTH)
        made.check_jax = failed or disagreement(of_jax, found, OF_JAX) or "ok"
        if not failed:
            running.append((theirs, made.seconds_jax))
    for _ in range(ROUNDS):
        for library, least in running:
            for what, taken in library.least(seconds).items():
                least[what] = min(taken, least.get(what, taken))
    return made


def wrong(text: Text, arguments: Sequence[Any], found: Sequence[Any]) -> str:
    """Why results (the function's, the value that is derived, its gradients) are not those of
    plain Python."""
    expected = text.function(*arguments)
    total = float(np.sum((expected - 1.0) ** 2))
    value, both, *gradients = found
    if what := disagreement([value, both], [np.asarray(expected), np.asarray(total)], TOLERANCE):
        return what
    rng = np.random.default_rng(1)
    along = [rng.standard_normal(np.shape(x)) for x in arguments]
    step = 1e-6
    ends = [
        text.total(*[x + sign * step * d for x, d in zip(arguments, along, strict=True)])
        for sign in (1, -1)
    ]
    difference = float(ends[0] - ends[1]) / (2 * step)
    slope = sum(float(np.sum(g * d)) for g, d in zip(gradients, along, strict=True))
    if abs(slope - difference) > OF_DIFFERENCES * max(1.0, abs(difference)):
        return f"slope {slope}, by differences {difference}"
    return ""


def compile_time(key: str, text: Text, repeat: int) -> FirstCalls:
    """What first calls take more than later ones at several sizes: the least of so many processes,
    each with an empty cache."""
    found: dict[int, list[float]] = {}
    for n in SIZES:
        taken = []
        for _ in range(repeat):
            with (
                tempfile.TemporaryDirectory(prefix="tracegrad-bench-") as folder,
                started("tracegrad", Path(folder)) as library,
            ):
                library.prepare(WARM, texts()[WARM].at(SMALL), FUNCTION, BOTH)
                first, _, _ = library.prepare(key, text.at(n), FUNCTION, BOTH)
                later = library.least(0.0)
            taken.append([first[what] - later[what] for what in (FUNCTION, BOTH)])
        found[n] = [min(times) for times in zip(*taken, strict=True)]
    return FirstCalls(key, found)
