"""All modes of a thread and its task: put back where an interrupt hit what closes one.

Python runs the handler of Ctrl-C between any two steps of a program, the first of `__exit__`
included: then a block's mode stays open. So who opens traces and levels puts back what it found if
a KeyboardInterrupt comes through. Modes are therefore never changed in place: lists are replaced by
others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..autograd.anomaly_mode import ANOMALY
from ..ir.dispatch import STATE
from ..sizes import SIZES
from .mode import INFERENCE, RECORDING, RECORDS
from .saved import SAVING

F = TypeVar("F", bound=Callable[..., Any])
MODES: list[Any] = [STATE, SIZES, SAVING, ANOMALY]
"""What is kept for each thread."""


def restoring(function: F) -> F:
    """The function, after which the modes are what they were before, wherever in it an interrupt
    arrives."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        before = [vars(local).copy() for local in MODES]
        recording, inference, pairs = RECORDS(), INFERENCE.get(), SAVING.pairs
        anomaly = ANOMALY.enabled, ANOMALY.check_nan
        try:
            return function(*args, **kwargs)
        except KeyboardInterrupt:
            for local, mode in zip(MODES, before, strict=True):
                vars(local).update(mode)
            STATE.special = STATE.special  # noted for all threads to see
            RECORDING.set(recording)
            INFERENCE.set(inference)
            SAVING.pairs = pairs
            ANOMALY.enabled, ANOMALY.check_nan = anomaly
            raise

    return call  # type: ignore[return-value]


__all__ = ["MODES", "restoring"]
