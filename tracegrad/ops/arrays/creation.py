"""Arrays from nothing but sizes and numbers.

Outside a trace these are plain new ndarrays. Inside a trace they are recorded, so that a compiled
function makes them anew at every call, whatever its sizes then are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..._codegen import lowering as lower
from ...checks import REFUSED, describe, explained_here, flag
from ...devices import to_host
from ...dtypes import INT64, check, is_differentiable, kind_of, promote
from ...errors import ConcretizationError, ShapeError
from ...ir.dispatch import STATE, Value, bind
from ...ir.graph import Var
from ...ir.op import op
from ...sizes import INTEGRAL, SYMBOLIC, Size, larger_of, number_of, quotient_of, seen
from ...types import ArrayType, Int
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, equal, greater_equal, sub, where
from ..elementwise.comparison import floor
from ..elementwise.derived import add, convert, mul
from ..elementwise.logic import logical_and
from ..elementwise.powers import power
from .shape import broadcast_to, expand_dims, moveaxis, reshape

NUMPY: Any = np
"""NumPy for calls whose overloads do not cover arguments of any type."""

iota_op = op(
    "iota",
    (),
    evaluate=lambda *, size, dtype: np.arange(size, dtype=dtype),
    infer=lambda *, size, dtype: (ArrayType(dtype, (size,)),),
    vjp=(),
    lowering=lower.Pointwise("{0}"),
    doc="0, 1, 2, ...",
)


def iota(size: Int, dtype: Any = INT64) -> Any:
    """0, 1, ..., size - 1.

    >>> import tracegrad as tg
    >>> tg.ops.iota(3)
    array([0, 1, 2])
    """
    return bind(iota_op, [], {"size": size, "dtype": check(np.dtype(dtype))})


def _size(value: Any) -> Any:
    if value is True or value is False:
        raise TypeError(f"a size is an integer, not {value}")
    return value if isinstance(value, SYMBOLIC) else operator.index(value)


def _shape(shape: Any) -> tuple[Int, ...]:
    """A shape argument: one size or several, none negative."""
    sizes = (
        (shape,)
        if isinstance(shape, INTEGRAL) or (ndim_of(shape) == 0 and hasattr(shape, "__index__"))
        else shape
    )
    try:
        if isinstance(sizes, (set, dict, Iterator)):
            raise TypeError(
                "sizes have an order, and are read more than once: pass a tuple of integers, "
                f"not {describe(sizes)}"
            )
        result = tuple(_size(s) for s in sizes)
    except REFUSED as error:
        raise explained_here(error) from error.__cause__
    for s in result:
        if isinstance(s, int) and s < 0:
            raise ShapeError(f"sizes cannot be negative, got the shape {result}")
    return result


# --- constant arrays ------------------------------------------------------------------------------


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """A new array of this shape, `fill_value` everywhere (it may itself be an array that
    broadcasts, and be differentiated).

    >>> import tracegrad as tg
    >>> tg.ops.full((2,), 7.0)
    array([7., 7.])
    """
    sizes = _shape(shape)
    if not STATE.traces and not isinstance(fill_value, Value):
        return np.full(sizes, fill_value, None if dtype is None else check(np.dtype(dtype)))
    if isinstance(fill_value, Size):
        dtype = INT64 if dtype is None else dtype
    elif not hasattr(fill_value, "dtype") and (dtype is None or type(fill_value) is not int):
        fill_value = np.asarray(fill_value)[()]
    value = fill_value if dtype is None else convert(fill_value, dtype)
    return broadcast_to(value, sizes)


def zeros(shape: Any, dtype: Any = float) -> Any:
    """A new array of zeros.

    >>> import tracegrad as tg
    >>> tg.ops.zeros(2)
    array([0., 0.])
    """
    return full(shape, 0, np.dtype(dtype))


def ones(shape: Any, dtype: Any = float) -> Any:
    """A new array of ones.

    >>> import tracegrad as tg
    >>> tg.ops.ones(2)
    array([1., 1.])
    """
    return full(shape, 1, np.dtype(dtype))


def empty(shape: Any, dtype: Any = float) -> Any:
    """A new array to be written to; here it holds zeros, so that results never depend on old
    memory.

    >>> import tracegrad as tg
    >>> tg.ops.empty((2, 3)).shape
    (2, 3)
    """
    return full(shape, 0, np.dtype(dtype))


def _like(x: Any, dtype: Any, shape: Any) -> tuple[Any, Any]:
    kind = x if hasattr(x, "dtype") else np.asarray(x)
    return shape_of(kind) if shape is None else shape, kind.dtype if dtype is None else dtype


def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """A new array with the shape and dtype of `x`, `fill_value` everywhere.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ops.full_like(np.zeros(2), 3)
    array([3., 3.])
    """
    sizes, kind = _like(x, dtype, shape)
    return full(sizes, fill_value, kind)


def zeros_like(x: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Zeros with the shape and dtype of `x`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ops.zeros_like(np.array([1, 2]))
    array([0, 0])
    """
    return full_like(x, 0, dtype, shape)


def ones_like(x: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Ones with the shape and dtype of `x`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ops.ones_like(np.array([5, 2]))
    array([1, 1])
    """
    return full_like(x, 1, dtype, shape)


def empty_like(x: Any, dtype: Any = None, shape: Any = None) -> Any:
    """A new array with the shape and dtype of `x`, to be written to.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ops.empty_like(np.zeros((2, 3))).shape
    (2, 3)
    """
    return full_like(x, 0, dtype, shape)


# --- ranges ---------------------------------------------------------------------------------------


def _known(value: Any, who: str) -> Any:
    if isinstance(value, Value):
        if getattr(value._data, "shape", None) == () and not isinstance(value._data, Var):
            return to_host(value._data)[()]
        raise ConcretizationError(
            f"{who} decides the size of the result, and is a traced array ({value._data.type}), "
            "not known while tracing. Make it a size (x.shape[0]) or a Python number, "
            "or mark the argument static with static_argnames."
        )
    if (
        not isinstance(value, (int, float, np.integer, np.floating, *SYMBOLIC))
        and getattr(value, "shape", None) != ()
    ):
        raise TypeError(f"arange: {who} is {describe(value)}; it must be a real number")
    return value


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """`start`, `start + step`, ... up to but without `stop`; a single argument is `stop`. Bounds
    may be symbolic sizes.

    >>> import tracegrad as tg
    >>> tg.ops.arange(2, 8, 3)
    array([2, 5])
    """
    if stop is None:
        start, stop = 0, start
    if not STATE.traces:
        return NUMPY.arange(
            _known(start, "start"), _known(stop, "stop"), _known(step, "step"), dtype
        )
    start, stop, step = (
        _known(v, n) for v, n in ((start, "start"), (stop, "stop"), (step, "step"))
    )
    whole = all(isinstance(v, INTEGRAL) for v in (start, stop, step))
    if dtype is not None:
        kind = check(np.dtype(dtype))
    else:
        kind = (
            INT64
            if whole
            else np.result_type(*[0 if isinstance(v, SYMBOLIC) else v for v in (start, stop, step)])
        )
    if any(isinstance(v, SYMBOLIC) for v in (start, stop, step)) and all(
        isinstance(v, INTEGRAL) or float(v).is_integer() for v in (start, stop, step)
    ):
        # `np.arange(1.0, n)`: whole numbers, whatever their dtype.
        start, stop, step = (v if isinstance(v, INTEGRAL) else int(v) for v in (start, stop, step))
        whole = True
    if whole:
        step = int(step)
        if step == 0:
            raise ShapeError("arange needs a step other than 0")
        size = _ceil_divide(stop - start, step)
        index = iota(size)
        values = index if step == 1 else mul(index, step)
        return convert(
            values if isinstance(start, int) and start == 0 else add(values, start), kind
        )
    start, stop, step = (
        float(v) if isinstance(v, (float, np.floating)) else int(v) for v in (start, stop, step)
    )
    count = max(0, math.ceil((stop - start) / step))
    # NumPy's own steps: the difference of the first two elements, both rounded to the result's
    # dtype.
    first, second = kind.type(start), kind.type(start + step)
    return add(first, mul(convert(iota(count), kind), second - first))


def _ceil_divide(length: Any, step: int) -> Any:
    if step < 0:
        length, step = -length, -step
    return quotient_of(larger_of(0, length) + step - 1, step)


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, both of which may be arrays and be
    differentiated.

    >>> import tracegrad as tg
    >>> tg.ops.linspace(0.0, 1.0, 3)
    array([0. , 0.5, 1. ])
    """
    num = _size(num)
    if isinstance(num, int) and num < 0:
        raise ValueError(f"num is {num}; it must be none below 0")
    if not STATE.traces and not isinstance(start, Value) and not isinstance(stop, Value):
        return NUMPY.linspace(start, stop, num, endpoint, retstep, dtype, axis)
    start, stop = (
        v if isinstance(v, (int, float, complex)) or hasattr(v, "dtype") else as_array(v)
        for v in (start, stop)
    )
    gaps = num - 1 if endpoint else num
    span = sub(mul(stop, 1.0) if hasattr(stop, "dtype") else stop * 1.0, start)
    known = isinstance(gaps, int)
    some = not known or gaps > 0
    # Steps of one length, as NumPy's: fractions of the span would be other numbers in the last bit.
    step = div(span, number_of(seen(gaps))) if some else np.float64("nan")
    ndim = ndim_of(span)
    index = iota(num)
    column = reshape(index, (num, *[1] * ndim)) if ndim else index
    column = convert(
        column,
        np.result_type(span.dtype, np.float32) if is_differentiable(span.dtype) else np.float64,
    )
    distance = mul(column, step if some else span)
    if not known:  # there may be one number, and none to divide by
        distance = where(equal(column, 0), span.dtype.type(0), distance)
    result = add(distance, start)
    if endpoint and not (isinstance(num, int) and num <= 1):
        last = logical_and(equal(column, num - 1), greater_equal(column, 1))
        result = where(last, stop, result)
    if dtype is not None and np.dtype(dtype).kind in "iu":
        result = floor(result)  # not cut off, as NumPy's
    result = convert(
        result, promote(kind_of(start), kind_of(stop), float) if dtype is None else dtype
    )
    result = moveaxis(result, 0, axis)
    return (result, step) if retstep else result


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`base` to the powers of `linspace(start, stop, num)`.

    >>> import tracegrad as tg
    >>> tg.ops.logspace(0.0, 2.0, 3)
    array([  1.,  10., 100.])
    """
    result = power(base, linspace(start, stop, num, endpoint, axis=axis))
    return result if dtype is None else convert(result, dtype)


# --- matrices -------------------------------------------------------------------------------------


def tri(n: Int, m: Int | None = None, k: int = 0, dtype: Any = float) -> Any:
    """Ones on and below the k-th diagonal of an (n, m) matrix, zeros above.

    >>> import tracegrad as tg
    >>> tg.ops.tri(2, 3)
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    return convert(_below(_size(n), _size(n if m is None else m), k), dtype)


def _below(n: Int, m: Int, k: int) -> Any:
    if (
        isinstance(k, complex)
        or (isinstance(k, float) and not math.isfinite(k))
        or ndim_of(k)
        or getattr(getattr(k, "dtype", None), "kind", "") == "c"
    ):
        raise explained_here(TypeError(f"k is {describe(k)}; it must be the number of a diagonal"))
    return greater_equal(add(expand_dims(iota(n), 1), k), iota(m))


def eye(n: Int, m: Int | None = None, k: int = 0, dtype: Any = float) -> Any:
    """Ones on the k-th diagonal of an (n, m) matrix, zeros elsewhere.

    >>> import tracegrad as tg
    >>> tg.ops.eye(2)
    array([[1., 0.],
           [0., 1.]])
    """
    rows, columns = _shape((n, n if m is None else m))
    return convert(equal(add(expand_dims(iota(rows), 1), k), iota(columns)), dtype)


def identity(n: Int, dtype: Any = float) -> Any:
    """The identity matrix.

    >>> import tracegrad as tg
    >>> tg.ops.identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=dtype)


def tril(x: Any, k: int = 0) -> Any:
    """The last two axes of `x` with zeros above the k-th diagonal; vectors are refused
    (ShapeError).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ops.tril(np.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """
    x, k = _matrix(x, "tril"), operator.index(k)
    n, m = shape_of(x)[-2:]
    return where(_below(n, m, k), x, x.dtype.type(0))


def triu(x: Any, k: int = 0) -> Any:
    """The last two axes of `x` with zeros below the k-th diagonal; vectors are refused
    (ShapeError).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ops.triu(np.ones((2, 2)))
    array([[1., 1.],
           [0., 1.]])
    """
    x, k = _matrix(x, "triu"), operator.index(k)
    n, m = shape_of(x)[-2:]
    return where(_below(n, m, k - 1), x.dtype.type(0), x)


def _matrix(x: Any, who: str) -> Any:
    x = x if hasattr(x, "shape") else np.asarray(x)
    if ndim_of(x) < 2:
        raise ShapeError(
            f"{who} needs a matrix, or a stack of them, but got {ndim_of(x)} axes. "
            "Add an axis with x[None, :]."
        )
    return x


# --- grids ----------------------------------------------------------------------------------------


def meshgrid(*xs: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> list[Any]:
    """Coordinate arrays of the grid over these vectors: rows by the second one for "xy", by the
    first for "ij".

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> [g.shape for g in tg.ops.meshgrid(np.zeros(2), np.zeros(3))]
    [(3, 2), (3, 2)]

    NumPy's; torch's, for "ij" by default, is `tracegrad.torch.meshgrid`.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid knows the indexing "xy" and "ij", not {indexing!r}')
    flag("copy", copy)
    count = len(xs)
    places = [1, 0, *range(2, count)] if indexing == "xy" and count > 1 else list(range(count))
    vectors = [reshape(x if hasattr(x, "shape") else np.asarray(x), -1) for x in xs]
    sizes: list[Int] = [1] * count
    for v, place in zip(vectors, places, strict=True):
        sizes[place] = shape_of(v)[0]
    grids = [
        reshape(v, tuple(sizes[place] if k == place else 1 for k in range(count)))
        for v, place in zip(vectors, places, strict=True)
    ]
    if sparse:
        return grids
    wide = [broadcast_to(g, tuple(sizes)) for g in grids]
    return [np.array(g) if isinstance(g, np.ndarray) and copy else g for g in wide]


def indices(dimensions: Sequence[Int], dtype: Any = int) -> Any:
    """The index of every element along every axis, stacked along a new first axis.

    >>> import tracegrad as tg
    >>> tg.ops.indices((2, 2))[0]
    array([[0, 0],
           [1, 1]])
    """
    sizes = _shape(dimensions)
    count = len(sizes)
    # One comparison per axis instead of a concatenation: this stays a single elementwise loop in
    # compiled code.
    axis = reshape(iota(count), (count, *[1] * count))
    total: Any = full((count, *sizes), 0, INT64)
    for k, size in enumerate(sizes):
        along = reshape(iota(size), tuple(size if j == k else 1 for j in range(count)))
        total = add(total, where(equal(axis, k), along, 0))
    return convert(total, dtype)


OPS = (iota_op,)
