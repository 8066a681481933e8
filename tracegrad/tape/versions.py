"""Version counters of memory: how a backward pass notices that what it reads was overwritten.

Whoever shares memory shares a counter: a tensor, its views, what was detached from it. The tape
notes the count of what it saves and compares it when it reads. Most tensors have no counter, and
most counters are ordinary; the others do their work where the count is read, so that ordinary ones
cost nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..ir.contents import digest
from ..ir.dispatch import STATE
from .mode import MODE

INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. "
    "Please do not use Tensors created in inference mode in computation tracked by autograd. "
    "To work around this, you can make a clone to get a normal tensor and use it in autograd, "
    "or use `tracegrad.no_grad()` instead of `tracegrad.inference_mode()`."
)


class Versions(list[int]):
    """[writes, changes of history, whether the tape has saved the memory]; a view follows the
    second count of its base."""

    __slots__ = ("loans",)
    loans: list[weakref.ref[Loan]]

    def written(self) -> None:
        """A write has happened."""
        self.advance()

    def advance(self) -> None:
        """Count one more, whether or not memory was written."""
        list.__setitem__(self, 0, list.__getitem__(self, 0) + 1)

    def writes(self) -> int:
        """What torch's users see as `_version`."""
        return self[0]

    def lend(self, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """An ndarray on this memory for the user. Until it and all arrays made of it are gone, its
        writes are looked for."""
        loan = Loan(self, memory)
        if type(self) is not OfLentMemory:
            self.__class__ = OfLentMemory
            self.loans = []
        self.loans = [reference for reference in self.loans if reference() is not None]
        self.loans.append(weakref.ref(loan))
        if list.__getitem__(self, 2):
            loan.content = memory.tobytes()
        return np.asarray(loan)


class OfLentMemory(Versions):
    """Of memory that NumPy arrays of the user show: a change of its content since the last look
    counts as a write."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        if index == 0:
            loans = [loan for loan in (reference() for reference in self.loans) if loan is not None]
            if loans:
                for loan in loans:
                    loan.look()
            else:
                self.__class__ = Versions  # type: ignore[assignment]
        return list.__getitem__(self, index)

    def written(self) -> None:
        self.advance()
        for reference in self.loans:
            loan = reference()
            if loan is not None:
                # A write of our own is no change by the user; whoever saves the memory next takes
                # its content anew.
                loan.content = None


class Loan:
    """The owner, as NumPy sees it, of arrays that were lent: it lives as long as one of them."""

    __slots__ = ("__weakref__", "content", "counter", "memory")

    def __init__(self, counter: Versions, memory: np.ndarray[Any, Any]) -> None:
        self.counter, self.memory = counter, memory
        self.content: bytes | None = None
        """What the tape may have saved."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.memory.__array_interface__

    def look(self) -> None:
        """Count a write if the content has changed since it was saved."""
        now = self.memory.tobytes()
        changed, self.content = self.content is not None and now != self.content, now
        if changed:
            self.counter.advance()

    def __del__(self) -> None:
        if self.content is not None:
            self.look()


class OfArray(Versions):
    """Of memory that somebody else has, who writes at any time: an array of the user's that a
    Tensor was made of, or what another library gave. A change of its content since the last look
    counts as a write."""

    __slots__ = ("array", "content")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        super().__init__((0, 0, 0))
        self.array = array
        self.content: int | None = None

    def __getitem__(self, index: Any) -> Any:
        if index == 0:
            now = digest(self.array)
            if self.content is not None and now != self.content:
                self.advance()
            self.content = now
        return list.__getitem__(self, index)

    def written(self) -> None:
        self.advance()
        self.content = None

    def lend(self, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return memory.view()


class Following(Versions):
    """Of a box that counts for itself, on memory that another counter stands for: writes that this
    one counts are seen, too. Its own replace the box's memory, as those into the argument of a
    differentiated function do."""

    __slots__ = ("origin",)

    def __init__(self, origin: Versions, start: Iterable[int] = (0, 0, 0)) -> None:
        super().__init__(start)
        self.origin: Versions = origin.origin if isinstance(origin, Following) else origin
        if list.__getitem__(self, 2):
            self.origin[2] = 1

    def __setitem__(self, index: Any, value: Any) -> None:
        list.__setitem__(self, index, value)
        if index == 2:
            self.origin[2] = value

    def __getitem__(self, index: Any) -> Any:
        own = list.__getitem__(self, index)
        return own + self.origin[0] if index == 0 else own

    def writes(self) -> int:
        return list.__getitem__(self, 0)

    def lend(self, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return self.origin.lend(memory)


def former(counter: Versions) -> Following:
    """The counter of what a box was, which got other memory: it follows the memory that it had."""
    if isinstance(counter, Following):
        return Following(counter.origin, counter)
    return Following(counter)


class Aside(Following):
    """Of `tensor.data`, and of a tensor that was given other memory (`x.data = y`): it counts for
    itself, and its writes are writes into the memory all the same."""

    __slots__ = ()

    def written(self) -> None:
        super().written()
        self.origin.written()


class Uncounted(Versions):
    """Of inference tensors and their views. The tape reads the count of what it saves, and here it
    learns that it must not."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        if index == 0:
            raise RuntimeError(INFERENCE_SAVED)
        return list.__getitem__(self, index)

    def written(self) -> None:
        pass

    def lend(self, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return memory.view()


def born(box: Any) -> Any:
    """A Tensor that was just made: in inference mode it is an inference tensor. Where recording was
    turned on again inside of that mode, as derivatives of functions do, values are ordinary."""
    if MODE.inference and not MODE.enabled and not STATE.traces:
        versions = box._versions
        if versions is None or type(versions) is OfArray:
            box._versions = Uncounted((0, 0, 0))
    return box
