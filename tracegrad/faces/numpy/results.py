"""Functions whose result may be their argument: as NumPy and torch have them, where users call
them.

What shows its argument gives an array of its own on the same memory, also where it shows all of it
as it is; what makes new arrays gives one that shares no memory. The functions of these names in
`ops` give the argument itself where nothing changes, which costs nothing: rules and compositions
take those.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import ops
from ...devices import share_memory
from ...ir.dispatch import Value
from ...ir.graph import Var
from ...ops.arrays.shape import broadcast_to_op, reshape_op
from ...ops.places.gathering import Placed
from ...types import broadcast_shapes

Function = Callable[..., Any]


def own_view(x: Any, result: Any) -> Any:
    """What a function gave that shows `x`; where it is `x` itself, a view of all of it."""
    if result is not x:
        return result
    if isinstance(x, Value):
        return x._bind(reshape_op, [x], {"shape": x.shape})
    return x.view() if isinstance(x, np.ndarray) else x


def repeated_view(x: Any, result: Any) -> Any:
    """A view of `x` under broadcasting. The operation alone makes none: rules repeat what nobody
    writes."""
    if result is x or not isinstance(x, Value):
        return own_view(x, result)
    return x._viewed(broadcast_to_op, x, {"shape": result.shape}, result)


def own_memory(x: Any, result: Any) -> Any:
    """What a function gave that makes a new array; where it shows `x` or is `x` itself, a copy."""
    if isinstance(result, Value):
        shown: Any = result if result._base is None else result._base
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


def _ended(name: str, ending: str) -> Function:
    """The function of `ops` with this name, whose `result` of a first argument x is what `ending`
    says. It is written out with that function's parameters, which costs less than passing any
    on."""
    function: Function = getattr(ops, name)
    parameters = list(inspect.signature(function).parameters.values())
    space: dict[str, Any] = {f"default_{p.name}": p.default for p in parameters}
    space.update(function=function, own_view=own_view, own_memory=own_memory)
    space.update(repeated_view=repeated_view)
    taken = [p.name if p.default is p.empty else f"{p.name}=default_{p.name}" for p in parameters]
    named = next((k for k, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY), None)
    if named is not None:
        taken.insert(named, "*")
    passed = [f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in parameters]
    x = parameters[0].name
    text = [f"def {name}({', '.join(taken)}):", f"    result = function({', '.join(passed)})"]
    exec("\n".join([*text, f"    return {ending.format(x=x)}"]), space)
    return functools.wraps(function)(space[name])


def _showing(name: str) -> Function:
    """Of a function that shows its first argument."""
    return _ended(name, "own_view({x}, result) if result is {x} else result")


def _showing_parts(name: str) -> Function:
    """Of a function that gives several parts of its first argument."""
    return _ended(name, "type(result)([own_view({x}, part) for part in result])")


def _making(name: str) -> Function:
    """Of a function that makes a new array of its first argument."""
    return _ended(name, "own_memory({x}, result)")


reshape, ravel, squeeze, expand_dims = map(_showing, ("reshape", "ravel", "squeeze", "expand_dims"))
transpose, permute, moveaxis, swapaxes = map(
    _showing, ("transpose", "permute", "moveaxis", "swapaxes")
)
slice_array = _showing("slice_array")
getitem, flip, fliplr, flipud, rot90 = map(
    _showing, ("getitem", "flip", "fliplr", "flipud", "rot90")
)


def _repeating(name: str) -> Function:
    """Of a function that shows its first argument repeated."""
    return _ended(name, "repeated_view({x}, result)")


broadcast_to, expand = map(_repeating, ("broadcast_to", "expand"))
split, array_split = map(_showing_parts, ("split", "array_split"))
hsplit, vsplit = map(_showing_parts, ("hsplit", "vsplit"))

tile, repeat, roll, pad, clip = map(_making, ("tile", "repeat", "roll", "pad", "clip"))
index_add_at, slice_put = map(_making, ("index_add_at", "slice_put"))


@functools.wraps(ops.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    def replaced(x: Any) -> Any:
        return ops.nan_to_num(x, copy, nan, posinf, neginf)

    if copy or not isinstance(x, Value):
        return own_memory(x, replaced(x)) if copy else replaced(x)
    box: Any = x
    return box._update(replaced)


@functools.wraps(ops.index_update)
def index_update(x: Any, key: Any, value: Any) -> Any:
    return own_memory(value, own_memory(x, ops.index_update(x, key, value)))


class Part(Placed):
    """The real or the imaginary part of a complex array, as what a view shows of it."""

    __slots__ = ("name", "of")

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
        return x._viewed(self, x, {}, result)


@functools.wraps(ops.real)
def real(x: Any) -> Any:
    return REAL.view(x)


@functools.wraps(ops.imag)
def imag(x: Any) -> Any:
    return IMAG.view(x)


REAL, IMAG = Part("real"), Part("imag")


def conjugate(x: Any) -> Any:
    """Complex conjugate, in a new array also where `x` is real (`conj` gives a real array itself).

    >>> import tracegrad as tg
    >>> tg.conjugate(tg.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return own_memory(x, ops.conj(x))


@functools.wraps(ops.einsum)
def einsum(subscripts: Any, *operands: Any, **options: Any) -> Any:
    result = ops.einsum(subscripts, *operands, **options)
    for x in (subscripts, *operands):
        result = own_view(x, result)
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
        vsplit, tile, repeat, roll, pad, clip, index_add_at, slice_put, index_update, conjugate,
        einsum, meshgrid, nan_to_num, real, imag,
    )
}  # fmt: skip
"""By name."""

__all__: Sequence[str] = [
    "array_split",
    "broadcast_to",
    "clip",
    "conjugate",
    "einsum",
    "expand",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "getitem",
    "hsplit",
    "imag",
    "index_add_at",
    "index_update",
    "meshgrid",
    "moveaxis",
    "nan_to_num",
    "pad",
    "permute",
    "ravel",
    "real",
    "repeat",
    "reshape",
    "roll",
    "rot90",
    "slice_array",
    "slice_put",
    "split",
    "squeeze",
    "swapaxes",
    "tile",
    "transpose",
    "vsplit",
]


def in_order(x: Any, shape: Any, order: str | None) -> Any:
    """`reshape` that takes the elements, and puts them, in C order or (F) columns first."""
    if order in (None, "C", "A", "K"):
        return RESULTS["reshape"](x, shape)
    if order != "F":
        raise ValueError(f"order must be C, F or A, not {order!r}")
    target = (shape,) if not isinstance(shape, (tuple, list)) else tuple(shape)
    turned = RESULTS["transpose"](x)
    return RESULTS["transpose"](RESULTS["reshape"](turned, target[::-1]))
