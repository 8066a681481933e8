"""Backward passes inside backward passes: each takes some of Python's stack, so from some depth on
the next one gets a thread of its own.

That is how torch's engine does it, too. The thread has the modes of the one that waits for it.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

from ..autograd.anomaly_mode import ANOMALY
from ..ir.dispatch import STATE
from .mode import MODE
from .modes import MODES
from .saved import SAVING

T = TypeVar("T")
IN_ONE_THREAD = 25
"""So many passes, one inside of the other, run in one thread: some eight frames each, and those of
the hooks between them."""
MOST = 10_000
"""More are taken for a recursion without end."""


def elsewhere(run: Callable[[], T], depth: int) -> T:
    """`run()` in another thread with the modes of this one, which waits."""
    if depth > MOST:
        raise RecursionError(
            f"backward: more than {MOST:,} backward passes are open, "
            "each started inside of the one before. A hook or the backward of an autograd.Function "
            "calls backward on what leads to itself."
        )
    modes, context, inference = (
        [dict(vars(local)) for local in MODES],
        contextvars.copy_context(),
        MODE.inference,
    )
    hooks, anomaly = (SAVING.pairs, SAVING.refused), (ANOMALY.enabled, ANOMALY.check_nan)
    found: list[T] = []
    failed: list[BaseException] = []

    def work() -> None:
        for local, mode in zip(MODES, modes, strict=True):
            vars(local).update(mode)
        # This is noted for all threads to see, and what is the task's is this thread's as well.
        STATE.special, MODE.inference = STATE.special, inference
        (SAVING.pairs, SAVING.refused), (ANOMALY.enabled, ANOMALY.check_nan) = hooks, anomaly
        try:
            found.append(run())
        except BaseException as error:
            failed.append(error)
        finally:
            STATE.special = 0

    thread = threading.Thread(target=context.run, args=(work,), name="tracegrad: nested backward")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


__all__ = ["IN_ONE_THREAD", "elsewhere"]
