"""Matrix products by cuBLAS, asked directly: what an array library does around such a call takes
longer on the host than most products take on the device.

The library comes with CUDA's toolkit (the wheel nvidia-cublas, which CuPy, JAX and PyTorch bring,
too). Its matrices are in Fortran order: a matrix in C order is to it the transposed one, so that
`out = a @ b` is told as `out.T = b.T @ a.T`.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from typing import Any

import numpy as np

from ..addresses import address_of
from . import driver

Layout = np.ndarray[Any, Any]
LETTERS = {"f": "S", "d": "D", "F": "C", "D": "Z"}
"""The library's letter by NumPy's."""
WORTH = 128
"""Steps of products, one after the other, from which on cuBLAS computes them. Its call costs the
host some 12 us more than that of our own kernel, whose step takes 0.15 us (H100, float64)."""
SIDE, PROCESSORS = 64, 132
"""What the estimate of such steps rests on: the tiles of our own kernel, and how many run at
once."""
MOST = (1 << 31) - 1
"""Sizes are told in 32 bits."""
PLAIN, TURNED = 0, 1
"""As they stand, and transposed: cublasOperation_t."""


def product(index: int, a: Layout, b: Layout, out: Layout, turned_a: bool, turned_b: bool) -> bool:
    """`out[q] = a[q] @ b[q]` over layouts of three axes in C order; a first axis of size 1 serves
    all q. False where cuBLAS is not there, or is not worth its call."""
    letter = LETTERS.get(out.dtype.char)
    batches, m, n = out.shape
    k = a.shape[1] if turned_a else a.shape[2]
    tiles = -(-m // SIDE) * -(-n // SIDE) * batches
    if (
        letter is None
        or not out.size
        or -(-tiles // PROCESSORS) * k < WORTH
        or max(batches, m, n, k) > MOST
    ):
        return False
    found = library()
    if found is None:
        return False
    found.product(index, letter, (batches, m, n, k), (a, b, out), (turned_a, turned_b))
    return True


class Cublas:
    """The loaded library, and a handle for each thread and device."""

    def __init__(self, functions: Any) -> None:
        self.functions = functions
        self.handles = threading.local()
        self.known: dict[str, Any] = {}
        self.numbers: dict[str, tuple[Any, int, int]] = {}
        for letter, dtype in (("S", "f4"), ("D", "f8"), ("C", "c8"), ("Z", "c16")):
            both = np.array([1, 0], dtype)
            first = address_of(both)
            self.numbers[letter] = both, first, first + both.itemsize
        p, i, w = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
        for letter in self.numbers:
            many = self._function(f"cublas{letter}gemmStridedBatched")
            many.argtypes = [p, i, i, i, i, i, p, p, i, w, p, i, w, p, p, i, w, i]
            one = self._function(f"cublas{letter}gemm_v2")
            one.argtypes = [p, i, i, i, i, i, p, p, i, p, i, p, p, i]
            vector = self._function(f"cublas{letter}gemv_v2")
            vector.argtypes = [p, i, i, i, p, p, i, p, i, p, p, i]

    def _function(self, name: str) -> Any:
        found = self.known[name] = getattr(self.functions, name)
        found.restype = ctypes.c_int
        return found

    def handle(self, index: int) -> int:
        """This thread's handle on a device that it has entered; work goes to the default stream,
        as all other."""
        mine = self.handles.__dict__
        found: Any = mine.get(str(index))
        if found is None:
            made = ctypes.c_void_p()
            create = self.functions.cublasCreate_v2
            create.restype, create.argtypes = ctypes.c_int, [ctypes.POINTER(ctypes.c_void_p)]
            check("cublasCreate", create(ctypes.byref(made)))
            found = mine[str(index)] = made.value
        return int(found)

    def product(
        self,
        index: int,
        letter: str,
        sizes: tuple[int, int, int, int],
        operands: tuple[Layout, Layout, Layout],
        turned: tuple[bool, bool],
    ) -> None:
        """One call of the library."""
        batches, m, n, k = sizes
        a, b, _ = operands
        _, one, zero = self.numbers[letter]
        # Fewest elements between two columns, as Fortran's order counts them.
        wide_a, wide_b = a.shape[2], b.shape[2]
        how_a, how_b = (TURNED if t else PLAIN for t in turned)
        at_a, at_b, at = map(address_of, operands)
        driver.enter(index)
        handle = self.handle(index)
        if batches == 1 and n == 1:
            # To the library a plain `a` is k by m.
            shape = (m, k) if how_a else (k, m)
            code = self.known[f"cublas{letter}gemv_v2"](
                handle, PLAIN if how_a else TURNED, *shape, one, at_a, wide_a, at_b, 1, zero, at, 1
            )
        elif batches == 1 and m == 1:
            shape = (k, n) if how_b else (n, k)
            code = self.known[f"cublas{letter}gemv_v2"](
                handle, how_b, *shape, one, at_b, wide_b, at_a, 1, zero, at, 1
            )
        elif batches == 1:
            code = self.known[f"cublas{letter}gemm_v2"](
                handle, how_b, how_a, n, m, k, one, at_b, wide_b, at_a, wide_a, zero, at, n
            )
        else:
            code = self.known[f"cublas{letter}gemmStridedBatched"](
                *(handle, how_b, how_a, n, m, k, one),
                *(at_b, wide_b, k * n if b.shape[0] > 1 else 0),
                *(at_a, wide_a, m * k if a.shape[0] > 1 else 0),
                *(zero, at, n, m * n, batches),
            )
        check("a matrix product", code)


def check(what: str, code: int) -> None:
    """A RuntimeError where the library refused something."""
    if code:
        raise RuntimeError(f"cuBLAS refused {what} (status {code})")


@functools.cache
def library() -> Cublas | None:
    """The library, or None where it is not installed (or Numba's simulator stands in for a
    GPU)."""
    if driver.simulated():
        return None
    from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

    try:
        path = load_nvidia_dynamic_lib("cublas").abs_path
    except DynamicLibNotFoundError:
        return None
    return Cublas(ctypes.CDLL(str(path)))


__all__ = ["Cublas", "library", "product"]
