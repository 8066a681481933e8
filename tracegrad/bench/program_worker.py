"""One library's programs in a process of its own: it answers lines of JSON with lines of JSON.

Like `worker.py` this uses no other part of tracegrad, unless tracegrad is the library.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from time import process_time
from typing import Any

import numpy as np

from .measure import least
from .worker import first_line, pin, tell


def main(library: str) -> None:
    """A line with "name", "arguments", "result" and "calls" prepares a program: the results are
    written to that file, the answer is what the first of these calls took. A line with "seconds"
    asks for the least processor time of each, looked for so long. All in seconds, on the first
    core."""
    pin(1)
    try:
        module = import_module(f".peers.programs_with_{library}", __package__)
    except ImportError as error:
        if error.name != library:
            raise
        tell(missing=f"{library} is not installed here")
        return
    if hasattr(module, "start_up"):
        module.start_up()
    tell(ready=True)
    calls: dict[str, Callable[[], Any]] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if "seconds" in asked:
            tell(**{key: least(call, asked["seconds"]) for key, call in calls.items()})
            continue
        with np.load(asked["arguments"]) as stored:
            arguments = [stored[f"arr_{k}"] for k in range(len(stored.files))]
        try:
            calls = module.prepare(asked["name"], arguments)
            calls = {key: calls[key] for key in asked["calls"] if key in calls}
            results, taken = {}, {}
            for key, call in calls.items():
                start = process_time()
                results[key] = call()
                taken[key] = process_time() - start
        except Exception as error:
            # Whatever a library raises belongs into the report.
            calls = {}
            tell(failed=f"{type(error).__name__}: {first_line(error)}")
            continue
        np.savez(
            asked["result"],
            *module.arrays(results["function"]),
            *module.arrays(results["value and gradient"]),
        )
        tell(**taken)


if __name__ == "__main__":
    main(sys.argv[1])
