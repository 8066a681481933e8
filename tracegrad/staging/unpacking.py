"""Values that are taken apart: `first, *rest = a`, also of lists of which only a run knows the
length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from .agreement import with_numbers
from .late_lists import is_late_list


class Unpacking:
    """The helper of assignments to several targets."""

    check: Callable[..., None]
    get_item: Callable[[int, Any, Any], Any]

    def unpacked(self, line: int, value: Any, before: int, after: int) -> Any:
        """What is bound by so many targets, and by others behind one with a star; -1: there is
        none."""
        least = before + max(after, 0)
        if is_late_list(value):
            n = with_numbers(value.length())
            text = "not enough values to unpack"
            self.check(line, ops.greater_equal(n, least), lambda: ValueError(text))
            if after < 0:
                many = f"too many values to unpack (expected {before})"
                self.check(line, ops.less_equal(n, least), lambda: ValueError(many))
            front = [self.get_item(line, value, k) for k in range(before)]
            if after < 0:
                return tuple(front)
            rest = self.get_item(line, value, slice(before, -after or None))
            back = [self.get_item(line, value, k - after) for k in range(after)]
            return *front, rest, *back
        if after < 0:
            return value
        items = list(value)
        if len(items) < least:
            raise ValueError(
                f"not enough values to unpack (expected at least {least}, got {len(items)})"
            )
        end = len(items) - after
        return *items[:before], items[before:end], *items[end:]


__all__ = ["Unpacking"]
