"""Hooks on tensors and nodes: registering them, and what they may return."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ..ir.dispatch import Value
from ..types import same
from .tape import AccumulateGrad, NodeHooks, TensorHooks, hooks_of

_keys = itertools.count()


class RemovableHandle:
    """What registering a hook returns; `remove()` takes the hook away, and so does leaving a `with` block."""

    def __init__(self, place: dict[int, Callable[..., Any]], key: int) -> None:
        self.place, self.key = place, key

    def remove(self) -> None:
        self.place.pop(self.key, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def add_hook(place: dict[int, Callable[..., Any]], function: Callable[..., Any]) -> RemovableHandle:
    """Put a function behind those that are there."""
    key = next(_keys)
    place[key] = function
    return RemovableHandle(place, key)


def boxed(face: Any, x: Any) -> Any:
    """A cotangent as a value of this face; it may be a raw array or a box already."""
    if isinstance(x, face):
        return x
    if isinstance(x, Value):
        box: Any = x
        value = face(box._data)
        value.requires_grad, value._tangents = box.requires_grad, box._tangents
        if box.requires_grad:
            value.grad_fn, value.output_nr = box._edge()
        return value
    return face(np.asarray(x))


def raw_like(given: Any, result: Any) -> Any:
    """A hook's result in the form in which the sweep carries cotangents: raw where they are raw."""
    return result if isinstance(given, Value) else result._data


def leaf_hooks(tensor: Any) -> TensorHooks:
    """A tensor's own hooks; the node of a leaf reads them."""
    if tensor._hooks is None:
        tensor._hooks = TensorHooks()
    hooks: TensorHooks = tensor._hooks
    return hooks


def node_hooks(tensor: Any) -> NodeHooks:
    """The hooks that run for this tensor's cotangent."""
    if tensor.grad_fn is not None:
        return hooks_of(tensor.grad_fn)
    node = tensor._edge()[0]
    assert isinstance(node, AccumulateGrad)
    node.hooks = leaf_hooks(tensor).node
    return node.hooks


def register_tensor_hook(tensor: Any, function: Callable[..., Any]) -> RemovableHandle:
    """Run `function(grad)` when the gradient of this tensor is known; what it returns (if not None) takes its place."""
    if not tensor.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    face = type(tensor)
    name = getattr(function, "__name__", type(function).__name__)

    def run(ct: Any) -> Any:
        result = function(boxed(face, ct))
        if result is None:
            return ct
        if not isinstance(result, Value):
            raise TypeError(f"expected Variable, but hook returned {type(result).__name__!r}")
        box: Any = result
        if len(box.shape) != len(ct.shape) or not all(same(a, b) for a, b in zip(box.shape, ct.shape, strict=True)):
            raise RuntimeError(f"hook {name!r} has changed the size of value")
        if box.dtype != ct.dtype:
            raise RuntimeError(f"hook {name!r} has changed the type of value (was {ct.dtype} got {box.dtype})")
        return raw_like(ct, box)

    return add_hook(node_hooks(tensor).tensor.setdefault(tensor.output_nr, {}), run)
