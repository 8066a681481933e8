"""One contestant in a process of its own: it reads its cases from a file and prints a line of JSON
per case.

This module and what it loads use no other part of tracegrad unless the contestant is tracegrad
itself, so that a contestant can also run in the interpreter of another environment.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from . import find
from .contestant import CONTESTANTS, NotFittingError, Prepare, Setting
from .measure import PeakMemory, seconds_per_call

MARK = "tracegrad-bench: "


def main(plan_file: str) -> None:
    """Run the cases of a plan that `run.py` has written."""
    plan = json.loads(Path(plan_file).read_text())
    pin(plan["threads"])
    contestant = CONTESTANTS[plan["contestant"]]
    start = perf_counter()
    try:
        prepare = contestant.load()
        if contestant.name == "jit":
            sys.modules[prepare.__module__].start_up()
    except ImportError as error:
        tell(
            kind="missing",
            detail=f"{contestant.needs} is not installed here"
            if error.name == contestant.needs
            else str(error),
        )
        return
    tell(kind="ready", seconds=perf_counter() - start)
    for case in plan["cases"]:
        tell(kind="case", key=case["key"], **measured(prepare, case, plan))


def pin(threads: int) -> None:
    """Keep to as many cores as there are threads; some libraries know no other way to be
    limited."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def measured(prepare: Prepare, case: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    """The times of one case; its result is written to the case's file, for the parent to check."""
    workload = find(case["key"])
    with np.load(case["arguments"]) as stored:
        arguments = [stored[f"arr_{k}"] for k in range(len(stored.files))]
    memory = PeakMemory()
    try:
        start = perf_counter()
        prepared = prepare(workload, arguments, Setting(plan["threads"], plan["device"]))
        result = prepared.derivative()
        prepared.wait()
        first_call = perf_counter() - start
        first_call_mb = memory.megabytes()
        np.savez(case["result"], *prepared.to_numpy(result))
        del result
        memory = PeakMemory()
        derivative = seconds_per_call(
            prepared.derivative, plan["repeat"], plan["budget"], prepared.timed
        )
        call_mb = memory.megabytes()
        primal = None
        if prepared.primal is not None:
            prepared.primal()
            primal = seconds_per_call(
                prepared.primal, plan["repeat"], plan["budget"] / 4, prepared.timed
            )
        nodes = prepared.nodes() if prepared.nodes is not None else None
    except NotFittingError as error:
        return {"status": "left out", "detail": str(error)}
    except Exception as error:
        # Whatever a library raises belongs into the table; the other cases go on.
        return {"status": "failed", "detail": f"{type(error).__name__}: {first_line(error)}"}
    return {
        "status": "ok",
        "first_call_s": first_call,
        "derivative_s": derivative,
        "primal_s": primal,
        "first_call_mb": first_call_mb,
        "call_mb": call_mb,
        "nodes": nodes,
    }


def first_line(error: Exception) -> str:
    """The first line of a message that says something."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")[:300]


def tell(**message: Any) -> None:
    """One line to the parent; libraries may print what they like between."""
    sys.stdout.write(f"\n{MARK}{json.dumps(message)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
