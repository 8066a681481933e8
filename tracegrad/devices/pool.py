"""Memory of a device, kept for reuse: asking the driver for it stops the device.

A block that nothing refers to any more goes back to the pool, and the next request of its size
class gets it. That may be at once, while the device still works on what it held: all work goes to
one stream, so that what the next owner does comes later.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._codegen import locks
from .device import driver

SMALLEST = 512
"""Bytes of the smallest block."""


def size_class(nbytes: int) -> int:
    """The size of the block that is taken for so many bytes: a multiple of an eighth of the power
    of two below, so that at most an eighth is wasted."""
    step = max(SMALLEST, 1 << max(0, max(nbytes, 1).bit_length() - 4))
    return -(-max(nbytes, 1) // step) * step


class Block:
    """Memory that arrays lie in. They refer to it as the base of their layouts, and when the last
    one is gone, so is the block."""

    __slots__ = ("__weakref__", "address", "nbytes", "owner", "pool")

    def __init__(self, pool: DevicePool, nbytes: int, address: int, owner: Any) -> None:
        self.pool, self.nbytes, self.address, self.owner = pool, nbytes, address, owner

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {
            "shape": (self.nbytes,),
            "typestr": "|u1",
            "data": (self.address, False),
            "version": 3,
        }

    def __del__(self) -> None:
        self.pool.give(self.nbytes, self.address, self.owner)


class DevicePool:
    """The memory of one device."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.free: dict[int, list[tuple[int, Any]]] = {}
        self.allocated = self.peak = self.reserved = self.peak_reserved = 0
        # Memory may come back while another thread takes some, or this one: what is collected may
        # run anywhere.
        self.lock = locks.lock()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """The layout of a new array in C order."""
        nbytes = dtype.itemsize
        for size in shape:
            nbytes *= size
        block = np.asarray(self.take(nbytes))
        return np.ndarray(shape, dtype, block)

    def bytes(self, nbytes: int) -> np.ndarray[Any, Any]:
        """The layout of so many bytes."""
        return np.asarray(self.take(nbytes))[:nbytes]

    def take(self, nbytes: int) -> Block:
        """A block of at least this size. Raises MemoryError."""
        size = size_class(nbytes)
        with self.lock:
            free = self.free.get(size)
            if free:
                address, owner = free.pop()
            else:
                try:
                    address, owner = driver().allocate(self.index, size)
                except MemoryError:
                    self.clear()
                    try:
                        address, owner = driver().allocate(self.index, size)
                    except MemoryError:
                        raise MemoryError(
                            f"cuda:{self.index} has no memory for {nbytes} bytes: "
                            f"arrays take {self.allocated} bytes of it. Free some of them, "
                            "or work on smaller parts"
                        ) from None
                self.reserved += size
                self.peak_reserved = max(self.peak_reserved, self.reserved)
            self.allocated += size
            self.peak = max(self.peak, self.allocated)
            return Block(self, size, address, owner)

    def give(self, nbytes: int, address: int, owner: Any) -> None:
        """Take a block back."""
        with self.lock:
            self.allocated -= nbytes
            self.free.setdefault(nbytes, []).append((address, owner))

    def clear(self) -> None:
        """Give back to the driver what no array lies in."""
        with self.lock:
            self.reserved -= sum(size * len(blocks) for size, blocks in self.free.items())
            self.free.clear()


_POOLS: dict[int, DevicePool] = {}
if hasattr(os, "register_at_fork"):
    # A context does not survive a fork, nor does what was allocated in it.
    os.register_at_fork(after_in_child=_POOLS.clear)


def pool_of(index: int) -> DevicePool:
    """The pool of a device."""
    found = _POOLS.get(index)
    return found if found is not None else _POOLS.setdefault(index, DevicePool(index))
