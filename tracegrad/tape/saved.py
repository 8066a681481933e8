"""What a node saves for its rules: how it is read back and checked, and hooks that keep something
else in its place."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._codegen import addresses
from ..autograd.anomaly_mode import ANOMALY
from ..devices import DeviceArray, to_host
from ..ir import upward
from ..ir.aside import keep_captured
from ..ir.contents import owner
from ..ir.dispatch import STATE, Value
from ..ir.graph import Var
from ..ir.trace import outside
from ..types import show
from .boxes import fresh
from .copies import replaced
from .hooks import boxed
from .lent import Lent
from .mode import MODE, RECORDING, RECORDS, OfTask
from .versions import Following

Saved: TypeAlias = tuple[Any, Any, int]
"""A value kept for a rule: its box (None where it has none, or is a result of the node itself; a
`Packed` where a hook took it; a `Lent` for a large array of the user's), its data, and the version
that the box had (of a result: which one it is)."""

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through "
    "the graph a second time or if you need to access saved tensors after calling backward."
)
MODIFYING = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
    "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
    "Pack a modified copy of it instead."
)
Pair: TypeAlias = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""A pack hook and its unpack hook."""


class _Saving(threading.local):
    """The open pairs of hooks of this task, innermost last, or why there may be none."""

    pairs = OfTask[tuple[Pair, ...]](())
    refused = OfTask[str | None](None)

    def __init__(self) -> None:
        self.watched: Callable[[Any], None] | None = None
        """Who wants to see the operands of recorded operations that nothing computed on the
        tape."""
        self.mutable: Mutations | None = None


SAVING = _Saving()


# --- reading --------------------------------------------------------------------------------------


def unpack(saved: Saved, create_graph: bool) -> Any:
    """What a rule reads: raw data when nothing is recorded, else the boxed value with its
    history."""
    box, data, version = saved
    if box is None:
        return data
    if isinstance(box, Packed):
        return box.opened(create_graph, box.edge)
    if isinstance(box, Lent):
        return box.opened()
    boxed: Any = box
    if boxed._base is not None:
        # A view whose base was written to since must not be taken for what it was when it was
        # saved.
        boxed._refresh()
    replaced = boxed._data is not data
    value = boxed._past_with(data) if replaced else boxed
    counter = value._versions
    # What was replaced holds what it held, except on memory that others write.
    if not replaced or type(counter) is Following:
        now = 0 if counter is None else counter[0]
        if now != version and isinstance(data, (np.ndarray, DeviceArray)):
            producer, nr = (value._grad_fn, value._output_nr) if value._requires_grad else (None, 0)
            raise RuntimeError(modified(data, producer, nr, now, version))
    if create_graph:
        return value
    # Tangents count also where their level stands outside of the innermost trace: that captures the
    # value with them.
    if value._tangents:
        return value._untracked()
    return upward.FACES.box(data, None, 0) if isinstance(data, Var) or STATE.traces else data


def unpack_result(node: Any, saved: Saved, create_graph: bool) -> Any:
    """What a rule reads of a result of its own operation."""
    box, data, nr = saved
    if isinstance(box, Packed):
        return box.opened(create_graph, (node, nr))
    if box is not None:
        return unpack(saved, create_graph)
    if (
        node.counters is not None
        and node.counters[nr][0]
        and isinstance(data, (np.ndarray, DeviceArray))
    ):
        raise RuntimeError(modified(data, node, nr, node.counters[nr][0], 0))
    if not create_graph and not isinstance(data, Var):
        return data
    value = upward.FACES.box(data, node if create_graph else None, nr)
    if node.counters is not None:
        # What is recorded with it notices later writes to the result, too.
        value._versions = node.counters[nr]
    return value


KINDS = {
    "float64": "DoubleTensor",
    "float32": "FloatTensor",
    "complex128": "ComplexDoubleTensor",
    "complex64": "ComplexFloatTensor",
    "int64": "LongTensor",
    "int32": "IntTensor",
    "int16": "ShortTensor",
    "int8": "CharTensor",
    "uint8": "ByteTensor",
    "bool": "BoolTensor",
}
"""What torch calls tensors of these dtypes in messages."""
HINT = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
    "with tracegrad.autograd.set_detect_anomaly(True); or use an out-of-place operation, "
    "or clone the tensor before it is modified."
)
HINT_IN_ANOMALY_MODE = (
    "Hint: the backtrace further above shows the operation that failed to compute its gradient. "
    "The variable in question was changed in there or anywhere later. Good luck!"
)


def modified(data: Any, producer: Any, nr: int, version: int, expected: int) -> str:
    """The message about a saved value that was overwritten."""
    source = "" if producer is None else f", which is output {nr} of {producer.name()},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [tracegrad.{KINDS.get(data.dtype.name, 'Tensor')} {list(data.shape)}]{source} "
        f"is at version {version}; expected version {expected} instead. "
        f"{HINT_IN_ANOMALY_MODE if ANOMALY.enabled else HINT}"
    )


# --- hooks ----------------------------------------------------------------------------------------


class Packed:
    """What a pack hook made of a saved value, and how to get the value back. It stands in the place
    of the value's box."""

    __slots__ = ("content", "counter", "dtype", "edge", "hook", "shape")
    # No data of a node is this, so that whoever compares takes the way over `unpack`.
    _data = None
    _base = None
    _tangents = None
    _versions = None

    def __init__(
        self, content: Any, hook: Callable[[Any], Any], data: Any, edge: Any, counter: Any
    ) -> None:
        self.content, self.hook, self.edge = content, hook, edge
        self.counter = counter
        """Of the tensor that the hook was given."""
        self.dtype, self.shape = data.dtype, data.shape

    def opened(self, create_graph: bool, edge: Any) -> Any:
        """The value, with its place on the tape where that is wanted."""
        # It was packed as running code, and is unpacked as such also where a trace looks at it (a
        # batched sweep).
        with outside():
            value = _unhooked(self.hook, self.content)
        if not isinstance(value, Value):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(value).__name__}"
            )
        found: Any = value
        if tuple(found.shape) != self.shape:
            raise RuntimeError(
                f"the saved tensor unpack_hook returned a Tensor of shape {show(found.shape)} "
                f"in place of one of shape {show(self.shape)}"
            )
        data = found._data
        data = (
            data
            if isinstance(data, DeviceArray) and data.dtype == self.dtype
            else np.asarray(to_host(data), self.dtype)
        )
        if not create_graph:
            return upward.FACES.box(data, None, 0) if STATE.traces else data
        box = upward.FACES.tensor(data)
        if edge is not None:
            (box._grad_fn, box._output_nr), box._requires_grad = edge, True
        return box


def _unhooked(hook: Callable[[Any], Any], given: Any) -> Any:
    """Hooks run outside of what is recorded, and are not called for what they do themselves."""
    recording, pairs = RECORDS(), SAVING.pairs
    try:
        MODE.enabled, SAVING.pairs = False, ()
        return hook(given)
    finally:
        RECORDING.set(recording)
        SAVING.pairs = pairs


def packed(saved: Saved, pair: Pair) -> Saved:
    """A saved value after the pack hook. A result of the node itself is packed without its place on
    the tape, which would make a cycle; numbers and traced values stay as they are."""
    box, data, nr = saved
    if not isinstance(data, (np.ndarray, DeviceArray)) or isinstance(box, Packed):
        return saved
    edge = None
    if box is None or isinstance(box, Lent):
        tensor = fresh(upward.FACES.tensor, data)
    else:
        # The box itself only where what it holds stays in its memory; others may hold something
        # else tomorrow.
        tensor = boxed(upward.FACES.tensor, box._alias()) if replaced(box) else box
        edge = box._edge() if box._requires_grad else None
    pack, unpack = pair
    before = tensor._version_counter[0]
    content = _unhooked(pack, tensor)
    if tensor._version_counter[0] != before:
        raise RuntimeError(MODIFYING)
    return Packed(content, unpack, data, edge, tensor._version_counter), PACKED, nr


PACKED = object()
"""The data of what was packed."""


def pack_all(node: Any) -> None:
    """Let the innermost pair of hooks take what a node has saved."""
    if SAVING.pairs and not STATE.traces and node.saved:
        node.saved = [packed(one, SAVING.pairs[-1]) for one in node.saved]


def _refuse_hooks() -> None:
    if SAVING.refused is not None:
        raise RuntimeError(SAVING.refused)


class saved_tensors_hooks:
    """Inside, `pack_hook(tensor)` is called for each tensor that an operation saves for its
    backward pass, and what it returns is kept; `unpack_hook` gets that when the tensor is needed,
    and must return a tensor with the same numbers.

    Only the innermost pair is called. Numbers and what a compiled function keeps inside are not
    packed; a compiled function then computes what it needs anew. Tensors that go through hooks are
    not checked for in-place changes.

    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> listed = lambda t: t.detach().numpy().tolist()
    >>> with tg.autograd.graph.saved_tensors_hooks(listed, tg.tensor):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError(
                    f"saved_tensors_hooks takes two functions, not {type(hook).__name__}"
                )
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> Any:
        _refuse_hooks()
        special, pairs = STATE.special, SAVING.pairs
        try:
            STATE.special = special + 1
            SAVING.pairs = *pairs, (self.pack_hook, self.unpack_hook)
        except BaseException:  # Ctrl-C: the block is not entered, nor left
            SAVING.pairs, STATE.special = pairs, special
            raise

    def __exit__(self, *exception: object) -> None:
        try:
            SAVING.pairs = SAVING.pairs[:-1]
        finally:
            STATE.special -= 1


class save_on_cpu(saved_tensors_hooks):
    """Keep what operations save in the host's memory, copied there and back, where later writes do
    not reach it. The arguments are taken for compatibility.

    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> with tg.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(
            lambda t: (t.device, t.detach().cpu() if t.is_cuda else t.detach().clone()),
            lambda kept: kept[1].to(device=kept[0]),
        )


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, opening saved-tensor hooks is an error with this message; so is entering while some
    are open.

    >>> import tracegrad as tg
    >>> with tg.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with tg.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: not here
    """
    if SAVING.pairs:
        raise RuntimeError(error_message)
    before, SAVING.refused = SAVING.refused, error_message
    try:
        yield
    finally:
        SAVING.refused = before


# --- writes to what is saved ----------------------------------------------------------------------


class _Handle:
    """Stands for a value that was saved while writes to it are allowed."""

    __slots__ = ("__weakref__",)


class Mutations:
    """What was saved while writes to it are allowed. All who save the same memory share a handle
    until that is written to."""

    def __init__(self) -> None:
        self.original: weakref.WeakKeyDictionary[_Handle, Any] = weakref.WeakKeyDictionary()
        self.cloned: weakref.WeakKeyDictionary[_Handle, Any] = weakref.WeakKeyDictionary()
        self.handles: dict[int, weakref.WeakValueDictionary[Any, _Handle]] = {}
        """By the memory in which the values lie, and by which part of it they are."""
        self.open = True

    def pack(self, tensor: Any) -> _Handle:
        data = tensor._data
        known = self.handles.setdefault(id(owner(data)), weakref.WeakValueDictionary())
        plain = isinstance(data, np.ndarray)
        where = addresses.address_of(data) if plain else id(data)
        part = (where, data.shape, data.strides, data.dtype) if plain else where
        handle = known.get(part)
        if handle is None:
            handle = known[part] = _Handle()
            self.original[handle] = data
        return handle

    def unpack(self, handle: _Handle) -> Any:
        if not self.open:
            raise RuntimeError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context "
                "in which the graph was originally recorded."
            )
        return upward.FACES.tensor(
            self.cloned[handle] if handle in self.cloned else self.original[handle]
        )

    def before_write(self, data: Any) -> None:
        for handle in list(self.handles.pop(id(owner(data)), {}).values()):
            self.cloned[handle] = self.original.pop(handle).copy()

    def close(self) -> None:
        self.open = False
        self.handles.clear()
        self.original.clear()
        self.cloned.clear()


def before_write(data: Any) -> None:
    """Called when the memory of a tensor is about to change while special modes are open."""
    if isinstance(data, Var):
        return
    keep_captured(data)
    if SAVING.mutable is not None:
        SAVING.mutable.before_write(data)


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[Mutations]:
    """Inside, tensors that were saved may be changed in place: what was saved is copied before. The
    backward pass belongs inside too.

    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> with tg.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x * 1
    ...     z = (y * y).sum()
    ...     y = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if SAVING.mutable is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    found = Mutations()
    with saved_tensors_hooks(found.pack, found.unpack):
        SAVING.mutable = found
        try:
            yield found
        finally:
            SAVING.mutable = None
            found.close()


__all__: Sequence[str] = [
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "save_on_cpu",
    "saved_tensors_hooks",
]
