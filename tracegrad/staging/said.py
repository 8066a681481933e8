"""What is said of a function that could not be staged: its errors in the user's words, and why a
function was left as it is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from types import CodeType, TracebackType
from typing import TYPE_CHECKING

from ..errors import ConcretizationError
from ..ir.lines import is_of_library
from ..sizes.owners import LateLength
from ..tape.attempts import ATTEMPTS
from .functions import MADE, version_of

if TYPE_CHECKING:
    from .session import Session


def _line_of(tb: TracebackType | None, session: Session) -> str:
    """The innermost line of the user's at which an error arose, to begin a message."""
    line = ""
    while tb is not None:
        code = tb.tb_frame.f_code
        if code in MADE or session.is_users(code):
            line = f"{os.path.basename(code.co_filename)}:{tb.tb_lineno}: "
        tb = tb.tb_next
    return line


def explained(error: BaseException, session: Session) -> BaseException | None:
    """The error of an attempt, in the user's words where a name was read that a branch or a loop
    left unbound."""
    if isinstance(error, NameError) and session.unbound:
        for name, reason in session.unbound.items():
            if f"'{name}'" in str(error):
                line = _line_of(error.__traceback__, session)
                return ConcretizationError(f"{line}{name!r} is read here, but {reason}")
    if ATTEMPTS.refused is not None and not isinstance(error, ConcretizationError):
        refused, library = ATTEMPTS.refused
        if _passed(error.__traceback__, library):
            return ConcretizationError(refused)
    if isinstance(error, LateLength):
        return ConcretizationError(f"{_line_of(error.__traceback__, session)}{error}")
    if type(error) is not ConcretizationError and isinstance(error, ConcretizationError):
        return ConcretizationError(str(error))
    return None


def _passed(tb: TracebackType | None, code: CodeType) -> bool:
    """Whether an error went through this code."""
    while tb is not None and tb.tb_frame.f_code is not code:
        tb = tb.tb_next
    return tb is not None


def without_source(error: BaseException) -> None:
    """Say of a function that was typed in, or made of a text, why it is not staged."""
    tb = error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename in ("<string>", "<stdin>"):
            error.add_note(f"{place_of(code)} was not staged: its source is not to be had.")
        tb = tb.tb_next


def out_of_reach(error: BaseException, session: Session) -> None:
    """Say of a function that is rewritten, and was run as it is all the same, why that was."""
    tb = error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if code in session.staged and version_of(code).code is not None:
            error.add_note(
                f"{place_of(code)} is called by Python or a library (as an operator, a property, a "
                "callback in an object), not by rewritten code. Call it by name where it is used."
            )
            return
        if is_of_library(code):
            error.add_note(
                f"{place_of(code)} was not staged: it belongs to an installed library. Apply "
                "tg.jit to that function itself, and it is."
            )
        tb = tb.tb_next


def places_of_staged() -> tuple[str, ...]:
    """The functions that are rewritten in the call that is going on, and where they stand."""
    session = ATTEMPTS.session
    return () if session is None else tuple(sorted(map(place_of, session.staged)))


def codes_of_staged() -> tuple[CodeType, ...]:
    """Their code."""
    session = ATTEMPTS.session
    return () if session is None else tuple(sorted(session.staged, key=place_of))


def lines_of_loops(codes: Iterable[CodeType]) -> tuple[str, ...]:
    """The lines of the loops in rewritten code."""
    lines = [
        f"{os.path.basename(code.co_filename)}:{line}"
        for code in codes
        for line in version_of(code).statements
    ]
    return tuple(dict.fromkeys(lines))


def place_of(code: CodeType) -> str:
    return f"{code.co_name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"
