"""Levels of forward mode: each jvp opens one, so that nested ones do not mix their tangents."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from .dispatch import STATE

_numbers = itertools.count(1)


@contextmanager
def forward_level() -> Iterator[int]:
    """Open a level; its number is larger than that of every enclosing one."""
    level = next(_numbers)
    previous = STATE.levels
    STATE.levels = (*previous, level)
    STATE.special += 1
    try:
        yield level
    finally:
        STATE.levels = previous
        STATE.special -= 1
