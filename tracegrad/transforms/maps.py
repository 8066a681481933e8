"""Loops whose steps do not need each other, as operations on whole arrays: they fuse, vectorise,
and run on threads, and so do their derivatives.

    for i in range(n - 1):          y = put(y, sin(x[0:n-1]) * x[1:n], 0)
        y[i] = sin(x[i]) * x[i + 1]  ->  s = s + sum(x[0:n-1])
        s += x[i]

A loop is a map if no step reads what an earlier one has written, and no two steps write to one
place: then all that is read stands in the first values of the carries. That is proven with the
footprints of `settled.py`. A carry to which each step only adds something becomes a sum. Where a
step holds loops or branches, which each item decides for itself, the loop stays one, without
carries.
"""

from __future__ import annotations

from typing import NamedTuple

from .._codegen import integers, lowering
from ..ir.forms import UNKNOWN, About
from ..ir.graph import Atom, Graph, Node, Var
from ..ops.elementwise.arithmetic import sub_op
from ..ops.elementwise.derived import add_op
from ..ops.places.gathering import ADDING
from ..types import Int, equal_types
from .settled import Settled


class Along(NamedTuple):
    """The places of all steps along one axis, which are a slice of it."""

    place: int
    """Which of the indices it is."""
    axis: int
    """The axis of the source."""
    least: Int | None
    """Where the slice begins, where that is known before the program runs."""
    step: int
    """How far the places of two steps are apart; negative where they go down."""


class Write(NamedTuple):
    node: Node
    along: Along | None


class StepsApart:
    """What the steps of a loop do, if it is a map."""

    def __init__(self, body: Graph, counts: tuple[int, int], length: Int, known: About) -> None:
        """
        counts  how many constants and carries the body takes, before the number of the step
        """
        n, c = counts
        self.body, self.length = body, length
        self.constants, self.carries = body.inputs[:n], body.inputs[n : n + c]
        self.number = body.inputs[n + c]
        pairs = list(zip(self.carries, body.outputs, strict=True))
        self.settled = Settled(body, pairs, self.number, length, False, known)
        self.settled.now.look(body.nodes)
        self.made = self.settled.made
        self.readers: dict[Atom, list[Node]] = {}
        for node in body.nodes:
            for a in dict.fromkeys(node.inputs):
                self.readers.setdefault(a, []).append(node)
        self.writes: dict[Var, list[Write]] = {}
        self.terms: dict[Var, list[tuple[Node, int]]] = {}
        """Of each carry to which something is added what is, by node and operand."""
        self.still = {v for v, after in pairs if v is after}
        self.skipped: set[Node] = set()
        self.forwarded: dict[Node, Node] = {}
        """Reads of what the same step has written there, and that write."""
        self.along: dict[Node, Along] = {}

    def are_a_map(self) -> bool:
        """Whether no step needs another one; what they do is known then."""
        if not _known(self.body):
            return False
        for v, after in zip(self.carries, self.body.outputs, strict=True):
            if v in self.still:
                continue
            if not (self._adds(v, after) if v not in self.settled.chains else self._writes(v)):
                return False
        if not self.writes and not self.terms:
            return False
        for node in self.body.nodes:
            if node not in self.skipped and not self._reads(node):
                return False
        if not self._fits():
            return False
        # Where there may be no step, what all steps share is computed all the same.
        return self.settled.certain(self.length - 1) or all(map(self._is_safe, self.body.nodes))

    def _fits(self) -> bool:
        """Whether what all steps compute together takes no more memory than what they write."""
        if any(any(n.subgraphs()) for n in self.body.nodes):
            return bool(self.writes)
        written = {w.node.inputs[1].type.size for ws in self.writes.values() for w in ws}
        made = [
            v for n in self.body.nodes if n not in self.skipped for v in n.outputs if self.varies(v)
        ]
        return all(not v.type.shape or v.type.size in written for v in made)

    def _is_safe(self, node: Node) -> bool:
        """Whether a node may be computed where no step asks for it: it cannot fail."""
        rule = node.op.lowering
        if any(node.subgraphs()) or isinstance(rule, lowering.Library):
            return False
        if not isinstance(rule, lowering.Gather) or self.varies(node.outputs[0]):
            return True
        source = node.inputs[0]
        if not isinstance(source, Var):
            return False
        place = self.settled.now.place(node, source, 1) if "windows" in node.params else None
        return place is not None and all(
            span is not None
            and self.settled.certain(span[0])
            and self.settled.certain(n - 1 - span[1])
            for k, (n, span) in enumerate(zip(place.shape, place.axes, strict=True))
            if k in node.params["axes"]
        )

    def _adds(self, v: Var, after: Atom) -> bool:
        found: list[tuple[Node, int]] = []
        atom = v
        # Of arrays each step would keep one.
        if v.type.dtype.kind not in "iufc" or v.type.shape or not isinstance(after, Var):
            return False
        while atom is not after:
            readers = self.readers.get(atom, [])
            if len(readers) != 1 or atom in self.body.outputs:
                return False
            (node,) = readers
            if node.op not in (add_op, sub_op) or node.inputs.count(atom) > 1:
                return False
            at = node.inputs.index(atom)
            if (node.op is sub_op and at) or not equal_types(node.outputs[0].type, v.type):
                return False
            found.append((node, 1 - at))
            atom = node.outputs[0]
        if atom in self.readers or self.body.outputs.count(atom) > 1:
            return False
        self.terms[v] = found
        self.skipped.update(node for node, _ in found)
        return True

    def _writes(self, v: Var) -> bool:
        chain = self.settled.chains[v]
        if len(chain) < 2 or not self.settled.apart_in_two_steps(v):
            return False
        nodes = [self.made[new] for new in chain[1:]]
        for node, old in zip(nodes, chain, strict=False):
            if not isinstance(node.op.lowering, lowering.Scatter) or "windows" not in node.params:
                return False
            if node.params["aligned"] or old in node.inputs[1:]:
                return False
            if any(a.type.shape for a in node.inputs[2:]):
                return False
        if any(self.body.outputs.count(x) != (x is chain[-1]) for x in chain):
            return False
        self.writes[v] = [Write(node, self._slice(node, node.inputs[0], 2)) for node in nodes]
        self.skipped.update(nodes)
        return True

    def _reads(self, node: Node) -> bool:
        """Whether what a node reads of the carries is known before the loop, or was written by its
        own step."""
        for a in dict.fromkeys(node.inputs):
            if a in self.terms:
                return False
            if a not in self.settled.carry or self.settled.carry[a] in self.still:
                continue
            places = self.settled.now.read_by(node, a)
            if places is None:
                return False
            carry = self.settled.carry[a]
            chain, first = self.settled.chains[carry], carry
            at = chain.index(a)
            while at and places:
                made = self.made[chain[at]]
                write = self.settled.now.place(made, chain[at - 1], 2)
                if all(self.settled.apart(p, write) for p in places):
                    at -= 1
                    continue
                if isinstance(node.op.lowering, lowering.Gather) and self._equal(node, made):
                    self.forwarded[node] = made
                    at = -1
                    break
                return False
            if at == 0 and places and "first" not in self.settled.ends(first, places):
                return False
        if isinstance(node.op.lowering, lowering.Gather) and node not in self.forwarded:
            source = node.inputs[0]
            known = source in self.settled.carry or not self.varies(source)
            along = self._slice(node, source, 1) if known else None
            if along is not None:
                self.along[node] = along
        return True

    def _equal(self, read: Node, write: Node) -> bool:
        """Whether a node reads what another one has just written, element by element."""
        names = ("axes", "at", "aligned", "windows")
        form = self.settled.now.form
        return (
            write.op not in ADDING
            and all(read.params[k] == write.params[k] for k in names)
            and len(read.inputs) == len(write.inputs) - 1
            and all(
                not a.type.shape and form(a) == form(b)
                for a, b in zip(read.inputs[1:], write.inputs[2:], strict=True)
            )
        )

    def _slice(self, node: Node, source: Atom, first: int) -> Along | None:
        """The places of all steps as a slice, where they are one inside of the array."""
        if "windows" not in node.params or node.params["aligned"]:
            return None
        found: Along | None = None
        now = self.settled.steps[1]
        name = str(now)
        for k, (atom, axis, window) in enumerate(
            zip(node.inputs[first:], node.params["axes"], node.params["windows"], strict=True)
        ):
            if atom.type.shape or atom.type.dtype.kind not in "iu":
                return None
            if not self.varies(atom):
                continue
            form = self.settled.now.form(atom)
            step = integers.coefficient(form, name)
            if window is not None or found is not None or not isinstance(step, int) or not step:
                return None
            rest = integers.sub(form, integers.mul(step, now))
            if any(s.startswith(UNKNOWN) and s.endswith("s") for s in integers.symbols(rest)):
                return None
            last = integers.mul(step, integers.sub(self.length, 1))
            least, most = (rest, rest + last) if step > 0 else (rest + last, rest)
            certain = self.settled.certain
            if not certain(least) or not certain(source.type.shape[axis] - 1 - most):
                return None
            if abs(step) != 1 and not certain(self.length - 1):
                return None
            known = not any(s.startswith(UNKNOWN) for s in integers.symbols(least))
            found = Along(k, axis, least if known else None, step)
        return found

    def varies(self, atom: Atom) -> bool:
        """Whether a value depends on the step."""
        if not hasattr(self, "_varying"):
            varying: set[Atom] = {self.number, *self.writes, *self.terms}
            for node in self.body.nodes:
                if any(a in varying for a in node.inputs):
                    varying.update(node.outputs)
            self._varying = varying
        return atom in self._varying


def _known(graph: Graph) -> bool:
    """Whether the order of the steps is nobody's business, that of Python's functions neither."""
    return not any(
        n.effects
        or (n.inputs and n.op.batch is None)
        or n.op.lowering is lowering.HOST
        or not all(map(_known, n.subgraphs()))
        for n in graph.nodes
    )


__all__ = ["Along", "StepsApart", "Write"]
