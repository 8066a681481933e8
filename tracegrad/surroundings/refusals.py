"""What cannot be done with what a traced function changes around it, said with the line that does
it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import TracegradError
from ..faces.write_checks import READ_ONLY_VIEW
from ..holders import GroupHolder
from .mutators import written_at
from .places import ITEM
from .reach import Reach

if TYPE_CHECKING:
    from .variables import Slot, Variables

_OUT = (
    "Make it a 0-d Tensor (tracegrad.tensor(0), which a compiled function reads and writes "
    "at each call), pass it as an argument and return the new value, name it in static_argnames, "
    "or change it outside of the compiled function."
)

RANDOM = "Use tg.Generator, or draw outside and pass the numbers as an argument."
ELEMENTS = (
    "Make it a Tensor (tracegrad.tensor(x)), which a compiled function writes at each call, "
    "or return the new array."
)
LIST = "Return what is to be kept, and keep it outside of the compiled function."


class Refusals:
    """What `Watch` says where it refuses."""

    name: str
    reach: Reach
    slots: list[Slot]

    def _refuse(self, path: str, v: Variables, key: Any, why: str) -> NoReturn:
        raise TracegradError(
            f"{self._written_at(key, v.code)}: jit: {self.name} changes {path}, "
            f"which cannot be carried out at each call: {why}. {_OUT}"
        )

    def _refuse_group(self, v: Variables, key: Any) -> None:
        if isinstance(v.node.value, GroupHolder):
            self._refuse(
                v.place(key).path,
                v,
                key,
                "the options of an optimizer, as a scheduler sets them, are read when a step "
                "is traced; step the scheduler between the calls",
            )

    def refusal(self, error: Exception, tried: Sequence[Slot]) -> TracegradError:
        """The error of a function that needs the value of what it changes."""
        paths = [s.variables.place(s.key).path for s in tried]
        where = self._written_at(tried[0].key, "" if tried[0].grows else tried[0].variables.code)
        return TracegradError(
            f"{where}: jit: {self.name} changes {' and '.join(paths)} at each call, "
            f"and asks for what it is now: {error} " + (LIST if tried[0].grows else _OUT)
        )

    def locked(self, error: ValueError) -> TracegradError | None:
        """The error of a write into an array that is locked while the function runs; None of any
        other ValueError."""
        if "read-only" not in str(error) or READ_ONLY_VIEW in str(error):
            return None
        paths = " or ".join(
            [*[node.path for node in self.reach.arrays], "a Tensor by its numpy()"][:5]
        )
        return TracegradError(
            f"{self._written_at(None, ITEM)}: jit: {self.name} changes the elements of {paths}, "
            f"which happens once, while the function is traced, and not at each call. {ELEMENTS}"
        )

    def drawn_at(self) -> str:
        """The line that draws random numbers."""
        return self._written_at(None, "draws")

    def unbounded(self, node: str) -> TracegradError:
        """The error of arithmetic that leaves the integers of arrays, where Python's go on."""
        paths = [s.variables.place(s.key).path for s in self.slots]
        return TracegradError(
            f"jit: {self.name} computes with the integers {' and '.join(paths)}, which it "
            f"changes at each call, and {node} may leave 64 bits, where Python's integers go on. "
            f"Make it a float. {_OUT}"
        )

    def _written_at(self, key: Any, code: str) -> str:
        """The line that writes: the first in the code that may run which binds this name, or calls
        a method that changes a container."""
        return written_at(self.reach.codes, key, code)
