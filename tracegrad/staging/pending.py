"""What a trace knows of exceptions that are behind conditions: the number of the first one, which
branches and loops hand on as they do a variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..ir.dispatch import STATE
from ..ops.check import check, error_text
from .places import MISSING, traced
from .regions import change
from .session import Session

NONE = np.int64(0)


class _Pending:
    """What a trace knows of exceptions: the number, and the texts of all of them."""

    def __init__(self, value: Any, session: Session) -> None:
        self.value, self.session = value, session

    def record(self) -> None:
        """Check the number, at the end of the trace."""
        if traced(self.value) or self.value:
            check(self.value, tuple(self.session.errors))


class FailingPlace:
    """The number of the exception that was raised first; 0 as long as none was."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.name = "an exception"
        self.key: Any = "failing"
        self.lasts = True

    def get(self) -> Any:
        """The number, in the innermost trace that has one."""
        return next((t.failing.value for t in reversed(STATE.traces) if t.failing), NONE)

    def put(self, value: Any) -> None:
        """Set it."""
        trace = STATE.traces[-1]
        trace.failing = None
        if value is not MISSING and value is not self.get():
            trace.failing = _Pending(value, self.session)


def is_failing() -> Any:
    """The condition that an exception was raised before; False where none can have been."""
    found = next((t.failing.value for t in reversed(STATE.traces) if t.failing), NONE)
    return False if found is NONE else ops.not_equal(found, 0)


def fail(session: Session, error: BaseException, place: tuple[str, int, str], where: Any) -> None:
    """From here on the program is failing with this exception, where the condition holds and it is
    not yet."""
    # A change of all open bodies; an error is numbered once, in however many looks.
    failing = FailingPlace(session)
    change(session, failing, session)
    text = error_text(error, *place)
    if text not in session.errors:
        session.errors.append(text)
    number = np.int64(session.errors.index(text) + 1)
    before = failing.get()
    if where is not True:
        number = ops.where(where, number, NONE)
    failing.put(number if before is NONE else ops.where(ops.equal(before, 0), number, before))


OUTGROWN = RuntimeError("a list has outgrown its rows")
"""What ends a loop that is run to see how many rows a list takes."""
NOWHERE = "", 0, ""


def outgrow(session: Session, where: Any) -> None:
    """Before an item is appended: where there is no row for it, the program ends."""
    fail(session, OUTGROWN, NOWHERE, where)


def is_full() -> Any:
    """The condition that there was no row for an item."""
    failing = next((t.failing for t in reversed(STATE.traces) if t.failing), None)
    text = error_text(OUTGROWN, *NOWHERE)
    if failing is None or text not in failing.session.errors:
        return np.bool_(False)
    return ops.equal(failing.value, failing.session.errors.index(text) + 1)


__all__ = ["NONE", "FailingPlace", "fail", "is_failing", "is_full", "outgrow"]
