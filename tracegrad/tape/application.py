"""Applying a custom Function to values of running code: its context, its node on the tape, and what
its methods may return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..autograd.grad_mode import set_grad_enabled
from ..devices import CPU, Device
from ..dtypes import is_differentiable
from ..ir import upward
from ..ir.dispatch import STATE, Value, current
from ..ir.op import Op, op
from ..ops import convert, sum_to
from ..ops.arrays.creation import zeros as zeros_of
from ..ops.arrays.transfer import place_of, transfer
from ..sizes import same
from ..types import ArrayType, show
from .context import FunctionCtx, among, check_dirty, keep
from .hooks import boxed
from .mode import MODE
from .rule_reads import ASK_THE_USER, by_rule
from .saved import FREED
from .tape import Edge, Node, Plan

LEAF = "a leaf Variable that requires grad has been used in an in-place operation."


# --- one application ------------------------------------------------------------------------------


class Application(NamedTuple):
    """An application of a Function, for its derivatives: which class, on what, and what came
    out."""

    cls: Any
    ctx: FunctionCtx
    tensors: tuple[int, ...]
    """Which arguments are tensors."""
    arity: int
    """How many arguments there were."""
    types: tuple[ArrayType, ...]
    """Of the tensors."""
    faces: tuple[Any, ...]
    """Of the tensors."""
    outputs: tuple[ArrayType | None, ...]
    """Their types; None for what is no tensor."""
    face: Any
    """Of the outputs."""
    place: Device = CPU
    """Of the outputs."""

    @property
    def name(self) -> str:
        return f"{self.cls.__name__}Backward"

    def backward(self, cts: Sequence[Any]) -> list[Any]:
        """The cotangents of the tensor arguments by the user's rule; None where it gave none."""
        function = reverse_rule(self.cls)
        dtypes = self.ctx._left.grad_dtypes or (None,) * len(self.outputs)
        given = [self._given(ct, t, d) for ct, t, d in zip(cts, self.outputs, dtypes, strict=True)]
        found = function(self.ctx, *given)
        if not isinstance(found, tuple):
            found = (found,)
        current(*found)
        if len(found) < self.arity or any(g is not None for g in found[self.arity :]):
            raise RuntimeError(
                f"function {self.name} returned an incorrect number of gradients (expected "
                f"{self.arity}, got {len(found)})"
            )
        for k, g in enumerate(found[: self.arity]):
            if g is not None and k not in self.tensors:
                raise RuntimeError(
                    f"function {self.name} returned a gradient different than None at position "
                    f"{k + 1}, but the corresponding forward input was not a Variable"
                )
        return [self._fitted(found[k], i) for i, k in enumerate(self.tensors)]

    def _given(self, ct: Any, type: ArrayType | None, dtype: Any) -> Any:
        if type is None or (ct is None and not self.ctx._left.materialize):
            return None
        if ct is None:
            ct = zeros_of(type.shape, type.dtype)
        value = boxed(self.face, ct)
        if self.place != CPU:
            value = transfer(value, self.place)  # zeros come from the host
        return value if dtype is None else convert(value, dtype)

    def _fitted(self, g: Any, i: int) -> Any:
        """A gradient in the shape and dtype of the input."""
        if g is None:
            return None
        type = self.types[i]
        if not isinstance(g, Value):
            if not isinstance(g, (np.ndarray, np.generic)) and (
                self.faces[i] is upward.FACES.tensor or not isinstance(g, (int, float, complex))
            ):
                raise RuntimeError(f"expected Variable or None (got {g.__class__.__name__})")
            g = np.asarray(g)
        value: Any = g
        if len(value.shape) != len(type.shape) or not all(map(same, value.shape, type.shape)):
            trailing = value.shape[len(value.shape) - len(type.shape) :]
            if len(value.shape) < len(type.shape) or not all(
                same(b, 1) or same(a, b) for a, b in zip(trailing, type.shape, strict=True)
            ):
                raise RuntimeError(
                    f"Function {self.name} returned an invalid gradient at index {i} - "
                    f"got [{', '.join(map(str, value.shape))}] but expected shape compatible with "
                    f"[{', '.join(map(str, type.shape))}]"
                )
            value = sum_to(value, type.shape)
        if value.dtype.kind == "c" and type.dtype.kind == "f":
            raise RuntimeError(
                f"Function {self.name} returned a complex gradient at index {i} for an input "
                f"of dtype {type.dtype}. Return its real part."
            )
        return value if value.dtype == type.dtype else convert(value, type.dtype)

    def forward(self, tangents: Sequence[Any]) -> list[Any]:
        """The tangents of the outputs by the user's `jvp`, None for what has none, from those of
        the tensor arguments."""
        given: list[Any] = [None] * self.arity
        for i, k in enumerate(self.tensors):
            t = tangents[i]
            if t is None and self.ctx._left.materialize and is_differentiable(self.types[i].dtype):
                t = zeros_of(self.types[i].shape, self.types[i].dtype)
            given[k] = None if t is None else boxed(self.faces[i], t)
        found = self.cls.jvp(self.ctx, *given)
        found = found if isinstance(found, tuple) else (found,)
        current(*found)
        if len(found) != len(self.outputs):
            raise RuntimeError(
                f"{self.cls.__name__}'s jvp returned an invalid number of forward gradients "
                f"(expected {len(self.outputs)} but got {len(found)})"
            )
        result: list[Any] = []
        for t, type in zip(found, self.outputs, strict=True):
            if type is None or t is None or not is_differentiable(type.dtype):
                result.append(None)
                continue
            t = t if isinstance(t, Value) else np.asarray(t)
            shape = t.shape
            if len(shape) != len(type.shape) or not all(map(same, shape, type.shape)):
                raise RuntimeError(
                    "Trying to set a forward gradient that has a different size than that of the "
                    f"original Tensor, this is not supported. Tensor is of size {show(type.shape)} "
                    f"while the given forward gradient is of size {show(shape)}."
                )
            result.append(convert(boxed(self.face, t), type.dtype))
        return result


def missing(method: Any) -> Any:
    """Mark a method of `Function` itself: a class that has it still has not written its own."""
    method.missing = True
    return method


def is_given(method: Any) -> bool:
    """Whether a class has written this method."""
    return not hasattr(method, "missing")


def reverse_rule(cls: Any) -> Callable[..., Any]:
    """The method that gives the gradients."""
    own, other = is_given(cls.backward), is_given(cls.vjp)
    if own and other:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
            "You should only implement one of them."
        )
    found: Callable[..., Any] = cls.vjp if other else cls.backward
    return found


def run_forward(cls: Any, ctx: FunctionCtx, args: Sequence[Any]) -> Any:
    """The user's forward, unrecorded, with the context set up."""
    with set_grad_enabled(False):
        if not is_given(cls.setup_context):
            return cls.forward(ctx, *args)
        output = cls.forward(*args)
        cls.setup_context(ctx, tuple(args), output)
        return output


# --- on the tape ----------------------------------------------------------------------------------


def _vjp(cts: Any, inputs: Any, outs: Any, wanted: Any, *, use: Application) -> list[Any]:
    return by_rule(lambda: use.backward(cts))


def _no_graph(*_: Any, **__: Any) -> Any:
    raise AssertionError("a node of the tape only")


applied_op: Op = op(
    "function",
    ["inputs"],
    evaluate=_no_graph,
    infer=_no_graph,
    vjp=_vjp,
    variadic=True,
    outputs=0,
    doc="A Function's node.",
)
"""What nodes of Functions have as their operation; it is never applied."""
ASK_THE_USER.add(applied_op)


class FunctionNode(Node):
    """The node of an application. The attributes of its context are its own."""

    __slots__ = ("_use",)

    def __init__(self, use: Application, edges: Sequence[Edge | None], outs: Sequence[Any]) -> None:
        super().__init__(applied_op, {"use": use}, edges, Plan((), (), ()), [], outs)
        self._use = use

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_use":
            raise AttributeError(name)
        return getattr(self._use.ctx, name)

    def name(self) -> str:
        return self._use.name

    def apply(self, *cts: Any) -> Any:
        """Call the Function's backward."""
        return reverse_rule(self._use.cls)(self._use.ctx, *cts)

    def release(self) -> None:
        self._use.ctx._left.read = _freed


def _freed() -> tuple[Any, ...]:
    raise RuntimeError(FREED)


def _recorded(cls: Any, args: Sequence[Any]) -> tuple[Any, Application | None, Any]:
    """Run a Function on values of running code: the result, and where it is on the tape its use and
    node."""
    tensors = tuple(k for k, a in enumerate(args) if isinstance(a, Value))
    given: list[Any] = [args[k] for k in tensors]
    ctx = FunctionCtx([isinstance(a, Value) and a._requires_grad for a in args])
    executable = MODE.enabled and any(ctx.needs_input_grad)
    edges = [x._end() if x._requires_grad else None for x in given] if executable else []
    roots = [x._root for x in given]
    output = run_forward(cls, ctx, args)
    outs: list[Any] = list(output) if isinstance(output, tuple) else [output]
    left = ctx._left
    current(*outs, *left.saved)
    face = next((x.face for x in given if x.boxes_everything), given[0].face if given else None)
    check_dirty(left, args, outs)
    if face is not None and face is not upward.FACES.tensor:
        # Of arrays NumPy may have computed plain ones.
        boxes = {
            id(o): face(np.asarray(o))
            for o in outs
            if isinstance(o, (np.ndarray, np.generic)) and o.dtype.kind in "fc"
        }
        left.saved = tuple([boxes.get(id(s), s) for s in left.saved])
        left.constant = tuple([boxes.get(id(s), s) for s in left.constant])
        outs = [boxes.get(id(o), o) for o in outs]
    use = Application(
        cls,
        ctx,
        tensors,
        len(args),
        tuple(x.array_type for x in given),
        tuple(x.face for x in given),
        tuple(o.array_type if isinstance(o, Value) else None for o in outs),
        face,
        next((place_of(o) for o in outs if isinstance(o, Value)), CPU),
    )
    node = None
    if executable:
        node = cls._node_class(
            use, edges, [o._data if isinstance(o, Value) else np.zeros(()) for o in outs]
        )
    for k, o in enumerate(outs):
        if not isinstance(o, Value):
            continue
        box: Any = o
        differentiable = (
            node is not None and is_differentiable(box.dtype) and not among(box, left.constant)
        )
        if among(box, left.dirty) and among(box, given):
            box._written_by(node if differentiable else None, k, LEAF)
        elif among(box, given):
            outs[k] = box._passed_by(node if differentiable else None, k, cls.__name__)
        elif differentiable:
            box._made_by(node, k, cls.__name__, roots)
    if STATE.levels and left.saved_for_forward is None:
        left.saved_for_forward = left.saved
    if node is not None:
        keep(ctx, node, outs)
        for tell in tuple(STATE.created) if STATE.special else ():
            tell(node)
    else:
        left.saved = ()
    return (tuple(outs) if isinstance(output, tuple) else outs[0]), use, node


def _level(args: Sequence[Any]) -> int:
    """The innermost level of forward mode at which an argument has a tangent."""
    if not STATE.levels:
        return 0
    return max(
        (
            k
            for a in args
            if isinstance(a, Value) and a._tangents
            for k in a._tangents
            if k in STATE.levels
        ),
        default=0,
    )


def applied(cls: Any, args: Sequence[Any]) -> tuple[Any, Application | None]:
    current(*args)
    level = _level(args)
    if not level:
        output, use, _ = _recorded(cls, args)
        return output, use
    tangents = [
        a._tangents.get(level) if isinstance(a, Value) and a._tangents else None for a in args
    ]
    primals = [a if t is None else a._without(level) for a, t in zip(args, tangents, strict=True)]
    output, use = applied(cls, primals)
    assert use is not None
    outs: list[Any] = list(output) if isinstance(output, tuple) else [output]
    left = use.ctx._left
    before = left.read
    if left.saved_for_forward is not None:
        kept = left.saved_for_forward
        left.read = lambda: kept
    try:
        with set_grad_enabled(True):
            found = use.forward([tangents[k] for k in use.tensors])
    finally:
        left.read = before
    if before is not tuple:
        left.read = lambda: tuple(
            [_with_tangent(v, args, primals, found, use, level) for v in before()]
        )
    for k, (o, t) in enumerate(zip(outs, found, strict=True)):
        dual = o if t is None else o.face._dual(o, t, level)
        given = next((a for a, p in zip(args, primals, strict=True) if p is o and a is not p), None)
        if given is not None and among(o, left.dirty):
            # What was written is the primal part of an argument, which becomes the result.
            given._write(dual)
            outs[k] = given
        elif t is not None:
            outs[k] = dual
    return (tuple(outs) if isinstance(output, tuple) else outs[0]), use


def _with_tangent(
    saved: Any,
    args: Sequence[Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    use: Application,
    level: int,
) -> Any:
    """A saved input or output as the dual value it was: a reverse sweep at a deeper level must see
    its tangent."""
    for a, p in zip(args, primals, strict=True):
        if saved is p:
            return a
    if isinstance(saved, Value):
        box: Any = saved
        if (
            isinstance(box._grad_fn, FunctionNode)
            and box._grad_fn._use is use
            and tangents[box._output_nr] is not None
        ):
            return box.face._dual(box, tangents[box._output_nr], level)
    return saved


__all__ = [
    "Application",
    "FunctionNode",
    "applied",
    "is_given",
    "missing",
    "run_forward",
]
