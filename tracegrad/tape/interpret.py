"""What an operation on boxed values does: tangents first, then the tape, then the data (evaluated
or traced)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..checks import REFUSED, explained_here
from ..devices import DeviceArray
from ..ir import upward
from ..ir.dispatch import PROFILES, STATE, Value, explained
from ..ir.graph import Var
from ..ir.op import Op, Rest
from ..ir.operands import NUMBERS, STRANGE, plain_operand
from ..ir.trace import Trace, is_left_over, left_over
from ..sizes import seen_within
from ..weak import KINDS, PYTHON, as_python, as_weak, weak
from .boxes import fresh
from .eager_text import OF_NUMBERS, fits, makes_anew, write_out
from .mode import MODE
from .saved import SAVING, Packed
from .tape import Node, record, resave
from .versions import born


def interpret(self: Any, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply `op` to operands of which at least one, `self`, is boxed; the results are Tensors where
    one operand is a Tensor."""
    if PROFILES and STATE.recorder is not None and STATE.recorder.takes():
        return STATE.recorder.applied(op, inputs, lambda: interpret(self, op, inputs, params))
    if op.eager is None and not STATE.traces and fits(op):
        object.__setattr__(op, "eager", write_out(op, partial(_in_general, op)))
    face = self.face
    recorded = dual = left = placed = numbers = False
    data: list[Any] = []
    for x in inputs:
        if isinstance(x, Value):
            box: Any = x
            if box._base is not None:
                box._refresh()
            if box._tangents is not None:
                dual = True
            if box._requires_grad:
                recorded = True
            if box.boxes_everything:
                face = box.face
            x = box._data
            kind = type(x)
            if kind is Var:
                left = True
            elif kind is DeviceArray:
                placed = True
            elif kind in KINDS:
                numbers = True
        elif type(x) not in NUMBERS and (type(x) is not np.ndarray or x.dtype.char in STRANGE):
            try:
                x = plain_operand(x)
            except REFUSED as error:
                raise explained_here(error, op.name) from error.__cause__
        data.append(x)
    if dual and STATE.traces:
        trace = STATE.traces[-1]
        inputs = [_seen_by(trace, x) for x in inputs]
        recorded = any(isinstance(x, Value) and x._requires_grad for x in inputs)
    if op.composed is not None and (left or STATE.traces):
        # Before tangents are looked at: what the nodes of the composition save must be dual, too.
        made = op.composed(*inputs, **params)
        if made is not NotImplemented:
            return made
    if dual and STATE.levels:
        level = _level(inputs)
        if level:
            return _dual(op, inputs, params, level)
    single = op.outputs == 1
    outs: Sequence[Any]
    rest = aside = None
    if STATE.traces:
        outs = STATE.traces[-1].emit(op, inputs, params)
        if STATE.traces[-1].sizes.symbolic:
            # Rules see what the traced function would.
            params = {key: seen_within(value) for key, value in params.items()}
    elif left:
        var = next(x for x in data if type(x) is Var)
        if is_left_over(var) or not var.trace.aside:
            raise left_over(var)
        aside = var.trace
        outs = aside.emit(op, inputs, params)
    else:
        try:
            if placed and (op.staged is None or op.composed is not None):
                result = upward.COMPILER.apply(op, inputs, data, params)
            elif (
                recorded
                and op.staged is not None
                and MODE.enabled
                and not (STATE.special and SAVING.pairs)
            ):
                wanted = [isinstance(x, Value) and x._requires_grad for x in inputs]
                result, rest = op.staged(data, wanted, **params)
            elif numbers:
                result = _of_numbers(op, data, params)
            else:
                result = op.evaluate(*data, **params)
        except REFUSED as error:
            better = explained(op, data, params)
            if better is None:
                raise
            raise better from error
        outs = (result,) if single else result
        if face.boxes_everything and makes_anew(op):
            outs = [np.asarray(o, order="C") if type(o) is np.ndarray else o for o in outs]
    node = record(op, inputs, params, outs) if recorded and MODE.enabled else None
    if aside is not None and node is not None:
        aside.live.update(outs)
    if not single:
        boxes = results_of(node, face, outs, rest)
        if STATE.special and face.boxes_everything:
            for made in boxes:
                born(made)
        return boxes
    made = _boxed(face, outs[0], node, 0)
    if node is not None:
        node.rest = rest
    if STATE.special and face.boxes_everything:
        born(made)
    if node is not None and node.plan.outputs:
        _watch(node, (made,))
    return self._viewed(op, inputs[0], params, made) if op.view else made


def _of_numbers(op: Op, data: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result where Python's numbers are among the operands: such a number, if they are all
    and the operation is one of Python's."""
    if op.weak and all(type(x) in KINDS or type(x) in PYTHON for x in data):
        apply = OF_NUMBERS.get(op.evaluate)
        if apply is not None:
            # Beside a complex number of Python's a float is Python's own.
            return as_weak(apply(*data))
        result = op.evaluate(*data, **params)
        return weak(result, np.asarray(result).dtype.kind)
    # What acts by element takes Python's own, of which NumPy knows that they raise no dtype.
    result = op.evaluate(*(map(as_python, data) if op.compute is not None else data), **params)
    return np.asarray(result) if type(result) in PYTHON else result


def _seen_by(trace: Trace, x: Any) -> Any:
    """An operand as a trace sees it: what is dual at a level around the trace stands there for its
    tangents."""
    if not isinstance(x, Value) or x._tangents is None or x._requires_grad or not x._on_tape():
        return x
    box: Any = x
    return x if type(box._data) is Var and box._data.trace is trace else box._captured(trace)


def _in_general(op: Op, *given: Any) -> Any:
    inputs = given[:-1]
    box: Any = next(x for x in inputs if isinstance(x, Value))
    return box._bind(op, inputs, given[-1])


def results_of(
    node: Node | None, face: Any, outs: Sequence[Any], rest: Rest | None
) -> tuple[Any, ...]:
    """Several results as boxes, and what their node remembers of how they were computed."""
    boxes = tuple([_boxed(face, o, node, k) for k, o in enumerate(outs)])
    if node is not None:
        node.rest = rest
        if node.plan.outputs:
            _watch(node, boxes)
    return boxes


def _boxed(face: Any, data: Any, node: Node | None, nr: int) -> Any:
    """A result as a box; with NumPy's face only where it may carry a derivative, now or after a
    write into it."""
    kind: Any = type(data)
    if kind is Var:
        differentiable = node is not None and data.type.dtype.kind in "fc"
    elif (
        node is None
        and not face.boxes_everything
        and kind is not DeviceArray
        and data.dtype.kind not in "fc"
    ):
        return data
    else:
        if kind is not np.ndarray and kind is not DeviceArray and kind not in KINDS:
            data = np.asarray(data)
        differentiable = node is not None and data.dtype.kind in "fc"
    box = fresh(face, data)
    if differentiable:
        box._requires_grad = True
        box._grad_fn = node
        box._output_nr = nr
    return box


def _watch(node: Node, boxes: Sequence[Any]) -> None:
    """Let a node that saved a result see when it is overwritten: a Tensor's write does not replace
    the memory."""
    if all(isinstance(b, Value) and b.boxes_everything for b in boxes):
        for box, _, nr in (node.saved or ())[len(node.plan.inputs) :]:
            if isinstance(box, Packed):
                boxes[nr]._versions = box.counter  # what a hook was given is this memory
        node.counters = [b._version_counter for b in boxes]
        for counter in node.counters:
            counter[2] = 1


def _level(inputs: Sequence[Any]) -> int:
    """The innermost open level of forward mode at which an operand has a tangent, else 0."""
    found = [
        k
        for x in inputs
        if isinstance(x, Value) and x._tangents
        for k in x._tangents
        if k in STATE.levels
    ]
    return max(found, default=0)


def _dual(op: Op, inputs: Sequence[Any], params: dict[str, Any], level: int) -> Any:
    """Forward mode at one level: the primal result below it, and its tangent by the operation's JVP
    rule."""
    from_level = [
        x._tangents.get(level) if isinstance(x, Value) and x._tangents else None for x in inputs
    ]
    primals = [
        x._without(level) if t is not None else x for x, t in zip(inputs, from_level, strict=True)
    ]
    result = (
        primals[0]._bind(op, primals, params)
        if isinstance(primals[0], Value)
        else _rebind(op, primals, params)
    )
    outs = (result,) if op.outputs == 1 else tuple(result)
    if op.jvp is None:
        return result
    if STATE.traces:
        # What the program assigns is the value, not its tangent.
        with STATE.traces[-1].without_names():
            tangents = op.jvp(from_level, primals, outs, **params)
    else:
        tangents = op.jvp(from_level, primals, outs, **params)
    face = next(x.face for x in inputs if isinstance(x, Value))
    # A cast to integers is linear by its rule, but nothing has a derivative with respect to its
    # result.
    dual = [
        o if t is None or o.dtype.kind not in "fc" else face._dual(o, t, level)
        for o, t in zip(outs, tangents, strict=True)
    ]
    node = next((o._grad_fn for o in outs if isinstance(o, Value) and o._grad_fn is not None), None)
    if node is not None and node.op is op and node.saved is not None:
        # A reverse sweep at a deeper level must see the tangents too: what the node reads is
        # replaced by the dual values.
        resave(node, inputs, dual)
    if op.view and from_level[0] is not None:
        return dual[0]._viewed(op, inputs[0], params, dual[0])
    return dual[0] if op.outputs == 1 else tuple(dual)


def _rebind(op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
    boxed = next(x for x in inputs if isinstance(x, Value))
    return boxed._bind(op, inputs, params)
