"""How much of what was compiled is kept in memory."""

from __future__ import annotations

from typing import TypeVar

from .._codegen import locks

K = TypeVar("K")
V = TypeVar("V")

MOST_ENTRIES = 1024
"""Signatures of one function that are kept in memory."""
MOST_FORMER = 3
"""Entries per signature that are kept for when the surroundings come back, as where gradients are
there at every second call."""
MOST_GENERIC = 64
"""Size-generic entries per signature, where each holds for a few sizes only."""
MOST_CALLERS = 32
"""Callers that are tried in turn, 0.1 us each; more signatures of fixed sizes take the long way, 20
us."""
MOST_DERIVED = 64
"""Transforms of one jitted function (`grad`, `vmap` with these axes, ...) that are kept."""
MOST_REASONS = 64
"""So many of the latest traces of a function are remembered with their reasons."""
RETRACED = 16
"""So many times the surroundings of one signature may change before a warning says so."""


_CHANGING = locks.lock()


class Kept(dict[K, V]):
    """A dict of the newest so many keys, which several threads may change at once."""

    def __init__(self, most: int = MOST_ENTRIES) -> None:
        self.most = most

    def __setitem__(self, key: K, value: V) -> None:
        with _CHANGING:
            super().__setitem__(key, value)
            if len(self) > self.most:
                del self[next(iter(self))]

    def setdefault(self, key: K, default: V) -> V:
        """The value of a key, which is made where there is none."""
        with _CHANGING:
            if key not in self:
                self[key] = default
            return self[key]


__all__ = [
    "MOST_CALLERS",
    "MOST_DERIVED",
    "MOST_ENTRIES",
    "MOST_FORMER",
    "MOST_GENERIC",
    "MOST_REASONS",
    "RETRACED",
    "Kept",
]
