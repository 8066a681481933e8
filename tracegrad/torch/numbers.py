"""Statistics of two results, complex numbers, integrals, and what is known of dtypes."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..config import default_dtype
from ..faces.tensor.casts import titled
from ..ir.dispatch import Value
from .methods import tensor_of


def _with_mean(name: str) -> Callable[..., Any]:
    def both(
        input: Any,
        dim: Any = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> tuple[Any, Any]:
        x = tensor_of(f"{name}_mean", input)
        spread = getattr(x, name)(dim, unbiased, keepdim, correction=correction)
        return spread, x.mean(None if isinstance(dim, bool) else dim, keepdim)

    both.__name__ = both.__qualname__ = f"{name}_mean"
    both.__doc__ = f"(`{name}`, `mean`) of a tensor."
    return both


std_mean, var_mean = map(_with_mean, ("std", "var"))


def complex(real: Any, imag: Any, *, out: Any = None) -> Any:
    """Complex numbers of real and imaginary parts, two tensors of one floating dtype.

    >>> import tracegrad.torch as torch
    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
    a, b = tensor_of("complex", real), tensor_of("complex", imag)
    if a.dtype != b.dtype or a.dtype.kind != "f":
        raise RuntimeError(
            "Expected both inputs to be Float or Double tensors of one dtype but got "
            f"{a.dtype} and {b.dtype}"
        )
    found = titled(ops.complex_(a, b), "ComplexBackward0", a, b)
    return found if out is None else out.copy_(found)


def polar(abs: Any, angle: Any, *, out: Any = None) -> Any:
    """Complex numbers of absolute values and angles."""
    r, phi = tensor_of("polar", abs), tensor_of("polar", angle)
    return complex(r * ops.cos(phi), r * ops.sin(phi), out=out)


def real(input: Any) -> Any:
    """Real parts."""
    return tensor_of("real", input).real


def imag(input: Any) -> Any:
    """Imaginary parts of complex numbers."""
    x = tensor_of("imag", input)
    if x.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return x.imag


def isreal(input: Any) -> Any:
    """Whether the imaginary part is 0."""
    x = tensor_of("isreal", input)
    return ops.equal(ops.imag(x), 0)


def trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Any:
    """The integral along an axis by the trapezoidal rule, for places `x` or steps `dx`.

    >>> import tracegrad.torch as torch
    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    return ops.trapezoid(tensor_of("trapezoid", y), x, dx, dim)


trapz = trapezoid


def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Any:
    """The running integral along an axis by the trapezoidal rule."""
    y = tensor_of("cumulative_trapezoid", y)
    size = y.shape[dim]
    means = (y.narrow(dim, 1, size - 1) + y.narrow(dim, 0, size - 1)) * 0.5
    if x is None:
        return (means * dx).cumsum(dim)
    steps = tensor_of("cumulative_trapezoid", x).diff(dim=-1 if x.ndim == 1 else dim)
    if x.ndim == 1 and y.ndim > 1:
        steps = ops.reshape(steps, [-1 if k == dim % y.ndim else 1 for k in builtins.range(y.ndim)])
    return (means * steps).cumsum(dim)


def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Covariances of variables, one a row, over observations, one a column.

    >>> import tracegrad.torch as torch
    >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    x = tensor_of("cov", input)
    scalar, x = x.ndim < 2, ops.atleast_2d(x)
    weights = None
    for w in (fweights, aweights):
        if w is not None:
            weights = w if weights is None else weights * w
    if weights is None:
        count, mean = x.shape[1], ops.mean(x, axis=1, keepdims=True)
        away = x - mean
        product = ops.matmul(away, ops.transpose(ops.conj(away)))
        norm: Any = count - correction
    else:
        total = ops.sum(weights)
        mean = ops.sum(x * weights, axis=1, keepdims=True) / total
        away = x - mean
        product = ops.matmul(away * weights, ops.transpose(ops.conj(away)))
        norm = total - correction * (1 if aweights is None else ops.sum(weights * aweights) / total)
    result = product / norm
    return result[0, 0] if scalar else result


def corrcoef(input: Any) -> Any:
    """Correlations of variables, one a row, over observations, one a column."""
    c = cov(input)
    if c.ndim == 0:
        return c / c
    scale = ops.sqrt(ops.real(ops.diagonal(c)))
    return c / ops.expand_dims(scale, 1) / scale


def _kind(x: Any) -> Any:
    return x.dtype if isinstance(x, Value) else type(x)


def result_type(tensor1: Any, tensor2: Any) -> np.dtype[Any]:
    """The dtype of an operation on two tensors or numbers, by NumPy's rules, which
    differ from torch's (`torch.result_type(int64, float32)` is float64 here)."""
    a, b = (x.dtype if isinstance(x, Value) else x for x in (tensor1, tensor2))
    if not any(isinstance(x, np.dtype) for x in (a, b)):
        kinds = np.result_type(a, b)
        return default_dtype() if kinds.kind == "f" else kinds
    return np.result_type(a, b)


def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """The dtype of an operation on two dtypes, by NumPy's rules.

    >>> import tracegrad.torch as torch
    >>> torch.promote_types(torch.int32, torch.float32)
    dtype('float64')
    """
    return np.promote_types(type1, type2)


def can_cast(from_: Any, to: Any) -> bool:
    """Whether one dtype may be converted to another without a change of kind."""
    return bool(np.can_cast(from_, to, "same_kind"))


class finfo:
    """What a floating dtype can hold: `bits`, `eps`, `max`, `min`, `tiny`, `smallest_normal`,
    `resolution`, `dtype`.

    >>> import tracegrad.torch as torch
    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Any = None) -> None:
        found = np.finfo(default_dtype() if type is None else np.dtype(type))
        self.bits, self.dtype = int(found.bits), str(found.dtype)
        self.eps, self.max, self.min = float(found.eps), float(found.max), float(found.min)
        self.tiny = self.smallest_normal = float(found.tiny)
        self.resolution = float(found.resolution)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, "
            f"max={self.max:g}, eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, "
            f"tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """What an integer dtype can hold: `bits`, `max`, `min`, `dtype`.

    >>> import tracegrad.torch as torch
    >>> torch.iinfo(torch.uint8).max
    255
    """

    def __init__(self, type: Any) -> None:
        found = np.iinfo(np.dtype(type))
        self.bits, self.min, self.max, self.dtype = (
            int(found.bits),
            int(found.min),
            int(found.max),
            str(found.dtype),
        )

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


__all__ = [
    "can_cast",
    "complex",
    "corrcoef",
    "cov",
    "cumulative_trapezoid",
    "finfo",
    "iinfo",
    "imag",
    "isreal",
    "polar",
    "promote_types",
    "real",
    "result_type",
    "std_mean",
    "trapezoid",
    "trapz",
    "var_mean",
]
