"""Sparse derivatives inside of traced and differentiated functions: the values are operations of
the open trace, at places that are found while it is traced.

The function is traced as a region, so that what it reads around it, traced values too, becomes
operands. Of these the plain arrays decide where entries are, as anywhere else; the trace keeps the
places as constants, and with constants in it a compiled function compares all arrays that it reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..control.region import TracedRegion, region
from ..ir.dispatch import STATE
from ..ir.evaluate import evaluate
from ..ir.graph import Graph, Var
from ..ops import reshape, take
from ..ops.sparse.operand import SparseArray
from ..ops.sparse.pattern import SparseFormat, layout
from ..sizes import pinned
from ..tensor import Boxed
from ..transforms.tracing import leaf_type
from ..tree import flatten, unflatten
from ..types import ArrayType
from .methods import make_plan
from .plan import SparsePlan, Wish
from .rules import size
from .structure import SparseStructure, order_of


def is_inside(leaves: Sequence[Any]) -> bool:
    """Whether an argument is traced, or has derivatives to pass on."""
    return any(
        isinstance(x, Boxed) and (isinstance(x._data, Var) or x._on_tape() or bool(x._tangents))
        for x in leaves
    )


@dataclass(frozen=True, eq=False)
class Inside:
    """The matrix of derivatives of a graph by some of its inputs."""

    plan: SparsePlan

    def data(self, operands: Sequence[Any]) -> Any:
        """The values for these inputs, as a vector."""
        found = evaluate(self.plan.graph, [*operands, *self.plan.constants])[0]
        return found[: len(self.plan.structure)]


def matrix_inside(
    graph: Graph, wanted: Sequence[int], operands: Sequence[Any], captured: int, wish: Wish
) -> Inside:
    """The matrix of a graph whose operands from number `captured` on are what it reads around it;
    operands that are traced say nothing of where entries are."""
    known = [None if isinstance(x, Boxed) else x for x in operands]
    plan = make_plan(graph, wanted, known, captured, wish)
    for trace in STATE.traces:
        trace.deciding += [operands[k] for k in plan.fixed]
    return Inside(plan)


def pinned_type(kind: ArrayType) -> ArrayType:
    """A type whose sizes are numbers, as places of entries are."""
    return ArrayType(kind.dtype, tuple([pinned(n) for n in kind.shape]), kind.weak)


def traced(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], who: str
) -> tuple[TracedRegion, list[Any]]:
    """A function as a region for these arguments, and all operands of its graph."""
    leaves = flatten((args, kwargs))[0]
    types = [pinned_type(leaf_type(x)) for x in leaves]
    found = region(lambda a, k: function(*a, **k), (args, kwargs), types, who, who)
    return found, [*leaves, *found.captures]


def format_of(structure: SparseStructure, format: str) -> SparseFormat:
    """The layout of the values of a structure."""
    s = structure
    count: tuple[int, ...] = (len(s),)
    if format == "coo":
        return layout("coo", False, s.shape, count, s.rows, s.columns)
    if format == "bsr":
        count = (len(s.minor), *s.block)
    return layout(format, False, s.shape, count, s.minor, s.starts)


def sparse_array(structure: SparseStructure, data: Any, format: str) -> SparseArray:
    """The sparse array of a vector of values."""
    laid = format_of(structure, format)
    return SparseArray(reshape(data, laid.of_data), laid)


def blocks_inside(
    structure: SparseStructure,
    data: Any,
    format: str,
    graph: Graph,
    wanted: Sequence[int],
    out_spec: Any,
    tree: Callable[[Sequence[Any]], Any],
) -> Any:
    """The matrix, or the tree of its blocks, results outside."""
    heights = [size(a.type.shape) for a in graph.outputs]
    widths = [size(graph.inputs[k].type.shape) for k in wanted]
    if len(heights) == len(widths) == 1:
        return unflatten(out_spec, [tree([sparse_array(structure, data, format)])])
    bottoms, rights = np.cumsum([0, *heights]), np.cumsum([0, *widths])
    rows = []
    for a, b in itertools.pairwise(bottoms):
        blocks = []
        for c, d in itertools.pairwise(rights):
            s = structure
            there = (s.rows >= a) & (s.rows < b) & (s.columns >= c) & (s.columns < d)
            at = np.flatnonzero(there)
            inner = s.rows[at] - a, s.columns[at] - c
            sorting = order_of(s.order, (int(b - a), int(d - c)), *inner)
            order = np.argsort(sorting.keys(*inner), kind="stable")
            part = sorting.at(*[k[order] for k in inner])
            blocks.append(sparse_array(part, take(data, at[order]), format))
        rows.append(tree(blocks))
    return unflatten(out_spec, rows)


__all__ = ["Inside", "blocks_inside", "is_inside", "matrix_inside", "traced"]
