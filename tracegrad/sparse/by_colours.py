"""Values of a sparse derivative from its products with vectors, one for each colour; all products
in one compiled function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..derivatives.forward import jvp
from ..derivatives.reverse import vjp
from ..derivatives.vmap import vmap
from ..ir.evaluate import evaluate
from ..ir.graph import Graph
from ..ops import concatenate, convert, reshape, take
from .colouring import Colours, colour_columns, colour_symmetric, seeds
from .patterns import pattern
from .plan import SparsePlan, Wish, dtype_of, fixed_inputs, ordered, structure_at, traced_values
from .rules import size


def by_colours(
    graph: Graph, wanted: Sequence[int], inputs: Sequence[Any], known: Sequence[Any], wish: Wish
) -> SparsePlan:
    found, read, dense_at = pattern(graph, wanted, known, wish.limit)
    dtype = dtype_of(graph)
    if wish.symmetric:
        found = (found + found.T).tocsr()
        found.sort_indices()
    method, colours = _coloured(found, graph, wanted, wish)
    rows = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    columns = found.indices.astype(np.int64)
    place = colours.place
    if wish.lower:
        there = columns <= rows
        rows, columns, place = rows[there], columns[there], place[there]
    if wish.order == "csc":
        order = np.argsort(ordered(rows, columns, found.shape, "csc"), kind="stable")
        rows, columns, place = rows[order], columns[order], place[order]
    types = [graph.inputs[k].type for k in wanted]
    if method == "rows":
        types = [a.type for a in graph.outputs]
    constants, start = [np.zeros(len(rows), dtype)], 0
    every = seeds(colours, dtype)
    for t in types:
        count = size(t.shape)
        part = every[:, start : start + count].reshape((colours.number, *map(int, t.shape)))
        constants.append(part.astype(t.dtype))
        start += count
    made = (_pulled if method == "rows" else _pushed)(graph, tuple(wanted), colours.number, dtype)

    def values(inputs: Sequence[Any], zeros: Any, *given: Any) -> Any:
        return made(inputs, given[:-1], given[-1]) if len(rows) else zeros

    written = traced_values(
        f"{graph.name}_{method}", values, [v.type for v in graph.inputs], [*constants, place]
    )
    return SparsePlan(
        structure_at(rows, columns, found.shape, wish.order),
        method,
        colours.number,
        *written,
        dtype,
        fixed_inputs(read, inputs),
        dense_at,
    )


def _coloured(found: Any, graph: Graph, wanted: Sequence[int], wish: Wish) -> tuple[str, Colours]:
    """The method and its colours: of rows and columns whichever takes fewer products."""
    kinds = [graph.inputs[k].type.dtype.kind for k in wanted]
    kinds += [a.type.dtype.kind for a in graph.outputs]
    if wish.method == "star" or (wish.method == "auto" and wish.symmetric and "c" not in kinds):
        return "star", colour_symmetric(found)
    widest = int(np.diff(found.indptr).max(initial=0))
    # No colouring of columns has fewer colours than a row has entries.
    tallest = int(np.bincount(found.indices, minlength=1).max(initial=0))
    real = all(k == "f" for k in kinds)
    if wish.method == "rows" or (wish.method == "auto" and real and 2 * tallest < widest):
        mirrored = found.T.tocsr()
        mirrored.sort_indices()
        made = colour_columns(mirrored)
        m = found.shape[0]
        rows = np.repeat(np.arange(m), np.diff(found.indptr))
        place = made.colour[rows] * found.shape[1] + found.indices
        return "rows", Colours(made.colour, made.number, place)
    return "columns", colour_columns(found)


def _pushed(graph: Graph, wanted: tuple[int, ...], count: int, dtype: Any) -> Callable[..., Any]:
    """Entries from products with columns."""

    def values(inputs: Any, seeds: Any, place: Any) -> Any:
        chosen = [inputs[k] for k in wanted]

        def push(*tangents: Any) -> list[Any]:
            def run(*xs: Any) -> list[Any]:
                return evaluate(graph, _replaced(inputs, wanted, xs))

            return list(jvp(run, chosen, tangents)[1])

        return _entries(vmap(push)(*seeds), count, dtype, place)

    return values


def _pulled(graph: Graph, wanted: tuple[int, ...], count: int, dtype: Any) -> Callable[..., Any]:
    """Entries from products with rows."""

    def values(inputs: Any, seeds: Any, place: Any) -> Any:
        def run(*xs: Any) -> list[Any]:
            return evaluate(graph, _replaced(inputs, wanted, xs))

        _, pull = vjp(run, *[inputs[k] for k in wanted])
        return _entries(vmap(lambda *cts: list(pull(list(cts))))(*seeds), count, dtype, place)

    return values


def _replaced(inputs: Sequence[Any], wanted: Sequence[int], xs: Sequence[Any]) -> list[Any]:
    full = list(inputs)
    for k, x in zip(wanted, xs, strict=True):
        full[k] = x
    return full


def _entries(products: Sequence[Any], count: int, dtype: Any, place: Any) -> Any:
    flat = [convert(reshape(p, (count, size(p.shape[1:]))), dtype) for p in products]
    whole = flat[0] if len(flat) == 1 else concatenate(flat, 1)
    return take(reshape(whole, (count * size(whole.shape[1:]),)), place)


__all__ = ["by_colours"]
