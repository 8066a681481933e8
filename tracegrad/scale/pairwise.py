"""Sums whose order is that of the shards' numbers, whoever computed them and whenever they came.

The tree is fixed: a block of level l and number k is the sum of the shards from k 2^l on, 2^l of
them or as many as there are; it is the sum of its two halves, or its first half where there is no
second. A worker adds up the blocks that lie in its own range, which are few, and the driver the
rest: the same additions of the same numbers for any ranges. (Pairwise summation, Higham 1993, over
shards: the error grows with the logarithm of their number.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Leaves = Sequence[Any]


class PartialSum(NamedTuple):
    """The sum of the shards from `number` << `level` on."""

    level: int
    number: int
    leaves: Leaves


class Pairwise:
    """Adds up blocks that come in the order of the shards; holds one for each level at most."""

    def __init__(self) -> None:
        self.blocks: list[PartialSum] = []

    def add(self, block: PartialSum) -> None:
        """The next block, which begins where the last one ended."""
        while self.blocks:
            last = self.blocks[-1]
            if last.level != block.level or last.number % 2 or last.number + 1 != block.number:
                break
            self.blocks.pop()
            total = _added(last.leaves, block.leaves)
            block = PartialSum(block.level + 1, last.number // 2, total)
        self.blocks.append(block)

    def total(self) -> Leaves:
        """The sum of all; there must be at least one block."""
        found = self.blocks[-1].leaves
        for block in reversed(self.blocks[:-1]):
            found = _added(block.leaves, found)
        return found


def _added(a: Leaves, b: Leaves) -> Leaves:
    # An overflow is what the unsharded sum would do, too.
    with np.errstate(all="ignore"):
        return [np.add(x, y) for x, y in zip(a, b, strict=True)]


__all__ = ["Leaves", "Pairwise", "PartialSum"]
