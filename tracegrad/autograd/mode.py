"""The state that the modes of `grad_mode.py` set: whether operations are recorded, and whether results may ever be."""

from __future__ import annotations

import threading
from operator import attrgetter

OFF: set[int] = set()
"""The threads that do not record: while the set is empty, which is quick to see, no thread need look at its mode."""


class Mode(threading.local):
    """What is per thread."""

    _enabled = True
    inference = False

    def _enable(self, enabled: bool) -> None:
        self._enabled = enabled
        (OFF.discard if enabled else OFF.add)(threading.get_ident())

    enabled = property(attrgetter("_enabled"), _enable, doc="Whether operations are recorded.")


MODE = Mode()
