"""How new arrays lie in memory, which decides what of them is a view: in C order, columns first, or
as an argument does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ops
from ...ir.dispatch import Value
from ...ir.graph import Var
from ...ops.arrays.shape import transpose_op
from ...ops.places.gathering import Placed
from ..strides import contiguous
from ..traced_memory import lay, memory_of, note_choice

Function = Callable[..., Any]


def columns_first(memory: Any) -> bool:
    """Whether an array lies in Fortran's order alone."""
    flags = getattr(memory, "flags", None)
    return flags is not None and flags.f_contiguous and not flags.c_contiguous


def copied(x: Any, order: str | None) -> Any:
    """A copy that lies in C order, columns first (F), in the one of these in which `x` does (A), or
    as `x` does (K)."""
    result = ops.positive(x)
    return result if order == "K" else laid(result, order, x)


def lying(order: str) -> Callable[[Function], Function]:
    """A function whose results lie in this order, as `laid` has it of the first argument."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def composed(x: Any, *args: Any, **kwargs: Any) -> Any:
            found = function(x, *args, **kwargs)
            if kwargs.get("out") is not None:
                return found
            if isinstance(found, (list, tuple)):
                return type(found)([laid(each, order, x) for each in found])
            return laid(found, order, x)

        return composed

    return decorate


def laid(result: Any, order: str | None, like: Any) -> Any:
    """A new box, in C order, columns first (F), in the one of these in which another array lies
    (A), or with its axes in the order of that one's (K)."""
    box: Any = result
    if not isinstance(result, Value) or box.ndim < 2 or type(box._data) not in (np.ndarray, Var):
        return result
    if box._base is not None:  # of what nobody else has
        result = box = ops.positive(result)
    source = getattr(like, "_data", None)
    if type(box._data) is Var:
        lay(box, order, like)
        return result
    if order == "A":
        order = "F" if columns_first(source) else "C"
    if order == "K" and type(source) is np.ndarray:
        if source.flags.c_contiguous and box._data.flags.c_contiguous:
            return result
        made = np.empty_like(source, box._data.dtype, shape=box._data.shape)
        made[...] = box._data
        box._data = made
    elif order != "K":
        box._data = np.asarray(box._data, order="F" if order == "F" else "C")
    return result


def lies(x: Any, order: str | None) -> bool:
    """Whether a box lies in C order (C), or columns first (F)."""
    data = x._data
    if type(data) is Var:
        turn = (transpose_op, {"axes": tuple(range(x.ndim))[::-1]})
        return contiguous(memory_of(x._root), (*x._view, turn) if order == "F" else x._view)
    if any(isinstance(op, Placed) for op, _ in x._view) and type(x._root._data) is np.ndarray:
        base = x._root._data  # a part of numbers, which is kept in memory of its own
        steps = tuple(s // base.itemsize for s in base.strides)
        return contiguous((base.shape, steps), x._view)
    flags = getattr(data, "flags", None)
    return flags is None or bool(flags.f_contiguous if order == "F" else flags.c_contiguous)


def in_one_row(x: Any, row: Any) -> Any:
    """What `ravel` makes of `x`, of which `row` shows all elements: that, or a copy of it where its
    elements do not follow one another."""
    if not isinstance(row, Value):
        return row
    found = row if lies(row, "C") else ops.positive(row)
    if isinstance(x, Value):
        note_choice(found, x)
    return found
