"""What `forward` of a Function leaves for its derivatives: the context, and what it saved."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..ir.dispatch import Value
from .boxes import fresh
from .pieces import mark
from .saved import SAVING, Packed, Saved, modified, packed, unpack
from .tape import Node

NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. "
    "The inputs that are modified inplace must all be outputs of the Function."
)
NOT_AN_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
    "mutated should be passed to ctx.mark_dirty()."
)


class FunctionCtx:
    """What the forward of a Function leaves for its derivatives. Further attributes may be set
    freely."""

    needs_input_grad: tuple[bool, ...]
    """Per argument of `apply`, whether its gradient is wanted."""

    def __init__(self, needs_input_grad: Sequence[bool] = ()) -> None:
        self.needs_input_grad = tuple(needs_input_grad)
        self._left = Left()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for `backward`, which finds them in `saved_tensors`; call it once.
        That one of them is overwritten before is noticed there."""
        for k, t in enumerate(tensors):
            if t is not None and not isinstance(t, (Value, np.ndarray, np.generic)):
                raise TypeError(
                    "save_for_backward can only save variables, "
                    f"but argument {k} is of type {type(t).__name__}"
                )
        self._left.saved = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`, which finds them in `saved_tensors`."""
        for t in tensors:
            if t is not None and not isinstance(t, (Value, np.ndarray, np.generic)):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; "
                    "you should save non-tensors as attributes on ctx."
                )
        self._left.saved_for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept; in `jvp` what `save_for_forward` kept."""
        return self._left.read()

    def mark_dirty(self, *args: Any) -> None:
        """Tell which inputs `forward` has written to; they must be returned."""
        self._left.dirty = _variables(
            args, "mark_dirty can only accept variables, but argument {k} is of type {kind}"
        )

    def mark_non_differentiable(self, *args: Any) -> None:
        """Tell which outputs have no gradient; `backward` receives zeros for them."""
        text = "mark_non_differentiable only accepts variable arguments, but got {kind}"
        self._left.constant = _variables(args, text)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a gradient that is not there reaches the derivatives as zeros (the default) or as
        None."""
        self._left.materialize = bool(value)

    def set_output_grad_dtype(self, *dtypes: Any) -> None:
        """The dtypes in which `backward` receives the gradients, one per output (None: that of the
        output)."""
        self._left.grad_dtypes = tuple([None if d is None else np.dtype(d) for d in dtypes])


def _variables(args: tuple[Any, ...], text: str) -> tuple[Any, ...]:
    for k, x in enumerate(args):
        if not isinstance(x, (Value, np.ndarray, np.generic)):
            raise RuntimeError(text.format(k=k, kind=type(x).__name__))
    return args


class Left:
    """What the methods of a context were told; `read` gives the saved tensors."""

    def __init__(self) -> None:
        self.saved: tuple[Any, ...] = ()
        self.saved_for_forward: tuple[Any, ...] | None = None
        self.dirty: tuple[Any, ...] = ()
        self.constant: tuple[Any, ...] = ()
        self.materialize = True
        self.grad_dtypes: tuple[Any, ...] = ()
        self.read: Callable[[], tuple[Any, ...]] = tuple


def among(x: Any, values: Sequence[Any]) -> bool:
    """Whether `x` is one of these objects."""
    return any(x is v for v in values)


def check_dirty(left: Left, args: Sequence[Any], outputs: Sequence[Any]) -> None:
    """What was marked as written must be an input, and be returned."""
    for x in left.dirty:
        if not among(x, args):
            warnings.warn(NOT_AN_INPUT, UserWarning, stacklevel=4)
        elif not among(x, outputs):
            raise RuntimeError(NOT_RETURNED)


class SavedByUser(NamedTuple):
    """A saved tensor. An output is kept without its node, which would be a cycle: `nr` is its
    number, else -1."""

    saved: Saved
    nr: int
    versions: list[int] | None
    face: Any


def keep(ctx: FunctionCtx, node: Node, outputs: Sequence[Any]) -> None:
    """Turn what the context was told to save into what it will read, noting versions."""
    kept: list[SavedByUser | None] = []
    for x in ctx._left.saved:
        if x is None:
            kept.append(None)
        elif not isinstance(x, Value):
            kept.append(SavedByUser((None, x, 0), -1, None, None))
        else:
            box: Any = x
            nr = next((k for k, o in enumerate(outputs) if o is x and box._grad_fn is node), -1)
            counter = box._version_counter
            if box._past is None:
                mark(box)
            saved: Saved = (box if nr < 0 else None, box._data, counter[0])
            kept.append(
                SavedByUser(
                    packed(saved, SAVING.pairs[-1]) if SAVING.pairs else saved,
                    nr,
                    counter,
                    box.face,
                )
            )
    reference = weakref.ref(node)
    ctx._left.saved = ()
    ctx._left.read = lambda: tuple([None if k is None else read(k, reference) for k in kept])


def read(kept: SavedByUser, reference: Any) -> Any:
    """A saved tensor, with its place on the tape."""
    box, data, version = kept.saved
    if kept.nr < 0:
        return data if box is None else unpack(kept.saved, True)
    node = reference()
    if isinstance(box, Packed):
        return box.opened(True, None if node is None else (node, kept.nr))
    assert kept.versions is not None
    if kept.versions[0] != version:
        raise RuntimeError(modified(data, node, kept.nr, kept.versions[0], version))
    value = fresh(kept.face, data)
    value._grad_fn, value._output_nr, value._requires_grad = node, kept.nr, node is not None
    value._versions = kept.versions
    return value
