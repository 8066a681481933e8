"""Locks that a forked process finds free: the threads that held them are not there.

A lock that the forking thread itself holds stays with it, since that thread goes on in the child.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

_ALL: WeakSet[Any] = WeakSet()


def lock() -> Any:
    """A `threading.RLock` that is free in a child process, unless the forking thread holds it."""
    made: Any = threading.RLock()
    _ALL.add(made)
    return made


def _free() -> None:
    for one in list(_ALL):
        if not one._is_owned():
            one._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)

__all__ = ["lock"]
