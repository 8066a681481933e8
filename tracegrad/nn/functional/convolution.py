"""Convolutions over one or two axes: the windows of the input as the columns of a matrix, and one
matrix product."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import ops
from ...ops.arrays.windows import windows
from ...ops.fits import refuse_less
from ...sizes import known_less, numel, same, same_shape
from ...types import show
from .common import titled

Sizes = int | Sequence[int]


def per_axis(name: str, what: str, value: Any, axes: int) -> tuple[int, ...]:
    """One number for each axis, where one may stand for all."""
    if isinstance(value, (int, np.integer)):
        return (int(value),) * axes
    values = tuple(operator.index(v) for v in value)
    if len(values) == 1:
        return values * axes
    if len(values) != axes:
        raise RuntimeError(f"{name}: {what} needs one number or {axes}, but it is {value}")
    return values


def check_axes(name: str, axes: int, input: Any) -> None:
    """An error for an input that is neither (N, C, *places) nor (C, *places)."""
    if len(input.shape) not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {name}, "
            f"but got input of size: {show(input.shape)}"
        )


def check_weight(name: str, axes: int, input: Any, weight: Any, layout: str) -> None:
    """An error for an input or a weight of other axes than a convolution's, or of two dtypes."""
    check_axes(name, axes, input)
    if len(weight.shape) != axes + 2:
        raise RuntimeError(
            f"{name}: weight must have {axes + 2} axes ({layout}, *kernel), "
            f"but its shape is {show(weight.shape)}"
        )
    if input.dtype != weight.dtype:
        raise RuntimeError(
            f"{name}: the input's dtype {input.dtype} and the weight's "
            f"{weight.dtype} should be the same"
        )


def with_batch(x: Any, axes: int) -> Any:
    """(N, C, *places), with N = 1 where there is none."""
    return x if len(x.shape) == axes + 2 else ops.expand_dims(x, 0)


def biased(name: str, result: Any, bias: Any, input: Any) -> Any:
    """The result plus a number for each of its channels, with a batch axis where the input has
    one."""
    if bias is not None:
        channels, *places = result.shape[1:]
        if not same_shape(bias.shape, (channels,)):
            raise RuntimeError(
                f"{name}: bias must have shape ({channels},), not {show(bias.shape)}"
            )
        result = result + ops.reshape(bias, (channels, *[1] * len(places)))
    return result if len(result.shape) == len(input.shape) else ops.squeeze(result, 0)


def _padding(
    name: str, padding: Any, kernel: Sequence[Any], stride: Sequence[int], dilation: Sequence[int]
) -> list[tuple[int, int]]:
    """Zeros before and after each axis."""
    if not isinstance(padding, str):
        return [(p, p) for p in per_axis(name, "padding", padding, len(kernel))]
    if padding == "valid":
        return [(0, 0)] * len(kernel)
    if padding != "same":
        raise ValueError(f"{name}: padding is a number, 'valid' or 'same', not {padding!r}")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    # Where the sum is odd, the longer part stands behind, as in torch.
    sums = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    return [(total // 2, total - total // 2) for total in sums]


def padded(x: Any, widths: Sequence[tuple[int, int]], value: float = 0.0) -> Any:
    """The last axes of `x` with `value` around them."""
    if not any(a or b for a, b in widths):
        return x
    rest = len(x.shape) - len(widths)
    if value == 0.0:
        sizes = [n + a + b for n, (a, b) in zip(x.shape[rest:], widths, strict=True)]
        return ops.embed(x, (*x.shape[:rest], *sizes), (*[0] * rest, *[a for a, _ in widths]))
    return ops.pad(x, [(0, 0)] * rest + list(widths), constant_values=value)


def columns(x: Any, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Any:
    """(..., d1, d2) as (..., k1, k2, o1, o2): the windows over the last axes."""
    count, rest = len(kernel), len(x.shape) - len(kernel)
    for k in range(count):
        # Behind the axes done before stands, for each, its axis of windows.
        x = windows(x, rest + 2 * k, kernel[k], stride[k], dilation[k])
    if count == 1:
        return x
    order = [rest + 2 * k for k in range(count)] + [rest + 2 * k + 1 for k in range(count)]
    return ops.transpose(x, (*range(rest), *order))


def out_size(n: Any, kernel: int, stride: int, dilation: int) -> Any:
    """How many windows an axis holds."""
    return (n - dilation * (kernel - 1) - 1) // stride + 1


def _convolution(
    name: str,
    axes: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
) -> Any:
    check_weight(name, axes, input, weight, "out, in / groups")
    steps = per_axis(name, "stride", stride, axes)
    holes = per_axis(name, "dilation", dilation, axes)
    if min(steps) < 1 or min(holes) < 1:
        raise RuntimeError(
            f"{name}: stride and dilation must be positive, but they are {steps} and {holes}"
        )
    x = with_batch(input, axes)
    out_channels, per_group, *kernel = weight.shape
    batch, channels, *_ = x.shape
    if (
        groups < 1
        or not same(channels, per_group * groups)
        or (isinstance(out_channels, int) and out_channels % groups)
    ):
        raise RuntimeError(
            f"Given groups={groups}, weight of size {show(weight.shape)}, "
            f"expected input{show(input.shape)} to have {per_group * groups} channels, "
            f"but got {channels} channels instead; groups must divide the channels of both sides"
        )
    x = padded(x, _padding(name, padding, kernel, steps, holes))
    _check_reach(x, kernel, holes)
    sizes = [
        out_size(n, k, s, d) for n, k, s, d in zip(x.shape[2:], kernel, steps, holes, strict=True)
    ]
    inner, places = per_group * numel(kernel), numel(sizes)
    seen = columns(x, kernel, steps, holes)
    if groups == 1:
        result = ops.matmul(
            ops.reshape(weight, (out_channels, inner)), ops.reshape(seen, (batch, inner, places))
        )
    else:
        result = ops.matmul(
            ops.reshape(weight, (groups, out_channels // groups, inner)),
            ops.reshape(seen, (batch, groups, inner, places)),
        )
    result = ops.reshape(result, (batch, out_channels, *sizes))
    return titled(biased(name, result, bias, input), "Convolution", input, weight)


def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Any:
    """Cross-correlation of (N, C, L) or (C, L) with a weight (out, C / groups, k): (N, out, L').

    `padding` is a number of zeros at both ends, "valid" (none) or "same" (as many as keep the
    length).

    >>> import tracegrad as tg
    >>> tg.nn.functional.conv1d(tg.arange(5.0).reshape(1, 5), tg.ones(1, 1, 3))
    tensor([[3., 6., 9.]])
    """
    return _convolution("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Any:
    """Cross-correlation of (N, C, H, W) or (C, H, W) with a weight (out, C / groups, k1, k2): (N,
    out, H', W').

    >>> import tracegrad as tg
    >>> tg.nn.functional.conv2d(tg.ones(1, 3, 3), tg.ones(1, 1, 2, 2), padding="same").shape
    (1, 3, 3)
    """
    return _convolution("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Any:
    """Cross-correlation of (N, C, D, H, W) or (C, D, H, W) with a weight (out, C / groups, k1, k2,
    k3)."""
    return _convolution("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _check_reach(x: Any, kernel: Sequence[int], holes: Sequence[int]) -> None:
    """A RuntimeError where a kernel does not fit into its padded input."""
    reach = tuple([d * (k - 1) + 1 for k, d in zip(kernel, holes, strict=True)])

    def too_small() -> str:
        return (
            f"Calculated padded input size per channel: {show(x.shape[2:])}. Kernel size: "
            f"{show(reach)}. Kernel size can't be greater than actual input size"
        )

    for n, least in zip(x.shape[2:], reach, strict=True):
        refuse_less(n, least, RuntimeError, too_small)


def unfold(
    input: Any, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Any:
    """The windows of (N, C, H, W) as columns: (N, C * k1 * k2, number of windows)."""
    check_axes("unfold", 2, input)
    kernel = per_axis("unfold", "kernel_size", kernel_size, 2)
    holes = per_axis("unfold", "dilation", dilation, 2)
    steps = per_axis("unfold", "stride", stride, 2)
    widths = per_axis("unfold", "padding", padding, 2)
    x = padded(with_batch(input, 2), [(w, w) for w in widths])
    _check_reach(x, kernel, holes)
    sizes = [
        out_size(n, k, s, d) for n, k, s, d in zip(x.shape[2:], kernel, steps, holes, strict=True)
    ]
    seen = ops.reshape(
        columns(x, kernel, steps, holes),
        (x.shape[0], x.shape[1] * kernel[0] * kernel[1], numel(sizes)),
    )
    return titled(seen if len(input.shape) == 4 else ops.squeeze(seen, 0), "Im2Col", input)


def pad(input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """(before, after) pairs of widths, from the last axis on; negative widths cut. Modes: constant,
    reflect, replicate, circular.

    >>> import tracegrad as tg
    >>> tg.nn.functional.pad(tg.ones(2), (1, 2))
    tensor([0., 1., 1., 0., 0.])
    """
    if len(pad) % 2 or len(pad) > 2 * len(input.shape):
        raise RuntimeError(
            f"pad: the widths come in pairs, at most one for each of the {len(input.shape)} "
            f"axes; got {tuple(pad)}"
        )
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode not in modes:
        raise NotImplementedError(
            f"Unrecognised padding mode {mode!r}; it is one of {', '.join(modes)}"
        )
    if value is not None and mode != "constant":
        raise ValueError(f"pad: a value is for mode 'constant' only, not for {mode!r}")
    count = len(pad) // 2
    widths = [(int(pad[2 * k]), int(pad[2 * k + 1])) for k in reversed(range(count))]
    rest = len(input.shape) - count
    x = input if any(w for pair in widths for w in pair) else ops.positive(input)
    if any(w < 0 for pair in widths for w in pair):
        start = [0] * rest + [max(-a, 0) for a, _ in widths]
        size = [
            *x.shape[:rest],
            *[n + min(a, 0) + min(b, 0) for n, (a, b) in zip(x.shape[rest:], widths, strict=True)],
        ]
        if any(known_less(n, 0) for n in size):
            raise RuntimeError(
                f"pad: the negative widths {tuple(pad)} cut more than there is of "
                f"shape {show(x.shape)}"
            )
        x = ops.slice_array(x, start, size, [1] * len(size))
        widths = [(max(a, 0), max(b, 0)) for a, b in widths]
    if mode == "constant":
        return padded(x, widths, 0.0 if value is None else value)
    return ops.pad(x, [(0, 0)] * rest + widths, mode=modes[mode])


__all__ = ["conv1d", "conv2d", "conv3d", "pad", "unfold"]
