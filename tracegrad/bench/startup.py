"""What a program pays before its first result: imports, and a compiled function that an earlier
process has left in the cache."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

NUMPY = "import numpy, scipy.linalg"
TRACEGRAD = "import tracegrad"

# The same gradient twice: derived, and written by hand. Both programs print it.
OURS = """
import numpy as np
import tracegrad as tg

@tg.jit
@tg.value_and_grad
def rosenbrock(x):
    return np.sum((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)

value, gradient = rosenbrock(np.linspace(-2.0, 2.0, 1000))
print(f"{value:.10e} {gradient.sum():.10e}")
"""
NUMBA = """
import numba
import numpy as np

@numba.njit(cache=True)
def rosenbrock(x):
    total, gradient = 0.0, np.zeros_like(x)
    for i in range(x.size - 1):
        rest, valley = 1.0 - x[i], x[i + 1] - x[i] * x[i]
        total += rest * rest + 100.0 * valley * valley
        gradient[i] += -2.0 * rest - 400.0 * x[i] * valley
        gradient[i + 1] += 200.0 * valley
    return total, gradient

value, gradient = rosenbrock(np.linspace(-2.0, 2.0, 1000))
print(f"{value:.10e} {gradient.sum():.10e}")
"""


# Of a long loop, and of its gradient, CPU seconds until the first result less those of a second
# call, for several numbers of steps.
TRIPS = (10, 1_000, 1_000_000)
LOOP = f"""
import json, time
import numpy as np
import tracegrad as tg
from tracegrad.bench import lorenz
from tracegrad.bench.workload import with_modules

def seconds(f, *arguments):
    start = time.process_time()
    f(*arguments)
    return time.process_time() - start

loop = with_modules(lorenz.three, np, None, tg)
found = []
# What any first program of a process costs is counted for none of them.
for steps in {(7, *TRIPS)}:
    arguments = lorenz.three_data(steps)
    for f in (tg.jit(loop), tg.jit(tg.grad(loop, argnums=(0, 1)))):
        found.append(seconds(f, *arguments) - seconds(f, *arguments))
print(json.dumps(found[2:]))
"""


@dataclass(frozen=True)
class StartUp:
    """Seconds of whole processes, medians of `repeat`; the first runs of the two programs have
    empty caches and are made once."""

    repeat: int
    numpy: float
    tracegrad: float
    numba_first: float
    jit_first: float
    numba_second: float
    jit_second: float
    loops: tuple[tuple[float, float], ...] = ()
    """CPU seconds to compile a loop, and its gradient, for each number of steps in `TRIPS`."""

    @property
    def above_numpy(self) -> float:
        """What `import tracegrad` adds to `import numpy, scipy.linalg`."""
        return self.tracegrad - self.numpy

    @property
    def above_numba(self) -> float:
        """What a second process takes longer than one that runs Numba's cached function."""
        return self.jit_second - self.numba_second

    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of a table."""
        lines = (
            (NUMPY, self.numpy),
            (TRACEGRAD, self.tracegrad),
            ("@numba.njit(cache=True), first process", self.numba_first),
            ("tg.jit, first process", self.jit_first),
            ("@numba.njit(cache=True), second process", self.numba_second),
            ("tg.jit, second process", self.jit_second),
        )
        return ["process", "s"], [[name, f"{value:.3f}"] for name, value in lines]

    def loop_rows(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of a table."""
        times = [[f"{value:.2f}" for value in pair] for pair in self.loops]
        return ["what", *[f"{steps:,} steps" for steps in TRIPS]], [
            [name, *[pair[k] for pair in times]]
            for k, name in enumerate(("lorenz63", "lorenz63, gradient"))
        ]


def measure(variables: Mapping[str, str], repeat: int, progress: Callable[[str], None]) -> StartUp:
    """Run the programs in turn, so that what disturbs the machine disturbs all alike."""
    with tempfile.TemporaryDirectory(prefix="tracegrad-bench-") as name:
        folder = Path(name)
        environment = {
            **variables,
            "TRACEGRAD_CACHE_DIR": str(folder / "cache"),
            "NUMBA_CACHE_DIR": str(folder / "numba"),
        }
        # Installed libraries have their bytecode on disk; so have all here, whatever the shell says
        # of writing it.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
        programs = {}
        for key, text in (
            ("numpy", NUMPY),
            ("tracegrad", TRACEGRAD),
            ("numba", NUMBA),
            ("jit", OURS),
        ):
            programs[key] = folder / f"{key}_program.py"
            programs[key].write_text(text)
        progress("first processes")
        # The libraries' files come into memory and their bytecode onto the disk, with caches of
        # their own.
        warm = {
            **environment,
            "TRACEGRAD_CACHE_DIR": str(folder / "warm"),
            "NUMBA_CACHE_DIR": str(folder / "warm"),
        }
        for program in programs.values():
            timed(program, warm)
        (numba_first, expected), (jit_first, found) = (
            timed(programs[key], environment) for key in ("numba", "jit")
        )
        if found != expected:
            raise RuntimeError(f"start-up: tracegrad prints {found}, Numba {expected}")
        progress("loops of several lengths")
        loop = folder / "loop_program.py"
        loop.write_text(LOOP)
        compiled: list[list[float]] = [
            json.loads(
                timed(loop, {**environment, "TRACEGRAD_CACHE_DIR": str(folder / f"loops{k}")})[1]
            )
            for k in range(min(repeat, 3))
        ]
        fastest = [min(times) for times in zip(*compiled, strict=True)]
        samples: dict[str, list[float]] = {key: [] for key in programs}
        for k in range(repeat):
            progress(f"second processes, {k + 1} of {repeat}")
            for key, program in programs.items():
                samples[key].append(timed(program, environment)[0])
    median = {key: statistics.median(values) for key, values in samples.items()}
    return StartUp(
        repeat,
        median["numpy"],
        median["tracegrad"],
        numba_first,
        jit_first,
        median["numba"],
        median["jit"],
        tuple(zip(fastest[::2], fastest[1::2], strict=True)),
    )


def timed(program: Path, environment: Mapping[str, str]) -> tuple[float, str]:
    """Seconds of a process, and what it printed."""
    start = perf_counter()
    done = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True, check=False
    )
    seconds = perf_counter() - start
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise RuntimeError(
            f"start-up: {program.stem} ended with code {done.returncode}: "
            f"{said[-1] if said else ''}"
        )
    return seconds, done.stdout.strip()
