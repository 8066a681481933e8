"""Runs contestants in processes of their own and judges their results."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from .contestant import CONTESTANTS, OURS
from .worker import MARK
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
"""`progress(contestant, title)` is called when a contestant's work on a case is done."""


def run(
    cases: Sequence[tuple[Workload, str]],
    contestants: Sequence[str],
    settings: Settings,
    progress: Progress,
) -> list[Outcome]:
    """All contestants on all cases, a contestant at a time; each outcome judged."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="tracegrad-bench-") as name:
        folder = Path(name)
        prepared = [Case(w, size, folder) for w, size in cases]
        for case in prepared:
            case.prepare()
        usable = [c for c in prepared if not c.problem]
        for contestant in contestants:
            for case in prepared:
                if case.problem:
                    outcomes.append(
                        case.outcome(contestant, status="left out", detail=case.problem)
                    )
                    progress(contestant, case.workload.title)
            for group in [[c] for c in usable] if settings.separate else [usable]:
                for case, outcome in _contest(contestant, group, settings, folder):
                    if outcome.status == "ok":
                        case.judge(outcome)
                    outcomes.append(outcome)
                    progress(contestant, case.workload.title)
    return outcomes


def _contest(
    contestant: str, cases: Sequence[Case], settings: Settings, folder: Path
) -> Iterator[tuple[Case, Outcome]]:
    """The outcomes of one contestant. A case that kills the process or never ends is told so, and a
    new process takes up the rest."""
    left = list(cases)
    while left:
        ended = ""
        with _Process(contestant, left, settings, folder) as process:
            while left and not ended:
                message = process.next_message()
                if message["kind"] == "case":
                    case = left.pop(0)
                    yield (
                        case,
                        case.outcome(
                            contestant,
                            **{k: v for k, v in message.items() if k not in ("kind", "key")},
                        ),
                    )
                elif message["kind"] == "missing":
                    for case in left:
                        yield (
                            case,
                            case.outcome(contestant, status="left out", detail=message["detail"]),
                        )
                    return
                elif message["kind"] == "end":
                    ended = message["detail"]
        if left:
            case = left.pop(0)
            yield case, case.outcome(contestant, status="failed", detail=ended)


class _Process:
    """A worker's process and the messages it prints."""

    def __init__(
        self, contestant: str, cases: Sequence[Case], settings: Settings, folder: Path
    ) -> None:
        plan = {
            "contestant": contestant,
            "threads": settings.threads,
            "device": settings.device,
            "repeat": settings.repeat,
            "budget": settings.budget,
            "cases": [
                {"key": c.workload.key, "arguments": str(c.arguments), "result": str(c.result)}
                for c in cases
            ],
        }
        plan_file = folder / "plan.json"
        plan_file.write_text(json.dumps(plan))
        self.timeout = settings.case_timeout
        self.errors: IO[bytes] = (folder / "errors.txt").open("w+b")
        self.process = subprocess.Popen(
            command(contestant, plan_file, settings),
            env=environment(settings, folder),
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(MARK):
                self.lines.put(line[len(MARK) :])
        self.lines.put("")

    def next_message(self) -> dict[str, Any]:
        """The next message; one of kind "end" where the process ended or was silent for too
        long."""
        try:
            line = self.lines.get(timeout=self.timeout)
        except queue.Empty:
            return {"kind": "end", "detail": f"no result after {self.timeout:.0f} s"}
        if line:
            message: dict[str, Any] = json.loads(line)
            return message
        code = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        return {
            "kind": "end",
            "detail": f"the process ended with code {code}"
            + (f": {said[-1][:300]}" if said else ""),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Nothing is asked of the process any more, whether it has finished or hangs.
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.errors.close()
        assert self.process.stdout is not None
        self.process.stdout.close()


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
    return {**KEEP_MEMORY, **surroundings(settings), **caches}


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
