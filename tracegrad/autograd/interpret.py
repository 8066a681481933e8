"""What an operation on boxed values does: tangents first, then the tape, then the data (evaluated or traced)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import is_differentiable
from ..ir.dispatch import STATE, Value, call_evaluate
from ..ir.graph import Var
from ..ir.op import Op
from ..ir.trace import left_over
from .mode import MODE
from .tape import record, resave


def interpret(op: Op, inputs: Sequence[Any], params: dict[str, Any], face: Any) -> Any:
    """Apply `op` to operands of which at least one is boxed; results get the class `face`."""
    level = 0
    recorded = False
    for x in inputs:
        if isinstance(x, Value):
            if x._base is not None:  # type: ignore[attr-defined]
                x._refresh()  # type: ignore[attr-defined]
            if x._tangents and STATE.levels:  # type: ignore[attr-defined]
                level = max(level, *[k if k in STATE.levels else 0 for k in x._tangents])  # type: ignore[attr-defined]
            recorded = recorded or x.requires_grad  # type: ignore[attr-defined]
    if level:
        return _dual(op, inputs, params, level)
    outs: Sequence[Any]
    if STATE.traces:
        outs = STATE.traces[-1].emit(op, inputs, params)
    else:
        data = [x._data if isinstance(x, Value) else x for x in inputs]
        for x in data:
            if type(x) is Var:
                raise left_over(x)
        result = call_evaluate(op, data, params)
        outs = (result,) if op.outputs == 1 else result
    node = record(op, inputs, params, outs) if recorded and MODE.enabled else None
    boxed = [
        face._make(o, node if node is not None and is_differentiable(o.type.dtype if isinstance(o, Var) else o.dtype) else None, k)
        for k, o in enumerate(outs)
    ]
    if node is not None and node.saved and face.boxes_everything and any(s.box is None for s in node.saved.values()):
        node.counters = [b._version_counter for b in boxed]
    return boxed[0] if op.outputs == 1 else tuple(boxed)


def _dual(op: Op, inputs: Sequence[Any], params: dict[str, Any], level: int) -> Any:
    """Forward mode at one level: the primal result below it, and its tangent by the operation's JVP rule."""
    from_level = [x._tangents.get(level) if isinstance(x, Value) and x._tangents else None for x in inputs]  # type: ignore[attr-defined]
    primals = [x._without(level) if t is not None else x for x, t in zip(inputs, from_level, strict=True)]
    result = primals[0]._bind(op, primals, params) if isinstance(primals[0], Value) else _rebind(op, primals, params)
    outs = (result,) if op.outputs == 1 else tuple(result)
    if op.jvp is None:
        return result
    tangents = op.jvp(from_level, primals, outs, **params)
    face = next(type(x) for x in inputs if isinstance(x, Value))
    dual = [o if t is None else face._dual(o, t, level) for o, t in zip(outs, tangents, strict=True)]  # type: ignore[attr-defined]
    node = next((o.grad_fn for o in outs if isinstance(o, Value) and o.grad_fn is not None), None)  # type: ignore[attr-defined]
    if node is not None and node.op is op and node.saved is not None:
        # A reverse sweep at a deeper level must see the tangents too: what the node reads is replaced by the dual values.
        resave(node, inputs, dual)
    return dual[0] if op.outputs == 1 else tuple(dual)


def _rebind(op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
    boxed = next(x for x in inputs if isinstance(x, Value))
    return boxed._bind(op, inputs, params)
