"""Copies on a device between arrays in any order of memory."""

from __future__ import annotations

import functools

from ..addresses import address_of
from ..disk import cache
from . import driver
from .compile import Start, starters
from .driver import Layout
from .kernels import DeviceKernel
from .team import MOST_THREADS

ELEMENTS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64", 16: "complex128"}
"""What elements of so many bytes are copied as."""


def copy(index: int, destination: Layout, source: Layout) -> None:
    """Copy between arrays of the same shape and dtype that share no memory."""
    if not destination.size:
        return
    if destination.flags.forc and destination.strides == source.strides:
        driver.move(index, destination, source)
        return
    words = [address_of(x) for x in (destination, source)]
    words += [*destination.shape, *destination.strides, *source.strides]
    driver.enter(index)
    _kernel(destination.ndim, destination.itemsize, index)(destination.size, words)


@functools.cache
def _kernel(rank: int, itemsize: int, index: int) -> Start:
    kernel = DeviceKernel(name="copy", words=2 + 3 * rank, threads=MOST_THREADS)
    return starters(source(rank, itemsize), [kernel], index, cache.FOLDER[0])["copy"]


def source(rank: int, itemsize: int) -> str:
    """The kernel for arrays of so many axes and bytes an element."""
    extents, steps_to, steps_what, places = (
        [f"{word}_{axis}" for axis in range(rank)] for word in ("n", "to", "what", "i")
    )
    lines = [
        "import numpy as np",
        "from numba import cuda",
        "",
        "from tracegrad.codegen.cuda.support import strided",
        "from tracegrad.codegen.native.support import index",
        "",
        "",
        f"def copy({', '.join(['to', 'what', *extents, *steps_to, *steps_what])}):",
    ]
    shape, dtype = f"({', '.join(extents)},)", f"np.{ELEMENTS[itemsize]}"
    body = [
        f"to = strided(to, {shape}, ({', '.join(steps_to)},), {dtype})",
        f"what = strided(what, {shape}, ({', '.join(steps_what)},), {dtype})",
        "member = index(cuda.blockIdx.x) * index(cuda.blockDim.x) + index(cuda.threadIdx.x)",
        f"for rest in range(member, {' * '.join(extents)}, index(cuda.gridDim.x) * "
        "index(cuda.blockDim.x)):",
    ]
    for axis in reversed(range(rank)):
        body += [
            f"    {places[axis]} = rest % {extents[axis]}",
            f"    rest = rest // {extents[axis]}",
        ]
    body.append(f"    to[{', '.join(places)}] = what[{', '.join(places)}]")
    return "\n".join([*lines, *[f"    {line}" for line in body]]) + "\n"
