"""Slices with an end that only a run knows, as NumPy cuts them off: `x[:top]` of a `top` that a
`while` counted. How many elements there are is a number of its own, and the rest of the block a
graph over it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._codegen import integers
from ..ir.forms import UNKNOWN, bounded, form_of, largest, never_negative, proven, smallest
from ..ops.places.spans import UnknownEnds, has_traced_ends, span
from ..sizes import at_most, form, seen
from ..types import Int
from .places import unknown
from .session import current


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
        if type(span(key, n)) is tuple and _is_cut(key, form(n)):
            return _inside_of_both(key.start, key.stop, n, form(n))
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


def is_inside(owner: Any, key: Any) -> bool:
    """Whether it is known that a key of an array or a list, which may be traced, is no index out of
    range."""
    if isinstance(owner, dict):
        return False
    shape = getattr(owner, "shape", None)
    keys = key if isinstance(key, tuple) else (key,)
    if shape is None or len(keys) > len(shape) or any(k is None or k is Ellipsis for k in keys):
        shape = (len(owner),) if shape is None and len(keys) == 1 else ()
    return len(keys) <= len(shape) and all(map(_is_place, keys, shape))


def _is_place(key: Any, n: Any) -> bool:
    if isinstance(key, slice):
        return not has_traced_ends(key)
    if getattr(key, "shape", ()) or getattr(getattr(key, "dtype", None), "kind", "i") not in "iu":
        return False
    size, place = form(n), form_of(key)
    below, above = -place - size, place - size
    return bool(proven("<=", below)) and bool(proven("<", above))


def _is_cut(key: slice, size: Int) -> bool:
    """Whether a pass of the innermost loop, which comes to this slice in any case, cuts it off; of
    others its length is that of all, and it has to be inside."""
    session = current()
    if session is None or not session.every_pass or key.start is None or key.stop is None:
        return False
    name, depth = session.every_pass[-1]
    start, stop = form_of(key.start), form_of(key.stop)
    names = {s for x in (start, stop) for s in integers.symbols(x) if s.startswith(UNKNOWN)}
    if depth != len(session.regions) or names != {name}:
        return False
    least, most, over = smallest(start), largest(stop), largest(stop - size)
    below = isinstance(least, int) and least < 0 and isinstance(most, int) and most >= 0
    return below or (isinstance(over, int) and over > 0)


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


__all__ = ["inside_of", "is_inside"]
