"""`x.flat`: the elements of an array in C order, read and written by number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import ops
from ...ir.dispatch import Value
from ...ops.define import shape_of
from ...ops.places.indexing import getitem
from ...sizes import numel
from .in_turn import refuse_overlap
from .lookup import boxes_in
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
        def write(base: Any, read: Any) -> None:
            base.flat[key] = read

        read = value.base if isinstance(value, Flat) else value
        if isinstance(self.base, Value) and isinstance(read, Value):
            name = "an assignment to x.flat"
            refuse_overlap(name, self.base, read, None if boxes_in([key]) else write)
        put(self.base, getitem(ops.iota(numel(shape_of(self.base))), key), value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.base.reshape(-1).__array__(dtype, copy)


__all__ = ["Flat"]
