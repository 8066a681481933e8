"""`sized(n, ...)`: a graph over a size that is computed, not read off an array: the steps that a
loop took.

Inside the graph the size is an ordinary symbol, and arrays have it as an axis; no result does. That
is what makes the derivative of a loop with an unknown number of steps the derivative of a loop with
a known one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._codegen import lowering
from ..errors import ShapeError
from ..ir.dispatch import bind
from ..ir.evaluate import evaluate
from ..ir.forms import about
from ..ir.graph import Graph
from ..ir.op import Types, op
from ..transforms.derive import Adjoined, adjoints, batched, captures_of, tangent
from ..transforms.sizes import with_sizes
from ..types import COUNT, Int
from .region import aligned, one_by_one, strong
from .running import natively, work, worth
from .scan_rules import scan_op

# Inputs of the operation: the size (an integer), then the inputs of the graph. Where it is known
# how large the size is at `most`, what the graph's adjoint needs of each step can be kept for it.


def sized(count: Any, operands: Sequence[Any], graph: Graph, symbol: str, most: Int | None) -> Any:
    """The results of a graph over a size that is `count`, and at most `most` where that is said."""
    params = {"graph": graph, "symbol": symbol}
    return bind(sized_op, [count, *operands], params if most is None else {**params, "most": most})


def _infer(count: Any, *operands: Any, graph: Graph, symbol: str, most: Int | None = None) -> Types:
    if count.type.shape != () or count.type.dtype.kind not in "iu":
        raise ShapeError(f"sized: the size is one integer, not {count.type}")
    return graph.output_types


def _evaluate(
    count: Any, *operands: Any, graph: Graph, symbol: str, most: Int | None = None
) -> tuple[Any, ...]:
    known = with_sizes(graph, {symbol: int(count)})
    if worth(work(known), operands):
        return natively(sized_op, (count, *operands), {"graph": graph, "symbol": symbol})
    return tuple(evaluate(known, operands))


def _vjp(
    cts: Any,
    inputs: Any,
    outs: Any,
    wanted: Any,
    *,
    graph: Graph,
    symbol: str,
    most: Int | None = None,
) -> list[Any]:
    known = about(inputs[1:], sizes={symbol: inputs[0]})
    adjoined = adjoints([graph], wanted[1:], [ct is not None for ct in cts], known)
    return [None, *reversed_by(adjoined, inputs[0], inputs[1:], outs, cts, symbol, most)]


def reversed_by(
    adjoined: Adjoined,
    count: Any,
    operands: Sequence[Any],
    outs: Sequence[Any],
    cts: Sequence[Any],
    symbol: str,
    most: Int | None,
) -> list[Any]:
    """The cotangents of the operands of a graph over a size, by its adjoint."""
    (derived,) = adjoined.graphs
    if not derived.outputs:
        return adjoined.spread(())
    given = [*operands, *[outs[k] for k in adjoined.results]]
    given += [*[ct for ct in cts if ct is not None], *captures_of(derived, "a loop")]
    return adjoined.spread(sized(count, given, derived, symbol, most))


def _jvp(
    tangents: Any,
    inputs: Any,
    outs: Any,
    *,
    graph: Graph,
    symbol: str,
    most: Int | None = None,
) -> list[Any]:
    derived = tangent(graph, [t is not None for t in tangents[1:]])
    given = [*inputs[1:], *[t for t in tangents[1:] if t is not None], *captures_of(derived)]
    return list(sized(inputs[0], given, derived, symbol, most))


def _batch(
    values: Any, axes: Any, size: Any, *, graph: Graph, symbol: str, most: Int | None = None
) -> Any:
    if axes[0] is not None:
        params = {"graph": graph, "symbol": symbol}
        params |= {} if most is None else {"most": most}
        return one_by_one(sized_op, scan_op, values, axes, size, params, graph)
    derived = aligned(
        *batched(graph, axes[1:], size), size, graph, [strong(v) for v in values[1:]], graph.name
    )
    return list(sized(values[0], values[1:], derived, symbol, most)), [0] * len(graph.outputs)


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
__all__ = ["sized", "sized_op", "unused_symbol"]
