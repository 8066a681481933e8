"""The memory of a gradient through a long loop, planned and taken, and what checkpoints cost.

`python -m tracegrad.bench.long_loop` prints a table in Markdown: each row is measured in a process
of its own.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np

from ..compiled.jit import jit
from ..control.scan import Checkpoint, scan
from ..derivatives.reverse import grad
from .measure import PeakMemory
from .workloads import lorenz

STEPS = 1_000_000
TIME = 1.0
"""The span of time that all steps cover together: a longer one is chaotic, and its gradient
overflows."""


def ways(steps: int) -> tuple[Checkpoint, ...]:
    """What is compared: everything kept, two levels, and three of about the cube root each."""
    third = max(1, round(steps ** (1 / 3)))
    return None, "sqrt", (third * third, third)


def measured(checkpoint: Checkpoint, steps: int, repeat: int = 20) -> dict[str, Any]:
    """Planned bytes, the rise of this process's memory in MB, and the least processor time, of the
    gradient of |u|^2 after so many steps of Lorenz' equations."""
    u, p = np.array([1.0, 1.2, 0.8]), np.array([10.0, 28.0, 8 / 3])
    # Steps as long as the workload's, in slower time.
    pace = TIME / steps / lorenz.STEP

    def loss(u: Any, p: Any) -> Any:
        def slope(v: Any) -> Any:
            return pace * np.stack(
                [p[0] * (v[1] - v[0]), v[0] * (p[1] - v[2]) - v[1], v[0] * v[1] - p[2] * v[2]]
            )

        def step(v: Any, _: Any) -> Any:
            return lorenz.runge_kutta(slope, v), None

        return np.sum(scan(step, u, None, length=steps, checkpoint=checkpoint)[0] ** 2)

    gradient = jit(grad(loss, argnums=(0, 1)))
    memory = gradient.memory(u, p)
    start = PeakMemory()
    found = gradient(u, p)
    rise = start.megabytes()
    seconds = []
    for _ in range(repeat):
        begun = process_time()
        gradient(u, p)
        seconds.append(process_time() - begun)
    return {
        "planned": memory.temporaries,
        "rise_mb": rise,
        "seconds": min(seconds),
        "gradient": [g.tolist() for g in found],
    }


def in_a_process(checkpoint: Checkpoint, steps: int) -> dict[str, Any]:
    """The same, measured in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "tracegrad.bench.long_loop",
        "--steps",
        str(steps),
        "--only",
        repr([checkpoint]),
    ]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    return found


def row(checkpoint: Checkpoint, found: dict[str, Any], first: dict[str, Any]) -> str:
    """A line of the table."""
    cells = [
        repr(checkpoint),
        f"{found['planned']:,}",
        f"{100 * found['planned'] / first['planned']:.3g} %",
        "" if found["rise_mb"] is None else f"{found['rise_mb']:.1f}",
        f"{1e3 * found['seconds']:.1f}",
        f"{found['seconds'] / first['seconds']:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """A process for each way; the table on the standard output. The exit code says whether all
    gradients agree."""
    parser = argparse.ArgumentParser(
        prog="python -m tracegrad.bench.long_loop", description=__doc__
    )
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--only", type=ast.literal_eval, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.only:
        sys.stdout.write(json.dumps(measured(options.only[0], options.steps)))
        return 0
    sys.stdout.write(
        "| checkpoint | planned bytes | of None | peak MB | ms | time / None |\n"
        "|---|---:|---:|---:|---:|---:|\n"
    )
    results: list[dict[str, Any]] = []
    for way in ways(options.steps):
        results.append(in_a_process(way, options.steps))
        sys.stdout.write(row(way, results[-1], results[0]) + "\n")
        sys.stdout.flush()
    agree = all(
        np.allclose(a, b, rtol=1e-10)
        for r in results
        for a, b in zip(r["gradient"], results[0]["gradient"], strict=True)
    )
    sys.stdout.write("" if agree else "The gradients differ.\n")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
