"""Arrays of the user's that stand beside differentiated values and that a rule will read: they may
be written to before it does.

They are copied, and all that is saved of one array while it stays as it is shares one copy: writes
are harmless, and the tape takes at most once more the memory of what it was given. Where that would
be too much, an array is kept as it is, with a digest of what it held, and refused where it was
written to since.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..ir.contents import SMALL, copied, digest, same_bits, writable
from ..types import show

COPIED = 1 << 26
"""Up to so many bytes an array is copied. Beyond, copying takes as long as looking twice."""
_COPIES: weakref.WeakValueDictionary[int, np.ndarray[Any, Any]] = weakref.WeakValueDictionary()
"""The last copy of an array, by its identity, as a hint: it is shared only where it holds the
same."""


class Lent:
    """A large array of the user's, in the place of the box of what was saved."""

    __slots__ = ("array", "digest")
    # No data of a node is this, so that whoever compares takes the way over `unpack`.
    _data = None
    _base = None
    _tangents = None
    _versions = None

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array, self.digest = array, digest(array)

    def opened(self) -> np.ndarray[Any, Any]:
        """The array, if it holds what it held."""
        if digest(self.array) == self.digest:
            return self.array
        raise RuntimeError(
            "one of the variables needed for gradient computation has been "
            f"modified by an inplace operation: a NumPy array of shape {show(self.array.shape)} "
            f"and dtype {self.array.dtype}, used beside a differentiated value, holds something "
            "else than it did then. Write into another array, or use a copy: `x * buffer.copy()`."
        )


def lend(x: Any) -> tuple[Any, Any, int]:
    """What is saved of an operand that is no box."""
    if type(x) is not np.ndarray:
        return None, x, 0
    size = x.nbytes
    if size <= SMALL:
        return None, x.copy(), 0
    if not writable(x):
        return None, x, 0
    own = kept(x)
    return (Lent(x) if own is x else None), own, 0


def kept(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy with this layout, shared while the array stays as it is; the array itself where that
    would be too much."""
    if x.nbytes <= SMALL:
        return x.copy(order="K")
    if x.nbytes > COPIED:
        return x
    known = _COPIES.get(id(x))
    if known is None or not same_bits(known, x):
        known = _COPIES[id(x)] = copied(x)
    return known
