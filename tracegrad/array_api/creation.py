"""Functions of the standard that make arrays."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..config import default_dtype
from ..dtypes import native
from ..faces.tensor.casts import own
from ..tensor import Tensor
from ..tensors import as_tensor, tensor
from ..tensors import from_dlpack as _shared
from .results import given, operand


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    """A Tensor of numbers, nested lists of them, an array or a Tensor, whose history stays.

    copy    True: always a copy. False: never one (ValueError where it takes one). None: where it
            has to be

    >>> import tracegrad as tg
    >>> tg.array_api.asarray([1, 2.5])
    tensor([1.0000, 2.5000])
    """
    if isinstance(obj, Tensor):
        if dtype is not None and obj.dtype != dtype:
            if copy is False:
                raise ValueError("asarray: another dtype takes a copy")
            made = ops.convert(obj, np.dtype(dtype))
        else:
            made = ops.positive(obj) if copy else obj
        return made if device is None else made.to(device)
    if copy is False and not isinstance(obj, np.ndarray):
        raise ValueError(f"asarray: a {type(obj).__name__} takes a copy")
    if copy or not isinstance(obj, np.ndarray):
        return tensor(obj, dtype=dtype, device=device)
    return as_tensor(obj, dtype=dtype, device=device)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
    """A Tensor on the memory of an array of another library.

    device  to bring it to; None leaves it where it is
    copy    True: in memory of its own. False: never (ValueError where another device takes a copy)

    TypeError for what has no `__dlpack__`, BufferError for a Tensor that requires grad.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.array_api.from_dlpack(np.arange(3.0), copy=True)
    tensor([0., 1., 2.])
    """
    shared = _shared(x)
    made = shared if device is None else shared.to(device)
    if made is not shared:
        if copy is False:
            raise ValueError("from_dlpack: another device takes a copy")
        return made
    return ops.positive(made) if copy else made


def _made(function: Callable[..., Any], *args: Any, dtype: Any, device: Any) -> Any:
    made = function(*args, dtype=dtype if dtype is not None else default_dtype())
    found = own(Tensor, native(made))
    return found if device is None else found.to(device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros of a shape, in the default dtype unless told another."""
    return _made(np.zeros, shape, dtype=dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Ones of a shape, in the default dtype unless told another."""
    return _made(np.ones, shape, dtype=dtype, device=device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """An array of a shape to be written to."""
    return _made(np.zeros, shape, dtype=dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """One number everywhere; in its dtype unless told another."""
    if dtype is None:
        real = default_dtype()
        kinds = {
            builtins.bool: np.dtype(builtins.bool),
            int: np.dtype(np.int64),
            float: real,
            complex: np.result_type(real, np.complex64),
        }
        dtype = kinds.get(type(fill_value), getattr(fill_value, "dtype", real))
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    return _made(lambda s, dtype: np.full(s, fill_value, dtype), shape, dtype=dtype, device=device)


def _like(x: Any, dtype: Any, device: Any) -> dict[str, Any]:
    operand(x)
    return {
        "dtype": x.dtype if dtype is None else dtype,
        "device": x.device if device is None else device,
    }


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros of the shape and dtype of `x`."""
    return zeros(x.shape, **_like(x, dtype, device))


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Ones of the shape and dtype of `x`."""
    return ones(x.shape, **_like(x, dtype, device))


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """An array of the shape and dtype of `x` to be written to."""
    return empty(x.shape, **_like(x, dtype, device))


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """One number everywhere, in the shape and dtype of `x`."""
    return full(x.shape, fill_value, **_like(x, dtype, device))


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Any:
    """Equally spaced numbers from `start` (0 where `stop` alone is given) up to `stop`.

    >>> import tracegrad as tg
    >>> tg.array_api.arange(1, 7, 2)
    tensor([1, 3, 5])
    """
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        whole = all(isinstance(x, (int, np.integer)) for x in (start, stop, step))
        dtype = np.dtype(np.int64) if whole else default_dtype()
    return _made(
        lambda dtype: np.arange(start, stop, step, dtype=dtype), dtype=dtype, device=device
    )


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Any:
    """`num` equally spaced numbers from `start` to `stop`.

    >>> import tracegrad as tg
    >>> tg.array_api.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if dtype is None:
        real = default_dtype()
        whole = any(isinstance(x, complex) for x in (start, stop))
        dtype = np.result_type(real, np.complex64) if whole else real
    return _made(
        lambda dtype: np.linspace(start, stop, num, dtype=dtype, endpoint=endpoint),
        dtype=dtype,
        device=device,
    )


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Any:
    """Ones on a diagonal, zeros elsewhere."""
    return _made(lambda dtype: np.eye(n_rows, n_cols, k, dtype=dtype), dtype=dtype, device=device)


def meshgrid(*arrays: Any, indexing: str = "xy") -> Any:
    """Coordinates of a grid, an array for each axis.

    >>> import tracegrad as tg
    >>> [g.shape for g in tg.array_api.meshgrid(tg.ones(2), tg.ones(3))]
    [(3, 2), (3, 2)]
    """
    return list(given(np.meshgrid(*map(operand, arrays), indexing=indexing)))  # type: ignore[call-overload]


def tril(x: Any, /, *, k: int = 0) -> Any:
    """The lower triangle of matrices, up to diagonal `k`; zeros elsewhere."""
    return given(np.tril(operand(x), k))


def triu(x: Any, /, *, k: int = 0) -> Any:
    """The upper triangle of matrices, from diagonal `k`; zeros elsewhere."""
    return given(np.triu(operand(x), k))


__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]
