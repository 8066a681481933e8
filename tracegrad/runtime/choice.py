"""Which of two ways to do the same thing is faster, as the clock tells while both are used."""

from __future__ import annotations

SOON, SELDOM = 8, 96
"""Calls until the other way is tried: few after a change of mind, more the longer the choice
holds."""


class Choice:
    """Between the first way, which is expected to be faster, and the second.

    On a machine that is busy with other things, threads of one call wait for cores, and a call that
    is shared can take many times as long as one that runs alone. So the way that is not used is
    tried now and then, by two calls in a row: the first one wakes the helpers, if they sleep, and
    the second is what counts. The cost is two slower calls in 96.
    """

    __slots__ = ("_left", "_seconds", "_wait")

    def __init__(self) -> None:
        self._seconds: list[float | None] = [None, None]
        self._wait = self._left = SOON

    @property
    def better(self) -> int:
        """0 for the first way, 1 for the second."""
        first, second = self._seconds
        return int(first is not None and second is not None and second < first)

    def next(self) -> int:
        """The way to go this time."""
        self._left -= 1
        if self._left > 0:
            return self.better
        if self._left < 0:
            self._left = self._wait
        return 1 - self.better

    def note(self, way: int, seconds: float) -> None:
        """Tell how long it took."""
        before, old = self.better, self._seconds[way]
        if self._left == 0:
            return
        # What is used is averaged over many calls, what is tried over few.
        weight = 1 / 8 if way == before else 1 / 2
        self._seconds[way] = seconds if old is None else old + weight * (seconds - old)
        if self.better != before:
            self._wait = self._left = SOON
        elif way != before:
            self._wait = min(2 * self._wait, SELDOM)


__all__ = ["Choice"]
