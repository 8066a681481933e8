"""Exceptions behind conditions on traced values: the number of the first one is handed through
branches and loops like a variable, and checked where the function ends."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..checks.ranges import is_out_of_range
from ..errors import ShapeError
from ..ir.dispatch import STATE
from ..ir.lines import is_installed
from ..ir.trace import inside_of
from .elements import Elements
from .pending import NONE, FailingPlace, fail, is_failing
from .places import traced, unknown
from .regions import Raised, Refused
from .session import Session, current


def reached(session: Session, call: Callable[[], Any]) -> Callable[[], Any]:
    """A branch or body in which Python itself may raise, for an index that is known to be out of
    range or a division of numbers: as if `raise` stood there, since it may never be reached."""

    def run() -> Any:
        try:
            return call()
        except (*RAISED_BY_PYTHON, ShapeError) as error:
            place = _raised_at(error)
            if place is None or session.tries:
                raise
            fail(session, error, place, True)
        raise Raised

    return run


RAISED_BY_PYTHON = (IndexError, KeyError, ZeroDivisionError)
FOR_THE_PROGRAM = {Elements.get_item.__code__, Elements.set_item.__code__}
"""Lines that do what stands in a line of the user's."""


def _raised_at(error: BaseException) -> tuple[str, int, str] | None:
    """The innermost line of the user's, where Python raised an exception, or the library one that
    says what is wrong with the program; None of all others."""
    steps = list(traceback.walk_tb(error.__traceback__))
    found = [k for k, (frame, _) in enumerate(steps) if not is_installed(frame.f_code)]
    if not found:
        return None
    below = [frame.f_code for frame, _ in steps[found[-1] + 1 :]]
    by_python = type(error) in RAISED_BY_PYTHON and FOR_THE_PROGRAM.issuperset(below)
    if not (by_python or isinstance(error, ShapeError) or is_out_of_range(error)):
        return None
    frame, line = steps[found[-1]]
    return frame.f_code.co_filename, line, frame.f_code.co_name


def message_of(make: Callable[[], Any]) -> Any:
    """What the user writes for a message, in which traced values stand as what they are."""
    texts = [t.text for t in STATE.traces]
    try:
        return make()
    finally:
        for t, text in zip(STATE.traces, texts, strict=True):
            t.text = text


class Failures:
    """The helpers of `raise`, `assert` and `try`."""

    line_of: Callable[[int], str]
    code: Any

    def raising(self, line: int, make: Callable[[], Any] | None) -> None:
        """Before `raise make()`: where it depends on traced values, the branch ends here."""
        session = current()
        if session is None or not session.regions or make is None:
            return
        body = session.regions[-1]
        with inside_of(body.trace):
            found = message_of(make)
            error = found() if isinstance(found, type) else found
            if not isinstance(error, BaseException):
                return
            self._alone(session, line, "raise")
            fail(session, error, self._place(line), True)
        raise Raised

    def assert_(self, line: int, test: Any, message: Callable[[], Any]) -> None:
        """`assert test, message()`."""
        session = current()
        if session is None or not STATE.traces or not (unknown(test) or session.regions):
            if __debug__ and not test:
                text = message()
                raise AssertionError(*([] if text is None else [text]))
            return
        if not __debug__:
            return
        self.check(line, test, lambda: AssertionError(*_one(message())))

    def check(self, line: int, test: Any, make: Callable[[], BaseException]) -> None:
        """Fail with an exception unless a test holds."""
        session = current()
        assert session is not None
        holds = np.bool_(bool(test)) if not traced(test) else test
        if not traced(test) and holds:
            return
        if traced(test) and test.shape:
            holds = ops.reshape(test, ())
        self._alone(session, line, "assert")
        failed = ops.logical_not(holds) if traced(test) else True
        fail(session, message_of(make), self._place(line), failed)

    def _place(self, line: int) -> tuple[str, int, str]:
        return self.code.co_filename, line, self.code.co_name

    def _alone(self, session: Session, line: int, what: str) -> None:
        if session.tries:
            raise Refused(
                f"{self.line_of(line)}: {what!r} depends on a traced value, and is inside of the "
                f"'try' or 'with' at {session.tries[-1].line}, which could not see the exception: "
                "it is raised when the compiled function has ended. Return a flag, or choose by "
                "'if'."
            )

    def enter(self, line: int, caught: Callable[[], Any] | None = None) -> None:
        """At the start of `try`, which catches these exceptions, and of a `with` that may see
        exceptions."""
        session = current()
        if session is not None:
            kinds = (BaseException,) if caught is None else _kinds(caught)
            session.tries = (*session.tries, Try(self.line_of(line), kinds))

    def leave(self, line: int) -> None:
        """At its end."""
        session = current()
        if session is not None:
            session.tries = session.tries[:-1]


class Try(NamedTuple):
    """An open `try` or `with`."""

    line: str
    kinds: tuple[Any, ...]
    """The exceptions that it may catch."""

    def catches(self, kind: type[BaseException]) -> bool:
        """Whether it may catch such an exception."""
        return any(issubclass(kind, k) for k in self.kinds)


def _kinds(caught: Callable[[], Any]) -> tuple[Any, ...]:
    """The exceptions of the handlers of a `try`, which Python asks for where one is raised."""
    try:
        found = caught()
    except Exception:
        return (BaseException,)
    flat = [k for x in found for k in (x if isinstance(x, tuple) else (x,))]
    return tuple(flat) if all(isinstance(k, type) for k in flat) else (BaseException,)


def _one(text: Any) -> Sequence[Any]:
    return [] if text is None else [text]


__all__ = ["NONE", "FailingPlace", "Failures", "fail", "is_failing", "reached"]
