"""The CUDA kernels of the workloads: how many there are, and the registers that a thread of each
takes. Needs numba-cuda's wheels, and no GPU.

`python -m tracegrad.bench.kernels` prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from time import perf_counter

from ..compiled.jit import jit
from ..runtime.device_code import planned
from ..transforms.rewrite import optimize
from . import SIZES, WORKLOADS, Workload
from .peers.with_tracegrad import inputs, own, transformed

CAPABILITIES = ((8, 0), (9, 0))


def row(workload: Workload, size: str) -> list[str]:
    """A line of the table."""
    machine = importlib.import_module("tracegrad.codegen.cuda.machine")
    arguments = list(workload.data(**workload.sizes[size]))
    workload = own(workload)
    # As it is compiled for a device.
    graph = optimize(
        jit(transformed(workload)).graphs(*inputs(workload, arguments))[0], tapes=False
    )
    plan = planned(graph, ("C",) * len(graph.inputs))
    cells = [
        workload.title,
        workload.derivative,
        str(len(plan.launches)),
        str(sum(launch.waits for launch in plan.launches)),
    ]
    for capability in CAPABILITIES:
        start = perf_counter()
        found = machine.machine_code(plan.source, plan.launches, capability, None).values()
        seconds = perf_counter() - start
        cells += [
            " ".join(str(m.registers) for m in found),
            str(sum(m.spilled for m in found)),
            f"{seconds:.1f}",
        ]
    return cells


def main(arguments: Sequence[str] | None = None) -> int:
    """The table on the standard output."""
    parser = argparse.ArgumentParser(prog="python -m tracegrad.bench.kernels", description=__doc__)
    parser.add_argument(
        "--workload",
        action="append",
        choices=list(dict.fromkeys(w.name for w in WORKLOADS)),
        metavar="NAME",
    )
    parser.add_argument("--size", choices=SIZES, default="default")
    options = parser.parse_args(arguments)
    headings = ["workload", "derivative", "kernels", "that wait for the grid"]
    headings += [
        f"{part}, {major}.{minor}"
        for major, minor in CAPABILITIES
        for part in ("registers", "spilled bytes", "compile s")
    ]
    sys.stdout.write(f"| {' | '.join(headings)} |\n|{'---|' * 2}{'---:|' * (len(headings) - 2)}\n")
    for workload in WORKLOADS:
        if workload.step is None and (
            options.workload is None or workload.name in options.workload
        ):
            sys.stdout.write(f"| {' | '.join(row(workload, options.size))} |\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
