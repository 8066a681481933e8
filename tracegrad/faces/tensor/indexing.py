"""Indexing of Tensors: torch's functions that read and write at places given by indices or
masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import ops
from ...checks import REFUSED, explained
from ...devices import to_host
from ...ir.dispatch import STATE, Value, data_of
from ...ir.graph import Var
from ...ir.operands import plain_operand
from ...ops.arrays.transfer import place_of, transfer
from ...ops.fits import refuse_less
from ...ops.places.indexing import as_value
from ...sizes import INTEGRAL, SYMBOLIC, known_less
from ...types import broadcast_shapes, normalize_axis
from ..operators import assigned, operand
from .casts import titled
from .numbers import numbers_too


class TensorIndexing(Value):
    """Reading at places; a function that writes gives a new tensor (see `tensor_updates` for those
    in place)."""

    __slots__ = ()

    def select(self: Any, dim: int, index: int) -> Any:
        """One slice along a dimension, which disappears."""
        return self[(slice(None),) * normalize_axis(dim, self.ndim) + (index,)]

    def narrow(self: Any, dim: int, start: int, length: int) -> Any:
        """`length` elements from `start` on along a dimension."""
        axis = normalize_axis(dim, self.ndim)
        size = self.shape[axis]
        if isinstance(start, INTEGRAL) and isinstance(length, INTEGRAL):
            start = start + size if known_less(start, 0) else start

            def beyond() -> str:
                span = f"start ({start}) + length ({length})"
                return f"narrow: {span} exceeds dimension size ({{size}})"

            if known_less(length, 0) or known_less(start, 0):
                raise IndexError(beyond().format(size=size))
            refuse_less(size, start + length, IndexError, beyond)
        return self[(slice(None),) * axis + (slice(start, start + length),)]

    @numbers_too
    def index_select(self: Any, dim: int, index: Any) -> Any:
        """The elements at these positions along a dimension."""
        return ops.take(self, index, dim)

    @numbers_too
    def gather(self: Any, dim: int, index: Any) -> Any:
        """Elements picked along a dimension, one for each position of `index`."""
        return ops.gather(self, dim, index)

    @numbers_too
    def scatter(self: Any, dim: int, index: Any, src: Any) -> Any:
        """This tensor with the elements of `src` at the positions of `index` along a dimension."""
        return ops.scatter(self, dim, index, src)

    @numbers_too
    def scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
        """This tensor with `src` added at the positions of `index` along a dimension."""
        return ops.scatter_add(self, dim, index, src)

    @numbers_too
    def index_add(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
        """This tensor with slices of `source` added at these positions along a dimension."""
        return ops.index_add(self, dim, index, source, alpha)

    def masked_select(self: Any, mask: Any) -> Any:
        """The elements where the mask is true, as a vector; both are broadcast to one shape."""
        shape = broadcast_shapes(self.shape, mask.shape)
        return ops.broadcast_to(self, shape)[ops.broadcast_to(mask, shape)]

    def nonzero(self: Any, *, as_tuple: bool = False) -> Any:
        """The positions of elements other than 0: a matrix with one row for each, or a tuple of
        index vectors."""
        values = self._concrete(
            "nonzero()", "Its size depends on the values; use a mask with tg.where instead."
        )
        if not self.ndim and not as_tuple:
            return transfer(self.face(np.zeros((int(bool(self)), 0), np.int64)), place_of(self))
        found = np.nonzero(np.atleast_1d(values))
        if as_tuple:
            return tuple(transfer(self.face(i), place_of(self)) for i in found)
        return transfer(self.face(np.stack(found, 1)), place_of(self))

    @numbers_too
    def index_copy(self: Any, dim: int, index: Any, source: Any) -> Any:
        """This tensor with slices of `source` at these positions along a dimension."""
        return titled(ops.index_copy(self, dim, index, source), "IndexCopyBackward0", self)

    def index_fill(self: Any, dim: int, index: Any, value: Any) -> Any:
        """This tensor with `value` at these positions along a dimension."""
        if not self.shape:
            return self.reshape(1).index_fill(dim, index, value).reshape(())
        key = (slice(None),) * normalize_axis(dim, self.ndim) + (index,)
        return titled(ops.index_update(self, key, value), "IndexFillBackward0", self)

    def index_put(self: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
        """This tensor with `values` at (or added at) `self[indices]`."""
        put = ops.index_add_at if accumulate else ops.index_update
        return titled(
            put(self, tuple(slice(None) if i is None else i for i in indices), operand(values)),
            "IndexPutBackward0",
            self,
        )

    def masked_scatter(self: Any, mask: Any, source: Any) -> Any:
        """This tensor with the elements of `source`, in their order, where the mask is true."""
        mask = ops.broadcast_to(operand(mask), self.shape)
        place = ops.reshape(ops.cumsum(ops.reshape(mask, (-1,)), axis=0) - 1, self.shape)
        flat = ops.reshape(operand(source), (-1,))
        missing = not isinstance(flat.shape[0], SYMBOLIC) and flat.shape[0] == 0
        if missing:
            return self.clone()
        return titled(
            ops.where(
                mask,
                ops.convert(ops.take(flat, ops.maximum(place, 0), mode="clip"), self.dtype),
                self,
            ),
            "MaskedScatterBackward0",
            self,
        )

    def put(self: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
        """This tensor with `source` at (or added at) positions of its elements in C order."""
        put = ops.index_add_at if accumulate else ops.index_update
        flat = put(ops.reshape(self, (-1,)), index, ops.reshape(operand(source), index.shape))
        return titled(ops.reshape(flat, self.shape), "PutBackward0", self)

    def take(self: Any, index: Any) -> Any:
        """The elements at these positions in C order."""
        return titled(ops.reshape(self, (-1,))[index], "TakeBackward0", self)

    def take_along_dim(self: Any, indices: Any, dim: int | None = None) -> Any:
        """Elements picked along a dimension, one for each position of `indices`."""
        return ops.take_along_axis(self, indices, dim)

    def argwhere(self: Any) -> Any:
        """The positions of elements other than 0, a row for each."""
        return self.nonzero()

    def __setitem__(self: Any, index: Any, value: Any) -> None:
        if isinstance(value, Value) and self._holds(index, value):
            # The second half of `x[index] += y`, whose first half has written through the view.
            return
        try:
            value = operand(value)
            if type(value) is np.ndarray:
                plain_operand(value)
            memory = self._plain(value)
            if memory is not None and _set(memory, index, value):
                self._count()
                return
            key = index if isinstance(index, tuple) else (index,)
            if (
                not STATE.traces
                and not isinstance(self._data, Var)
                and all(isinstance(k, BASIC) and not isinstance(k, bool) for k in key)
            ):
                # What is written is a view: so the rest of a large tensor is not touched.
                view = ops.getitem(self, index)
                new = as_value(value, view, view.shape)
                if view.numel() == self.numel():
                    view._put(new, "Copy")
                else:
                    # What lies in the memory that is about to change is copied first.
                    shared = isinstance(new, Value) and new._versions is view._versions
                    view._write(ops.positive(new) if shared else new, kept=False)
                self._refresh()
                return
            self._update(
                lambda x, value: titled(
                    ops.index_update(x, index, value), "IndexPutBackward0", x, value
                ),
                value,
            )
        except REFUSED as error:
            raise explained(
                error, "x[index] = value", assigned, (self, index, value), {}
            ) from error.__cause__


def _set(memory: np.ndarray[Any, Any], index: Any, value: Any) -> bool:
    """Whether NumPy has written; where it refuses, the general way finds out why."""
    key = tuple([data_of(k) for k in index]) if isinstance(index, tuple) else data_of(index)
    raw = np.asarray(to_host(data_of(value)))
    if raw.dtype.kind == "c" and memory.dtype.kind != "c":
        return False
    try:
        memory[key] = raw
    except (ValueError, TypeError, IndexError):
        return False
    return True


BASIC = (int, np.integer, *SYMBOLIC, slice, type(None), type(...))
"""What a key consists of that shows a part of the tensor's memory."""
