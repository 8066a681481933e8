"""Functions whose result may be their argument: as NumPy and torch have them, where users call
them.

What shows its argument gives an array of its own on the same memory, also where it shows all of it
as it is; what makes new arrays gives one that shares no memory. The functions of these names in
`ops` give the argument itself where nothing changes, which costs nothing: rules and compositions
take those.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import ops
from ...devices import share_memory
from ...dtypes import kind_of
from ...errors import ConcretizationError
from ...ir.dispatch import STATE, Value
from ...ir.graph import Var
from ...ir.trace import user_line
from ...ops.arrays.padding import NOT_GIVEN
from ...ops.arrays.shape import broadcast_to_op, reshape_op
from ...ops.places.gathering import Placed
from ...types import broadcast_shapes
from ..strides import in_memory_order
from .laying import columns_first, copied, in_one_row, laid

Function = Callable[..., Any]


def in_memory(x: Any) -> Any:
    """What NumPy gives as an array, which can be written into, and as no number, where it has no
    axes."""
    if not isinstance(x, Value) or x.shape or x.boxes_everything or x.writes_numbers:
        return x
    box: Any = x
    array = box._as(box.without_axes)
    if STATE.traces and id(box) in STATE.traces[-1].made:
        STATE.traces[-1].made[id(array)] = array
    return array


def as_source(x: Any, result: Any) -> Any:
    """What has no axes and is made of `x`: an array where that is one, else a number."""
    return in_memory(result) if isinstance(x, Value) and x.writes_numbers else result


def converted(x: Any, dtype: Any, order: str = "K", copy: bool = True) -> Any:
    """`x` in a dtype, lying as `copied` has it; it may be `x` itself where no copy is asked for."""
    found = ops.convert(x, dtype)
    if order != "K" and (copy or found is not x):
        found = copied(found, order)
    elif copy:
        found = own_memory(x, found)
    return as_source(x, found)


def own_view(x: Any, result: Any) -> Any:
    """What a function gave that shows `x`; where it is `x` itself, a view of all of it."""
    if result is not x:
        return result
    if isinstance(x, Value):
        return one_element(x, x._bind(reshape_op, [x], {"shape": x.shape}))
    return x.view() if isinstance(x, np.ndarray) else x


def one_element(x: Any, result: Any) -> Any:
    """A result that shows the one element of an array under another shape: a view, also where it
    has no axes."""
    if not isinstance(x, Value) or not isinstance(result, Value) or result.shape:
        return result
    if result.boxes_everything or not (x.shape or x.writes_numbers):
        return result
    return x._viewed(reshape_op, x, {"shape": ()}, in_memory(result))


def element(x: Any, result: Any) -> Any:
    """A result that is one element of `x`; where that is `x` itself, as an array without axes, the
    number in it, which no later write reaches."""
    written = result is x and isinstance(x, Value) and x.writes_numbers
    return ops.positive(result) if written else result


def repeated_view(x: Any, result: Any) -> Any:
    """A view of `x` under broadcasting. The operation alone makes none: rules repeat what nobody
    writes."""
    if result is x or not isinstance(x, Value):
        return own_view(x, result)
    return x._viewed(broadcast_to_op, x, {"shape": result.shape}, result)


def own_memory(x: Any, result: Any) -> Any:
    """What a function gave that makes a new array; where it shows `x` or is `x` itself, a copy."""
    if isinstance(result, Value):
        shown: Any = result._root
        root: Any = x if not isinstance(x, Value) or x._base is None else x._base
        # Where rules repeat and slice, memory is shared by what is no view.
        return ops.positive(result) if shown is root or _on_memory_of(x, result) else result
    shares = (
        isinstance(x, np.ndarray)
        and isinstance(result, np.ndarray)
        and np.may_share_memory(result, x)
    )
    return result.copy() if shares else result


def _on_memory_of(x: Any, result: Any) -> bool:
    data = (x._data, result._data) if isinstance(x, Value) else (None, None)
    return not any(d is None or isinstance(d, Var) for d in data) and share_memory(*data)


# Each has the parameters of the operation of its name; passing on any would take longer.


@functools.wraps(ops.reshape)
def reshape(x: Any, shape: Any) -> Any:
    result = ops.reshape(x, shape)
    return own_view(x, result) if result is x else one_element(x, result)


@functools.wraps(ops.ravel)
def ravel(x: Any) -> Any:
    result = ops.ravel(x)
    return in_one_row(x, own_view(x, result) if result is x else result)


@functools.wraps(ops.squeeze)
def squeeze(x: Any, axis: Any = None) -> Any:
    result = ops.squeeze(x, axis)
    return own_view(x, result) if result is x else one_element(x, result)


@functools.wraps(ops.expand_dims)
def expand_dims(x: Any, axis: Any) -> Any:
    result = ops.expand_dims(x, axis)
    return own_view(x, result) if result is x else result


@functools.wraps(ops.transpose)
def transpose(x: Any, axes: Any = None) -> Any:
    result = ops.transpose(x, axes)
    return own_view(x, result) if result is x else result


@functools.wraps(ops.permute)
def permute(x: Any, axes: Any) -> Any:
    result = ops.permute(x, axes)
    return own_view(x, result) if result is x else result


@functools.wraps(ops.moveaxis)
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    result = ops.moveaxis(x, source, destination)
    return own_view(x, result) if result is x else result


@functools.wraps(ops.swapaxes)
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    result = ops.swapaxes(x, axis1, axis2)
    return own_view(x, result) if result is x else result


@functools.wraps(ops.slice_array)
def slice_array(x: Any, start: Any, size: Any, step: Any) -> Any:
    result = ops.slice_array(x, start, size, step)
    return own_view(x, result) if result is x else result


@functools.wraps(ops.getitem)
def getitem(x: Any, key: Any) -> Any:
    result = ops.getitem(x, key)
    if _has_arrays_without_axes(key) and not getattr(x, "boxes_everything", False):
        return own_memory(x, result)
    if result is x:
        found = own_view(x, element(x, result) if key == () else result)
        return in_memory(found) if key is ... else found
    # torch's new tensors lie as their source, NumPy's as is best for what reads them.
    torchs = isinstance(result, Value) and result.boxes_everything and result._base is None
    return laid(result, "K" if result.ndim == np.ndim(x) else "C", x) if torchs else result


def _has_arrays_without_axes(key: Any) -> bool:
    """Whether an index is such an array: NumPy gives a copy, where it gives a view for a number."""
    for part in key if type(key) is tuple else (key,):
        if isinstance(part, np.ndarray) or (isinstance(part, Value) and part.writes_numbers):
            if not part.shape:
                return True
    return False


def shown(x: Any, key: Any) -> Any:
    """`x[key]` with an ellipsis in the key: NumPy gives an array without axes, and no number, where
    it shows one element. It is a view, too: of one element with axes, under another shape."""
    result = getitem(x, key)
    if not x.ndim or _has_arrays_without_axes(key):
        return in_memory(result)
    if result.shape or not isinstance(result, Value):
        return result
    part = getitem(x, (*key, None))
    number = part._bind(reshape_op, [part], {"shape": ()})
    if part._base is not None and isinstance(number, Value):
        return part._viewed(reshape_op, part, {"shape": ()}, in_memory(number))
    return number


@functools.wraps(ops.flip)
def flip(x: Any, axis: Any = None) -> Any:
    result = element(x, ops.flip(x, axis))
    return own_view(x, result) if result is x else result


@functools.wraps(ops.fliplr)
def fliplr(x: Any) -> Any:
    result = ops.fliplr(x)
    return own_view(x, result) if result is x else result


@functools.wraps(ops.flipud)
def flipud(x: Any) -> Any:
    result = ops.flipud(x)
    return own_view(x, result) if result is x else result


@functools.wraps(ops.rot90)
def rot90(x: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    result = ops.rot90(x, k, axes)
    return own_view(x, result) if result is x else result


@functools.wraps(ops.broadcast_to)
def broadcast_to(x: Any, shape: Any) -> Any:
    return repeated_view(x, ops.broadcast_to(x, shape))


@functools.wraps(ops.expand)
def expand(x: Any, shape: Any) -> Any:
    return repeated_view(x, ops.expand(x, shape))


@functools.wraps(ops.split)
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    return [own_view(x, part) for part in ops.split(x, indices_or_sections, axis)]


@functools.wraps(ops.array_split)
def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    return [own_view(x, part) for part in ops.array_split(x, indices_or_sections, axis)]


@functools.wraps(ops.hsplit)
def hsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    return [own_view(x, part) for part in ops.hsplit(x, indices_or_sections)]


@functools.wraps(ops.vsplit)
def vsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    return [own_view(x, part) for part in ops.vsplit(x, indices_or_sections)]


@functools.wraps(ops.tile)
def tile(x: Any, reps: Any) -> Any:
    return own_memory(x, ops.tile(x, reps))


@functools.wraps(ops.repeat)
def repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    return own_memory(x, ops.repeat(x, repeats, axis))


@functools.wraps(ops.roll)
def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    return own_memory(x, ops.roll(x, shift, axis))


@functools.wraps(ops.pad)
def pad(
    x: Any,
    pad_width: Any,
    mode: str = "constant",
    constant_values: Any = 0,
    *,
    stat_length: Any = NOT_GIVEN,
    end_values: Any = None,
    reflect_type: str = "even",
) -> Any:
    result = ops.pad(
        x,
        pad_width,
        mode,
        constant_values,
        stat_length=stat_length,
        end_values=end_values,
        reflect_type=reflect_type,
    )
    return laid(own_memory(x, result), "A", x)


@functools.wraps(ops.take)
def take(x: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    return laid(ops.take(x, indices, axis, mode), "C", x)


@functools.wraps(ops.sort)
def sort(x: Any, axis: Any = -1, descending: bool = False) -> Any:
    return laid(ops.sort(x, axis, descending), "K", x)


@functools.wraps(ops.clip)
def clip(x: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return own_memory(x, ops.clip(x, a_min, a_max, min=min, max=max))


@functools.wraps(ops.index_add_at)
def index_add_at(x: Any, key: Any, value: Any) -> Any:
    return own_memory(x, ops.index_add_at(x, key, value))


@functools.wraps(ops.slice_put)
def slice_put(x: Any, y: Any, start: Any, step: Any) -> Any:
    return own_memory(x, ops.slice_put(x, y, start, step))


@functools.wraps(ops.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    def replaced(x: Any) -> Any:
        return ops.nan_to_num(x, copy, nan, posinf, neginf)

    if copy or not isinstance(x, Value):
        return own_memory(x, replaced(x)) if copy else replaced(x)
    box: Any = x
    return element(x, box._update(replaced))


@functools.wraps(ops.index_update)
def index_update(x: Any, key: Any, value: Any) -> Any:
    return own_memory(value, own_memory(x, ops.index_update(x, key, value)))


class Part(Placed):
    """The real or the imaginary part of a complex array, as what a view shows of it."""

    __slots__ = ("name", "of")
    apart = 2

    def __init__(self, name: str) -> None:
        self.name, self.of = name, getattr(ops, name)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def shown(self, x: Any, params: Any) -> Any:
        return self.of(x)

    def put(self, x: Any, y: Any, params: Any) -> Any:
        real, imag = (y, ops.imag(x)) if self.name == "real" else (ops.real(x), y)
        return ops.convert(ops.complex_(real, imag), x.dtype)

    def set(self, x: Any, value: Any) -> None:
        """The assignment `x.real = value`."""
        if x.shape:
            self.view(x)[...] = value
        else:  # what shows a number shows no memory of it
            x[...] = self.put(x, value, {}) if x.dtype.kind == "c" else value

    def view(self, x: Any) -> Any:
        """The part of `x` on its memory; a real array is its own real part."""
        result = self.of(x)
        if not isinstance(x, Value) or x.dtype.kind != "c":
            return (
                getattr(x, self.name)
                if isinstance(x, np.ndarray) and x.dtype.kind == "c"
                else result
            )
        box: Any = result
        if type(x._data) is np.ndarray and isinstance(box, Value):
            box._data = getattr(x._data, self.name)
        return x._viewed(self, x, {}, as_source(x, result))


@functools.wraps(ops.real)
def real(x: Any) -> Any:
    return REAL.view(x)


@functools.wraps(ops.imag)
def imag(x: Any) -> Any:
    return IMAG.view(x)


REAL, IMAG = Part("real"), Part("imag")


def conjugate(x: Any) -> Any:
    """Complex conjugate, in a new array also where `x` is real (`conj` gives a real array itself);
    of booleans the numbers 0 and 1, as NumPy's.

    >>> import tracegrad as tg
    >>> tg.conjugate(tg.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    # An array's dtype or a Python number's type.
    is_bool = kind_of(x) in (bool, np.dtype(bool))
    return ops.convert(x, np.int8) if is_bool else own_memory(x, ops.conj(x))


@functools.wraps(ops.einsum)
def einsum(subscripts: Any, *operands: Any, **options: Any) -> Any:
    result = ops.einsum(subscripts, *operands, **options)
    for x in (subscripts, *operands):
        result = own_view(x, element(x, result))
    return result


@functools.wraps(ops.meshgrid)
def meshgrid(*xs: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> list[Any]:
    if copy:
        grids: list[Any] = ops.meshgrid(*xs, indexing=indexing, sparse=sparse)
        return [own_memory(x, g) for x, g in zip(xs, grids, strict=True)]
    thin = ops.meshgrid(*xs, indexing=indexing, sparse=True, copy=copy)
    grids = [own_view(x, g) for x, g in zip(xs, thin, strict=True)]
    if sparse or not grids:
        return grids
    shape = grids[0].shape
    for g in grids[1:]:
        shape = broadcast_shapes(shape, g.shape)
    return [g if g.shape == shape else broadcast_to(g, shape) for g in grids]


RESULTS: dict[str, Function] = {
    f.__name__: f
    for f in (
        reshape, ravel, squeeze, expand_dims, transpose, permute, moveaxis, swapaxes, broadcast_to,
        expand, slice_array, getitem, flip, fliplr, flipud, rot90, split, array_split, hsplit,
        vsplit, tile, repeat, roll, take, sort, pad, clip, index_add_at, slice_put, index_update,
        conjugate, einsum, meshgrid, nan_to_num, real, imag,
    )
}  # fmt: skip
"""By name."""

__all__: Sequence[str] = [
    "array_split", "broadcast_to", "clip", "conjugate", "einsum", "expand", "expand_dims",
    "flip", "fliplr", "flipud", "getitem", "hsplit", "imag", "index_add_at", "index_update",
    "meshgrid", "moveaxis", "nan_to_num", "pad", "permute", "ravel", "real", "repeat",
    "reshape", "roll", "rot90", "slice_array", "slice_put", "sort", "split", "squeeze",
    "swapaxes", "take", "tile", "transpose", "vsplit",
]  # fmt: skip


def in_order(x: Any, shape: Any, order: str | None) -> Any:
    """`reshape` that takes the elements, and puts them, in C order, columns first (F), in the one
    of these in which they lie (A), or as they lie in memory (K, of `ravel` alone)."""
    if order not in (None, "C", "F", "A", "K"):
        raise ValueError(f"order must be C, F or A, not {order!r}")
    if order in ("A", "K") and isinstance(x, Value) and x.ndim > 1:
        memory: Any = x._data
        if isinstance(memory, Var):
            raise ConcretizationError(
                f"{user_line()}: order={order!r} asks how the elements of a traced array lie in "
                'memory, which is not known here. Say "C" (rows first) or "F" (columns first).'
            )
        if order == "K" and type(memory) is np.ndarray:
            turned = RESULTS["transpose"](x, tuple(in_memory_order(memory)))
            return RESULTS["reshape"](turned, shape)
        order = "F" if columns_first(memory) else "C"
    if order != "F":
        return RESULTS["reshape"](x, shape)
    target = (shape,) if not isinstance(shape, (tuple, list)) else tuple(shape)
    turned = RESULTS["transpose"](x)
    return RESULTS["transpose"](RESULTS["reshape"](turned, target[::-1]))
