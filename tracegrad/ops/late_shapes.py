"""Arrays brought to one shape whose lengths only a run knows: whether they fit together is checked
when it runs, as NumPy does.

Of lengths m and k one may be 1, which is repeated. So what they have together is a length of its
own, `max(m, k)`, or 0 where one of them is 0; that each of them is 1 or this is what the program
fails of if it is not so. Each array is then read at the places `min(i, m - 1)`, which exist even
where the program fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from .._codegen import integers
from ..errors import ShapeError
from ..ir.lines import program_place
from ..sizes import form, same, seen, traced_number
from ..sizes.owners import SIZES, Int, is_late
from .arrays.creation import iota
from .check import check, error_text
from .define import shape_of
from .elementwise.arithmetic import equal, where
from .elementwise.comparison import minimum
from .elementwise.logic import logical_or
from .places.along import take

DIFFER = (
    "operands could not be broadcast together: along axis {axis} their lengths, which only the run "
    "knows, differ, and neither is 1"
)


class Meetings:
    """What was brought to one shape in a trace."""

    def __init__(self) -> None:
        self.made: dict[Int, tuple[Int, ...]] = {}
        """Lengths that were made here, and of which ones."""

    def __call__(self, operands: Sequence[Any]) -> list[Any] | None:
        """Operands of shapes that broadcast when the program runs, if it goes on; None where nothing
        is to be asked then."""
        shapes = [tuple(shape_of(x)) for x in operands]
        found: list[Any] | None = None
        for axis in range(-max(map(len, shapes)), 0):
            sizes = _different(s[axis] for s in shapes if len(s) >= -axis)
            late = [n for n in sizes if is_late(n)]
            if len(sizes) < 2 or not late:
                continue
            others = [n for n in sizes if not is_late(n)]
            if len(others) > 1:
                return None  # which do not fit together, whatever the run finds
            common = others[0] if others else self._common(late)
            _refuse_others(late, common, DIFFER.format(axis=axis))
            found = [
                _spread(x, axis, common) if len(s) >= -axis else x
                for x, s in zip(found or operands, shapes, strict=True)
            ]
        return found

    def _common(self, sizes: Sequence[Int]) -> Int:
        """The length of what is made of arrays of these lengths."""
        parts = sorted({p for n in sizes for p in self.made.get(n, (n,))}, key=str)
        some = [integers.minimum(p, 1) for p in parts]
        found = integers.product([reduce(integers.maximum, parts), *some])
        self.made[found] = tuple(parts)
        return found


def _different(sizes: Iterable[Any]) -> list[Int]:
    """The sizes that are not 1, each of them once."""
    found: list[Int] = []
    for n in map(form, sizes):
        if not (n == 1 or any(same(n, m) for m in found)):
            found.append(n)
    return found


def _refuse_others(sizes: Sequence[Int], common: Int, text: str) -> None:
    """Fail where one of the lengths is neither 1 nor the common one."""
    error = error_text(ShapeError(text), *program_place())
    for n in sizes:
        if n != common:
            fits = logical_or(
                *[equal(traced_number(seen(n)), traced_number(seen(m))) for m in (1, common)]
            )
            check(where(fits, np.int64(0), np.int64(1)), (error,))


def _spread(x: Any, axis: int, size: Int) -> Any:
    """An array as long as `size`, where it is, or its one element repeated."""
    n = form(shape_of(x)[axis])
    if n == 1 or same(n, size):
        return x
    return take(x, minimum(iota(seen(size)), traced_number(seen(n)) - 1), axis)


__all__ = ["Meetings"]
