"""Memory for large results: what a dead result leaves is taken again, because new pages cost more than what is computed into them.

The system hands out large blocks as pages that it maps and clears at their first touch, and takes them back when they are freed. Five
results of 8 MB cost 6 ms so, where computing them took 9 ms. Here the blocks stay: a result is an array over a block of the pool, and
a block is free again once no array refers to it, which its reference count tells.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from typing import Any

import numpy as np

LARGE = 1 << 20
"""Smaller results (in bytes) are left to NumPy, whose allocator reuses them well."""
IDLE = 64
"""A block that was free for this many requests is given back to the system."""
ALIGNMENT = 64

Block = np.ndarray[Any, np.dtype[np.uint8]]


def _physical() -> int:
    """The machine's memory in bytes, as far as the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 4 << 30


class Pool:
    """Blocks by age; `limit` bounds the bytes that are kept for reuse, not what results may take."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.requests = 0
        self.blocks: list[tuple[Block, int]] = []
        """A block, and the request at which it was last taken."""
        self._lock = threading.Lock()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """As `np.empty`, over a block of the pool where the result is large."""
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes < LARGE or nbytes > self.limit:
            return np.empty(shape, dtype)
        block = self.take(nbytes + ALIGNMENT)
        return np.ndarray(shape, dtype, block, -block.ctypes.data % ALIGNMENT)

    def take(self, nbytes: int) -> Block:
        """A free block of at least this size, not much larger; else a new one."""
        with self._lock:
            self.requests += 1
            kept: list[tuple[Block, int]] = []
            found: Block | None = None
            total = 0
            while self.blocks:
                # One name here and the call's own reference: more means that an array lives on the block.
                block, last = self.blocks.pop()
                free = sys.getrefcount(block) <= _ALONE
                if free and found is None and nbytes <= block.nbytes <= nbytes + nbytes // 4:
                    found = block
                elif not free or (self.requests - last < IDLE and total + block.nbytes <= self.limit):
                    kept.append((block, last))
                    total += block.nbytes
            if found is None:
                found = np.empty(nbytes, np.uint8)
            kept.reverse()
            self.blocks = [*kept, (found, self.requests)]
            return found

    def owns(self, block: object) -> bool:
        """Whether this is the memory of a large result, and of nothing else."""
        return any(b is block for b, _ in self.blocks)

    def clear(self) -> None:
        """Give back what no array lives on."""
        with self._lock:
            self.blocks = [(b, last) for b, last in self.blocks if sys.getrefcount(b) > _ALONE + 1]


def _alone() -> int:
    """What the reference count of a block is that only the loop in `take` refers to."""
    blocks = [(np.empty(1, np.uint8), 0)]
    block, _ = blocks.pop()
    return sys.getrefcount(block)


_ALONE = _alone()
POOL = Pool(min(1 << 30, _physical() // 8))
