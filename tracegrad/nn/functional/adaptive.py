"""Pooling whose windows follow from how many there shall be: window i of m goes from i n / m,
rounded down, to (i + 1) n / m, rounded up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import ops
from ...sizes import numel
from .convolution import check_axes
from .pooling import Windows, along, beside, largest


def _sizes(name: str, axes: int, input: Any, output_size: Any) -> list[Any]:
    """How many windows each of the last axes has; None: as many as it has elements."""
    check_axes(name, axes, input)
    wanted: Sequence[Any] = (
        (output_size,) * axes
        if output_size is None or isinstance(output_size, int)
        else tuple(output_size)
    )
    if len(wanted) != axes:
        raise RuntimeError(f"{name}: output_size needs one number or {axes}, but it is {wanted}")
    if any(isinstance(m, int) and m < 0 for m in wanted):
        raise RuntimeError(f"{name}: output_size must not be negative, but it is {wanted}")
    if any(isinstance(m, int) and m >= 2**31 for m in wanted):
        raise RuntimeError(f"{name}: output_size {output_size} is more than memory can hold")
    return [n if m is None else m for m, n in zip(wanted, input.shape[-axes:], strict=True)]


def _parts(name: str, n: Any, m: Any) -> list[tuple[int, int]]:
    """Where each of m windows begins and ends."""
    if not isinstance(n, int) or not isinstance(m, int):
        raise RuntimeError(
            f"{name}: the windows depend on the sizes, which must be known; mark them static"
        )
    if n == 0 and m:
        raise RuntimeError(f"{name}: an axis without elements has no windows")
    return [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]


def _pooled(
    name: str, axes: int, input: Any, output_size: Any, pool: Callable[[Any, int, int, int], Any]
) -> Any:
    """Windows of the last axis first; `pool(x, axis, start, end)` has one element along it."""
    x = input
    for k, m in reversed(list(enumerate(_sizes(name, axes, input, output_size)))):
        axis = len(x.shape) - axes + k
        if m is x.shape[axis] or m == x.shape[axis]:
            continue
        parts = [pool(x, axis, *ends) for ends in _parts(name, x.shape[axis], m)]
        x = ops.concatenate(parts, axis) if parts else along(x, axis, 0, 0)
    return x


def _means(name: str, axes: int, input: Any, output_size: Any) -> Any:
    def mean(x: Any, axis: int, start: int, end: int) -> Any:
        return ops.mean(along(x, axis, start, end - start), axis=axis, keepdims=True)

    return _pooled(name, axes, input, output_size, mean)


def _maxima(name: str, axes: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    x, indices = input, 0
    for k, m in reversed(list(enumerate(_sizes(name, axes, input, output_size)))):
        axis = len(x.shape) - axes + k
        behind = numel(input.shape[axis + 1 :])
        found = []
        for start, end in _parts(name, x.shape[axis], m):
            size = end - start
            here = along(indices, axis, start, size) if len(getattr(indices, "shape", ())) else 0
            window = Windows(axis, size, before=-start)
            found.append(
                largest(
                    along(x, axis, start, size), window, 0, here if return_indices else None, behind
                )
            )
        if not found:
            x = along(x, axis, 0, 0)
            indices = ops.zeros(x.shape, dtype=int)
            continue
        x = ops.concatenate([best for best, _ in found], axis)
        if return_indices:
            indices = ops.concatenate([place for _, place in found], axis)
    return (x, beside(x, indices)) if return_indices else x


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """Means of `output_size` windows along the last axis.

    >>> import tracegrad as tg
    >>> tg.nn.functional.adaptive_avg_pool1d(tg.tensor([[1.0, 2.0, 3.0]]), 2)
    tensor([[1.5000, 2.5000]])
    """
    return _means("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """Means of `output_size` windows over the last two axes (None: as many as there are
    elements)."""
    return _means("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Any:
    """Means of `output_size` windows over the last three axes (None: as many as there are
    elements).

    >>> import tracegrad as tg
    >>> tg.nn.functional.adaptive_avg_pool3d(tg.ones(1, 4, 3, 2), (2, None, 1)).shape
    (1, 2, 3, 1)
    """
    return _means("adaptive_avg_pool3d", 3, input, output_size)


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of `output_size` windows along the last axis, and with `return_indices`
    where they stand along it.

    >>> import tracegrad as tg
    >>> tg.nn.functional.adaptive_max_pool1d(tg.tensor([[1.0, 3.0, 2.0]]), 2, return_indices=True)
    (tensor([[3., 3.]]), tensor([[1, 1]]))
    """
    return _maxima("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of `output_size` windows over the last two axes, and with
    `return_indices` where they stand in their plane."""
    return _maxima("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of `output_size` windows over the last three axes, and with
    `return_indices` where they stand in their block.

    >>> import tracegrad as tg
    >>> tg.nn.functional.adaptive_max_pool3d(tg.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    return _maxima("adaptive_max_pool3d", 3, input, output_size, return_indices)


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
]
