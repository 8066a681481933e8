"""The two faces of a boxed value: `Array` behaves like an ndarray, `Tensor` like torch's tensor.

Both hold data (an ndarray, or a variable of an open trace), their place on the tape, and tangents
of forward mode. Methods that differ between the faces stand in `faces/`; here is what they share:
construction, the tape's view of them, views and writes.
"""

from __future__ import annotations

import operator
import weakref
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np

from ._codegen import integers, locks
from .checks import REFUSED, describe, named
from .devices import DeviceArray
from .dtypes import is_differentiable
from .errors import ConcretizationError
from .faces.construction import elements_for, is_elements
from .faces.differentiable import Differentiable
from .faces.dispatch import NumpyDispatch
from .faces.numpy.array_methods import ArrayMethods
from .faces.numpy.array_numbers import ArrayNumbers
from .faces.numpy.refusals import inside_library
from .faces.operators import Operators
from .faces.tensor.methods import TensorMethods
from .faces.writing import Writes
from .ir import upward
from .ir.contents import writable
from .ir.dispatch import STATE, bind
from .ir.graph import Var
from .ir.lines import text_is_known
from .ir.of_sizes import of_sizes
from .ir.op import Op
from .ir.operands import ADVICE, STRANGE, plain_operand
from .ir.trace import Trace, user_line
from .ops.elementwise.arithmetic import number
from .ops.elementwise.elementary import identity_op
from .sizes import seen
from .tape.boxes import BOX, fresh
from .tape.hooks import TensorHooks
from .tape.interpret import interpret
from .tape.lent import kept
from .tape.mode import MODE
from .tape.pieces import end_of
from .tape.tape import AccumulateGrad, Node, Producer, filler, next_number, record
from .tape.versions import Following, OfArray, Uncounted, Versions
from .types import ArrayType, type_of
from .weak import KINDS, PYTHON, as_python, as_weak

_fill_box = filler(BOX)

_NO_TEXT = (
    " Python's own if and while are taken as they are where the text of the function can be read: "
    "in a file or a notebook, not on standard input or after python -c."
)

_LEAVES = locks.lock()
"""Held while a leaf gets its number or its node: threads that use the leaf for the first time must
find the same one."""


class Boxed(Operators, Writes, NumpyDispatch):
    """What both faces share."""

    __slots__ = ("__weakref__", "_data", *BOX)
    boxes_everything: ClassVar[bool] = False
    """Whether every result is boxed (Tensor), or only what may carry a derivative now or after a
    write into it (Array)."""

    _requires_grad: bool
    _grad_fn: Producer | None
    _output_nr: int
    _tangents: dict[int, Any] | None
    _base: Boxed | None
    _view: tuple[tuple[Op, dict[str, Any]], ...]
    _versions: Versions | None
    _seen: int
    _past: dict[int, Any] | None
    _order: int
    """Of a leaf: its number on the tape, given at its first recorded use; else 0."""
    _types: ClassVar[None] = None
    _accumulate: weakref.ref[AccumulateGrad] | None
    _grad: Any
    _hooks: TensorHooks | None
    _borrowed: bool

    def __init__(self, data: Any = ..., requires_grad: bool = False) -> None:
        _fill_box(self)
        try:
            _ = data.dtype
        except AttributeError:
            # Placeholders without data are made by the library.
            if data is not None:
                raise TypeError(
                    "tracegrad.Array is what an ndarray becomes while a function of it is traced "
                    "or differentiated. It is there for isinstance, "
                    f"and is not made of {'nothing' if data is ... else describe(data)}: pass "
                    "np.asarray(x) to your function, or make a Tensor with tracegrad.tensor(x)."
                ) from None
        self._data = data
        self._requires_grad = requires_grad

    # --- construction by the interpreter ----------------------------------------------------------

    @classmethod
    def _make(cls, data: Any) -> Any:
        """What NumPy computed, with this face where the face wants it."""
        made = cls.boxes_everything or is_differentiable(data.dtype)
        return fresh(cls, np.asarray(data)) if made else data

    @classmethod
    def _dual(cls, primal: Any, tangent: Any, level: int) -> Any:
        value = primal._alias() if isinstance(primal, Boxed) else cls(np.asarray(primal))
        value._tangents = {**(value._tangents or {}), level: tangent}
        value._versions, value._borrowed = followed(primal), True
        return value

    def _alias(self) -> Self:
        """Another box of the same data at the same place on the tape."""
        value: Self = self._as(self.face_of_memory)
        return value

    @property
    def face_of_memory(self) -> type[Boxed]:
        """The face, of an array without axes as one that can be written into."""
        return type(self) if self.writes_numbers else self.face

    def _as(self, face: type[Boxed]) -> Any:
        """The same data at the same place on the tape, in a box of this face."""
        value = fresh(face, self._data)
        value._requires_grad = self._requires_grad
        value._versions = self._version_counter
        value._tangents = self._tangents
        if self._tangents and face is not self.face:
            # A tangent looks as its value does.
            value._tangents = {
                level: t._as(face) if isinstance(t, Boxed) else t
                for level, t in self._tangents.items()
            }
        value._borrowed = self._borrowed
        if self._requires_grad:
            value._grad_fn, value._output_nr = self._edge()
        return value

    def _without(self, level: int) -> Self:
        value = self._alias()
        if not self._in_storage(self._root) and type(self._versions) is not Following:
            value._versions = None  # a write gives this box another value, and leaves that one
        value._tangents = {k: t for k, t in (self._tangents or {}).items() if k != level} or None
        return value

    def _on_tape(self) -> bool:
        """Whether something asks for the gradient of this value or of a tangent of it."""
        return self.requires_grad or (
            self._tangents is not None
            and any(isinstance(t, Boxed) and t._on_tape() for t in self._tangents.values())
        )

    def _captured(self, trace: Trace) -> Self:
        """The value as an input of a trace that was not given it. It stands on the tape where it
        did; where only a tangent of it is on the tape, which the trace does not see, it stands
        there for that."""
        value: Self = self.face(trace.lift(self))
        if self._requires_grad:
            value._requires_grad = True
            value._grad_fn, value._output_nr = self._edge()
        else:
            value._requires_grad = self._on_tape()
        return value

    def _untracked(self) -> Self:
        """The same value without history, and so are its tangents; itself where there is none."""
        tangents = self._tangents
        if tangents is not None:
            bare = {
                level: t._untracked() if isinstance(t, Boxed) else t
                for level, t in tangents.items()
            }
            tangents = tangents if all(bare[level] is t for level, t in tangents.items()) else bare
        if not self._requires_grad and tangents is self._tangents:
            return self
        value: Self = self._on_memory()
        value._tangents = tangents
        return value

    def _on_memory(self) -> Self:
        """Another box on this memory, without history."""
        value: Self = fresh(self.face, self._data)
        value._borrowed = self._borrowed
        if self._in_storage(self._root) or type(self._versions) is Following:
            value._versions = self._version_counter
        return value

    _end = end_of
    """Where a cotangent of this value is sent: to its node, or to the leaf that it is."""

    def _ordered(self) -> int:
        """The number of a leaf that is about to get its first reader."""
        with _LEAVES:
            if not self._order:  # no other thread was faster
                self._order = next_number()
        return self._order

    def _edge(self) -> tuple[Producer, int]:
        """The same, by the leaf's node: for those who look at the graph, and for what stands where
        the leaf stands."""
        if self._grad_fn is not None:
            return self._grad_fn, self._output_nr
        # The node holds the leaf and not the other way round, or every leaf would be garbage in a
        # cycle.
        known = self._accumulate
        node = None if known is None else known()
        if node is None:
            with _LEAVES:
                if self._accumulate is not known:  # another thread was faster
                    node = None if self._accumulate is None else self._accumulate()
                if node is None:
                    node = AccumulateGrad(self)
                    self._accumulate = weakref.ref(node)
        return node, 0

    @property
    def _version_counter(self) -> Versions:
        """Shared by all who share the memory; made when the first of them needs it."""
        if self._versions is None:
            self._versions = Versions((0, 0, self._past is not None))
        return self._versions

    _bind = interpret

    # --- the place on the tape, for users: of a view, after what was written into its base --------

    def _current(self) -> Self:
        if self._base is not None:
            self._refresh()
        return self

    requires_grad = property(
        lambda self: self._current()._requires_grad,
        doc="Whether operations on this value are recorded.",
    )
    grad_fn = property(
        lambda self: self._current()._grad_fn,
        doc="The node of the tape that made this value; None for a leaf.",
    )
    output_nr = property(
        lambda self: self._current()._output_nr,
        doc="Which of the results of `grad_fn` this value is.",
    )

    # --- types ------------------------------------------------------------------------------------

    @property
    def array_type(self) -> ArrayType:
        """dtype and shape, as printed graphs show them."""
        data = self._data
        if type(data) in KINDS:
            return ArrayType(data.dtype, (), weak=True)
        return data.type if isinstance(data, Var) else type_of(data)

    # Compositions ask for these all the time; read in C they take half the time of a Python
    # function.
    dtype = property(attrgetter("_data.dtype"), doc="The element type.")
    shape = property(attrgetter("_data.shape"), doc="The sizes of the axes.")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d array")
        size = self.shape[0]
        return operator.index(size)

    @property
    def _mask(self) -> Any:
        # NumPy's masked arrays take `_data` of whatever they meet for its elements, and then ask
        # for a mask.
        raise TypeError(
            f"{user_line()}: a masked array meets a traced or differentiated one, "
            f"which has no mask. {ADVICE['MaskedArray']}."
        )

    # --- what a traced value cannot do ------------------------------------------------------------

    def _concrete(self, asked: str, instead: str, read: bool = True) -> np.ndarray[Any, Any]:
        """The elements, which are `read`, or only where they lie; a ConcretizationError where a
        trace is to find them."""
        self._refresh()
        if isinstance(self._data, Var):
            known = of_sizes(self._data)
            if known is not None:
                return known
            raise ConcretizationError(
                f"{user_line()}: {asked} needs the value of a traced array ({self._data.type}), "
                f"which is not known while the function is traced. {instead}"
            )
        if read and STATE.traces:
            self._decides()
        if type(self._data) is DeviceArray:
            return self._data.copy_to_host()
        data: np.ndarray[Any, Any] = self._data
        return data

    def _decides(self) -> None:
        """What is recorded depends on the elements that are here now."""
        for trace in STATE.traces:
            if id(self) not in trace.made:
                trace.deciding.append(self)

    def _condition(self) -> np.ndarray[Any, Any]:
        library = inside_library() if isinstance(self._data, Var) else ""
        return self._concrete(
            "a Python condition (if, while, and, or, not, assert)",
            library
            or "Use tg.where(condition, a, b) for a choice by element, tg.cond for a branch, "
            "tg.while_loop for a loop to a condition (in which &, | and ~ stand for and, or, not), "
            "or mark the argument static with static_argnames."
            + ("" if text_is_known() else _NO_TEXT),
        )


class Array(ArrayNumbers, ArrayMethods, Boxed):
    """A boxed value with NumPy's methods: what an ndarray argument becomes while it is traced or
    differentiated."""

    __slots__ = ()
    type = Boxed.array_type
    without_axes: ClassVar[Any]
    """What shows one element and can be written into."""


class ZeroDimensional(Array):
    """What an ndarray without axes becomes: unlike a number it can be written into."""

    __slots__ = ()
    writes_numbers = True


class Tensor(TensorMethods, Differentiable, Boxed):
    """A boxed value with torch's methods.

    Called with sizes or with a list it is torch's older constructor, in the default dtype. An
    ndarray is kept as it is, memory and dtype; `tracegrad.tensor` copies, and takes any data. What
    is written to such an array is looked for where a backward pass needs what it held (0.1 ms per
    MB).

    >>> import tracegrad as tg
    >>> tg.Tensor([1, 2]), tg.Tensor(2, 3).shape
    (tensor([1., 2.]), (2, 3))
    """

    __slots__ = ()
    boxes_everything = True

    def __init__(self, data: Any = (), requires_grad: Any = False, *sizes: int) -> None:
        _fill_box(self)
        if type(data) is np.ndarray and data.dtype.char not in STRANGE:
            self._data, self._requires_grad = data, requires_grad
            if writable(data):
                self._versions = OfArray(data)
            return
        if type(data) is not np.ndarray and not isinstance(data, Var) and not is_elements(data):
            if isinstance(data, Boxed) and requires_grad is False:
                # The same memory without history, as torch has it.
                data._refresh()
                self._data, self._versions = data._data, data._version_counter
                self._borrowed = data._borrowed
                return
            rest = sizes if requires_grad is False else (requires_grad, *sizes)
            found = elements_for(data, rest)
            self._data = found._data if isinstance(found, Boxed) else np.asarray(found)
            return
        try:
            if isinstance(data, (np.ndarray, np.generic)):
                data = plain_operand(data)
            elif hasattr(data, "__array__") and type(data) is not DeviceArray:
                data = plain_operand(np.asarray(data))  # of another library
            self._data = data
            if type(data) is np.ndarray and writable(data):
                self._versions = OfArray(data)
        except REFUSED as error:
            raise named(error, "Tensor") from error.__cause__
        self._requires_grad = requires_grad


Array.face, Array.without_axes, Tensor.face = Array, ZeroDimensional, Tensor


def _box(data: Any, node: Node | None, output_nr: int) -> Any:
    value = Array(data)
    if node is not None:
        value._grad_fn, value._output_nr, value._requires_grad = node, output_nr, True
    return value


class _Faces:
    tensor = Tensor
    box = staticmethod(_box)

    def number(self, size: integers.Integer) -> Any:
        return bind(identity_op, [seen(size)])


upward.FACES = _Faces()


def raw(x: Any) -> Any:
    """The array in a box, of the host or of a device; a number as an array, but for Python's, which
    stay such numbers."""
    data = as_weak(x._data if isinstance(x, Boxed) else x)
    return data if type(data) is DeviceArray or type(data) in KINDS else np.asarray(data)


def unbox(x: Any) -> Any:
    """The plain array in a box without history or trace; anything else as it is."""
    if isinstance(x, Boxed) and not isinstance(x._data, Var):
        return x._data
    return x


def inside(x: Any, face: type[Boxed] | None = None) -> Boxed:
    """`x` boxed for the innermost trace: what comes from outside of it becomes a captured input,
    which stands on the tape where `x` does."""
    if isinstance(x, Boxed):
        if x._base is not None:
            x._refresh()
        trace = STATE.traces[-1] if STATE.traces else None
        if trace is None or (isinstance(x._data, Var) and x._data.trace is trace):
            return x
        return x._captured(trace)
    data = np.asarray(x)
    if not STATE.traces:
        return (face or Array)(data)
    trace = STATE.traces[-1]
    # A number is part of the graph, an array a captured input.
    return (face or Array)(
        trace.lift(data)
        if isinstance(x, np.ndarray)
        else trace.emit(identity_op, [data[()]], {})[0]
    )


def primal(x: Any, face: type[Boxed] = Array) -> Boxed:
    """`x` boxed to be differentiated by: as `inside`, but Python's number stays one, which raises
    no dtype."""
    if type(x) is np.ndarray and not STATE.traces and writable(x):
        # The function, or whoever calls it, may write into the array before a rule reads it.
        own = kept(x)
        box = (face if x.ndim or face is not Array else ZeroDimensional)(own)
        box._versions = OfArray(x) if own is x else None
        return box
    if type(x) not in PYTHON and type(x) not in KINDS:
        return inside(x, face)
    if not STATE.traces:
        return face(as_weak(x))
    value: Boxed = number(inside(as_python(x), face))
    return value


def followed(x: Any) -> Following | None:
    """The counter of a box that counts for itself on the memory of `x`; None where nobody writes
    into that."""
    if not isinstance(x, Boxed):
        return None
    stored = x._in_storage(x._root)
    counter = x._version_counter if stored else x._versions
    if type(counter) is Uncounted or not (stored or isinstance(counter, (OfArray, Following))):
        return None
    assert counter is not None
    return Following(counter)


def fresh_leaf(x: Any, face: type[Boxed] = Array) -> Boxed:
    """A new place on the tape with x's value. Where x has a history the new place leads to it, and
    is not the same: a derivative with respect to it must not pick up what else depends on x."""
    x = primal(x, face)
    value: Boxed = fresh(x.face_of_memory, x._data)
    if x._requires_grad and MODE.enabled:
        node = record(identity_op, [x], {}, [x._data])
        value._grad_fn, value._requires_grad = node, node is not None
    else:
        value._requires_grad = is_differentiable(x.dtype)
    value._versions = followed(x)
    value._tangents = x._tangents
    # Writes of a differentiated function must not reach the caller's memory.
    value._borrowed = True
    return value


__all__ = ["MODE", "Array", "Boxed", "Tensor", "fresh_leaf", "inside", "primal", "raw", "unbox"]
