"""Values of a sparse derivative written straight to their places: each entry is an expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._codegen import lowering
from ..dtypes import is_differentiable
from ..ir.evaluate import evaluate
from ..ir.graph import Atom, Graph, Var
from ..ir.trace import Trace
from ..ops import broadcast_to, concatenate, convert, reshape, stack, take
from ..ops.arrays.concatenation import concatenate_op
from ..ops.arrays.shape import reshape_op
from ..ops.arrays.slices import slice_array
from ..ops.places.gathering import add_at, put_at
from ..tape.modes import restoring
from ..tensor import Array
from .index_sets import count_limit
from .patterns import Walk
from .plan import SparsePlan, Wish, dtype_of, fixed_inputs, traced_values
from .records import Lying, Records, Stream, layout, streams_of
from .rules import is_one, shape_of, size
from .structure import order_of, sorted_once
from .terms import Terms, added, first_terms

DEAR = 10
"""What a function costs at least that is dear, in additions."""


@restoring
def direct(
    graph: Graph, wanted: Sequence[int], inputs: Sequence[Any], known: Sequence[Any], wish: Wish
) -> SparsePlan:
    """The plan; NoTerms where the graph is not made of terms."""
    dtype = dtype_of(graph)
    graph = graph.replace(outputs=tuple(_pieces(graph)))
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
    rows, columns, kept = [], [], []
    for row, t in terms:
        mine = np.arange(t.columns.size) if t.rows is None else t.rows.reshape(-1)
        there = (t.columns.reshape(-1) >= 0) & (mine >= 0)
        if wish.lower:
            there &= t.columns.reshape(-1) <= mine + row
        rows.append(mine[there] + row)
        columns.append(t.columns.reshape(-1)[there])
        kept.append(there)
    count = sum(map(len, rows))
    count_limit(count, wish.limit, *shape)
    at = [np.concatenate([*parts, np.zeros(0, np.int64)]) for parts in (rows, columns)]
    sorting = order_of(wish.order, shape, *at)
    chosen, which = sorted_once(sorting.keys(*at))
    places, begin = [], 0
    for there in kept:
        place = np.full(len(there), -1)
        place[there] = which[begin : begin + int(there.sum())]
        begin += int(there.sum())
        places.append(place)
    write = Writing(_unshaped(coefficients), captures, places, len(chosen), dtype)
    constants: list[np.ndarray]
    twice = len(chosen) < len(which) and write.twice_after_sums()
    lies = None if twice or write.dear() else layout(write.places, len(chosen))
    if lies is not None:
        begins, (values, constants) = False, write.in_records(lies)
    else:
        begins, (values, constants) = True, write.at_places(twice)
    types = [v.type for v in graph.inputs]
    return SparsePlan(
        sorting.at(*[k[chosen] for k in at]),
        "direct",
        0,
        *traced_values(f"{graph.name}_values", values, types, constants),
        dtype,
        fixed_inputs(walk.read, inputs),
        (),
        begins,
    )


def _pieces(graph: Graph) -> list[Atom]:
    """The outputs without reshapes, and those that lie one behind the other without the joint: C
    order is all that counts, and each has a form of its own."""
    made = {v: n for n in graph.nodes for v in n.outputs}
    found: list[Atom] = []
    todo = list(graph.outputs)
    while todo:
        a = todo.pop(0)
        node = made.get(a) if isinstance(a, Var) else None
        if node is not None and node.op is reshape_op:
            todo.insert(0, node.inputs[0])
        elif (
            node is not None
            and node.op is concatenate_op
            and all(map(is_one, node.outputs[0].type.shape[: node.params["axis"]]))
            and all(x.type.dtype == node.outputs[0].type.dtype for x in node.inputs)
        ):
            todo = [*node.inputs, *todo]
        else:
            found.append(a)
    return found


def _starts(graph: Graph) -> list[int]:
    """The row at which each output begins."""
    sizes = [size(a.type.shape) for a in graph.outputs]
    return [0, *np.cumsum(sizes).tolist()][:-1]


def _unshaped(graph: Graph) -> Graph:
    """The graph whose outputs have the shapes in which they are computed."""
    made = {v: n for n in graph.nodes for v in n.outputs}

    def bare(a: Any) -> Any:
        while isinstance(a, Var) and a in made and made[a].op is reshape_op:
            a = made[a].inputs[0]
        return a

    return graph.replace(outputs=tuple(map(bare, graph.outputs)))


class Writing:
    """Coefficients, the outputs of a graph, with the places where they belong; below 0 where they
    count for nothing."""

    def __init__(
        self,
        graph: Graph,
        captures: Sequence[Any],
        places: Sequence[np.ndarray],
        nnz: int,
        dtype: np.dtype[Any],
    ) -> None:
        self.graph, self.captures, self.nnz, self.dtype = graph, list(captures), nnz, dtype
        self.places = [p.reshape(shape_of(a)) for p, a in zip(places, graph.outputs, strict=True)]
        known = [*[None] * (len(graph.inputs) - len(captures)), *map(np.asarray, captures)]
        self.fixed = Walk(1, 1).graph(graph, [None] * len(known), known)[1]
        """The outputs that are constants."""
        self.sums = [[Stream(k, (None,) * p.ndim, p)] for k, p in enumerate(self.places)]
        """Of which parts of outputs each coefficient is the sum."""

    def twice_after_sums(self) -> bool:
        """Whether a place has several coefficients even where those that belong to the same places
        are added up, equation by equation."""
        streams = [s for k, p in enumerate(self.places) for s in streams_of(k, p)]
        together: dict[Any, list[Stream]] = {}
        for s in streams:
            together.setdefault((s.places.shape, s.places.tobytes()), []).append(s)
        places = [same[0].places for same in together.values()]
        if sum(int((p >= 0).sum()) for p in places) > self.nnz:
            return True
        self.places, self.sums = places, list(together.values())
        return False

    def constant(self, k: int) -> np.ndarray | None:
        """The values of a coefficient that is a constant."""
        full: Any = None
        for s in self.sums[k]:
            value = self.fixed[s.number]
            if value is None:
                return None
            with np.errstate(all="ignore"):
                whole = np.broadcast_to(
                    np.asarray(value).astype(self.dtype), shape_of(self.graph.outputs[s.number])
                )
                part = whole[s.at]
                full = part if full is None else full + part
        found: np.ndarray = full
        return found

    def one(self, k: int) -> Any:
        """The value of a coefficient that is one constant in all elements."""
        value = self.constant(k)
        if value is None or not value.size or (value != value.flat[0]).any():
            return None
        same = (np.signbit(value.real) == np.signbit(value.flat[0].real)).all()
        return value.flat[0] if same and self.dtype.kind == "f" else None

    def dear(self) -> bool:
        """Whether functions are called that take longer than storing: of many of them with several
        shifts, LLVM keeps what the next pass needs, and vectorises no more (the Hessian of Luksan
        and Vlcek's 5.1: 42 ns an element in records, 17 at places)."""
        nodes = self.graph.nodes
        return any(
            isinstance(n.op.lowering, lowering.Pointwise) and n.op.lowering.cost >= DEAR
            for n in nodes
        )

    def evaluated(self, inputs: Sequence[Any]) -> list[Any]:
        """The coefficients in the dtype of the values."""
        found = evaluate(self.graph, [*inputs, *self.captures])
        return [added([self.part(found[s.number], s) for s in same]) for same in self.sums]

    def part(self, x: Any, s: Stream) -> Any:
        """A stream of a coefficient."""
        if all(k is None for k in s.pick):
            return convert(x, self.dtype)
        ends = [(0, n) if k is None else (k, 1) for k, n in zip(s.pick, x.shape, strict=True)]
        cut = slice_array(x, [a for a, _ in ends], [n for _, n in ends], (1,) * len(ends))
        return convert(reshape(cut, s.places.shape), self.dtype)

    def index(self, places: Any) -> np.ndarray:
        """Places in the dtype in which they are read."""
        kind = np.int32 if self.nnz < 2**31 - 1 else np.int64
        return np.asarray(places).astype(kind)

    def at_places(self, twice: bool) -> tuple[Any, list[np.ndarray]]:
        """Constants stand in a template that is there in the beginning, all others are written
        over it, or added where a place has several."""
        template = np.zeros(self.nnz + 1, self.dtype)
        groups: dict[Any, list[tuple[int, np.ndarray]]] = {}
        spare = False
        for k, place in enumerate(self.places):
            there = place >= 0
            if not there.any():
                continue
            value = self.constant(k)
            if value is not None:
                with np.errstate(all="ignore"):
                    np.add.at(template, place[there], value[there])
                continue
            spare = spare or not there.all()
            groups.setdefault(place.shape, []).append((k, np.where(there, place, self.nnz)))
        numbers = [[k for k, _ in members] for members in groups.values()]
        places = [self.index(np.stack([p for _, p in members])) for members in groups.values()]
        write = add_at if twice else put_at

        def values(inputs: Sequence[Any], template: Any, *places: Any) -> Any:
            found = self.evaluated(inputs)
            out = template
            for chosen, place in zip(numbers, places, strict=True):
                out = write(
                    out, stack([found[k] for k in chosen], 0), [place], (0,), 0, (), not twice
                )
            return out

        return values, [template if spare else template[: self.nnz], *places]

    def in_records(self, lies: Lying) -> tuple[Any, list[np.ndarray]]:
        """Records one behind the other; then what lies elsewhere is written over them."""
        fixed, at, numbers, constants = [], [], [], []
        lying = self.in_all_elements(lies.records)
        for k, elements, places in lies.rest:
            value = self.constant(k)
            if value is not None:
                value = value.reshape(-1)[elements]
                there = lying[places]
                other = (value != there) | (np.signbit(value.real) != np.signbit(there.real))
                fixed.append(value[other])
                at.append(places[other])
            else:
                numbers.append(k)
                constants += [elements, self.index(places)]
        if fixed:
            constants = [np.concatenate(fixed), self.index(np.concatenate(at)), *constants]

        def values(inputs: Sequence[Any], *given: Any) -> Any:
            found = self.evaluated(inputs)
            parts, end = [], 0
            for record in lies.records:
                parts += self.nothing((record.start - end,))
                parts.append(self.record(record, found))
                end = record.stop
            parts += self.nothing((self.nnz - end,))
            out = concatenate(parts, 0) if len(parts) > 1 else parts[0]
            rest = list(given)
            if fixed:
                value, place, *rest = rest
                out = put_at(out, value, [place], (0,), 0, (), True)
            for n, k in enumerate(numbers):
                c = found[k]
                chosen = take(reshape(c, (size(c.shape),)), rest[2 * n])
                out = put_at(out, chosen, [rest[2 * n + 1]], (0,), 0, (), True)
            return out

        return values, constants

    def in_all_elements(self, records: Sequence[Records]) -> np.ndarray:
        """What records write where they write one constant in all of their elements; else NaN."""
        found = np.full(self.nnz, np.nan, self.dtype)
        for record in records:
            starts = record.places(record.lo, record.hi)
            for t, s in enumerate(record.streams):
                one = self.one(s.number)
                if one is not None:
                    found[starts + t] = one
        return found

    def nothing(self, shape: tuple[int, ...]) -> list[Any]:
        """Zeros, where there is room for any."""
        return [broadcast_to(self.dtype.type(0), shape)] if 0 not in shape else []

    def record(self, record: Records, found: Sequence[Any]) -> Any:
        """A record for each element of its box, as a vector."""
        parts = []
        for s in record.streams:
            one = self.one(s.number)
            if one is not None:
                parts.append(broadcast_to(one, (*record.shape, 1)))
                continue
            c, bounds = found[s.number], iter(zip(record.lo, record.hi, strict=True))
            ends = [next(bounds) if k is None else (k, k + 1) for k in s.pick]
            ones = (1,) * len(ends)
            cut = slice_array(c, [a for a, _ in ends], [b - a for a, b in ends], ones)
            parts.append(reshape(cut, (*record.shape, 1)))
        made = concatenate(parts, len(record.shape))
        for axis in reversed(range(len(record.shape))):
            wide = (*record.shape[:axis], record.shape[axis] * made.shape[axis + 1])
            made = reshape(made, wide)
            if axis:
                gap = self.nothing((*record.shape[:axis], record.steps[axis - 1] - wide[axis]))
                made = concatenate([made, *gap], axis) if gap else made
        return made


__all__ = ["direct"]
