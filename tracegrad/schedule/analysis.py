"""Which values of a graph are stored, and which are computed where they are read."""

from __future__ import annotations

from collections.abc import Collection

from .._codegen import integers, lowering
from ..ir.graph import Graph, Node, Var
from ..sizes import same, same_shape
from ..types import Int
from .flat import RECORD, in_parts, is_record

COSTLY = 20
"""A value this expensive (in additions) is stored when it would be computed in two places."""
NEARBY = 1024
"""An array of so few elements stays in the nearest cache: storing it is as cheap as a few
additions."""
ARITHMETIC = 9
"""What is more expensive is an elementary function."""
WITHIN = 1 << 21
"""Storing an array of so few elements takes less time than an elementary function."""
ROWS = range(9, NEARBY + 1)
"""The sizes of a last axis of which one row at a time is kept, in the nearest cache; shorter ones
are unrolled."""
FROM_ROW_TO_ROW = 11
"""A value this expensive is stored when neighbouring rows of it are read: of few rows at a time,
mostly (`rows_in_turn.py`)."""
NARROW = 32
"""Shorter rows are not worth a loop of their own for each."""
IN_A_ROW = 5
"""A value this expensive is kept where one row of it at a time is."""
REPEATED = 8
"""A value this expensive is stored before it is broadcast along a long axis."""
SCATTERED = 100
"""A value this expensive is stored before short rows of it are written at places."""
SHORT = 16
"""A reduction over at most this many elements may be computed where it is read."""
HUGE = 2000
MOVES = (lowering.View, lowering.Piecewise, lowering.Gather)
OPAQUE = (
    lowering.Library,
    lowering.Kernel,
    lowering.Scan,
    lowering.Scatter,
    lowering.Region,
    lowering.Effect,
    lowering.ArgReduce,
)


class Analysis:
    """Decides once per graph; `stored` holds the variables that get a buffer."""

    def __init__(
        self,
        graph: Graph,
        given: set[Var],
        stored: Collection[Var] = (),
        numbers: Collection[Var] = (),
        cached: bool = True,
    ) -> None:
        """
        given       what lies somewhere already
        stored      what is to be stored in any case
        numbers     what is written as an integer expression wherever it is read
        cached      whether what one row needs stays in a cache until the next one
        """
        self.graph, self.numbers, self.cached = graph, numbers, cached
        self.stored: set[Var] = {v for n in graph.nodes for v in n.outputs if v in stored}
        self.given = given
        self.node: dict[Var, Node] = {v: n for n in graph.nodes for v in n.outputs}
        self.uses: dict[Var, list[Node]] = {}
        self.members: dict[Var, dict[Node, int]] = {}
        self.calling: set[Var] = set()
        """What is computed by an elementary function, among others."""
        self.placed: set[Node] = set()
        """What pieces of arrays are made of."""
        self.roots: dict[Var, set[Node]] = {}
        """Whose loops a value is computed in, where it is not stored."""
        self.required()
        self.costs()
        self.repeated()

    def required(self) -> None:
        """What must be stored whatever it costs."""
        for node in self.graph.nodes:
            for a in dict.fromkeys(a for a in node.inputs if isinstance(a, Var)):
                self.uses.setdefault(a, []).append(node)
            rule = node.op.lowering
            assert rule is not None, f"{node.op.name} has no lowering"
            if isinstance(rule, OPAQUE):
                self.stored.update(node.outputs)
        self.stored.update(
            a for a in self.graph.outputs if isinstance(a, Var) and a not in self.given
        )

    def is_stored(self, var: Var) -> bool:
        return var in self.stored or var in self.given

    def store(self, var: Var) -> None:
        if var not in self.given and var not in self.numbers:
            self.stored.add(var)

    def cost(self, var: Var) -> int:
        return 1 if self.is_stored(var) else sum(self.members.get(var, {}).values())

    def costs(self, shifted: bool = False) -> None:
        """Forward: what computing one element takes; reductions that are long or dear are
        stored, and what is read at several shifted places, if that is asked for."""
        for node in self.graph.nodes:
            rule = node.op.lowering
            var = node.outputs[0]
            sources = [a for a in node.inputs if isinstance(a, Var)]
            if isinstance(rule, lowering.Gather):
                for a in sources[:1]:
                    if self.cost(a) > REPEATED:
                        self.store(a)
            if isinstance(rule, lowering.Scatter):
                # A loop that writes short rows at places computes one by one what vectorises
                # elsewhere.
                for a in sources[1:2]:
                    last = a.type.shape[-1] if a.type.shape else 0
                    short = isinstance(last, int) and last <= RECORD
                    if short and self.cost(a) > SCATTERED:
                        self.store(a)
            self.count(node)
            if isinstance(rule, lowering.Reduce):
                count = integers.product(
                    [node.inputs[0].type.shape[k] for k in node.params["axes"]]
                )
                if not (
                    isinstance(count, int)
                    and 0 < count <= SHORT
                    and self.cost(var) <= 64
                    and var.type.ndim > 0
                ):
                    self.store(var)
            if sum(self.members.get(var, {}).values()) > HUGE and not in_parts(node):
                if not shifted:
                    # Steps of which each reads the last one at several places multiply what they
                    # cost: what will be stored of them counts no more.
                    self.costs(shifted=True)
                    return
                self.store(var)
            if shifted and self.shifted(var):
                self.store(var)
            if var.type.ndim == 0 and self.cost(var) > REPEATED:
                self.store(var)

    def count(self, node: Node) -> None:
        """What one element costs, from what its operands cost now."""
        rule, var = node.op.lowering, node.outputs[0]
        sources = [a for a in node.inputs if isinstance(a, Var)]
        calls = isinstance(rule, lowering.Pointwise) and rule.cost > ARITHMETIC
        calls = calls or any(a in self.calling and not self.is_stored(a) for a in sources)
        (self.calling.add if calls else self.calling.discard)(var)
        if isinstance(rule, lowering.Pointwise):
            mine: dict[Node, int] = {node: rule.cost}
            for a in sources:
                if not self.is_stored(a):
                    mine.update(self.members[a])
            self.members[var] = mine
        elif isinstance(rule, lowering.View) and sources and _same_elements(sources[0], var):
            self.members[var] = {} if self.is_stored(sources[0]) else self.members[sources[0]]
        elif isinstance(rule, (lowering.View, lowering.Piecewise)):
            # Read at another index, so nothing of it is shared with what is read at this one.
            # Which piece a place is in is asked for in the code for each reader: chains of writes
            # to few elements that read one another would double it with each write.
            size = var.type.size
            few = isinstance(size, int) and size <= SHORT
            places = len(sources) if isinstance(rule, lowering.Piecewise) and few else 0
            self.members[var] = {node: places + sum(self.cost(a) for a in sources)}
        elif isinstance(rule, lowering.Gather):
            # Several rows from one place on are read as those of a slice are.
            begins = var.type.ndim > 1 and not any(a.type.shape for a in node.inputs[1:])
            self.members[var] = {
                node: self.cost(sources[0]) if begins else 4 + sum(map(self.cost, sources))
            }
        elif isinstance(rule, lowering.Reduce):
            count = integers.product([node.inputs[0].type.shape[k] for k in node.params["axes"]])
            self.members[var] = {
                node: (count if isinstance(count, int) else HUGE)
                * (sum(self.cost(a) for a in sources) + 1)
            }

    def widened(self, a: Var, node: Node) -> None:
        """Store an operand that is worth it before it is broadcast along a long axis."""
        if self.is_stored(a) or self.cost(a) < REPEATED:
            return
        if _much_larger(node.outputs[0].type.size, a.type.size):
            self.store(a)

    def limit(self, var: Var, shifted: bool = False) -> int:
        """The cost from which on a value is rather stored than computed in two places, or at
        `shifted` ones: less where storing is cheap, and where loops that write at places compute it
        one by one."""
        size = var.type.size
        if isinstance(size, int) and size <= NEARBY:
            return REPEATED
        if self.row_by_row(var):
            # What vectors of numbers compare to is packed into bytes, and unpacked again.
            return REPEATED if var.type.dtype.kind == "b" else IN_A_ROW
        if any(isinstance(r.op.lowering, lowering.Scatter) for r in self.roots[var]):
            return REPEATED
        few = self.cached and isinstance(size, int) and size <= WITHIN
        if few and var in self.calling:
            return ARITHMETIC
        last = var.type.shape[-1] if var.type.ndim > 1 else 0
        wide = self.cached and not (isinstance(last, int) and last < NARROW)
        return FROM_ROW_TO_ROW if shifted and wide else COSTLY

    def row_by_row(self, var: Var) -> bool:
        """Whether a value is summed along its rows, as in a softmax: what else reads it reads the
        same row then, before the next one is computed."""
        last = var.type.ndim - 1
        row = var.type.shape[-1] if last > 0 else 0
        return (
            self.cached
            and isinstance(row, int)
            and row in ROWS
            and any(
                isinstance(r.op.lowering, lowering.Reduce) and r.params["axes"] == (last,)
                for r in self.roots[var]
            )
        )

    def moved(self, var: Var) -> int:
        """How many readers take its elements to other places."""
        count = 0
        for r in self.uses.get(var, []):
            if isinstance(r.op.lowering, MOVES) and not is_record(r):
                count += self.moved(r.outputs[0]) if _same_elements(var, r.outputs[0]) else 1
        return count

    def shifted(self, var: Var) -> bool:
        """Whether it is read at so many shifted places that it is rather stored, whatever else it
        is read for."""
        moved = self.moved(var)
        return moved > 1 and self.cost(var) * max(1, moved // 2) > COSTLY

    def pieces(self, node: Node) -> None:
        """Store what several pieces of arrays are made of: each is written by a loop of its own, or
        by a part of one."""
        common: set[Node] = set()
        for a in dict.fromkeys(
            a for a in node.inputs if isinstance(a, Var) and not self.is_stored(a)
        ):
            cone = self.members.get(a, {}).keys()
            common |= self.placed & cone
            self.placed |= cone
        for inner in common:
            v = inner.outputs[0]
            if (
                not self.is_stored(v)
                and self.cost(v) > self.limit(v, shifted=True)
                and not all(r in common for r in self.uses[v])
            ):
                self.store(v)

    def repeated(self) -> None:
        """Store what would otherwise be computed again in a later loop, or at several shifted
        places."""
        number = {n: k for k, n in enumerate(self.graph.nodes)}
        before: dict[Var, int] = {}
        for n in self.graph.nodes:
            mask = 1 << number[n]
            for a in n.inputs:
                if isinstance(a, Var):
                    mask |= before.get(a, 0)
            for v in n.outputs:
                before[v] = mask
        roots = self.roots
        for n in reversed(self.graph.nodes):
            for v in n.outputs:
                found: set[Node] = set()
                for r in self.uses.get(v, []):
                    if isinstance(r.op.lowering, OPAQUE) or any(
                        self.is_stored(o) for o in r.outputs
                    ):
                        found.add(r)
                    else:
                        for o in r.outputs:
                            found |= roots.get(o, set())
                roots[v] = found
        for n in self.graph.nodes:
            # In order, so that a value counts as cheap once what it is made of is stored.
            if isinstance(n.op.lowering, (lowering.Pointwise, lowering.View)):
                for a in n.inputs:
                    if isinstance(a, Var):
                        self.widened(a, n)
            if isinstance(n.op.lowering, lowering.Piecewise):
                self.pieces(n)
            self.count(n)
            v, readers = n.outputs[0], self.uses.get(n.outputs[0], [])
            shifted = self.moved(v)
            if (
                self.is_stored(v)
                or len(readers) < 2
                or self.cost(v) * max(1, shifted // 2) <= self.limit(v, shifted > 0)
            ):
                continue
            later = any(
                a is not b and before[b.outputs[0]] >> number[a] & 1
                for a in roots[v]
                for b in roots[v]
            )
            opaque = len(roots[v]) > 1 and any(isinstance(r.op.lowering, OPAQUE) for r in roots[v])
            if shifted or later or opaque:
                self.store(v)


def _same_elements(a: Var, b: Var) -> bool:
    """Whether a view only inserts or removes axes of size 1."""
    return same_shape(*[[s for s in v.type.shape if not same(s, 1)] for v in (a, b)])


def _much_larger(a: Int, b: Int) -> bool:
    if isinstance(a, int) and isinstance(b, int):
        return a > 4 * b
    return not same(a, b) and not isinstance(
        integers.floordiv(a, b) if _divides(a, b) else None, int
    )


def _divides(a: Int, b: Int) -> bool:
    return same(integers.mod(a, b), 0)
