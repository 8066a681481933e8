"""NumPy's functions that count, sort parts or choose by plain numbers, in words of operations."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ops
from ...checks import describe
from ...errors import DTypeError, ShapeError
from ...ops.define import ndim_of, shape_of
from ...ops.fits import refuse_less
from ...ops.places.along import index_add
from ...ops.totals.selection import MOST, parted, partitioned
from ...sizes import known_less
from ...types import normalize_axis
from ..operators import array_of, operand
from . import along, results
from .laying import lying
from .lookup import plain, result_type, tracked, unsupported

LEAST = 16
"""Lanes of fewer elements are sorted."""


def known(name: str, word: str, x: Any) -> Any:
    """Plain numbers, where what is asked for depends on them."""
    if tracked(x):
        raise unsupported(name, f" with {word} that is traced or differentiated")
    return np.asarray(plain(x))


def refuse_way(
    function: Callable[..., Any], kind: str | None, order: Any, stable: bool | None
) -> None:
    """NumPy's error for a way of sorting that it does not have. All ways give one result here, that
    of the stable one."""
    if kind is not None or order is not None or stable is not None:
        function(np.zeros(1), kind=kind, order=order, stable=stable)


def sort(
    a: Any,
    axis: Any = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
) -> Any:
    """The elements in order along an axis, of all of them where it is None."""
    refuse_way(np.sort, kind, order, stable)
    return results.sort(a, axis)


def argsort(
    a: Any,
    axis: Any = -1,
    kind: str | None = None,
    order: Any = None,
    *,
    stable: bool | None = None,
) -> Any:
    """The indices that sort along an axis."""
    refuse_way(np.argsort, kind, order, stable)
    return ops.argsort(a, axis)


@lying("K")
def partition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Any:
    """The elements at `kth` where sorting would have them, between smaller and larger ones."""
    a, axis = _lanes(a, axis)
    ranks = _ranks(a, kth, axis, kind, order)
    if ranks is None:
        return ops.sort(a, axis)
    return ops.moveaxis(parted(ops.moveaxis(a, axis, -1), ranks), -1, axis)


def argpartition(
    a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
) -> Any:
    a, axis = _lanes(a, axis)
    ranks = _ranks(a, kth, axis, kind, order)
    if ranks is None:
        return ops.argsort(a, axis)
    return ops.moveaxis(partitioned(ops.moveaxis(a, axis, -1), ranks), -1, axis)


def _lanes(a: Any, axis: int | None) -> tuple[Any, int]:
    a = array_of(a)
    if axis is None:
        a, axis = ops.reshape(a, -1), 0
    return a, normalize_axis(axis, ndim_of(a)) if ndim_of(a) else axis


def _ranks(a: Any, kth: Any, axis: int, kind: str, order: Any) -> list[int] | None:
    """The places that are asked for; None where sorting is no slower, or the size of the array is
    not known."""
    n = shape_of(a)[axis] if ndim_of(a) else 1
    # NumPy says what is wrong with `kind`, `order` and `kth`.
    if kind != "introselect" or order is not None:
        np.partition(np.zeros(1), 0, kind=kind, order=order)  # type: ignore[call-overload]
    if not isinstance(n, int):
        for k in map(operator.index, np.atleast_1d(np.asarray(kth))):
            text = f"kth is {k}, which is no place of {{size}} elements"
            refuse_less(n, max(k + 1, -k), ValueError, text)
        return None
    np.partition(np.zeros(n), kth)
    places = sorted({int(k) % n for k in np.atleast_1d(kth)}) if n else []
    few = ndim_of(a) and n >= LEAST and 0 < len(places) <= MOST
    return places if few else None


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """Sums of weights by plain numbers of bins."""
    places = known("np.bincount", "x", x)
    if places.ndim != 1 or places.dtype.kind not in "biu":
        raise TypeError(f"x is {describe(x)}; it must be a vector of integers")
    if places.size and places.min() < 0:
        raise ValueError("x has a negative element; it must be of numbers of bins, from 0 on")
    count = max(int(places.max(initial=-1)) + 1, int(minlength))
    if weights is None:
        return np.bincount(places, minlength=minlength)
    summed = array_of(weights)
    if shape_of(summed) != places.shape:
        raise ShapeError(f"weights have the shape {shape_of(summed)}, and x {places.shape}")
    if result_type(summed).kind == "c":
        raise DTypeError("weights are complex; they must be real")
    if not places.size:
        return np.bincount(places, minlength=minlength)  # NumPy's counts, whatever the weights are
    return index_add(np.zeros(count), 0, places.astype(np.int64), ops.convert(summed, np.float64))


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    places, edges = array_of(x), array_of(bins)
    if "c" in (result_type(places).kind, result_type(edges).kind):
        raise DTypeError("x and bins must be real; complex numbers have no order")
    if ndim_of(edges) != 1:
        raise ShapeError(f"bins must be a vector, not of shape {shape_of(edges)}")
    side, count = "left" if right else "right", edges.shape[0]
    if not tracked(edges):
        known = plain(edges)
        falls = bool(count) and bool(known[0] > known[-1])
        if np.any(known[1:] > known[:-1] if falls else known[1:] < known[:-1]):
            raise ValueError("bins must go up all along, or down")
        return (
            count - ops.searchsorted(edges[::-1], places, side)
            if falls
            else ops.searchsorted(edges, places, side)
        )
    # Which way they go is not known before the numbers are.
    if known_less(count, 2):
        return ops.searchsorted(edges, places, side)
    falls = edges[0] > edges[-1]
    found = ops.searchsorted(ops.where(falls, edges[::-1], edges), places, side)
    return ops.where(falls, count - found, found)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    x = array_of(ary)
    if ndim_of(x) < 3:
        raise ValueError(f"dsplit works on arrays of 3 or more dimensions, not {ndim_of(x)}")
    return ops.split(x, indices_or_sections, 2)


@lying("A")
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """What plain indices leave."""
    x = array_of(arr)
    if axis is None:
        x, axis = ops.reshape(x, -1), 0
    axis = normalize_axis(axis, ndim_of(x))
    kept = np.delete(np.arange(int(shape_of(x)[axis])), _chosen("np.delete", obj))
    return ops.take(x, kept, axis)


def _chosen(name: str, obj: Any) -> Any:
    """Places along an axis: a slice, or an array of integers or booleans."""
    if isinstance(obj, slice):
        return obj
    chosen = known(name, "obj", obj)
    if chosen.dtype.kind not in "biu" and (chosen.size or isinstance(obj, np.ndarray)):
        raise IndexError(f"obj is {describe(obj)}; it must be integers, a mask or a slice")
    return chosen if chosen.size else chosen.astype(np.int64)


@lying("A")
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """New values before plain indices. Done to the numbers of the elements, by NumPy, it says where
    each of them goes."""
    x, new = array_of(arr), array_of(values)
    if result_type(new).kind == "c" and result_type(x).kind != "c":
        raise DTypeError(f"values are complex, and arr is {result_type(x)}; take their .real part")
    if axis is None:
        x = ops.reshape(x, -1)
    else:
        axis = normalize_axis(axis, ndim_of(x))
    sizes = [tuple(map(int, shape_of(a))) for a in (x, new)]
    count = math.prod(sizes[0])
    numbers, more = np.arange(count), np.arange(count, count + math.prod(sizes[1]))
    places = np.insert(
        numbers.reshape(sizes[0]), _chosen("np.insert", obj), more.reshape(sizes[1]), axis
    )
    both = [ops.reshape(x, -1), ops.reshape(ops.convert(new, result_type(x)), -1)]
    return ops.take(ops.concatenate(both), places)


def sort_complex(a: Any) -> Any:
    """As complex numbers, in the order of real and then of imaginary parts; NaN are last."""
    x = array_of(operand(a))
    if x.dtype.kind != "c":
        single = x.dtype.kind in "iu" and x.dtype.itemsize < 4
        return ops.convert(ops.sort(x, -1), np.complex64 if single else np.complex128)
    whole, part = ops.real(x), ops.imag(x)
    holes = 2 * ops.convert(ops.isnan(whole), np.int64) + ops.convert(ops.isnan(part), np.int64)
    return ops.take_along_axis(x, along.lexsort((part, whole, holes)), -1)
