"""Settings of the process: where compiled code is kept, and the default dtype."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np


def cache_dir() -> Path | None:
    """The folder of compiled code: TRACEGRAD_CACHE_DIR, else the platform's user cache; None where
    it is set to "" (memory only)."""
    chosen = os.environ.get("TRACEGRAD_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    import platformdirs  # which only first compilations need

    try:
        return Path(platformdirs.user_cache_dir("tracegrad"))
    except RuntimeError:
        # Nobody knows the user's home folder: what opens the folder will say so.
        return Path("~", "tracegrad")


_default = np.dtype(np.float64)


def default_dtype() -> np.dtype[Any]:
    """The dtype of new tensors that are not told another."""
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Make `dtype` (float32 or float64) the dtype of new tensors that are not told another; arrays
    keep their own.

    >>> import tracegrad as tg
    >>> tg.set_default_dtype(tg.float64)
    """
    global _default
    chosen = np.dtype(dtype)
    if chosen not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise TypeError(f"the default dtype must be float32 or float64, not {chosen}")
    _default = chosen


_deterministic = True


def deterministic() -> bool:
    """Whether results on a device must have the same bits in every run."""
    return _deterministic


def use_deterministic_algorithms(mode: bool) -> None:
    """Whether functions compiled from now on must give the same bits in every run on a device (the
    default).

    Without, additions to elements that several threads may meet in (`index_add`, the gradient of
    `x[indices]`) are atomic and come in any order: faster, with last bits that differ from run to
    run. On the processor results never depend on such an order.

    >>> import tracegrad as tg
    >>> tg.use_deterministic_algorithms(True)
    """
    global _deterministic
    _deterministic = bool(mode)
