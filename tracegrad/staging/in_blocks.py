"""Lists that grow, in a block that is run for itself since it has lengths that only a run knows."""

from __future__ import annotations

from typing import Any

from ..control.lengths import Outlived
from ..ir.trace import user_line
from ..tensor import Boxed
from ..transforms.tracing import leaf_type
from ..tree import flatten, unflatten
from .carried import ends_after, late_sizes
from .growing import GrownPlace
from .lists import Stacked
from .regions import bodies_around
from .session import Restart, Session

KNOWN = frozenset(("form", "arrays", "base", "added", "seen", "off", "counted", "most"))
"""What is known of other lists."""


class Gone(Stacked):
    """What a list holds behind a block with lengths that only a run knows, in which it changed."""

    def __init__(self) -> None:
        self.cut: Any = None
        """The code and the line from which on the block was cut."""

    def contents(self) -> list[Any]:
        """Nothing to look at."""
        return []

    def __getattr__(self, name: str) -> Any:
        if name not in KNOWN:
            raise AttributeError(name)
        raise ReadBehind(
            f"{user_line()}: this list changed in a block in which it has a length that only a run "
            "knows, and is read behind that. Write into an array, and count.",
            self.cut,
        )


class ReadBehind(Outlived):
    """A list is read behind the block that was cut where it got a length that only a run knows."""

    def __init__(self, text: str, cut: Any) -> None:
        super().__init__(text)
        self.cut = cut


class InBlock:
    """What a block that is run for itself hands on of a list."""

    undefined, began = False, None

    def __init__(self, place: GrownPlace, session: Session) -> None:
        self.place, self.start, self.session = place, place.get(), session
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
        if value is self.start or value is None or self.gone:
            return []
        leaves, _ = flatten(value)
        before = None if self.start is None else self.start.base
        sizes = [value.most, *[n for x in leaves for n in leaf_type(x).shape]]
        sizes += [] if value.base is before else [value.base]
        if any(isinstance(n, Boxed) or not ends_after(n, self.around) for n in sizes):
            self._ask_for_room()
            self.end = Gone()
            return []
        return leaves

    def _ask_for_room(self) -> None:
        """Let the outermost branch in which the list grows be run with more rows."""
        bodies = [self.session.regions[k] for k in bodies_around(self.session, self.place.owner)]
        line = next((b.line for b in bodies if b.branch), None)
        if line is not None and line not in self.session.roomy:
            self.session.roomy.add(line)
            raise Restart

    def finish(self, given: list[Any], session: Session, sure: bool) -> None:
        """Behind the block."""
        if self.end is not self.start and not self.gone and self.end is not None:
            leaves, spec = flatten(self.end)
            self.end = unflatten(spec, [given.pop(0) for _ in leaves])
        self.place.put(self.end)


__all__ = ["InBlock"]
