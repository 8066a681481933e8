"""NumPy's functions of different elements: how many there are depends on the values, which have to
be known; derivatives belong to the element that occurs first."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...checks import flag
from ...ops.define import ndim_of
from ...ops.places.keys import concrete
from ..operators import array_of, operand

ADVICE = (
    "How many elements there are depends on the data: sort them (np.sort), or call np.unique on a "
    "plain array outside of the traced function."
)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    x = array_of(ar)
    wanted = [
        flag("return_index", return_index),
        flag("return_inverse", return_inverse),
        flag("return_counts", return_counts),
    ]
    _, *found = np.unique(
        concrete(x, "np.unique", ADVICE), True, True, True, axis, equal_nan=equal_nan
    )
    flat = ops.reshape(x, -1) if axis is None else x
    values = ops.take(flat, found[0], 0 if axis is None else axis)
    more = [part for part, asked in zip(found, wanted, strict=True) if asked]
    return (values, *more) if more else values


def unique_values(x: Any, /) -> Any:
    """In the order in which NumPy gives them, which is not always an ascending one."""
    values = array_of(x)
    known = concrete(values, "np.unique_values", ADVICE)
    ascending, index = np.unique(known, return_index=True, equal_nan=False)
    given = np.unique_values(known)
    if not np.isnan(given).any():
        index = index[np.searchsorted(ascending, given)]
    return ops.take(ops.reshape(values, -1), index, 0)


def unique_counts(x: Any, /) -> Any:
    return _named("UniqueCountsResult", *unique(x, False, False, True, equal_nan=False))


def unique_inverse(x: Any, /) -> Any:
    return _named("UniqueInverseResult", *unique(x, False, True, False, equal_nan=False))


def unique_all(x: Any, /) -> Any:
    return _named("UniqueAllResult", *unique(x, True, True, True, equal_nan=False))


def _named(name: str, *parts: Any) -> Any:
    """NumPy's own named tuple."""
    functions: dict[str, Any] = {
        "UniqueCountsResult": np.unique_counts,
        "UniqueInverseResult": np.unique_inverse,
        "UniqueAllResult": np.unique_all,
    }
    return type(functions[name](np.zeros(1)))(*parts)


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Any:
    """Whether each element is among others, by comparing it with each of them."""
    x, others = array_of(operand(element)), ops.reshape(array_of(operand(test_elements)), -1)
    found = ops.any(ops.equal(ops.expand_dims(x, -1), others), ndim_of(x))
    return ops.logical_not(found) if flag("invert", invert) else found
