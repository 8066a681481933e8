"""The adjoints of convolutions and of windows: transposed convolutions, and `fold`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import ops
from ...ops.arrays.windows import overlap
from ...sizes import known_less, numel, same
from ...types import show
from .common import titled
from .convolution import Sizes, biased, check_weight, per_axis, with_batch


def _overlapped(
    x: Any, sizes: Sequence[Any], stride: Sequence[int], dilation: Sequence[int]
) -> Any:
    """(..., k1, k2, o1, o2) summed to (..., d1, d2): each window at its place."""
    count = len(sizes)
    rest = len(x.shape) - 2 * count
    x = ops.transpose(
        x, (*range(rest), *[rest + k + half * count for k in range(count) for half in (0, 1)])
    )
    for k in range(count):
        x = overlap(x, rest + k, sizes[k], stride[k], dilation[k])
    return x


def _cropped(x: Any, widths: Sequence[int]) -> Any:
    """Without `widths[k]` elements at both ends of the last axes."""
    if not any(widths):
        return x
    rest = len(x.shape) - len(widths)
    start = [0] * rest + list(widths)
    size = [*x.shape[:rest], *[n - 2 * w for n, w in zip(x.shape[rest:], widths, strict=True)]]
    return ops.slice_array(x, start, size, [1] * len(size))


def _transposed(
    name: str,
    axes: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
) -> Any:
    check_weight(name, axes, input, weight, "in, out / groups")
    steps = per_axis(name, "stride", stride, axes)
    holes = per_axis(name, "dilation", dilation, axes)
    widths = per_axis(name, "padding", padding, axes)
    more = per_axis(name, "output_padding", output_padding, axes)
    if min(steps) < 1 or min(holes) < 1 or min(widths) < 0 or min(more) < 0:
        raise RuntimeError(
            f"{name}: stride and dilation must be positive, padding and output_padding not negative"
        )
    if any(m >= max(s, d) for m, s, d in zip(more, steps, holes, strict=True)):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, "
            f"but got output_padding {more}, stride {steps}"
        )
    x = with_batch(input, axes)
    batch, channels, *places = x.shape
    in_channels, per_group, *kernel = weight.shape
    if (
        groups < 1
        or not same(channels, in_channels)
        or (isinstance(in_channels, int) and in_channels % groups)
    ):
        raise RuntimeError(
            f"Given transposed=1, weight of size {show(weight.shape)}, "
            f"expected input{show(input.shape)} to have {in_channels} channels, "
            f"but got {channels} channels instead; groups ({groups}) must divide them"
        )
    inner, count = per_group * numel(kernel), numel(places)
    of_group = ops.reshape(weight, (groups, channels // groups, inner))
    product = ops.matmul(
        ops.swapaxes(of_group, 1, 2), ops.reshape(x, (batch, groups, channels // groups, count))
    )
    seen = ops.reshape(product, (batch, groups * per_group, *kernel, *places))
    whole = [
        (n - 1) * s + d * (k - 1) + 1 + m
        for n, s, d, k, m in zip(places, steps, holes, kernel, more, strict=True)
    ]
    if any(known_less(n, 2 * w + 1) for n, w in zip(whole, widths, strict=True)):
        raise RuntimeError(
            f"{name}: the padding {widths} leaves nothing of an output of size {show(tuple(whole))}"
        )
    result = _cropped(_overlapped(seen, whole, steps, holes), widths)
    return titled(biased(name, result, bias, input), "Convolution", input, weight)


def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Any:
    """The transpose of `conv1d`: (N, C, L) or (C, L) with a weight (C, out / groups, k): (N, out,
    L') with L' = (L - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1.

    >>> import tracegrad as tg
    >>> tg.nn.functional.conv_transpose1d(tg.tensor([[1.0, 2.0]]), tg.ones(1, 1, 2), stride=2)
    tensor([[1., 1., 2., 2.]])
    """
    return _transposed(
        "conv_transpose1d",
        1,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Any:
    """The transpose of `conv2d`: (N, C, H, W) with a weight (C, out / groups, k1, k2); sizes as for
    `conv_transpose1d`."""
    return _transposed(
        "conv_transpose2d",
        2,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Any:
    """The transpose of `conv3d`: (N, C, D, H, W) with a weight (C, out / groups, k1, k2, k3); sizes
    as for `conv_transpose1d`."""
    return _transposed(
        "conv_transpose3d",
        3,
        input,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
    )


def fold(
    input: Any,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Any:
    """The transpose of `unfold`: columns (N, C * k1 * k2, windows) summed to images (N, C, H, W) of
    `output_size`.

    >>> import tracegrad as tg
    >>> tg.nn.functional.fold(tg.ones(1, 4, 4), (3, 3), 2)[0, 0]
    tensor([[1., 2., 1.],
            [2., 4., 2.],
            [1., 2., 1.]])
    """
    if len(input.shape) not in (2, 3):
        raise RuntimeError(
            "fold: expected columns (N, C * k1 * k2, windows) or (C * k1 * k2, windows), "
            f"not {show(input.shape)}"
        )
    sizes = per_axis("fold", "output_size", output_size, 2)
    kernel = per_axis("fold", "kernel_size", kernel_size, 2)
    holes, steps = per_axis("fold", "dilation", dilation, 2), per_axis("fold", "stride", stride, 2)
    widths = per_axis("fold", "padding", padding, 2)
    x = input if len(input.shape) == 3 else ops.expand_dims(input, 0)
    area = kernel[0] * kernel[1]
    places = [
        (n + 2 * w - d * (k - 1) - 1) // s + 1
        for n, w, d, k, s in zip(sizes, widths, holes, kernel, steps, strict=True)
    ]
    if x.shape[1] % area or not same(x.shape[2], places[0] * places[1]):
        raise RuntimeError(
            f"fold: for output_size={sizes} and kernel_size={kernel} the columns are a multiple "
            f"of {area} rows and {places[0]} * {places[1]} windows, but got {show(input.shape)}"
        )
    seen = ops.reshape(x, (x.shape[0], x.shape[1] // area, *kernel, *places))
    result = _cropped(
        _overlapped(seen, [n + 2 * w for n, w in zip(sizes, widths, strict=True)], steps, holes),
        widths,
    )
    return titled(result if len(input.shape) == 3 else ops.squeeze(result, 0), "Col2Im", input)


__all__ = ["conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "fold"]
