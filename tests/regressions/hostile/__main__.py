"""The sweep of one group, in a process of its own: what it calls may change settings of the process.

Usage: python -m tests.regressions.hostile GROUP   (prints a JSON object)
"""

from __future__ import annotations

import collections
import json
import sys
import warnings

import numpy as np

from .targets import calls, targets
from .verdict import outcome, shown


def sweep(group: str) -> dict[str, object]:
    """The group's names, those without arguments that work, how often each verdict came, and the internal errors."""
    names, lame, internal = [], [], []
    seen = collections.Counter[str]()
    for target in targets(group):
        names.append(target.name)
        if not target.works:
            lame.append(target.name)
        for what, args, kwargs in calls(target):
            kind, error = outcome(target, args, kwargs)
            seen[kind] += 1
            if kind == "internal":
                internal.append((target.name, f"{what}: {shown(error)}"))
    return {"names": names, "lame": lame, "seen": seen, "internal": internal}


with warnings.catch_warnings(), np.errstate(all="ignore"):
    warnings.simplefilter("ignore")
    found = sweep(sys.argv[1])
print(json.dumps(found))
