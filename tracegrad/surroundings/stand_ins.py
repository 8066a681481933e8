"""For which values of Python's variables traced ones may stand while a function is traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.graph import Var
from ..tensor import Boxed


def of_tensors(x: Any) -> bool:
    """Whether it is a Tensor, or a tree of Tensors alone: each is read at its place as it is."""
    kind = type(x)
    if kind in (tuple, list):
        return bool(x) and all(map(of_tensors, x))
    return bool(x) and all(map(of_tensors, x.values())) if kind is dict else isinstance(x, Boxed)


def holds(x: Any, written: set[int]) -> bool:
    """Whether it is a container that was written to, or holds one: a copy, which would stand for
    it, would take the writes."""
    parts = x.values() if type(x) is dict else x if type(x) in (tuple, list) else ()
    return id(x) in written or any(holds(y, written) for y in parts)


def replaceable(x: Any) -> bool:
    """Whether a traced value may stand for it: numbers, arrays, Tensors that are not tracked, and
    trees of them."""
    kind = type(x)
    if kind in (tuple, list):
        return bool(x) and all(map(replaceable, x))
    if kind is dict:
        return bool(x) and all(map(replaceable, x.values()))
    if kind in (int, float, complex):
        return not (kind is int and abs(x) >= 1 << 62)
    if isinstance(x, Boxed):
        return not isinstance(x._data, Var) and not x.requires_grad and not x._tangents
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc"


__all__ = ["holds", "of_tensors", "replaceable"]
