"""How the values of one sparse derivative are computed, for arguments of one signature: in which
places, by which method, by which compiled function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..derivatives.forward import jvp
from ..derivatives.reverse import vjp
from ..derivatives.vmap import vmap
from ..dtypes import is_differentiable
from ..ir.evaluate import evaluate
from ..ir.graph import Graph, Var
from ..ir.trace import Trace
from ..ops import concatenate, convert, reshape, stack, take
from ..ops.arrays.shape import reshape_op
from ..ops.places.gathering import add_at, put_at
from ..runtime.execute import Executable, executable_for
from ..runtime.standalone import standalone
from ..tensor import Array
from ..transforms.rewrite import remove_dead
from ..types import ArrayType
from .colouring import Colours, colour_columns, colour_symmetric, seeds
from .index_sets import count_limit
from .patterns import Walk, pattern
from .rules import shape_of, size
from .terms import NoTerms, Terms, first_terms

METHODS = ("auto", "direct", "columns", "rows", "star")


@dataclass(frozen=True, eq=False)
class SparseStructure:
    """Which entries there are: coordinates, counted from 0, in the order of the values."""

    rows: np.ndarray
    columns: np.ndarray
    shape: tuple[int, int]
    order: str = "csr"
    """Sorted by rows ("csr", "coo") or by columns ("csc")."""

    def __len__(self) -> int:
        return len(self.rows)

    @functools.cached_property
    def starts(self) -> np.ndarray:
        """Where each row (column) begins."""
        by_columns = self.order == "csc"
        major, count = (self.columns, self.shape[1]) if by_columns else (self.rows, self.shape[0])
        return np.append(0, np.cumsum(np.bincount(major, minlength=count))).astype(major.dtype)

    def matrix(self, values: Any, format: str) -> Any:
        """The sparse array with these values; its arrays are its own."""
        if format == "coo":
            return sp.coo_array((values, (self.rows.copy(), self.columns.copy())), self.shape)
        by_columns = format == "csc"
        kind = sp.csc_array if by_columns else sp.csr_array
        minor = self.rows if by_columns else self.columns
        made = kind((values, minor.copy(), self.starts.copy()), shape=self.shape)
        made.has_canonical_format = True
        return made


@dataclass(frozen=True, eq=False)
class SparsePlan:
    """How values are computed: a graph of the inputs of the traced function, of what it reads
    around it, and of `constants`. The first of these is what the values begin with, in whose memory
    they are computed; after them there may be a place for what does not count."""

    structure: SparseStructure
    method: str
    colours: int
    """How many products it takes; 0 for direct values."""
    graph: Graph
    constants: tuple[np.ndarray, ...]
    dtype: np.dtype[Any]
    fixed: dict[int, np.ndarray]
    """The inputs whose values decided where entries are, as they were."""
    dense_at: tuple[str, ...]
    """The operations of which more was assumed than is known, with their lines."""

    @functools.cached_property
    def executable(self) -> Executable:
        """The compiled graph; it may write to the first constant."""
        return executable_for(self.graph, (len(self.graph.inputs) - len(self.constants),))

    def values(self, inputs: Sequence[Any], out: np.ndarray | None = None) -> np.ndarray:
        """The values in the order of the structure, in `out` where that is given."""
        first, count = self.constants[0], len(self.structure)
        fits = out is not None and len(first) == count and out.flags.c_contiguous
        memory = out if fits else np.empty_like(first)
        assert memory is not None
        memory[...] = first
        (found,) = self.executable([*inputs, memory, *self.constants[1:]])
        found = found[:count]
        if out is None or (fits and found.base is out) or found is out:
            return found if out is None else out
        out[...] = found
        return out

    def traceable(self, inputs: Sequence[Any], count: int) -> Callable[..., Any]:
        """The values as a function of the first `count` inputs, on traced values, too."""
        rest, size = [*inputs[count:], *self.constants], len(self.structure)
        return lambda *leaves: evaluate(self.graph, [*leaves, *rest])[0][:size]

    def njit(self, inputs: Sequence[Any], count: int) -> Any:
        """A Numba dispatcher of the first `count` inputs; what the function reads around it is
        built in."""
        given, size = [*inputs, *self.constants], len(self.structure)
        graph = self.graph
        if len(self.constants[0]) > size:
            trace = Trace(graph.name)
            with trace:
                boxes = [Array(trace.input(v.type)) for v in graph.inputs]
                graph, captures = trace.finish([evaluate(graph, boxes)[0][:size]])
            assert not captures
        return standalone(graph, given, count, "freeze")


@dataclass(frozen=True)
class Wish:
    """What is asked for."""

    order: str = "csr"
    """Along rows ("csr", "coo") or along columns ("csc")."""
    symmetric: bool = False
    lower: bool = False
    method: str = "auto"
    limit: int = 2**25


def make_plan(
    graph: Graph, wanted: Sequence[int], inputs: Sequence[Any], captured: int, wish: Wish
) -> SparsePlan:
    """The plan for a graph by its inputs with the numbers `wanted`; those from number `captured` on
    are what the function reads around it."""
    graph = remove_dead(graph)
    known = [
        v if k >= captured or (k not in wanted and _decides(v)) else None
        for k, v in enumerate(inputs)
    ]
    known = [v if isinstance(v, (np.ndarray, np.generic, int)) else None for v in known]
    if wish.method in ("auto", "direct"):
        try:
            return _direct(graph, wanted, inputs, known, wish)
        except NoTerms as error:
            if wish.method == "direct":
                raise ValueError(
                    f"method='direct': {error} is no elementwise operation, slice, gather or sum; "
                    "method='auto' takes colours there"
                ) from None
    return _compressed(graph, wanted, inputs, known, wish)


def _decides(x: Any) -> bool:
    """Whether an argument may say where something is: of integers and booleans the values count."""
    return isinstance(x, int) or getattr(getattr(x, "dtype", None), "kind", "") in "biu"


def dtype_of(graph: Graph) -> np.dtype[Any]:
    """The dtype of the derivative."""
    kinds = [a.type.dtype for a in graph.outputs if is_differentiable(a.type.dtype)]
    return np.result_type(*kinds) if kinds else np.dtype(np.float64)


def ordered(
    rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int], order: str
) -> np.ndarray:
    """A key by which entries are sorted."""
    m, n = shape
    key: np.ndarray = columns * m + rows if order == "csc" else rows * n + columns
    return key


def structure_of(keys: np.ndarray, shape: tuple[int, int], order: str) -> SparseStructure:
    """The coordinates of sorted keys."""
    major, minor = np.divmod(keys, max(shape[0] if order == "csc" else shape[1], 1))
    return _structure(*((minor, major) if order == "csc" else (major, minor)), shape, order)


def _structure(rows: Any, columns: Any, shape: tuple[int, int], order: str) -> SparseStructure:
    kind = np.int32 if max(len(rows), *shape) < 2**31 else np.int64
    return SparseStructure(rows.astype(kind), columns.astype(kind), shape, order)


def _fixed(read: Iterable[int], inputs: Sequence[Any]) -> dict[int, np.ndarray]:
    return {k: np.array(inputs[k]) for k in sorted(read)}


# --- direct values --------------------------------------------------------------------------------


def _direct(
    graph: Graph, wanted: Sequence[int], inputs: Sequence[Any], known: Sequence[Any], wish: Wish
) -> SparsePlan:
    counts = [size(graph.inputs[k].type.shape) for k in wanted]
    shape = (sum(size(a.type.shape) for a in graph.outputs), sum(counts))
    walk = Walk(shape[1], wish.limit)
    numbers = [
        None if v is None else walk.note(np.array(v), frozenset([k])) for k, v in enumerate(known)
    ]
    trace = Trace(f"{graph.name}_terms", graph.sizes)
    with trace:
        boxes = [Array(trace.input(v.type, v.name)) for v in graph.inputs]
        start, first = 0, [[] for _ in boxes]  # type: ignore[var-annotated]
        for k, count in zip(wanted, counts, strict=True):
            first[k] = first_terms(boxes[k], start)
            start += count
        found, _, _ = Terms(walk).graph(graph, boxes, first, numbers)
        terms = [
            (row, t)
            for row, mine, a in zip(_starts(graph), found, graph.outputs, strict=True)
            if is_differentiable(a.type.dtype)
            for t in mine
        ]
        coefficients, captures = trace.finish([t.coefficients for _, t in terms])
    keys, kept = [], []
    for row, t in terms:
        rows = np.arange(t.columns.size) if t.rows is None else t.rows.reshape(-1)
        columns = t.columns.reshape(-1)
        there = (columns >= 0) & (rows >= 0)
        rows = rows + row
        if wish.lower:
            there &= columns <= rows
        keys.append(ordered(rows, columns, shape, wish.order))
        kept.append(there)
    count = sum(int(k.sum()) for k in kept)
    count_limit(count, wish.limit, *shape)
    every = np.concatenate(
        [k[there] for k, there in zip(keys, kept, strict=True)] or [np.zeros(0, int)]
    )
    order, which = np.unique(every, return_inverse=True)
    twice = len(order) < len(every)
    dtype = dtype_of(graph)
    written, constants = _writer(coefficients, captures, kept, len(order), which, twice, dtype)
    return SparsePlan(
        structure_of(order, shape, wish.order),
        "direct",
        0,
        written,
        constants,
        dtype,
        _fixed(walk.read, inputs),
        (),
    )


def _starts(graph: Graph) -> list[int]:
    """The row at which each output begins."""
    sizes = [size(a.type.shape) for a in graph.outputs]
    return [0, *np.cumsum(sizes).tolist()][:-1]


def _writer(
    graph: Graph,
    captures: Sequence[Any],
    kept: Sequence[np.ndarray],
    nnz: int,
    which: np.ndarray,
    twice: bool,
    dtype: np.dtype[Any],
) -> tuple[Graph, tuple[np.ndarray, ...]]:
    """The graph that writes coefficients to their places: those that are constants stand in a
    template that it begins with, all others are written over it, or added where a place has
    several."""
    graph = _unshaped(graph)
    known = [*[None] * (len(graph.inputs) - len(captures)), *map(np.asarray, captures)]
    fixed = Walk(1, 1).graph(graph, [None] * len(known), known)[1]
    template = np.zeros(nnz + 1, dtype)
    groups: dict[Any, list[tuple[int, np.ndarray]]] = {}
    first, spare = 0, False
    for k, there in enumerate(kept):
        count = int(there.sum())
        place = np.full(len(there), nnz, np.int32 if nnz < 2**31 - 1 else np.int64)
        place[there] = which[first : first + count]
        first += count
        if not count:
            continue
        value, shape = fixed[k], shape_of(graph.outputs[k])
        if value is not None:
            with np.errstate(all="ignore"):
                full = np.broadcast_to(value, shape).reshape(-1)
                np.add.at(template, place[there], full[there].astype(dtype))
            continue
        spare = spare or count < len(there)
        groups.setdefault(shape, []).append((k, place.reshape(shape)))
    numbers = [[k for k, _ in members] for members in groups.values()]
    places = [np.stack([p for _, p in members]) for members in groups.values()]
    write = add_at if twice else put_at

    def values(inputs: Sequence[Any], template: Any, *places: Any) -> Any:
        found = evaluate(graph, [*inputs, *captures])
        out = template
        for chosen, place in zip(numbers, places, strict=True):
            parts = [convert(found[k], dtype) for k in chosen]
            out = write(out, stack(parts, 0), [place], (0,), 0, (), not twice)
        return out

    constants = [template if spare else template[:nnz], *places]
    types = [v.type for v in graph.inputs[: len(graph.inputs) - len(captures)]]
    return _traced(f"{graph.name}_values", values, types, constants)


def _traced(
    name: str, values: Callable[..., Any], types: Sequence[Any], constants: Sequence[np.ndarray]
) -> tuple[Graph, tuple[np.ndarray, ...]]:
    """The graph of `values(inputs, *constants)`, and all of its constants."""
    trace = Trace(name)
    with trace:
        inputs = [Array(trace.input(t)) for t in types]
        given = [Array(trace.input(ArrayType(c.dtype, c.shape))) for c in constants]
        graph, captures = trace.finish([values(inputs, *given)])
    more = [np.asarray(getattr(c, "_data", c)) for c in captures]
    return graph.replace(checked=False), (*constants, *more)


def _unshaped(graph: Graph) -> Graph:
    """The graph whose outputs have the shapes in which they are computed: C order is all that
    counts."""
    made = {v: n for n in graph.nodes for v in n.outputs}

    def bare(a: Any) -> Any:
        while isinstance(a, Var) and a in made and made[a].op is reshape_op:
            a = made[a].inputs[0]
        return a

    return graph.replace(outputs=tuple(map(bare, graph.outputs)))


# --- by colours -----------------------------------------------------------------------------------


def _compressed(
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

    written = _traced(
        f"{graph.name}_{method}", values, [v.type for v in graph.inputs], [*constants, place]
    )
    return SparsePlan(
        _structure(rows, columns, found.shape, wish.order),
        method,
        colours.number,
        *written,
        dtype,
        _fixed(read, inputs),
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


__all__ = ["METHODS", "SparsePlan", "SparseStructure", "Wish", "make_plan"]
