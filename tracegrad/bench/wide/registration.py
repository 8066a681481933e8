"""Medical images: one image moved onto another by an affine map, with bilinear interpolation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Function, Workload, with_modules
from .torch_text import TorchNames


def loss(affine: Floats, moving: Floats, fixed: Floats, line: Floats) -> Any:
    """affine[6] of pixels; moving[side**2], fixed[side, side]; line[side] from -1 to 1."""
    side = fixed.shape[0]
    across, down = line[None, :], line[:, None]
    x = affine[0] * across + affine[1] * down + affine[2]
    y = affine[3] * across + affine[4] * down + affine[5]
    x, y = np.clip(x, 0.0, side - 1.001), np.clip(y, 0.0, side - 1.001)
    left, top = np.floor(x), np.floor(y)
    first, u, v = integers(top * side + left), x - left, y - top
    above = (1.0 - u) * moving[first] + u * moving[first + 1]
    below = (1.0 - u) * moving[first + side] + u * moving[first + side + 1]
    return np.sum(((1.0 - v) * above + v * below - fixed) ** 2)


def integers(whole: Any) -> Any:
    return whole.astype(np.int64)


def data(side: int) -> tuple[Floats, ...]:
    """Waves, and the same ones turned a little, with noise."""
    rng = np.random.default_rng(0)
    line, half = np.linspace(-1.0, 1.0, side), 0.5 * (side - 1)
    across, down = line[None, :], line[:, None]
    moving = np.sin(7.0 * across + 2.0 * down) * np.cos(5.0 * down - across)
    affine = half * np.array([0.95, 0.05, 1.013, -0.04, 1.02, 0.987])
    fixed = np.roll(moving, 2, axis=1) + 0.1 * rng.standard_normal((side, side))
    return affine, moving.ravel().copy(), fixed, line


def loops(affine: Floats, moving: Floats, fixed: Floats, line: Floats) -> tuple[float, Floats]:
    side, total = fixed.shape[0], 0.0
    most, slope = side - 1.001, np.zeros(6)
    for i in range(side):
        x_0, x_2, y_0, y_2 = 0.0, 0.0, 0.0, 0.0
        for j in range(side):
            x = affine[0] * line[j] + affine[1] * line[i] + affine[2]
            y = affine[3] * line[j] + affine[4] * line[i] + affine[5]
            moves_x, moves_y = 0.0 <= x <= most, 0.0 <= y <= most
            x, y = min(max(x, 0.0), most), min(max(y, 0.0), most)
            left, top = math.floor(x), math.floor(y)
            u, v, first = x - left, y - top, int(top) * side + int(left)
            a, b = moving[first], moving[first + 1]
            c, d = moving[first + side], moving[first + side + 1]
            above, below = (1.0 - u) * a + u * b, (1.0 - u) * c + u * d
            miss = (1.0 - v) * above + v * below - fixed[i, j]
            total += miss * miss
            by_x = 2.0 * miss * ((1.0 - v) * (b - a) + v * (d - c)) if moves_x else 0.0
            by_y = 2.0 * miss * (below - above) if moves_y else 0.0
            x_0, x_2 = x_0 + by_x * line[j], x_2 + by_x
            y_0, y_2 = y_0 + by_y * line[j], y_2 + by_y
        slope += np.array([x_0, x_2 * line[i], x_2, y_0, y_2 * line[i], y_2])
    return total, slope


def in_torch(torch: Any) -> Function:
    same = with_modules(loss, TorchNames(torch), torch.special)
    same.__globals__["integers"] = lambda whole: whole.to(torch.int64)
    return same


WORKLOADS = (
    Workload(
        name="registration",
        derivative="value_and_grad",
        doc="images laid over each other: gathers at computed places, six parameters",
        function=loss,
        data=data,
        sizes={"small": {"side": 12}, "default": {"side": 300}, "large": {"side": 1_500}},
        reference=loops,
        numba=loops,
        torch=in_torch,
    ),
)
