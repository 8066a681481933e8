"""Elements chosen by a traced mask. How many there are only a run knows: the rest of the block is
a graph over that number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..ir.forms import bounded, form_of
from ..ops.arrays.slices import slice_array
from ..ops.places.keys import check_mask
from ..sizes import form, numel, same, traced_number
from ..tensor import Boxed, inside
from .lengths import size_of
from .places import unknown

APART = (
    "Choose by a mask in a statement (a = x[mask]), not inside of a comprehension or of a lambda "
    "in one"
)
Check = Callable[[Any, Callable[[], BaseException]], None]


def is_mask(key: Any) -> bool:
    """Whether a key is one array of booleans that only a run knows."""
    return isinstance(key, Boxed) and key.dtype == np.bool_ and bool(key.ndim) and unknown(key)


def _ranks(mask: Any) -> tuple[Any, Any, Any]:
    """Of a mask: it in one axis, which of those that hold each one is (from 1 on), their count."""
    flat = ops.reshape(mask, -1)
    ranks = ops.cumsum(ops.convert(flat, np.int64))
    count = ops.sum(ops.convert(flat, np.int64))
    bounded(count, 0, form_of(form(numel(mask.shape))) + 1)
    return flat, ranks, count


def places_of(mask: Any) -> Any:
    """Where a mask holds, as places in one axis, in order."""
    flat, ranks, count = _ranks(mask)
    size, total = size_of(count, APART), numel(mask.shape)
    # Those that do not hold have the last place for their own.
    own = ops.where(flat, ranks - 1, total)
    places = ops.index_update(ops.zeros((total + 1,), np.int64), own, ops.iota(total))
    return slice_array(places, (0,), (size,), (1,))


def chosen(x: Any, mask: Any) -> Any:
    """`x[mask]`."""
    check_mask(mask, x.shape, 0)
    flat = ops.reshape(x, (numel(mask.shape), *x.shape[mask.ndim :]))
    return ops.take(flat, places_of(mask), 0)


def lists_elements(x: Any, mask: Any, value: Any) -> bool:
    """Whether a value has an element for each one that is chosen."""
    return np.ndim(value) == x.ndim - mask.ndim + 1 and not (
        isinstance(n := np.shape(value)[0], int) and n == 1
    )


def replaced(x: Any, mask: Any, value: Any, check: Check) -> Any:
    """x after `x[mask] = value`, of a value per element."""
    check_mask(mask, x.shape, 0)
    flat, ranks, count = _ranks(mask)
    given = value.shape[0]
    if form_of(count) != form(given):
        # The check speaks first, not an index behind the values. One value is for all places.
        length = traced_number(given)
        ranks = ops.minimum(ranks, length)
        error = "a boolean index chooses another number of elements than there are values for it"
        fits = ops.logical_or(ops.equal(count, length), ops.equal(length, 1))
        check(fits, lambda: ValueError(error))
    value = ops.convert(value, x.dtype)
    padded = ops.concatenate([ops.zeros((1, *value.shape[1:]), x.dtype), value], 0)
    rest = x.shape[mask.ndim :]
    spread = ops.reshape(ops.take(padded, ops.where(flat, ranks, 0), 0), x.shape)
    return ops.where(ops.reshape(mask, (*mask.shape, *[1] * len(rest))), spread, x)


def by_mask(function: Any, args: Any, kwargs: Any) -> Any:
    """What NumPy's functions that choose by a mask give, or None."""
    if type(function) not in (type(np.nonzero), type(np.where)) or kwargs or not args:
        return None
    mask = args[0]
    if not is_mask(mask):
        return None
    if len(args) == 1 and function in (np.nonzero, np.where):
        places, found = places_of(mask), []
        for n in reversed(mask.shape):
            found.append(ops.mod(places, n))
            places = ops.floor_divide(places, n)
        return tuple(reversed(found))
    if len(args) == 1 and function is np.flatnonzero:
        return places_of(mask)
    if len(args) == 2 and function in (np.extract, np.compress):
        x = ops.reshape(inside(args[1]), -1)
        mask = ops.reshape(mask, -1)
        return chosen(x, mask) if same(x.shape[0], mask.shape[0]) else None
    return None


__all__ = ["by_mask", "chosen", "is_mask", "lists_elements", "replaced"]
