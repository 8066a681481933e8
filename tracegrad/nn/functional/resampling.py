"""Other numbers of places: interpolation, and channels made into places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import ops
from ...dtypes import inexact
from ...types import show
from .adaptive import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .common import titled

_AXES = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
_CUBIC = -0.75
"""torch's parameter of cubic convolution."""


def _sources(
    mode: str, n: int, out: int, scale: float | None, align_corners: bool
) -> list[tuple[Any, Any]]:
    """(indices, weights) of what each of `out` places reads of `n`, term by term; weights None for
    1."""
    places = np.arange(out)
    ratio = n / out if scale is None else 1.0 / scale
    if mode == "nearest":
        return [(np.minimum(np.floor(places * ratio).astype(int), n - 1), None)]
    if mode == "nearest-exact":
        return [(np.minimum(np.floor((places + 0.5) * ratio).astype(int), n - 1), None)]
    if align_corners:
        at = places * ((n - 1) / (out - 1) if out > 1 else 0.0)
    else:
        at = (places + 0.5) * ratio - 0.5
    if mode == "bicubic":
        low = np.floor(at).astype(int)
        t = at - low
        a = _CUBIC

        def near(x: Any) -> Any:
            return ((a + 2) * x - (a + 3)) * x * x + 1

        def far(x: Any) -> Any:
            return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

        weights = (far(t + 1), near(t), near(1 - t), far(2 - t))
        return [(np.clip(low + k - 1, 0, n - 1), w) for k, w in enumerate(weights)]
    at = at if align_corners else np.maximum(at, 0.0)
    low = np.minimum(np.floor(at).astype(int), n - 1)
    t = at - low
    return [(low, 1 - t), (np.minimum(low + 1, n - 1), t)]


def interpolate(
    input: Any,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """(N, C, ...) at another number of places along its last axes: `size`, or `scale_factor` times
    as many.

    Modes: nearest, nearest-exact, linear (one axis), bilinear and bicubic (two), trilinear (three),
    area.

    >>> import tracegrad as tg
    >>> tg.nn.functional.interpolate(tg.tensor([[[1.0, 2.0]]]), scale_factor=2, mode="linear")
    tensor([[[1.0000, 1.2500, 1.7500, 2.0000]]])
    """
    axes = len(input.shape) - 2
    if mode not in ("nearest", "nearest-exact", "area", *_AXES):
        raise NotImplementedError(
            f"interpolate: mode is nearest, nearest-exact, area, {', '.join(_AXES)}, not {mode!r}"
        )
    if axes not in (1, 2, 3) or _AXES.get(mode, axes) != axes:
        raise NotImplementedError(
            f"interpolate: mode {mode!r} needs an input (N, C, ...) with "
            f"{_AXES.get(mode, '1 to 3')} axes of places, not {show(input.shape)}"
        )
    if antialias:
        raise NotImplementedError(
            "interpolate: antialias=True is not supported; average before with avg_pool2d"
        )
    if align_corners is not None and mode not in _AXES:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear"
        )
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: exactly one of size and scale_factor must be defined")
    old = [int(n) for n in input.shape[2:]]
    scales: list[float | None] = [None] * axes
    if size is not None:
        new = [int(size)] * axes if isinstance(size, (int, np.integer)) else [int(n) for n in size]
        if recompute_scale_factor:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    else:
        factors: Any = scale_factor
        given = (
            [float(factors)] * axes
            if isinstance(factors, (int, float))
            else [float(f) for f in factors]
        )
        new = [math.floor(n * f) for n, f in zip(old, given, strict=True)]
        scales = [None] * axes if recompute_scale_factor else list(given)
    if len(new) != axes or min(new, default=0) < 1:
        raise ValueError(
            f"interpolate: the input {show(input.shape)} needs {axes} sizes of "
            f"at least 1, got {new}"
        )
    if mode == "area":
        areas = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}
        return areas[axes](input, tuple(new))
    x = input
    for k, (n, m, scale) in enumerate(zip(old, new, scales, strict=True)):
        total: Any = None
        for indices, weights in _sources(mode, n, m, scale, bool(align_corners)):
            term = ops.take(x, indices, 2 + k)
            if weights is not None:
                term = term * weights.astype(inexact(input.dtype)).reshape(
                    [-1 if a == 2 + k else 1 for a in range(axes + 2)]
                )
            total = term if total is None else total + term
        x = total
    return titled(x, "Upsample" + mode.title().replace("-", ""), input)


def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """`interpolate` under its older name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """(..., C * r * r, H, W) as (..., C, H * r, W * r): channels made into places.

    >>> import tracegrad as tg
    >>> tg.nn.functional.pixel_shuffle(tg.arange(4.0).reshape(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    r = upscale_factor
    if len(input.shape) < 3 or r < 1 or input.shape[-3] % (r * r):
        raise RuntimeError(
            f"pixel_shuffle: the channels of {show(input.shape)} (axis -3) must be "
            f"divisible by {r} * {r}"
        )
    *lead, c, h, w = input.shape
    count = len(lead)
    apart = ops.reshape(input, (*lead, c // (r * r), r, r, h, w))
    order = (*range(count), count, count + 3, count + 1, count + 4, count + 2)
    return titled(
        ops.reshape(ops.transpose(apart, order), (*lead, c // (r * r), h * r, w * r)),
        "PixelShuffle",
        input,
    )


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """(..., C, H * r, W * r) as (..., C * r * r, H, W): places made into channels."""
    r = downscale_factor
    if len(input.shape) < 3 or r < 1 or input.shape[-1] % r or input.shape[-2] % r:
        raise RuntimeError(
            f"pixel_unshuffle: the last two axes of {show(input.shape)} must be divisible by {r}"
        )
    *lead, c, h, w = input.shape
    count = len(lead)
    apart = ops.reshape(input, (*lead, c, h // r, r, w // r, r))
    order = (*range(count), count, count + 2, count + 4, count + 1, count + 3)
    return titled(
        ops.reshape(ops.transpose(apart, order), (*lead, c * r * r, h // r, w // r)),
        "PixelUnshuffle",
        input,
    )


def channel_shuffle(input: Any, groups: int) -> Any:
    """(N, C, ...) with the channels of `groups` groups in turn."""
    batch, c, *places = input.shape
    if groups < 1 or c % groups:
        raise RuntimeError(
            f"channel_shuffle: the {c} channels must be divisible by groups ({groups})"
        )
    apart = ops.swapaxes(ops.reshape(input, (batch, groups, c // groups, *places)), 1, 2)
    return titled(ops.reshape(apart, (batch, c, *places)), "ChannelShuffle", input)


__all__ = ["channel_shuffle", "interpolate", "pixel_shuffle", "pixel_unshuffle", "upsample"]
