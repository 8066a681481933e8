"""Values of a picture at places between its elements, choices drawn by Gumbel's trick, distances of
all pairs, and thresholds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ... import ops
from ...dtypes import inexact
from ...ops.totals.statistics import stop_gradient
from .common import in_place


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """The input where it is above the threshold, else the value.

    >>> import tracegrad as tg
    >>> tg.nn.functional.threshold(tg.tensor([-1.0, 0.5, 2.0]), 1.0, 0.0)
    tensor([0., 0., 2.])
    """
    return in_place(
        lambda x: ops.where(ops.less_equal(x, threshold), x.dtype.type(value), x), input, inplace
    )


def pdist(input: Any, p: float = 2.0) -> Any:
    """The p-norm distances of all pairs of rows of (n, m), of the first row to the others first.

    >>> import tracegrad as tg
    >>> tg.nn.functional.pdist(tg.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    if len(input.shape) != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {len(input.shape)}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    n = input.shape[0]
    if not isinstance(n, int):
        raise RuntimeError("pdist: the number of pairs needs a known size; mark it static")
    one, other = np.triu_indices(n, 1)
    return ops.vector_norm(ops.take(input, one, 0) - ops.take(input, other, 0), p, -1)


def gumbel_softmax(
    logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Any:
    """Softmax of the logits with Gumbel noise, at the temperature tau; `hard`: one 1 in place of
    shares, with the gradient of the shares. Noise is of the generator of `manual_seed`.

    >>> import tracegrad as tg
    >>> tg.nn.functional.gumbel_softmax(tg.tensor([50.0, 0.0]), hard=True)
    tensor([1., 0.])
    """
    drawn = ops.random.DEFAULT.random(logits.shape, logits.dtype.type)
    noise = -ops.log(-ops.log1p(-ops.maximum(drawn, np.finfo(logits.dtype).tiny)))
    soft = ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    size = logits.shape[dim]
    places = ops.reshape(np.arange(size), [-1 if k == dim % logits.ndim else 1
                                           for k in range(logits.ndim)])  # fmt: skip
    chosen = ops.equal(ops.expand_dims(ops.argmax(soft, dim), dim), places)
    return ops.convert(chosen, soft.dtype) - stop_gradient(soft) + soft


def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """The places (N, H, W, 2) that matrices (N, 2, 3) move a grid over a picture of `size`
    (N, C, H, W) to; (N, D, H, W, 3) of matrices (N, 3, 4). -1 and 1 are the borders of the picture,
    or, with `align_corners`, the centres of its outermost elements.

    >>> import tracegrad as tg
    >>> theta = tg.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])
    >>> tg.nn.functional.affine_grid(theta, (1, 1, 1, 2), align_corners=False)
    tensor([[[[0., 0.],
              [1., 0.]]]])
    """
    axes = len(size) - 2
    if axes not in (2, 3) or tuple(theta.shape[1:]) != (axes, axes + 1):
        raise RuntimeError(
            f"affine_grid: expected matrices (N, {max(axes, 2)}, {max(axes, 2) + 1}) for a size of "
            f"{len(size)} numbers, but got {tuple(theta.shape)} for {tuple(size)}"
        )
    lines = []
    for n in size[2:]:
        ends = np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1)
        lines.append(ends if align_corners else ends * (n - 1) / n)
    grid = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size[2:])], -1)
    base = np.asarray(grid.reshape(-1, axes + 1), inexact(theta.dtype))
    found = ops.matmul(base, ops.matrix_transpose(theta))
    return ops.reshape(found, (theta.shape[0], *size[2:], axes))


def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    """The input (N, C, H, W) at the places of a grid (N, h, w, 2), whose last axis is (x, y); of
    (N, C, D, H, W) at (N, d, h, w, 3). See `affine_grid` for what -1 and 1 are.

    mode          "bilinear" or "nearest" (no "bicubic"); of a tie "nearest" takes the even place
    padding_mode  what is outside: "zeros", "border" (the nearest element), "reflection"

    Differentiable by the input, and, for "bilinear", by the grid.

    >>> import tracegrad as tg
    >>> picture = tg.tensor([[[[1.0, 3.0]]]])
    >>> tg.nn.functional.grid_sample(picture, tg.zeros(1, 1, 1, 2), align_corners=False)
    tensor([[[[2.]]]])
    """
    axes = len(input.shape) - 2
    if axes not in (2, 3) or len(grid.shape) != axes + 2 or grid.shape[-1] != axes:
        raise RuntimeError(
            "grid_sample: expected an input of 4 or 5 dimensions and a grid of as many, whose last "
            f"size is 2 or 3, but got {tuple(input.shape)} and {tuple(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"grid_sample: input and grid have batches of {input.shape[0]} and {grid.shape[0]}"
        )
    if mode not in ("bilinear", "nearest"):
        raise NotImplementedError(f"grid_sample: mode is {mode!r}; it is 'bilinear' or 'nearest'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"grid_sample: padding_mode is {padding_mode!r}; it is 'zeros', 'border' or "
            "'reflection'"
        )
    sizes = input.shape[2:]
    places = [
        _place(grid[..., axes - 1 - k], n, padding_mode, bool(align_corners))
        for k, n in enumerate(sizes)
    ]
    shape = tuple(grid.shape[:-1])
    batch = ops.reshape(np.arange(int(shape[0])), (-1, *[1] * axes))
    channels_last = ops.moveaxis(input, 1, -1)

    def at(index: list[Any]) -> Any:
        """The elements at whole places, (N, ..., C); zeros outside."""
        inside, clipped = None, []
        for k, n in zip(index, sizes, strict=True):
            here = ops.logical_and(ops.greater_equal(k, 0), ops.less(k, n))
            inside = here if inside is None else ops.logical_and(inside, here)
            clipped.append(ops.clip(k, 0, n - 1))
        found = channels_last[(batch, *clipped)]
        return ops.where(ops.expand_dims(inside, -1), found, 0.0)

    def whole(x: Any) -> Any:
        # Far outside, infinite and NaN are nowhere.
        near = ops.logical_and(ops.greater(x, -2.0), ops.less(x, 2.0**31))
        return ops.convert(ops.where(near, x, -2.0), np.dtype(np.int64))

    if mode == "nearest":
        return ops.moveaxis(at([whole(ops.rint(p)) for p in places]), -1, 1)
    lows = [ops.floor(p) for p in places]
    total = None
    for corner in itertools.product((0, 1), repeat=axes):
        weight: Any = 1.0
        for upper, p, low in zip(corner, places, lows, strict=True):
            part = p - low
            weight = weight * (part if upper else 1.0 - part)
        index = [whole(low) + upper for upper, low in zip(corner, lows, strict=True)]
        term = at(index) * ops.expand_dims(weight, -1)
        total = term if total is None else total + term
    return ops.moveaxis(total, -1, 1)


def _place(x: Any, n: int, padding_mode: str, align_corners: bool) -> Any:
    """Coordinates from -1 to 1 as places of an axis of n elements."""
    place = (x + 1.0) * ((n - 1) / 2) if align_corners else ((x + 1.0) * n - 1.0) / 2
    if padding_mode == "reflection":
        low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
        if span <= 0:
            place = place * 0.0
        else:
            off = ops.absolute(place - low)
            times = ops.floor(off / span)
            rest = off - times * span
            odd = ops.equal(ops.mod(times, 2.0), 1.0)
            place = ops.where(odd, span - rest, rest) + low
    return place if padding_mode == "zeros" else ops.clip(place, 0.0, n - 1.0)


__all__ = [
    "affine_grid", "grid_sample", "gumbel_softmax", "pdist", "threshold",
]  # fmt: skip
