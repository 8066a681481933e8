"""Whether a rule of the user's reads something tracked that its operation was not given.

The value of such an operation does not depend on it, so the tape does not lead there, and only its
derivative does. A transform that meets such an operation asks while it sweeps, and the sweep goes
on recording where a rule did: each rule and each hook is called once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..autograd.grad_mode import enable_grad
from ..ir.dispatch import Value

ASK_THE_USER: set[Any] = set()
"""The operations whose rules are the user's."""


class Reads(threading.local):
    """Whether somebody wants to know, and what was seen."""

    asked = False
    tracked = False
    running: frozenset[Any] = frozenset()
    """The functions whose forward rules run in this thread."""


READS = Reads()


@contextmanager
def asking() -> Iterator[Reads]:
    """A block in which it is noted whether rules read something tracked."""
    before = READS.asked, READS.tracked
    READS.asked, READS.tracked = True, False
    try:
        yield READS
    finally:
        READS.asked, READS.tracked = before


def by_rule(run: Callable[[], list[Any]]) -> list[Any]:
    """The cotangents that a rule of the user's gives, `run()`. In a sweep that does not record,
    they are tracked where the rule reads something that is."""
    if not READS.asked:
        return run()
    READS.asked = False  # sweeps of the rule's own are its own
    try:
        with enable_grad():
            found = run()
    finally:
        READS.asked = True
    READS.tracked = READS.tracked or any(isinstance(g, Value) and g._requires_grad for g in found)
    return found


@contextmanager
def as_when_running(running: frozenset[Any]) -> Iterator[None]:
    """A block of code that is repeated: it runs as when these rules ran, though a sweep of another
    one came by, and what its own sweeps read is not what that sweep's rules read."""
    before = READS.running, READS.asked
    READS.running, READS.asked = running, False
    try:
        yield
    finally:
        READS.running, READS.asked = before


@contextmanager
def as_it_runs(owner: Any) -> Iterator[None]:
    """A block in which the forward rule of a function runs."""
    before = READS.running
    READS.running = before | {owner}
    try:
        yield
    finally:
        READS.running = before


__all__ = ["ASK_THE_USER", "READS", "as_it_runs", "as_when_running", "asking", "by_rule"]
