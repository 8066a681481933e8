"""`call(graph)`: a traced function as one operation, with derivatives that are calls of derived
graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..devices import DeviceArray
from ..dtypes import is_differentiable
from ..errors import ShapeError
from ..ir import upward
from ..ir.dispatch import bind, data_of
from ..ir.graph import Graph, Var
from ..ir.op import Rest, Types, op
from ..ops.totals.statistics import no_grad_op
from ..sizes import same_shape
from ..tape.hooks import boxed
from ..tape.mode import MODE
from ..tape.tape import Node, Plan
from ..tensor import Array, Boxed, Tensor
from ..transforms.derive import adjoint, batched, captures_of, joint, tangent
from ..transforms.partition import partition


def _infer(*inputs: Any, graph: Graph) -> Types:
    found, expected = [x.type.shape for x in inputs], [t.shape for t in graph.input_types]
    if len(found) != len(expected) or not all(map(same_shape, found, expected)):
        raise ShapeError(
            f"{graph.name} was traced for shapes {expected}, it is called with {found}"
        )
    return graph.output_types


def _vjp(cts: Any, inputs: Any, outs: Any, wanted: Any, *, graph: Graph) -> list[Any]:
    given = [ct is not None for ct in cts]
    derived = adjoint(graph, wanted, given)
    found = iter(
        bind(
            call_op,
            [*inputs, *[ct for ct in cts if ct is not None], *captures_of(derived)],
            {"graph": derived},
        )
    )
    return [next(found) if w else None for w in wanted]


def _jvp(tangents: Any, inputs: Any, outs: Any, *, graph: Graph) -> list[Any]:
    given = [t is not None for t in tangents]
    derived = tangent(graph, given)
    return list(
        bind(
            call_op,
            [*inputs, *[t for t in tangents if t is not None], *captures_of(derived)],
            {"graph": derived},
        )
    )


def _batch(values: Any, axes: Any, size: Any, *, graph: Graph) -> Any:
    derived, out_axes = batched(graph, axes, size)
    return list(bind(call_op, [*values, *captures_of(derived)], {"graph": derived})), list(out_axes)


Staged = Callable[[Sequence[Any]], tuple[Sequence[Any], Rest]]


def forward_of(graph: Graph, wanted: Sequence[bool]) -> Graph:
    """What such a call runs at once."""
    return partition(
        graph, wanted, [is_differentiable(t.dtype) for t in graph.output_types]
    ).forward


def staged_for(graph: Graph, wanted: Sequence[bool]) -> Staged:
    """How a call is made of which the cotangents of these inputs are wanted: a function of plain
    arrays."""
    given = [is_differentiable(t.dtype) for t in graph.output_types]
    parts = partition(graph, wanted, given)
    derived = joint(graph, wanted, given)
    count = len(graph.outputs)

    def call(arrays: Sequence[Any]) -> tuple[Sequence[Any], Rest]:
        found = upward.COMPILER.run(parts.forward, arrays)
        residuals = found[count:]

        def run(cts: Sequence[Any], inputs: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
            # Of results on a device the zeros come from the host: they are constants, copied there
            # once.
            full = [
                np.zeros(o.shape, o.dtype) if ct is None else data_of(ct)
                for ct, g, o in zip(cts, given, found, strict=False)
                if g
            ]
            captured = captures_of(derived)
            made = upward.COMPILER.run(
                parts.backward,
                [*map(data_of, (*inputs, *outs)), *residuals, *full, *map(data_of, captured)],
            )
            result = iter([Array(x) if type(x) is DeviceArray else x for x in made])
            return [next(result) if w else None for w in wanted]

        return found[:count], Rest(parts.inputs, parts.outputs, run)

    return call


def _staged(
    arrays: Sequence[Any], wanted: Sequence[bool], *, graph: Graph
) -> tuple[Sequence[Any], Rest]:
    key = ("staged", tuple(wanted))
    call: Staged | None = graph.derived.get(key)
    if call is None:
        call = graph.derived[key] = staged_for(graph, wanted)
    return call(arrays)


call_op = op(
    "call",
    ["inputs"],
    inlined=True,
    evaluate=lambda *arrays, graph: tuple(upward.COMPILER.run(graph, arrays)),
    infer=_infer,
    vjp=_vjp,
    jvp=_jvp,
    batch=_batch,
    staged=_staged,
    variadic=True,
    outputs=0,
    doc="Apply a graph.",
)


def with_history(x: Any, history: str) -> Any:
    """A result that stands on the tape where the function's own would stand: nowhere, or where a
    sweep has been already."""
    if history == "live" or not isinstance(x, Boxed) or (not history and not x._requires_grad):
        return x
    if isinstance(x._data, Var) and x._requires_grad:
        x = bind(no_grad_op, [x])
    value = x._untracked()
    return spent(x._data, value) if history == "spent" and MODE.enabled else value


def spent(data: Any, value: Any = None) -> Any:
    """A result whose history a sweep inside the function has freed."""
    value = boxed(Tensor, data) if value is None else value
    node = Node(call_op, {}, (), Plan((), (), ()), [], [data])
    node.saved = None
    value._requires_grad, value._grad_fn = True, node
    return value


OPS = (call_op,)
