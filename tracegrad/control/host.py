"""`host(rule)`: a step that Python does on arrays, with derivatives that are such steps again.

Eagerly it is a node of the tape. A compiled function that has one runs in parts: native code up to
it, the step, native code behind it (`runtime/parts.py`). A loop or a branch with such a step inside
is itself a step that Python does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .._codegen import lowering
from ..ir.graph import Graph, Node
from ..ir.op import Rest, Types, op
from ..types import ArrayType


class HostRule(Protocol):
    """What a step is: its value, the types of its results, its derivatives and its batch. The rules
    are called as those of operations are (`ir/op.py`)."""

    def run(self, arrays: Sequence[Any]) -> Sequence[np.ndarray[Any, Any]]:
        """The results on plain arrays."""

    def types(self, operands: Sequence[ArrayType]) -> Types:
        """Their types."""

    def staged(
        self, arrays: Sequence[Any], wanted: Sequence[bool]
    ) -> tuple[Sequence[np.ndarray[Any, Any]], Rest]:
        """The results, and how to get from their cotangents to those of the wanted operands."""

    def gives(self, other: Any) -> bool:
        """Whether its first results are those of the other step on the same operands."""

    def vjp(self, cts: Any, inputs: Any, outs: Any, wanted: Sequence[bool]) -> list[Any]:
        """Cotangents of the wanted operands."""

    def jvp(self, tangents: Any, inputs: Any, outs: Any) -> list[Any]:
        """Tangents of the results."""

    def batch(self, values: Any, axes: Sequence[int | None], size: Any) -> tuple[list[Any], Any]:
        """The step over one more axis."""


def _types(*operands: Any, rule: HostRule) -> Types:
    return rule.types([x.type for x in operands])


def _vjp(cts: Any, inputs: Any, outs: Any, wanted: Any, *, rule: HostRule) -> list[Any]:
    return rule.vjp(cts, inputs, outs, wanted)


def _jvp(tangents: Any, inputs: Any, outs: Any, *, rule: HostRule) -> list[Any]:
    return rule.jvp(tangents, inputs, outs)


def _batch(values: Any, axes: Any, size: Any, *, rule: HostRule) -> Any:
    return rule.batch(values, axes, size)


def by_python(node: Node) -> bool:
    """Whether a node is such a step, or holds one."""
    return node.op is host_op or any(map(has_steps, node.subgraphs()))


def has_steps(graph: Graph) -> bool:
    """Whether such a step is in a graph, or in one that it holds."""
    found = graph.derived.get("has_steps")
    if found is None:
        found = graph.derived["has_steps"] = any(map(by_python, graph.nodes))
    return bool(found)


host_op = op(
    "host",
    ["operands"],
    evaluate=lambda *arrays, rule: tuple(rule.run(arrays)),
    infer=_types,
    vjp=_vjp,
    jvp=_jvp,
    batch=_batch,
    staged=lambda arrays, wanted, *, rule: rule.staged(arrays, wanted),
    variadic=True,
    outputs=0,
    lowering=lowering.HOST,
    doc="What Python computes of arrays, in its turn.",
)

OPS = (host_op,)
__all__ = ["HostRule", "by_python", "has_steps", "host_op"]
