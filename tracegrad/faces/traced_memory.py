"""How arrays that a trace makes would lie in memory if NumPy made them: what a function does to its
elements one by one keeps the order of its operands, views turn it, everything else is in C order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from .._codegen import lowering
from ..ir.dispatch import Value
from ..ir.graph import Node, Var
from ..ir.trace import Trace
from ..ops.arrays.diagonals import diagonal_op
from ..ops.arrays.shape import broadcast_to_op, reshape_op, transpose_op
from ..ops.arrays.slices import select_op, slice_op
from ..ops.arrays.windows import shear_op
from ..sizes import less, same
from ..types import Int, Shape
from .strides import Memory, after, in_order, through, without_gaps

TURNING = {transpose_op, diagonal_op, shear_op}
VIEWS = {transpose_op, slice_op, select_op, broadcast_to_op, reshape_op, diagonal_op, shear_op}


class KeptMemory(NamedTuple):
    """How a base lies, whatever is written to it."""

    base: ref[Any]
    """Weak, as who else holds an array is asked elsewhere."""
    memory: Memory
    turned: bool
    """Whether its axes have another order."""
    sources: tuple[Var, ...]
    """The variables on whose memory this rests."""


class TracedMemory:
    """What is known of an open trace, of the nodes seen so far: the strides of variables that are
    not in C order, which of them have their axes in another order, and how bases lie that were
    written to since they were made."""

    def __init__(self) -> None:
        self.strides: dict[Var, Shape] = {}
        self.turned: set[Var] = set()
        self.seen = self.seen_captures = 0
        self.makers: dict[Var, Node] = {}
        """The nodes seen, by what they give."""
        self.certain: set[Var] = set()
        """Of what is known how it lies (certainty.py)."""
        self.bases: dict[int, KeptMemory] = {}
        """By identity."""
        self.told: dict[Var, tuple[Var, ...]] = {}
        """Of variables of which it was said how they lie: those on whose memory that rests."""
        self.choices: list[tuple[ref[Any], ref[Any]]] = []
        """Results that are their argument, or a copy of it, as that lies (`note_choice`)."""
        self.rests: dict[Var, str] = {}
        """The inputs of which C order was taken for granted, where a write was told by it, and
        where that was (certainty.py)."""

    def follow(self, trace: Trace) -> None:
        """Look at the nodes that were recorded since. Sizes are asked about only where axes have
        been turned."""
        before, self.seen_captures = self.seen_captures, len(trace.captures)
        if before < self.seen_captures:
            self.captured(list(trace.captures.values())[before:])
        self.look(trace.nodes)

    def captured(self, captures: Iterable[tuple[Var, Any]]) -> None:
        """Values from outside lie as they do there."""
        for var, (x, data) in captures:
            if len(var.type.shape) < 2:
                continue
            if type(data) is np.ndarray and not data.flags.c_contiguous:
                self.lies(var, tuple(s // data.itemsize for s in data.strides))
            elif type(data) is Var and data.trace is not None and data.trace.lying is not None:
                lying = of_trace(data.trace)
                lying.follow(data.trace)
                found = kept_of(lying, x) if isinstance(x, Value) else None
                shape, strides = lying.memory(data) if found is None else found.memory
                if strides != in_order(shape):
                    self.lies(var, strides)

    def lies(self, var: Var, strides: Shape) -> None:
        """A variable lies so, its axes turned."""
        self.strides[var] = strides
        self.turned.add(var)

    def look(self, nodes: Sequence[Node]) -> None:
        """Look at the nodes that come next."""
        while self.seen < len(nodes):
            node = nodes[self.seen]
            self.seen += 1
            for var in node.outputs:
                self.makers[var] = node
            if node.op in VIEWS:
                source = node.inputs[0]
                if node.op in TURNING or (self.turned and source in self.turned):
                    self.turned.update(node.outputs)
            elif isinstance(node.op.lowering, lowering.Gather):
                self.gathered(node)
            elif self.turned and isinstance(node.op.lowering, lowering.Pointwise):
                arrays = [x for x in node.inputs if isinstance(x, Var)]
                if not self.turned.isdisjoint(arrays):
                    for var in node.outputs:
                        self.pointwise(var, arrays)

    def gathered(self, node: Node) -> None:
        """Of what NumPy gives for index arrays: their block lies outermost, the other axes as they
        do in the source."""
        (var,), at, source = node.outputs, node.params["at"], node.inputs[0]
        if var in self.strides or not isinstance(source, Var) or node.params["aligned"]:
            return
        if not at and source not in self.turned:
            return
        windows = node.params["windows"] or (None,) * len(node.params["axes"])
        read = {a for a, w in zip(node.params["axes"], windows, strict=True) if w is None}
        shape, strides = self.memory(source)
        rest = [k for k in range(len(shape)) if k not in read]
        block = len(var.type.shape) - len(rest)
        places = [*range(at), *range(at + block, len(var.type.shape))]
        order = kept([(tuple(shape[k] for k in rest), tuple(strides[k] for k in rest))])
        order = [*range(at, at + block), *[places[k] for k in order]]
        if order != sorted(order):
            self.lies(var, compact(var.type.shape, order))

    def memory(self, x: Var) -> Memory:
        """Of a variable; of what a view shows where it had to copy that is in C order."""
        views: list[Node] = []
        var = x
        while var not in self.strides:
            node = self.makers.get(var)
            if node is None or node.op not in VIEWS or not isinstance(node.inputs[0], Var):
                break
            views.append(node)
            var = node.inputs[0]
        memory = var.type.shape, self.strides.get(var) or in_order(var.type.shape)
        for node in reversed(views):
            (var,) = node.outputs
            shape = var.type.shape
            memory = after(node.op, node.params, memory) or (shape, in_order(shape))
            self.strides[var] = memory[1]
        return memory

    def pointwise(self, var: Var, arrays: Sequence[Var]) -> None:
        """Of what takes the order of its operands."""
        shape = var.type.shape
        if var in self.strides:
            return
        order = kept([self.memory(x) for x in arrays if len(x.type.shape) == len(shape)])
        if order != sorted(order):
            self.lies(var, compact(shape, order))


def compact(shape: Sequence[Int], order: Sequence[int]) -> Shape:
    """The strides of an array without gaps whose axes lie in this order, outermost first."""
    strides: list[Int] = [1] * len(shape)
    step: Int = 1
    for axis in reversed(order):
        strides[axis] = step
        step = step * shape[axis]
    return tuple(strides)


def kept(operands: Sequence[Memory]) -> list[int]:
    """The axes of what a ufunc makes of these, outermost first: NumPy's order "K". It is an
    insertion sort of the axes of C order, from the innermost on, and goes on over axes of which no
    operand tells."""
    steps = [
        [0 if same(n, 1) else -s if less(s, 0) else s for n, s in zip(*memory, strict=True)]
        for memory in operands
    ]
    order = list(range(len(steps[0])))[::-1]
    for k in range(1, len(order)):
        place = k
        for j in range(k - 1, -1, -1):
            told = [
                less(s[order[k]], s[order[j]])
                for s in steps
                if not same(s[order[k]], 0) and not same(s[order[j]], 0)
            ]
            if told and not all(told):
                break  # C order wins where operands disagree
            if told:
                place = j
        order.insert(place, order.pop(k))
    return order[::-1]


def memory_of(base: Any) -> Memory:
    """How a box lies: as it did before it was written to; arguments of a trace in C order."""
    data = base._data
    shape = data.type.shape if type(data) is Var else data.shape
    if type(data) is not Var or data.trace is None:
        return shape, in_order(shape)
    lying = of_trace(data.trace)
    found = kept_of(lying, base)
    if found is not None:
        return found.memory
    lying.follow(data.trace)
    return lying.memory(data)


def kept_of(lying: TracedMemory, base: Any) -> KeptMemory | None:
    """How a box lies that was kept."""
    found = lying.bases.get(id(base))
    return found if found is not None and found.base() is base else None


def sources_of(lying: TracedMemory, base: Any) -> tuple[Var, ...]:
    """The variables on whose memory rests how a box lies."""
    found = kept_of(lying, base)
    return (base._data,) if found is None else found.sources


def keep(base: Any, memory: Memory | None = None) -> None:
    """A box of an open trace lies as it does now, whatever is written to it; or so, as NumPy says
    of what runs."""
    trace = base._data.trace if type(base._data) is Var else None
    if trace is None:
        return
    known = of_trace(trace)
    if memory is not None:
        known.bases[id(base)] = KeptMemory(ref(base), memory, True, ())
    elif kept_of(known, base) is None:
        memory, turned = memory_of(base), base._data in known.turned
        known.bases[id(base)] = KeptMemory(ref(base), memory, turned, (base._data,))


def lies_otherwise(base: Any, new: Any) -> bool:
    """Whether what a base becomes has a variable that others have, and that lies otherwise."""
    data = new._data if isinstance(new, Value) else None
    if type(data) is not Var or data.trace is None or type(base._data) is not Var:
        return False
    known = of_trace(data.trace)
    known.follow(data.trace)
    made = data.trace.nodes and data in data.trace.nodes[-1].outputs
    found = kept_of(known, base)
    turned = data in known.turned or (found is not None and found.turned)
    return turned and not made and memory_of(base) != known.memory(data)


def settle(base: Any) -> None:
    """A kept box was written to: what the write has made lies as it does, too."""
    data = base._data
    if type(data) is not Var or data.trace is None:
        return
    known = of_trace(data.trace)
    found = kept_of(known, base)
    if found is None or data in found.sources:
        return
    known.follow(data.trace)
    made = data.trace.nodes and data in data.trace.nodes[-1].outputs
    if made:
        known.told[data] = found.sources
        known.strides[data] = found.memory[1]
        (known.turned.add if found.turned else known.turned.discard)(data)


def as_view(data: Any, base: Any, view: Sequence[tuple[Any, dict[str, Any]]]) -> None:
    """What a trace makes of several operations is a view: it lies as this view of a base."""
    if type(data) is not Var or data.trace is None:
        return
    memory = through(view, memory_of(base))
    if memory is None:
        return
    lying = of_trace(data.trace)
    lying.strides[data] = memory[1]
    lying.told[data] = sources_of(lying, base)
    if len(memory[0]) > 1:
        lying.turned.add(data)


def lay(box: Any, order: str | None, like: Any) -> None:
    """A new box of an open trace lies in C order, columns first (F), in the one of these in which
    another one does (A), or with its axes in the order of that one's (K)."""
    data, shape = box._data, box._data.type.shape
    if data.trace is None:
        return
    known, axes = of_trace(data.trace), list(range(len(shape)))
    sources: tuple[Var, ...] = ()
    if order == "F":
        axes.reverse()
    elif order in ("A", "K") and isinstance(like, Value) and len(like.shape) == len(shape):
        box_of: Any = like
        own = box_of.shape, in_order(box_of.shape)
        memory = through(box_of._view, memory_of(box_of._root)) or own
        if order == "K":
            axes = kept([memory])
        elif not without_gaps(memory) and without_gaps((memory[0][::-1], memory[1][::-1])):
            axes.reverse()
        if type(box_of._data) is Var and box_of._data.trace is data.trace:
            sources = (box_of._data,)
    known.follow(data.trace)
    turned = axes != sorted(axes)
    known.told[data] = sources
    known.lies(data, compact(shape, axes))
    if not turned:
        known.turned.discard(data)
    known.bases[id(box)] = KeptMemory(ref(box), known.memory(data), turned, (data,))


def note_choice(result: Any, base: Any) -> None:
    """Whether this result shares memory with a base was told by how that lies: if one of them is
    written to while there is the other, that has to be certain."""
    data = base._root._data
    if type(data) is Var and data.trace is not None:
        of_trace(data.trace).choices.append((ref(result), ref(base._root)))


def of_trace(trace: Trace) -> TracedMemory:
    """What is known of it."""
    if trace.lying is None:
        trace.lying = TracedMemory()
    found: TracedMemory = trace.lying
    return found
