"""Pooling over one to three axes: the largest or the mean of each window, or a norm of it."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ... import ops
from ...dtypes import inexact
from ...ir.dispatch import Value
from ...ops.arrays.windows import windows
from ...ops.fits import refuse_less
from ...sizes import numel
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
        extra = 0
        if ceil_mode:
            if not isinstance(rest, int):
                raise RuntimeError(
                    f"{name}: ceil_mode needs sizes that are known; mark them static"
                )
            count = -(-rest // s) + 1
            # The last window must begin inside of the input or of the padding before it.
            count -= (count - 1) * s >= n + p
            extra = max((count - 1) * s - rest, 0) if count > 0 else 0
        text = (
            f"{name}: a window of {d * (k - 1) + 1} does not fit into an axis of {{size}} with "
            f"{p} padded at both ends"
        )
        refuse_less(n, n - rest - extra, RuntimeError, text)
        beyond.append(extra)
    return kernel, steps, zeros, holes, beyond


def along(x: Any, axis: int, start: Any, count: Any, step: int = 1) -> Any:
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
    kernel, steps, zeros, holes, beyond = _layout(
        name, axes, input, kernel_size, stride, padding, dilation, ceil_mode
    )
    lowest = -math.inf if input.dtype.kind == "f" else np.iinfo(input.dtype).min
    x = padded(input, [(p, p + e) for p, e in zip(zeros, beyond, strict=True)], lowest)
    indices: Any = 0 if return_indices else None
    # The first of equal elements in C order is that of the first row which holds it: one axis after
    # the other, the last one first.
    for k in reversed(range(axes)):
        axis = len(x.shape) - axes + k
        behind = numel(input.shape[axis + 1 :])
        window = Windows(axis, kernel[k], steps[k], holes[k], zeros[k], input.shape[axis])
        x, indices = largest(x, window, beyond[k], indices, behind)
    x = titled(x, f"MaxPool{axes}DWithIndices", input)
    return (x, beside(x, indices)) if return_indices else x


def beside(x: Any, indices: Any) -> Any:
    """The indices as a value of x's kind: those of windows of one element follow from the shape
    alone, and are a plain array."""
    if isinstance(x, Value) and not isinstance(indices, Value):
        return ops.where(ops.equal(x, x), indices, indices)
    return indices


class Windows(NamedTuple):
    """Windows along an axis of `length` elements with `before` others ahead of them."""

    axis: int
    size: Any
    step: int = 1
    hole: int = 1
    before: int = 0
    length: Any = 0

    def of(self, x: Any, offset: Any, count: Any) -> Any:
        """Of each window the element at a place."""
        return along(x, self.axis, offset * self.hole, count, self.step)

    def places(self, offset: Any, count: Any, ndim: int) -> Any:
        """Where these lie along the axis; what is not an element is below 0 or above the last."""
        numbers = np.arange(count) if isinstance(count, int) else ops.arange(0, count)
        places = numbers * self.step + (offset * self.hole - self.before)
        return ops.reshape(places, (-1, *[1] * (ndim - 1 - self.axis)))


def largest(x: Any, windows: Windows, beyond: int, indices: Any, behind: Any) -> tuple[Any, Any]:
    """The first largest element (or the last NaN) of each window along an axis. What pads is never
    chosen: every window has an element.

    With `indices`, where elements stand in what lies behind the axis, `behind` elements long, also
    where the chosen ones stand in the whole.
    """
    n, ndim = x.shape[windows.axis], len(x.shape)
    count = out_size(n, windows.size, windows.step, windows.hole)
    pads = windows.before or beyond

    def taken(offset: int) -> tuple[Any, Any, Any]:
        places = windows.places(offset, count, ndim)
        inside = (places >= 0) & (places < windows.length) if pads else None
        whole = None
        if indices is not None:
            within = windows.of(indices, offset, count) if np.ndim(indices) else indices
            whole = ops.broadcast_to(within + places * behind, best_shape)
        return windows.of(x, offset, count), inside, whole

    best_shape = (*x.shape[: windows.axis], count, *x.shape[windows.axis + 1 :])
    best, is_element, where_best = taken(0)
    for offset in range(1, windows.size):
        other, other_is, where_other = taken(offset)
        larger = ops.greater(other, best)
        if x.dtype.kind == "f":
            larger = ops.logical_or(larger, ops.isnan(other))
        if pads:
            larger = ops.logical_or(larger, other_is & ~is_element)
            is_element = is_element | other_is
        best = ops.where(larger, other, best)
        if indices is not None:
            where_best = ops.where(larger, where_other, where_best)
    return best, where_best


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
    equal ones. With `return_indices` also where each stands in its plane, for `max_unpool2d`."""
    return _max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


def max_pool3d(
    input: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window over the last three axes, as `max_pool2d`.

    >>> import tracegrad as tg
    >>> x, places = tg.nn.functional.max_pool3d(
    ...     tg.arange(8.0).reshape(1, 2, 2, 2), 2, return_indices=True)
    >>> x.item(), places.item()
    (7.0, 7)
    """
    return _max_pool(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices
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
        np.asarray(1.0 / counts, inexact(input.dtype))
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


def avg_pool3d(
    input: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of each window over the last three axes.

    >>> import tracegrad as tg
    >>> tg.nn.functional.avg_pool3d(tg.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """
    return _avg_pool(
        "avg_pool3d",
        3,
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
    )


def _lp_pool(
    name: str,
    axes: int,
    input: Any,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None,
    ceil_mode: bool,
) -> Any:
    if norm_type == 0:
        raise ValueError(f"{name}: norm_type is 0; there is no root of that order")
    count = math.prod(per_axis(name, "kernel_size", kernel_size, axes))
    powers = ops.power(input, norm_type)
    mean = _avg_pool(name, axes, powers, kernel_size, stride, 0, ceil_mode, True, None)
    return titled(ops.power(mean * float(count), 1.0 / norm_type), "Pow", input)


def lp_pool1d(
    input: Any,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Any:
    """`sum(x ** p) ** (1 / p)` of each window along the last axis, p being `norm_type`: of powers,
    not of sizes, so that odd p want elements that are not negative.

    >>> import tracegrad as tg
    >>> tg.nn.functional.lp_pool1d(tg.tensor([[3.0, 4.0]]), 2, 2)
    tensor([[5.]])
    """
    return _lp_pool("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Any,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Any:
    """`lp_pool1d` over the last two axes."""
    return _lp_pool("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Any,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Any:
    """`lp_pool1d` over the last three axes."""
    return _lp_pool("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)


__all__ = [
    "Windows",
    "along",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "beside",
    "largest",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]
