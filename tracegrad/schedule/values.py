"""Values of one dtype in kernel code: zero, the start of a reduction, conversion, combination."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._codegen import kernel, lowering

COMBINING = {
    "add": "{x} + {y}",
    "mul": "{x} * {y}",
    "max": "maximum({x}, {y})",
    "min": "minimum({x}, {y})",
    "and": "{x} & {y}",
    "or": "{x} | {y}",
}
INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)
INTP = np.dtype(np.uintp)


def nothing(dtype: np.dtype[Any]) -> kernel.Literal:
    """What stands where there is no element: zero."""
    return kernel.Literal(False if dtype.kind == "b" else 0, dtype)


def identity(combine: lowering.Reduce, dtype: np.dtype[Any]) -> Any:
    """The start value of a reduction in `dtype`."""
    start = combine.identity
    if not isinstance(start, str):
        return start
    if dtype.kind == "b":
        return start == "highest"
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min if start == "lowest" else np.iinfo(dtype).max)
    return -np.inf if start == "lowest" else np.inf


def converted(value: kernel.Expression, dtype: np.dtype[Any]) -> kernel.Expression:
    """The expression cast to `dtype`."""
    if value.dtype == dtype:
        return value
    if isinstance(value, kernel.Literal):
        number = (
            np.asarray(value.value).astype(dtype)
            if dtype.kind in "fc" or isinstance(value.value, bool)
            else value.value
        )
        return kernel.Literal(
            number.item() if isinstance(number, np.ndarray) else number, dtype, value.absent
        )
    code = "{x} != 0" if dtype.kind == "b" else "{x}"
    return kernel.Apply(code, (("x", value),), dtype)
