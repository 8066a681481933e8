"""Tracing is done by one thread at a time, and what is known of it while it goes on: which
functions are being traced.

Two functions that call each other may be called first by two threads, and two threads may train the
same weights: a lock for each function would let the ones wait for each other for ever, and the
others put back what they found in the middle of a change.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._codegen import locks
from ..errors import TracegradError
from ..tape.modes import MODES

TRACING = locks.lock()
PATIENCE = 2.0
"""Seconds that a thread waits at most: who traces for longer may be waiting for this very
thread."""
MOST_NESTED = 16
"""How often a function may be traced for the same types while it is traced for them."""


class _BeingTraced(threading.local):
    """The signatures that this thread traces, innermost last."""

    def __init__(self) -> None:
        self.keys: list[Any] = []


_OPEN = _BeingTraced()
MODES.append(_OPEN)


@contextmanager
def alone() -> Iterator[None]:
    """A block in which no other thread traces."""
    taken: list[bool] = []
    try:
        # In one step, of which an interrupt finds nothing done or all.
        taken.extend(map(TRACING.acquire, (True,), (PATIENCE,)))
        yield
    finally:
        if any(taken):
            TRACING.release()


@contextmanager
def nested(function: Any, types: Any, name: str) -> Iterator[None]:
    """The trace of a function for these types; a TracegradError where it calls itself without
    end."""
    key = (id(function), types)
    if _OPEN.keys.count(key) >= MOST_NESTED:
        raise TracegradError(
            f"jit: {name} calls itself again "
            f"and again with arguments of the same types {', '.join(map(str, types))}, "
            "so tracing it does not end. A jitted function may call itself on smaller arrays; "
            "a number of steps that values decide is a loop: tg.while_loop."
        )
    try:
        _OPEN.keys = [*_OPEN.keys, key]
        yield
    except RecursionError:
        if _OPEN.keys[0] is not key:
            raise
        raise TracegradError(
            f"jit: {name} calls itself or others too deeply to be traced: "
            f"Python allows {sys.getrecursionlimit()} nested calls. Halve the array at each step, "
            "or write the recursion as a loop. Where an argument that is a plain number ends it "
            '(if n < 2), make that static: tg.jit(f, static_argnames="n").'
        ) from None
    finally:
        # By what it is: after an interrupt this may come late, or be done.
        _OPEN.keys = [one for one in _OPEN.keys if one is not key]


__all__ = ["alone", "nested"]
