"""Lists that grow, in a block that is run for itself since it has lengths that only a run knows."""

from __future__ import annotations

from typing import Any

from ..ir.trace import user_line
from ..tensor import Boxed
from ..transforms.tracing import leaf_type
from ..tree import flatten, unflatten
from .carried import ends_after, late_sizes
from .growing import GrownPlace
from .lists import Stacked
from .regions import Refused
from .session import Session


class Gone(Stacked):
    """What a list holds behind a block with lengths that only a run knows, in which it changed."""

    def __init__(self) -> None:
        """There is nothing to know."""

    def __getattr__(self, name: str) -> Any:
        raise Refused(
            f"{user_line()}: this list changed in a branch or loop in which it has a length that "
            "only a run knows, and is read behind that. Write into an array, and count."
        )


class InBlock:
    """What a block that is run for itself hands on of a list."""

    undefined, began = False, None

    def __init__(self, place: GrownPlace) -> None:
        self.place, self.start = place, place.get()
        self.end, self.learnt = self.start, ()
        self.around = late_sizes()

    def settle(self) -> None:
        """Nothing is learnt of it."""

    def recall(self, began: Any, learnt: Any) -> None:
        """Nothing was."""

    def initial(self) -> list[Any]:
        """Its arrays are those around the block."""
        return []

    def enter(self, given: list[Any]) -> Any:
        """The list at the start."""
        return self.start

    @property
    def gone(self) -> bool:
        """Whether it has no meaning behind the block."""
        return isinstance(self.end, Gone)

    def leave(self, value: Any, contents: dict[int, Any]) -> list[Any]:
        """The arrays at the end of the block, and how many items there are."""
        self.end = value
        if value is self.start or value is None:
            return []
        leaves, _ = flatten(value)
        before = None if self.start is None else self.start.base
        sizes = [value.most, *[n for x in leaves for n in leaf_type(x).shape]]
        sizes += [] if value.base is before else [value.base]
        if any(isinstance(n, Boxed) or not ends_after(n, self.around) for n in sizes):
            self.end = Gone()
            return []
        return leaves

    def finish(self, given: list[Any], session: Session, sure: bool) -> None:
        """Behind the block."""
        if self.end is not self.start and not self.gone and self.end is not None:
            leaves, spec = flatten(self.end)
            self.end = unflatten(spec, [given.pop(0) for _ in leaves])
        self.place.put(self.end)


__all__ = ["InBlock"]
