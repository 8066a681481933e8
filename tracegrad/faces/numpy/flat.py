"""`x.flat`: the elements of an array in C order, read and written by number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import ops
from ...ops.define import shape_of
from ...ops.places.indexing import getitem
from ...sizes import numel
from .writes import put


class Flat:
    """What NumPy's `flatiter` is of an ndarray."""

    __slots__ = ("base",)

    def __init__(self, base: Any) -> None:
        self.base = base

    def copy(self) -> Any:
        """The elements as an array with one axis."""
        return self.base.flatten()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.base.reshape(-1))

    def __len__(self) -> int:
        return len(self.base.reshape(-1))

    def __getitem__(self, key: Any) -> Any:
        return ops.positive(self.base.reshape(-1)[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        put(self.base, getitem(ops.iota(numel(shape_of(self.base))), key), value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.base.reshape(-1).__array__(dtype, copy)


__all__ = ["Flat"]
