"""Programs in plain Python: the function beside Numba's compilation of the same text, and value
and gradient of the sum of the squares of its result. Gradients are checked by a central difference
along a random direction.

`python -m tracegrad.bench.programs` prints a table in Markdown. Times are minima of
processor time; set NUMBA_NUM_THREADS=1 for one thread.
"""

from __future__ import annotations

import argparse
import linecache
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numba
import numpy as np

from ..compiled.jitted import jit
from ..derivatives.reverse import value_and_grad
from .program_texts import Text

TEXTS = Path(__file__).with_name("program_texts.py")
SECONDS = 0.3
"""How long each function is called."""
TOLERANCE = 1e-4
"""How far a gradient may be from differences, relatively."""


def texts() -> dict[str, Text]:
    """The programs as a user's, under a file name of their own: what lies in the package is no
    user's program, and is never staged."""
    source, name = TEXTS.read_text(encoding="utf-8"), TEXTS.name
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    namespace: dict[str, Any] = {"__name__": "program_texts"}
    exec(compile(source, name, "exec"), namespace)
    found: dict[str, Text] = namespace["texts"]()
    return found


def best(function: Callable[..., Any], arguments: Sequence[Any]) -> float:
    """The least processor time of a call, in seconds."""
    found, end = math.inf, perf_counter() + SECONDS
    while perf_counter() < end or found == math.inf:
        start = process_time()
        function(*arguments)
        found = min(found, process_time() - start)
    return found


def first(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, float]:
    """The result of a first call, and the seconds that it took."""
    start = perf_counter()
    return function(*arguments), perf_counter() - start


def slope(function: Callable[..., Any], arguments: Sequence[Any], along: Sequence[Any]) -> float:
    """A central difference."""
    step = 1e-6
    ends = [
        function(*[x + sign * step * d for x, d in zip(arguments, along, strict=True)])
        for sign in (1, -1)
    ]
    return float(ends[0] - ends[1]) / (2 * step)


def row(name: str, text: Text) -> list[str]:
    """A line of the table."""
    function, arguments = text
    theirs = numba.njit(function)
    expected = theirs(*arguments)
    ours = jit(function)
    result, traced = first(ours, arguments)
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    both = jit(value_and_grad(text.total, tuple(range(len(arguments)))))
    (_, gradient), derived = first(both, arguments)
    rng = np.random.default_rng(1)
    along = [rng.standard_normal(np.shape(x)) for x in arguments]
    difference = slope(lambda *a: np.sum(theirs(*a) ** 2), arguments, along)
    mine = sum(float(np.sum(g * d)) for g, d in zip(gradient, along, strict=True))
    if abs(mine - difference) > TOLERANCE * max(1.0, abs(difference)):
        raise AssertionError(f"{name}: slope {mine}, by differences {difference}")
    times = [best(f, arguments) for f in (theirs, ours, both)]
    return [
        name,
        *[f"{1e3 * t:.3f}" for t in times],
        f"{times[1] / times[0]:.2f}",
        f"{times[2] / times[0]:.1f}",
        f"{traced:.2f}",
        f"{derived:.2f}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The table on the standard output."""
    known = texts()
    parser = argparse.ArgumentParser(prog="python -m tracegrad.bench.programs", description=__doc__)
    parser.add_argument("--program", action="append", choices=list(known), metavar="NAME")
    options = parser.parse_args(arguments)
    headings = ["program", "Numba, ms", "function, ms", "value and gradient, ms"]
    headings += ["function / Numba", "v&g / Numba", "first call, s", "first v&g, s"]
    sys.stdout.write(f"| {' | '.join(headings)} |\n|---|{'---:|' * (len(headings) - 1)}\n")
    for name, text in known.items():
        if options.program is None or name in options.program:
            sys.stdout.write(f"| {' | '.join(row(name, text))} |\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
