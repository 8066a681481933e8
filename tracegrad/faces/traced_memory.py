"""How arrays that a trace makes would lie in memory if NumPy made them: what a function does to its
elements one by one keeps the order of its operands, views turn it, everything else is in C order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

from .._codegen import lowering
from ..ir.graph import Node, Var
from ..ir.trace import Trace
from ..ops.arrays.diagonals import diagonal_op
from ..ops.arrays.shape import broadcast_to_op, reshape_op, transpose_op
from ..ops.arrays.slices import select_op, slice_op
from ..sizes import less, same
from ..types import Int, Shape
from .strides import Memory, after, in_order

VIEWS = {transpose_op, slice_op, select_op, broadcast_to_op, reshape_op, diagonal_op}


class TracedMemory:
    """What is known of an open trace, of the nodes seen so far: the strides of variables that are
    not in C order, which of them have their axes in another order, and how bases lie that were
    written to since they were made."""

    def __init__(self) -> None:
        self.strides: dict[Var, Shape] = {}
        self.turned: set[Var] = set()
        self.seen = 0
        self.bases: dict[int, tuple[ref[Any], Memory, bool]] = {}
        """By identity, and whether their axes are turned; weak references, as who else holds an
        array is asked elsewhere."""

    def follow(self, trace: Trace) -> None:
        """Look at the nodes that were recorded since. Sizes are asked about only where axes have
        been turned."""
        nodes = trace.nodes
        while self.seen < len(nodes):
            node = nodes[self.seen]
            self.seen += 1
            if node.op in VIEWS:
                self.view(node)
            elif self.turned and isinstance(node.op.lowering, lowering.Pointwise):
                arrays = [x for x in node.inputs if isinstance(x, Var)]
                if not self.turned.isdisjoint(arrays):
                    for var in node.outputs:
                        self.pointwise(var, arrays)

    def memory(self, x: Var) -> Memory:
        """Of a variable."""
        shape = x.type.shape
        return shape, self.strides.get(x) or in_order(shape)

    def view(self, node: Node) -> None:
        """Of what a view shows; where it has to copy that is in C order."""
        source, (var,) = node.inputs[0], node.outputs
        if not isinstance(source, Var) or (node.op is reshape_op and source not in self.strides):
            return
        if var in self.strides:
            return
        shown = after(node.op, node.params, self.memory(source))
        if shown is None:
            return
        self.strides[var] = shown[1]
        turns = node.op is transpose_op or (node.op is diagonal_op and len(shown[0]) > 1)
        if turns or source in self.turned:
            self.turned.add(var)

    def pointwise(self, var: Var, arrays: Sequence[Var]) -> None:
        """Of what takes the order of its operands."""
        shape = var.type.shape
        if var in self.strides:
            return
        order = kept([self.memory(x) for x in arrays if len(x.type.shape) == len(shape)])
        if order == list(range(len(shape))):
            return
        strides: list[Int] = [1] * len(shape)
        step: Int = 1
        for axis in reversed(order):
            strides[axis] = step
            step = step * shape[axis]
        self.strides[var] = tuple(strides)
        self.turned.add(var)


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
    found = lying.bases.get(id(base))
    if found is not None and found[0]() is base:
        return found[1]
    lying.follow(data.trace)
    return lying.memory(data)


def keep(base: Any, memory: Memory | None = None, turned: bool | None = None) -> None:
    """A box of an open trace lies as it does now, or so, whatever is written to it."""
    trace = base._data.trace if type(base._data) is Var else None
    if trace is None:
        return
    known = of_trace(trace)
    if memory is None:
        before = known.bases.get(id(base))
        memory = memory_of(base)
        again = before is not None and before[0]() is base
        turned = before[2] if again and before is not None else base._data in known.turned
    known.bases[id(base)] = ref(base), memory, bool(turned)


def settle(base: Any) -> None:
    """A kept box was written to: what the write has made lies as it does, too."""
    data = base._data
    if type(data) is not Var or data.trace is None:
        return
    known = of_trace(data.trace)
    if id(base) not in known.bases:
        return
    known.follow(data.trace)
    _, memory, turned = known.bases[id(base)]
    made = data.trace.nodes and data in data.trace.nodes[-1].outputs
    if made and (turned or data in known.turned):
        known.strides[data] = memory[1]
        (known.turned.add if turned else known.turned.discard)(data)


def as_view(data: Any, base: Any, view: Sequence[tuple[Any, dict[str, Any]]]) -> None:
    """What a trace makes of several operations is a view: it lies as this view of a base."""
    if type(data) is not Var or data.trace is None:
        return
    memory = memory_of(base)
    for op, params in view:
        shown = after(op, params, memory)
        if shown is None:
            return
        memory = shown
    lying = of_trace(data.trace)
    lying.strides[data] = memory[1]
    if len(memory[0]) > 1:
        lying.turned.add(data)


def lay(box: Any, order: str | None) -> None:
    """A new box of an open trace lies in C order, or (F) columns first."""
    shape = box._data.type.shape
    columns = order == "F"
    keep(box, (shape, in_order(shape[::-1])[::-1] if columns else in_order(shape)), columns)
    settle(box)


def of_trace(trace: Trace) -> TracedMemory:
    """What is known of it."""
    if trace.lying is None:
        trace.lying = TracedMemory()
    found: TracedMemory = trace.lying
    return found
