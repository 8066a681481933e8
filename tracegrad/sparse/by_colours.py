"""Values of a sparse derivative from its products with vectors, one for each colour; all products
in one compiled function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..control.scan import scan
from ..derivatives.forward import jvp
from ..derivatives.reverse import vjp
from ..derivatives.vmap import vmap
from ..ir.evaluate import evaluate
from ..ir.graph import Graph
from ..ops import concatenate, convert, reshape, take, zeros
from ..ops.places.gathering import add_at
from .colouring import (
    PULL,
    Colours,
    Substitution,
    colour_acyclic,
    colour_both,
    colour_columns,
    colour_rows,
    colour_symmetric,
    seeds,
    split,
)
from .patterns import pattern
from .plan import SparsePlan, Wish, dtype_of, fixed_inputs, traced_values
from .rules import size
from .structure import order_of

COLOURINGS = {
    "columns": colour_columns,
    "rows": colour_rows,
    "both": colour_both,
    "star": colour_symmetric,
    "acyclic": colour_acyclic,
}
"""The colourings by their names."""


def by_colours(
    graph: Graph, wanted: Sequence[int], inputs: Sequence[Any], known: Sequence[Any], wish: Wish
) -> SparsePlan:
    found, read, dense_at = pattern(graph, wanted, known, wish.limit)
    dtype = dtype_of(graph)
    if wish.symmetric:
        found = (found + found.T).tocsr()
        found.sort_indices()
    kinds = [graph.inputs[k].type.dtype.kind for k in wanted]
    kinds += [a.type.dtype.kind for a in graph.outputs]
    method = _chosen(found, wish, all(k == "f" for k in kinds), "c" not in kinds)
    colours = COLOURINGS[method](found)
    rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    columns = found.indices.astype(np.int64)
    place = colours.place
    if wish.lower:
        there = columns <= rows
        rows, columns, place = rows[there], columns[there], place[there]
    sorting = order_of(wish.order, found.shape, rows, columns)
    if wish.order in ("csc", "bsr"):
        order = np.argsort(sorting.keys(rows, columns), kind="stable")
        rows, columns, place = rows[order], columns[order], place[order]
    products = Products(graph, tuple(wanted), colours, dtype)

    def values(inputs: Sequence[Any], zeros: Any, place: Any, *given: Any) -> Any:
        return take(products.all(inputs, list(given)), place) if len(rows) else zeros

    written = traced_values(
        f"{graph.name}_{method}",
        values,
        [v.type for v in graph.inputs],
        [np.zeros(len(rows), dtype), place, *products.constants()],
    )
    fixed = fixed_inputs(read, inputs)

    def sure() -> Any:
        values = [fixed.get(k) for k in range(len(graph.inputs))]
        known = pattern(graph, wanted, values, wish.limit, sure=True)[0]
        return known + known.T if wish.symmetric else known

    return SparsePlan(
        sorting.at(rows, columns),
        method,
        colours.number,
        *written,
        dtype,
        fixed,
        dense_at,
        sure=sure if dense_at else None,
    )


def _chosen(found: Any, wish: Wish, real: bool, no_complex: bool) -> str:
    """The colouring that is asked for, or the one that takes least."""
    if wish.method in COLOURINGS:
        return wish.method
    if wish.symmetric and no_complex:
        return "star"
    if not real:
        return "columns"
    # No colouring of columns has fewer colours than a row has entries.
    costs = {
        "columns": int(np.diff(found.indptr).max(initial=0)),
        "rows": PULL * int(np.bincount(found.indices, minlength=1).max(initial=0)),
        # Both sweeps are compiled, and each does the function's work again.
        "both": split(found)[1] + PULL + 1,
    }
    return min(costs, key=lambda k: costs[k])


class Products:
    """The products of one colouring, with the steps of a substitution behind them."""

    def __init__(
        self, graph: Graph, wanted: tuple[int, ...], colours: Colours, dtype: np.dtype[Any]
    ) -> None:
        self.graph, self.wanted, self.colours, self.dtype = graph, wanted, colours, dtype

    def constants(self) -> list[np.ndarray]:
        """What `all` is given: the seeds of both sides, and where the steps lead."""
        graph, c = self.graph, self.colours
        types = [graph.inputs[k].type for k in self.wanted]
        given = self.parts(c.columns, types) if c.pushed else []
        given += self.parts(c.rows, [a.type for a in graph.outputs]) if c.pulled else []
        return [*given, *c.steps[:3]] if c.steps is not None else given

    def parts(self, colour: np.ndarray, types: Sequence[Any]) -> list[np.ndarray]:
        """The seeds in the shapes of arrays."""
        every, start, found = seeds(colour, self.dtype), 0, []
        for t in types:
            count = size(t.shape)
            part = every[:, start : start + count].reshape((len(every), *map(int, t.shape)))
            found.append(part.astype(t.dtype))
            start += count
        return found

    def all(self, inputs: Sequence[Any], given: list[Any]) -> Any:
        """What entries are taken from."""
        found, c = [], self.colours
        if c.pushed:
            mine, given = given[: len(self.wanted)], given[len(self.wanted) :]
            found.append(self.flat(self.pushed(inputs, mine), c.pushed))
        if c.pulled:
            outputs = len(self.graph.outputs)
            mine, given = given[:outputs], given[outputs:]
            found.append(self.flat(self.pulled(inputs, mine), c.pulled))
        if c.steps is not None and len(c.steps.place):
            found.append(
                substituted(
                    found[0], Substitution(given[0], given[1], given[2], c.steps.slots), self.dtype
                )
            )
        return found[0] if len(found) == 1 else concatenate(found, 0)

    def run(self, inputs: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
        """The function of the chosen inputs."""
        return evaluate(self.graph, _replaced(inputs, self.wanted, xs))

    def pushed(self, inputs: Sequence[Any], seeds: Sequence[Any]) -> Sequence[Any]:
        """Products with columns."""
        chosen = [inputs[k] for k in self.wanted]

        def push(*tangents: Any) -> list[Any]:
            return list(jvp(lambda *xs: self.run(inputs, xs), chosen, tangents)[1])

        return list(vmap(push, randomness="same")(*seeds))

    def pulled(self, inputs: Sequence[Any], seeds: Sequence[Any]) -> Sequence[Any]:
        """Products with rows."""
        chosen = [inputs[k] for k in self.wanted]
        _, pull = vjp(lambda *xs: self.run(inputs, xs), *chosen)
        return list(vmap(lambda *cts: list(pull(list(cts))))(*seeds))

    def flat(self, products: Sequence[Any], count: int) -> Any:
        """The products one behind the other."""
        parts = [convert(reshape(p, (count, size(p.shape[1:]))), self.dtype) for p in products]
        whole = parts[0] if len(parts) == 1 else concatenate(parts, 1)
        return reshape(whole, (count * size(whole.shape[1:]),))


def substituted(products: Any, steps: Substitution, dtype: np.dtype[Any]) -> Any:
    """The entries that follow from those before them, in the order of the steps."""

    def step(known: Any, at: Any) -> Any:
        place, slot, other = at
        x = take(products, place) - take(known, slot)
        added = add_at(known, reshape(x, (1,)), [reshape(other, (1,))], (0,), 0, (), True)
        return added, x

    return scan(step, zeros((steps.slots,), dtype), tuple(steps[:3]))[1]


def _replaced(inputs: Sequence[Any], wanted: Sequence[int], xs: Sequence[Any]) -> list[Any]:
    full = list(inputs)
    for k, x in zip(wanted, xs, strict=True):
        full[k] = x
    return full


__all__ = ["COLOURINGS", "by_colours"]
