"""Tracing is done by one thread at a time, and what is known of it while it goes on: which
functions are being traced.

Two functions that call each other may be called first by two threads, and two threads may train the
same weights: a lock for each function would let the ones wait for each other for ever, and the
others put back what they found in the middle of a change.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._codegen import locks
from ..errors import TracegradError
from ..ir.lines import is_installed
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
    except RecursionError as error:
        if _OPEN.keys[0] is not key:
            raise
        raise TracegradError(
            f"{_recursive(error) or f'jit: {name}'} calls itself or others too deeply to be "
            f"traced: Python allows {sys.getrecursionlimit()} nested calls. A condition on traced "
            "values cannot end a recursion, since both of its branches are traced. Give it a "
            "depth that is a plain number (f(x, depth - 1), if depth == 0), halve the array at "
            "each step, or write it as a loop with a stack: stack = [first]; while stack: "
            "a = stack.pop(); ...; stack.append(b). Where an argument that is a plain number ends "
            'it (if n < 2), make that static: tg.jit(f, static_argnames="n").'
        ) from None
    finally:
        # By what it is: after an interrupt this may come late, or be done.
        _OPEN.keys = [one for one in _OPEN.keys if one is not key]


def _recursive(error: RecursionError) -> str:
    """The function of the user's that was called most often, and its line."""
    called: Counter[tuple[str, str]] = Counter()
    lines: dict[tuple[str, str], int] = {}
    for frame, _ in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        if not is_installed(code) and not code.co_name.startswith("<"):
            key = code.co_filename, code.co_name
            called[key] += 1
            lines[key] = min(lines.get(key, code.co_firstlineno), code.co_firstlineno)
    for (file, name), times in called.most_common(1):
        if times > 2:
            return f"{os.path.basename(file)}:{lines[file, name]}: {name}"
    return ""


__all__ = ["alone", "nested"]
