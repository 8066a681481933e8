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
from ..ir.dispatch import STATE
from ..ir.lines import program_place
from ..sizes import form, same, seen, traced_number
from ..sizes.owners import Int, is_late
from .arrays.concatenation import concatenate
from .arrays.creation import iota, zeros
from .arrays.shape import broadcast_to
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
NO_ROOM = (
    "could not broadcast input array: along axis {axis} its length and that of what it is to be "
    "in, which only the run knows, differ"
)


class _Meetings:
    """What brings arrays to one shape (sizes/owners.py says what each is for)."""

    def broadcast(self, operands: Sequence[Any]) -> Sequence[Any] | None:
        """Operands of shapes that broadcast when the program runs, if it goes on; None where
        nothing is to be asked then."""
        shapes = [tuple(shape_of(x)) for x in operands]
        found: Sequence[Any] | None = None
        for axis in range(-max(map(len, shapes)), 0):
            sizes = [s[axis] for s in shapes if len(s) >= -axis]
            size = self.common(sizes, DIFFER.format(axis=axis))
            if size is not None:
                found = [
                    self.spread(x, axis, size) if len(s) >= -axis else x
                    for x, s in zip(found or operands, shapes, strict=True)
                ]
        return found

    def common(self, sizes: Sequence[Any], text: str) -> Int | None:
        """The size that axes of these have together, if each is that or 1, which is checked with
        this text; None where nothing is to be asked when the program runs."""
        found = _different(sizes)
        late = [n for n in found if is_late(n)]
        others = [n for n in found if not is_late(n)]
        if len(found) < 2 or not late or len(others) > 1:
            return None
        parts = tuple(sorted({p for n in late for p in _parts(n)}, key=str))
        size = others[0] if others else _made_of(parts)
        for n in late:
            if not _is_part(n, size):
                _check_one_of(n, (1, size), text)
        if not others:
            STATE.traces[-1].met[size] = parts
        return size

    def to(self, x: Any, shape: Sequence[Any]) -> Any | None:
        """An array repeated along axes of one element; None where nothing is to be asked when the
        program runs, or where it cannot be."""
        old, found = shape_of(x), x
        if len(old) > len(shape):
            return None
        for axis in range(-len(old), 0):
            n, size = form(old[axis]), form(shape[axis])
            if n == 1 or same(n, size):
                continue
            if not (is_late(n) or is_late(size)):
                return None
            if not _is_part(n, size):
                _check_one_of(n, (1, size) if is_late(n) else (size,), NO_ROOM.format(axis=axis))
            found = self.spread(found, axis, size)
        return None if found is x else found

    def exactly(self, x: Any, shape: Sequence[Any], text: str) -> Any | None:
        """An array that has to have this shape; None where it cannot."""
        old = shape_of(x)
        if len(old) != len(shape):
            return None
        for axis, (n, size) in enumerate(zip(map(form, old), map(form, shape), strict=True)):
            if same(n, size):
                continue
            if not (is_late(n) or is_late(size)):
                return None
            _check_one_of(n, (size,), text)
            own = shape_of(x)
            x = (
                broadcast_to(x, (*own[:axis], seen(size), *own[axis + 1 :]))
                if n == 1
                else self.spread(x, axis, size)
            )
        return x

    def spread(self, x: Any, axis: int, size: Int) -> Any:
        """An array as long as this along an axis, where it is, or its one element repeated."""
        n = form(shape_of(x)[axis])
        if n == 1 or same(n, size):
            return x
        last = traced_number(integers.maximum(n, 1) - 1)
        if not _is_part(n, size):
            # It may have no element where the program fails, which then must say why.
            more = list(shape_of(x))
            more[axis] = 1
            x = concatenate([x, zeros(more, x.dtype)], axis)
        return take(x, minimum(iota(seen(size)), last), axis)


def _parts(size: Int) -> tuple[Int, ...]:
    """Of which lengths this one was made."""
    return next((t.met[size] for t in STATE.traces if size in t.met), (size,))


def _is_part(n: Int, size: Int) -> bool:
    """Whether a length was made of another one, which then was checked."""
    return set(_parts(n)) <= set(_parts(size))


def _made_of(parts: Sequence[Int]) -> Int:
    """The longest of these lengths, or 0."""
    return integers.product(
        [reduce(integers.maximum, parts), *[integers.minimum(p, 1) for p in parts]]
    )


def _different(sizes: Iterable[Any]) -> list[Int]:
    """The sizes that are not 1, each of them once."""
    found: list[Int] = []
    for n in map(form, sizes):
        if not (n == 1 or any(same(n, m) for m in found)):
            found.append(n)
    return found


def _check_one_of(size: Int, fine: Sequence[Int], text: str) -> None:
    """Fail with a text where a size is none of these."""
    holds = [equal(traced_number(size), traced_number(n)) for n in fine]
    error = error_text(ShapeError(text), *program_place())
    check(where(reduce(logical_or, holds), np.int64(0), np.int64(1)), (error,))


MEETINGS = _Meetings()

__all__ = ["MEETINGS"]
