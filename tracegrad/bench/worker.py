"""One contestant in a process of its own: it answers lines of JSON with lines of JSON.

This module and what it loads use no other part of tracegrad unless the contestant is tracegrad
itself, so that a contestant can also run in the interpreter of another environment.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from . import find
from .contestant import CONTESTANTS, NotFittingError, Prepare, Prepared, Setting
from .measure import PeakMemory, Sampled, give_back

MARK = "tracegrad-bench: "


def main(plan_file: str) -> None:
    """Read who takes part, and how, from a file that `run.py` has written; then answer. Each line
    names a method of `Turns` and what it is given."""
    plan = json.loads(Path(plan_file).read_text())
    pin(plan["threads"])
    contestant = CONTESTANTS[plan["contestant"]]
    try:
        prepare = contestant.load()
        if contestant.name == "jit":
            sys.modules[prepare.__module__].start_up()
    except ImportError as error:
        tell(
            missing=f"{contestant.needs} is not installed here"
            if error.name == contestant.needs
            else str(error)
        )
        return
    turns = Turns(prepare, Setting(plan["threads"], plan["device"]))
    steps: dict[str, Step] = {"begin": turns.begin, "turn": turns.turn, "end": turns.end}
    tell(ready=True)
    for line in sys.stdin:
        asked = json.loads(line)
        tell(**answered(steps[asked.pop("step")], asked))


Step = Callable[..., dict[str, Any]]


def answered(step: Step, given: dict[str, Any]) -> dict[str, Any]:
    """What a step found, or why it found nothing."""
    try:
        return {"status": "ok", **step(**given)}
    except NotFittingError as error:
        return {"status": "left out", "detail": str(error)}
    except Exception as error:
        # Whatever a library raises belongs into the table; the other cases go on.
        return {"status": "failed", "detail": f"{type(error).__name__}: {first_line(error)}"}


class Turns:
    """One case at a time: its first call, turns of calls, its end."""

    def __init__(self, prepare: Prepare, setting: Setting) -> None:
        self.prepare, self.setting = prepare, setting
        self.prepared: Prepared | None = None
        self.calls: dict[str, Sampled] = {}
        self.called = False

    def begin(self, key: str, arguments: str, result: str) -> dict[str, Any]:
        """What the first call costs; its result is written to a file, for the parent to check."""
        self.prepared, self.calls, self.called = None, {}, False
        workload = find(key)
        with np.load(arguments) as stored:
            inputs = [stored[f"arr_{k}"] for k in range(len(stored.files))]
        memory = PeakMemory()
        start = perf_counter()
        prepared = self.prepare(workload, inputs, self.setting)
        found = prepared.derivative()
        prepared.wait()
        taken = perf_counter() - start
        peak = memory.megabytes()
        np.savez(result, *prepared.to_numpy(found))
        self.prepared = prepared
        self.calls = {"derivative": Sampled(prepared.derivative, prepared.timed)}
        if prepared.primal is not None:
            prepared.primal()  # compiles
            prepared.wait()
            self.calls["primal"] = Sampled(prepared.primal, prepared.timed)
        return {"first_call_s": taken, "first_call_mb": peak}

    def turn(self, count: int, seconds: float) -> dict[str, Any]:
        """Seconds of a call, so many samples of each kind; fewer where they would take longer,
        which is `seconds` for the derivative and a quarter for the function, but at least one. The
        first turn tells the memory, too: later ones find it in use."""
        memory = None if self.called else PeakMemory()
        found: dict[str, Any] = {"derivative": self.calls["derivative"].samples(count, seconds)}
        if memory is not None:
            found["call_mb"], self.called = memory.megabytes(), True
        if "primal" in self.calls:
            found["primal"] = self.calls["primal"].samples(count, seconds / 4)
        return found

    def end(self) -> dict[str, Any]:
        """What is only known, or costs something to find out, when everything is measured. The
        case is dropped, and its memory given back: other contestants are there, too."""
        asked = self.prepared.nodes if self.prepared is not None else None
        nodes = asked() if asked is not None else None
        self.prepared, self.calls = None, {}
        give_back()
        return {"nodes": nodes}


def pin(threads: int) -> None:
    """Keep to as many cores as there are threads; some libraries know no other way to be
    limited."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def first_line(error: Exception) -> str:
    """The first line of a message that says something."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")[:300]


def tell(**message: Any) -> None:
    """One line to the parent; libraries may print what they like between."""
    sys.stdout.write(f"\n{MARK}{json.dumps(message)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
