"""The dtype of a value that is now an array's number and now one of Python's: where another branch
leaves -1, a uint8 does not hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import INT64, promote
from ..ir.forms import form_of, largest, smallest
from ..sizes import SYMBOLIC
from ..tensor import Boxed
from ..transforms.tracing import leaf_type
from ..transforms.weak import kind_of
from ..types import ArrayType
from ..weak import as_python


def ends_of(x: Any) -> Any:
    """Between which integers a number of Python's is, as far as it is known; of real numbers how
    large."""
    if isinstance(x, (Boxed, *SYMBOLIC)):
        if isinstance(x, Boxed) and (x.shape or x.dtype.kind not in "iu"):
            return None
        form = form_of(x)
        low, high = smallest(form), largest(form)
        return (low, high) if isinstance(low, int) and isinstance(high, int) else None
    x = as_python(x)
    return (x, x) if type(x) in (int, bool, float) else None


def holding(a: Any, ends_a: Any, b: Any, ends_b: Any) -> np.dtype[Any]:
    """The dtype that holds values of two types, of which the ends are known where they are numbers
    of Python's."""
    dtype = promote(kind_of(a), kind_of(b))
    if a.weak == b.weak:
        return dtype
    strong, kind, ends = (b, a.dtype.kind, ends_a) if a.weak else (a, b.dtype.kind, ends_b)
    if kind == "f" and strong.dtype == np.float32 and ends is not None:
        large = abs(ends[0]) > float(np.finfo(np.float32).max) and abs(ends[0]) < float("inf")
        return np.dtype(np.float64) if large else dtype
    if kind not in "iu" or strong.dtype.kind not in "iu" or strong.dtype == INT64:
        return dtype
    limits = np.iinfo(strong.dtype)
    if ends is None:
        return INT64 if strong.dtype.itemsize < 8 else dtype
    if limits.min <= ends[0] and ends[1] <= limits.max:
        return dtype
    found = strong.dtype
    for end in ends:
        found = np.promote_types(found, np.min_scalar_type(end))
    return found


def held_together(values: Any) -> Any:
    """Numbers of which one is chosen, in a dtype that holds all of them; as they are where they
    have that."""
    kinds = [leaf_type(x) for x in values]
    usual = promote(*map(kind_of, kinds))
    strong = [kind for kind in kinds if not kind.weak]
    if not strong:
        return values
    dtype = usual
    for x, kind in zip(values, kinds, strict=True):
        if kind.weak:
            held = holding(ArrayType(usual, ()), None, kind, ends_of(x))
            dtype = np.promote_types(dtype, held)
    return values if dtype == usual else [_as(x, dtype) for x in values]


def _as(x: Any, dtype: Any) -> Any:
    return x.astype(dtype) if hasattr(x, "dtype") else dtype.type(x)


__all__ = ["ends_of", "held_together", "holding"]
