"""Where an operation meets its operands: `bind` picks the interpreter.

Plain arrays and scalars are evaluated by NumPy at once. As soon as one operand is a `Value` (an
array that is traced, on the tape or dual), its class decides; that class stands two layers higher
(tensor.py), so it is reached through a method, not an import.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..checks import REFUSED, called, describe, explained_here, fault_of_array
from ..errors import DTypeError
from ..types import type_of
from ..weak import WEAK
from .operands import PLAIN, plain_operand

if TYPE_CHECKING:
    from .aside import AsideTrace
    from .op import Op
    from .trace import Trace


class Value:
    """A boxed array. `_data` is an ndarray, or a `Var` of an open trace; what else is declared
    here, its classes in `faces` have."""

    __slots__ = ()
    _data: Any
    _base: Any
    _tangents: Any
    _grad_fn: Any
    _output_nr: int
    _requires_grad: bool
    _versions: Any
    _refresh: Callable[[], None]
    _viewed: Callable[..., Any]
    _update: Callable[..., Any]
    _end: Callable[[], Any]
    _captured: Callable[..., Any]
    _alias: Callable[[], Any]
    _kept: Callable[[], Any]
    _borrowed: bool
    _in_storage: Callable[..., bool]
    _decides: Callable[[], None]
    detach: Callable[[], Any]
    tolist: Callable[[], Any]
    dtype: Any
    shape: Any
    ndim: Any
    array_type: Any
    boxes_everything: ClassVar[bool]
    writes_numbers: ClassVar[bool] = False
    """Whether `+=` writes into one without axes, as into an ndarray that was given."""
    face: ClassVar[Any]
    """The class of results: of operations on a subclass of Tensor, Tensor."""

    @property
    def _root(self) -> Any:
        """The box whose memory this one shows: the base of a view, else itself."""
        return self if self._base is None else self._base

    def _bind(self, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _on_tape(self) -> bool:
        raise NotImplementedError


def data_of(x: Any) -> Any:
    """The array or variable in a box, as it is now; anything else as it is."""
    if not isinstance(x, Value):
        return x
    if x._base is not None:
        x._refresh()
    return x._data


SPECIAL: set[int] = set()
"""The threads in which `STATE.special` is not 0: while the set is empty, which is quick to see, no
thread need look at its state."""


def current(*values: Any) -> None:
    """Bring views among these values up to date with what was written into their bases: call it
    before their data, history or tangents are read."""
    for x in values:
        if isinstance(x, Value) and x._base is not None:
            x._refresh()


class State(threading.local):
    """What is per thread: the open traces, innermost last."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []
        self.levels: tuple[int, ...] = ()
        """The open levels of forward mode that were opened inside the innermost trace."""
        self.asides: tuple[AsideTrace, ...] = ()
        """The open traces beside what runs."""
        self._special = 0
        self.created: list[Callable[[Any], None]] = []
        """Who is told of each new node of the tape (each counts in `special`, too)."""
        self.recorder: Any = None
        """The log of a profile that is open in this thread."""

    def _set_special(self, count: int) -> None:
        # An interrupt may come between the lines: a thread that is noted in vain only looks at its
        # state.
        if count:
            SPECIAL.add(threading.get_ident())
        self._special = count
        if not count:
            SPECIAL.discard(threading.get_ident())

    special = property(attrgetter("_special"), _set_special)
    """How many modes are open in which an operation is more than its value and a node: each counts
    itself while it is open (traces, levels of forward mode, hooks of saved tensors, anomaly
    detection, profiling, inference). Where it is 0, shorter ways may be taken."""


STATE = State()
PROFILES: list[Any] = []
"""The open profiles of all threads: while it is empty, which is quick to see, nothing is logged."""
NO_PARAMS: dict[str, Any] = {}


def bind(op: Op, inputs: Sequence[Any], params: dict[str, Any] = NO_PARAMS) -> Any:
    """Apply `op`; returns one value, or a tuple for an operation with several (or a variable number
    of) outputs."""
    odd = False
    for x in inputs:
        if type(x) not in PLAIN:
            if isinstance(x, Value):
                return (
                    x._bind(op, inputs, params) if op.eager is None else op.eager(*inputs, params)
                )
            # Half precision stands beside other floats as in NumPy.
            odd = odd or not (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc")
            if isinstance(x, np.ndarray):
                try:
                    inputs = [plain_operand(y) for y in inputs]
                except REFUSED as error:
                    raise explained_here(error, op.name) from error.__cause__
    if SPECIAL and STATE.traces:
        # Inside a trace everything is recorded: what is built from scalars or captured arrays must
        # be fresh at every call.
        made = NotImplemented if op.composed is None else op.composed(*inputs, **params)
        return STATE.traces[-1].boxed(op, inputs, params) if made is NotImplemented else made
    try:
        result = logged(op, inputs, params) if PROFILES else op.evaluate(*inputs, **params)
    except REFUSED as error:
        better = explained(op, inputs, params)
        if better is None:
            raise
        raise better from error
    if odd:
        # NumPy makes arrays of anything.
        wrong = no_operand(op, inputs)
        if wrong is not None:
            raise wrong
    if type(result) is np.ndarray:
        return result if result.shape else result[()]
    return tuple([scalar(r) for r in result]) if op.outputs != 1 else result


def logged(op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
    """The operation's value; an entry of the log, if a profile is open in this thread."""
    if STATE.recorder is None:
        return op.evaluate(*inputs, **params)
    return STATE.recorder.applied(op, inputs, lambda: op.evaluate(*inputs, **params))


def scalar(x: Any) -> Any:
    """A result as NumPy gives it: a scalar in place of a 0-d array."""
    return x[()] if type(x) is np.ndarray and not x.shape else x


def explained(op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Exception | None:
    """Where NumPy refused the operands: the error that says which operand is none, or what the type
    rule says of them."""
    wrong = no_operand(op, inputs)
    if wrong is not None:
        return wrong
    try:
        op.infer(*[Operand(x) for x in inputs], **params)
    except (ValueError, TypeError, IndexError) as error:
        return explained_here(error, op.name)
    return None


def no_operand(op: Op, inputs: Sequence[Any]) -> TypeError | None:
    """The error that says which operand is none, if one is not."""
    for name, x in zip(op.inputs * len(inputs) if op.variadic else op.inputs, inputs, strict=False):
        why = "" if isinstance(x, Value) else fault_of_array(x)
        if why:
            known = called()
            kind = DTypeError if isinstance(getattr(x, "dtype", None), np.dtype) else TypeError
            return kind(
                f"{known[0] if known else op.name}: {name} is {describe(x)}{why.rstrip()}; "
                "it must be an array, a Tensor or a number"
            )
    return None


class Operand:
    """A concrete operand as type rules see one."""

    __slots__ = ("type", "value", "weak")

    def __init__(self, value: Any) -> None:
        from_array = getattr(value, "dtype", None) is not None and not isinstance(value, WEAK)
        self.value = value
        self.type = type_of(value)
        self.weak = not from_array and not isinstance(value, (list, tuple))
