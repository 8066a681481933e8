"""Runs contestants in processes of their own, lets them take turns, and judges their results."""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .contestant import CONTESTANTS, OURS
from .processes import EndedError, Process
from .workload import Workload, disagreement

HERE = Path(__file__).parent
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)

# glibc keeps what is freed, rather than giving it back and having the system clear new pages in
# every call. Whether it does so of itself depends on what else lies in the heap, and with it the
# time of whoever allocates large arrays: JAX on rosenbrock, 8.2 or 1.6 ms.
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(1 << 32), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}
# JAX takes three quarters of a GPU when it starts, and the others are there at the same time.
TAKE_NO_GPU = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}

# Loads this folder as a package of its own and runs a module of it, without tracegrad around it:
# another environment need not have tracegrad's dependencies.
STANDALONE = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location(
    "tracegrad_bench", sys.argv[1] + "/__init__.py", submodule_search_locations=[sys.argv[1]]
)
package = sys.modules["tracegrad_bench"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
importlib.import_module(f"tracegrad_bench.{sys.argv[2]}").main(sys.argv[3])
"""


ROUNDS = 5
"""How often contestants take turns at a case."""
PAUSE = 0.1
"""Seconds after which no thread of the contestant before spins any more: OpenBLAS's wait for work
with a loop for some 30 ms, in which a call of two threads takes 4 or 16 ms in place of 0.5."""


@dataclass(frozen=True)
class Settings:
    """How to measure; `case_timeout` is in seconds."""

    threads: int = 1
    device: str = "cpu"
    repeat: int = 20
    budget: float = 0.8
    separate: bool = False
    peer_python: str = sys.executable
    case_timeout: float = 600.0


@dataclass
class Outcome:
    """What came of one contestant on one case. `check` is "ok", or says what is wrong; empty where
    there is no result."""

    workload: str
    variant: str
    derivative: str
    size: str
    contestant: str
    status: str = "failed"
    detail: str = ""
    check: str = ""
    derivative_s: float | None = None
    primal_s: float | None = None
    first_call_s: float | None = None
    first_call_mb: float | None = None
    call_mb: float | None = None
    nodes: int | None = None

    @property
    def title(self) -> str:
        """The workload as tables show it."""
        return f"{self.workload} ({self.variant})" if self.variant else self.workload

    @property
    def case(self) -> tuple[str, str, str]:
        """What outcomes of different contestants are compared by."""
        return self.title, self.derivative, self.size

    @property
    def good(self) -> bool:
        """Whether there is a result and it is right."""
        return self.check == "ok"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass
class Case:
    """A workload at a size, its arguments on disk, and what is known of its right result."""

    workload: Workload
    size: str
    folder: Path
    problem: str = ""
    expected: list[Any] = field(default_factory=list)
    eager: list[Any] | None = None

    @property
    def key(self) -> str:
        """The name of its files; a workload may be there at two sizes."""
        return f"{self.workload.key}-{self.size}"

    def prepare(self) -> None:
        """Write the arguments and compute the independent derivative."""
        try:
            arguments = self.workload.data(**self.workload.sizes[self.size])
        except ImportError as error:
            self.problem = str(error)
            return
        compiled = import_module(".peers.with_numba", __package__).compiled  # loads Numba
        self.expected = self.workload.expected(arguments, compiled)
        np.savez(self.arguments, *arguments)

    @property
    def arguments(self) -> Path:
        return self.folder / f"{self.key}-arguments.npz"

    @property
    def result(self) -> Path:
        return self.folder / f"{self.key}-result.npz"

    def outcome(self, contestant: str, **given: Any) -> Outcome:
        """An outcome with this case's names."""
        w = self.workload
        return Outcome(w.name, w.variant, w.derivative, w.label(self.size), contestant, **given)

    def work(self) -> list[Any]:
        """What the floor's work comes to."""
        assert self.workload.floor is not None
        with np.load(self.arguments) as stored:
            return [
                np.asarray(a)
                for a in self.workload.floor.expected(
                    *[stored[f"arr_{k}"] for k in range(len(stored.files))]
                )
            ]

    def judge(self, outcome: Outcome) -> None:
        """Compare the result that the worker wrote with the independent derivative, and jit's with
        the eager one."""
        with np.load(self.result) as stored:
            found = [stored[f"arr_{k}"] for k in range(len(stored.files))]
        self.result.unlink()
        wrong = disagreement(
            found,
            self.work() if outcome.contestant == "floor" else self.expected,
            self.workload.tolerance,
        )
        if not wrong and outcome.contestant == "jit" and self.eager is not None:
            against = disagreement(found, self.eager, self.workload.tolerance)
            wrong = f"differs from eager: {against}" if against else ""
        if outcome.contestant == "eager":
            self.eager = found
        outcome.check = wrong or "ok"


Progress = Callable[[str, str], None]
"""`progress(contestant, title)` is called when a contestant's first call on a case is done."""


def run(
    cases: Sequence[tuple[Workload, str]],
    contestants: Sequence[str],
    settings: Settings,
    progress: Progress,
) -> list[Outcome]:
    """All contestants on all cases, a case at a time; each outcome judged."""
    outcomes: list[Outcome] = []
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="tracegrad-bench-")))
        entrants = [Entrant(name, settings, folder) for name in contestants]
        for entrant in entrants:
            held.callback(entrant.leave)
        prepared = [Case(w, size, folder) for w, size in cases]
        for case in prepared:
            case.prepare()
        for case in prepared:
            if settings.separate:
                # One after the other: what several keep at a time may not fit into memory.
                for entrant in entrants:
                    outcomes += compare(case, [entrant], progress)
                    entrant.leave()
            else:
                outcomes += compare(case, entrants, progress)
    return outcomes


def compare(case: Case, entrants: Sequence[Entrant], progress: Progress) -> list[Outcome]:
    """First calls, one contestant after the other; then turns of calls, in several rounds: what
    disturbs the machine, or moves its clock, does so for all of them."""
    outcomes = []
    for entrant in entrants:
        outcomes.append(entrant.begin(case))
        progress(entrant.name, case.workload.title)
    for _ in range(ROUNDS):
        for entrant in entrants:
            if len(entrants) > 1 and entrant.settings.threads > 1:
                time.sleep(PAUSE)
            entrant.turn()
    for entrant in entrants:
        entrant.end()
    return outcomes


class Entrant:
    """A contestant that takes part: its process, and the case it is at. A case that kills the
    process or never ends is told so, and a new process takes up the next."""

    def __init__(self, name: str, settings: Settings, folder: Path) -> None:
        self.name, self.settings, self.folder = name, settings, folder
        self.process: Process | None = None
        self.outcome: Outcome | None = None
        self.samples: dict[str, list[float]] = {}

    def begin(self, case: Case) -> Outcome:
        """The first call, judged; what later turns find is added to this outcome."""
        self.outcome, self.samples = case.outcome(self.name), {}
        if case.problem:
            self.outcome.status, self.outcome.detail = "left out", case.problem
            return self.outcome
        files = {"arguments": str(case.arguments), "result": str(case.result)}
        self._ask(step="begin", key=case.workload.key, **files)
        if self.outcome.status == "ok":
            case.judge(self.outcome)
        return self.outcome

    def turn(self) -> None:
        """Calls of the case, for a part of the time."""
        outcome = self.outcome
        if outcome is None or outcome.status != "ok":
            return
        part = math.ceil(self.settings.repeat / ROUNDS), self.settings.budget / ROUNDS
        found = self._ask(step="turn", count=part[0], seconds=part[1])
        for what in ("derivative", "primal"):
            if what in found:
                times = self.samples.setdefault(what, [])
                times += found[what]
                setattr(outcome, f"{what}_s", statistics.median(times))

    def end(self) -> None:
        """What is asked when everything is measured."""
        if self.outcome is not None and self.outcome.status == "ok":
            self._ask(step="end")

    def leave(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.close()
        self.process = None

    def _ask(self, **asked: Any) -> dict[str, Any]:
        """The answer; what it says about the outcome is noted there."""
        assert self.outcome is not None
        try:
            if self.process is None:
                self.process = self._started()
            if self.process.missing:
                found = {"status": "left out", "detail": self.process.missing}
            else:
                found = self.process.ask(json.dumps(asked))
        except EndedError as error:
            self.leave()
            found = {"status": "failed", "detail": str(error)}
        for name in ("status", "detail", "first_call_s", "first_call_mb", "call_mb", "nodes"):
            if name in found:
                setattr(self.outcome, name, found[name])
        if self.outcome.status != "ok":
            self.outcome.check = ""  # whatever its first call gave
        return found

    def _started(self) -> Process:
        plan = {
            "contestant": self.name,
            "threads": self.settings.threads,
            "device": self.settings.device,
        }
        own = self.folder / self.name.replace(" ", "-")
        own.mkdir(exist_ok=True)
        plan_file = own / "plan.json"
        plan_file.write_text(json.dumps(plan))
        return Process(
            self.name,
            command(self.name, plan_file, self.settings),
            environment(self.settings, own),
            self.settings.case_timeout,
        )


def command(contestant: str, plan_file: Path, settings: Settings) -> list[str]:
    """How a contestant's process is started."""
    chosen = CONTESTANTS[contestant]
    if chosen.ours:
        return [sys.executable, "-m", f"{__package__}.worker", str(plan_file)]
    python = sys.executable if chosen.here else settings.peer_python
    return [python, "-c", STANDALONE, str(HERE), "worker", str(plan_file)]


def environment(settings: Settings, folder: Path) -> Mapping[str, str]:
    """Empty caches, so that the first call is what a new program meets."""
    caches = {
        "TRACEGRAD_CACHE_DIR": str(folder / "cache"),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "torch"),
    }
    return {**KEEP_MEMORY, **TAKE_NO_GPU, **surroundings(settings), **caches}


def surroundings(settings: Settings) -> dict[str, str]:
    """Environment variables with equal thread counts for all, in which a checkout that is not
    installed is found from any folder."""
    path = os.pathsep.join(
        p for p in (str(HERE.parent.parent), os.environ.get("PYTHONPATH", "")) if p
    )
    return {
        **os.environ,
        **dict.fromkeys(THREAD_VARIABLES, str(settings.threads)),
        "PYTHONPATH": path,
    }


def failures(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Where eager or jit failed or gave a wrong result."""
    return [o for o in outcomes if o.contestant in OURS and o.status != "left out" and not o.good]
