"""The sweep of groups, each in a process of its own: what it calls may change settings of the
process.

Usage: python -m tests.regressions.hostile [--full] [--names] GROUP ...

Prints a JSON object a line. --full: all calls, not every second (inside of transforms:
every 24th); --names: what would be called, without calls.
"""

from __future__ import annotations

import collections
import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .target import calls
from .targets import targets
from .verdict import BAD, outcome, shown

LIMIT = 20.0
"""Seconds that a call may take."""


class Hangs(BaseException):
    """A call that does not come back."""


def limited(call: Callable[[], tuple[str, Any]]) -> tuple[str, Any]:
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        return call()
    except Hangs as error:
        return "hangs", error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def give_up(*_: Any) -> None:
    raise Hangs(f"no result after {LIMIT:.0f} s")


def sweep(group: str, full: bool, only_names: bool) -> dict[str, object]:
    """The group's names, those without arguments that work, how often each verdict came, and the
    calls of each bad one: function, what was wrong, and what came of it."""
    names, lame = [], []
    found: dict[str, list[tuple[str, str, str]]] = {kind: [] for kind in BAD}
    seen, reasons = collections.Counter[str](), collections.Counter[str]()
    start = time.perf_counter()
    for t in targets(group):
        names.append(t.name)
        if not t.works:
            lame.append(t.name)
        if only_names:
            continue
        for what, args, kwargs in calls(t, full):
            kind, result = limited(lambda t=t, w=what, a=args, k=kwargs: outcome(t, w, a, k))
            seen[kind] += 1
            if kind == "excused":
                reasons[result] += 1
            if kind in found:
                found[kind].append((t.name, what, shown(result)))
    seconds = time.perf_counter() - start
    return {
        "group": group,
        "names": names,
        "lame": lame,
        "seen": seen,
        "reasons": reasons,
        "seconds": seconds,
        **found,
    }


full, only_names = "--full" in sys.argv, "--names" in sys.argv
for group in [a for a in sys.argv[1:] if not a.startswith("--")]:
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, give_up)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = sweep(group, full, only_names)
        print(json.dumps(found), flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        sys.exit(f"the sweep of {group!r} ended with status {os.waitstatus_to_exitcode(status)}")
