"""The tape: nodes that remember an operation, what its rule reads, and the edges to where its inputs came from."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..ir.dispatch import STATE, Value
from ..ir.graph import Var
from ..ir.op import Op
from ..types import ArrayType, type_of

_sequence = itertools.count()


class Edge(NamedTuple):
    node: Node
    output_nr: int


class Node:
    """One recorded application. `edges[k]` leads to the producer of input k, None where no gradient is wanted."""

    __slots__ = (
        "__weakref__",
        "counters",
        "edges",
        "hooks",
        "in_types",
        "metadata",
        "op",
        "out_types",
        "params",
        "saved",
        "sequence_nr",
        "title",
        "where",
    )

    def __init__(self, op: Op | None, params: dict[str, Any], edges: tuple[Edge | None, ...]) -> None:
        self.op, self.params, self.edges = op, params, edges
        self.saved: dict[Any, Saved] | None = None
        self.in_types: tuple[ArrayType | None, ...] = ()
        self.out_types: tuple[ArrayType, ...] = ()
        self.sequence_nr = next(_sequence)
        self.where = ""
        """The user's line, where the node was recorded in a trace."""
        self.metadata: dict[str, Any] | None = None
        self.hooks: NodeHooks | None = None
        self.counters: list[list[int]] | None = None
        """The version counters of the results, where one of them was saved."""
        self.title = ""
        """Another name than the operation's, given by a composition (`MeanBackward0` for the division that ends a mean)."""

    def name(self) -> str:
        assert self.op is not None
        return f"{self.title or title_of(self.op.name)}Backward0"

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The producers of the inputs with their output numbers, as torch lists them."""
        return tuple((e.node, e.output_nr) if e else (None, 0) for e in self.edges)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {hex(id(self))}>"

    def release(self) -> None:
        """Free what was saved for the backward pass."""
        if self.saved:
            self.saved = None


TITLES = {
    "power": "Pow",
    "reshape": "View",
    "transpose": "Permute",
    "broadcast_to": "Expand",
    "concatenate": "Cat",
    "convert": "ToCopy",
    "absolute": "Abs",
    "square": "Pow",
    "take": "IndexSelect",
    "gather": "Index",
    "scatter": "IndexPut",
    "clip_min": "Clamp",
    "clip_max": "Clamp",
    "clip": "Clamp",
}
"""Names on the tape that torch's users know, for operations that are called differently here."""


def title_of(name: str) -> str:
    """`MulBackward0` is named after `mul`: the words of an operation's name, capitalised."""
    return TITLES.get(name) or "".join(word.capitalize() for word in name.split("_"))


class NodeHooks:
    """What runs when the sweep reaches a node, in this order: functions of one output's cotangent, those who keep it, functions of
    all cotangents, then (after the rule) functions of the results."""

    __slots__ = ("post", "pre", "retained", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, dict[int, Callable[..., Any]]] = {}
        self.retained: dict[int, weakref.ref[Any]] = {}
        self.pre: dict[int, Callable[..., Any]] = {}
        self.post: dict[int, Callable[..., Any]] = {}


class TensorHooks:
    """Hooks of a leaf, which its AccumulateGrad node reads, and whether a non-leaf keeps its gradient."""

    __slots__ = ("accumulated", "node", "retains")

    def __init__(self) -> None:
        self.node = NodeHooks()
        self.accumulated: dict[int, Callable[..., Any]] = {}
        self.retains = False

    def moved(self, tensor: Any) -> None:
        """The tensor got another history: what it retains is the gradient of the value it has now."""
        if self.retains and tensor.grad_fn is not None:
            hooks_of(tensor.grad_fn).retained[tensor.output_nr] = weakref.ref(tensor)


def hooks_of(node: Node) -> NodeHooks:
    """The node's hooks, made when they are first asked for."""
    if node.hooks is None:
        node.hooks = NodeHooks()
    return node.hooks


class AccumulateGrad(Node):
    """Where a leaf's gradient arrives."""

    __slots__ = ("variable",)

    def __init__(self, variable: Any) -> None:
        super().__init__(None, {}, ())
        self.saved = {}
        self.variable = variable
        self.out_types = (variable.type,)
        self.hooks = None if variable._hooks is None else variable._hooks.node

    def name(self) -> str:
        return "AccumulateGrad"


class Saved(NamedTuple):
    """A value kept for a rule: the box (None for an output of the node itself), its data and its version when saved."""

    box: Any
    data: Any
    version: int


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved "
    "intermediate "
    "values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph "
    "a second time or if you need to access saved tensors after calling backward."
)


def type_of_data(data: Any) -> ArrayType:
    return data.type if isinstance(data, Var) else type_of(data)


_reads: dict[tuple[Op, tuple[bool, ...]], tuple[tuple[str, bool, int], ...]] = {}


def _read_plan(op: Op, wanted: tuple[bool, ...]) -> tuple[tuple[str, bool, int], ...]:
    """What the rules of the wanted inputs read: (name, is output, position)."""
    plan = _reads.get((op, wanted))
    if plan is None:
        assert isinstance(op.vjp, tuple)
        names = frozenset().union(*[rule.reads for rule, want in zip(op.vjp, wanted, strict=True) if want and rule])
        outs = ["out"] if op.outputs == 1 else [f"out{k}" for k in range(op.outputs)]
        plan = (*[(n, False, k) for k, n in enumerate(op.inputs) if n in names], *[(n, True, k) for k, n in enumerate(outs) if n in names])
        _reads[op, wanted] = plan
    return plan


def record(op: Op, inputs: Sequence[Any], params: dict[str, Any], outs: Sequence[Any]) -> Node | None:
    """A node for this application, or None where no input's gradient can be wanted. `outs` are raw data."""
    if op.vjp is None:
        return None
    edges: list[Edge | None] = []
    some = False
    fixed = isinstance(op.vjp, tuple)
    for k, x in enumerate(inputs):
        edge = None
        if isinstance(x, Value) and x.requires_grad and (not fixed or op.vjp[k] is not None):  # type: ignore[attr-defined, index]
            edge = x._edge()  # type: ignore[attr-defined]
            some = True
        edges.append(edge)
    if not some:
        return None
    node = Node(op, params, tuple(edges))
    if STATE.traces and STATE.traces[-1].nodes:
        node.where = STATE.traces[-1].nodes[-1].where
    node.in_types = tuple([x.type if e is not None else None for x, e in zip(inputs, edges, strict=True)])
    node.out_types = tuple([type_of_data(o) for o in outs])
    if fixed:
        saved: dict[Any, Saved] = {}
        for name, is_out, k in _read_plan(op, tuple([e is not None for e in edges])):
            saved[name] = Saved(None, outs[k], k) if is_out else save(inputs[k])
        node.saved = saved
    else:
        node.saved = {("in", k): save(x) for k, x in enumerate(inputs)}
        node.saved |= {("out", k): Saved(None, o, k) for k, o in enumerate(outs)}
    return node


def save(x: Any) -> Saved:
    """Keep an operand; a box that will be replaced by a write then remembers what it was."""
    if not isinstance(x, Value):
        return Saved(x, x, 0)
    box: Any = x
    if box._past is None:
        box._past = {}
    return Saved(box, box._data, box._version_counter[0])


def resave(node: Node, inputs: Sequence[Any], outs: Sequence[Any]) -> None:
    """Let a node keep these boxes (which have tangents) instead of the primal values that it was recorded with."""
    assert node.saved is not None
    assert node.op is not None
    positions = {name: k for k, name in enumerate(node.op.inputs)}
    for key, old in node.saved.items():
        if isinstance(key, tuple):
            box = inputs[key[1]] if key[0] == "in" else outs[key[1]]
        elif key in positions:
            box = inputs[positions[key]]
        else:
            box = outs[int(key[3:] or 0)]
        if isinstance(box, Value):
            node.saved[key] = save(box) if old.box is not None else save(box)._replace(version=0)
