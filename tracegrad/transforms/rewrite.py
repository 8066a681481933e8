"""The passes that make a graph smaller, and the pipeline that runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._codegen import lowering
from ..ir.graph import Atom, Graph, Node, Var
from ..ir.verify import EVERY_PASS, verify
from ..ops.elementwise.derived import convert_op
from ..types import ArrayType
from .algebra import (
    add_in_place,
    divided_reciprocal,
    factor_out_of_sum,
    merge_factors,
    position_of_extreme,
    power_of_count,
    put_once,
)
from .collect_in_place import collect
from .factors import factor_once
from .identities import (
    drop_broadcast,
    drop_identity,
    fold_literals,
    merge_pair,
    same_type,
    spread_late,
)
from .integer_choices import integer_choices
from .loop_fusion import fuse
from .loop_parts import inline_constants, trim, unstack
from .loop_tape import tape
from .narrow_products import as_sums, beside_computed
from .products import gather_factors, product_with_identity, small_product, sum_of_product
from .rewriter import Rewriter, application, rewrite
from .sink_additions import sink_additions
from .spectra import values_alone
from .streams import as_sum, streamed
from .sum_behind_loop import sums_behind_loops
from .symmetry import symmetric_sum
from .turned_back import turned_back

# --- inline ---------------------------------------------------------------------------------------


def inline_calls(graph: Graph) -> Graph:
    """`call(graph)(x)` -> the nodes of that graph. Needs nothing; afterwards no call is left, in
    the bodies of loops and branches neither."""
    if "inlined" not in graph.derived:
        graph.derived["inlined"] = _inlined(graph) if _calls(graph) else graph
    inlined: Graph = graph.derived["inlined"]
    return inlined


def _calls(graph: Graph) -> bool:
    return any(node.op.inlined or any(map(_calls, node.subgraphs())) for node in graph.nodes)


def _inlined(graph: Graph) -> Graph:

    def expand(builder: Rewriter, inner: Graph, inputs: Sequence[Atom]) -> list[Atom]:
        values: dict[Var, Atom] = dict(zip(inner.inputs, inputs, strict=True))
        for node in inner.nodes:
            operands = tuple([values[a] if isinstance(a, Var) else a for a in node.inputs])
            if node.op.inlined:
                values.update(zip(node.outputs, called(builder, node, operands), strict=True))
                continue
            copy = node.again(operands)
            values.update(zip(node.outputs, inside(builder, copy, operands), strict=True))
        return [values[a] if isinstance(a, Var) else a for a in inner.outputs]

    def called(builder: Rewriter, node: Node, inputs: Sequence[Atom]) -> list[Atom]:
        # A derived graph takes the tangent of a Python number for an array.
        inner: Graph = node.params["graph"]
        given = [
            builder.emit(convert_op, [a], {"dtype": v.type.dtype}, node)
            if isinstance(a, Var) and a.type.weak and not v.type.weak
            else a
            for a, v in zip(inputs, inner.inputs, strict=True)
        ]
        return expand(builder, inner, given)

    def inside(builder: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Sequence[Atom]:
        return builder.keep(
            with_graphs(node, inputs, inline_calls) if any(map(_calls, node.subgraphs())) else node,
            inputs,
        )

    return rewrite(
        graph,
        lambda b, node, inputs: (
            called(b, node, inputs) if node.op.inlined else inside(b, node, inputs)
        ),
    )


def with_graphs(node: Node, inputs: tuple[Atom, ...], change: Callable[[Graph], Graph]) -> Node:
    """The node with other graphs in its parameters."""

    def changed(value: Any) -> Any:
        if isinstance(value, Graph):
            return change(value)
        return tuple([changed(v) for v in value]) if isinstance(value, tuple) else value

    params = {name: changed(value) for name, value in node.params.items()}
    return node.replace(inputs=inputs, params=params)


RULES = (
    fold_literals, drop_identity, spread_late, merge_pair, drop_broadcast, add_in_place,
    put_once, factor_out_of_sum, power_of_count, merge_factors, divided_reciprocal,
    position_of_extreme, product_with_identity, sum_of_product, gather_factors, symmetric_sum,
    turned_back,
)  # fmt: skip


Rule = Callable[[Rewriter, Node, tuple[Atom, ...]], Atom | None]


def simplify(graph: Graph, rules: Sequence[Rule] | None = None) -> Graph:
    """Local rules (all of `RULES`, if not told otherwise), and common subexpressions; needs inlined
    calls."""
    rules = RULES if rules is None else rules

    def rule(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Sequence[Atom] | None:
        if len(node.outputs) == 1:
            for local in rules:
                new = local(b, node, inputs)
                if new is not None and (same_type(new, node.outputs[0])):
                    return (new,)
        if node.effects:
            return None
        key = application(node.op, inputs, node.params)
        known = b.seen.get(key)
        if known is not None:
            return known
        b.seen[key] = kept = tuple(b.keep(node, inputs))
        return kept

    return rewrite(graph, rule)


def tidy(graph: Graph) -> Graph:
    """Common subexpressions and dead code only: the result can be differentiated as the graph can.

    The rules are right for values; what stops derivatives, or gives them another rule, would be
    lost.
    """
    return remove_dead(simplify(graph, ()))


def spell_out(graph: Graph, joined: bool = True) -> Graph:
    """Small products, and those that read a large matrix a second time, as sums of products, and
    what several systems of one matrix share; the rules for products come before.

    joined  narrow products, too, which loops of a CPU add up on the way, and what systems share:
            a GPU's libraries have no routine that takes factors of LU
    """
    streams = streamed(graph)
    narrow = beside_computed(graph) if joined else set()

    def rule(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Sequence[Atom] | None:
        if node in streams:
            return as_sum(b, node, inputs)
        if node in narrow:
            return as_sums(b, node, inputs)
        spelled = small_product(b, node, inputs)
        return None if spelled is None else (spelled,)

    spelled_out = rewrite(graph, rule)
    return factor_once(spelled_out) if joined else spelled_out


def remove_dead(graph: Graph) -> Graph:
    """Nodes whose outputs nothing reads go, and vectors of spectra that nothing reads."""
    live = {a for a in graph.outputs if isinstance(a, Var)}
    kept = []
    for node in reversed(graph.nodes):
        if node.effects or any(v in live for v in node.outputs):
            kept.append(node)
            live.update(a for a in node.inputs if isinstance(a, Var))
    return values_alone(graph.replace(nodes=tuple(reversed(kept))))


def fuse_loops(graph: Graph, apart: bool = False, tapes: bool = True) -> Graph:
    """Loops that repeat each other as one, without what nobody reads of them.

    apart   what is known early must not wait for what is known late, as the graph is to be cut in
            two
    tapes   whether loops of unknown length may keep something of each step
    """
    if not any(isinstance(node.op.lowering, lowering.Region) for node in graph.nodes):
        return graph
    joined = trim(inline_constants(fuse(trim(inline_constants(unstack(graph))), plain, apart)))
    return (
        joined
        if apart or not tapes
        else tape(joined, lambda inside: fuse_loops(remove_dead(plain(inside))), plain)
    )


def plain(graph: Graph) -> Graph:
    """Without calls, and equal expressions once: how bodies of loops are compared."""
    return simplify(simplify(inline_calls(graph)))


def optimize_regions(graph: Graph, tapes: bool = True) -> Graph:
    """The same pipeline inside the bodies of loops and branches, and what they do not change any
    more as constants."""
    if not any(isinstance(node.op.lowering, lowering.Region) for node in graph.nodes):
        return graph

    def rule(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Sequence[Atom] | None:
        if not isinstance(node.op.lowering, lowering.Region):
            return None
        return b.keep(with_graphs(node, inputs, lambda g: optimize(g, tapes=tapes)), inputs)

    # What no step changes any more is a constant.
    return trim(inline_constants(rewrite(graph, rule)))


PIPELINE: tuple[tuple[str, Callable[[Graph], Graph]], ...] = (
    ("inline", inline_calls),  # one flat graph, so that forward and backward see each other
    (
        "simplify",
        simplify,
    ),  # local rules and common subexpressions: the adjoint repeats much of the forward part
    ("dead code", remove_dead),  # what simplification and unused outputs left over
    ("simplify", simplify),  # rules that apply only now
    ("products spelled out", spell_out),
    ("dead code", remove_dead),
    (
        "loops",
        fuse_loops,
    ),  # while what they share is easy to see: before their bodies are rewritten
    ("integer choices", integer_choices),  # when branches have no results that nobody reads
    ("regions", optimize_regions),  # when it is known which loops are left
    ("collect in place", collect),  # when it is seen where loops and branches put what they add up
    ("sink additions", sink_additions),  # when it is seen what they add to
    ("sums behind loops", sums_behind_loops),  # last, when it is seen what their bodies do
)


def optimize(graph: Graph, apart: bool = False, tapes: bool = True) -> Graph:
    """Run the pipeline; the result is memoised on the graph. For `apart` and `tapes` see
    `fuse_loops`."""
    key = "optimized", apart, tapes
    if key not in graph.derived:
        chosen: dict[Any, Callable[[Graph], Graph]] = {
            fuse_loops: lambda g: fuse_loops(g, apart, tapes),
            spell_out: lambda g: spell_out(g, tapes),
            optimize_regions: lambda g: optimize_regions(g, tapes),
        }
        result = graph
        stamps: list[str] = []
        right: set[Node] = set()
        for name, apply in PIPELINE:
            result = chosen.get(apply, apply)(result)
            stamps.append(name)
            if EVERY_PASS[0]:
                verify(result, right)
        graph.derived[key] = result.replace(made_by=", ".join(stamps))
    optimized: Graph = graph.derived[key]
    return optimized


__all__ = ["PIPELINE", "ArrayType", "optimize"]
