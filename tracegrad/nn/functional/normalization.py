"""Normalisation: to mean 0 and variance 1 over some axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import ops
from ...autograd.grad_mode import no_grad
from ...ops.arrays.windows import windows
from ...ops.totals.standardized import standardized
from ...ops.totals.statistics import stop_gradient
from ...sizes import known_less, numel, same, same_shape
from ...types import show
from .common import titled


def _last_axes(
    input: Any, normalized_shape: Sequence[int] | int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes that are normalised together, and the axes of the input that have them."""
    sizes = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    ndim = len(input.shape)
    if not sizes or not same_shape(sizes, input.shape[-len(sizes) :]):
        raise RuntimeError(
            f"Given normalized_shape={list(sizes)}, expected input with shape [*, {show(sizes)}], "
            f"but got input of size{show(input.shape)}"
        )
    return sizes, tuple(range(ndim - len(sizes), ndim))


def _averaged_over(input: Any, axes: Sequence[int], what: str) -> Any:
    """How many elements a batch's own statistics are over, which must be more than one."""
    count = numel([input.shape[k] for k in axes])
    if known_less(count, 2):
        raise ValueError(
            f"Expected more than 1 {what} when training, got input size {show(input.shape)}"
        )
    return count


def layer_norm(
    input: Any,
    normalized_shape: Sequence[int] | int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Any:
    """The last axes, of sizes `normalized_shape`, at mean 0 and variance 1, then times `weight`
    plus `bias`.

    >>> import tracegrad as tg
    >>> tg.nn.functional.layer_norm(tg.tensor([1.0, 3.0]), (2,))
    tensor([-1.0000,  1.0000])
    """
    sizes, axes = _last_axes(input, normalized_shape)
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and tuple(value.shape) != sizes:
            raise RuntimeError(
                f"layer_norm: expected {name} to be of the shape {sizes} that is normalised, "
                f"but got {show(value.shape)}"
            )
    result, _, _ = standardized(input, axes, eps, weight, bias)
    return titled(result, "NativeLayerNorm", input)


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Groups of channels (axis 1) at mean 0 and variance 1 for each sample, then times `weight`
    plus `bias` by channel."""
    batch, channels, *rest = input.shape
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, "
            f"but got {channels} and {num_groups}"
        )
    each = channels // num_groups
    apart = ops.reshape(input, (batch, num_groups, each, numel(rest)))
    weight, bias = [
        v if v is None else ops.reshape(v, (num_groups, each, 1)) for v in (weight, bias)
    ]
    result, _, _ = standardized(apart, (2, 3), eps, weight, bias)
    return titled(ops.reshape(result, (batch, channels, *rest)), "NativeGroupNorm", input)


def _by_channel(x: Any, *values: Any) -> list[Any]:
    """Values for each channel (axis 1) of x, as they broadcast; None stays."""
    shape = (x.shape[1], *[1] * (len(x.shape) - 2))
    return [v if v is None else ops.reshape(v, shape) for v in values]


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Each channel (axis 1) at mean 0 and variance 1 over all other axes, then times `weight` plus
    `bias`.

    In training by the batch's own statistics, which also move the running ones (unbiased variance)
    by `momentum`, in place; otherwise by the running ones.
    """
    ndim = len(input.shape)
    if ndim < 2:
        raise ValueError(
            f"batch_norm: expected an input (N, C, ...), but its shape is {show(input.shape)}"
        )
    channels = input.shape[1]
    for name, value in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        if value is not None and not (len(value.shape) == 1 and same(value.shape[0], channels)):
            raise RuntimeError(
                f"batch_norm: {name} should have one element for each of {channels} channels, "
                f"not shape {show(value.shape)}"
            )
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when training=False"
            )
        mean, variance, weight, bias = _by_channel(input, running_mean, running_var, weight, bias)
        result = (input - mean) / ops.sqrt(variance + eps)
        result = result if weight is None else result * weight
        return titled(result if bias is None else result + bias, "NativeBatchNorm", input)
    axes = (0, *range(2, ndim))
    count = _averaged_over(input, axes, "value per channel")
    result, mean, variance = standardized(input, axes, eps, *_by_channel(input, weight, bias))
    if running_mean is not None or running_var is not None:
        with no_grad():
            if running_mean is not None:
                _move(running_mean, mean, momentum)
            if running_var is not None:
                _move(running_var, variance * (count / (count - 1)), momentum)
    return titled(result, "NativeBatchNorm", input)


def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Each channel of each sample (N, C, ...) at mean 0 and variance 1 over its places, then times
    `weight` plus `bias`.

    The running statistics, where they are given, move by `momentum` towards the averages over the
    batch; they are used in place of the sample's own where `use_input_stats` is False.
    """
    ndim = len(input.shape)
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if ndim < 3:
        raise ValueError(
            "instance_norm: expected an input (N, C, ...) with places, "
            f"but its shape is {show(input.shape)}"
        )
    axes = tuple(range(2, ndim))
    count = _averaged_over(input, axes, "spatial element")
    result, mean, variance = standardized(input, axes, eps, *_by_channel(input, weight, bias))
    if running_mean is not None and running_var is not None:
        with no_grad():
            _move(running_mean, ops.mean(mean, axis=0), momentum)
            _move(running_var, ops.mean(variance, axis=0) * (count / (count - 1)), momentum)
    return titled(result, "NativeBatchNorm", input)


def rms_norm(
    input: Any, normalized_shape: Sequence[int] | int, weight: Any = None, eps: float | None = None
) -> Any:
    """The last axes, of sizes `normalized_shape`, divided by the root of their mean square, then
    times `weight`.

    `eps` is added to the mean square; None stands for the dtype's own.
    """
    _, axes = _last_axes(input, normalized_shape)
    least = float(np.finfo(input.dtype).eps) if eps is None else eps
    square = ops.mean(ops.square(input), axis=axes, keepdims=True)
    result = input / ops.sqrt(square + least)
    return titled(result if weight is None else result * weight, "RmsNorm", input)


def local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    """Each element divided by `(k + alpha * mean of squares over `size` neighbouring channels) **
    beta`."""
    if len(input.shape) < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {len(input.shape)} dimensions)"
        )
    square = ops.square(input)
    before = size // 2
    ndim, channels = len(input.shape), input.shape[1]
    around = ops.embed(
        square,
        [channels + size - 1 if a == 1 else n for a, n in enumerate(square.shape)],
        [before if a == 1 else 0 for a in range(ndim)],
    )
    total = ops.sum(windows(around, 1, size), axis=1)
    return titled(input / ops.power(k + alpha * (total / size), beta), "LocalResponseNorm", input)


def _move(running: Any, now: Any, momentum: float) -> None:
    """A running value, moved by `momentum` towards that of the batch."""
    running.mul_(1.0 - momentum).add_(
        ops.reshape(stop_gradient(now), running.shape), alpha=momentum
    )


__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "rms_norm",
]
