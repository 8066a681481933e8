"""Axes of a task's loops: which are written out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._codegen import integers
from ..types import Int
from .indices import Index
from .lower import is_small

LANES = 4
"""A trailing axis of at most this static size is unrolled inside the loop over the axes before
it."""
REDUCED_LANES = 8
"""The same where a reduction keeps an axis, if no more than `MOST_UNROLLED` statements come of it:
totals of few columns stay in registers."""
LONGEST_PERIOD = 4
NO_PERIODS: Mapping[str, int] = {}


@dataclass
class Axis:
    """One loop of a task, under the task's own name for its index."""

    symbol: str
    extent: Int
    reduced: bool = False


def split_lanes(
    axes: list[Axis], most: int = LANES, again: bool = False
) -> tuple[list[Axis], list[Axis]]:
    """The trailing short static axes as lanes, if any longer axis stays; all axes of what is small
    and computed again and again."""
    if again and is_small(tuple([a.extent for a in axes])):
        return [], axes
    lanes: list[Axis] = []
    total = 1
    while (
        len(axes) > 1
        and isinstance(axes[-1].extent, int)
        and axes[-1].extent > 1
        and total * axes[-1].extent <= most
    ):
        first = axes[0].extent
        if isinstance(first, int) and first <= most:
            break
        lanes.insert(0, axes[-1])
        total *= int(axes[-1].extent)
        axes = axes[:-1]
    return axes, lanes


def split_periods(
    axes: list[Axis], index: Index, periods: Mapping[str, int]
) -> tuple[list[Axis], list[Axis], Index]:
    """Loops along which what is computed changes with a short period, as in the adjoint of
    `x[::2]`, over whole periods: the rest is unrolled, so that each part of a period has its own
    code in place of branches."""
    shorter: list[Axis] = []
    residues: list[Axis] = []
    for a in axes:
        period = periods.get(a.symbol, 1)
        if (
            1 < period <= LONGEST_PERIOD // math.prod([int(r.extent) for r in residues])
            and isinstance(a.extent, int)
            and a.extent % period == 0
            and a.extent > period
        ):
            residue = Axis(f"{a.symbol}r", period, a.reduced)
            place = {a.symbol: integers.symbol(a.symbol) * period + integers.symbol(residue.symbol)}
            index = tuple(i if isinstance(i, int) else integers.substitute(i, place) for i in index)
            a = Axis(a.symbol, a.extent // period, a.reduced)
            residues.append(residue)
        shorter.append(a)
    return shorter, residues, index


def short_in_front(axes: Sequence[Axis]) -> Axis | None:
    """The one short axis in front of a long one, if there is one: written out inside of the loop
    along the long one, it has what is computed there computed once.

    axes    those along which a sum is added up in memory
    """
    if len(axes) < 2 or is_short(axes[-1], REDUCED_LANES):
        return None
    short = [a for a in axes[:-1] if is_short(a, LANES)]
    return short[0] if len(short) == 1 else None


def is_short(axis: Axis, size: int) -> bool:
    """Whether a loop is known to take at most `size` passes."""
    return isinstance(axis.extent, int) and axis.extent <= size


__all__ = [
    "LANES",
    "NO_PERIODS",
    "REDUCED_LANES",
    "Axis",
    "is_short",
    "short_in_front",
    "split_lanes",
    "split_periods",
]
