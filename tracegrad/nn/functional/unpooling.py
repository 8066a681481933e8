"""The largest elements of windows back at their places: what `max_pool` with `return_indices`
gives, with zeros for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import ops
from ...sizes import known_less, numel, same_shape
from ...types import show
from .common import titled
from .convolution import Sizes, check_axes, per_axis


def _sizes(
    name: str,
    input: Any,
    kernel: Sequence[int],
    steps: Sequence[int],
    zeros: Sequence[int],
    output_size: Sequence[Any] | None,
) -> list[Any]:
    """The last axes of the result: the shortest that the windows fit into, or near to it."""
    axes = len(kernel)
    usual = [
        (n - 1) * s + k - 2 * p
        for n, s, k, p in zip(input.shape[-axes:], steps, kernel, zeros, strict=True)
    ]
    if output_size is None:
        return usual
    wanted = list(output_size)
    if len(wanted) == len(input.shape):
        wanted = wanted[-axes:]
    if len(wanted) != axes:
        raise ValueError(
            f"{name}: output_size should have {axes} numbers, or {len(input.shape)} with the axes "
            f"before them, but it is {output_size}"
        )
    for n, near, step in zip(wanted, usual, steps, strict=True):
        if isinstance(n, int) and isinstance(near, int) and not near - step < n < near + step:
            raise ValueError(
                f"{name}: output_size {tuple(wanted)} is out of range: {n} must lie between "
                f"{near - step} and {near + step}, both excluded"
            )
    return wanted


def _unpooled(
    name: str,
    axes: int,
    input: Any,
    indices: Any,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    output_size: Sequence[Any] | None,
) -> Any:
    check_axes(name, axes, input)
    kernel = per_axis(name, "kernel_size", kernel_size, axes)
    steps = kernel if stride is None or stride == () else per_axis(name, "stride", stride, axes)
    zeros = per_axis(name, "padding", padding, axes)
    if not same_shape(input.shape, indices.shape):
        raise RuntimeError(
            f"{name}: indices should have the shape of input, {show(input.shape)}, but they have "
            f"{show(indices.shape)}"
        )
    if indices.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: indices should be integers, not {indices.dtype}")
    sizes = _sizes(name, input, kernel, steps, zeros, output_size)
    if any(known_less(n, 0) for n in sizes):
        raise RuntimeError(f"{name}: the padding {zeros} leaves nothing of the result")
    ahead = input.shape[:-axes]
    planes = numel(ahead)
    empty = ops.zeros((planes, numel(sizes)), input.dtype)
    places, given = (ops.reshape(v, (planes, -1)) for v in (indices, input))
    result = ops.reshape(ops.put_along_axis(empty, places, given, 1), (*ahead, *sizes))
    return titled(result, f"MaxUnpool{axes}D", input)


def max_unpool1d(
    input: Any,
    indices: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[Any] | None = None,
) -> Any:
    """What `max_pool1d` with `return_indices` gave, back at its places, and zeros elsewhere. Of
    several windows with one place the last one counts, and has the gradient. `output_size` names
    one of the lengths that are pooled to this one; without it, it is the shortest.

    >>> import tracegrad as tg
    >>> x, places = tg.nn.functional.max_pool1d(
    ...     tg.tensor([[1.0, 3.0, 2.0, 0.0]]), 2, return_indices=True)
    >>> tg.nn.functional.max_unpool1d(x, places, 2)
    tensor([[0., 3., 2., 0.]])
    """
    return _unpooled("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Any,
    indices: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[Any] | None = None,
) -> Any:
    """`max_unpool1d` over the last two axes; indices count through a plane."""
    return _unpooled("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Any,
    indices: Any,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[Any] | None = None,
) -> Any:
    """`max_unpool1d` over the last three axes; indices count through a block."""
    return _unpooled("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]
