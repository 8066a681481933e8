"""`sized(n, ...)`: a graph over a size that is computed, not read off an array: the steps that a
loop took.

Inside the graph the size is an ordinary symbol, and arrays have it as an axis; no result does. That
is what makes the derivative of a loop with an unknown number of steps the derivative of a loop with
a known one.
"""

from __future__ import annotations

from typing import Any

from .._codegen import lowering
from ..errors import ShapeError
from ..ir.dispatch import bind
from ..ir.evaluate import evaluate
from ..ir.graph import Graph
from ..ir.op import Types, op
from ..transforms.derive import adjoint, batched, captures_of, tangent
from ..transforms.sizes import with_sizes
from ..types import COUNT
from .region import aligned, one_by_one, strong
from .running import natively, work, worth
from .scan_rules import scan_op

# Inputs of the operation: the size (an integer), then the inputs of the graph.


def _infer(count: Any, *operands: Any, graph: Graph, symbol: str) -> Types:
    if count.type.shape != () or count.type.dtype.kind not in "iu":
        raise ShapeError(f"sized: the size is one integer, not {count.type}")
    return graph.output_types


def _evaluate(count: Any, *operands: Any, graph: Graph, symbol: str) -> tuple[Any, ...]:
    known = with_sizes(graph, {symbol: int(count)})
    if worth(work(known), operands):
        return natively(sized_op, (count, *operands), {"graph": graph, "symbol": symbol})
    return tuple(evaluate(known, operands))


def _vjp(cts: Any, inputs: Any, outs: Any, wanted: Any, *, graph: Graph, symbol: str) -> list[Any]:
    derived = adjoint(graph, wanted[1:], [ct is not None for ct in cts])
    given = [*inputs, *[ct for ct in cts if ct is not None], *captures_of(derived)]
    found = iter(bind(sized_op, given, {"graph": derived, "symbol": symbol}))
    return [None, *[next(found) if w else None for w in wanted[1:]]]


def _jvp(tangents: Any, inputs: Any, outs: Any, *, graph: Graph, symbol: str) -> list[Any]:
    derived = tangent(graph, [t is not None for t in tangents[1:]])
    given = [*inputs, *[t for t in tangents[1:] if t is not None], *captures_of(derived)]
    return list(bind(sized_op, given, {"graph": derived, "symbol": symbol}))


def _batch(values: Any, axes: Any, size: Any, *, graph: Graph, symbol: str) -> Any:
    if axes[0] is not None:
        return one_by_one(
            sized_op, scan_op, values, axes, size, {"graph": graph, "symbol": symbol}, graph
        )
    derived = aligned(
        *batched(graph, axes[1:], size), size, graph, [strong(v) for v in values[1:]], graph.name
    )
    return list(bind(sized_op, values, {"graph": derived, "symbol": symbol})), [0] * len(
        graph.outputs
    )


sized_op = op(
    "sized",
    ["inputs"],
    evaluate=_evaluate,
    infer=_infer,
    vjp=_vjp,
    jvp=_jvp,
    batch=_batch,
    lowering=lowering.SIZED,
    variadic=True,
    outputs=0,
    doc="A graph over a size that is computed.",
)


def unused_symbol(*graphs: Graph) -> str:
    """A name for a size that nothing inside these graphs has, or gets when it is differentiated."""
    return f"{COUNT}{max(map(_depth, graphs)) + 1}"


def _depth(graph: Graph) -> int:
    deepest = 0
    for node in graph.nodes:
        inner = max(map(_depth, node.subgraphs()), default=0)
        own = int(node.params["symbol"].removeprefix(COUNT)) if node.op is sized_op else 0
        deepest = max(deepest, own, inner + (node.op.lowering is lowering.WHILE))
    return deepest


OPS = (sized_op,)
__all__ = ["sized_op", "unused_symbol"]
