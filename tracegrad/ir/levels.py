"""Levels of forward mode: each jvp opens one, so that nested ones do not mix their tangents."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from .dispatch import STATE

_numbers = itertools.count(1)


def open_level() -> int:
    """Open a level; its number is larger than that of every enclosing one, and no level ever gets
    it again."""
    level = next(_numbers)
    STATE.special += 1
    STATE.levels = (*STATE.levels, level)
    return level


def close_level(level: int) -> None:
    """Close a level; tangents that values still have at it count no more."""
    # After an interrupt it may be closed already.
    if level in STATE.levels:
        STATE.levels = tuple([k for k in STATE.levels if k != level])
        STATE.special -= 1


@contextmanager
def forward_level() -> Iterator[int]:
    """A level for a block."""
    level = open_level()
    try:
        yield level
    finally:
        close_level(level)


@contextmanager
def as_of(levels: tuple[int, ...]) -> Iterator[None]:
    """What runs in this block runs as when these levels were open: code that is repeated later."""
    before, special = STATE.levels, STATE.special
    try:
        STATE.levels, STATE.special = levels, special + len(levels)
        yield
    finally:
        STATE.levels, STATE.special = before, special
