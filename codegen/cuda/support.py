"""What CUDA kernels use besides arithmetic: arrays over addresses, waiting, reductions over a
block, atomics.

Each function has a Python body, which Numba's simulator runs. Kernels get addresses, sizes and
strides, all words of 8 bytes: so a launch hands over plain numbers. (The simulator has no
addresses; there the arrays themselves are handed over.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, cuda

from ..addresses import address_of
from .driver import APART, array_at

SIMULATED = bool(config.ENABLE_CUDASIM)
"""Whether kernels run on Numba's simulator."""


def view(base: Any, offset: Any, shape: tuple[Any, ...], dtype: Any) -> Any:
    """`shape` elements of `dtype` in C order, `offset` bytes after an address (or after the start
    of an array)."""
    start = address_of(base) if isinstance(base, np.ndarray) else base - APART
    return array_at(start + offset, shape, dtype) if 0 not in shape else np.empty(shape, dtype)


def strided(base: Any, shape: tuple[Any, ...], strides: tuple[Any, ...], dtype: Any) -> Any:
    """`shape` elements of `dtype` from an address on, `strides` bytes apart."""
    return (
        array_at(base - APART, shape, dtype, strides) if 0 not in shape else np.empty(shape, dtype)
    )


def aligned(x: Any, width: Any) -> Any:
    """Whether the first element lies where vectors of so many elements may begin."""
    return address_of(x) % (width * x.itemsize) == 0


def load_2(x: Any, i: Any) -> Any:
    """Two neighbouring elements, by one instruction."""
    return x[i], x[i + 1]


def load_4(x: Any, i: Any) -> Any:
    """Four neighbouring elements, by one instruction."""
    return x[i], x[i + 1], x[i + 2], x[i + 3]


def store_2(x: Any, i: Any, a: Any, b: Any) -> None:
    """Two neighbouring elements, by one instruction."""
    x[i], x[i + 1] = a, b


def store_4(x: Any, i: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    """Four neighbouring elements, by one instruction."""
    x[i], x[i + 1], x[i + 2], x[i + 3] = a, b, c, d


class _Here:
    """What `cuda` means to the simulated thread that asks. (Numba's own way, to exchange the global
    `cuda` at each call of a device function and back, is not safe between the threads of a
    block.)"""

    def __getattr__(self, name: str) -> Any:
        return getattr(_context(), name)


if SIMULATED:
    import threading

    from numba.cuda.simulator.kernel import _get_kernel_context as _context
    from numba.cuda.simulator.kernelapi import FakeCUDAShared

    cuda = _Here()

    class _Allocations(dict[Any, Any]):
        """The shared arrays of a block. The simulator looks for one and then makes it, and two
        threads that did so at once would each have their own: who finds none keeps the others
        waiting until it has made one."""

        def __init__(self) -> None:
            self.making = threading.Lock()

        def get(self, key: Any, default: Any = None) -> Any:
            if key not in self:
                self.making.acquire()
                if key in self:
                    self.making.release()
            return super().get(key, default)

        def __setitem__(self, key: Any, value: Any) -> None:
            super().__setitem__(key, value)
            self.making.release()

    _made = FakeCUDAShared.__init__

    def _with_one_array_each(self: Any, size: Any) -> None:
        _made(self, size)
        self._allocations = _Allocations()

    FakeCUDAShared.__init__ = _with_one_array_each


def on_device(function: Any) -> Any:
    """A function that kernels call."""
    return function if SIMULATED else cuda.jit(device=True)(function)


@on_device
def wait_for_grid(arrivals: Any, target: Any) -> None:
    """Wait until `target` blocks have come here since the kernel started, all earlier rounds
    counted; all must be resident."""
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        cuda.atomic.add(arrivals, 0, np.uint64(1))
        while cuda.atomic.add(arrivals, 0, np.uint64(0)) < target:
            pass
        cuda.threadfence()
    cuda.syncthreads()


@on_device
def record(status: Any, code: Any, value: Any) -> None:
    """Keep the first thing that fails."""
    if cuda.atomic.cas(status, 0, 0, code) == 0:
        status[1] = value


@on_device
def add_atomically(buffer: Any, at: Any, value: Any) -> None:
    cuda.atomic.add(
        buffer, at, value
    )  # where there is one axis, `at` must be no tuple: Numba's compiler takes none there


def _total(name: str, combine: Any) -> Any:
    """A function that combines one value of each thread of a block, in an order that depends on the
    number of threads alone."""

    def total(value: Any, shared: Any) -> Any:
        me = cuda.threadIdx.x
        cuda.syncthreads()
        shared[me] = value
        cuda.syncthreads()
        half = cuda.blockDim.x // 2
        while half > 0:
            if me < half:
                shared[me] = combine(shared[me], shared[me + half])
            cuda.syncthreads()
            half //= 2
        return shared[0]

    total.__name__ = total.__qualname__ = name
    return on_device(total)


@on_device
def _plus(x: Any, y: Any) -> Any:
    return x + y


@on_device
def _times(x: Any, y: Any) -> Any:
    return x * y


@on_device
def _both(x: Any, y: Any) -> Any:
    return x & y


@on_device
def _either(x: Any, y: Any) -> Any:
    return x | y


@on_device
def _larger(x: Any, y: Any) -> Any:
    return x if x >= y or x != x else y


@on_device
def _smaller(x: Any, y: Any) -> Any:
    return x if x <= y or x != x else y


def _running(name: str, combine: Any) -> Any:
    """A function that gives each thread of a block `carry` with the values of the threads before
    it, and with those of all."""

    def running(value: Any, carry: Any, shared: Any) -> Any:
        me = cuda.threadIdx.x
        cuda.syncthreads()
        shared[me] = value
        cuda.syncthreads()
        distance = 1
        while distance < cuda.blockDim.x:
            found = shared[me]
            if me >= distance:
                found = combine(shared[me - distance], found)
            cuda.syncthreads()
            shared[me] = found
            cuda.syncthreads()
            distance *= 2
        before = carry
        if me > 0:
            before = combine(carry, shared[me - 1])
        return before, combine(carry, shared[cuda.blockDim.x - 1])

    running.__name__ = running.__qualname__ = name
    return on_device(running)


total_add = _total("total_add", _plus)
total_mul = _total("total_mul", _times)
total_and = _total("total_and", _both)
total_or = _total("total_or", _either)
total_max = _total("total_max", _larger)
total_min = _total("total_min", _smaller)
running_add = _running("running_add", _plus)
running_mul = _running("running_mul", _times)
running_and = _running("running_and", _both)
running_or = _running("running_or", _either)
running_max = _running("running_max", _larger)
running_min = _running("running_min", _smaller)


@on_device
def matmul(a: Any, b: Any, out: Any, turned_a: bool, turned_b: bool) -> None:
    """`out = a @ b` of matrices, either of them given transposed, by one thread."""
    m, n = out.shape
    k = a.shape[0] if turned_a else a.shape[1]
    for row in range(m):
        for column in range(n):
            out[row, column] = 0
            for deep in range(k):
                x = a[deep, row] if turned_a else a[row, deep]
                y = b[column, deep] if turned_b else b[deep, column]
                out[row, column] += x * y
