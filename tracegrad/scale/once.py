"""Compiled once on a machine: workers that begin together do not all compile the same."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator

WAIT = 120.0
"""Seconds after which somebody who holds the lock is taken for hanging: then it is compiled here
too, which is slow and not wrong."""


@contextlib.contextmanager
def alone_on_host() -> Iterator[None]:
    """A block that one process of this user on this machine is in at a time; the lock of a process
    that ends is free."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    name = f"tracegrad-compiling-{os.getuid()}"
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(os.path.join(tempfile.gettempdir(), name), flags, 0o600)
    except OSError:
        yield
        return
    try:
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                time.sleep(0.01)
            else:
                break
        yield
    finally:
        os.close(descriptor)


__all__ = ["alone_on_host"]
