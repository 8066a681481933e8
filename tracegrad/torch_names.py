"""Functions and names that torch's users look for at the top level, where they are methods here, or
NumPy's under another name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np
from numpy import dtype, inf, nan, newaxis, pi

from . import ops
from .checks import REFUSED, checked, explained, has_failure_path
from .config import default_dtype
from .dtypes import complex64 as cfloat
from .dtypes import complex128 as cdouble
from .dtypes import float64 as double
from .dtypes import int16 as short
from .dtypes import int64 as long
from .faces.numpy.results import RESULTS
from .faces.tensor.shapes import Size
from .ir.dispatch import Value
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


@checked
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
                f"tracegrad.{name} takes a Tensor, not a {type(input).__name__}: "
                "make one with tracegrad.tensor(...), or use NumPy's functions"
            )
        return getattr(input, name)(*args, **kwargs)

    has_failure_path(function)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"`input.{name}(...)` as a function. {getattr(of, '__doc__', None) or ''}".partition("\n")[
            0
        ].rstrip()
    )
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
    _method,
    (
        "repeat_interleave",
        "rsqrt",
        "select",
        "t",
        "take_along_dim",
        "unflatten",
        "unique",
        "unsqueeze",
    ),
)
concat = cat


_DIFFERENT = {
    "max": (
        "`max(x, 1)` is a pair, so that it is unpacked in two or followed by `[1]` for the indices"
    ),
    "min": (
        "`min(x, 1)` is a pair, so that it is unpacked in two or followed by `[1]` for the indices"
    ),
    "median": (
        "it is the lower one of two middle elements, "
        "and `median(x, 1)` a pair of values and indices"
    ),
    "sort": "it is a pair of values and indices",
    "std": "it has Bessel's correction",
    "var": "it has Bessel's correction",
}


def _told_dim(name: str) -> Callable[..., Any]:
    """The operation of this name, which takes torch's `dim` and `keepdim` of Tensors as well: then
    it is the method, and means what torch means."""
    operation: Callable[..., Any] = RESULTS.get(name) or getattr(ops, name)

    @functools.wraps(operation)
    def function(x: Any, *args: Any, **kwargs: Any) -> Any:
        if "dim" not in kwargs and "keepdim" not in kwargs:
            try:
                return operation(x, *args, **kwargs)
            except REFUSED as error:
                raise explained(error, name, operation, (x, *args), kwargs) from error.__cause__
        if not isinstance(x, Tensor):
            raise TypeError(
                f"tracegrad.{name}: dim and keepdim are for Tensors; "
                f"of other arrays (this is of type {type(x).__name__}) say axis and keepdims"
            )
        return getattr(x, name)(*args, **kwargs)

    difference = _DIFFERENT.get(name)
    if difference is not None:
        function.__doc__ = (
            f"{operation.__doc__}\n"
            f"    NumPy's meaning, unless `dim` or `keepdim` is given. In torch {difference}: "
            f"take `tracegrad.torch.{name}`.\n"
            "    "
        )
    return has_failure_path(function)


def _extreme(name: str) -> Callable[..., Any]:
    """`max` and `min` of two Tensors are torch's elementwise ones, which have another name here:
    one element is no axis."""
    function = _told_dim(name)

    @functools.wraps(function)
    def checked(x: Any, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Value):
            raise TypeError(
                f"tracegrad.{name}(x, axis) is NumPy's, and an axis is an integer, not a Tensor; "
                f"of two Tensors, element by element, take tracegrad.{name}imum (or torch's "
                f"meaning: tracegrad.torch.{name})"
            )
        return function(x, *args, **kwargs)

    return checked


all, any, argmax, argmin, argsort, cumprod, cumsum = map(
    _told_dim, ("all", "any", "argmax", "argmin", "argsort", "cumprod", "cumsum")
)
log_softmax, logsumexp, mean, median, prod = map(
    _told_dim, ("log_softmax", "logsumexp", "mean", "median", "prod")
)
max, min = map(_extreme, ("max", "min"))
softmax, sort, squeeze, std, sum, var = map(
    _told_dim, ("softmax", "sort", "squeeze", "std", "sum", "var")
)


@checked
@functools.wraps(ops.stack)
def stack(arrays: Sequence[Any], axis: int = 0, *, dim: int | None = None, **kwargs: Any) -> Any:
    return ops.stack(arrays, axis if dim is None else dim, **kwargs)


__all__ = [
    "Size",
    "addcdiv",
    "addcmul",
    "all",
    "allclose",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "cat",
    "cdouble",
    "cfloat",
    "chunk",
    "clamp",
    "clone",
    "concat",
    "cumprod",
    "cumsum",
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
    "log_softmax",
    "logsumexp",
    "long",
    "lt",
    "masked_select",
    "max",
    "mean",
    "median",
    "min",
    "movedim",
    "nan",
    "narrow",
    "ne",
    "newaxis",
    "numel",
    "pi",
    "prod",
    "repeat_interleave",
    "rsqrt",
    "select",
    "short",
    "softmax",
    "sort",
    "squeeze",
    "stack",
    "std",
    "sum",
    "t",
    "take_along_dim",
    "unflatten",
    "unique",
    "unsqueeze",
    "var",
]
