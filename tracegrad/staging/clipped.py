"""Slices with an end that only a run knows, as NumPy cuts them off: `x[:top]` of a `top` that a
`while` counted. How many elements there are is a number of its own, and the rest of the block a
graph over it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..ir.forms import bounded, form_of, never_negative
from ..ops.places.spans import UnknownEnds, has_traced_ends, span
from ..sizes import at_most, form, seen
from ..types import Int
from .places import unknown


def inside_of(key: Any, n: Any) -> Any:
    """A part of a key for an axis of n elements; a slice of which it is not known that its one
    traced end is inside, with one that is."""
    if (
        not isinstance(key, slice)
        or not has_traced_ends(key)
        or not (key.step is None or (type(key.step) is int and key.step == 1))
    ):
        return key
    try:
        span(key, n)
    except UnknownEnds:
        size = form(n)
        if key.stop is None and unknown(key.start):
            count = _between(n - _place(key.start, n), size)
            return slice(n - count, None)
        first = _number(key.start, size)
        if first is not None and unknown(key.stop):
            return slice(first, first + _between(_place(key.stop, n) - first, size - first))
        if unknown(key.start):
            return _inside_of_both(key.start, key.stop, n, size)
        raise
    return key


def _inside_of_both(start: Any, stop: Any, n: Any, size: Int) -> slice:
    first = ops.minimum(ops.maximum(_place(start, n), 0), n)
    count = _between(ops.minimum(_place(stop, n), n) - first, size)
    # Which it is: what follows only makes that known.
    first = ops.minimum(first, n - count)
    bounded(first, 0, size - form_of(count) + 1)
    return slice(first, first + count)


def _number(start: Any, size: Int) -> int | None:
    """Where a slice begins; None where that is no number inside of the axis."""
    first = 0 if start is None else start
    return first if type(first) is int and first >= 0 and at_most(first, size) else None


def _place(end: Any, n: Any) -> Any:
    end = ops.convert(end, np.int64)
    if never_negative(form_of(end)):
        return end
    return ops.where(ops.less(end, 0), end + n, end)


def _between(count: Any, most: Int) -> Any:
    """A number of elements, of which there are none or some, and not more."""
    count = ops.minimum(ops.maximum(count, 0), seen(most))
    bounded(count, 0, most + 1)
    return count


__all__ = ["inside_of"]
