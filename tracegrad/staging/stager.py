"""When a function that is traced as it is gets staged although nothing stops it: its loops would be
written out too far, or for one size only."""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from types import CodeType, FrameType

from ..ir.trace import Trace
from .functions import MADE, version_of
from .said import place_of
from .session import PARTS, Restart, current

LOG = logging.getLogger("tracegrad")
_PACKAGE = __name__.partition(".")[0]
_ASKED = (
    "numpy",
    *[f"{_PACKAGE}.{n}" for n in ("sizes", "ir.trace", "ir.of_sizes", "tensor")],
)
"""What stands between a question of the user's and the trace."""


class Limit:
    """Where a loop of known count is written out no longer."""

    nodes = 200
    """From so many operations on it is asked"""
    steps = 12
    """whether one line was met so often, in a loop."""


def written_out(trace: Trace) -> int:
    """Whether a trace grows by loops that are written out: then what does is staged, and
    the trace starts again. Else the number of operations at which to ask next."""
    session, count = current(), len(trace.nodes)
    if session is None or count < Limit.nodes:
        return Limit.nodes
    often = Counter(n.where for n in trace.nodes)
    frame: FrameType | None = sys._getframe(1)
    users: list[CodeType] = []
    found = False
    while frame is not None and frame is not trace.opened:
        code = frame.f_code
        if session.is_users(code) and code not in MADE and code.co_name not in PARTS:
            users.append(code)
            line = f"{os.path.basename(code.co_filename)}:{frame.f_lineno}"
            if code not in session.staged and often[line] >= Limit.steps:
                version = version_of(code)
                found = found or (version.code is not None and version.loops_at(frame.f_lineno))
        frame = frame.f_back
    if not found:
        return 2 * count
    if type(session.staged) is frozenset:
        session.open()
    for code in users:
        if version_of(code).code is not None:
            LOG.info("%s is staged: a loop in it is long", place_of(code))
            session.staged.add(code)
    raise Restart


def pinned(trace: Trace) -> None:
    """Where a function of the user's needs a size as a number, staged it may do without: what makes
    arrays of a size and loops of so many steps is rewritten. Then the trace starts again. So are
    functions that staged ones call."""
    session = current()
    if session is None:
        return
    frame: FrameType | None = sys._getframe(1)
    users: list[CodeType] = []
    called, direct = False, True
    while frame is not None and frame is not trace.opened:
        code = frame.f_code
        if session.is_users(code) and code not in MADE and code.co_name not in PARTS:
            users.append(code)
        elif not users:
            direct = direct and _asks_for_users(frame)
        called = called or code in MADE
        frame = frame.f_back
    if not users or users[0] in session.staged:
        return
    version = version_of(users[0])
    if version.code is None or not (direct or version.loops or called):
        return
    if type(session.staged) is frozenset:
        session.open()
    LOG.info("%s is staged: it needs a size as a number", place_of(users[0]))
    session.staged |= {c for c in users if version_of(c).code is not None}
    raise Restart


def _asks_for_users(frame: FrameType) -> bool:
    """Whether a frame belongs to a question of the user's (`len(x)`, `if n > k:` in NumPy), not to
    an operation that needs the number itself."""
    name = str(frame.f_globals.get("__name__", ""))
    return name.startswith(_ASKED) or frame.f_code.co_name in ("__len__", "__bool__")


class _Stager:
    grown = staticmethod(written_out)
    pinned = staticmethod(pinned)


STAGER = _Stager()


__all__ = ["STAGER", "Limit"]
