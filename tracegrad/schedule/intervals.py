"""Between which numbers the integers stay that a loop hands from step to step.

Whether `(low + high) // 2` is a place of an array, no range of a loop tells: what a step makes of
`low` and `high` does. Ends are guessed (the numbers the loop starts with, those that its condition
compares with, each with what a step adds), all of them are assumed, and those are dropped that the
first values or, under these assumptions, one step would leave: the others hold by induction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from .._codegen import integers, lowering
from ..dtypes import BOOL, INT64
from ..ir.graph import Atom, Graph, Literal, Node, Var
from ..ir.loops import Loop
from ..ops.elementwise.arithmetic import where_op
from ..ops.elementwise.comparison import maximum_op, minimum_op
from ..ops.elementwise.derived import convert_op
from ..ops.elementwise.logic import bitwise_and_op, logical_and_op, logical_not_op
from ..types import ArrayType, Int
from .bounds import LONGEST, WRAPS, Ranges, exact, nonnegative
from .counts import numbers

COUNT = ArrayType(INT64, ())
CASES = 16
"""So many values are told apart that a step may give."""
PASS = "?pass"
"""The number of the pass, of a loop that says how many there are."""


class Possible(NamedTuple):
    """What an integer may be."""

    value: Int
    given: tuple[Int, ...] = ()
    """What is not negative then."""


class Between(NamedTuple):
    """The least and the largest that an integer may be."""

    least: Int
    most: Int


class Bounds(NamedTuple):
    """The ends of a carry, which may be in terms of `PASS`."""

    always: Between
    """Before and after each step."""
    inside: Between
    """In a step, which has begun because the condition held."""


@dataclass
class Cases:
    """What the nodes of graphs make of integers. `forms` are the expressions of the inputs."""

    forms: Mapping[Var, Int]
    ranges: Ranges
    made: dict[Var, tuple[Node, int]] = field(default_factory=dict)
    known: dict[Var, tuple[Possible, ...]] = field(default_factory=dict)

    def enter(self, graph: Graph) -> None:
        for node in graph.nodes:
            self.made.update({v: (node, k) for k, v in enumerate(node.outputs)})

    def of(self, atom: Atom) -> tuple[Possible, ...]:
        """What an integer may be; nothing where that is not known."""
        if isinstance(atom, Literal):
            value = atom.value
            if isinstance(value, integers.Integer):
                return (Possible(value),)
            return (Possible(int(value.real)),) if atom.type.dtype.kind in "iu" else ()
        if atom in self.forms:
            return (Possible(self.forms[atom]),)
        if atom not in self.known:
            made = self.made.get(atom)
            found = () if made is None or atom.type != COUNT else self._made(*made)
            fits = len(found) <= CASES and all(exact(c.value, self.ranges) for c in found)
            self.known[atom] = found if fits else ()
        return self.known[atom]

    def _made(self, node: Node, k: int) -> tuple[Possible, ...]:
        if node.op is where_op:
            return self._chosen(node.inputs[0], *map(self.of, node.inputs[1:]))
        if node.op is convert_op and node.inputs[0].type.dtype == BOOL:
            return self._chosen(node.inputs[0], (Possible(1),), (Possible(0),))
        if node.op.lowering is lowering.SWITCH:
            return self._branches(node, k)
        if any(a.type.shape or a.type.dtype.kind not in "iu" for a in node.inputs):
            return ()
        # What is narrower may have wrapped around.
        if any(isinstance(a, Var) and a.type.dtype != INT64 for a in node.inputs):
            return ()
        operands = [self.of(a) for a in node.inputs]
        if node.op is maximum_op or node.op is minimum_op:
            sign = 1 if node.op is maximum_op else -1
            return tuple(
                case
                for x, y in product(*operands)
                for case in (
                    Possible(x.value, (*x.given, *y.given, sign * (x.value - y.value))),
                    Possible(y.value, (*x.given, *y.given, sign * (y.value - x.value))),
                )
            )
        if node.op.symbolic is None and node.op.divided is None:
            return ()
        return tuple(self._computed(node, operands))

    def _computed(self, node: Node, operands: Sequence[tuple[Possible, ...]]) -> Iterator[Possible]:
        for cases in product(*operands):
            values, given = [c.value for c in cases], tuple([g for c in cases for g in c.given])
            if node.op.symbolic is not None:
                yield Possible(node.op.symbolic(*values), given)
                continue
            value, divisor = values
            assert node.op.divided is not None
            if isinstance(divisor, int) and divisor > 0 and self.certain(value, given):
                yield Possible(node.op.divided(value, divisor), given)
            else:
                yield Possible(WRAPS)  # of which nothing is told

    def _chosen(
        self, condition: Atom, yes: tuple[Possible, ...], no: tuple[Possible, ...]
    ) -> tuple[Possible, ...]:
        if not yes or not no:
            return ()
        return tuple(
            Possible(c.value, (*c.given, *facts))
            for cases, holds in ((yes, True), (no, False))
            for facts in [self.facts(condition, holds)]
            for c in cases
        )

    def _branches(self, node: Node, k: int) -> tuple[Possible, ...]:
        if node.inputs[0].type.dtype != BOOL:
            return ()
        no, yes = [self._inside(node, graph).of(graph.outputs[k]) for graph in branches(node)]
        return self._chosen(node.inputs[0], yes, no)

    def _inside(self, node: Node, graph: Graph) -> Cases:
        given = zip(graph.inputs, node.inputs[1:], strict=True)
        cases = {v: self.of(a) for v, a in given if a.type == COUNT}
        inside = Cases(dict(self.forms), self.ranges, dict(self.made), {**self.known, **cases})
        inside.enter(graph)
        return inside

    def facts(self, condition: Atom, holds: bool) -> tuple[Int, ...]:
        """What is not negative where a condition holds, or where it does not."""
        made = self.made.get(condition) if isinstance(condition, Var) else None
        if made is None:
            return ()
        node, k = made
        op = node.op
        if op.margin is not None:
            # Of what is not known nothing follows.
            x, y = map(self.of, node.inputs)
            if len(x) != 1 or len(y) != 1 or x[0].given or y[0].given:
                return ()
            margin = op.margin(x[0].value, y[0].value)
            return (margin if holds else -margin - 1,)
        if op is logical_not_op:
            return self.facts(node.inputs[0], not holds)
        if op is logical_and_op or (op is bitwise_and_op and condition.type.dtype == BOOL):
            return tuple(f for a in node.inputs for f in self.facts(a, True)) if holds else ()
        if op is where_op:
            no, yes = self.forced(node.inputs[2]), self.forced(node.inputs[1])
            sides = (self, node.inputs[2]), (self, node.inputs[1])
        elif op.lowering is lowering.SWITCH and node.inputs[0].type.dtype == BOOL:
            graphs = branches(node)
            no, yes = [self.forced(g.outputs[k]) for g in graphs]
            first, second = [(self._inside(node, g), g.outputs[k]) for g in graphs]
            sides = first, second
        else:
            return ()
        # `a and b`, `a or b`: where one side cannot be what the whole is, the other one was taken.
        for at, side in enumerate((no, yes)):
            if side is (not holds):
                cases, atom = sides[1 - at]
                return (*self.facts(node.inputs[0], not at), *cases.facts(atom, holds))
        return ()

    @staticmethod
    def forced(atom: Atom) -> bool | None:
        """What a condition always is."""
        return bool(atom.value) if isinstance(atom, Literal) else None

    def certain(self, value: Int, given: Sequence[Int] = ()) -> bool:
        """Whether `value >= 0` is certain, where what is given is not negative."""
        return nonnegative(value, self.ranges) or any(
            nonnegative(value - fact, self.ranges) for fact in given
        )


def branches(node: Node) -> Sequence[Graph]:
    """The graph for what is false, and the one for what is true."""
    found: Sequence[Graph] = node.params["branches"]
    return found


def kept_between(
    loop: Loop, given: Mapping[Var, Int], firsts: Sequence[Int | None], ranges: Ranges
) -> dict[int, Bounds]:
    """The carries that stay between two numbers, by their places among the carries.

    given   what is known of integers that the body and the test read
    firsts  the first values of the carries, so far as they are known
    ranges  what is known of the symbols in these
    """
    kinds = [c.inside.type for c in loop.carries]
    first = {k: f for k, f in enumerate(firsts) if f is not None and kinds[k] == COUNT}
    if not first or not _read_as_places(loop, given):
        return {}
    return _Guesses(loop, given, first, ranges).settled()


def _read_as_places(loop: Loop, given: Mapping[Var, Int]) -> bool:
    """Whether places are made of integers that a step hands on, perhaps by graphs inside."""
    carried = {c.inside for c in loop.carries if c.inside.type == COUNT}
    made = carried | numbers(loop.body, carried | {*given})
    return any(
        a in made
        for node in loop.body.nodes
        if not isinstance(node.op.lowering, lowering.Pointwise)
        for a in node.inputs
    )


class _Guesses:
    """The ends that may still hold, of each carry the narrowest first."""

    def __init__(
        self, loop: Loop, given: Mapping[Var, Int], first: Mapping[int, Int], ranges: Ranges
    ) -> None:
        self.loop, self.first = loop, first
        self.given, self.ranges = dict(given), dict(ranges)
        self.own = {k: integers.symbol(f"?carry{k}") for k in first}
        self.length: Int | None = loop.param("length")
        if self.length is not None and loop.number is not None:
            at = integers.symbol(PASS)
            self.ranges[PASS] = 0, self.length
            self.given[loop.number] = self.length - 1 - at if loop.param("reverse") else at
        self.least: dict[int, list[Int]] = {}
        self.most: dict[int, list[Int]] = {}
        self._guess()

    def _cases(self, ends: Mapping[int, Between]) -> Cases:
        """What a step makes of integers where carries are between these ends."""
        forms, ranges = dict(self.given), dict(self.ranges)
        for k, e in ends.items():
            carry = self.loop.carries[k]
            forms[carry.inside] = self.own[k]
            if carry.asked is not None:
                forms[carry.asked] = self.own[k]
            ranges[str(self.own[k])] = e.least, e.most + 1
        found = Cases(forms, ranges)
        for graph in (self.loop.body, self.loop.test):
            if graph is not None:
                found.enter(graph)
        return found

    def _guess(self) -> None:
        # What these ends prove is not so: the cases only say what is compared, and what is added.
        cases = self._cases(dict.fromkeys(self.first, Between(0, LONGEST)))
        ends = self._compared(self._asked(cases))
        for k, first in self.first.items():
            steps = {c.value - self.own[k] for c in cases.of(self.loop.carries[k].next)}
            added = [s for s in steps if isinstance(s, int)]
            low, high = min([0, *added]), max([0, *added])
            starts = [first, *[f for f in dict.fromkeys(self.first.values()) if f != first]]
            least = [*starts, *ends, 0, *[e + low for e in ends], *[e - 1 for e in starts]]
            most = [*starts, *ends, *[e + high for e in ends], *[e + 1 for e in starts]]
            if self.length is not None and len(added) == len(steps):
                passed = integers.symbol(PASS)
                least.insert(0, first + min(added, default=0) * passed)
                most.insert(0, first + max(added, default=0) * passed)
            self.least[k] = [e for e in dict.fromkeys(least) if self._begins(first - _at(e, 0))]
            self.most[k] = [e for e in dict.fromkeys(most) if self._begins(_at(e, 0) - first)]

    def _begins(self, difference: Int) -> bool:
        return nonnegative(difference, self.ranges)

    def _asked(self, cases: Cases) -> tuple[Int, ...]:
        """What is not negative where another step begins."""
        test = self.loop.test
        return () if test is None else cases.facts(test.outputs[0], True)

    def _compared(self, facts: Sequence[Int]) -> list[Int]:
        """The numbers with which the condition compares carries."""
        found = []
        carried = {*map(str, self.own.values())}
        for fact in facts:
            for name in carried & integers.symbols(fact):
                rest = integers.substitute(fact, {name: 0})
                factor = integers.coefficient(fact, name)
                if factor in (1, -1) and not integers.symbols(rest) & carried:
                    found.append(-factor * rest)
        return list(dict.fromkeys(found))

    def settled(self) -> dict[int, Bounds]:
        """What holds by induction."""
        while True:
            ends = {
                k: Between(self.least[k][0], self.most[k][0])
                for k in self.first
                if self.least[k] and self.most[k]
            }
            inside = self._entered(ends)
            cases = self._cases(inside)
            stays = [self._stays(k, cases) for k in ends]
            if all(stays):
                return {k: Bounds(e, inside[k]) for k, e in ends.items()}

    def _entered(self, ends: Mapping[int, Between]) -> dict[int, Between]:
        """The ends in a step, which the condition may narrow."""
        cases = self._cases(ends)
        facts = self._asked(cases)
        if not facts:
            return dict(ends)
        worth = [*self._compared(facts), *[x for e in ends.values() for x in e]]
        inside = {}
        for k, (least, most) in ends.items():
            above = [x for x in worth if cases.certain(self.own[k] - x, facts)]
            below = [x for x in worth if cases.certain(x - self.own[k], facts)]
            highest = -self._narrower(-most, [-x for x in below])
            inside[k] = Between(self._narrower(least, above), highest)
        return inside

    def _narrower(self, least: Int, others: Sequence[Int]) -> Int:
        for x in others:
            if nonnegative(x - least, self.ranges):
                least = x
        return least

    def _stays(self, k: int, cases: Cases) -> bool:
        """Whether a step stays within the ends of a carry; one that it leaves is dropped."""
        found, after = cases.of(self.loop.carries[k].next), 1 + integers.symbol(PASS)
        if not found:
            self.least[k].clear()
            return False
        stays = True
        for ends, sign in ((self.least[k], 1), (self.most[k], -1)):
            end = _at(ends[0], after)
            if not all(cases.certain(sign * (c.value - end), c.given) for c in found):
                stays = False
                del ends[0]
        return stays


def _at(end: Int, number: Int) -> Int:
    """An end at the pass of that number."""
    return integers.substitute(end, {PASS: number})


__all__ = ["Between", "Bounds", "kept_between"]
