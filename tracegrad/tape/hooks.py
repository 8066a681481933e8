"""Hooks of tensors and nodes: where they are kept, how they are registered, what they may
return."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from ..devices import DeviceArray
from ..dtypes import check
from ..ir import upward
from ..ir.dispatch import Value
from ..sizes import same_shape
from .boxes import fresh
from .versions import Following

_keys = itertools.count()
Hooks = dict[int, Callable[..., Any]]
Registered = tuple[tuple[Callable[..., Any], ...], ...]


class NodeHooks:
    """What runs when the sweep reaches a node, in this order: functions of one output's cotangent,
    those who keep it, functions of all cotangents, then (after the rule) functions of the
    results."""

    __slots__ = ("post", "pre", "retained", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, Hooks] = {}
        self.retained: dict[int, weakref.ref[Any]] = {}
        self.pre: Hooks = {}
        self.post: Hooks = {}

    def waits(self) -> bool:
        """Whether any function would be called."""
        return bool(self.pre or self.post) or any(self.tensor.values())


class TensorHooks:
    """Hooks of a leaf and of its node, and what else is remembered about that node; whether a
    non-leaf keeps its gradient."""

    __slots__ = ("accumulated", "metadata", "node", "retains")

    def __init__(self) -> None:
        self.node = NodeHooks()
        self.metadata: dict[str, Any] = {}
        self.accumulated: Hooks = {}
        self.retains = False

    def functions(self) -> list[Callable[..., Any]]:
        """The hooks that a sweep may call."""
        places = (self.accumulated, self.node.pre, self.node.post, *self.node.tensor.values())
        return [f for place in places for f in place.values()]

    def parts(self) -> Registered:
        """The hooks of a leaf by their kind, as they are now: what they do to its gradient depends
        on nothing else here."""
        found = (self.node.tensor.get(0, {}), self.node.pre, self.node.post, self.accumulated)
        return tuple([tuple(place.values()) for place in found]) if any(found) else ()

    @classmethod
    def of(cls, parts: Registered) -> Self:
        """Hooks of a leaf that are called in the place of those."""
        made = cls()
        tensor, made.node.pre, made.node.post, made.accumulated = [
            dict(zip(_keys, functions, strict=False)) for functions in parts
        ]
        if tensor:
            made.node.tensor[0] = tensor
        return made

    def leaves(self, tensor: Any) -> None:
        """The tensor is about to get another history."""
        hooks = None if tensor._grad_fn is None else tensor._grad_fn.hooks
        if self.retains and hooks is not None:
            hooks.retained.pop(tensor._output_nr, None)

    def moved(self, tensor: Any) -> None:
        """The tensor got another history: what it retains is the gradient of the value it has
        now."""
        if self.retains and tensor._grad_fn is not None:
            hooks_of(tensor._grad_fn).retained[tensor._output_nr] = weakref.ref(tensor)


class RemovableHandle:
    """What registering a hook returns; `remove()` takes the hook away, and so does leaving a `with`
    block."""

    def __init__(self, place: Hooks, key: int) -> None:
        self.place, self.key = place, key

    def remove(self) -> None:
        """Take the hook away; once it is gone, nothing happens."""
        self.place.pop(self.key, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def add_hook(place: Hooks, function: Callable[..., Any]) -> RemovableHandle:
    """Put a function behind those that are there."""
    if not callable(function):
        raise TypeError(f"a hook must be callable, not {type(function).__name__}")
    key = next(_keys)
    place[key] = function
    return RemovableHandle(place, key)


def boxed(face: Any, x: Any) -> Any:
    """A cotangent as a value of this face; it may be a raw array or a box already."""
    if isinstance(x, face):
        return x
    if isinstance(x, Value):
        box: Any = x
        value = fresh(face, box._data)
        value._requires_grad, value._tangents = box._requires_grad, box._tangents
        if box.boxes_everything or type(box._versions) is Following:
            value._versions = box._versions
        if box._requires_grad:
            value._grad_fn, value._output_nr = box._edge()
        return value
    if type(x) is not DeviceArray:
        x = np.asarray(x)
        check(x.dtype)
    return fresh(face, x)


def raw_like(given: Any, result: Any) -> Any:
    """A hook's result in the form in which the sweep carries cotangents: raw where they are raw."""
    return result if isinstance(given, Value) else result._data


def hooks_of(node: Any) -> NodeHooks:
    """The node's hooks, made when they are first asked for."""
    hooks: NodeHooks = node.made_hooks() if node.hooks is None else node.hooks
    return hooks


def leaf_hooks(tensor: Any) -> TensorHooks:
    """A tensor's own hooks; those of a leaf's node are among them."""
    if tensor._hooks is None:
        tensor._hooks = TensorHooks()
    hooks: TensorHooks = tensor._hooks
    return hooks


def node_hooks(tensor: Any) -> NodeHooks:
    """The hooks that run for this tensor's cotangent."""
    return hooks_of(tensor._edge()[0])


def checked(name: str, given: Any, result: Any) -> Any:
    """What a hook returned in place of a cotangent, which it must resemble."""
    if result is None:
        return None
    if not isinstance(result, Value):
        raise TypeError(f"expected Variable, but hook returned {type(result).__name__!r}")
    if given is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    box: Any = result
    if not same_shape(box.shape, given.shape):
        raise RuntimeError(f"hook {name!r} has changed the size of value")
    if box.dtype != given.dtype:
        raise RuntimeError(
            f"hook {name!r} has changed the type of value (was {given.dtype} got {box.dtype})"
        )
    return box


def all_checked(function: Callable[..., Any], given: Sequence[Any], result: Any) -> tuple[Any, ...]:
    """Likewise for all cotangents of a node."""
    name = name_of(function)
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned {type(result).__name__!r}")
    if len(result) != len(given):
        raise RuntimeError(
            f"hook {name!r} has returned an incorrect number of values (got {len(result)}, "
            f"but expected {len(given)})"
        )
    return tuple([checked(name, g, r) for g, r in zip(given, result, strict=True)])


def name_of(function: Callable[..., Any]) -> str:
    """A function as messages call it."""
    name: str = getattr(function, "__name__", type(function).__name__)
    return name


def register_tensor_hook(tensor: Any, function: Callable[..., Any]) -> RemovableHandle:
    """Run `function(grad)` when the gradient of this tensor is known; what it returns (if not None)
    takes its place."""
    if not tensor.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not callable(function):
        raise TypeError(f"a hook must be callable, not {type(function).__name__}")
    face = tensor.face
    name = name_of(function)

    def run(ct: Any) -> Any:
        result = checked(name, ct, function(boxed(face, ct)))
        return ct if result is None else raw_like(ct, result)

    return add_hook(node_hooks(tensor).tensor.setdefault(tensor._output_nr, {}), run)


# --- what the sweep calls -------------------------------------------------------------------------


def run_tensor_hooks(
    hooks: NodeHooks,
    slots: dict[int, Any],
    create_graph: bool,
    retain: Callable[[Any, Any, bool], None],
) -> None:
    """Hooks of the values whose cotangents have arrived, then those who keep them: what is kept is
    what all hooks made of it."""
    for nr, functions in tuple(hooks.tensor.items()):
        if nr in slots:
            for function in tuple(functions.values()):
                slots[nr] = function(slots[nr])
    for nr, reference in tuple(hooks.retained.items()):
        tensor = reference()
        if tensor is not None and nr in slots:
            retain(tensor, slots[nr], create_graph)


def run_prehooks(hooks: NodeHooks, count: int, slots: dict[int, Any]) -> dict[int, Any]:
    """Hooks of a node whose rule is about to run: `function(grad_outputs)` may return other
    ones."""
    given = _as_tensors([slots.get(k) for k in range(count)])
    raw = slots
    for function in tuple(hooks.pre.values()):
        result = function(given)
        if result is not None:
            given = all_checked(function, given, result)
            slots = {k: raw_like(raw[k], g) for k, g in enumerate(given) if g is not None}
    return slots


def run_posthooks(
    hooks: NodeHooks, gradients: Sequence[Any], count: int, slots: dict[int, Any]
) -> list[Any]:
    """Hooks of a node whose rule has run: `function(grad_inputs, grad_outputs)` may return other
    `grad_inputs`."""
    outputs = _as_tensors([slots.get(k) for k in range(count)])
    given = _as_tensors(gradients)
    found = list(gradients)
    for function in tuple(hooks.post.values()):
        result = function(given, outputs)
        if result is not None:
            given = all_checked(function, given, result)
            found = [
                None if r is None else raw_like(g, r) for g, r in zip(gradients, given, strict=True)
            ]
    return found


def _as_tensors(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([None if v is None else boxed(upward.FACES.tensor, v) for v in values])
