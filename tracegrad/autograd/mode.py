"""The state that the modes of `grad_mode.py` set: whether operations are recorded, and whether results may ever be."""

from __future__ import annotations

import threading


class Mode(threading.local):
    """What is per thread."""

    enabled = True
    inference = False


MODE = Mode()
