"""Sums of NumPy arrays over some axes, which stay with size 1: for operations whose value is
written for NumPy itself."""

from __future__ import annotations

import math
from functools import lru_cache
from string import ascii_letters
from typing import Any

import numpy as np

RUN = 1024
"""Numbers in a row are summed by `einsum` up to here: it takes a third of the time of a ufunc's
reduction, and has four sums beside each other, where that one adds pairs of sums."""


@lru_cache(maxsize=1024)
def _formulas(axes: tuple[int, ...], ndim: int) -> tuple[str, str, int]:
    """What `einsum` is told of one operand and of two, and the axis from which on all are
    summed."""
    every = ascii_letters[:ndim]
    left = "".join([c for k, c in enumerate(every) if k not in axes])
    last = ndim
    while last - 1 in axes:
        last -= 1
    return f"{every}->{left}", f"{every},{every}->{left}", last


def total(x: Any, axes: tuple[int, ...]) -> Any:
    """The sum over the axes."""
    if x.ndim <= len(ascii_letters):
        one, _, last = _formulas(axes, x.ndim)
        if math.prod(x.shape[last:]) <= RUN:
            return np.einsum(one, x).reshape(_kept(x.shape, axes))
    return np.add.reduce(x, axes, keepdims=True)


def total_of_products(x: Any, y: Any, axes: tuple[int, ...]) -> Any:
    """The sum over the axes of the products of two arrays of one shape."""
    if x.ndim <= len(ascii_letters):
        _, two, last = _formulas(axes, x.ndim)
        if math.prod(x.shape[last:]) <= RUN:
            return np.einsum(two, x, y).reshape(_kept(x.shape, axes))
    return np.add.reduce(x * y, axes, keepdims=True)


def _kept(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([1 if k in axes else n for k, n in enumerate(shape)])


__all__ = ["total", "total_of_products"]
