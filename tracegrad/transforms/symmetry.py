"""A local rule for pairs: what is the same, but for its sign, when two axes are exchanged, has the
same sums over either of them.

The force of particle j on particle i is minus that of i on j. Its derivation sums over both axes of
an array of pairs; one sum is enough.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._codegen import lowering
from ..ir.graph import Atom, Literal, Node, Var
from ..ops.arrays.shape import reshape_op, sum_op, transpose_op
from ..ops.elementwise.arithmetic import neg_op, sub_op
from ..ops.elementwise.derived import add_op, convert_op
from ..types import Int, Shape

if TYPE_CHECKING:
    from .rewriter import Rewriter

DEEPEST = 100
"""How far back the rule looks."""


class Exchanged(NamedTuple):
    """What a value with two axes exchanged is: `sign` times one that is there already."""

    sign: int
    value: Atom
    exact: bool = True
    """Whether to the last bit. Where not, a zero may have the other sign: x - y and y - x are both
    0.0 where x = y, and dividing by them gives no opposite infinities."""


def symmetric_sum(b: Rewriter, node: Node, inputs: tuple[Atom, ...]) -> Atom | None:
    """sum(x, axes=(0,)) -> sum(y, axes=(1,)) or its negative, where that is there and exchanging
    both axes of x gives y or -y, often x itself."""
    x = inputs[0] if node.op is sum_op else None
    if not isinstance(x, Var) or x.dtype.kind not in "fc":
        return None
    axes, ndim = node.params["axes"], x.type.ndim
    exchange = _Exchange(b)
    for axis in axes:
        for other in range(ndim):
            between = set(range(min(axis, other) + 1, max(axis, other)))
            if (
                other in axes
                or not _equal(x.type.shape[axis], x.type.shape[other])
                or _equal(x.type.shape[axis], 1)
                or between - set(axes)
            ):
                continue
            y = exchange.of(x, axis - ndim, other - ndim)
            known = (
                None
                if y is None
                else b.known(sum_op, [y.value], {"axes": tuple(sorted({*axes, other} - {axis}))})
            )
            if y is not None and known is not None:
                return known if y.sign > 0 else b.emit(neg_op, [known], {}, node)
    return None


class _Exchange:
    """Values of a graph with two axes exchanged, as far as they are in the graph; axes are counted
    from the end, as broadcasting does."""

    def __init__(self, b: Rewriter) -> None:
        self.b = b
        self.found: dict[tuple[Var, int, int], Exchanged | None] = {}

    def of(self, x: Atom, p: int, q: int, depth: int = 0) -> Exchanged | None:
        if isinstance(x, Literal):
            return Exchanged(1, x)
        m, n = _size(x.type.shape, p), _size(x.type.shape, q)
        thin = [_equal(m, 1), _equal(n, 1)]
        if all(thin):
            return Exchanged(1, x)
        if not (any(thin) or _equal(m, n)) or depth > DEEPEST:
            return None
        key = x, min(p, q), max(p, q)
        if key not in self.found:
            self.found[key] = None
            moved = self.moved(x, p, q) if any(thin) else None
            self.found[key] = (
                Exchanged(1, moved) if moved is not None else self.made(x, p, q, depth + 1)
            )
        return self.found[key]

    def moved(self, x: Var, p: int, q: int) -> Atom | None:
        """The same elements along the other axis."""
        shape = [_size(x.type.shape, d) for d in range(-max(len(x.type.shape), -p, -q), 0)]
        first, last = sorted((len(shape) + p, len(shape) + q))
        if not all(_equal(n, 1) for n in shape[first + 1 : last]):
            return None
        shape[p], shape[q] = shape[q], shape[p]
        root = self.root(x)
        for wanted in (tuple(shape), _stripped(shape)):
            if len(root.type.shape) == len(wanted) and all(map(_equal, root.type.shape, wanted)):
                return root
            known = self.b.known(reshape_op, [root], {"shape": wanted})
            if known is not None:
                return known
        return None

    def root(self, x: Var) -> Var:
        """What was given further axes of one element."""
        while (
            (node := self.b.made_by(x, reshape_op)) is not None
            and isinstance(node.inputs[0], Var)
            and _same_but_ones(x, node.inputs[0])
        ):
            x = node.inputs[0]
        return x

    def made(self, x: Var, p: int, q: int, depth: int) -> Exchanged | None:
        """By what makes it."""
        node = self.b.definition.get(x)
        if node is None or len(node.outputs) != 1:
            return self.turned(x, p, q)
        if node.op.symmetric and {p, q} == {-1, -2}:
            return Exchanged(1, x)
        if isinstance(node.op.lowering, lowering.Pointwise) or node.op is convert_op:
            return self.pointwise(node, x, p, q, depth)
        source = node.inputs[0] if node.inputs else None
        if not isinstance(source, Var):
            return None
        if node.op is reshape_op and _same_but_ones(x, source):
            places = _places(x.type.shape, source.type.shape)
            a, c = places.get(len(x.type.shape) + p), places.get(len(x.type.shape) + q)
        elif node.op is sum_op:
            kept = [d for d in range(len(source.type.shape)) if d not in node.params["axes"]]
            a, c = (
                kept[len(kept) + d] - len(source.type.shape) if -d <= len(kept) else None
                for d in (p, q)
            )
        else:
            return self.turned(x, p, q)
        found = None if a is None or c is None else self.of(source, a, c, depth)
        there = (
            None if found is None else self.there(found.sign, node, [found.value], x, found.exact)
        )
        return there or self.turned(x, p, q)

    def there(
        self, sign: int, node: Node, inputs: Sequence[Atom], x: Var, exact: bool
    ) -> Exchanged | None:
        """The application of a node's operation to other operands, if it is in the graph."""
        sources = node.inputs
        if all(a is s for a, s in zip(inputs, sources, strict=True)):
            return Exchanged(sign, x, exact)
        known = self.b.known(node.op, inputs, node.params)
        if known is None and node.op.commutes:
            known = (
                x
                if inputs[0] is sources[1] and inputs[1] is sources[0]
                else self.b.known(node.op, inputs[::-1], node.params)
            )
        return None if known is None else Exchanged(sign, known, exact)

    def turned(self, x: Var, p: int, q: int) -> Exchanged | None:
        """A transposition, either way."""
        axes = list(range(len(x.type.shape)))
        if max(-p, -q) > len(axes):
            return None
        axes[p], axes[q] = axes[q], axes[p]
        node = self.b.made_by(x, transpose_op)
        if node is not None and node.params["axes"] == tuple(axes):
            return Exchanged(1, node.inputs[0])
        known = self.b.known(transpose_op, [x], {"axes": tuple(axes)})
        return None if known is None else Exchanged(1, known)

    def pointwise(self, node: Node, x: Var, p: int, q: int, depth: int) -> Exchanged | None:
        rule = node.op.lowering
        if isinstance(rule, lowering.Pointwise) and re.search(
            r"\{\d+\}", rule.template(node.params)
        ):
            return None
        # Integers wrap around: of unsigned ones no difference is negative.
        if x.dtype.kind == "f" and (pair := self.difference(node)) is not None:
            first, second = (self.of(a, p, q, depth) for a in pair)
            if (
                first is not None
                and second is not None
                and first.value is pair[1]
                and second.value is pair[0]
                and first.sign == second.sign
            ):
                return Exchanged(-first.sign, x, False)
        found = [f for a in node.inputs if (f := self.of(a, p, q, depth)) is not None]
        if len(found) < len(node.inputs):
            return None
        inputs = [f.value for f in found]
        changed = [k for k, f in enumerate(found) if f.sign < 0 or not f.exact]
        if not changed:
            return self.there(1, node, inputs, x, True)
        if node.op.parity is None or any(node.inputs[k].type.dtype.kind != "f" for k in changed):
            return None
        sign = node.op.parity(*[f.sign for f in found], **node.params)
        other = node.op.parity(
            *[-f.sign if k in changed else f.sign for k, f in enumerate(found)], **node.params
        )
        # What has no parity for both signs may tell zeros apart; sums do so by a zero's sign alone.
        apart = other is None and node.op is not add_op and node.op is not sub_op
        if sign is None or apart or (sign < 0 and x.dtype.kind != "f"):
            return None
        # The square of a difference is the same to the last bit.
        exact = sign == other == 1 and all(
            node.inputs[k] is node.inputs[changed[0]] for k in changed
        )
        return self.there(sign, node, inputs, x, exact)

    def difference(self, node: Node) -> tuple[Atom, Atom] | None:
        """The x and y of x - y, or of x + -y, as a tangent of it is."""
        if node.op is sub_op:
            return node.inputs[0], node.inputs[1]
        if node.op is add_op:
            for x, y in (node.inputs, node.inputs[::-1]):
                negated = self.b.made_by(y, neg_op)
                if negated is not None:
                    return x, negated.inputs[0]
        return None


def _size(shape: Shape, axis: int) -> Int:
    return shape[axis] if -axis <= len(shape) else 1


def _equal(a: Int, b: Int) -> bool:
    """Whether two sizes are one by their form: a rule must not make a trace rely on more."""
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return a.terms == b.terms


def _long(shape: Sequence[Int]) -> list[int]:
    """The axes of more than one element."""
    return [k for k, n in enumerate(shape) if not _equal(n, 1)]


def _stripped(shape: Sequence[Int]) -> Shape:
    """Without the axes of one element that broadcasting puts in front anyhow."""
    return tuple(shape[min(_long(shape), default=len(shape)) :])


def _same_but_ones(x: Var, y: Var) -> bool:
    long, other = _long(x.type.shape), _long(y.type.shape)
    return len(long) == len(other) and all(
        _equal(x.type.shape[k], y.type.shape[t]) for k, t in zip(long, other, strict=True)
    )


def _places(shape: Shape, source: Shape) -> dict[int, int]:
    """For the axes of more than one element where they are in the other shape, from the end."""
    return {k: t - len(source) for k, t in zip(_long(shape), _long(source), strict=True)}


__all__ = ["symmetric_sum"]
