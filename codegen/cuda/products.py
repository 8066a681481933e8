"""Matrix products on a device: tiles of the result in registers, strips of the operands in shared
memory.

Each block computes a square tile of the result, each of its threads a square of that. Strips of
both operands, as wide as a block has threads on a side, are brought to shared memory together and
then read from there by every thread of a row or column (the scheme of the CUDA C++ Programming
Guide, section "Shared Memory", with more than one element a thread).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..addresses import address_of
from ..disk import cache
from ..printer import dtype_name
from . import driver
from .compile import Start, starters
from .kernels import DeviceKernel
from .support import SIMULATED

SIDE, EACH = (2, 2) if SIMULATED else (16, 4)
"""Threads on a side of a block, and elements on a side of a thread's square."""
ARGUMENTS = (
    "a",
    "b",
    "scale",
    "out",
    "m",
    "n",
    "k",
    "batches",
    "a_row",
    "a_column",
    "a_batch",
    "b_row",
    "b_column",
    "b_batch",
    "scale_batch",
)


def product(
    index: int, a: Any, b: Any, out: Any, turned_a: bool, turned_b: bool, scale: Any = None
) -> None:
    """`out[q] = a[q] @ diag(scale[q]) @ b[q]` over layouts of three axes in C order; a first axis
    of size 1 serves all q."""
    batches, m, n = out.shape
    k = a.shape[1] if turned_a else a.shape[2]
    if out.size == 0:
        return
    words = [address_of(x) for x in (a, b, a if scale is None else scale, out)]
    words += [m, n, k, batches]
    for x, turned in ((a, turned_a), (b, turned_b)):
        row, column = (1, x.shape[2]) if turned else (x.shape[2], 1)
        words += [row, column, 0 if x.shape[0] == 1 else x.shape[1] * x.shape[2]]
    words.append(0 if scale is None or scale.size == k else k)
    tiles = -(-m // (SIDE * EACH)) * -(-n // (SIDE * EACH)) * batches
    driver.enter(index)
    _kernel(out.dtype, scale is not None, index)(tiles, words)


@functools.cache
def _kernel(dtype: np.dtype[Any], scaled: bool, index: int) -> Start:
    kernel = DeviceKernel(name="product", words=len(ARGUMENTS), threads=SIDE * SIDE, per_block=True)
    return starters(source(dtype, scaled, SIDE, EACH), [kernel], index, cache.FOLDER[0])["product"]


def source(dtype: np.dtype[Any], scaled: bool, side: int, each: int) -> str:
    """The kernel for one dtype. The squares of the threads are written out, so that they live in
    registers."""
    kind, wide = f"np.{dtype_name(dtype)}", side * each
    zero = "np.bool_(False)" if dtype.kind == "b" else f"{kind}(0)"
    square = [(r, c) for r in range(each) for c in range(each)]
    lines = ["import numpy as np", "from numba import cuda", ""]
    lines += [
        "from tracegrad.codegen.cuda.support import view",
        "from tracegrad.codegen.native.support import index",
        "",
        "",
    ]
    lines += [f"def product({', '.join(ARGUMENTS)}):"]
    body = [
        f"a = view(a, index(0), (batches * m * k,), {kind})",
        f"b = view(b, index(0), (batches * k * n,), {kind})",
        f"out = view(out, index(0), (batches * m * n,), {kind})",
        *([f"scale = view(scale, index(0), (batches * k,), {kind})"] if scaled else []),
        f"strip_a = cuda.shared.array(({side}, {wide}), {kind})",
        f"strip_b = cuda.shared.array(({side}, {wide}), {kind})",
        "me = index(cuda.threadIdx.x)",
        f"mine_row = me // index({side})",
        f"mine_column = me % index({side})",
        f"tiles_down = (m + index({wide - 1})) // index({wide})",
        f"tiles_along = (n + index({wide - 1})) // index({wide})",
        "for tile in range(index(cuda.blockIdx.x), tiles_down * tiles_along * batches, "
        "index(cuda.gridDim.x)):",
        "    batch = tile // (tiles_down * tiles_along)",
        "    place = tile % (tiles_down * tiles_along)",
        f"    row = place // tiles_along * index({wide})",
        f"    column = place % tiles_along * index({wide})",
        *[f"    sum_{r}_{c} = {zero}" for r, c in square],
        f"    for start in range(index(0), k, index({side})):",
        "        cuda.syncthreads()",
        f"        for piece in range(me, index({side * wide}), index({side * side})):",
        # Neighbouring threads read neighbours in memory, along whichever axis these lie.
        f"            deep = piece % index({side}) if a_column == index(1) else "
        f"piece // index({wide})",
        f"            across = piece // index({side}) if a_column == index(1) else "
        f"piece % index({wide})",
        f"            value = {zero}",
        "            if start + deep < k and row + across < m:",
        "                value = a[batch * a_batch + (row + across) * a_row + "
        "(start + deep) * a_column]",
        *(
            ["                value = value * scale[batch * scale_batch + start + deep]"]
            if scaled
            else []
        ),
        "            strip_a[deep, across] = value",
        f"            deep_b = piece // index({wide}) if b_column == index(1) else "
        f"piece % index({side})",
        f"            across_b = piece % index({wide}) if b_column == index(1) else "
        f"piece // index({side})",
        f"            value_b = {zero}",
        "            if start + deep_b < k and column + across_b < n:",
        "                value_b = b[batch * b_batch + (start + deep_b) * b_row + (column + "
        "across_b) * b_column]",
        "            strip_b[deep_b, across_b] = value_b",
        "        cuda.syncthreads()",
        f"        for deep in range(index({side})):",
        *[f"            x_{r} = strip_a[deep, mine_row + index({r * side})]" for r in range(each)],
        *[
            f"            y_{c} = strip_b[deep, mine_column + index({c * side})]"
            for c in range(each)
        ],
        *[
            f"            sum_{r}_{c} = {_added(dtype, f'sum_{r}_{c}', f'x_{r}', f'y_{c}')}"
            for r, c in square
        ],
    ]
    for r, c in square:
        at_row, at_column = (
            f"row + mine_row + index({r * side})",
            f"column + mine_column + index({c * side})",
        )
        body += [
            f"    if {at_row} < m and {at_column} < n:",
            f"        out[batch * m * n + ({at_row}) * n + {at_column}] = sum_{r}_{c}",
        ]
    return "\n".join([*lines, *[f"    {line}" for line in body]]) + "\n"


def _added(dtype: np.dtype[Any], total: str, x: str, y: str) -> str:
    if dtype.kind == "b":
        return f"{total} | ({x} & {y})"
    return f"np.{dtype.name}({total} + {x} * {y})"
