"""Whose memory a buffer is: some show the elements of another one in a shape of their own, and
then two names are one memory.

A view (`Buffer.of`, `Allocate.of`) shows an owner, which is no view, and is only read: who
writes, writes to the owner. Whether two accesses may meet is therefore a question about owners.
Where they meet is known only where both go by the owner's name; a view lies crosswise in its
owner, or its elements would go by that name too (`schedule/passes/memory.py: resolve_views`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .kernel import Allocate, Buffer, Program
from .traversal import within


class Owners:
    """The owners of the buffers of a mapping, which may change meanwhile."""

    def __init__(self, buffers: Mapping[str, Buffer]) -> None:
        self.buffers = buffers

    @classmethod
    def of_program(cls, program: Program) -> Owners:
        """Those of a program's buffers, and of the memory that it asks for while it runs."""
        buffers = {b.name: b for b in program.buffers}
        for phase in program.phases:
            for s in within((*phase.local, *phase.body)):
                if isinstance(s, Allocate):
                    buffers[s.name] = Buffer(s.name, s.dtype, s.shape, "local", of=s.of)
        return cls(buffers)

    def of(self, name: str) -> str:
        """The buffer in whose memory this one lies: itself, if it is no view."""
        known = self.buffers.get(name)
        return name if known is None else known.of or name

    def all(self, names: Iterable[str]) -> set[str]:
        """The owners of some buffers."""
        return {self.of(name) for name in names}

    def is_view(self, name: str) -> bool:
        return self.of(name) != name

    def views(self, name: str) -> list[str]:
        """The views of a buffer."""
        return [b.name for b in self.buffers.values() if b.of == name]

    def place(self, buffer: str, at: tuple[Any, ...]) -> tuple[str, tuple[Any, ...] | None]:
        """The owner of an element, and its place there; None where that may be any place."""
        return self.of(buffer), None if self.is_view(buffer) else at


__all__ = ["Owners"]
