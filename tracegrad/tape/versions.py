"""Version counters of memory: how a backward pass notices that what it reads was overwritten.

Whoever shares memory shares a counter: a tensor, its views, what was detached from it. The tape
notes the count of what it saves and compares it when it reads. Most tensors have no counter, and
most counters are ordinary; the others do their work where the count is read, so that ordinary ones
cost nothing.
"""

from __future__ import annotations

import weakref
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
        self[0] += 1

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
        list.__setitem__(self, 0, list.__getitem__(self, 0) + 1)
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
            list.__setitem__(self.counter, 0, list.__getitem__(self.counter, 0) + 1)

    def __del__(self) -> None:
        if self.content is not None:
            self.look()


class OfArray(Versions):
    """Of memory that is an array of the user's (`from_numpy`), which writes at any time: a change
    of its content since the last look counts as a write."""

    __slots__ = ("array", "content")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        super().__init__((0, 0, 0))
        self.array = array
        self.content: int | None = None

    def __getitem__(self, index: Any) -> Any:
        if index == 0:
            now = digest(self.array)
            if self.content is not None and now != self.content:
                list.__setitem__(self, 0, list.__getitem__(self, 0) + 1)
            self.content = now
        return list.__getitem__(self, index)

    def written(self) -> None:
        list.__setitem__(self, 0, list.__getitem__(self, 0) + 1)
        self.content = None

    def lend(self, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return memory.view()


class Aside(Versions):
    """Of `tensor.data`: it counts from 0, and its writes are writes into the tensor's memory all
    the same."""

    __slots__ = ("origin",)

    def __init__(self, origin: Versions) -> None:
        super().__init__((0, 0, 0))
        self.origin = origin

    def written(self) -> None:
        super().written()
        self.origin.written()

    def lend(self, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return self.origin.lend(memory)


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
    if MODE.inference and not MODE.enabled and not STATE.traces and box._versions is None:
        box._versions = Uncounted((0, 0, 0))
    return box
