"""Loops and branches as nodes: what nobody reads of them goes, numbers and what no step changes
move into their bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from .._codegen import integers, lowering
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..ir.loops import Constant, Loop, Slice, is_loop, parted
from ..ops.arrays.shape import broadcast_to_op
from ..sizes import same_shape
from ..types import ArrayType


def trim(graph: Graph) -> Graph:
    """Without the results of loops and branches that nothing reads, and without what only those
    needed."""
    live: set[Atom] = {a for a in graph.outputs if isinstance(a, Var)}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if not node.effects and not any(v in live for v in node.outputs):
            continue
        rule = node.op.lowering
        if isinstance(rule, lowering.Region):
            read = [v in live for v in node.outputs]
            if read and not any(read):
                # It is there for what it does, and keeps a result, by which it is known.
                read[0] = True
            node = TRIMMED[rule.kind](node, read)
        kept.append(node)
        live.update(node.inputs)
    return graph.replace(nodes=tuple(reversed(kept)))


A = TypeVar("A")


def inline_constants(graph: Graph) -> Graph:
    """Numbers that loops and branches are given stand in their bodies; carries that no step changes
    are constants."""
    same: dict[Atom, Atom] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = tuple([same.get(a, a) for a in node.inputs])
        inlined = node.replace(inputs)
        rule = node.op.lowering
        if is_loop(node):
            inlined = _inlined_loop(Loop.of(inlined), same) or inlined
        elif isinstance(rule, lowering.Region) and rule.kind in BODIES:
            inlined = _inlined(inlined, rule.kind)
        nodes.append(inlined)
    return graph.replace(nodes=tuple(nodes), outputs=tuple([same.get(a, a) for a in graph.outputs]))


def _is_number(atom: Atom) -> bool:
    return isinstance(atom, Literal) and not isinstance(atom.value, integers.Integer)


def _number_of(var: Var, atom: Atom) -> Atom:
    """A number that stands for a variable: NumPy's where that is one, else Python's."""
    if not isinstance(atom, Literal) or atom.weak is var.type.weak:
        return atom
    value: Any = atom.value
    return Literal(value.item() if var.type.weak else var.type.dtype.type(value))


def _inlined_loop(loop: Loop, same: dict[Atom, Atom]) -> Node | None:
    """The loop without the constants that are numbers or others, the slices that are others, and
    the carries that stay; None where it has none. `same` learns what the last values of such
    carries are."""
    numbers, constants = parted(loop.constants, lambda c: _is_number(c.given))
    fixed, again = _once(constants, lambda c: c.given)
    slices, alike = _once(loop.slices, lambda s: s.stacked)
    still, carries = parted(loop.carries, lambda c: c.next is c.inside)
    if not numbers and not again and not alike and not still:
        return None
    same.update({c.last: c.first for c in still})
    given: dict[Var, Atom] = {s.inside: first.inside for s, first in alike}
    given |= {c.inside: _number_of(c.inside, c.given) for c in numbers}
    given |= {c.inside: first.inside for c, first in again}
    asked: dict[Var, Atom] = {c.asked: _number_of(c.asked, c.given) for c in numbers if c.asked}
    asked |= {c.asked: first.asked for c, first in again if c.asked and first.asked}
    return loop.replace(
        constants=(*fixed, *[Constant(c.first, c.inside, c.asked) for c in still]),
        carries=tuple([c._replace(next=_given(c.next, given)) for c in carries]),
        slices=slices,
        results=tuple([r._replace(inside=_given(r.inside, given)) for r in loop.results]),
        body=loop.body.replace(nodes=tuple([_with(n, given) for n in loop.body.nodes])),
        test=loop.test and _inside(loop.test, loop.test.inputs, asked),
    ).node()


def _given(atom: Atom, given: Mapping[Var, Atom]) -> Atom:
    return given.get(atom, atom) if isinstance(atom, Var) else atom


Operand = TypeVar("Operand", Constant, Slice)


def _once(
    items: Sequence[Operand], operand: Callable[[Operand], Atom]
) -> tuple[tuple[Operand, ...], list[tuple[Operand, Operand]]]:
    """The items with operands of their own, and the others, each with the one before it that has
    the same."""
    seen: dict[Atom, Operand] = {}
    others: list[tuple[Operand, Operand]] = []
    kept: list[Operand] = []
    for item in items:
        atom = operand(item)
        if isinstance(atom, Var) and seen.setdefault(atom, item) is not item:
            others.append((item, seen[atom]))
        else:
            kept.append(item)
    return tuple(kept), others


BODIES = {"switch": "branches", "sized": "graph", "block": "graph"}
"""Which parameter of a region without steps holds its graphs."""


def _inlined(node: Node, kind: str) -> Node:
    first = 0 if kind == "block" else 1
    operands = node.inputs[first:]
    seen: dict[Var, int] = {}
    twins = {
        k: earlier
        for k, a in enumerate(operands)
        if isinstance(a, Var) and (earlier := seen.setdefault(a, k)) != k
    }
    gone = [_is_number(a) or k in twins for k, a in enumerate(operands)]
    if not any(gone):
        return node

    def inside(graph: Graph) -> Graph:
        given: dict[Var, Atom] = {
            v: _number_of(v, a)
            for v, a in zip(graph.inputs, operands, strict=True)
            if _is_number(a)
        }
        given |= {graph.inputs[k]: graph.inputs[m] for k, m in twins.items()}
        return _inside(graph, _chosen(graph.inputs, [not x for x in gone]), given)

    value = node.params[BODIES[kind]]
    params = {
        BODIES[kind]: tuple(map(inside, value)) if isinstance(value, tuple) else inside(value)
    }
    return _rebuilt(
        node,
        (*node.inputs[:first], *_chosen(operands, [not x for x in gone])),
        params,
        node.outputs,
    )


def _inside(graph: Graph, inputs: Sequence[Var], given: Mapping[Var, Atom]) -> Graph:
    """The graph with other values in the place of some variables."""
    return graph.replace(
        inputs=tuple(inputs),
        nodes=tuple([_with(n, given) for n in graph.nodes]),
        outputs=tuple([_given(a, given) for a in graph.outputs]),
    )


def unstack(graph: Graph) -> Graph:
    """Slices that are all alike, as cotangents of a sum over steps are, are constants of the
    loop."""
    made = {v: node for node in graph.nodes for v in node.outputs}

    def repeated(atom: Atom) -> Atom | None:
        node = made.get(atom) if isinstance(atom, Var) else None
        source = node.inputs[0] if node is not None and node.op is broadcast_to_op else None
        return source if source is not None and source.type.ndim < atom.type.ndim else None

    def changed(node: Node) -> Node:
        if node.op.lowering is not lowering.SCAN or not any(map(repeated, node.inputs)):
            return node
        loop = Loop.of(node)
        constants: list[Constant] = []
        slices: list[Slice] = []
        spread: list[Node] = []
        for s in loop.slices:
            source = repeated(s.stacked)
            if source is None:
                slices.append(s)
            elif same_shape(source.type.shape, s.inside.type.shape):
                constants.append(Constant(source, s.inside))
            else:
                constants.append(
                    Constant(source, Var(ArrayType(s.inside.type.dtype, source.type.shape)))
                )
                to = {"shape": s.inside.type.shape}
                spread.append(
                    Node(
                        broadcast_to_op,
                        (constants[-1].inside,),
                        to,
                        (s.inside,),
                        node.where,
                        node.note,
                    )
                )
        if not constants:
            return node
        body = loop.body.replace(nodes=(*spread, *loop.body.nodes)) if spread else loop.body
        return loop.replace(
            constants=(*loop.constants, *constants), slices=tuple(slices), body=body
        ).node()

    return graph.replace(nodes=tuple(map(changed, graph.nodes)))


def _with(node: Node, given: Mapping[Var, Atom]) -> Node:
    if not any(a in given for a in node.inputs if isinstance(a, Var)):
        return node
    inputs = tuple([given.get(a, a) if isinstance(a, Var) else a for a in node.inputs])
    return node.replace(inputs)


def _chosen(values: Sequence[A], flags: Iterable[bool]) -> tuple[A, ...]:
    return tuple([v for v, ok in zip(values, flags, strict=True) if ok])


def _body(body: Graph, outputs: Sequence[bool]) -> Graph:
    """Made once, so that loops in the bodies of two loops stay equal."""
    key = "trimmed", tuple(outputs)
    if key not in body.derived:
        body.derived[key] = trim(body.replace(outputs=_chosen(body.outputs, outputs)))
    trimmed: Graph = body.derived[key]
    return trimmed


def _read(body: Graph) -> list[bool]:
    """Which inputs a trimmed graph reads."""
    found = {a for node in body.nodes for a in node.inputs} | {*body.outputs}
    return [v in found for v in body.inputs]


def _with_inputs(body: Graph, kept: Sequence[bool]) -> Graph:
    key = "with inputs", tuple(kept)
    if key not in body.derived:
        body.derived[key] = body.replace(inputs=_chosen(body.inputs, kept))
    smaller: Graph = body.derived[key]
    return smaller


def _rebuilt(
    node: Node, inputs: Sequence[Atom], params: Mapping[str, object], outputs: Sequence[Var]
) -> Node:
    return node.replace(
        inputs=tuple(inputs), params={**node.params, **params}, outputs=tuple(outputs)
    )


def _trim_loop(node: Node, live: Sequence[bool]) -> Node:
    loop = Loop.of(node)
    results = [r for r, ok in zip(loop.results, live[len(loop.carries) :], strict=False) if ok]
    test = loop.test and trim(loop.test)
    asked: set[Atom] = (
        {v for v, ok in zip(test.inputs, _read(test), strict=True) if ok} if test else set()
    )
    wanted = [ok or c.asked in asked for c, ok in zip(loop.carries, live, strict=False)]
    while True:
        smaller = _body(
            loop.body, [*wanted, *live[len(loop.carries) : len(loop.carries) + len(loop.results)]]
        )
        read: set[Atom] = {v for v, ok in zip(smaller.inputs, _read(smaller), strict=True) if ok}
        more = [ok or c.inside in read for c, ok in zip(loop.carries, wanted, strict=True)]
        if more == wanted:
            break
        wanted = more
    carries = _chosen(loop.carries, wanted)
    constants = [c for c in loop.constants if c.inside in read or c.asked in asked]
    slices = [s for s in loop.slices if s.inside in read]
    inside = {
        loop.number,
        *[c.inside for c in constants],
        *[c.inside for c in carries],
        *[s.inside for s in slices],
    }
    known = {*[c.asked for c in constants], *[c.asked for c in carries]}
    return loop.replace(
        constants=tuple(constants),
        carries=carries,
        slices=tuple(slices),
        results=tuple(results),
        body=_with_inputs(smaller, [v in inside for v in smaller.inputs]),
        test=test and _with_inputs(test, [v in known for v in test.inputs]),
    ).node()


def _trim_switch(node: Node, live: Sequence[bool]) -> Node:
    branches = [_body(b, live) for b in node.params["branches"]]
    kept = [any(flags) for flags in zip(*map(_read, branches), strict=True)]
    params = {"branches": tuple([_with_inputs(b, kept) for b in branches])}
    return _rebuilt(
        node, (node.inputs[0], *_chosen(node.inputs[1:], kept)), params, _chosen(node.outputs, live)
    )


def _trim_sized(node: Node, live: Sequence[bool]) -> Node:
    graph = _body(node.params["graph"], live)
    kept = _read(graph)
    inputs = (node.inputs[0], *_chosen(node.inputs[1:], kept))
    return _rebuilt(node, inputs, {"graph": _with_inputs(graph, kept)}, _chosen(node.outputs, live))


def _trim_block(node: Node, live: Sequence[bool]) -> Node:
    graph = _body(node.params["graph"], live)
    kept = _read(graph)
    return _rebuilt(
        node,
        _chosen(node.inputs, kept),
        {"graph": _with_inputs(graph, kept)},
        _chosen(node.outputs, live),
    )


TRIMMED: dict[str, Callable[[Node, Sequence[bool]], Node]] = {
    "scan": _trim_loop,
    "switch": _trim_switch,
    "while": _trim_loop,
    "sized": _trim_sized,
    "block": _trim_block,
    "taped": lambda node, live: node,
}


__all__ = ["TRIMMED", "inline_constants", "trim", "unstack"]
