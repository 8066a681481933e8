"""What was found out about a branch or a loop in an earlier look at it: a statement in others is
looked at as often as these are, and should learn its places and types once.

A statement of a helper function is another one for each call of the helper: its arrays may have
other dtypes and shapes there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..ir.dispatch import STATE
from ..ir.graph import Var
from ..tensor import Boxed
from .aliases import arrays_of, root_of
from .growing import GrownPlace
from .lists import Grown
from .places import MISSING, BoxPlace, StagedPlace
from .queues import Queue
from .session import Session


class Looks:
    """What is known of one statement: of the n-th that its line opens in one look at the body
    around it."""

    def __init__(
        self, session: Session, line: str, functions: Sequence[Callable[..., Any]]
    ) -> None:
        codes = tuple([getattr(f, "__code__", None) for f in functions])
        path, opened = session.around()
        number = opened[line, codes] = opened.get((line, codes), 0) + 1
        self.key = *path, (line, codes, number)
        self.functions, self.session = functions, session
        self.recall()

    def recall(self) -> None:
        """Begin with what is known now."""
        self.wanted, self.plan = self.session.looks.get(self.key, ((), None))

    def places(self, given: Sequence[StagedPlace]) -> list[StagedPlace]:
        """The places that the statement was found to change besides the given ones."""
        keys = {p.key for p in given}
        found: list[StagedPlace] = []
        for want in self.wanted:
            p = self._shown(*want) if isinstance(want, tuple) else want
            if p is not None and p.key not in keys and _is_open(p):
                keys.add(p.key)
                found.append(p)
        return found

    def _shown(self, kind: type[StagedPlace], name: str) -> StagedPlace | None:
        """The array or list that a variable shows."""
        for value in _variables(self.functions).get(name, ()):
            if kind is GrownPlace:
                return GrownPlace(value) if type(value) is Grown else None
            root = root_of(value)
            if isinstance(root, Boxed):
                return BoxPlace(root)
        return None

    def learn(self, wanted: Sequence[StagedPlace], plan: Any) -> None:
        """Keep what was found. An array or a list is kept by a variable that shows it: in the next
        look it is another one."""
        kept: list[Any] = []
        shown = {
            id(root_of(x)): name
            for name, values in _variables(self.functions).items()
            for value in values
            for x in arrays_of(value)[:1]
            if x is value
        }
        shown |= {
            id(value): name
            for name, values in _variables(self.functions).items()
            for value in values
            if type(value) is Grown
        }
        for p in wanted:
            if not isinstance(p, (BoxPlace, GrownPlace)):
                kept.append(p)
                continue
            owner = p.box if isinstance(p, BoxPlace) else p.owner
            if id(owner) in shown:
                kept.append((type(p), shown[id(owner)]))
        self.session.looks[self.key] = tuple(kept), plan


def _variables(functions: Sequence[Callable[..., Any]]) -> dict[str, list[Any]]:
    """The values of the variables around functions, by their names."""
    found: dict[str, list[Any]] = {}
    for f in functions:
        if isinstance(f, FunctionType):
            for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
                with contextlib.suppress(ValueError):
                    value = cell.cell_contents
                    found.setdefault(name, []).append(value)
                    if type(value) is Queue:
                        found.setdefault(f"{name}.items", []).append(value.items)
    return found


def _is_open(p: StagedPlace) -> bool:
    """Whether what a place holds is no value of a look that is over."""
    value = p.box if isinstance(p, BoxPlace) else p.get()
    if value is MISSING or isinstance(p, GrownPlace):
        return True
    arrays = [value] if isinstance(value, Boxed) else arrays_of(value)
    return all(
        type(x._data) is not Var or x._data.trace in STATE.traces
        for x in arrays
        if isinstance(x, Boxed)
    )


__all__ = ["Looks"]
