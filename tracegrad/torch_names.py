"""Functions and names that torch's users look for at the top level, where they are methods here, or NumPy's under another name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy import complex64 as cfloat
from numpy import complex128 as cdouble
from numpy import dtype, inf, nan, newaxis, pi
from numpy import float64 as double
from numpy import int16 as short
from numpy import int64 as long

from . import ops
from .config import default_dtype
from .faces.tensor_shapes import Size
from .tensor import Tensor


def is_tensor(obj: Any) -> TypeGuard[Tensor]:
    """Whether `obj` is a Tensor.

    >>> import tracegrad as tg
    >>> tg.is_tensor(tg.ones(2)), tg.is_tensor(1.0)
    (True, False)
    """
    return isinstance(obj, Tensor)


def get_default_dtype() -> np.dtype[Any]:
    """The dtype of new tensors that are not told another; `default_dtype` under torch's name.

    >>> import tracegrad as tg
    >>> tg.get_default_dtype()
    dtype('float64')
    """
    return default_dtype()


def cat(tensors: Sequence[Any], dim: int = 0) -> Any:
    """Tensors one after the other along the axis `dim`.

    >>> import tracegrad as tg
    >>> tg.cat([tg.ones(2), tg.zeros(1)])
    tensor([1., 1., 0.])
    """
    return ops.concatenate(tensors, dim)


def _method(name: str) -> Callable[..., Any]:
    """`name(input, ...)` as `input.name(...)`."""
    of: Any = getattr(Tensor, name)

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(input, Tensor):
            raise TypeError(
                f"tracegrad.{name} takes a Tensor, not a {type(input).__name__}: make one with tracegrad.tensor(...), or use NumPy's functions"
            )
        return getattr(input, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`input.{name}(...)` as a function. {getattr(of, '__doc__', None) or ''}".partition("\n")[0].rstrip()
    return function


addcdiv, addcmul, allclose, chunk, clamp, clone, det, detach = map(
    _method, ("addcdiv", "addcmul", "allclose", "chunk", "clamp", "clone", "det", "detach")
)
eq, ge, gt, inverse, is_complex, is_floating_point, is_inference = map(
    _method, ("eq", "ge", "gt", "inverse", "is_complex", "is_floating_point", "is_inference")
)
is_nonzero, le, lerp, lt, masked_select, movedim, narrow, ne, numel = map(
    _method, ("is_nonzero", "le", "lerp", "lt", "masked_select", "movedim", "narrow", "ne", "numel")
)
repeat_interleave, rsqrt, select, t, take_along_dim, unflatten, unique, unsqueeze = map(
    _method, ("repeat_interleave", "rsqrt", "select", "t", "take_along_dim", "unflatten", "unique", "unsqueeze")
)
concat = cat

__all__ = [
    "Size",
    "addcdiv",
    "addcmul",
    "allclose",
    "cat",
    "cdouble",
    "cfloat",
    "chunk",
    "clamp",
    "clone",
    "concat",
    "det",
    "detach",
    "double",
    "dtype",
    "eq",
    "ge",
    "get_default_dtype",
    "gt",
    "inf",
    "inverse",
    "is_complex",
    "is_floating_point",
    "is_inference",
    "is_nonzero",
    "is_tensor",
    "le",
    "lerp",
    "long",
    "lt",
    "masked_select",
    "movedim",
    "nan",
    "narrow",
    "ne",
    "newaxis",
    "numel",
    "pi",
    "repeat_interleave",
    "rsqrt",
    "select",
    "short",
    "t",
    "take_along_dim",
    "unflatten",
    "unique",
    "unsqueeze",
]
