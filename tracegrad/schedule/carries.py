"""Which carries of a loop may be written where they lie: arrays of which a step changes some
elements.

`x[i] = v` in a loop is a scatter, to the graph a new array. So is what an inner loop or a branch
makes of a carry that it is given. Each such array is a version of the carry, and all versions of
one carry share its place: a version is there from the statement that writes it to the one that
writes the next. What is read of it must be read in between; where somebody needs that later, it is
held before it is gone.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from .._codegen import lowering
from ..ir.graph import Atom, Graph, Node, Var
from ..ir.versions import chain_of, passed
from .analysis import OPAQUE
from .bounds import at_most
from .own_places import read_elsewhere


@dataclass
class CarryPlan:
    """The statements that write versions, in order, and what else has to happen when."""

    writes: list[Node] = field(default_factory=list)
    versions: dict[Var, int] = field(default_factory=dict)
    """The arrays that lie in the place of a carry, the carry itself among them, and the number of
    the carry."""
    levels: dict[Atom, int] = field(default_factory=dict)
    begun: list[Var] = field(default_factory=list)
    """The first versions of carries that are read elsewhere."""
    held: dict[int, list[Var]] = field(default_factory=dict)
    """What is computed before the n-th write and kept, since it reads what that will overwrite."""

    def level(self, atom: Atom) -> int:
        """After how many writes an atom can be computed."""
        return self.levels.get(atom, 0)


def in_place(
    body: Graph,
    carries: Sequence[Var],
    following: Sequence[Atom],
    elsewhere: Container[int] = (),
) -> CarryPlan:
    """The plan for all carries that may be written in place. Some carries lie elsewhere than what
    follows on them: all versions but the carry share a place."""
    chains: dict[int, list[Var]] = {}
    made = {v: node for node in body.nodes for v in node.outputs}
    for k, (carry, last) in enumerate(zip(carries, following, strict=True)):
        chain = chain_of(last, made)
        # Whoever else gets the last version of a carry would share its memory.
        if not chain or chain[0] is not carry:
            continue
        if k in elsewhere:
            if len(chain) > 2 and following.count(last) == 1:
                chains[k] = chain[1:]
        elif len(chain) > 1 and body.outputs.count(last) == 1:
            chains[k] = chain
    while chains:
        found = _Planning(body, made, chains)
        if found.failed is None:
            found.plan.begun.extend([c[0] for k, c in chains.items() if k in elsewhere])
            return found.plan
        del chains[found.failed]
    return CarryPlan()


class _Planning:
    def __init__(
        self, body: Graph, made: Mapping[Var, Node], chains: Mapping[int, Sequence[Var]]
    ) -> None:
        self.body, self.made = body, made
        self.plan = CarryPlan(versions={v: k for k, chain in chains.items() for v in chain})
        self.failed: int | None = None
        """A carry that cannot be written in place after all."""
        self.targets: dict[Node, list[Var]] = {}
        """The versions that a node overwrites."""
        for chain in chains.values():
            for old, new in itertools.pairwise(chain):
                self.targets.setdefault(made[new], []).append(old)
        self.reads: dict[Atom, frozenset[Var]] = {}
        # Results of whole statements are stored; all else may be computed element by element where
        # it is read.
        whole = [node for node in body.nodes if isinstance(node.op.lowering, OPAQUE)]
        for node in body.nodes:
            if not isinstance(node.op.lowering, OPAQUE):
                direct = frozenset().union(*map(self.direct, node.inputs))
                self.reads.update(dict.fromkeys(node.outputs, direct))
        self.order()
        self.seen: set[tuple[Atom, int]] = set()
        for p, node in enumerate(self.plan.writes):
            for a in self.others(node):
                self.wanted(a, p)
                for x in self.beside(a, node):
                    self.hold(x, p)
        for node in whole:
            if node not in self.targets:
                for a in node.inputs:
                    self.wanted(a, self.plan.level(node.outputs[0]))
        ends = {chain[-1] for chain in chains.values()}
        for a in body.outputs:
            if a not in ends:
                self.wanted(a, self.plan.level(a))

    def direct(self, a: Atom) -> frozenset[Var]:
        """The versions that are read where an atom is computed element by element."""
        return frozenset((a,)) if a in self.plan.versions else self.reads.get(a, frozenset())

    def others(self, node: Node) -> list[Atom]:
        """What a write reads beside the versions that it overwrites, as often as that stands there
        again."""
        targets = list(self.targets[node])
        result = []
        for k, a in enumerate(node.inputs):
            if a in targets and k in passed(node).values():
                targets.remove(a)
            else:
                result.append(a)
        return result

    def beside(self, a: Atom, node: Node) -> list[Atom]:
        """What to keep of an operand of a write that would change what it still has to read. A
        single element has been read by then."""
        single = isinstance(node.op.lowering, lowering.Scatter) and node.inputs[1].type.size == 1
        targets = self.targets[node]
        if single or not any(w in self.direct(a) for w in targets):
            return []
        parts = read_elsewhere(
            node, a, self.made, lambda x: any(w in self.direct(x) for w in targets)
        )
        return [a] if parts and self.fits(a, targets[0]) else parts

    def order(self) -> None:
        """Who is read by nobody that is left is overwritten first; else the graph's order."""
        left = [node for node in self.body.nodes if node in self.targets]
        behind: dict[Atom, set[Node]] = {}
        for node in self.body.nodes:
            mine = set().union(*[behind.get(a, set()) for a in node.inputs])
            behind.update(
                dict.fromkeys(node.outputs, mine | ({node} if node in self.targets else set()))
            )
        needs = {node: set().union(*[behind.get(a, set()) for a in node.inputs]) for node in left}
        while left:
            ready = [n for n in left if not needs[n] & set(left)]
            read = {
                n: {w for m in left if m is not n for a in self.others(m) for w in self.direct(a)}
                for n in ready
            }
            free = [n for n in ready if not read[n] & set(self.targets[n])]
            self.plan.writes.append((free or ready)[0])
            left.remove(self.plan.writes[-1])
        at = {node: p for p, node in enumerate(self.plan.writes)}
        self.gone = {v: p for node, p in at.items() for v in self.targets[node]}
        levels = self.plan.levels
        for node in self.body.nodes:
            level = max([levels.get(a, 0) for a in node.inputs], default=0)
            levels.update(
                dict.fromkeys(node.outputs, max(level, at[node] + 1) if node in at else level)
            )

    def wanted(self, a: Atom, when: int) -> None:
        """An atom is computed before write number `when`: what it reads must be there, or be
        held."""
        if (a, when) in self.seen or not any(self.gone.get(w, when) < when for w in self.direct(a)):
            return
        self.seen.add((a, when))
        first = min([self.gone[w] for w in self.direct(a) if w in self.gone])
        if a in self.plan.versions or self.plan.level(a) <= first:
            self.hold(a, first)
            return
        assert isinstance(a, Var)
        for x in self.made[a].inputs:
            self.wanted(x, when)

    def hold(self, a: Atom, when: int) -> None:
        """Keep what write number `when` would change, if it is less than the carry: else one might
        as well copy that."""
        old = next(
            w
            for w in self.plan.writes[when].inputs
            if w in self.targets[self.plan.writes[when]] and w in self.direct(a)
        )
        if not self.fits(a, old):
            self.failed = self.plan.versions[old] if self.failed is None else self.failed
        elif a not in self.plan.held.setdefault(when, []):
            self.plan.held[when].append(a)  # type: ignore[arg-type]

    def fits(self, a: Atom, old: Var) -> bool:
        """Whether keeping an atom takes less than a copy of the array that is overwritten."""
        return a not in self.plan.versions and (
            a.type.ndim < old.type.ndim or at_most(a.type.size, old.type.size)
        )


__all__ = ["CarryPlan", "in_place"]
