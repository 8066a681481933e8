"""A Jacobian as a sum of terms, each a graph of coefficients with the places where they stand.

Wherever a function is made of elementwise operations on slices, shifts, gathers and sums, each
element of a value depends on a few elements of the input, and the k-th of them stands at a place
that is known without any numbers. So its tangent is carried as a list of `Term`s: a coefficient
for each element (an ordinary value of the trace, computed by the operation's own `jvp`) with the
number of the column that it belongs to. Terms for the same columns are added up on the way, so that
each entry is computed once; what is moved by an operation moves its column numbers as well, by the
same operation.

The coefficients of all results are the values of the Jacobian, and one compiled function writes
them to their places: nothing is multiplied by unit vectors, nothing is done twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._codegen import lowering as lower
from ..dtypes import is_differentiable
from ..ir.dispatch import bind
from ..ir.graph import Graph, Literal, Node
from ..ops import broadcast_to, reshape
from ..ops.arrays.slices import cut
from ..ops.elementwise.derived import add, mul
from ..ops.places.along import take
from ..ops.places.gathering import ADDING, FAMILIES
from ..ops.sparse.products import product_op
from .patterns import TRANSPARENT
from .rules import numbers_of, shape_of, size

MOST_TERMS = 48
"""With more terms than this of one value, few colours are quicker than many terms."""
SHORT = 4
"""Sums of at most so many elements are written out."""


class NoTerms(Exception):
    """Something that no list of terms describes."""


@dataclass(eq=False)
class Term:
    """Coefficients with the columns that they belong to, and the elements (rows) of the value whose
    derivatives they are; each element its own where there are no `rows`. A number below 0 means
    that there is none: then the coefficient is 0, or whatever it is does not count."""

    columns: np.ndarray
    coefficients: Any
    rows: np.ndarray | None = None


def merged(first: np.ndarray, second: np.ndarray) -> np.ndarray | None:
    """Column numbers that are those of both where these have any; None where they differ."""
    if first is second:
        return first
    middle = first.size // 2
    if first.size and 0 <= first.flat[middle] != second.flat[middle] >= 0:
        return None
    if np.array_equal(first, second):
        return first
    both = (first >= 0) & (second >= 0)
    if not np.array_equal(first[both], second[both]):
        return None
    found: np.ndarray = np.maximum(first, second)
    return found


Known = Sequence[np.ndarray | None]


class Terms:
    """The walk over a graph; `operands` are its inputs as values of the open trace."""

    def __init__(self, walk: Any) -> None:
        self.walk = walk
        """What evaluates constants (`patterns.Walk`)."""

    def graph(
        self, graph: Graph, operands: Sequence[Any], terms: Sequence[list[Term]], known: Known
    ) -> tuple[list[list[Term]], list[Any], list[np.ndarray | None]]:
        """The terms, values and (of constants) numbers of the outputs."""
        values: dict[Any, Any] = dict(zip(graph.inputs, operands, strict=True))
        env: dict[Any, list[Term]] = dict(zip(graph.inputs, terms, strict=True))
        fixed: dict[Any, np.ndarray | None] = dict(zip(graph.inputs, known, strict=True))

        def number(a: Any) -> np.ndarray | None:
            return np.asarray(a.value) if isinstance(a, Literal) else fixed[a]

        for node in graph.nodes:
            inputs = [a.value if isinstance(a, Literal) else values[a] for a in node.inputs]
            mine = [[] if isinstance(a, Literal) else env[a] for a in node.inputs]
            numbers = [number(a) for a in node.inputs]
            if node.op in TRANSPARENT:
                found, outs, made = self.graph(node.params["graph"], inputs, mine, numbers)
            else:
                result = bind(node.op, inputs, node.params)
                outs = [result] if node.op.outputs == 1 else list(result)
                made = [None] * len(outs) if any(mine) else self.walk.evaluated(node, numbers)
                found = self.node(node, inputs, outs, mine, numbers)
            values.update(zip(node.outputs, outs, strict=True))
            env.update(zip(node.outputs, found, strict=True))
            fixed.update(zip(node.outputs, made, strict=True))
        return (
            [[] if isinstance(a, Literal) else env[a] for a in graph.outputs],
            [a.value if isinstance(a, Literal) else values[a] for a in graph.outputs],
            [number(a) for a in graph.outputs],
        )

    def node(
        self, node: Node, inputs: list[Any], outs: list[Any], terms: list[list[Term]], known: Known
    ) -> list[list[Term]]:
        """The terms of a node's results."""
        nothing: list[list[Term]] = [[] for _ in outs]
        if not any(terms) or not any(is_differentiable(v.type.dtype) for v in node.outputs):
            return nothing
        if node.op.jvp is None:
            if isinstance(node.op.lowering, lower.Pointwise):
                return nothing
            raise NoTerms(node.op.name)
        kind = node.op.lowering
        if isinstance(kind, lower.Pointwise):
            found = self.pointwise(node, inputs, outs, terms)
        elif isinstance(kind, (lower.View, lower.Piecewise)):
            found = self.moved(node, inputs, outs, terms, known)
        elif isinstance(kind, lower.Gather):
            self.note(known[1:], node)
            found = self.moved(node, inputs, outs, terms, known)
        elif isinstance(kind, lower.Scatter):
            self.note(known[2:], node)
            found = self.scattered(node, inputs, outs, terms, known)
        elif node.op is product_op:
            self.note(known[2:], node)
            found = self.sparse_product(node, inputs, terms, known)
        elif isinstance(kind, lower.Reduce) and kind.combine == "add":
            found = self.summed(node, inputs, terms)
        else:
            raise NoTerms(node.op.name)
        # What went nowhere has no elements to be read at, perhaps.
        found = [t for t in found if t.rows is None or (t.rows >= 0).any()]
        if len(found) > MOST_TERMS:
            raise NoTerms(f"{node.op.name} of {len(found)} terms")
        return [found]

    def note(self, indices: Known, node: Node) -> None:
        """Note that index arrays decide the places; they have to be constants."""
        if any(k is None for k in indices):
            raise NoTerms(f"{node.op.name} at places that are computed")
        self.walk.read |= self.walk.sources(indices)

    # --- elementwise ------------------------------------------------------------------------------

    def pointwise(
        self, node: Node, inputs: list[Any], outs: list[Any], terms: list[list[Term]]
    ) -> list[Term]:
        """Terms for the same columns go through the operation's `jvp` together."""
        shape = shape_of(node.outputs[0])
        groups: list[tuple[np.ndarray, dict[int, list[Term]]]] = []
        found: list[Term] = []
        for k, (a, mine) in enumerate(zip(node.inputs, terms, strict=True)):
            for term in mine:
                if term.rows is not None:
                    found.append(self.scaled(node, inputs, outs, k, term))
                    continue
                columns = term.columns
                if shape_of(a) != shape:
                    columns = np.broadcast_to(columns, shape)
                for j, (others, members) in enumerate(groups):
                    both = merged(others, columns)
                    if both is not None:
                        groups[j] = both, members
                        members.setdefault(k, []).append(term)
                        break
                else:
                    groups.append((columns, {k: [term]}))
        for columns, members in groups:
            tangents = [
                added([t.coefficients for t in members.get(k, [])]) for k in range(len(inputs))
            ]
            (t,) = node.op.jvp(tangents, inputs, outs, **node.params)  # type: ignore[misc]
            if t is not None:
                found.append(Term(columns, t))
        return found

    def scaled(self, node: Node, inputs: list[Any], outs: list[Any], k: int, term: Term) -> Term:
        """A term with rows of its own: the operation's `jvp` at these rows."""
        shape = shape_of(node.outputs[0])
        own = shape_of(node.inputs[k])
        assert term.rows is not None
        if own != shape and size(own) != size(shape):
            raise NoTerms(f"{node.op.name} that repeats a sum")
        rows = np.maximum(term.rows, 0)

        def at(x: Any, of: Any) -> Any:
            if not shape or not tuple(of):
                return x
            full = x if tuple(of) == shape else broadcast_to(x, shape)
            return take(reshape(full, (size(shape),)), rows)

        values = [at(x, a.type.shape) for x, a in zip(inputs, node.inputs, strict=True)]
        results = [broadcast_to(at(o, shape), rows.shape) for o in outs]
        tangents = [term.coefficients if j == k else None for j in range(len(inputs))]
        (t,) = node.op.jvp(tangents, values, results, **node.params)  # type: ignore[misc]
        if t is None:
            return Term(np.full_like(term.columns, -1), term.coefficients, term.rows)
        return Term(term.columns, broadcast_to(t, rows.shape), term.rows)

    # --- moved ------------------------------------------------------------------------------------

    def moved(
        self, node: Node, inputs: list[Any], outs: list[Any], terms: list[list[Term]], known: Known
    ) -> list[Term]:
        """What shows elements at other places: the same is done to the column numbers. The j-th
        terms of all operands go together."""
        data = len(inputs) if not isinstance(node.op.lowering, lower.Gather) else 1
        loose = [(k, t) for k, mine in enumerate(terms) for t in mine if t.rows is not None]
        plain = [[t for t in mine if t.rows is None] for mine in terms[:data]]
        found = []
        rest = [x if known[k] is None else known[k] for k, x in enumerate(inputs)][data:]
        for j in range(max(map(len, plain), default=0)):
            column = [mine[j] if j < len(mine) else None for mine in plain]
            operands = [
                np.zeros(shape_of(a), np.int64) if t is None else t.columns + 1
                for t, a in zip(column, node.inputs, strict=False)
            ]
            columns = np.asarray(node.op.evaluate(*operands, *rest, **node.params)) - 1
            if not (columns >= 0).any():
                continue
            tangents = [None if t is None else t.coefficients for t in column]
            tangents += [None] * (len(inputs) - data)
            (c,) = node.op.jvp(tangents, inputs, outs, **node.params)  # type: ignore[misc]
            found.append(Term(columns, c))
        for k, term in loose:
            operands = [np.zeros(shape_of(a), np.int64) for a in node.inputs[:data]]
            operands[k] = numbers_of(node.inputs[k].type.shape, 1)
            source = np.asarray(node.op.evaluate(*operands, *rest, **node.params)).reshape(-1)
            there = np.flatnonzero(source)
            if len(np.unique(source[there])) != len(there):
                raise NoTerms(f"{node.op.name} that repeats a sum")
            new = np.full(size(node.inputs[k].type.shape) + 1, -1)
            new[source[there]] = there
            assert term.rows is not None
            found.append(Term(term.columns, term.coefficients, new[term.rows + 1]))
        return found

    def scattered(
        self, node: Node, inputs: list[Any], outs: list[Any], terms: list[list[Term]], known: Known
    ) -> list[Term]:
        """Stored at places, the elements move there; added, their rows are these places."""
        if node.op not in ADDING:
            if any(t.rows is not None for mine in terms for t in mine):
                raise NoTerms(f"{node.op.name} of a sum")
            found = []
            x, updates = terms[:2]
            for j in range(max(len(x), len(updates))):
                pair = [mine[j] if j < len(mine) else None for mine in (x, updates)]
                operands = [
                    np.zeros(shape_of(a), np.int64) if t is None else t.columns + 1
                    for t, a in zip(pair, node.inputs, strict=False)
                ]
                columns = node.op.evaluate(*operands, *known[2:], **node.params) - 1
                tangents = [None if t is None else t.coefficients for t in pair]
                tangents += [None] * (len(inputs) - 2)
                (c,) = node.op.jvp(tangents, inputs, outs, **node.params)  # type: ignore[misc]
                found.append(Term(columns, c))
            return found
        shape = node.inputs[0].type.shape
        gather = FAMILIES[node.op].gather
        places = gather.evaluate(numbers_of(shape), *known[2:], **node.params)
        if places.size != size(node.inputs[1].type.shape):
            raise NoTerms(node.op.name)
        places = places.reshape(-1)
        found = list(terms[0])
        for term in terms[1]:
            if term.rows is None:
                columns = term.columns.reshape(-1)
                c = reshape(term.coefficients, (len(columns),))
                found.append(Term(columns, c, places))
            else:
                rows = np.append(places, -1)[term.rows]
                found.append(Term(term.columns, term.coefficients, rows))
        return found

    def sparse_product(
        self, node: Node, inputs: list[Any], terms: list[list[Term]], known: Known
    ) -> list[Term]:
        """Of a sparse matrix and a vector: each entry meets its element, in the entry's row."""
        if terms[0] or len(node.inputs[0].type.shape) != 1 or len(node.inputs[1].type.shape) != 1:
            raise NoTerms(node.op.name)
        indptr, indices, places = map(np.asarray, known[2:5])
        rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        data = take(inputs[0], places) if len(places) else inputs[0]
        found = []
        for term in terms[1]:
            if term.rows is not None:
                raise NoTerms(f"{node.op.name} of a sum")
            columns = term.columns[indices]
            found.append(Term(columns, mul(data, take(term.coefficients, indices)), rows))
        return found

    def summed(self, node: Node, inputs: list[Any], terms: list[list[Term]]) -> list[Term]:
        """Short sums are written out, of long ones each element goes to its row."""
        shape = tuple(map(int, node.inputs[0].type.shape))
        axes = tuple(int(a) for a in node.params["axes"])
        rest = tuple(n for k, n in enumerate(shape) if k not in axes)
        plain = [t for t in terms[0] if t.rows is None]
        groups = np.broadcast_to(
            numbers_of(rest).reshape([1 if k in axes else n for k, n in enumerate(shape)]), shape
        )
        found: list[Term] = []
        if len(axes) == 1 and shape[axes[0]] <= SHORT and len(plain) * shape[axes[0]] <= 16:
            for term in plain:
                for k in range(shape[axes[0]]):
                    columns = np.take(term.columns, k, axes[0])
                    part = reshape(cut(term.coefficients, axes[0], k, 1), rest)
                    joins(found, columns, part)
        else:
            for term in plain:
                c = reshape(term.coefficients, (size(shape),))
                found.append(Term(term.columns.reshape(-1), c, groups.reshape(-1)))
        for term in terms[0]:
            if term.rows is not None:
                rows = np.append(groups.reshape(-1), -1)[term.rows]
                found.append(Term(term.columns, term.coefficients, rows))
        return found


def joins(found: list[Term], columns: np.ndarray, coefficients: Any) -> None:
    """Add a term to those for the same columns."""
    for term in found:
        both = merged(term.columns, columns)
        if both is not None:
            term.columns, term.coefficients = both, add(term.coefficients, coefficients)
            return
    found.append(Term(columns, coefficients))


def added(coefficients: Sequence[Any]) -> Any:
    """The sum of coefficients; None where there are none."""
    made: Any = None
    for c in coefficients:
        made = c if made is None else add(made, c)
    return made


def first_terms(x: Any, start: int) -> list[Term]:
    """Of an input whose elements are the columns from `start` on."""
    ones = broadcast_to(x.dtype.type(1), x.shape)
    numbers = numbers_of(x.shape, start)
    if start + numbers.size < 2**31 - 1:
        numbers = numbers.astype(np.int32)  # half as much to move
    return [Term(numbers, ones)]


__all__ = ["NoTerms", "Term", "Terms", "added", "first_terms"]
