"""Lists and tuples among the arguments of NumPy's functions, in which values of ours stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.dispatch import Value
from ..ops.define import of_list

OF_ARRAYS = frozenset(
    getattr(np, name)
    for name in (
        "array", "block", "broadcast_arrays", "choose", "column_stack", "concatenate", "dstack",
        "einsum", "einsum_path", "histogram2d", "histogramdd", "hstack", "ix_", "lexsort",
        "meshgrid", "piecewise", "ravel_multi_index", "select", "stack", "vstack",
    )
) | {np.linalg.multi_dot}  # fmt: skip
"""NumPy's functions whose lists are of several arrays."""


def numbers_in(values: Any) -> bool:
    """Whether a list holds a real or complex value of ours; integers may be sizes and axes."""
    if isinstance(values, (list, tuple)):
        return any(map(numbers_in, values))
    return isinstance(values, Value) and values.dtype.kind in "fc"


def with_arrays(
    function: Any, args: Any, kwargs: Any, holds: Callable[[Any], bool] = numbers_in
) -> tuple[Any, Any]:
    """The arguments of a function of NumPy's with arrays in place of lists that hold values of
    ours, as it would read them: `np.dot(x, [a, b])`. What is written to stays as it is."""
    if function in OF_ARRAYS:
        return args, kwargs

    def read(x: Any) -> Any:
        return of_list(x) if isinstance(x, (list, tuple)) and holds(x) else x

    return tuple(map(read, args)), {k: v if k == "out" else read(v) for k, v in kwargs.items()}


__all__ = ["with_arrays"]
