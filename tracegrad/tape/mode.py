"""The state that the modes of `grad_mode.py` set: whether operations are recorded, and whether
results may ever be.

Modes are of the task: a block around an `await` holds in its own steps (contextvars), where the
variable of a thread would hold for all that the thread runs meanwhile. Without tasks the context is
the thread's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

T = TypeVar("T")

OFF: set[int] = set()
"""Not empty while some task or thread does not record: as long as it is, which is quick to see,
nobody need look at its mode."""


class _Off:
    """What a context holds that does not record: false, and noted in `OFF` as long as any context
    holds it."""

    __slots__ = ()

    def __del__(self, forget: Callable[[int], None] = OFF.discard) -> None:
        forget(id(self))

    def __bool__(self) -> bool:
        return False


RECORDING: ContextVar[Any] = ContextVar("tracegrad.grad_mode", default=True)
"""True, or what `not_recording` makes."""
RECORDS = RECORDING.get
"""Whether operations are recorded here: true or false, for code that is written out."""
INFERENCE: ContextVar[int] = ContextVar("tracegrad.inference_mode", default=0)
"""The thread in which the task is in inference mode, or 0: another thread that is handed the
context is not, since what counts open modes (`STATE.special`) is the thread's."""


def not_recording() -> Any:
    """What a context holds that does not record."""
    off = _Off()
    OFF.add(id(off))
    return off


class OfTask(Generic[T]):
    """An attribute that is the task's, in the thread that set it, as `INFERENCE` is."""

    def __init__(self, default: T) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.variable: ContextVar[tuple[int, T]] = ContextVar(
            f"tracegrad.{owner.__name__}.{name}", default=(0, self.default)
        )

    def __get__(self, holder: Any, owner: type) -> T:
        thread, value = self.variable.get()
        return value if thread == threading.get_ident() else self.default

    def __set__(self, holder: Any, value: T) -> None:
        self.variable.set((threading.get_ident(), value))


class Mode:
    """What is per task."""

    @property
    def enabled(self) -> bool:
        """Whether operations are recorded."""
        return bool(RECORDS())

    @enabled.setter
    def enabled(self, enabled: bool) -> None:
        if not enabled:
            if RECORDS():
                RECORDING.set(not_recording())
        else:
            RECORDING.set(True)

    @property
    def inference(self) -> bool:
        """Whether results may never be recorded."""
        return INFERENCE.get() == threading.get_ident()

    @inference.setter
    def inference(self, inference: bool) -> None:
        INFERENCE.set(threading.get_ident() if inference else 0)


MODE = Mode()
