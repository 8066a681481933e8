"""Derivatives and batches of graphs, each a graph: trace(evaluate, then sweep / dualise / batch).
Memoised on the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .._codegen import lowering
from ..autograd.grad_mode import enable_grad
from ..errors import ShapeError, TracegradError
from ..ir.dispatch import STATE
from ..ir.evaluate import evaluate, evaluate_batched
from ..ir.forms import NOTHING, About
from ..ir.graph import Atom, Graph, Var, adjoint_name
from ..ir.levels import forward_level
from ..ir.recording import span
from ..ir.trace import Trace
from ..ops import broadcast_to, moveaxis
from ..sizes import form
from ..tape.engine import gradient, zeros
from ..tape.mode import MODE
from ..tape.modes import restoring
from ..tensor import Array, Boxed, fresh_leaf
from ..types import ArrayType, Int
from .rewrite import remove_dead
from .weak import explicit


def _trace(name: str, graph: Graph) -> Trace:
    trace = Trace(name, graph.sizes)
    trace.derived, trace.options = True, graph.options
    return trace


def _direction(trace: Trace, of: Atom) -> Array:
    """An input of the trace for the tangent or cotangent of a value."""
    return Array(trace.input(ArrayType(of.type.dtype, of.type.shape), adjoint_name(of)))


@restoring
def joint(
    graph: Graph, wanted: Sequence[bool], given: Sequence[bool], known: About = NOTHING
) -> Graph:
    """(inputs..., cotangents of the given outputs...) -> outputs..., cotangents of the wanted
    inputs. What is known of inputs that are integers helps the rules of loops inside."""
    key = ("joint", tuple(wanted), tuple(given), known)
    if key not in graph.derived:
        trace = _trace(f"{graph.name}_adjoint", graph)
        with span(f"{trace.name}: derive"), trace, enable_grad():
            boxes: list[Any] = [Array(trace.input(v.type, v.name)) for v in graph.inputs]
            known.tell(trace, boxes)
            leaves = [fresh_leaf(b) if w else b for b, w in zip(boxes, wanted, strict=True)]
            cts = [_direction(trace, a) for a, g in zip(graph.outputs, given, strict=True) if g]
            outs = evaluate(graph, leaves)
            targets = [x for x, w in zip(leaves, wanted, strict=True) if w]
            found = gradient(
                [o for o, g in zip(outs, given, strict=True) if g], targets, cts, create_graph=False
            )
            result = [
                zeros(x.array_type) if g is None else g for g, x in zip(found, targets, strict=True)
            ]
            graph.derived[key] = _finished(trace, [*outs, *result], "adjoint")
            graph.derived[key].derived["absent"] = tuple([g is None for g in found])
    derived: Graph = graph.derived[key]
    return derived


def silent(graph: Graph) -> Graph:
    """A derivative that is run beside the graph itself, which is the one that prints."""
    kept = tuple([n for n in graph.nodes if n.op.lowering is not lowering.SHOW])
    return graph if len(kept) == len(graph.nodes) else graph.replace(nodes=kept)


def absent(derived: Graph) -> tuple[bool, ...]:
    """Of a joint graph which cotangents there are none of: nothing leads to these inputs."""
    found: tuple[bool, ...] = derived.derived["absent"]
    return found


def _finished(trace: Trace, outs: Sequence[Any], made_by: str) -> Graph:
    graph, captures = trace.finish(outs, made_by)
    graph.derived["captures"] = captures
    return graph


def captures_of(derived: Graph, who: str = "") -> list[Any]:
    """The values that rules of the user (of custom Functions and the like) read from their
    surroundings while a graph was derived: its last inputs. An error where `who` is derived without
    recording, and one of them is tracked: its history would be lost."""
    found: list[Any] = derived.derived.get("captures", [])
    if who and not MODE.enabled and not (STATE.traces and STATE.traces[-1].derived):
        if any(isinstance(x, Boxed) and x._on_tape() for x in found):
            raise TracegradError(
                f"{derived.name}: a derivative given by the user reads something that is "
                f"differentiated by, or that requires grad, around {who} in which it is used. "
                "Make that an argument of the function, save it in forward, or detach it."
            )
    return found


def adjoint(
    graph: Graph, wanted: Sequence[bool], given: Sequence[bool], known: About = NOTHING
) -> Graph:
    """(inputs..., cotangents of the given outputs..., what it captured...) -> cotangents of the
    wanted inputs."""
    key = ("adjoint", tuple(wanted), tuple(given), known)
    if key not in graph.derived:
        both = joint(graph, wanted, given, known)
        graph.derived[key] = silent(both.replace(outputs=both.outputs[len(graph.outputs) :]))
        graph.derived[key].derived["captures"] = captures_of(both)
    derived: Graph = graph.derived[key]
    return derived


class Adjoined(NamedTuple):
    """Adjoints of graphs with equal inputs and outputs: (inputs..., the results with these numbers,
    cotangents of the given outputs..., what they captured...) -> cotangents of those wanted inputs
    that anything leads to."""

    graphs: list[Graph]
    results: tuple[int, ...]
    there: tuple[bool, ...]
    """Of all inputs which get a cotangent."""

    def spread(self, found: Iterable[Any]) -> list[Any]:
        """The cotangents by input, None where there is none."""
        cts = iter(found)
        return [next(cts) if ok else None for ok in self.there]


def adjoints(
    graphs: Sequence[Graph], wanted: Sequence[bool], given: Sequence[bool], known: About = NOTHING
) -> Adjoined:
    """The adjoints of the graphs of an operation. Results that a loop or another region made are
    read where they would be computed again."""
    both = [joint(g, wanted, given, known) for g in graphs]
    count, first = len(graphs[0].outputs), len(graphs[0].inputs)
    targets = [k for k, w in enumerate(wanted) if w]
    missing = [all(none) for none in zip(*map(absent, both), strict=True)]
    kept = [j for j, none in enumerate(missing) if not none]
    read = tuple(sorted({k for b in both for k in _regions_read(b, count, kept)}))
    found = []
    for graph, b in zip(graphs, both, strict=True):
        key = ("adjoints", tuple(wanted), tuple(given), known, read, tuple(kept))
        if key not in graph.derived:
            results = {k: Var(b.outputs[k].type, f"result_{k}") for k in read}
            values: dict[Atom, Atom] = {
                b.outputs[k]: results[k] for k in _regions_read(b, count, kept)
            }
            derived = b.replace(
                inputs=(*b.inputs[:first], *results.values(), *b.inputs[first:]),
                nodes=tuple(
                    n.replace(inputs=tuple(values.get(a, a) for a in n.inputs)) for n in b.nodes
                ),
                outputs=tuple(values.get(a, a) for a in (b.outputs[count + j] for j in kept)),
            )
            graph.derived[key] = remove_dead(derived)
            graph.derived[key].derived["captures"] = captures_of(b)
        found.append(graph.derived[key])
    there = {targets[j] for j in kept}
    return Adjoined(found, read, tuple(k in there for k in range(len(wanted))))


def _regions_read(both: Graph, count: int, kept: Sequence[int]) -> tuple[int, ...]:
    """Which of the first outputs, made by regions, those of the others are computed from."""
    made = {v: n for n in both.nodes for v in n.outputs}
    outs: dict[Atom, int] = {}
    for k, a in enumerate(both.outputs[:count]):
        maker = made.get(a) if isinstance(a, Var) else None
        if maker is not None and isinstance(maker.op.lowering, lowering.Region):
            outs.setdefault(a, k)
    found: set[int] = set()
    seen: set[Atom] = set()
    stack: list[Atom] = [both.outputs[count + j] for j in kept]
    while stack:
        a = stack.pop()
        if a in outs:
            found.add(outs[a])
        elif isinstance(a, Var) and a in made and a not in seen:
            seen.add(a)
            stack.extend(made[a].inputs)
    return tuple(sorted(found))


@restoring
def tangent(graph: Graph, given: Sequence[bool]) -> Graph:
    """(inputs..., tangents of the given inputs...) -> tangents of all outputs."""
    key = ("tangent", tuple(given))
    if key not in graph.derived:
        trace = _trace(f"{graph.name}_tangent", graph)
        with span(f"{trace.name}: derive"), trace:
            boxes = [Array(trace.input(v.type, v.name)) for v in graph.inputs]
            ts = iter([_direction(trace, v) for v, g in zip(graph.inputs, given, strict=True) if g])
            with forward_level() as level:
                duals = [
                    Array._dual(b, next(ts), level) if g else b
                    for b, g in zip(boxes, given, strict=True)
                ]
                outs = evaluate(graph, duals)
                result = [
                    (o._tangents or {}).get(level) if isinstance(o, Boxed) else None for o in outs
                ]
            filled = [
                zeros(a.type) if t is None else t
                for t, a in zip(result, graph.outputs, strict=True)
            ]
            graph.derived[key] = silent(_finished(trace, filled, "tangent"))
    derived: Graph = graph.derived[key]
    return derived


@restoring
def batched(
    graph: Graph, axes: Sequence[int | None], size: Int
) -> tuple[Graph, tuple[int | None, ...]]:
    """The graph over one more axis (at `axes[k]` of input k), and where the outputs have it."""
    size = form(size)
    key = ("batched", tuple(axes), size)
    if key not in graph.derived:
        trace = _trace(f"{graph.name}_batched", graph)
        # A batch of Python numbers is an array.
        arrays = explicit(graph)
        with span(f"{trace.name}: derive"), trace:
            boxes = []
            for v, axis in zip(arrays.inputs, axes, strict=True):
                shape = (
                    v.type.shape
                    if axis is None
                    else (*v.type.shape[:axis], size, *v.type.shape[axis:])
                )
                boxes.append(Array(trace.input(v.type.with_shape(shape), v.name)))
            outs, out_axes = evaluate_batched(arrays, boxes, axes, size)
            graph.derived[key] = _finished(trace, outs, "batched"), tuple(out_axes)
    derived: tuple[Graph, tuple[int | None, ...]] = graph.derived[key]
    return derived


def with_axis(value: Any, axis: int | None, size: Int, wanted: int | None) -> Any:
    """A batched result with its batch axis at `wanted` (repeated where the value does not depend on
    the batch; None: it must not)."""
    shape = getattr(value, "shape", ())
    if wanted is None:
        if axis is None:
            return value
        raise ValueError(
            "vmap: out_axes is None for a result that depends on the mapped "
            "arguments; give it an axis"
        )
    rank = len(shape) + (axis is None)
    if not -rank <= wanted < rank:
        raise ShapeError(
            f"vmap: out_axes names axis {wanted} of a result with {rank} axes, "
            "the mapped one included"
        )
    if axis is None:
        repeated = broadcast_to(value, (size, *shape))
        return moveaxis(repeated, 0, wanted) if wanted else repeated
    return value if axis == wanted % rank else moveaxis(value, axis, wanted)
