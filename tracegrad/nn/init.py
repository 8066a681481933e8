"""Filling Tensors in place with starting values, drawn from the library's generator
(`tg.manual_seed`)."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .. import ops
from ..autograd.grad_mode import no_grad
from ..ops.random import DEFAULT, Generator
from ..types import show

_GAINS = {"relu": math.sqrt(2.0), "tanh": 5.0 / 3, "selu": 3.0 / 4}
_PLAIN = {
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much weights are scaled so that a nonlinearity keeps the variance.

    >>> import tracegrad as tg
    >>> tg.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _PLAIN:
        return 1.0
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else float(param)
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(
            f"Unsupported nonlinearity {nonlinearity}; "
            f"known are {', '.join(sorted(_PLAIN | {*_GAINS, 'leaky_relu'}))}"
        )
    return _GAINS[nonlinearity]


def _fans(tensor: Any) -> tuple[int, int]:
    """How many inputs and outputs a unit of a weight (out, in, *kernel) has."""
    if len(tensor.shape) < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, "
            f"but its shape is {show(tensor.shape)}"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _filled(tensor: Any, values: Any) -> Any:
    with no_grad():
        tensor.copy_(values)
    return tensor


def uniform_(
    tensor: Any, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Any:
    """Uniform numbers of [a, b).

    >>> import tracegrad as tg
    >>> bool((tg.nn.init.uniform_(tg.empty(5), 2.0, 3.0) >= 2.0).all())
    True
    """
    return _filled(tensor, (generator or DEFAULT).uniform(a, b, tensor.shape))


def normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Any:
    """Normal numbers."""
    return _filled(tensor, (generator or DEFAULT).normal(mean, std, tensor.shape))


def trunc_normal_(
    tensor: Any,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Any:
    """Normal numbers of [a, b]: the inverse distribution function of uniform numbers."""
    low, high = (0.5 * (1.0 + math.erf((limit - mean) / std / math.sqrt(2.0))) for limit in (a, b))
    u = (generator or DEFAULT).uniform(2 * low - 1, 2 * high - 1, tensor.shape)
    return _filled(tensor, ops.clip(ops.erfinv(u) * (std * math.sqrt(2.0)) + mean, a, b))


def constant_(tensor: Any, val: float) -> Any:
    """One value."""
    return _filled(tensor, val)


def ones_(tensor: Any) -> Any:
    """Ones."""
    return _filled(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Zeros."""
    return _filled(tensor, 0.0)


def eye_(tensor: Any) -> Any:
    """Ones on the diagonal of a matrix."""
    if len(tensor.shape) != 2:
        raise ValueError(f"Only tensors with 2 dimensions are supported, not {show(tensor.shape)}")
    return _filled(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Convolutions (out, in / groups, *kernel) that keep as many channels as there are."""
    if len(tensor.shape) not in (3, 4, 5):
        raise ValueError(
            f"Only tensors with 3, 4, or 5 dimensions are supported, not {show(tensor.shape)}"
        )
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values, per_group = np.zeros(tensor.shape), tensor.shape[0] // groups
    for g in range(groups):
        for d in range(min(per_group, tensor.shape[1])):
            values[(g * per_group + d, d, *[n // 2 for n in tensor.shape[2:]])] = 1.0
    return _filled(tensor, values)


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Generator | None = None) -> Any:
    """Uniform, with variance `2 * gain**2 / (fan_in + fan_out)`."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Generator | None = None) -> Any:
    """Normal, with variance `2 * gain**2 / (fan_in + fan_out)`."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _kaiming(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _fans(tensor)[mode.lower() == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Any:
    """Uniform, so that layers with this nonlinearity (`a`: its slope below 0) keep the variance."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Any:
    """Normal, so that layers with this nonlinearity keep the variance."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Any, gain: float = 1.0, generator: Generator | None = None) -> Any:
    """A matrix (the axes from the second on as one) with orthonormal rows or columns, times
    `gain`."""
    if len(tensor.shape) < 2:
        raise ValueError(
            f"Only tensors with 2 or more dimensions are supported, not {show(tensor.shape)}"
        )
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    if not rows * columns:
        return tensor
    flat = np.asarray((generator or DEFAULT).standard_normal((rows, columns)))
    q, r = np.linalg.qr(flat.T if rows < columns else flat)
    q = q * np.sign(np.diag(r))
    return _filled(tensor, gain * (q.T if rows < columns else q).reshape(tensor.shape))


__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]
