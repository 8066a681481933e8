"""Arrays that are read-only for a while, so that a write into one of them is an error at its line
and no effect that is lost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Arrays = list["np.ndarray[Any, Any]"]


def lock(arrays: Iterable[np.ndarray[Any, Any]]) -> tuple[Arrays, Arrays]:
    """Make arrays read-only: those that were writable; and those that stay writable, since nobody
    could make them so again: views of what was locked after they were made."""
    writable = [x for x in arrays if x.flags.writeable]
    locked = [x for x in writable if _unlocks(x)]
    open_ = [x for x in writable if not _unlocks(x)]
    for x in locked:
        x.flags.writeable = False
    return locked, open_


def _unlocks(x: np.ndarray[Any, Any]) -> bool:
    base = x.base
    return base.flags.writeable if isinstance(base, np.ndarray) else True


def unlock(arrays: Iterable[np.ndarray[Any, Any]]) -> None:
    """Make arrays writable again that `lock` made read-only: what others show before these."""
    waiting = list(arrays)
    while waiting:
        left = []
        for x in waiting:
            try:
                x.flags.writeable = True
            except ValueError:
                left.append(x)
        if len(left) == len(waiting):
            break
        waiting = left


__all__ = ["Arrays", "lock", "unlock"]
