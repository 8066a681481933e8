"""Activation functions, with torch's signatures and derivatives."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ... import ops
from ...faces.numpy.laying import laid
from .common import in_place, titled

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def relu(input: Any, inplace: bool = False) -> Any:
    """`max(x, 0)`; the derivative at 0 is 0.

    >>> import tracegrad as tg
    >>> tg.nn.functional.relu(tg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return in_place(ops.relu, input, inplace)


def relu6(input: Any, inplace: bool = False) -> Any:
    """`min(max(x, 0), 6)`."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x limited to [min_val, max_val]; the derivative at the limits is 0."""
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val is {min_val}, which is larger than max_val, {max_val}")

    def limited(x: Any) -> Any:
        return titled(
            ops.where(x <= min_val, min_val, ops.where(x >= max_val, max_val, x)), "Hardtanh", x
        )

    return in_place(limited, input, inplace)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """`relu6(x + 3) / 6`."""
    return in_place(lambda x: relu6(x + 3.0) / 6.0, input, inplace)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """`x * relu6(x + 3) / 6`."""
    return in_place(
        lambda x: ops.where(x <= -3.0, 0.0, ops.where(x >= 3.0, x, x * (x + 3.0) / 6.0)),
        input,
        inplace,
    )


def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """0 where |x| <= lambd, else x."""
    return ops.where(ops.absolute(input) <= lambd, 0.0, input)


def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """x moved towards 0 by `lambd`, and 0 where |x| <= lambd."""
    return ops.where(
        input > lambd, input - lambd, ops.where(input < -lambd, input + lambd, input * 0.0)
    )


def gelu(input: Any, approximate: str = "none") -> Any:
    """x times the normal distribution function of x, or ("tanh") its approximation by a hyperbolic
    tangent.

    >>> import tracegrad as tg
    >>> tg.nn.functional.gelu(tg.tensor([1.0]))
    tensor([0.8413])
    """
    if approximate == "none":
        return titled(input * ops.ndtr(input), "Gelu", input)
    if approximate != "tanh":
        raise ValueError(f"gelu: approximate is 'none' or 'tanh', not {approximate!r}")
    inner = math.sqrt(2.0 / math.pi) * (input + 0.044715 * input * input * input)
    return titled(0.5 * input * (1.0 + ops.tanh(inner)), "Gelu", input)


def silu(input: Any, inplace: bool = False) -> Any:
    """`x * sigmoid(x)`."""
    return in_place(lambda x: titled(x * ops.sigmoid(x), "Silu", x), input, inplace)


def mish(input: Any, inplace: bool = False) -> Any:
    """`x * tanh(softplus(x))`."""
    return in_place(lambda x: titled(x * ops.tanh(ops.softplus(x)), "Mish", x), input, inplace)


def _negative_exponential(x: Any, scale: float, alpha: float) -> Any:
    """`scale * x` above 0 and `scale * alpha * (exp(x) - 1)` elsewhere."""
    above = x > 0
    # What the exponential does with large x must not overflow where it is not taken.
    below = (scale * alpha) * ops.expm1(ops.where(above, 0.0, x))
    return titled(ops.where(above, x if scale == 1.0 else scale * x, below), "Elu", x)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x above 0, `alpha * (exp(x) - 1)` elsewhere."""
    return in_place(lambda x: _negative_exponential(x, 1.0, alpha), input, inplace)


def selu(input: Any, inplace: bool = False) -> Any:
    """`elu` with the scale and alpha that keep mean 0 and variance 1."""
    return in_place(lambda x: _negative_exponential(x, _SELU_SCALE, _SELU_ALPHA), input, inplace)


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x above 0, `alpha * (exp(x / alpha) - 1)` elsewhere."""
    if alpha == 0:
        raise ZeroDivisionError("celu: alpha cannot be 0")

    def function(x: Any) -> Any:
        above = x > 0
        return ops.where(above, x, alpha * ops.expm1(ops.where(above, 0.0, x) / alpha))

    return in_place(function, input, inplace)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x above 0, `negative_slope * x` elsewhere."""
    return in_place(
        lambda x: titled(ops.where(x > 0, x, negative_slope * x), "LeakyRelu", x), input, inplace
    )


def prelu(input: Any, weight: Any) -> Any:
    """`leaky_relu` with a learned slope: one number, or one for each channel (axis 1)."""
    if weight.shape not in ((), (1,)):
        if len(input.shape) < 2 or weight.shape != (input.shape[1],):
            raise RuntimeError(
                f"prelu: weight has shape {tuple(weight.shape)}, which is neither one number nor "
                f"one for each channel of the input's shape {tuple(input.shape)}"
            )
        weight = ops.reshape(weight, (weight.shape[0], *[1] * (len(input.shape) - 2)))
    elif not input.shape:
        weight = ops.reshape(weight, ())
    return ops.where(input > 0, input, weight * input)


def glu(input: Any, dim: int = -1) -> Any:
    """The first half along `dim` times the sigmoid of the second."""
    if input.shape[dim] % 2:
        raise RuntimeError(
            f"glu: the size of dimension {dim} must be even, but it is {input.shape[dim]}"
        )
    first, second = ops.split(input, 2, dim)
    return first * ops.sigmoid(second)


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """`log(1 + exp(beta * x)) / beta`, and x itself where `beta * x > threshold`.

    >>> import tracegrad as tg
    >>> tg.nn.functional.softplus(tg.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """
    scaled = input if beta == 1.0 else input * beta
    smooth = ops.softplus(scaled)
    return titled(
        ops.where(scaled > threshold, input, smooth if beta == 1.0 else smooth / beta),
        "Softplus",
        input,
    )


def softsign(input: Any) -> Any:
    """`x / (1 + |x|)`."""
    return input / (ops.absolute(input) + 1.0)


def tanhshrink(input: Any) -> Any:
    """`x - tanh(x)`."""
    return input - ops.tanh(input)


def sigmoid(input: Any) -> Any:
    """`1 / (1 + exp(-x))`."""
    return ops.sigmoid(input)


def logsigmoid(input: Any) -> Any:
    """The logarithm of `sigmoid`, without underflow."""
    return titled(ops.log_sigmoid(input), "LogSigmoid", input)


def tanh(input: Any) -> Any:
    """The hyperbolic tangent."""
    return ops.tanh(input)


def _softmax_dim(name: str, ndim: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """Exponentials that sum to 1 along `dim`.

    >>> import tracegrad as tg
    >>> tg.nn.functional.softmax(tg.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    x = input if dtype is None else ops.convert(input, dtype)
    axis = _softmax_dim("softmax", len(x.shape)) if dim is None else dim
    return titled(laid(ops.softmax(x, axis=axis), "C", x), "Softmax", x)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """`softmax` of -x."""
    return softmax(
        -input, _softmax_dim("softmin", len(input.shape)) if dim is None else dim, dtype=dtype
    )


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of `softmax`, without underflow."""
    x = input if dtype is None else ops.convert(input, dtype)
    axis = _softmax_dim("log_softmax", len(x.shape)) if dim is None else dim
    return titled(laid(ops.log_softmax(x, axis=axis), "C", x), "LogSoftmax", x)


__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
]
