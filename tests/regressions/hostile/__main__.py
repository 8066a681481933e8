"""The sweep of one group, in a process of its own: what it calls may change settings of the
process.

Usage: python -m tests.regressions.hostile GROUP [--full]   (prints a JSON object)
"""

from __future__ import annotations

import collections
import json
import sys
import warnings

import numpy as np

from .target import calls
from .targets import targets
from .verdict import BAD, outcome, shown


def sweep(group: str, full: bool) -> dict[str, object]:
    """The group's names, those without arguments that work, how often each verdict came, and the
    calls of each bad one."""
    names, lame = [], []
    found: dict[str, list[tuple[str, str]]] = {kind: [] for kind in BAD}
    seen = collections.Counter[str]()
    for t in targets(group):
        names.append(t.name)
        if not t.works:
            lame.append(t.name)
        for what, args, kwargs in calls(t, full):
            kind, result = outcome(t, what, args, kwargs)
            seen[kind] += 1
            if kind in found:
                found[kind].append((t.name, f"{what}: {shown(result)}"))
    return {"names": names, "lame": lame, "seen": seen, **found}


with warnings.catch_warnings(), np.errstate(all="ignore"):
    warnings.simplefilter("ignore")
    found = sweep(sys.argv[1], "--full" in sys.argv)
print(json.dumps(found))
