"""Custom Functions in a trace: an application is one operation that holds the graph of its forward;
the user's other methods are traced when that operation is differentiated or batched.

The operation's results are those of the Function, and behind them what the context keeps (saved
tensors, arrays in attributes). So a derivative reads what the forward computed, and nothing runs
twice.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..autograd.function import once_op
from ..autograd.grad_mode import set_grad_enabled
from ..control.call import with_history
from ..dtypes import is_differentiable
from ..ir import upward
from ..ir.dispatch import STATE, Value, bind
from ..ir.graph import Graph
from ..ir.op import op
from ..tape.application import LEAF, Application, is_given, run_forward
from ..tape.boxes import fresh
from ..tape.context import FunctionCtx, Left, among, check_dirty
from ..tape.hooks import boxed
from ..tape.mode import MODE
from ..tape.rule_reads import ASK_THE_USER
from ..tensor import Tensor
from ..transforms.derive import batched
from ..transforms.tracing import face_of, leaf_type, standing_of, trace_function
from ..tree import flatten, unflatten
from .batching import batch_of
from .rules import evaluate_graph, infer_graph, jvp_of, ruled, vjp_of

NO_VMAP = (
    "You tried to vmap over {0}, but it does not have vmap support. To use autograd.Function with "
    "vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
)
TWO_VMAPS = (
    "You tried to vmap over {0}, but it has both generate_vmap_rule=True and an overridden vmap "
    "staticmethod. Set generate_vmap_rule=False or delete the vmap staticmethod."
)


class VmapInfo(NamedTuple):
    """What `vmap` methods are told about the batch."""

    batch_size: Any
    randomness: str = "error"


class Source(NamedTuple):
    """Where a derivative finds something that the context keeps: among inputs or outputs of the
    operation."""

    kind: str
    """"input", "output", "extra" (computed for it, a constant), or "as it is"."""
    what: Any
    face: Any = None


class Applied:
    """The rule of an application: its context, rebuilt from the operation's values wherever a
    derivative is traced."""

    def __init__(self, cls: Any, args: Sequence[Any]) -> None:
        self.cls = cls
        self.args = [None if isinstance(a, (Value, np.ndarray, np.generic)) else a for a in args]
        self.tensors = tuple(
            k for k, a in enumerate(args) if isinstance(a, (Value, np.ndarray, np.generic))
        )
        self.op = function_op
        self.use: Any = None
        self.left = Left()
        self.saved: tuple[Source, ...] = ()
        self.saved_for_forward: tuple[Source, ...] | None = None
        self.attributes: dict[str, tuple[Any, list[Source]]] = {}
        self.places: list[int] = []
        """Which output of the Function an output of the operation is."""

    def __repr__(self) -> str:
        return self.cls.__name__  # type: ignore[no-any-return]

    def run(self, *boxes: Any) -> Any:
        """The Function's forward on traced values: its outputs, then what the context keeps."""
        args = list(self.args)
        for k, b in zip(self.tensors, boxes, strict=True):
            args[k] = b
        ctx = FunctionCtx(
            [
                k in self.tensors and is_differentiable(leaf_type(a).dtype)
                for k, a in enumerate(args)
            ]
        )
        before = [b._data for b in boxes]
        output = run_forward(self.cls, ctx, args)
        outs = list(output) if isinstance(output, tuple) else [output]
        left = ctx._left
        check_dirty(left, args, outs)
        kinds = [
            leaf_type(o) if isinstance(o, (Value, np.ndarray, np.generic)) else None for o in outs
        ]
        self.places = [k for k, t in enumerate(kinds) if t is not None]
        extras: list[Any] = []

        def source(x: Any) -> Source:
            if not isinstance(x, Value):
                return Source("as it is", x)
            box: Any = x
            # Before what was written to it: the same box as an output is that output.
            for k, o in enumerate(outs):
                if o is x:
                    return Source("output", self.places.index(k), box.face)
            for k, b in enumerate(boxes):
                if b is x and box._data is before[k]:
                    return Source("input", k, box.face)
            extras.append(box)
            return Source("extra", len(self.places) + len(extras) - 1, box.face)

        self.saved = tuple(map(source, left.saved))
        self.saved_for_forward = (
            None if left.saved_for_forward is None else tuple(map(source, left.saved_for_forward))
        )
        for name, value in vars(ctx).items():
            if name not in ("_left", "needs_input_grad"):
                leaves, spec = flatten(value)
                self.attributes[name] = spec, [source(x) for x in leaves]
        types = tuple(leaf_type(b) for b in boxes)
        face = next(
            (b.face for b in boxes if b.boxes_everything), boxes[0].face if boxes else Tensor
        )
        constant = [k for k, o in enumerate(outs) if among(o, left.constant)]
        self.use = Application(
            self.cls,
            ctx,
            self.tensors,
            len(args),
            types,
            tuple(b.face for b in boxes),
            tuple(kinds),
            face,
        )
        self.left.materialize, self.left.grad_dtypes = left.materialize, left.grad_dtypes
        self.left.constant = tuple(constant)
        self.left.dirty = tuple(
            next(k for k, b in enumerate(boxes) if b is x) for x in left.dirty if among(x, boxes)
        )
        self.rest = [None if t is not None else o for o, t in zip(outs, kinds, strict=True)]
        self.written = {
            k: next((j for j, o in enumerate(outs) if o is boxes[k]), -1) for k in self.left.dirty
        }
        self.single = not isinstance(output, tuple)
        self.use = self.use._replace(ctx=FunctionCtx())
        return [*[outs[k] for k in self.places], *extras]

    def context(
        self, inputs: Sequence[Any], outs: Sequence[Any], wanted: Sequence[bool], forward: bool
    ) -> Application:
        """The use with a context that holds these values."""
        needs = [False] * len(self.args)
        for k, w in zip(self.tensors, wanted, strict=False):
            needs[k] = w
        ctx = FunctionCtx(needs)
        left = ctx._left
        left.materialize, left.grad_dtypes = self.left.materialize, self.left.grad_dtypes

        def value(s: Source) -> Any:
            if s.kind == "as it is":
                return s.what
            x = inputs[s.what] if s.kind == "input" else outs[s.what]
            if s.kind == "extra" and isinstance(x, Value):
                # Computed by the forward, which is not recorded.
                box: Any = x
                return fresh(s.face, box._data)
            return boxed(s.face, x)

        for name, (spec, leaves) in self.attributes.items():
            setattr(ctx, name, unflatten(spec, [value(s) for s in leaves]))
        kept = (
            self.saved_for_forward if forward and self.saved_for_forward is not None else self.saved
        )
        found = tuple([value(s) for s in kept])
        left.read = lambda: found
        return self.use._replace(ctx=ctx)  # type: ignore[no-any-return]

    def vjp(self, cts: Any, inputs: Any, outs: Any, wanted: Any) -> list[Any]:
        use = self.context(inputs, outs, wanted, False)
        full: list[Any] = [None] * len(use.outputs)
        for k, ct in zip(self.places, cts, strict=False):
            full[k] = None if k in self.left.constant else ct
        with ruled(self.cls):
            found = use.backward(full)
        return [
            *[g if w else None for g, w in zip(found, wanted, strict=False)],
            *[None] * (len(inputs) - len(found)),
        ]

    def jvp(self, tangents: Any, inputs: Any, outs: Any) -> list[Any]:
        use = self.context(inputs, outs, [is_differentiable(t.dtype) for t in self.use.types], True)
        with ruled(self.cls):
            found = use.forward(list(tangents)[: len(self.tensors)])
        return [*[found[k] for k in self.places], *[None] * (len(outs) - len(self.places))]


def _batch(values: Any, axes: Any, size: Any, *, graph: Graph, rule: Any) -> Any:
    cls = getattr(rule, "cls", None)
    if cls is None:  # a batch of batches
        return batch_of(values, axes, size, graph=graph, rule=rule)
    own = is_given(cls.vmap)
    if own and cls.generate_vmap_rule:
        raise RuntimeError(TWO_VMAPS.format(cls.__name__))
    if cls.generate_vmap_rule:
        return batch_of(values, axes, size, graph=graph, rule=rule)
    if not own:
        raise RuntimeError(NO_VMAP.format(cls.__name__))
    args, dims = list(rule.args), [None] * len(rule.args)
    for i, k in enumerate(rule.tensors):
        args[k], dims[k] = boxed(rule.use.faces[i], values[i]), axes[i]
    outs, out_dims = cls.vmap(VmapInfo(size), tuple(dims), *args)
    if rule.single:
        outs, out_dims = (outs,), (out_dims,)
    elif not isinstance(out_dims, tuple):
        out_dims = (out_dims,) * len(outs)
    found, places = [outs[k] for k in rule.places], [out_dims[k] for k in rule.places]
    if len(graph.outputs) > len(found):
        # What only derivatives of single items read.
        derived, more = batched(graph, axes, size)
        found += list(bind(function_op, values, {"graph": derived, "rule": rule}))[len(found) :]
        places += list(more)[len(places) :]
    return found, places


function_op = op(
    "custom_function",
    ["inputs"],
    inlined=True,
    evaluate=evaluate_graph,
    infer=infer_graph,
    vjp=vjp_of,
    jvp=jvp_of,
    batch=_batch,
    variadic=True,
    outputs=0,
    doc="An application of a user's Function.",
)


ASK_THE_USER.add(function_op)


def apply_traced(cls: Any, args: Sequence[Any]) -> Any:
    """Apply a Function while a trace is open."""
    rule = Applied(cls, args)
    values = [args[k] for k in rule.tensors]
    if not is_given(cls.forward):
        cls.forward()
    traced = trace_function(
        rule.run,
        flatten((tuple(values), {}))[1],
        [leaf_type(x) for x in values],
        [face_of(x) for x in values],
        list(inspect.signature(cls.forward).parameters)[-len(values) :]
        if len(values) == len(args)
        else (),
        name=cls.__name__,
        sizes=STATE.traces[-1].sizes,
        standing=[standing_of(x)._replace(grad=False) for x in values],
    )
    found = list(
        bind(function_op, [*values, *traced.captures], {"graph": traced.graph, "rule": rule})
    )
    node = next(
        (o._grad_fn for o in found if isinstance(o, Value) and o._grad_fn is not None),
        None,
    )
    if node is not None:
        node.title = rule.use.name
    count = len(traced.out_boxed)
    outs: list[Any] = list(rule.rest)
    for k, o in zip(rule.places, found, strict=False):
        outs[k] = with_history(o, "") if k in rule.left.constant else o
    # What was written to and marked is a result, what was not stays what it was on the tape.
    new = dict(zip(traced.writes, found[count:], strict=False))
    for k, value in new.items():
        target = values[k]
        if not isinstance(target, Value):
            raise TypeError(
                f"{cls.__name__} writes to an argument that is no traced array; make it one, "
                "or return the new value"
            )
        box: Any = target
        j = rule.written.get(k, -1)
        if j < 0:
            with set_grad_enabled(False):
                box._write(with_history(value, ""))
            continue
        if MODE.enabled and box._requires_grad and box._grad_fn is None:
            raise RuntimeError(LEAF)
        box._write(outs[j])
        outs[j] = box
    for generator, counter in zip(traced.generators, found[len(traced.history) :], strict=True):
        generator.store(counter)
    return outs[0] if rule.single else tuple(outs)


class _Functions:
    apply = staticmethod(apply_traced)


upward.FUNCTIONS = _Functions()
OPS = (function_op, once_op)
