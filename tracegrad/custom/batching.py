"""Uses of custom functions under vmap: the graph batched, with the user's rule of a single item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.dispatch import STATE, bind
from ..ir.evaluate import evaluate, evaluate_batched
from ..ir.graph import Graph
from ..ir.trace import Trace
from ..ops.totals.reductions import sum as sum_of
from ..tape.engine import zeros
from ..tape.modes import restoring
from ..tensor import Array
from ..transforms.derive import batched, with_axis
from ..transforms.tracing import leaf_type, trace_function
from ..tree import flatten
from ..types import ArrayType


def type_of_value(x: Any) -> Any:
    return x if isinstance(x, ArrayType) else leaf_type(x)


@restoring
def batch_of(values: Any, axes: Any, size: Any, *, graph: Graph, rule: Any) -> Any:
    """A use over one more axis: its graph batched, with the rule of a single item."""
    derived, out_axes = batched(graph, axes, size)
    trace = Trace(derived.name, derived.sizes)
    with trace:
        boxes = [Array(trace.input(v.type, v.name)) for v in derived.inputs]
        outs = [
            with_axis(o, a, size, 0)
            for o, a in zip(evaluate(derived, boxes), out_axes, strict=True)
        ]
        whole = trace.finish(outs, "batched")[0]
    found = bind(rule.op, values, {"graph": whole, "rule": Mapped(graph, rule, tuple(axes), size)})
    return list(found), [0] * len(outs)


class Mapped:
    """A use under vmap: the rule of a single item, batched. All results have the mapped axis
    first."""

    def __init__(self, graph: Graph, rule: Any, axes: tuple[int | None, ...], size: Any) -> None:
        self.graph, self.rule, self.axes, self.size = graph, rule, axes, size
        self.op = rule.op

    def __repr__(self) -> str:
        return repr(self.rule)

    def _over(
        self, item: Callable[..., Any], values: Sequence[Any], places: Sequence[int | None]
    ) -> tuple[list[Any], list[int | None]]:
        kinds = [leaf_type(x) for x in values]
        types = [
            k if p is None else ArrayType(k.dtype, (*k.shape[:p], *k.shape[p + 1 :]))
            for k, p in zip(kinds, places, strict=True)
        ]
        traced = trace_function(
            item,
            flatten((tuple(values), {}))[1],
            types,
            [Array] * len(types),
            name=repr(self),
            sizes=STATE.traces[-1].sizes if STATE.traces else self.graph.sizes,
        )
        return evaluate_batched(
            traced.graph,
            [*values, *traced.captures],
            [*places, *[None] * len(traced.captures)],
            self.size,
        )

    def vjp(self, cts: Any, inputs: Any, outs: Any, wanted: Any) -> list[Any]:
        n, m = len(inputs), len(outs)
        given = [k for k, ct in enumerate(cts) if ct is not None]

        def item(*v: Any) -> Any:
            arrived = dict(zip(given, v[n + m :], strict=True))
            found = self.rule.vjp([arrived.get(k) for k in range(m)], v[:n], v[n : n + m], wanted)
            return [
                zeros(type_of_value(x)) if g is None else g
                for g, x, w in zip(found, v[:n], wanted, strict=True)
                if w
            ]

        values = [*inputs, *outs, *[cts[k] for k in given]]
        found = iter(
            zip(*self._over(item, values, [*self.axes, *[0] * (m + len(given))]), strict=True)
        )
        result: list[Any] = []
        for axis, w in zip(self.axes, wanted, strict=True):
            if not w:
                result.append(None)
                continue
            g, place = next(found)
            # An argument that all items share receives the cotangents of all.
            result.append(
                sum_of(with_axis(g, place, self.size, 0), axis=0)
                if axis is None
                else with_axis(g, place, self.size, axis)
            )
        return result

    def jvp(self, tangents: Any, inputs: Any, outs: Any) -> list[Any]:
        n, m = len(inputs), len(outs)
        given = [k for k, t in enumerate(tangents) if t is not None]

        def item(*v: Any) -> Any:
            directions = dict(zip(given, v[n + m :], strict=True))
            found = self.rule.jvp([directions.get(k) for k in range(n)], v[:n], v[n : n + m])
            return [
                zeros(type_of_value(o)) if t is None else t
                for t, o in zip(found, v[n : n + m], strict=True)
            ]

        values = [*inputs, *outs, *[tangents[k] for k in given]]
        outs, places = self._over(
            item, values, [*self.axes, *[0] * m, *[self.axes[k] for k in given]]
        )
        return [with_axis(o, p, self.size, 0) for o, p in zip(outs, places, strict=True)]


__all__ = ["Mapped", "batch_of", "type_of_value"]
