"""Arguments in floating point, for functions that are of real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import DType
from ...errors import DTypeError
from ..define import as_array, ndim_of
from .derived import convert


def floating(x: Any, word: str, dtype: DType | None = None) -> Any:
    """An array in floating point (or in `dtype`); a DTypeError, which `word` begins, of complex
    numbers where these would leave their real parts."""
    x = as_array(x)
    kind = x.dtype.kind
    if kind == "c" and (dtype is None or dtype.kind != "c"):
        raise DTypeError(
            f"{word} is of {x.dtype}; it must be of real numbers here: the imaginary parts would "
            "be lost"
        )
    if dtype is None:
        return x if kind == "f" else convert(x, np.float64)
    return convert(x, dtype)


def is_number(x: Any, dtype: DType) -> bool:
    """Whether an option is one number that an array of a dtype may hold: a complex one is none of
    real arrays."""
    kind = getattr(getattr(x, "dtype", None), "kind", None)
    if kind is None:
        kind = {bool: "b", int: "i", float: "f", complex: "c"}.get(type(x), "")
    return bool(kind) and kind in ("biufc" if dtype.kind == "c" else "biuf") and not ndim_of(x)


__all__ = ["floating", "is_number"]
