"""`collections.deque` in branches and loops on traced values: a list that loops fill, and where the
first of its items is."""

from __future__ import annotations

import collections
import operator
from collections.abc import Iterator
from typing import Any, NoReturn

from ..checks.ranges import out_of_range
from ..ir.trace import user_line
from ..tree import node
from .algorithms import alike, index, insert, program, taken_at
from .items import part_of, prior_of
from .lists import Grown
from .regions import Refused

EMPTY = "pop from an empty deque"


class Queue:
    """Stands for a deque from where the function makes it. Items taken off the left stay in the
    list, before the first."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, items: Any = (), maxlen: Any = None) -> None:
        if type(items) is Grown and items.late:
            now = prior_of(items, user_line())
            self.items = part_of(now, slice(0 if maxlen is None else -maxlen or now.rows, None))
        else:
            given = list(items)
            whole = maxlen is None or len(given) <= maxlen
            self.items = Grown(given if whole else given[len(given) - maxlen :])
        self.items.name = "a deque"
        self.first: Any = 0
        self.maxlen = maxlen

    @program
    def append(self, x: Any) -> None:
        """Add an item on the right; where there are too many, the first goes."""
        if self.maxlen != 0:
            self.items.append(x)
            if self.maxlen is not None and len(self.items) - self.first > self.maxlen:
                self.first = self.first + 1

    @program
    def appendleft(self, x: Any) -> None:
        """Add an item on the left; where there are too many, the last goes."""
        if self.maxlen != 0:
            if self.maxlen is not None and len(self.items) - self.first >= self.maxlen:
                self.items.pop()
            if self.first > 0:
                self.first = self.first - 1
                self.items[self.first] = x
            else:
                insert(self.items, 0, x)

    @program
    def extend(self, items: Any) -> None:
        """Add all of these on the right."""
        for x in items:
            self.append(x)

    @program
    def extendleft(self, items: Any) -> None:
        """Add all of these on the left, one after the other."""
        for x in items:
            self.appendleft(x)

    @program
    def popleft(self) -> Any:
        """Take off the first item."""
        x = self.items[self.first]
        self.first = self.first + 1
        return x

    @program
    def pop(self) -> Any:
        """Take off the last item."""
        return self.items.pop()

    @program
    def clear(self) -> None:
        """Take off all items."""
        self.first = len(self.items)

    @program
    def rotate(self, n: Any = 1) -> None:
        """Move items from one end to the other."""
        if len(self.items) - self.first > 1:
            for _ in range(n):
                x = self.items.pop()
                self.appendleft(x)
            for _ in range(-n):
                x = self.items[self.first]
                self.first = self.first + 1
                self.items.append(x)

    @program
    def remove(self, x: Any) -> None:
        """Take off the first item that is so."""
        k = index(self.items, x, self.first)
        if k < 0:
            raise ValueError(f"{x!r} is not in deque")
        taken_at(self.items, k)

    @program
    def index(self, x: Any) -> Any:
        """Where an item is first."""
        k = index(self.items, x, self.first)
        if k < 0:
            raise ValueError(f"{x!r} is not in deque")
        return k - self.first

    @program
    def count(self, x: Any) -> Any:
        """How many items are so."""
        found = 0
        for k in range(self.first, len(self.items)):
            if alike(self.items[k], x):
                found += 1
        return found

    @program
    def reverse(self) -> None:
        """Turn it round."""
        n = len(self.items) - self.first
        for j in range(n // 2):
            a, b = self.first + j, self.first + n - 1 - j
            self.items[a], self.items[b] = self.items[b], self.items[a]

    @program
    def item(self, k: Any) -> Any:
        """The item of a number."""
        return self.items[k] if k < 0 else self.items[self.first + k]

    @program
    def replace(self, k: Any, x: Any) -> None:
        """Put another item in its place."""
        if k < 0:
            self.items[k] = x
        else:
            self.items[self.first + k] = x

    def __getattr__(self, name: str) -> NoReturn:
        if name not in dir(collections.deque):
            raise AttributeError(name)
        raise Refused(
            f"{user_line()}: {name!r} of a deque that a branch or loop on traced values changes. "
            "Use a list, which has it, or append, appendleft, pop, popleft, extend, remove or "
            "rotate."
        )

    def __len__(self) -> int:
        return operator.index(self.length())

    def length(self) -> Any:
        """The number of items."""
        return self.items.length() - self.first

    def listed(self) -> Grown:
        """A list of the items."""
        items = self.items
        if items.stacked is None and isinstance(self.first, int):
            return Grown(list(list.__iter__(items))[self.first :])
        found: Grown = part_of(prior_of(items, ""), slice(self.first, None))
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.listed())

    # What code that is not rewritten asks, as long as that is known.

    def __getitem__(self, k: Any) -> Any:
        return self.listed()[self._place(k)]

    def __setitem__(self, k: Any, x: Any) -> None:
        self.items[self._place(k) + operator.index(self.first)] = x

    def _place(self, k: Any) -> int:
        n, at = len(self), operator.index(k)
        if not -n <= at < n:
            raise out_of_range("deque index out of range")
        return at % n

    def __contains__(self, x: Any) -> bool:
        return x in self.listed()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Queue, collections.deque)):
            return NotImplemented
        return bool(self.listed() == list(other))

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self.listed())


node(Queue, lambda x: (list(x), None, None), lambda _, items: collections.deque(items))


__all__ = ["EMPTY", "Queue"]
