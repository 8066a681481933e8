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

import numpy as np

from ..ir.dispatch import STATE
from ..ir.graph import Var
from ..tensor import Boxed
from .aliases import arrays_of, root_of
from .growing import GrownPlace
from .lists import Grown
from .places import MISSING, NUMBERS, BoxPlace, ItemPlace, StagedPlace, fields
from .queues import Queue
from .session import Session
from .tables import Tabled


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
        around = variables_of(self.functions) if self.wanted else {}
        for want in self.wanted:
            p = _shown(around, *want) if isinstance(want, tuple) else want
            if p is not None and p.key not in keys and _is_open(p):
                keys.add(p.key)
                found.append(p)
        return in_arrays(found)

    def learn(self, wanted: Sequence[StagedPlace], plan: Any) -> None:
        """Keep what was found. What belongs to an array, a list or an object is kept by a variable
        that shows it: in the next look it is another one."""
        kept: list[Any] = []
        shown = self._names()
        for p in wanted:
            owner, part = _owner_of(p)
            if id(owner) in shown:
                kept.append((type(p), shown[id(owner)], type(owner), part))
            elif not isinstance(p, (BoxPlace, GrownPlace)):
                kept.append(p)
        self.session.looks[self.key] = tuple(kept), plan

    def names(self, places: Sequence[StagedPlace]) -> list[str]:
        """What places are called in every look: an array by a variable that shows it, and not by
        the name that it has in one graph."""
        shown = self._names()
        return [
            shown.get(id(p.box), "an array") if isinstance(p, BoxPlace) else p.name for p in places
        ]

    def _names(self) -> dict[int, str]:
        """Variables that show arrays, lists and objects, by the ids of these."""
        return {
            id(root_of(value) if isinstance(value, Boxed) else value): name
            for name, values in variables_of(self.functions).items()
            for value in values
        }


def in_arrays(places: Sequence[StagedPlace]) -> list[StagedPlace]:
    """Without the items of lists that grow: what is written there is written into their arrays,
    once it is known that they grow."""
    grown = {id(p.owner) for p in places if isinstance(p, GrownPlace)}
    return [
        p
        for p in places
        if not (isinstance(p, ItemPlace) and type(p.owner) is Grown)
        or not (id(p.owner) in grown or (p.owner.stacked is not None and p.owner.stacked.open))
    ]


def _shown(
    around: dict[str, list[Any]], kind: type[StagedPlace], name: str, owner: type, part: Any
) -> StagedPlace | None:
    """The place in what a variable shows, of an owner of this class."""
    for value in around.get(name, ()):
        if kind is BoxPlace:
            root = root_of(value)
            if isinstance(root, Boxed):
                return BoxPlace(root)
        elif type(value) is owner:
            return kind(value) if part is None else kind(value, part)  # type: ignore[call-arg]
    return None


def _owner_of(p: StagedPlace) -> tuple[Any, Any]:
    """Whose place it is, and which one of it."""
    if isinstance(p, BoxPlace):
        return p.box, None
    part = getattr(p, "attribute", getattr(p, "index", None))
    return getattr(p, "owner", p), part


def variables_of(functions: Sequence[Callable[..., Any]]) -> dict[str, list[Any]]:
    """The values of the variables around functions, by their names."""
    found: dict[str, list[Any]] = {}
    for f in functions:
        if isinstance(f, FunctionType):
            for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
                with contextlib.suppress(ValueError):
                    value = cell.cell_contents
                    found.setdefault(name, []).append(value)
                    for part, inner in _parts_of(value).items():
                        found.setdefault(f"{name}.{part}", []).append(inner)
    return found


def _parts_of(value: Any) -> dict[str, Any]:
    """The arrays and lists that are changed where an object is, by their names."""
    if type(value) is Queue:
        return {"items": value.items}
    if type(value) is Tabled:
        return {"box": value.box}
    if isinstance(value, (Boxed, np.ndarray, *NUMBERS)):
        return {}
    return {k: x for k, x in (fields(value) or {}).items() if isinstance(x, (Boxed, Grown))}


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


__all__ = ["Looks", "variables_of"]
