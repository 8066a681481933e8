"""The dtype of a value that is now an array's number and now one of Python's: where another branch
leaves -1, a uint8 does not hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import promote
from ..ir.forms import form_of, largest, smallest
from ..sizes import SYMBOLIC
from ..tensor import Boxed
from ..transforms.tracing import leaf_type
from ..transforms.weak import holding, kind_of
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


__all__ = ["ends_of", "held_together"]
