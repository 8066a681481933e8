"""Making Tensors: from data, filled with one value, with ranges, with random numbers.

Sizes come one by one or as a tuple; floats are made in the default dtype (`set_default_dtype`),
data from arrays keeps the array's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import ops
from .checks import REFUSED, explained_here
from .config import default_dtype
from .devices import CPU, exchange, resolve
from .dtypes import check, native
from .faces.numpy.laying import laid
from .faces.operators import array_of
from .faces.tensor.casts import own, sizes_of
from .ir.dispatch import STATE, Value
from .ir.operands import plain_array
from .ops.arrays.transfer import place_of
from .ops.define import holds_boxed
from .tape.versions import OfArray, born
from .tensor import Boxed, Tensor


def _dtype(dtype: Any, like: Any = None) -> np.dtype[Any]:
    try:
        return (
            check(np.dtype(dtype))
            if dtype is not None
            else like.dtype
            if like is not None
            else default_dtype()
        )
    except REFUSED as error:
        raise explained_here(error) from error.__cause__


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with a copy of `data`: a number, an array, or nested lists of them. Python floats
    get the default dtype.

    >>> import tracegrad as tg
    >>> tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    tensor([[1., 2.],
            [3., 4.]])
    """
    try:
        if not isinstance(data, Value) and hasattr(data, "__cuda_array_interface__"):
            data = Tensor(exchange.from_interface(data))
        if isinstance(data, Boxed):
            value = data.detach() if isinstance(data, Tensor) else data
            value = (
                ops.positive(value)
                if dtype is None or np.dtype(dtype) == data.dtype
                else ops.convert(value, dtype)
            )
        elif holds_boxed(data):
            value = array_of(data)
            value = value if dtype is None else ops.convert(value, dtype)
        else:
            value = _from_data(data, dtype)
        made: Tensor = own(Tensor, value, requires_grad, device)
        return made
    except REFUSED as error:
        raise explained_here(error) from error.__cause__


def _from_data(data: Any, dtype: Any) -> Any:
    data = plain_array(data, "the data of a tensor are")
    if dtype is not None:
        return np.array(data, check(np.dtype(dtype)))
    array = np.array(data)
    if array.dtype == object:
        raise TypeError(
            f"a tensor cannot be made of {type(data).__name__} data of mixed or unknown element "
            "types; pass numbers, arrays or nested lists of them"
        )
    if not hasattr(data, "dtype") and array.dtype.kind in "fc" and _of_python_numbers(data):
        array = array.astype(
            default_dtype()
            if array.dtype.kind == "f"
            else np.result_type(default_dtype(), np.complex64)
        )
    return native(array)


def _of_python_numbers(data: Any) -> bool:
    while isinstance(data, (list, tuple)):
        if not data:
            return True
        data = data[0]
    return not isinstance(data, (np.ndarray, np.generic))


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory with an ndarray, or an array of a GPU (CuPy, Numba), where
    dtype and device allow.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> a = np.zeros(2)
    >>> tg.as_tensor(a)[0] = 1
    >>> a
    array([1., 0.])
    """
    try:
        if isinstance(data, Tensor):
            result: Tensor = data.to(dtype=dtype, device=device)
            return result
        if not isinstance(data, Value) and hasattr(data, "__cuda_array_interface__"):
            shared: Tensor = born(Tensor(exchange.from_interface(data)))
            return shared.to(dtype=dtype, device=device)  # type: ignore[no-any-return]
        if device is not None and resolve(device) != CPU:
            return tensor(data, dtype=dtype, device=device)
        data = plain_array(data, "the data of a tensor are")
        if isinstance(data, np.ndarray) and not STATE.traces:
            kept = native(data if dtype is None else np.asarray(data, dtype))
            made = Tensor(kept)
            if kept is not data and not np.may_share_memory(kept, data):
                made._versions = None  # a copy, which nobody else has
            return born(made)  # type: ignore[no-any-return]
        return tensor(data, dtype=dtype)
    except REFUSED as error:
        raise explained_here(error) from error.__cause__


def from_dlpack(other: Any) -> Tensor:
    """A tensor on the memory of an array of another library (torch, CuPy, JAX, NumPy), on its
    device.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> a = np.zeros(2)
    >>> tg.from_dlpack(a)[0] = 1
    >>> a
    array([1., 0.])
    """
    if not hasattr(other, "__dlpack__"):
        raise TypeError(f"from_dlpack expects an array with __dlpack__, got {type(other).__name__}")
    shared = exchange.from_dlpack(other)
    if not isinstance(shared, np.ndarray):
        return born(Tensor(shared))  # type: ignore[no-any-return]
    made = Tensor(native(shared))
    # Also where NumPy may not write: the other library may.
    made._versions = OfArray(made._data)
    return born(made)  # type: ignore[no-any-return]


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor on an ndarray's memory."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    return as_tensor(array)


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros.

    >>> import tracegrad as tg
    >>> tg.zeros(2, 3).shape
    (2, 3)
    """
    made: Tensor = own(Tensor, ops.zeros(sizes_of(size), _dtype(dtype)), requires_grad, device)
    return made


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones.

    >>> import tracegrad as tg
    >>> tg.ones(2, requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """
    made: Tensor = own(Tensor, ops.ones(sizes_of(size), _dtype(dtype)), requires_grad, device)
    return made


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor whose elements are to be filled."""
    made: Tensor = own(Tensor, ops.empty(sizes_of(size), _dtype(dtype)), requires_grad, device)
    return made


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """One value everywhere.

    >>> import tracegrad as tg
    >>> tg.full((2,), 7.0)
    tensor([7., 7.])
    """
    try:
        kind = dtype
        if kind is None and isinstance(fill_value, float):
            kind = default_dtype()
        made: Tensor = own(
            Tensor, ops.full(sizes_of((size,)), fill_value, kind), requires_grad, device
        )
        return made
    except REFUSED as error:
        raise explained_here(error) from error.__cause__


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on the diagonal.

    >>> import tracegrad as tg
    >>> tg.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    made: Tensor = own(Tensor, ops.eye(n, m, dtype=_dtype(dtype)), requires_grad, device)
    return made


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers start, start + step, ... below `end` (from 0 to `start` where `end` is not
    given).

    >>> import tracegrad as tg
    >>> tg.arange(3)
    tensor([0, 1, 2])
    """
    try:
        if dtype is None and any(isinstance(v, float) for v in (start, end, step)):
            dtype = default_dtype()
        made: Tensor = own(Tensor, ops.arange(start, end, step, dtype), requires_grad, device)
        return made
    except REFUSED as error:
        raise explained_here(error) from error.__cause__


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """`steps` numbers from `start` to `end`, both included.

    >>> import tracegrad as tg
    >>> tg.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    made: Tensor = own(
        Tensor, ops.linspace(start, end, steps, dtype=_dtype(dtype)), requires_grad, device
    )
    return made


def rand(
    *size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    generator: ops.Generator | None = None,
) -> Tensor:
    """Random numbers, uniform on [0, 1); `manual_seed` makes them repeatable.

    >>> import tracegrad as tg
    >>> tg.rand(2, 2).shape
    (2, 2)
    """
    source = ops.random.DEFAULT if generator is None else generator
    made: Tensor = own(
        Tensor, source.random(sizes_of(size), dtype=_dtype(dtype)), requires_grad, device
    )
    return made


def randn(
    *size: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    generator: ops.Generator | None = None,
) -> Tensor:
    """Random numbers of the standard normal distribution."""
    source = ops.random.DEFAULT if generator is None else generator
    made: Tensor = own(
        Tensor, source.standard_normal(sizes_of(size), dtype=_dtype(dtype)), requires_grad, device
    )
    return made


def randint(
    low: int,
    high: int | None = None,
    size: Any = (),
    *,
    dtype: Any = np.int64,
    device: Any = None,
    generator: ops.Generator | None = None,
) -> Tensor:
    """Random integers from [low, high), or [0, low)."""
    source = ops.random.DEFAULT if generator is None else generator
    made: Tensor = own(Tensor, source.integers(low, high, tuple(size), dtype=dtype), device=device)
    return made


def _like(
    make: Callable[..., Tensor], x: Any, dtype: Any, device: Any, requires_grad: bool, *filled: Any
) -> Tensor:
    """What `make` makes in x's shape; in x's dtype, and where x is, if nothing else is said. Its
    axes lie in the order of x's."""
    made = make(
        _shape(x),
        *filled,
        dtype=_dtype(dtype, _array(x)),
        device=place_of(x) if device is None else device,
        requires_grad=requires_grad,
    )
    found: Tensor = laid(made, "K", x)
    return found


def zeros_like(
    x: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Zeros of x's shape and dtype."""
    return _like(zeros, x, dtype, device, requires_grad)


def ones_like(
    x: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Ones of x's shape and dtype."""
    return _like(ones, x, dtype, device, requires_grad)


def empty_like(
    x: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of x's shape and dtype, to be filled."""
    return _like(empty, x, dtype, device, requires_grad)


def full_like(
    x: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """One value in x's shape and dtype."""
    return _like(full, x, dtype, device, requires_grad, fill_value)


def rand_like(
    x: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Uniform random numbers in x's shape and dtype."""
    return _like(rand, x, dtype, device, requires_grad)


def randn_like(
    x: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Normal random numbers in x's shape and dtype."""
    return _like(randn, x, dtype, device, requires_grad)


def _array(x: Any) -> Any:
    return x if isinstance(x, (Value, np.ndarray)) else np.asarray(x)


def _shape(x: Any) -> Any:
    return _array(x).shape


__all__ = [
    "arange",
    "as_tensor",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "tensor",
    "zeros",
    "zeros_like",
]
