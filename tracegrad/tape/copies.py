"""Values that may be written to while others are not: where writes replace a box's value another
box is enough, and where they go into memory a copy is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.dispatch import STATE, Value
from ..ops import logical_or, positive


def replaced(x: Any) -> bool:
    """Whether it is a box whose value writes replace, so that they reach no other box."""
    return isinstance(x, Value) and not x._in_storage(x._root)


def copied(x: Any) -> Any:
    """An array of the same values, which may be written to."""
    plain = type(x) is np.ndarray and x.ndim and x.dtype.isnative
    if plain and not STATE.traces and not STATE.special:
        return x.copy(order="K")
    return logical_or(x, False) if x.dtype.kind == "b" else positive(x)


def unshared(x: Any) -> Any:
    """A value that may be written to, and nothing else with it."""
    box: Any = x
    if replaced(x):
        return box._alias()
    return copied(x) if isinstance(x, (Value, np.ndarray)) else x


__all__ = ["copied", "replaced", "unshared"]
