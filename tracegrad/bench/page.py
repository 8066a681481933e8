"""`bench --page`: every table of a page, one run after another, so that all are of one tree and
one machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import machine
from .report.files import replace_section

BENCH = ("tracegrad", "bench")
RUNS: dict[str, tuple[str, ...]] = {
    "one thread": ("--startup",),
    "all cores": ("--threads", "0"),
    "the wide suite": ("--suite", "wide"),
    "memory": ("--memory", "--repeat", "3"),
    "single eager operations": ("--operations",),
    "programs": ("--programs",),
    "sparse": ("--sparse",),
    "linear algebra": ("--linalg",),
    "functions of NumPy and SciPy": ("--scipy",),
}
"""What `bench` is asked for, by what it measures; memory of tracegrad alone, the others beside
their peers."""
ALONE = ("memory", "sparse")
LONG_LOOP = "long loop"


def write(
    page: Path, python: str | None, head: dict[str, Any], progress: Callable[[str], None]
) -> list[str]:
    """Replace each section of a page by what is measured now, with peers in that interpreter; what
    failed, a line each. A run that fails leaves its section as it was."""
    failed = []
    for name, options in RUNS.items():
        progress(name)
        more: list[str] = [] if python is None or name in ALONE else ["--peer-python", python]
        if name == "one thread":
            more += ["--plot", str(page.with_suffix(".png"))]
        found = ran((*BENCH, *options, *more, "--markdown", str(page)))
        if found.returncode:
            failed.append(f"{name}: exit code {found.returncode}; {last(found.stderr)}")
    progress(LONG_LOOP)
    found = ran(("tracegrad.bench.long_loop",))
    if found.returncode:
        failed.append(f"{LONG_LOOP}: exit code {found.returncode}; {last(found.stderr)}")
    else:
        lines = "\n".join(f"- {line}" for line in machine.lines(head))
        replace_section(page, LONG_LOOP, f"{lines}\n\n{found.stdout}")
    return failed


def ran(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A run in a process of its own, so that none measures what another left behind."""
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, check=False
    )


def last(text: str) -> str:
    """The last line that says anything."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no message")
