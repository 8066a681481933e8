"""What a loop reads at places that it does not write afterwards, or has not written before: the
adjoint reads that off the last or the first value of the carry, and nothing is kept for it.

A factorization reads pivots and rows that are final by then. Its adjoint, which runs when the loop
is done, finds them in the result; kept for each step they would take memory of the order of the
steps.

A footprint is an interval per axis, of integer expressions over sizes, constants of the loop, and
the numbers of the steps. Two have nothing in common if their distance along some axis is at least
1, and less than the axis is long, so that it stays so where an index counts from the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from .._codegen import integers, lowering
from ..ir.forms import UNKNOWN, About, made_of
from ..ir.graph import Atom, Graph, Node, Var
from ..ir.loops import Loop, is_loop
from ..ir.versions import chain_of, passed
from ..ops.places.positions import ends_of
from ..types import COUNT, Int, Shape

Interval: TypeAlias = tuple[Int, Int] | None
"""The least and the largest index along an axis; None for any."""


class Footprint(NamedTuple):
    """Where elements of an array are read or written."""

    shape: Shape
    axes: tuple[Interval, ...]


class Settled:
    """The carries of one loop, in the graph of its body and the body's adjoint."""

    def __init__(
        self,
        graph: Graph,
        carries: Sequence[tuple[Var, Atom]],
        number: Var,
        length: Int,
        reverse: bool,
        about: About,
    ) -> None:
        """
        carries     what a step gets and what it makes of that
        number      the input that is the number of the step
        about       what is known of the inputs that are integers
        """
        self.graph = graph
        self.made = {v: node for node in graph.nodes for v in node.outputs}
        self.names = (f"{UNKNOWN}{k}s" for k in itertools.count())
        self.ranges: dict[str, tuple[Int, Int]] = {n: (low, end) for n, low, end in about.ranges}
        given = {v: f for v, f in zip(graph.inputs, about.forms, strict=False) if f is not None}
        self.chains: dict[Var, list[Var]] = {}
        self.carry: dict[Var, Var] = {}
        """Of each version the carry."""
        for inside, following in carries:
            chain = chain_of(following, self.made)
            if chain and chain[0] is inside and inside.type.ndim:
                self.chains[inside] = chain
                self.carry.update(dict.fromkeys(chain, inside))
        now, other = (integers.symbol(next(self.names)) for _ in range(2))
        self.ranges |= {str(now): (0, length), str(other): (0, length)}
        self.now = Counting(self, {**given, number: now})
        if self.chains:
            self.now.look(graph.nodes)
        # Another step, of which the number alone is known to differ.
        self.other = Counting(self, {**given, number: other})
        if self.chains:
            self.other.look(graph.nodes)
        self.steps = str(other), now, length, reverse
        self.written: dict[tuple[Var, bool], list[list[Footprint]] | None] = {}

    def ends(self, version: Var, places: Sequence[Footprint]) -> list[str]:
        """Whether these places of a version are as they are in the carry's "last" and its "first"
        value."""
        carry = self.carry[version]
        at = self.chains[carry].index(version)
        here, there = self._writes(carry, True), self._writes(carry, False)
        found: list[str] = []
        if here is None or there is None:
            return found
        name, now, length, reverse = self.steps
        for end, step in (("last", here[at:]), ("first", here[:at])):
            later = (end == "last") != reverse
            self.ranges[name] = (now + 1, length) if later else (0, now)
            others = [*itertools.chain.from_iterable(step)], [*itertools.chain.from_iterable(there)]
            if all(self.apart(p, w) for p in places for w in itertools.chain(*others)):
                found.append(end)
        return found

    def apart_in_two_steps(self, carry: Var) -> bool:
        """Whether no two steps write to one place of a carry."""
        here, there = self._writes(carry, True), self._writes(carry, False)
        if here is None or there is None:
            return False
        name, now, length, _ = self.steps
        mine, others = (list(itertools.chain.from_iterable(w)) for w in (here, there))
        for self.ranges[name] in ((now + 1, length), (0, now)):
            if not all(self.apart(a, b) for a in mine for b in others):
                return False
        return True

    def _writes(self, carry: Var, now: bool) -> list[list[Footprint]] | None:
        """What each write of a step overwrites, in this step or another one."""
        if (carry, now) not in self.written:
            scope = self.now if now else self.other
            self.written[carry, now] = scope.writes(self.chains[carry], self.made)
        return self.written[carry, now]

    def apart(self, a: Footprint, b: Footprint) -> bool:
        """Whether two places have no element in common."""
        for n, mine, theirs in zip(a.shape, a.axes, b.axes, strict=True):
            if mine is None or theirs is None:
                continue
            for (low, high), (least, most) in ((mine, theirs), (theirs, mine)):
                if self.certain(least - high - 1) and self.certain(n - 1 - (most - low)):
                    return True
        return False

    def certain(self, value: Int) -> bool:
        """Whether an expression is not negative, whatever the steps. Sizes are at least 2."""
        while not isinstance(value, int):
            named = [n for n in integers.symbols(value) if n in self.ranges]
            if not named:
                break
            # A range may be in terms of symbols that have ranges themselves: theirs come later.
            name = max(named, key=self._depth)
            factor = integers.coefficient(value, name)
            if not isinstance(factor, int):
                return False
            low, end = self.ranges[name]
            value = integers.substitute(value, {name: low if factor > 0 else end - 1})
        if isinstance(value, int):
            return value >= 0
        names = integers.symbols(value)
        if any(n.startswith(UNKNOWN) for n in names):
            return False
        least = {n: integers.symbol(n) + (0 if n.startswith(COUNT) else 2) for n in names}
        value = integers.substitute(value, least)
        return value >= 0 if isinstance(value, int) else all(c >= 0 for _, c in value.terms)

    def _depth(self, name: str) -> int:
        if name not in self.ranges:
            return 0
        names = {n for end in self.ranges[name] for n in integers.symbols(end)}
        return 1 + max(map(self._depth, names), default=0)


class Counting:
    """The expressions of integers in one graph."""

    def __init__(
        self, of: Settled, known: Mapping[Var, Int], sizes: Mapping[str, Int] | None = None
    ) -> None:
        """
        sizes   what sizes are in this graph that are known late
        """
        self.of, self.known, self.sizes = of, dict(known), dict(sizes or {})

    def form(self, atom: Atom) -> Int:
        """The expression of an integer."""
        if not isinstance(atom, Var):
            value = atom.value
            return (
                integers.substitute(value, self.sizes)
                if isinstance(value, integers.Integer)
                else int(value.real)
            )
        if atom not in self.known:
            self.known[atom] = integers.symbol(next(self.of.names))
        return self.known[atom]

    def look(self, nodes: Sequence[Node]) -> None:
        """Find the expressions that these nodes make."""
        for node in nodes:
            if (form := made_of(node, self.form)) is not None:
                self.known[node.outputs[0]] = form

    def inside(self, node: Node) -> Iterator[tuple[Graph, Counting, dict[Var, Atom]]]:
        """The graphs of a node with scopes of their own, and the operands that their inputs are,
        without what a loop hands on and takes apart."""
        rule = node.op.lowering
        pairs: list[tuple[Graph, dict[Var, Atom]]] = []
        known: dict[Var, Int] = {}
        sizes = self.sizes
        if is_loop(node):
            loop = Loop.of(node)
            pairs = [(loop.body, {c.inside: c.given for c in loop.constants})]
            if loop.test is not None:
                asked = {c.asked: c.given for c in loop.constants if c.asked is not None}
                pairs.append((loop.test, asked))
            if loop.number is not None and loop.test is None:
                number = integers.symbol(next(self.of.names))
                length = integers.substitute(loop.param("length"), sizes)
                self.of.ranges[str(number)] = 0, length
                known[loop.number] = number
        elif rule is lowering.SIZED:
            graph: Graph = node.params["graph"]
            pairs = [(graph, dict(zip(graph.inputs, node.inputs[1:], strict=True)))]
            count = self.form(node.inputs[0])
            if not isinstance(count, int) and self._vague(count):
                count = integers.symbol(f"{COUNT}{next(self.of.names)}")
            sizes = {**sizes, node.params["symbol"]: count}
        elif rule is lowering.SWITCH:
            pairs = [
                (g, dict(zip(g.inputs, node.inputs[1:], strict=True))) for g in node.subgraphs()
            ]
        for graph, operands in pairs:
            integers_given = {
                v: self.form(a) for v, a in operands.items() if _integral(v) and _integral(a)
            }
            scope = Counting(self.of, {**integers_given, **known}, sizes)
            scope.look(graph.nodes)
            yield graph, scope, operands

    def _vague(self, value: Int) -> bool:
        """Whether an expression holds what has no range."""
        return any(
            n.startswith(UNKNOWN) and n not in self.of.ranges for n in integers.symbols(value)
        )

    def place(self, node: Node, source: Var, first: int) -> Footprint:
        """Where a node reads or writes; its indices begin at operand `first`."""
        axes: list[Interval] = [None] * source.type.ndim
        indices = node.inputs[first:]
        for axis, index, window in zip(
            node.params["axes"], indices, node.params["windows"], strict=True
        ):
            if _integral(index):
                low, high = (integers.substitute(x, self.sizes) for x in ends_of(window)[:2])
                start = self.form(index)
                axes[axis] = start + low, start + high - 1
        return Footprint(source.type.shape, tuple(axes))

    def writes(
        self, chain: Sequence[Var], made: Mapping[Var, Node]
    ) -> list[list[Footprint]] | None:
        """Where each of the nodes that make one version of the next writes."""
        found: list[list[Footprint]] = []
        for old, new in itertools.pairwise(chain):
            node = made[new]
            if isinstance(node.op.lowering, lowering.Scatter):
                if "windows" not in node.params:
                    return None
                found.append([self.place(node, old, 2)])
                continue
            within: list[Footprint] = []
            at, operand = node.outputs.index(new), passed(node)[new]
            for graph, scope, _ in self.inside(node):
                if is_loop(node):
                    if graph is not node.params["body"]:
                        continue
                    source = graph.inputs[operand]
                else:
                    source = graph.inputs[operand - 1]
                inner = {v: n for n in graph.nodes for v in n.outputs}
                path = chain_of(graph.outputs[at], inner)
                if not path or path[0] is not source:
                    return None
                steps = scope.writes(path, inner)
                if steps is None:
                    return None
                within.extend(itertools.chain.from_iterable(steps))
            found.append(within)
        return found

    def reads(self, graph: Graph, var: Var) -> list[Footprint] | None:
        """Where a graph reads an array; None where it does anything else with it."""
        found: list[Footprint] = []
        if var in graph.outputs:
            return None
        for node in graph.nodes:
            if var not in node.inputs:
                continue
            more = self.read_by(node, var)
            if more is None:
                return None
            found.extend(more)
        return found

    def read_by(self, node: Node, var: Var) -> list[Footprint] | None:
        """Where a node reads an array."""
        if isinstance(node.op.lowering, lowering.Gather):
            known = var not in node.inputs[1:] and "windows" in node.params
            return [self.place(node, var, 1)] if known else None
        rule = node.op.lowering
        if not is_loop(node) and rule is not lowering.SIZED and rule is not lowering.SWITCH:
            return None
        handed_on = node.inputs[node.params["constants"] :] if is_loop(node) else node.inputs[:1]
        if var in handed_on:
            return None
        found: list[Footprint] = []
        for graph, scope, operands in self.inside(node):
            for v, a in operands.items():
                if a is not var:
                    continue
                more = scope.reads(graph, v)
                if more is None:
                    return None
                found.extend(more)
        return found


def _integral(atom: Atom) -> bool:
    kind = atom.type
    return kind.shape == () and kind.dtype.kind in "iu"


__all__ = ["Footprint", "Settled"]
