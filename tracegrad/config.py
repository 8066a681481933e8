"""Settings of the process: where compiled code is kept."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_dir() -> Path | None:
    """The folder of compiled code: TRACEGRAD_CACHE_DIR, else the platform's user cache; None where it is set to "" (memory only)."""
    chosen = os.environ.get("TRACEGRAD_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    return Path(platformdirs.user_cache_dir("tracegrad"))
