"""The tape: nodes that remember an operation, what its rule reads, and the edges to where its
inputs came from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Signature
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy import ndarray

from ..ir.dispatch import STATE, Value
from ..ir.graph import Var
from ..ir.op import Op, Rest
from ..types import ArrayType, type_of
from .hooks import NodeHooks, RemovableHandle, add_hook, hooks_of, leaf_hooks
from .lent import lend
from .names import SavedAttributes, name_of_node
from .pieces import NOTHING, save
from .saved import SAVING, Saved, pack_all

next_number: Callable[[], int] = itertools.count(1).__next__
"""The tape's clock: producers were made before consumers. 0 is no number."""


End: TypeAlias = Any
"""Where an edge ends: the node that made a value, or the leaf itself. A leaf's node, which stands
for the same place, is made only for those who look at the graph. What sweeps and rules read of
either: `_order`, unique and smaller than that of all who read the value; `dtype` and `shape`;
`_types` in their place where there are several results."""

Edge: TypeAlias = tuple[End, int]
"""Where a value came from, and which of the results of a node it is."""


class GradientEdge(NamedTuple):
    """The place in the graph where a tensor's gradient arrives, without the tensor: an output or
    input of `grad` and `backward`."""

    node: Producer
    output_nr: int
    ownership_token: Any = None
    """What must live as long as the edge."""


class Producer:
    """A node of the graph: a recorded application, or the place where a leaf's gradient arrives."""

    __slots__ = ()
    edges: Sequence[Edge | None]
    dtype: np.dtype[Any]
    shape: Any
    _types: Sequence[ArrayType] | None
    _order: int
    hooks: NodeHooks | None
    _metadata: dict[str, Any] | None

    def name(self) -> str:
        """What torch's users call this node: `MulBackward0`."""
        raise NotImplementedError

    def made_hooks(self: Any) -> NodeHooks:
        """The place for hooks of this node, where none was registered yet."""
        self.hooks = found = NodeHooks()
        return found

    @property
    def metadata(self: Any) -> dict[str, Any]:
        """A dict for what others want to remember about this node; anomaly detection keeps the
        traceback of the operation here."""
        if self._metadata is None:
            self._metadata = {}
        return self._metadata  # type: ignore[no-any-return]

    __signature__ = Signature()

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError(
            "autograd.graph.Node is there for isinstance: nodes are made by the operations that "
            "are recorded. A tensor's is x.grad_fn"
        )

    @property
    def next_functions(self) -> tuple[tuple[Producer | None, int], ...]:
        """The producers of the inputs with their output numbers, as torch lists them."""
        return tuple(
            [
                (None, 0) if e is None else e if isinstance(e[0], Producer) else e[0]._edge()
                for e in self.edges
            ]
        )

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node's rule has run. Both are tuples of
        Tensors, None where there is no gradient; a tuple that `fn` returns takes the place of
        `grad_inputs`."""
        return add_hook(hooks_of(self).post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node's rule runs; a tuple that it returns takes the
        place of `grad_outputs`."""
        return add_hook(hooks_of(self).pre, fn)

    def _sequence_nr(self) -> int:
        return self._order

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        if self._types is None:
            return (InputMetadata(tuple(self.shape), self.dtype),)
        return tuple([InputMetadata(tuple(t.shape), t.dtype) for t in self._types])

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {hex(id(self))}>"


class InputMetadata(NamedTuple):
    """What a node knows about a result of its operation, whose gradient is an input of its rule."""

    shape: tuple[Any, ...]
    dtype: np.dtype[Any]
    device: str = "cpu"


NODE: dict[str, Any] = {
    "rest": None,
    "traced": ("", ()),
    "_metadata": None,
    "hooks": None,
    "counters": None,
    "title": "",
    "_types": None,
}
"""What a fresh node has in the slots that few nodes use."""


def filler(slots: dict[str, Any]) -> Callable[[Any], None]:
    """A function that gives an object these slots, written out: loops over slots cost more than all
    else in a constructor."""
    space: dict[str, Any] = {f"value_{name}": value for name, value in slots.items()}
    text = "\n".join(["def fill(self):", *[f"    self.{name} = value_{name}" for name in slots]])
    exec(compile(text, __file__, "exec"), space)
    function: Callable[[Any], None] = space["fill"]
    return function


_fill_node = filler(NODE)


class Node(SavedAttributes, Producer):
    """One recorded application. `edges[k]` leads to the producer of input k, None where no gradient
    is wanted."""

    __slots__ = (
        "__weakref__",
        "_order",
        "dtype",
        "edges",
        "op",
        "params",
        "plan",
        "saved",
        "shape",
        *NODE,
    )
    saved: list[Saved] | None
    """What the rules read: inputs, then results, as the plan lists them; None once it was freed."""
    rest: Rest | None
    """The second half of a staged operation, where its first half was run; freed with what was
    saved."""
    traced: tuple[str, Sequence[Any]]
    """The user's line and the results, where the node was recorded in a trace."""
    counters: list[list[int]] | None
    """The version counters of the results, where one of them was saved."""
    title: str
    """Another name than the operation's, given by a composition (`MeanBackward0` for the division
    that ends a mean)."""

    def __init__(
        self,
        op: Op,
        params: dict[str, Any],
        edges: Sequence[Edge | None],
        plan: Plan,
        saved: list[Saved],
        outs: Sequence[Any],
    ) -> None:
        _fill_node(self)
        self.op = op
        self.params = params
        self.edges = edges
        self.plan = plan
        self.saved = saved
        if op.outputs == 1:
            data = outs[0]
            self.dtype = data.dtype
            self.shape = data.shape
        else:
            self._types = [o.type.seen if isinstance(o, Var) else type_of(o) for o in outs]
        self._order = next_number()

    def name(self) -> str:
        return self.title or name_of_node(self)

    def release(self) -> None:
        """Free what was saved for the backward pass. Where that is no array, it may be gone through
        again."""
        saved = self.saved
        if saved and (
            type(saved[0][1]) is ndarray or self.rest is not None or _holds_values(saved)
        ):
            self.saved = self.rest = None


def _holds_values(saved: Sequence[Saved]) -> bool:
    """Whether more than types and conditions (of writes: `where(False, old, new)`) were saved."""
    return not all(
        isinstance(data, (ArrayType, bool, np.bool_, type(None))) for _, data, _ in saved
    )


LAST = 2**64 - 1
"""The number that torch's users see of the nodes of leaves."""


class AccumulateGrad(Producer):
    """Where a leaf's gradient arrives: the leaf as a node. What is remembered about it is kept with
    the leaf, so that it can be made anew."""

    __slots__ = ("__weakref__", "_order", "variable")
    edges = ()
    _types = None

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self._order = variable._order or variable._ordered()

    dtype = property(attrgetter("variable._data.dtype"))
    shape = property(attrgetter("variable._data.shape"))

    @property
    def hooks(self) -> NodeHooks | None:  # type: ignore[override]
        return None if self.variable._hooks is None else self.variable._hooks.node

    @property
    def metadata(self) -> dict[str, Any]:
        return leaf_hooks(self.variable).metadata

    def name(self) -> str:
        return "tracegrad::autograd::AccumulateGrad"

    def made_hooks(self) -> NodeHooks:
        return leaf_hooks(self.variable).node

    def _sequence_nr(self) -> int:
        return LAST


@dataclass(eq=False, slots=True)
class Plan:
    """What the rules of an operation need for the gradients of some of its inputs; worked out
    once."""

    inputs: tuple[int, ...]
    """Which inputs are saved."""
    outputs: tuple[int, ...]
    """Which results are saved."""
    rules: tuple[tuple[int, Callable[..., Any], tuple[int, ...], tuple[str, ...], bool], ...]
    """(input, rule, places of its arguments among cotangents, saved inputs and saved results;
    parameters; whether it reads `like`)."""
    products: tuple[tuple[str, Callable[..., Any] | None] | None, ...] = ()
    """What the rules multiply with, as `Rules` tells it."""
    numbers: bool = False
    """Whether Python's numbers may be among what is saved."""
    pull: Callable[..., Any] | None = None
    """The rules written out, after their first use."""


def plan_for(op: Op, wanted: int) -> Plan | None:
    """The plan for the inputs in the bit set `wanted`; None where none of them has a rule."""
    found = op.plans.get(wanted)
    if found is None and wanted not in op.plans:
        assert isinstance(op.vjp, tuple)
        rules = [(k, rule) for k, rule in enumerate(op.vjp) if rule is not None and wanted >> k & 1]
        useful = sum(1 << k for k, _ in rules)
        if useful and useful != wanted:
            found = op.plans[wanted] = plan_for(op, useful)
            return found
        reads = frozenset().union(*[rule.reads for _, rule in rules])
        many = op.outputs != 1
        cts = [f"ct{k}" for k in range(op.outputs)] if many else ["ct"]
        outs = [f"out{k}" for k in range(op.outputs)] if many else ["out"]
        inputs = tuple(k for k, n in enumerate(op.inputs) if n in reads)
        outputs = tuple(k for k, n in enumerate(outs) if n in reads)
        names = [*cts, *[op.inputs[k] for k in inputs], *[outs[k] for k in outputs]]
        resolved = [
            (
                k,
                r.function,
                tuple(names.index(n) for n in r.positional),
                tuple(n for n in r.keywords if n != "like"),
                "like" in r.keywords,
            )
            for k, r in rules
        ]
        found = op.plans[wanted] = (
            Plan(inputs, outputs, tuple(resolved), tuple(r.product for _, r in rules))
            if rules
            else None
        )
    return found


def plan_of_numbers(op: Op, wanted: int) -> Plan:
    """The same plan where Python's numbers are among the operands."""
    plan = plan_for(op, wanted)
    assert plan is not None
    found = op.plans.get(~wanted)
    if found is None:
        rules = plan.inputs, plan.outputs, plan.rules, plan.products
        found = op.plans[~wanted] = Plan(*rules, numbers=True)
    made: Plan = found
    return made


def record(
    op: Op, inputs: Sequence[Any], params: dict[str, Any], outs: Sequence[Any]
) -> Node | None:
    """A node for this application, or None where no input's gradient can be wanted. `outs` are raw
    data."""
    vjp = op.vjp
    if vjp is None:
        return None
    edges: list[Edge | None] = []
    wanted, bit = 0, 1
    for x in inputs:
        edge = None
        if isinstance(x, Value) and x._requires_grad:
            box: Any = x
            edge = box._end()
            wanted |= bit
        edges.append(edge)
        bit <<= 1
    if callable(vjp):
        plan: Plan | None = Plan(tuple(range(len(inputs))), tuple(range(len(outs))), ())
    else:
        plan = op.plans.get(wanted) or plan_for(op, wanted)
        if plan is not None and len(plan.rules) != wanted.bit_count():
            edges = [None if rule is None else e for rule, e in zip(vjp, edges, strict=True)]
    if plan is None or not wanted:
        return None
    if STATE.special and SAVING.watched is not None and not STATE.traces:
        for x in inputs:
            SAVING.watched(x)
    saved: list[Saved] = []
    known = op.types_only
    for k in plan.inputs:
        x = inputs[k]
        if known and op.inputs[0 if op.variadic else k] in known:
            saved.append((None, x.array_type.seen if isinstance(x, Value) else type_of(x), 0))
        elif isinstance(x, Value):
            saved.append(save(x, x._data))
        else:
            # A trace looks after what it captures itself.
            saved.append((None, x, 0) if STATE.traces else lend(x))
    for k in plan.outputs:
        out = outs[k] if "out" not in known else None
        saved.append((None, np.asarray(out) if isinstance(out, np.generic) else out, k))
    node = Node(op, params, edges, plan, saved, outs)
    if STATE.traces:
        trace = STATE.traces[-1]
        trace.live.update(outs)
        if trace.nodes:
            node.traced = trace.nodes[-1].where, outs
    if STATE.special:
        pack_all(node)
        for tell in tuple(STATE.created):
            tell(node)
    return node


def resave(node: Node, inputs: Sequence[Any], outs: Sequence[Any]) -> None:
    """Let a node keep these boxes (which have tangents) instead of the primal values that it was
    recorded with."""
    assert node.saved is not None
    node.rest = None
    boxes = [*[inputs[k] for k in node.plan.inputs], *[outs[k] for k in node.plan.outputs]]
    for k, (box, old) in enumerate(zip(boxes, node.saved, strict=True)):
        if isinstance(box, Value) and not isinstance(old[1], ArrayType) and old[1] is not None:
            kept: Any = box
            kept._past = kept._past or NOTHING
            node.saved[k] = kept, kept._data, kept._version_counter[0] if old[0] is not None else 0
