"""Carries that live in what is kept of them.

A loop whose adjoint reads a carry keeps it for each step: as the step finds it, or as it leaves it.
Kept beside that carry, each value is written three times: where the step computes it, in the
carry's place, and in what is kept. Where that has a row more than there are steps, a step reads one
row and writes the next: the first value is the first row, the last one the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._codegen import lowering
from ..ir.graph import Node, Var
from ..ir.loops import Loop
from ..types import Int
from .analysis import Analysis
from .lower import Storage, is_small
from .passes.transpose_short_axes import is_narrow

if TYPE_CHECKING:
    from .build import Builder
    from .whole import Whole


def make_room(builder: Builder, node: Node, analysis: Analysis, fixed: Mapping[Var, Any]) -> None:
    """Give the tapes of a loop a row more, where its carries may live in them, and last values
    their places there; not what has a place that is fixed."""
    if builder.device or node.op.lowering is not lowering.SCAN:
        return
    e, loop = builder.emitter, Loop.of(node)
    length: Int = loop.param("length")
    taken: set[int] = set()
    for k, r in _kept(loop):
        carry, stacked = loop.carries[k], loop.results[r].stacked
        readers = analysis.uses.get(stacked, [])
        if (
            k in taken
            or stacked in fixed
            or stacked not in analysis.stored
            or not all(_by_rows(stacked, n) for n in readers)
        ):
            continue
        taken.add(k)
        where = e.storage[stacked]
        buffer = e.buffers[where.buffer]
        e.buffers[buffer.name] = replace(buffer, shape=(length + 1, *buffer.shape[1:]))
        skipped = int(loop.param("reverse") == (loop.results[r].inside is carry.inside))
        e.storage[stacked] = replace(where, spare=True, skipped=skipped)
        if carry.last in analysis.stored and carry.last not in fixed:
            end = 0 if loop.param("reverse") else length
            e.storage[carry.last] = Storage(buffer.name, carry.last.type.shape, (end,))


def _kept(loop: Loop) -> list[tuple[int, int]]:
    """The numbers of carries that are whole arrays, and of the results that keep them: as a step
    finds them, or what it makes of that one and no other. A result keeps one carry."""
    found: list[tuple[int, int]] = []
    following = [c.next for c in loop.carries]
    for k, carry in enumerate(loop.carries):
        shape = carry.inside.type.shape
        if carry.next is carry.inside or is_small(shape) or is_narrow(shape):
            continue
        leaves = carry.next if carry.next not in loop.body.inputs else None
        for r, result in enumerate(loop.results):
            if result.inside is carry.inside or (
                result.inside is leaves and following.count(leaves) == 1
            ):
                found.append((k, r))
    return found


def _by_rows(var: Var, node: Node) -> bool:
    """Whether a node is a loop of which each step reads a row of an array, and that alone."""
    if node.op.lowering is not lowering.SCAN:
        return False
    loop = Loop.of(node)
    others = (*[c.given for c in loop.constants], *[c.first for c in loop.carries])
    return all(a is not var for a in others)


class Tapes:
    """The carries of a loop that live in tapes, by their numbers."""

    def __init__(self, whole: Whole, loop: Loop) -> None:
        self.reverse, self.length = bool(loop.param("reverse")), loop.param("length")
        self.first: dict[int, Storage] = {}
        """Where they begin."""
        for k, r in _kept(loop):
            where = whole.emitter.storage[loop.results[r].stacked]
            if where.spare:
                row = self.length if self.reverse else 0
                self.first[k] = Storage(where.buffer, where.shape[1:], (row,))

    def before(self, places: Sequence[Storage], step: Int) -> list[Storage]:
        """Those places, with the rows that a step reads in place of tapes."""
        return self._in_row(places, step + 1 if self.reverse else step)

    def after(self, places: Sequence[Storage], step: Int) -> list[Storage]:
        """The same with the rows that it writes."""
        return self._in_row(places, step if self.reverse else step + 1)

    def ended(self, places: Sequence[Storage]) -> list[Storage]:
        """The same with the rows that the last step writes."""
        return self._in_row(places, 0 if self.reverse else self.length)

    def _in_row(self, places: Sequence[Storage], row: Int) -> list[Storage]:
        return [replace(p, prefix=(row,)) if k in self.first else p for k, p in enumerate(places)]


__all__ = ["Tapes", "make_room"]
