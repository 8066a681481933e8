"""What takes longer than two seconds and has parts is shown on the terminal: how many of the shards
of an evaluation, say, are done. TRACEGRAD_PROGRESS=0 or 1 decides it, as for first calls.

One thread looks now and then at what is running, so that an evaluation pays for nothing but an
entry in a list.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from .._codegen import loading, locks
from ..compiled.first_calls import PATIENCE, wanted

EVERY = 0.25
"""Seconds between two looks."""


class UnderWay:
    """Work under way, as a block: of how many parts (None: nobody knows), how many are done, and
    what the parts are called."""

    def __init__(self, name: str, total: int | None, parts: str = "shards") -> None:
        self.name, self.total, self.parts = name, total, parts
        self.begun = time.monotonic()
        self.done = 0
        self.look: Callable[[], int] = lambda: self.done
        """How many are done, where the engine knows it without being told."""
        self.bar: Any = None

    def __enter__(self) -> Self:
        if wanted():
            WATCHER.begin()
            WATCHER.running.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        if WATCHER.running:
            WATCHER.end(self)

    def one(self) -> None:
        """One more is done."""
        self.done += 1

    def text(self) -> str:
        """What there is to say, in a line."""
        of = "" if self.total is None else f" of {self.total:,}"
        seconds = time.monotonic() - self.begun
        return f"tracegrad: {self.name}: {self.look():,}{of} {self.parts}, {seconds:.0f} s"


class Watcher:
    """The thread that looks, and what it has put on the terminal."""

    def __init__(self) -> None:
        self.running: list[UnderWay] = []
        self.lock = locks.lock()
        self.display: Any = None
        self.width = 0
        self.owner = 0

    def begin(self) -> None:
        """Look, from now on."""
        if self.owner != os.getpid():
            # A forked process has no such thread.
            self.owner = os.getpid()
            self.running.clear()
            threading.Thread(target=self._follow, name="tracegrad parts", daemon=True).start()

    def _follow(self) -> None:
        while True:
            time.sleep(EVERY)
            with self.lock, contextlib.suppress(Exception):
                # Nobody's evaluation fails since its terminal went away.
                for one in list(self.running):
                    if time.monotonic() - one.begun >= PATIENCE:
                        self._show(one)

    def _show(self, one: UnderWay) -> None:
        if self.display is None:
            self.display = _bars() or False
        if not self.display:
            text = one.text()
            sys.stderr.write("\r" + text.ljust(self.width))
            sys.stderr.flush()
            self.width = len(text)
            one.bar = text
            return
        if one.bar is None:
            one.bar = self.display.add_task(one.name, total=one.total)
        self.display.update(one.bar, completed=one.look(), refresh=True)

    def end(self, one: UnderWay) -> None:
        """It is no more; what was shown of it goes."""
        with contextlib.suppress(ValueError):
            self.running.remove(one)
        if one.bar is None:
            return
        with self.lock, contextlib.suppress(Exception):
            if self.display:
                self.display.remove_task(one.bar)
                if not self.display.tasks:
                    self.display.stop()
                    self.display = None
            else:
                sys.stderr.write("\r" + " " * self.width + "\r")
                sys.stderr.flush()
                self.width = 0


def _bars() -> Any:
    """Bars on a terminal, where rich is there."""
    if not sys.stderr.isatty():
        return None
    try:
        rich: Any = loading.imported("rich.progress")
        console: Any = loading.imported("rich.console").Console(stderr=True)
    except ImportError:
        return None
    made = rich.Progress(
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        console=console,
        transient=True,
        auto_refresh=False,
    )
    made.start()
    return made


WATCHER = Watcher()


__all__ = ["WATCHER", "UnderWay"]
