"""Constant arrays that a formula says shorter: `np.arange(n)` made while tracing becomes `iota`,
`np.ones(n)` one repeated number."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.graph import Graph, Literal, Node, Var
from ..ir.op import Op
from ..ops.arrays.creation import iota_op
from ..ops.arrays.shape import broadcast_to_op, reshape_op

SHORTEST = 2
"""Constants of fewer elements stay as they are."""


def fold_constants(graph: Graph, captures: list[Any]) -> tuple[Graph, list[Any]]:
    """The graph with formulas for those captured arrays that have one, and the captures that are
    left.

    Only an array that nobody else holds is a constant; any other may be written to later, and is
    read again at every call.
    """
    declared = len(graph.inputs) - len(captures)
    inputs, kept = list(graph.inputs[:declared]), []
    nodes: list[Node] = []
    alone = _references([np.empty(0)[:]])
    for k, var in enumerate(graph.inputs[declared:]):
        constant = isinstance(captures[k], np.ndarray) and all(
            n <= m for n, m in zip(_references(captures, k), alone, strict=True)
        )
        made = _formula(captures[k], var) if constant else None
        if made is None:
            inputs.append(var)
            kept.append(captures[k])
        else:
            nodes.extend(made)
    if not nodes:
        return graph, captures
    return graph.replace(inputs=tuple(inputs), nodes=(*nodes, *graph.nodes)), kept


def _references(values: Sequence[Any], k: int = 0) -> tuple[int, int]:
    """How many references there are to an element of a list, and to the array that it is a view of;
    only to be compared with each other."""
    own = sys.getrefcount(values[k])
    return own, 0 if values[k].base is None else sys.getrefcount(values[k].base)


def _formula(x: np.ndarray[Any, Any], var: Var) -> list[Node] | None:
    """Nodes that compute the constant `x` as `var`, if it is one number everywhere or counts from 0
    along one axis."""
    if x.size < SHORTEST or x.dtype.kind not in "biufc":
        return None
    first = x.flat[0]
    # By their bytes, so that -0.0 is not 0.0.
    if x.tobytes() == first.tobytes() * x.size:
        return [_node(broadcast_to_op, (Literal(first),), {"shape": x.shape}, var)]
    if (
        x.dtype.kind not in "iuf"
        or max(x.shape) != x.size
        or first != 0
        or not np.array_equal(x.ravel(), np.arange(x.size))
    ):
        return None
    params = {"size": x.size, "dtype": x.dtype}
    if x.ndim == 1:
        return [_node(iota_op, (), params, var)]
    flat = Var(iota_op.infer(**params)[0])
    return [_node(iota_op, (), params, flat), _node(reshape_op, (flat,), {"shape": x.shape}, var)]


def _node(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], out: Var) -> Node:
    return Node(op, inputs, params, (out,))
