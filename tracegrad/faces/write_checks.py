"""What is not written in place, as NumPy's numbers, and what may not be: leaves that require
gradients, read-only memory, inference tensors, and views that the rules of views protect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..devices import share_memory
from ..ir.dispatch import Value
from ..ir.lines import user_line
from ..ops.arrays.windows import shear_op
from ..tape.mode import MODE
from ..tape.tape import AccumulateGrad
from ..tape.versions import Uncounted
from .views import EXPANDED

NUMBER = (
    "this writes into a number, as x[0], x.sum() and sums of numbers are in NumPy: it lies in no "
    "array, and NumPy refuses that or writes into a copy. Make an array of it: np.array(v)."
)
LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
READ_ONLY = (
    "the memory of this tensor is read-only, as that of the ndarray it was made from; "
    "clone() the tensor, or make it with tracegrad.tensor(array), which copies."
)
READ_ONLY_VIEW = (
    "assignment destination is read-only, as NumPy's diagonals, broadcast arrays and sliding "
    "windows are. Write into the array that it shows (np.fill_diagonal), or into a copy."
)
INFERENCE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed. "
    "You can make a clone to get a normal tensor before doing inplace update."
)
MADE_IN = (
    "A view was created in {} and is being modified inplace with grad mode enabled. "
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside that block (if you don't want "
    "the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
ONE_OF_MANY = (
    "Output {} of {} is a view and is being modified inplace. This view is the output "
    "of a function that returns multiple views. Such functions do not allow the output views "
    "to be modified inplace. You should replace the inplace operation by an out-of-place one, "
    "or index the tensor for a view that can be written."
)
OF_FUNCTION = (
    "Output {nr} of {name} is a view and is being modified inplace. "
    "This view was created inside a custom Function (or because an input was returned as-is) "
    "and the autograd logic to handle view+inplace would override the custom backward associated "
    "with the custom Function, leading to incorrect gradients. This behavior is forbidden. "
    "You can fix this by cloning the output of the custom Function."
)


class Untracked(tuple[Any, ...]):
    """The steps from a base to a view that must not be written where the write would be recorded,
    and the `reason`: a text with gaps, and what fills them."""

    reason: tuple[str, tuple[Any, ...]]


def untracked(steps: Sequence[Any], text: str, *given: Any) -> Untracked:
    """These steps, of a view that must not be written where the write would be recorded."""
    made = Untracked(steps)
    made.reason = text, given
    return made


def read_only(view: Any) -> Any:
    """A new view that may not be written, where it is one of an ndarray."""
    if isinstance(view, WriteChecks) and view._base is not None and not view.boxes_everything:
        view._view = untracked(view._view, READ_ONLY_VIEW)
    return view


class WriteChecks(Value):
    """Refuses what may not be written in place."""

    __slots__ = ()
    _base: Any
    _view: Any

    def _check_memory(self: Any) -> None:
        """Refuse to write into a number, which `+=` replaces, and into NumPy's read-only views."""
        if not (self.boxes_everything or self.shape or self.writes_numbers):
            raise TypeError(f"{user_line()}: {NUMBER}")
        if type(self._view) is Untracked and self._view.reason[0] is READ_ONLY_VIEW:
            raise ValueError(f"{user_line()}: {READ_ONLY_VIEW}")

    def _apart_from(self: Any, memory: Any) -> Any:
        """This box, of data that share nothing with `memory`."""
        data = self._data
        if type(data) is type(memory) is np.ndarray and share_memory(data, memory):
            self._data = data.copy()
        return self

    def _check_write(self: Any, root: Any, *values: Any) -> None:
        """Refuse writes into memory that would be wrong, or that could not be recorded."""
        self._check_recorded(root, *values)
        if not self._data.flags.writeable:
            repeated = any(op is shear_op for op, _ in self._view) or any(
                stride == 0 and size > 1
                for stride, size in zip(self._data.strides, self._data.shape, strict=True)
            )
            if repeated or not root._data.flags.writeable:
                raise RuntimeError(EXPANDED if repeated or 0 in root._data.strides else READ_ONLY)
            self._data.flags.writeable = True  # a broadcast view that repeats nothing

    def _check_recorded(self: Any, root: Any, *values: Any) -> None:
        """Refuse changes in place that could not be recorded."""
        if type(root._versions) is Uncounted and not MODE.inference:
            raise RuntimeError(INFERENCE)
        tracked = (root, self, *values)
        if MODE.enabled and any(isinstance(x, WriteChecks) and x._requires_grad for x in tracked):
            if type(self._view) is Untracked:
                text, given = self._view.reason
                raise RuntimeError(text.format(*given))
            self._check_leaf(root)

    def _check_leaf(self: Any, root: Any) -> None:
        """Refuse a recorded write to a leaf, or to a view whose base is one."""
        # A dual tensor made of a leaf shares its memory and leads to its place in the graph.
        dual = isinstance(root._grad_fn, AccumulateGrad)
        if (root._requires_grad or self._requires_grad) and (root._grad_fn is None or dual):
            raise RuntimeError(
                LEAF if self is root and not dual else LEAF.replace("a leaf", "a view of a leaf", 1)
            )
