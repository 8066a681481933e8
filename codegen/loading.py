"""One thread at a time compiles, and no process is forked meanwhile: a child would find Numba and
LLVM (or a module that is being imported) in the middle of their work, and their locks held by a
thread that it does not have. A fork waits for the function that is being compiled."""

from __future__ import annotations

import gc
import importlib
import importlib.util

# What waits at a fork waits in the order opposite to that of registration, and compiling logs.
import logging  # noqa: F401
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, TypeVar

from .locks import lock

T = TypeVar("T")
COMPILING = lock()
LOADING = lock()
"""Held while a module is loaded on first use; the last lock of ours that a thread takes."""
PATIENCE = 120.0
"""Seconds that a fork waits at most; what then still compiles is waiting for something itself."""
_HELD: list[list[Any]] = []
_TURNED_OFF: set[int] = set()
"""The threads that have turned the collection of garbage off."""
ASKED = threading.local()
"""`frame`: in a thread that works for another one, where that one waits."""


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage is collected meanwhile: with all of Numba's objects alive a collection takes 0.13
    s, and compiling small programs less."""
    # Off because another thread is in here is no wish of the user's.
    ours, me = gc.isenabled() or bool(_TURNED_OFF), threading.get_ident()
    try:
        if ours:
            _TURNED_OFF.add(me)
            gc.disable()
        yield
    finally:
        if ours:
            # An interrupt may come behind any call, so this one is the first.
            gc.enable()
            _TURNED_OFF.discard(me)


def uninterrupted(run: Callable[[], T]) -> T:
    """`run()` in a thread of its own. KeyboardInterrupt reaches the main thread only, which stops
    waiting at once, while the work is done to its end: neither Numba nor its import could go on
    from the middle of it."""
    if COMPILING._is_owned():
        return run()
    found: list[T] = []
    failed: list[BaseException] = []
    waiting = sys._getframe(1)

    def work() -> None:
        ASKED.frame = waiting
        with COMPILING:
            try:
                found.append(run())
            except BaseException as error:
                failed.append(error)

    thread = threading.Thread(target=work, name="tracegrad: compiler")
    try:
        thread.start()
    except RuntimeError:
        # The system has no more threads, or the process is ending.
        work()
    else:
        thread.join()
    if failed:
        raise failed[0]
    return found[0]


@cache
def imported(name: str, package: str | None = None) -> ModuleType:
    """A module that is loaded at its first use, whichever thread needs it first. One that is there
    is not waited for while another thread compiles."""
    found = sys.modules.get(importlib.util.resolve_name(name, package))
    if found is not None and not getattr(found.__spec__, "_initializing", False):
        return found
    return uninterrupted(lambda: importlib.import_module(name, package))


class Late:
    """A module that is loaded where something of it is first asked for, under its full name. What
    was asked for once is an attribute of this object, found as fast as a module's."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(load(self.__name__), name)
        setattr(self, name, value)
        return value

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}, loaded on first use>"


def load(name: str) -> ModuleType:
    """A module by its full name; no process is forked while it is loaded."""
    with LOADING:
        return importlib.import_module(name)


def _wait() -> None:
    # In the order in which compiling takes them; what compiles takes no other lock of ours while it
    # has these.
    numba = getattr(sys.modules.get("numba.core.compiler_lock"), "global_compiler_lock", None)
    wanted = [COMPILING, LOADING] if numba is None else [COMPILING, numba._lock, LOADING]
    _HELD.append([one for one in wanted if one.acquire(timeout=PATIENCE)])


def _go_on() -> None:
    for one in reversed(_HELD.pop()):
        one.release()


def _collect_again() -> None:
    # A child has no thread that would turn it on again.
    if _TURNED_OFF:
        _TURNED_OFF.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_go_on)
    os.register_at_fork(after_in_child=_collect_again)

__all__ = ["ASKED", "COMPILING", "LOADING", "Late", "imported", "load", "uninterrupted"]
