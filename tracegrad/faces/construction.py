"""What the class `Tensor` is called with by users: torch's older constructor, of sizes or of
data."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..checks import REFUSED, explained
from ..config import default_dtype
from ..dtypes import check
from ..errors import ShapeError
from ..ir.dispatch import Value
from ..ops.define import holds_boxed
from .operators import array_of
from .tensor.shapes import Size


def elements_for(
    data: Any, rest: tuple[Any, ...], dtype: Any = None, who: str = "tracegrad.Tensor"
) -> Any:
    """The elements that `Tensor(data, *rest)` holds: of these sizes where `data` is one, else a
    copy of `data`; in this dtype, or the default one."""
    try:
        kind = np.dtype(dtype or default_dtype())
        if isinstance(data, Size) and not rest:
            return ops.empty(tuple(data), kind)
        if isinstance(data, (int, np.integer)) and not isinstance(data, bool):
            if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) for n in rest):
                raise TypeError(
                    f"{who}({data}, ...) takes sizes, one integer each, not {rest[0]!r}"
                )
            if min(data, *rest, 0) < 0:
                raise ShapeError(f"{who}: the sizes {(data, *rest)} must not be negative")
            return ops.empty((int(data), *map(int, rest)), kind)
        if rest:
            raise TypeError(
                f"{who} takes sizes, or one list of data; got {1 + len(rest)} arguments"
            )
        if isinstance(data, (list, tuple)):
            if holds_boxed(data):
                return ops.convert(array_of(data), kind)
            found = np.array(data)
            if found.dtype.kind not in "biufc":
                raise TypeError(f"{who}: the data are no numbers: {data!r:.60}")
            return found.astype(
                check(found.dtype) if found.dtype.kind == "c" and dtype is None else kind
            )
        raise TypeError(
            f"{who}: expected sizes, a sequence of numbers or an array, not {type(data).__name__}; "
            "tracegrad.tensor(...) takes numbers, too"
        )
    except REFUSED as error:
        raise explained(error, "Tensor", elements_for, (data, rest), {}) from error.__cause__


def is_elements(data: Any) -> bool:
    """Whether `data` is an array, and no list or size that a Tensor is to be made of."""
    return hasattr(data, "dtype") and not isinstance(data, (Value, np.integer))
