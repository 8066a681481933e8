"""Writing into boxed values, through views to their bases.

Two ways. A Tensor of running (not traced) code owns storage that its views, `detach()`, `.data` and
`numpy()` share: a write copies numbers into it and counts a version, so that a saved value which
was overwritten is noticed in the backward pass. Everything else - traced values, an ndarray under
differentiation, the argument of a transformed function - is replaced by a new value, and what the
tape saved keeps the old one; the caller's array never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..devices import share_memory
from ..errors import DTypeError, ShapeError
from ..ir.dispatch import STATE, Value
from ..ir.graph import Var
from ..ir.op import Op
from ..ir.trace import is_left_over, left_over
from ..ops.arrays.diagonals import diagonal_op
from ..ops.arrays.shape import reshape_op
from ..ops.arrays.transfer import fill
from ..ops.define import of_shape
from ..ops.places.gathering import Placed
from ..ops.totals.statistics import overwritten_op
from ..tape.boxes import fresh
from ..tape.mode import MODE
from ..tape.reshaped import note_shape
from ..tape.saved import before_write
from ..tape.versions import Following, Uncounted, Versions
from ..types import show
from .certainty import see_certain, see_write, told_by_memory
from .handed_out import see_unseen
from .strides import copies, laid_as
from .traced_memory import as_view, keep, lies_otherwise, memory_of, note_choice, settle
from .twins import TWINS, spread
from .views import apart, entitle, insert, note_write, shown
from .write_checks import MADE_IN, OF_FUNCTION, Untracked, WriteChecks, untracked

CHANGING = (
    "_data", "_grad", "_past", "_seen", "_tangents", "_grad_fn", "_output_nr", "_requires_grad"
)  # fmt: skip
"""The attributes of a box that a function may change."""


class Writes(WriteChecks):
    """Views and writes. `_version_counter` is [writes, changes of history]; a view follows the
    second count of its base."""

    __slots__ = ()
    _past: dict[int, Any] | None
    _base: Any
    _view: Any

    def _viewed(
        self: Any, op: Op | Placed, source: Any, params: dict[str, Any], result: Any
    ) -> Any:
        """The result of a viewing operation, which follows the writes into what it shows."""
        if not isinstance(source, Value):
            return result
        shown: Any = source
        box: Any = result if isinstance(result, Value) else fresh(self.face, np.asarray(result))
        memory, data = shown._data, box._data
        if not box.boxes_everything:  # a number of NumPy's shows no memory, and is none
            if not (box.shape or box.writes_numbers):
                return box
            if not (shown.shape or shown.writes_numbers):
                return box._apart_from(memory)
        root = shown._root
        if not isinstance(data, Var) and not isinstance(memory, Var):
            number = shown.writes_numbers and isinstance(memory, np.generic)
            if not (number or share_memory(data, memory)):
                return box  # NumPy had to copy, as for the reshape of a transposed array
            shared = box.boxes_everything and not root._borrowed and not isinstance(root._data, Var)
        else:
            shared = False
            if op is reshape_op and copies(memory_of(root), (*shown._view, (op, params))):
                note_choice(box, root)
                return box
        steps = (*shown._view, (op, params))
        if op is diagonal_op:
            as_view(data, root, steps)
        if type(shown._view) is Untracked:
            box._view = untracked(steps, shown._view.reason[0], *shown._view.reason[1])
        elif MODE.enabled or not box.boxes_everything:
            box._view = steps
        else:
            box._view = untracked(
                steps, MADE_IN, "inference mode" if MODE.inference else "no_grad mode"
            )
        box._base = root
        counter = root._version_counter
        box._seen = counter[1]
        if shared or type(counter) is Following:
            box._versions = counter
            if type(counter) is Uncounted:
                # An inference tensor too, which stands nowhere on the tape.
                box._grad_fn, box._output_nr, box._requires_grad = None, 0, False
        return box

    def _refresh(self: Any) -> None:
        """A view whose base got another history since: derive it from the base again."""
        base = self._base
        if base is None:
            return
        if base._base is not None:
            # The base was turned into a view (see `_turn`): of what it was when this view was made.
            self._base = base = base._base
        if base._versions[1] == self._seen:
            return
        if STATE.traces and told_by_memory(base, self._view):
            see_certain(base)
        self._touch()
        self._seen = base._versions[1]
        before = MODE.enabled
        MODE.enabled = True
        try:
            value: Any = base
            for op, params in self._view:
                value = shown(op, params, value)
        finally:
            MODE.enabled = before
        entitle(value, "AsStridedBackward0", base)
        if self._in_storage(base) and isinstance(value, Value) and not isinstance(value._data, Var):
            self._adopt(value)
        else:
            self._take(value)

    def _touch(self: Any) -> None:
        """Call before a change. Where the box comes from outside the innermost trace, that
        remembers what it was: the change is undone when the trace is finished, and carried out at
        each call."""
        if STATE.traces:
            trace = STATE.traces[-1]
            if type(self._data) is Var and is_left_over(self._data):
                # Another thread is tracing a change of it, and would put back what it found in the
                # middle of this one.
                raise left_over(self._data)
            if trace.journal is not None and id(self) not in trace.journal:
                trace.journal[id(self)] = self, self._state()
            if id(self) not in trace.touched and not (
                type(self._data) is Var and self._data.trace is trace
            ):
                trace.touched[id(self)] = self, self._state()
                if type(self._data) is not Var:
                    trace.former.append((self, self._data))

    def _state(self: Any) -> Any:
        """What the box is, for `_restore`."""
        return [getattr(self, name) for name in CHANGING], list(self._version_counter)

    def _restore(self: Any, before: Any) -> None:
        """Be again what the box was when it was touched."""
        for name, value in zip(CHANGING, before[0], strict=True):
            setattr(self, name, value)
        self._version_counter[:] = before[1]

    def _kept(self: Any) -> Any:
        """This value with its history, on memory of its own."""
        before = self._alias()
        before._data, before._versions = self._data.copy(), None
        return before

    def _past_with(self: Any, data: Any) -> Any:
        """The box as it was when it held `data`."""
        return self._past[id(data)]

    def _keep_past(self: Any) -> None:
        """Remember the box as it is now, for those who saved it."""
        self._past = {**self._past, id(self._data): self._alias()}

    def _adopt(self: Any, new: Any) -> None:
        """Take the history and the tangents of `new`."""
        if self._hooks is not None:
            self._hooks.leaves(self)
        if isinstance(new, Writes):
            box: Any = new
            if box._requires_grad:
                self._grad_fn, self._output_nr = box._edge()
            else:
                self._grad_fn, self._output_nr = None, 0
            self._requires_grad, self._tangents = box._requires_grad, box._tangents
        else:
            self._requires_grad, self._grad_fn, self._tangents = False, None, None
        if self._hooks is not None:
            self._hooks.moved(self)

    def _take(self: Any, new: Any) -> None:
        """Become `new`. Where the tape saved this box, it is remembered as it was."""
        if self._past is not None:
            self._keep_past()
        if type(self._versions) is Following:
            # Only what it was lies on memory that others write.
            self._versions = Versions(self._versions)
        if MODE.enabled or not self.boxes_everything:
            self._data = new._data if isinstance(new, Value) else np.asarray(new)
            self._adopt(new)
        elif STATE.traces and self._requires_grad:
            # The tape still leads to what the box was, and the graph has to say so.
            trace = STATE.traces[-1]
            (self._data,) = trace.emit(overwritten_op, [self, new], {})
            trace.live.add(self._data)
        else:
            self._data = new._data if isinstance(new, Value) else np.asarray(new)

    def _in_storage(self: Any, root: Any) -> bool:
        """Whether writes go into memory that others may share."""
        return (
            self.boxes_everything
            and not root._borrowed
            and not isinstance(root._data, Var)
            and not isinstance(self._data, Var)
        )

    def _plain(self: Any, *values: Any) -> np.ndarray[Any, Any] | None:
        """The memory, where writing these values takes no more than numbers and a count: nothing is
        traced, recorded or refused."""
        if STATE.special or STATE.traces or not self.boxes_everything:
            return None
        if self._base is not None:
            self._refresh()
        root = self._root
        data: Any = self._data
        if (
            type(data) is not np.ndarray
            or type(root._data) is not np.ndarray
            or root._borrowed
            or root._tangents is not None
        ):
            return None
        if MODE.enabled:
            if root._requires_grad or self._requires_grad:
                return None
            for x in values:
                if isinstance(x, Value) and x._requires_grad:
                    return None
        return data if data.flags.writeable and type(root._versions) is not Uncounted else None

    def _assign(self: Any, memory: np.ndarray[Any, Any], value: Any) -> None:
        """A plain write."""
        fill(memory, value)
        self._count()

    def _count(self: Any) -> None:
        """A write has happened."""
        self._root._version_counter.written()

    def _write(self: Any, new: Any, kept: bool = True) -> None:
        """Replace the value in place, through to the base of a view, by one of this shape and
        dtype. A view that is not `kept` needs no history any more."""
        self._refresh()
        if isinstance(new, Value):
            new._refresh()  # a view of what was written since
        root = self._root
        root._touch()
        counter = root._version_counter
        if STATE.traces and not isinstance(new, Value):
            trace = STATE.traces[-1]
            if id(root) not in trace.made and type(root._data) is not Var:
                # Each call does it anew.
                new = self.face(trace.lift(np.array(new)))
        elif STATE.traces and getattr(new._data, "trace", None) is not STATE.traces[-1]:
            # An array holds something else at the next call; and what was changed here once holds a
            # variable of this trace from then on, by which `_touch` knows it.
            new = new._captured(STATE.traces[-1])
        if self._in_storage(root) and not (isinstance(new, Value) and isinstance(new._data, Var)):
            self._check_write(root, new)
            tracked = isinstance(new, Writes) and (new._requires_grad or bool(new._tangents))
            tracked = (tracked or root._requires_grad or bool(root._tangents)) and (
                MODE.enabled or bool(root._tangents)
            )
            whole = (
                (new if self is root else self._through(root, new, not STATE.special))
                if tracked
                else None
            )
            if STATE.special:
                before_write(self._data)
            fill(self._data, new)
            counter.written()
            if tracked:
                root._adopt(whole)
                counter[1] += 1
        else:
            see_unseen(root)
            # What was written may be the user's own array, which holds something else tomorrow.
            if type(new) is np.ndarray:
                new = self.face(STATE.traces[-1].lift(new.copy())) if STATE.traces else new.copy()
            lay = root._data
            if type(lay) is Var:
                see_write(root, self._view)
                keep(root)
                if self is root and lies_otherwise(root, new):
                    new = ops.positive(new)
            root._take(new if self is root else self._through(root, new))
            root._data = laid_as(lay, root._data)
            if type(lay) is np.ndarray and not lay.flags.c_contiguous:
                keep(root, (lay.shape, tuple(s // lay.itemsize for s in lay.strides)))
            settle(root)
            if root._data is not lay:  # else there was nothing to write, as into x[1:1]
                counter = root._version_counter
                counter.written()
                counter[1] += 1
        if TWINS:
            spread(root)
        if self is not root and kept:
            self._refresh()

    # --- results of custom Functions ---

    def _made_by(self: Any, node: Any, nr: int, name: str, roots: Sequence[Any]) -> None:
        """Stand on the tape as a result of a Function's node, whose inputs have these bases."""
        if self._base is not None:
            if any(self._base is root for root in roots):
                self._view = untracked(self._view, OF_FUNCTION.format(nr=nr, name=name))
            else:
                self._base, self._view = None, ()
        self._grad_fn, self._output_nr, self._requires_grad = node, nr, True

    def _passed_by(self: Any, node: Any, nr: int, name: str) -> Any:
        """This input of a Function as its result: a view, with the Function's node where there is
        one."""
        root = self._root
        view = fresh(self.face, self._data)
        if self.boxes_everything:
            view._base, view._versions = root, root._version_counter
            view._view, view._seen = (
                untracked(self._view, OF_FUNCTION.format(nr=nr, name=name)),
                root._version_counter[1],
            )
        view._borrowed = self._borrowed
        if node is not None:
            view._grad_fn, view._output_nr, view._requires_grad = node, nr, True
        return view

    def _written_by(self: Any, node: Any, nr: int, leaf: str) -> None:
        """This input was written by a Function, of whose node it is now a result (of none: it stays
        what it was)."""
        root = self._root
        counter = root._version_counter
        counter.written()
        if node is None:
            return
        if root._requires_grad and root._grad_fn is None:
            raise RuntimeError(leaf)
        result = fresh(self.face, self._data.copy())
        result._grad_fn, result._output_nr, result._requires_grad = node, nr, True
        root._adopt(result if root is self else self._through(root, result))
        counter[1] += 1
        if root is not self:
            self._refresh()

    def _holds(self: Any, index: Any, value: Any) -> bool:
        """Whether `value` is the view `self[index]`."""
        root = self._root
        if value._base is not root or value is self:
            return False
        here = ops.getitem(self, index)
        return isinstance(here, Writes) and here._base is root and here._view == value._view

    def _through(self: Any, root: Any, new: Any, noted: bool = False) -> Any:
        """The base with `new` in the place that this view shows; its history alone where that can
        be `noted`."""
        written = new
        stages: list[Any] = [root]
        for op, params in self._view[:-1]:
            stages.append(shown(op, params, stages[-1]))
        for (op, params), stage in zip(reversed(self._view), reversed(stages), strict=True):
            found = note_write(op, params, root, new) if noted and stage is root else None
            new = insert(op, params, stage, new) if found is None else found
        entitle(new, "tracegrad::autograd::CopySlices", root, written)
        return new

    def _update_at_once(self: Any, ufunc: np.ufunc, other: Any) -> bool:
        """`self = ufunc(self, other)` in place, by NumPy alone, where nothing is recorded; whether
        that could be done."""
        memory = self._plain(other)
        if isinstance(other, Value):
            box: Any = other
            if box._base is not None:
                box._refresh()
            other = box._data
        if memory is None or not isinstance(other, (float, int, np.ndarray, np.generic)):
            return False
        try:
            ufunc(memory, other, memory)
        except (TypeError, ValueError):
            return False  # for the error that `_update` gives
        self._count()
        return True

    def _turn(self: Any, function: Callable[..., Any], *arguments: Any) -> Any:
        """`self = function(self, *arguments)` for a function that gives a view: the same memory
        under another shape. A base becomes a view of what it was, so that views that were made of
        it still know what they show."""
        self._refresh()
        root = self._root
        if self._in_storage(root):
            self._check_recorded(root)
        elif MODE.enabled:
            self._check_leaf(root)
        former = self._alias() if self is root else self
        if self is root and self._grad_fn is None:
            former._grad_fn = None
        # Where the tensor has a history, that follows the change of shape, recorded or not; and it
        # may be written as before.
        recorded, MODE.enabled = MODE.enabled, True
        try:
            view = function(former, *arguments)
        finally:
            MODE.enabled = recorded
        if view is not former:
            if self._past is not None:
                self._keep_past()
            self._touch()
            if not STATE.traces and not MODE.enabled:
                note_shape(self)
            self._data, self._base, self._view, self._seen = (
                view._data,
                view._base,
                view._view,
                view._seen,
            )
            if MODE.enabled or self._grad_fn is not None:
                self._adopt(view)
        counter = root._version_counter
        if type(counter) is not Uncounted:
            counter.advance()  # of a `.data` its own alone: no memory was written
        return self

    def _update(self: Any, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """`self = function(self, *arguments)` in place; the result must have this shape, and a
        dtype that may be cast to this one."""
        memory = self._plain(*arguments, *options.values())
        if memory is not None:
            self._assign(memory, self._fitted(function(self, *arguments, **options)))
            return self
        self._check_memory()
        self._refresh()
        root = self._root
        before, tracked = self, False
        if self._in_storage(root):
            self._check_write(root, *arguments, *options.values())
            tracked = MODE.enabled and any(
                isinstance(x, Writes) and x._requires_grad
                for x in (self, *arguments, *options.values())
            )
            if tracked:
                # The rule of the operation may read what is about to be overwritten: it gets a
                # copy.
                before = self._kept()
        given = {name: before if x is self else x for name, x in options.items()}
        new = self._fitted(
            function(before, *[before if x is self else x for x in arguments], **given)
        )
        if tracked and self._requires_grad and not (isinstance(new, Writes) and new._requires_grad):
            # What does not depend on the old value, or not smoothly, keeps its place on the tape,
            # with a gradient of 0.
            new = ops.where(False, before, new)
        if new is not self:
            self._write(new if self._in_storage(root) else apart(new, arguments))
        return self

    def _fitted(self: Any, new: Any) -> Any:
        """A result that is to be written here, in this dtype."""
        if type(new.shape) is tuple and new.shape == self.shape and new.dtype == self.dtype:
            return new
        fit = of_shape(
            new, self.shape, "the result of the in-place operation has another shape than the array"
        )
        if fit is None:
            raise ShapeError(
                f"the result of the in-place operation has shape {show(new.shape)}, "
                f"which does not fit the written array's {show(self.shape)}. "
                "Use the operation that returns a new array."
            )
        new = fit
        if new.dtype != self.dtype:
            if not (
                np.can_cast(new.dtype, self.dtype, "same_kind")
                or (self.boxes_everything and {new.dtype.kind, self.dtype.kind} <= {"i", "u"})
            ):
                raise DTypeError(
                    f"the result of the in-place operation has dtype {new.dtype}, "
                    f"which cannot be cast to the written array's {self.dtype}. Convert the array "
                    "with .astype first, or use the operation that returns a new array."
                )
            new = ops.convert(new, self.dtype)
        return new
