"""The pattern of a Jacobian: index sets from a graph's inputs to its outputs, through loops and
branches.

A pattern holds for all values of the inputs: no entry is left out because a number happens to be
zero. Constants of the trace, as index arrays and matrices that the function reads around it, are
used with their values; which of them is noted, so that who keeps a pattern can see whether it still
holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._codegen import lowering
from ..control.block import checkpoint_op, recompute_op
from ..control.call import call_op
from ..dtypes import is_differentiable
from ..ir.graph import Graph, Literal, Node
from ..ir.loops import Loop
from .drawn import to_svg
from .index_sets import NONE, Sets, joined, union
from .rules import (
    BY_ZEROS,
    DECIDING,
    OWN,
    Arriving,
    dense,
    first_sets,
    grouped,
    numbers_of,
    shape_of,
    size,
    through,
)

MOST_STEPS = 128
"""Loops of at most so many steps are followed step by step."""


@dataclass
class Walk:
    """One propagation: how many input elements and entries there are, and which of the constants
    were looked at."""

    width: int
    limit: int
    sure: bool = False
    """Whether results of which more would be assumed than is known are left out."""
    read: set[int] = field(default_factory=set)
    """The numbers of the constants whose values decided something."""
    by: dict[int, frozenset[int]] = field(default_factory=dict)
    """From which constants a known value was computed, by its id."""
    dense_at: dict[str, None] = field(default_factory=dict)
    """The operations whose results were taken to depend on all of their operands, with lines."""
    kept: list[Any] = field(default_factory=list)
    """The known values themselves, whose ids must not be used again."""

    def note(self, value: np.ndarray, sources: frozenset[int]) -> np.ndarray:
        """A known value, and where it comes from."""
        if sources:
            self.kept.append(value)
            self.by[id(value)] = self.by.get(id(value), frozenset()) | sources
        return value

    def sources(self, values: Sequence[Any]) -> frozenset[int]:
        return frozenset().union(*[self.by.get(id(v), frozenset()) for v in values])

    def graph(
        self,
        graph: Graph,
        sets: Sequence[Sets | None],
        known: Sequence[np.ndarray | None],
    ) -> tuple[list[Sets | None], list[np.ndarray | None]]:
        """The sets of a graph's outputs, and their values where these are constants."""
        env: dict[Any, Sets | None] = dict(zip(graph.inputs, sets, strict=True))
        values: dict[Any, np.ndarray | None] = dict(zip(graph.inputs, known, strict=True))

        def value(a: Any) -> np.ndarray | None:
            return np.asarray(a.value) if isinstance(a, Literal) else values.get(a)

        for node in graph.nodes:
            mine = [None if isinstance(a, Literal) else env[a] for a in node.inputs]
            operands = [value(a) for a in node.inputs]
            found, made = self.node(node, mine, operands)
            for v, s, k in zip(node.outputs, found, made, strict=True):
                env[v], values[v] = s, k
        outs = [None if isinstance(a, Literal) else env[a] for a in graph.outputs]
        return outs, [value(a) for a in graph.outputs]

    def node(
        self, node: Node, sets: Sequence[Sets | None], known: Sequence[np.ndarray | None]
    ) -> tuple[list[Sets | None], list[np.ndarray | None]]:
        """The same for one node."""
        nothing: list[np.ndarray | None] = [None] * len(node.outputs)
        kind = node.op.lowering
        if isinstance(kind, lowering.Region) or any(node.subgraphs()):
            return self.region(node, sets, known)
        if all(s is None for s in sets):
            return [None] * len(node.outputs), self.evaluated(node, known)
        given = Arriving(node, sets, known, self.limit, self.width, [])
        if not isinstance(kind, lowering.Pointwise) or node.op in OWN:
            deciding = [
                k
                for k in known[DECIDING.get(node.op, 0) :]
                if k is not None and (node.op not in BY_ZEROS or not k.all())
            ]
            self.read |= self.sources(deciding)
        found = through(given)
        more = given.assumed and any(s is not None for s in found)
        return self.assumed(node, found) if more else found, nothing

    def assumed(self, node: Node, found: list[Sets | None]) -> list[Sets | None]:
        """The results of a node of which more was assumed than is known."""
        self.dense_at[f"{node.op.name} at {node.where or 'an unknown line'}"] = None
        return [None] * len(found) if self.sure else found

    def evaluated(self, node: Node, known: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
        """The values of a node's results where all operands are constants."""
        if any(k is None for k in known) or node.op.effects or any(node.subgraphs()):
            return [None] * len(node.outputs)
        operands = [
            a.value if isinstance(a, Literal) else k
            for a, k in zip(node.inputs, known, strict=True)
        ]
        with np.errstate(all="ignore"):
            found = node.op.evaluate(*operands, **node.params)
        results = [found] if node.op.outputs == 1 else list(found)
        sources = self.sources(known)
        return [
            self.note(np.asarray(x).astype(v.type.dtype, copy=False), sources)
            for x, v in zip(results, node.outputs, strict=True)
        ]

    # --- regions ----------------------------------------------------------------------------------

    def region(
        self, node: Node, sets: Sequence[Sets | None], known: Sequence[np.ndarray | None]
    ) -> tuple[list[Sets | None], list[np.ndarray | None]]:
        """Of nodes that hold graphs: calls, branches and loops; all others are dense."""
        nothing: list[np.ndarray | None] = [None] * len(node.outputs)
        kind = node.op.lowering
        if node.op in TRANSPARENT:
            return self.graph(node.params["graph"], sets, known)
        if all(s is None for s in sets):
            return [None] * len(node.outputs), nothing
        if kind is lowering.SWITCH:
            return self.branches(node, sets, known), nothing
        if kind is lowering.SCAN:
            return self.scan(node, sets, known), nothing
        if kind is lowering.WHILE:
            return self.repeated(node, sets, known), nothing
        found = dense(Arriving(node, sets, known, self.limit, self.width, []))
        return self.assumed(node, found), nothing

    def branches(
        self, node: Node, sets: Sequence[Sets | None], known: Sequence[np.ndarray | None]
    ) -> list[Sets | None]:
        """Of one of several graphs: what any of them gives."""
        found = [self.graph(b, sets[1:], known[1:])[0] for b in node.params["branches"]]
        return [union(parts, self.limit) for parts in zip(*found, strict=True)]

    def scan(
        self, node: Node, sets: Sequence[Sets | None], known: Sequence[np.ndarray | None]
    ) -> list[Sets | None]:
        """A loop over slices: step by step where these are few, else until nothing is added."""
        loop = Loop.of(node)
        n, c = len(loop.constants), len(loop.carries)
        length = int(loop.param("length"))
        if length > MOST_STEPS:
            return self.repeated(node, sets, known)
        carries, values = list(sets[n : n + c]), list(known[n : n + c])
        steps = range(length)[:: -1 if loop.param("reverse") else 1]
        results: dict[int, list[Sets | None]] = {}
        for k in steps:
            slices = [
                _step(s, k, x.stacked) for s, x in zip(sets[n + c :], loop.slices, strict=True)
            ]
            parts = [
                None if v is None else self.note(v[k], self.sources([v])) for v in known[n + c :]
            ]
            found, made = self.graph(
                loop.body,
                [*sets[:n], *carries, None, *slices],
                [*known[:n], *values, np.asarray(k), *parts],
            )
            carries, values, results[k] = found[:c], made[:c], found[c:]
        stacked = [
            joined(
                [results[k][j] for k in range(length)],
                [size(r.inside.type.shape)] * length,
                self.width,
            )
            if length
            else None
            for j, r in enumerate(loop.results)
        ]
        return [*carries, *stacked]

    def repeated(
        self, node: Node, sets: Sequence[Sets | None], known: Sequence[np.ndarray | None]
    ) -> list[Sets | None]:
        """A loop of any number of steps: what is handed on grows until nothing is added, and every
        step sees what any step could see. Where nothing was added and no steps differ, that is all
        that is known."""
        loop = Loop.of(node)
        n, c = len(loop.constants), len(loop.carries)
        carries = list(sets[n : n + c])
        slices = [
            None if s is None else _any_step(s, x.stacked, self.limit)
            for s, x in zip(sets[n + c :], loop.slices, strict=True)
        ]
        numbered = [None] if loop.number is not None else []
        unknown = [None] * (c + len(numbered) + len(slices))
        grown = any(s is not None for s in slices)
        while True:
            found, _ = self.graph(
                loop.body, [*sets[:n], *carries, *numbered, *slices], [*known[:n], *unknown]
            )
            after = [union([a, b], self.limit) for a, b in zip(carries, found[:c], strict=True)]
            if all(_same(a, b, self.limit) for a, b in zip(carries, after, strict=True)):
                break
            carries, grown = after, True
        stacked = [
            None
            if s is None
            else s.take(np.broadcast_to(numbers_of(r.inside.type.shape), shape_of(r.stacked)))
            for s, r in zip(found[c:], loop.results, strict=True)
        ]
        counted = [None] if loop.count is not None else []
        every = [*carries, *stacked, *counted]
        return self.assumed(node, every) if grown else every


TRANSPARENT = (call_op, checkpoint_op, recompute_op)
"""Nodes that are no more than their graphs."""


def _step(found: Sets | None, k: int, stacked: Any) -> Sets | None:
    """The sets of one slice."""
    if found is None:
        return None
    return found.take(numbers_of(stacked.type.shape)[k])


def _any_step(found: Sets, stacked: Any, limit: int) -> Sets | None:
    """For each element of a slice the union over all steps."""
    numbers = numbers_of(stacked.type.shape)
    if not numbers.size:
        return None
    return found.combined(grouped(numbers.reshape(len(numbers), -1).T.copy(), len(found)), limit)


def _same(a: Sets | None, b: Sets | None, limit: int) -> bool:
    if a is b or a is None or b is None:
        return a is b
    x, y = a.rows(limit), b.rows(limit)
    return bool(x.nnz == y.nnz and np.array_equal(x.indices, y.indices))


def pattern(
    graph: Graph, wanted: Sequence[int], values: Sequence[Any], limit: int, sure: bool = False
) -> tuple[Any, frozenset[int], tuple[str, ...]]:
    """The pattern of all results one behind the other (rows) by the inputs with the numbers
    `wanted` one behind the other (columns), as a boolean CSR array; which inputs' values it was
    made for; and where more was assumed than is known, which is left out where all has to be
    `sure`. `values` are those of inputs that are constants, None of others."""
    counts = [size(graph.inputs[k].type.shape) for k in wanted]
    width = sum(counts)
    walk = Walk(width, limit, sure)
    sets: list[Sets | None] = [None] * len(graph.inputs)
    start = 0
    for k, count in zip(wanted, counts, strict=True):
        sets[k] = first_sets(start, count, width)
        start += count
    known = [
        None if v is None else walk.note(np.array(v), frozenset([k])) for k, v in enumerate(values)
    ]
    found, _ = walk.graph(graph, sets, known)
    outs = [
        s if is_differentiable(a.type.dtype) else None
        for s, a in zip(found, graph.outputs, strict=True)
    ]
    sizes = [size(a.type.shape) for a in graph.outputs]
    every = joined(outs, sizes, width)
    if every is None:
        every = Sets(first_sets(0, 0, width).table, np.full(sum(sizes), NONE))
    rows = every.rows(limit)
    rows.sort_indices()
    return rows, frozenset(walk.read), tuple(walk.dense_at)


class Sparsity(sp.csr_array):
    """A boolean sparse array: where a derivative may have entries."""

    method = ""
    """How values are computed; see `sparse_jacobian`."""
    colours = 0
    """In how many products with vectors; 0: in none."""
    dense_at: tuple[str, ...] = ()
    """The operations of which more was assumed than is known, with their lines."""
    assumed = 0
    """How many entries are there because of these alone: at most so many are too many."""

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw it with Matplotlib, into axes or new ones; `options` are those of `Axes.spy`. The
        axes."""
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.figure().add_subplot()
        m, n = self.shape
        ax.spy(self, **{"markersize": max(0.5, min(8.0, 200 / max(m, n, 1))), **options})
        ax.set_title(self._words())
        return ax

    def _words(self) -> str:
        m, n = self.shape
        share = self.nnz / max(m * n, 1)
        how = f"{self.method}, {self.colours} colours" if self.colours else self.method
        more = (
            f", {self.assumed:,} of them assumed at {len(self.dense_at)} operations"
            if self.dense_at
            else ""
        )
        how = f", {how}" if how else ""
        return f"{m:,} x {n:,}, {self.nnz:,} entries ({share:.2%}){how}{more}"

    def __repr__(self) -> str:
        return "\n  ".join([f"<Sparsity: {self._words()}>", *self.dense_at])

    def _repr_svg_(self) -> str:
        return to_svg(self, self._words())


__all__ = ["TRANSPARENT", "Sparsity", "Walk", "pattern"]
