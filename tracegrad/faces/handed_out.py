"""Plain ndarrays that NumPy made of boxes whose writes replace values (`np.asarray(y)` under
`grad`, of a `y` that depends on nothing): they lie on the memory of now, and would not see what is
written to the box later. Such a write is refused while there is one."""

from __future__ import annotations

from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from .._codegen import locks
from ..errors import ConcretizationError
from ..ir.trace import user_line

HANDED: dict[int, tuple[ref[Any], list[ref[Any]], str]] = {}
"""By the identity of a base: the base, the ndarrays, and where the last of them was made. Nearly
always empty."""
_NOTING = locks.lock()


class MemoryOwner:
    """The owner of an ndarray's memory, so that what is made of that holds that, and not what it
    was made of."""

    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        self.memory, self.__array_interface__ = memory, memory.__array_interface__


def handed_out(box: Any, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An ndarray on the memory of a box, which is remembered as long as there is one."""
    root, shown = box._root, np.asarray(MemoryOwner(memory))
    line, gone = user_line(), ref(root, partial(_forget, id(root)))
    with _NOTING:
        known = HANDED.get(id(root))
        arrays = [r for r in known[1] if r() is not None] if known and known[0]() is root else []
        HANDED[id(root)] = gone, [*arrays, ref(shown)], line
    return shown


def _forget(number: int, gone: Any) -> None:
    with _NOTING:
        known = HANDED.get(number)
        if known is not None and known[0] is gone:
            del HANDED[number]


def see_unseen(root: Any) -> None:
    """See that no ndarray shows the memory of a base that is about to be written to.

    Raises ConcretizationError where there is one.
    """
    with _NOTING:
        known = HANDED.get(id(root))
        if known is None or known[0]() is not root:
            return
        if all(r() is None for r in known[1]):
            del HANDED[id(root)]
            return
    raise ConcretizationError(
        f"{user_line()}: this writes to an array of which an ndarray was made at {known[2]}, which "
        "would not see it, as values under differentiation are replaced. Make that of a copy "
        "(np.array(y)), make it after the write, or use y itself in its place."
    )
