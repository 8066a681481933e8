"""Version counters of memory: how a backward pass notices that what it reads was overwritten.

Whoever shares memory shares a counter: a tensor, its views, what was detached from it. The tape
notes the count of what it saves and compares it when it reads. Most tensors have no counter, and
most counters are ordinary lists; the others (`Looking`) do their work where `counter[0]` is read,
so that ordinary ones cost nothing. Their own count without a look is `own()`.
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
        self[0] = self.own() + 1

    def own(self) -> int:
        """The count as it stands here, without a look elsewhere."""
        return list.__getitem__(self, 0)

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
        if self[2]:
            loan.content = memory.tobytes()
        return np.asarray(loan)


class Looking(Versions):
    """Whose first count takes a look."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        return self.looked() if index == 0 else list.__getitem__(self, index)

    def looked(self) -> int:
        """The count by now."""
        raise NotImplementedError


class OfLentMemory(Looking):
    """Of memory that NumPy arrays of the user show: a change of its content since the last look
    counts as a write."""

    __slots__ = ()

    def looked(self) -> int:
        loans = [loan for loan in (reference() for reference in self.loans) if loan is not None]
        for loan in loans:
            loan.look()
        if not loans:
            self.__class__ = Versions  # type: ignore[assignment]
        return self.own()

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


class OfArray(Looking):
    """Of memory that somebody else has, who writes at any time: an array of the user's that a
    Tensor was made of, or what another library gave. A change of its content since the last look
    counts as a write."""

    __slots__ = ("array", "content")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        super().__init__((0, 0, 0))
        self.array = array
        self.content: int | None = None

    def looked(self) -> int:
        now = digest(self.array)
        if self.content is not None and now != self.content:
            self.advance()
        self.content = now
        return self.own()

    def written(self) -> None:
        self.advance()
        self.content = None

    def lend(self, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return memory.view()


class Following(Looking):
    """Of a box that counts for itself, on memory that another counter stands for: writes that this
    one counts are seen, too. Its own replace the box's memory, as those into the argument of a
    differentiated function do."""

    __slots__ = ("origin",)

    def __init__(self, origin: Versions, start: Iterable[int] = (0, 0, 0)) -> None:
        super().__init__(start)
        self.origin: Versions = origin.origin if isinstance(origin, Following) else origin
        if self[2]:
            self.origin[2] = 1

    def __setitem__(self, index: Any, value: Any) -> None:
        list.__setitem__(self, index, value)
        if index == 2:
            self.origin[2] = value

    def looked(self) -> int:
        return self.own() + self.origin[0]

    def writes(self) -> int:
        return self.own()

    def lend(self, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return self.origin.lend(memory)


def former(counter: Versions) -> Following:
    """The counter of what a box was, which got other memory: it follows the memory that it had."""
    return Following(counter, counter if isinstance(counter, Following) else (0, 0, 0))


class Aside(Following):
    """Of `tensor.data`, and of a tensor that was given other memory (`x.data = y`): it counts for
    itself, and its writes are writes into the memory all the same."""

    __slots__ = ()

    def written(self) -> None:
        super().written()
        self.origin.written()


class Uncounted(Looking):
    """Of inference tensors and their views. The tape reads the count of what it saves, and here it
    learns that it must not."""

    __slots__ = ()

    def looked(self) -> int:
        raise RuntimeError(INFERENCE_SAVED)

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
