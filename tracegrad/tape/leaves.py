"""Leaves of derivatives that are done: nobody differentiates by them any more. But what was
recorded while they counted may be computed again later, by a checkpoint, and then they count
again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import ref

_RERUNS: set[ref[Rerun]] = set()
"""What may run again."""


def end(leaf: Any) -> None:
    """What else depends on a leaf, as results of its derivative that go into an enclosing one, is
    not for anybody to differentiate by it."""
    if leaf._grad_fn is None:
        leaf._requires_grad = False
        for one in _RERUNS.copy():
            run = one()
            if run is not None:
                run.ended[id(leaf)] = ref(leaf, partial(_forget, run.ended, id(leaf)))


def _forget(ended: dict[int, ref[Any]], number: int, _: Any) -> None:
    ended.pop(number, None)


class Rerun:
    """Something that may run again as it ran first: it knows the leaves that were done since."""

    def __init__(self) -> None:
        self.ended: dict[int, ref[Any]] = {}
        _RERUNS.add(ref(self, _RERUNS.discard))

    @contextmanager
    def leaves_as_before(self) -> Iterator[None]:
        """A block in which those leaves count as they did."""
        found = [
            leaf
            for one in list(self.ended.values())
            if (leaf := one()) is not None and not leaf._requires_grad
        ]
        for leaf in found:
            leaf._requires_grad = True
        try:
            yield
        finally:
            for leaf in found:
                leaf._requires_grad = False


__all__ = ["Rerun", "end"]
