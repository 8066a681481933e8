"""`checkpoint(graph)`: a call of which the adjoint keeps the inputs alone, and computes the rest
again.

Compiled, the call itself is no more than its operations. Its adjoint is one `recompute(graph)` of
the same inputs and the cotangents: a graph of its own to the very end, so that what it computes
again is never found equal to what was computed before, and is dead when it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._codegen import lowering
from ..errors import ShapeError
from ..ir.dispatch import bind
from ..ir.evaluate import evaluate
from ..ir.graph import Graph
from ..ir.op import Op, Types, op
from ..sizes import same_shape
from ..transforms.derive import adjoint, batched, captures_of, tangent


def _infer(*inputs: Any, graph: Graph) -> Types:
    found, expected = [x.type.shape for x in inputs], [t.shape for t in graph.input_types]
    if len(found) != len(expected) or not all(map(same_shape, found, expected)):
        raise ShapeError(
            f"{graph.name} was traced for shapes {expected}, it is called with {found}"
        )
    return graph.output_types


def _vjp(cts: Any, inputs: Any, outs: Any, wanted: Any, *, graph: Graph) -> list[Any]:
    derived = adjoint(graph, wanted, [ct is not None for ct in cts])
    given = [*inputs, *[ct for ct in cts if ct is not None], *captures_of(derived)]
    found = iter(bind(recompute_op, given, {"graph": derived}))
    return [next(found) if w else None for w in wanted]


def _block(name: str, rule: lowering.Region | None, doc: str) -> Op:
    def jvp(tangents: Any, inputs: Any, outs: Any, *, graph: Graph) -> list[Any]:
        derived = tangent(graph, [t is not None for t in tangents])
        given = [*inputs, *[t for t in tangents if t is not None], *captures_of(derived)]
        return list(bind(made, given, {"graph": derived}))

    def batch(values: Any, axes: Any, size: Any, *, graph: Graph) -> Any:
        derived, out_axes = batched(graph, axes, size)
        return list(bind(made, [*values, *captures_of(derived)], {"graph": derived})), list(
            out_axes
        )

    made = op(
        name,
        ["inputs"],
        evaluate=lambda *arrays, graph: tuple(evaluate(graph, arrays)),
        infer=_infer,
        vjp=_vjp,
        jvp=jvp,
        batch=batch,
        lowering=rule,
        inlined=rule is None,
        variadic=True,
        outputs=0,
        doc=doc,
    )
    return made


checkpoint_op = _block(
    "checkpoint", None, "Apply a graph; the derivative computes again what it needs."
)
recompute_op = _block(
    "recompute", lowering.BLOCK, "Apply a graph that shares no work with what is around it."
)


def checkpointed(graph: Graph, operands: Sequence[Any]) -> Any:
    """The results of a graph, of which nothing is kept for the adjoint but the operands."""
    return bind(checkpoint_op, operands, {"graph": graph})


OPS = (checkpoint_op, recompute_op)
__all__ = ["checkpointed"]
