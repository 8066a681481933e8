"""Routines over whole buffers on a device: of our own, of cuBLAS, of CuPy, or on the host."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import kernel
from . import blas, driver
from .arrays import by_library
from .products import product

Layout = np.ndarray[Any, Any]


def call_routine(index: int, call: kernel.Call, operands: list[Any]) -> None:
    """Run a routine. What neither CuPy nor we have on the device runs on the host: its operands are
    copied there, and what changed is copied back."""
    module, _, name = call.routine.rpartition(".")
    if by_library(index, name, operands):
        return
    if own := OWN.get(name):
        own(index, *operands)
        return
    on_host(
        index,
        getattr(importlib.import_module(f"..native.{module or 'library'}", __package__), name),
        operands,
    )


def _product(index: int, a: Layout, b: Layout, out: Layout, turned_a: bool, turned_b: bool) -> None:
    if not blas.product(index, a, b, out, turned_a, turned_b):
        product(index, a, b, out, turned_a, turned_b)


def _matmul(index: int, a: Layout, b: Layout, out: Layout, turned_a: bool, turned_b: bool) -> None:
    _product(index, a[None], b[None], out[None], turned_a, turned_b)


def _matmul_batched(
    index: int, a: Layout, b: Layout, out: Layout, turned_a: bool, turned_b: bool
) -> None:
    _product(index, a, b, out, turned_a, turned_b)


def _matmul_scaled(
    index: int,
    a: Layout,
    b: Layout,
    scale: Layout,
    out: Layout,
    turned_a: bool,
    turned_b: bool,
) -> None:
    product(index, a[None], b[None], out[None], turned_a, turned_b, scale)


def _matmul_batched_scaled(
    index: int,
    a: Layout,
    b: Layout,
    scale: Layout,
    out: Layout,
    turned_a: bool,
    turned_b: bool,
) -> None:
    product(index, a, b, out, turned_a, turned_b, scale)


OWN: dict[str, Callable[..., None]] = {
    "matmul": _matmul,
    "matmul_batched": _matmul_batched,
    "matmul_scaled": _matmul_scaled,
    "matmul_batched_scaled": _matmul_batched_scaled,
}
"""What has kernels of our own."""


def on_host(index: int, function: Any, operands: list[Any]) -> None:
    given = [driver.download(index, x) if isinstance(x, np.ndarray) else x for x in operands]
    before = [x.copy() if isinstance(x, np.ndarray) else x for x in given]
    with np.errstate(all="ignore"):
        function(*given)
    for memory, old, new in zip(operands, before, given, strict=True):
        if isinstance(memory, np.ndarray) and old.tobytes() != new.tobytes():
            driver.upload(index, memory, new)
