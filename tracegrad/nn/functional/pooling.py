"""Pooling over one or two axes: the largest or the mean of each window."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import ops
from ...ops.arrays.windows import windows
from .common import titled
from .convolution import Sizes, check_axes, out_size, padded, per_axis


def _layout(
    name: str,
    axes: int,
    input: Any,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], list[int]]:
    """Sizes, steps, zeros and holes of the windows along each axis, and how far the last window
    reaches beyond the padded axis."""
    check_axes(name, axes, input)
    kernel = per_axis(name, "kernel_size", kernel_size, axes)
    steps = kernel if stride is None or stride == () else per_axis(name, "stride", stride, axes)
    zeros = per_axis(name, "padding", padding, axes)
    holes = per_axis(name, "dilation", dilation, axes)
    if min(kernel) < 1 or min(steps) < 1 or min(holes) < 1:
        raise RuntimeError(
            f"{name}: kernel_size, stride and dilation must be positive, "
            f"but they are {kernel}, {steps} and {holes}"
        )
    if any(p < 0 or 2 * p > k for p, k in zip(zeros, kernel, strict=True)):
        raise RuntimeError(
            f"{name}: pad should be at most half of effective kernel size, "
            f"but got pad={zeros} and kernel_size={kernel}"
        )
    beyond = []
    for n, k, s, p, d in zip(input.shape[-axes:], kernel, steps, zeros, holes, strict=True):
        rest = n + 2 * p - d * (k - 1) - 1
        if isinstance(rest, int) and rest < 0:
            raise RuntimeError(
                f"{name}: a window of {d * (k - 1) + 1} does not fit into an axis of {n} with "
                f"{p} padded at both ends"
            )
        extra = 0
        if ceil_mode:
            if not isinstance(rest, int):
                raise RuntimeError(
                    f"{name}: ceil_mode needs sizes that are known; mark them static"
                )
            count = -(-rest // s) + 1
            # The last window must begin inside of the input or of the padding before it.
            count -= (count - 1) * s >= n + p
            extra = max((count - 1) * s - rest, 0)
        beyond.append(extra)
    return kernel, steps, zeros, holes, beyond


def _along(x: Any, axis: int, start: Any, count: Any, step: int = 1) -> Any:
    """`count` elements along an axis, every `step`-th one."""
    ndim = len(x.shape)
    starts = [start if k == axis else 0 for k in range(ndim)]
    sizes = [count if k == axis else n for k, n in enumerate(x.shape)]
    return ops.slice_array(x, starts, sizes, [step if k == axis else 1 for k in range(ndim)])


def _max_pool(
    name: str,
    axes: int,
    input: Any,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    if return_indices:
        raise NotImplementedError(f"{name}: return_indices is not supported")
    kernel, steps, zeros, holes, beyond = _layout(
        name, axes, input, kernel_size, stride, padding, dilation, ceil_mode
    )
    lowest = -math.inf if input.dtype.kind == "f" else np.iinfo(input.dtype).min
    x = padded(input, [(p, p + e) for p, e in zip(zeros, beyond, strict=True)], lowest)
    # The first of equal elements in C order is that of the first row which holds it: one axis after
    # the other, the last one first.
    for k in reversed(range(axes)):
        x = _largest(x, len(x.shape) - axes + k, kernel[k], steps[k], holes[k])
    return titled(x, f"MaxPool{axes}DWithIndices", input)


def _largest(x: Any, axis: int, size: int, step: int, hole: int) -> Any:
    """The first largest element (or NaN) of each window along an axis."""
    count = out_size(x.shape[axis], size, step, hole)
    best = _along(x, axis, 0, count, step)
    for offset in range(1, size):
        other = _along(x, axis, offset * hole, count, step)
        larger = ops.greater(other, best)
        if x.dtype.kind == "f":
            larger = ops.logical_or(larger, ops.isnan(other))
        best = ops.where(larger, other, best)
    return best


def max_pool1d(
    input: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window along the last axis; the gradient goes to the first of
    equal ones.

    >>> import tracegrad as tg
    >>> tg.nn.functional.max_pool1d(tg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
    return _max_pool(
        "max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


def max_pool2d(
    input: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window over the last two axes; the gradient goes to the first of
    equal ones."""
    return _max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


def _avg_pool(
    name: str,
    axes: int,
    input: Any,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Any:
    if divisor == 0:
        raise RuntimeError(f"{name}: divisor must be not zero")
    kernel, steps, zeros, holes, beyond = _layout(
        name, axes, input, kernel_size, stride, padding, 1, ceil_mode
    )
    x = padded(input, [(p, p + e) for p, e in zip(zeros, beyond, strict=True)])
    for k in range(axes):
        axis = len(x.shape) - axes + k
        x = ops.sum(windows(x, axis, kernel[k], steps[k], holes[k]), axis=axis)
    counts: Any = divisor
    if counts is None:
        lengths = zip(input.shape[-axes:], kernel, steps, zeros, beyond, strict=True)
        by_axis = [_counts(*length, count_include_pad) for length in lengths]
        counts = functools.reduce(np.multiply.outer, by_axis)
    factor = (
        np.asarray(1.0 / counts, input.dtype)
        if np.size(counts) > 1
        else 1.0 / float(np.reshape(counts, ()))
    )
    return titled(x * factor, f"AvgPool{axes}D", input)


def _counts(n: Any, kernel: int, step: int, zeros: int, beyond: int, with_padding: bool) -> Any:
    """How many elements each window of an axis counts: one number for all, or one for each."""
    if beyond == 0 and (with_padding or zeros == 0):
        return np.array([kernel])
    if not isinstance(n, int):
        raise RuntimeError(
            "avg_pool: count_include_pad=False with padding needs sizes that are "
            "known; mark them static"
        )
    counted = np.zeros(n + 2 * zeros + beyond)
    counted[0 if with_padding else zeros : n + (2 if with_padding else 1) * zeros] = 1.0
    return np.lib.stride_tricks.sliding_window_view(counted, kernel)[::step].sum(axis=1)


def avg_pool1d(
    input: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """The mean of each window along the last axis."""
    return _avg_pool(
        "avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None
    )


def avg_pool2d(
    input: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of each window over the last two axes.

    >>> import tracegrad as tg
    >>> tg.nn.functional.avg_pool2d(tg.arange(4.0).reshape(1, 2, 2), 2)
    tensor([[[1.5000]]])
    """
    return _avg_pool(
        "avg_pool2d",
        2,
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


def _adaptive(
    name: str, axes: int, input: Any, output_size: Any, combine: Callable[..., Any]
) -> Any:
    """Windows whose sizes follow from how many there shall be."""
    check_axes(name, axes, input)
    wanted: Sequence[Any] = (
        (output_size,) * axes
        if output_size is None or isinstance(output_size, int)
        else tuple(output_size)
    )
    if any(isinstance(m, int) and m >= 2**31 for m in wanted):
        raise RuntimeError(f"{name}: output_size {output_size} is more than memory can hold")
    x = input
    for k, m in enumerate(wanted):
        axis = len(x.shape) - axes + k
        n = x.shape[axis]
        if m is None or m == n:
            continue
        if not isinstance(n, int):
            raise RuntimeError(
                f"{name}: the windows depend on the sizes, which must be known; mark them static"
            )
        parts = []
        for i in range(m):
            start, end = i * n // m, -(-(i + 1) * n // m)
            parts.append(combine(_along(x, axis, start, end - start), axis))
        x = ops.concatenate(parts, axis)
    return x


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """Means of `output_size` windows along the last axis."""
    return _adaptive(
        "adaptive_avg_pool1d",
        1,
        input,
        output_size,
        lambda x, axis: ops.mean(x, axis=axis, keepdims=True),
    )


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """Means of `output_size` windows over the last two axes (None: as many as there are
    elements)."""
    return _adaptive(
        "adaptive_avg_pool2d",
        2,
        input,
        output_size,
        lambda x, axis: ops.mean(x, axis=axis, keepdims=True),
    )


def adaptive_max_pool2d(input: Any, output_size: Any) -> Any:
    """The largest elements of `output_size` windows over the last two axes."""
    return _adaptive(
        "adaptive_max_pool2d",
        2,
        input,
        output_size,
        lambda x, axis: _largest(x, axis, x.shape[axis], 1, 1),
    )


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "max_pool1d",
    "max_pool2d",
]
