"""NumPy's functions of different elements: how many there are depends on the values, which have to
be known; derivatives belong to the element that occurs first."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...checks import flag
from ...ops.define import ndim_of
from ...ops.places.keys import concrete
from ...ops.totals.axes import normalize_axes
from ..operators import array_of, operand
from .lookup import result_type

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


def union1d(ar1: Any, ar2: Any) -> Any:
    dtype = result_type(operand(ar1), operand(ar2))
    return unique(ops.concatenate([ops.convert(x, dtype) for x in _flat(ar1, ar2)]))


def _flat(*arrays: Any) -> list[Any]:
    return [ops.reshape(array_of(operand(a)), -1) for a in arrays]


def _known(name: str, arrays: list[Any]) -> list[Any]:
    return [concrete(x, name, ADVICE) for x in arrays]


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The elements that both have, those of the first, in ascending order."""
    x, y = _flat(ar1, ar2)
    known, others = _known("np.intersect1d", [x, y])
    alone = flag("assume_unique", assume_unique)
    values, *places = np.intersect1d(known, others, alone, return_indices=True)
    common = ops.convert(ops.take(x, places[0], 0), values.dtype)
    return (common, *places) if flag("return_indices", return_indices) else common


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements of the first that the second has not; in order unless they are all different."""
    x, y = _flat(ar1, ar2)
    x = x if flag("assume_unique", assume_unique) else unique(x)
    known, others = _known("np.setdiff1d", [x, y])
    return ops.take(x, np.flatnonzero(np.isin(known, others, invert=True)), 0)


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The elements that one of both has, in ascending order."""
    x, y = _flat(ar1, ar2)
    if not flag("assume_unique", assume_unique):
        x, y = unique(x), unique(y)
    both = ops.concatenate([x, y])
    (known,) = _known("np.setxor1d", [both])
    if not known.size:
        return both
    order = np.argsort(known, kind="stable")
    ends = np.concatenate([[True], known[order][1:] != known[order][:-1], [True]])
    return ops.take(both, order[ends[1:] & ends[:-1]], 0)


def trim_zeros(filt: Any, trim: Any = "fb", axis: Any = None) -> Any:
    """What is left without zeros at the front ("f") and the back ("b") of the axes."""
    x = array_of(operand(filt))
    nonzero = concrete(x, "np.trim_zeros", "Cut with plain bounds: x[start:stop].") != 0
    # NumPy's, of the number that each place has along an axis.
    cuts = []
    for k, n in enumerate(nonzero.shape):
        if axis is not None and k not in normalize_axes(axis, nonzero.ndim):
            cuts.append(slice(None))
            continue
        others = tuple(j for j in range(nonzero.ndim) if j != k)
        used = np.flatnonzero(nonzero.any(others))
        line = np.zeros(n)
        line[used] = used + 1
        kept = np.trim_zeros(line, trim)
        start = int(used[0]) if kept.size and "f" in trim.lower() else 0
        cuts.append(slice(start, start + kept.size))
    return x[tuple(cuts)]


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
