"""Memory for large results: what a dead result leaves is taken again, because new pages cost more
than what is computed into them.

The system hands out large blocks as pages that it maps and clears at their first touch, and takes
them back when they are freed. Five results of 8 MB cost 6 ms so, where computing them took 9 ms.
Here the blocks stay: a result is an array over a block of the pool, and a block is free again once
no array refers to it, which its reference count tells.
"""

from __future__ import annotations

import math
import os
import sys
from typing import Any

import numpy as np

from .._codegen import addresses, locks

LARGE = 1 << 20
"""Smaller results (in bytes) are left to NumPy, whose allocator reuses them well."""
IDLE = 64
"""A block that was free for this many requests is given back to the system."""
ALIGNMENT = 64
KEPT_BY_THREADS = 1 << 24
"""Larger workspaces (in bytes) are blocks of the pool, smaller ones stay with their thread."""

Block = np.ndarray[Any, np.dtype[np.uint8]]


def _physical() -> int:
    """The machine's memory in bytes, as far as the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 4 << 30


class Pool:
    """Blocks by age; `limit` bounds the bytes that are kept for reuse, not what results may
    take."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.requests = 0
        self.blocks: list[tuple[Block, int]] = []
        """A block, and the request at which it was last taken."""
        # The same thread may come back in: memory that is collected may run code of its owner.
        self._lock = locks.lock()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """As `np.empty`, over a block of the pool where the result is large."""
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes < LARGE or nbytes > self.limit:
            return np.empty(shape, dtype)
        block = self.take(nbytes + ALIGNMENT)
        return np.ndarray(shape, dtype, block, -addresses.address_of(block) % ALIGNMENT)

    def take(self, nbytes: int) -> Block:
        """A free block of at least this size, not much larger; else a new one."""
        with self._lock:
            self.requests += 1
            kept: list[tuple[Block, int]] = []
            found: Block | None = None
            total = 0
            for k in reversed(range(len(self.blocks))):
                free = _is_free(self.blocks[k])
                block, last = self.blocks[k]
                if free and found is None and nbytes <= block.nbytes <= nbytes + nbytes // 4:
                    found = block
                elif not free or (
                    self.requests - last < IDLE and total + block.nbytes <= self.limit
                ):
                    kept.append((block, last))
                    total += block.nbytes
                del block
            kept.reverse()
            if found is None:
                # What is given back goes first.
                self.blocks = kept
                found = np.empty(nbytes, np.uint8)
            # A new list, never a change of the old one: `owns` takes no lock.
            self.blocks = [*kept, (found, self.requests)]
            return found

    def owns(self, block: object) -> bool:
        """Whether this is the memory of a large result, and of nothing else."""
        return any(b is block for b, _ in self.blocks)

    def clear(self) -> None:
        """Give back what no array lives on."""
        with self._lock:
            self.blocks = [entry for entry in self.blocks if not _is_free(entry)]


def scratch_memory(nbytes: int) -> Block:
    """Memory for the temporaries of a kernel, which begins at a cache line as each of them does in
    it: vectors that cross one take twice the time."""
    room = nbytes + ALIGNMENT
    block = POOL.take(room) if nbytes >= KEPT_BY_THREADS else np.empty(room, np.uint8)
    start = -addresses.address_of(block) % ALIGNMENT
    return block[start : start + nbytes]


def _references(entry: tuple[Block, int]) -> int:
    return sys.getrefcount(entry[0])


_ALONE = _references((np.empty(1, np.uint8), 0))


def _is_free(entry: tuple[Block, int]) -> bool:
    """Whether nothing refers to a block but its entry: what that counts differs between versions of
    Python."""
    return _references(entry) <= _ALONE


POOL = Pool(min(1 << 30, _physical() // 8))
