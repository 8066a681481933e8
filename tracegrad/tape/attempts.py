"""Attempts at a function, of which all but the last are given up while it is being staged: what the
operations of those noted is taken back, and what the last one knew a later run knows as well."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Mark = Callable[[], Callable[[], None]]
"""Remembers what is noted by now: gives a function that forgets what was noted since."""


class Knowing(Protocol):
    """What is known of the functions of a call, some of which are rewritten."""

    def resuming(self) -> Callable[[Callable[[], T]], T]:
        """A way to call a function later on that takes the same functions rewritten."""


class _Attempts(threading.local):
    """Those that go on in this thread, and who keeps notes of what operations do."""

    session: Any = None
    """What is known (`Knowing`), of the outermost call that is going on."""
    frame: FrameType | None = None
    """The call that opened it."""
    refused: tuple[str, CodeType] | None = None
    """Why a value did not become a number, and for the C code of which library function. Some goes
    on after such an error, and ends in another one."""

    def __init__(self) -> None:
        self.marks: tuple[Mark, ...] = ()
        self.open = 0
        """How many attempts began since the innermost keeper of notes did."""

    def resuming(self) -> Callable[[Callable[[], T]], T]:
        """A way to call a function later on as if it were called now."""
        known: Knowing | None = self.session
        return _called if known is None else known.resuming()

    @contextlib.contextmanager
    def noting(self, mark: Mark) -> Iterator[None]:
        """A block whose notes are taken back as far as they are of an attempt that fails."""
        before = self.marks, self.open
        self.marks, self.open = (*self.marks, mark), 0
        try:
            yield
        finally:
            self.marks, self.open = before

    def watched(self, attempt: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The attempt, noticed by those who keep notes."""
        if not self.marks:
            return attempt

        def watched(function: Any) -> Any:
            undo = [mark() for mark in self.marks]
            self.open += 1
            try:
                return attempt(function)
            except BaseException:
                for forget in undo:
                    forget()
                raise
            finally:
                self.open -= 1

        return watched


def _called(call: Callable[[], T]) -> T:
    return call()


ATTEMPTS = _Attempts()

__all__ = ["ATTEMPTS", "Knowing", "Mark"]
