"""What makes a Tensor part of a recorded graph: requires_grad, grad, backward, hooks, detach; and
copies of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..autograd.functions import backward
from ..checks import explained_here
from ..devices import IN_USE, DeviceArray
from ..dtypes import is_differentiable, native
from ..ir.contents import owner
from ..ir.dispatch import SPECIAL, STATE, Value
from ..ir.graph import Var
from ..ops.arrays.transfer import place_of, transfer
from ..sizes import same_shape
from ..tape.attempts import ATTEMPTS
from ..tape.boxes import fresh
from ..tape.hooks import (
    RemovableHandle,
    add_hook,
    boxed,
    leaf_hooks,
    node_hooks,
    register_tensor_hook,
)
from ..tape.mode import MODE
from ..tape.reshaped import note_shape
from ..tape.saved import before_write
from ..tape.versions import Aside, Uncounted, former
from .interchange import Interchange
from .twins import detached, leave, share_data

NOT_A_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
    "Its .grad attribute won't be populated during autograd.backward(). If you indeed want the "
    ".grad field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. "
    "If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead."
)


DEEPCOPY = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
    "the moment. Call .detach() before copying, or copy the leaf that it was computed from."
)


def cut(tensor: Any) -> None:
    """Make a tensor a leaf that does not require grad."""
    tensor._grad_fn, tensor._output_nr, tensor._requires_grad = None, 0, False


def remade(face: Any, data: Any, requires_grad: bool) -> Any:
    """A pickled leaf. NumPy reads arrays back with a dtype object of their own."""
    base = owner(data)
    if isinstance(base, memoryview) and isinstance(base.obj, (bytes, bytearray)):
        data = data.copy()  # protocol 5: the buffer may be somebody else's
    made = face(native(data) if type(data) is np.ndarray else data, requires_grad)
    if isinstance(owner(data), (np.ndarray, bytes, bytearray)):
        made._versions = None  # of what was read, and of no buffer beside it
    return made


class Differentiable(Interchange):
    """Autograd's side of a Tensor."""

    __slots__ = ()
    _tangents: dict[int, Any] | None

    # --- the graph ---

    @property
    def requires_grad(self: Any) -> bool:
        """Whether operations on this tensor are recorded; of a leaf it may be set."""
        current: bool = self._current()._requires_grad
        return current

    @requires_grad.setter
    def requires_grad(self: Any, requires_grad: bool) -> None:
        self.requires_grad_(requires_grad)

    @requires_grad.deleter
    def requires_grad(self: Any) -> None:
        raise AttributeError("requires_grad cannot be deleted: set it to False, or take x.detach()")

    @property
    def is_leaf(self: Any) -> bool:
        """Whether this tensor was not computed from tensors that require grad."""
        return self.grad_fn is None

    def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
        """Record (or stop recording) operations on this leaf."""
        given: Any = requires_grad
        if given is not True and given is not False and type(given) is not np.bool_:
            raise explained_here(
                TypeError(
                    f"requires_grad must be a bool, but got {type(requires_grad).__name__} "
                    f"({requires_grad!r:.60})"
                )
            )
        if self._base is not None:
            self._refresh()
        if not requires_grad and self._grad_fn is not None:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. "
                "If you want to use a computed variable in a subgraph that doesn't require "
                "differentiation use var_no_grad = var.detach()."
            )
        if requires_grad and not is_differentiable(self.dtype):
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if requires_grad and self.is_inference() and not MODE.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside "
                "InferenceMode is not allowed."
            )
        self._touch()
        self._requires_grad = bool(requires_grad)
        return self

    def backward(
        self: Any,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add this tensor's gradients to the `.grad` of the leaves it depends on; see
        `tracegrad.autograd.backward`."""
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def is_inference(self: Any) -> bool:
        """Whether this tensor was made in `inference_mode`."""
        return type(self._versions) is Uncounted

    def detach(self: Any) -> Any:
        """The same memory and version counter without history."""
        self._refresh()
        if STATE.traces or self._borrowed or isinstance(self._data, Var):
            return detached(self, self._version_counter)
        value = fresh(self.face, self._data)
        value._versions, value._borrowed = self._version_counter, self._borrowed
        return value

    def detach_(self: Any) -> Any:
        """Cut this tensor from its history."""
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead, "
                "or detach the tensor that this is a view of."
            )
        self._touch()
        if STATE.traces and (self.requires_grad or self._tangents or type(self._data) is Var):
            self._data = self.detach()._data
        cut(self)
        self._tangents = None
        return self

    @property
    def data(self: Any) -> Any:
        """The same memory without history. Versions are counted from 0; that a saved value was
        overwritten through it is noticed."""
        self._refresh()
        if STATE.traces:
            return self.detach()
        counter = self._version_counter
        versions = counter if type(counter) is Uncounted else Aside(counter)
        if self._borrowed or isinstance(self._data, Var):
            return detached(self, versions)
        value = fresh(self.face, self._data)
        value._versions = versions
        return value

    @data.setter
    def data(self: Any, new: Any) -> None:
        if not isinstance(new, Value):
            raise TypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
        if self.requires_grad and not is_differentiable(new._data.dtype):
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating "
                "point or complex dtype"
            )
        counter = self._version_counter
        if self._past is not None:
            self._keep_past()
            if not STATE.traces:
                self._past[id(self._data)]._versions = former(counter)
        self._touch()
        if not STATE.traces and new._data.shape != self._data.shape:
            note_shape(self)
        leave(self)
        if STATE.traces:
            share_data(self, new)
        else:
            self._data = new._data
            box: Any = new
            of = box._version_counter
            if type(of) is not Uncounted and type(counter) is not Uncounted:
                self._versions = Aside(of, (counter.writes(), *counter[1:]))

    @property
    def _version(self: Any) -> int:
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._versions is None else int(self._versions.writes())

    def _is_view(self: Any) -> bool:
        return self._base is not None

    # --- gradients ---

    @property
    def grad(self: Any) -> Any:
        """The gradient that backward passes have summed up here, or None."""
        if STATE.traces and id(self) not in STATE.traces[-1].answered:
            STATE.traces[-1].asked[id(self)] = self
        if (
            self.grad_fn is not None
            and self._grad is None
            and not self.retains_grad
            # In a body that is looked at a leaf of the user's is a variable.
            and not getattr(ATTEMPTS.session, "regions", ())
        ):
            warnings.warn(NOT_A_LEAF, UserWarning, stacklevel=2)
        return self._grad

    @grad.setter
    def grad(self: Any, new: Any) -> None:
        self._touch()
        if STATE.traces:
            STATE.traces[-1].answered.add(id(self))
        if new is None:
            self._grad = None
            return
        if not isinstance(new, Value):
            raise TypeError(
                "assigned grad expected to be a Tensor or None but got grad "
                f"of type {type(new).__name__}"
            )
        box: Any = new
        if box is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if not same_shape(box.shape, self.shape):
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(box.shape)}' to a tensor "
                f"of size '{list(self.shape)}'. Please ensure that the gradient "
                "and the tensor are the same size"
            )
        if box.dtype != self.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{box.dtype.name}' to a tensor "
                f"with grad_dtype '{self.dtype.name}'. The gradient must match the tensor's "
                "grad_dtype; convert it first."
            )
        if IN_USE and not STATE.traces and place_of(box) != place_of(self):
            raise RuntimeError(
                f"assigned grad has data located on a different device: it is on {place_of(box)}, "
                f"the tensor on {place_of(self)}"
            )
        self._grad = box

    @grad.deleter
    def grad(self: Any) -> None:
        self.grad = None

    def _accumulate_grad(
        self: Any, ct: Any, create_graph: bool = False, alone: bool = False
    ) -> None:
        """Add a cotangent to `.grad`, in place where nothing has to be recorded, so that whoever
        holds `.grad` sees it. An array that nobody else holds (`alone`) becomes the gradient
        itself."""
        if not self._requires_grad:
            return  # detached in place since
        if (
            alone
            and self._grad is None
            and type(ct) is np.ndarray
            and not (SPECIAL and STATE.special)
        ):
            data = self._data
            # As a copy would lie: on memory of its own, in the order of the elements of the leaf.
            if (
                ct.base is None
                and ct.dtype == data.dtype
                and ct.strides == data.strides
                and ct.shape == data.shape
                and ct.flags.writeable
            ):
                self._grad = fresh(self.face, ct)
                return
        self._touch()
        if STATE.traces and id(self) not in STATE.traces[-1].answered:
            STATE.traces[-1].asked[id(self)] = self
        old = self._grad
        raw = ct._data if isinstance(ct, Value) and not create_graph else ct
        if old is None:
            if create_graph or isinstance(raw, Var):
                # A box of its own: rules may hand the same cotangent to several leaves.
                self._grad = boxed(self.face, ct)._alias()
                self._grad._versions = None
            elif type(raw) is DeviceArray or type(self._data) is DeviceArray:
                moved = transfer(boxed(self.face, raw), place_of(self)).clone()
                self._grad = fresh(self.face, moved._data)
            else:
                dense = isinstance(self._data, np.ndarray) and 0 not in self._data.strides
                own = np.empty_like(self._data) if dense else np.empty(self.shape, self.dtype)
                own[...] = raw
                self._grad = fresh(self.face, own)
        elif create_graph:
            self._grad = ops.add(old, boxed(self.face, ct))
        elif STATE.traces or isinstance(raw, Var) or isinstance(old._data, Var):
            old._write(ops.add(old, boxed(self.face, ct)))
        elif type(old._data) is DeviceArray:
            old._write(ops.add(self.face(old._data), boxed(self.face, raw)))
        elif old._data.flags.writeable:
            if STATE.special:
                before_write(old._data)
            np.add(old._data, raw, out=old._data)
            old._version_counter.written()
        else:
            self._grad = fresh(self.face, old._data + raw)

    def retain_grad(self: Any) -> None:
        """Let a backward pass store the gradient of this tensor, which is no leaf, in its
        `.grad`."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.grad_fn is not None and not self.retains_grad:
            leaf_hooks(self).retains = True
            leaf_hooks(self).moved(self)

    @property
    def retains_grad(self: Any) -> bool:
        """Whether `retain_grad` was called on this tensor, which is no leaf."""
        return self._hooks is not None and self._hooks.retains

    def register_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is known; a tensor that it returns replaces
        the gradient."""
        return register_tensor_hook(self, hook)

    def register_post_accumulate_grad_hook(self: Any, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(tensor)` after a backward pass has added to the `.grad` of this leaf."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        node_hooks(self)
        return add_hook(leaf_hooks(self).accumulated, hook)

    # --- copies ---

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if self.grad_fn is not None:
            raise RuntimeError(DEEPCOPY)
        if id(self) in memo:
            return memo[id(self)]
        data = (
            self._data
            if type(self._data) is DeviceArray
            else self._concrete("deepcopy()", "Use clone().")
        )
        value = fresh(type(self), data.copy())
        value._requires_grad = self.requires_grad
        memo[id(self)] = value
        if self._grad is not None:
            value._grad = fresh(self.face, self._grad._data.copy())
            value._grad._requires_grad = self._grad.requires_grad
        return value

    def __copy__(self: Any) -> Any:
        """The same memory, as a leaf."""
        value = self.detach()
        value._requires_grad = self.requires_grad
        return value

    def __reduce__(self: Any) -> Any:
        """As a leaf, without `.grad`."""
        self._refresh()
        data = (
            self._data
            if type(self._data) is DeviceArray
            else self._concrete("pickling", "Return the value instead.")
        )
        return remade, (type(self), data, self.requires_grad)
