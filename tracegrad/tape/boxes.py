"""Boxes made without a call of their class, which is for users: what a user gives it is memory that
the user may write to, and what is made here is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

BOX: dict[str, Any] = {
    "_requires_grad": False,
    "_grad_fn": None,
    "_output_nr": 0,
    "_tangents": None,
    "_base": None,
    "_view": (),
    "_versions": None,
    "_seen": 0,
    "_past": None,
    "_order": 0,
    "_accumulate": None,
    "_grad": None,
    "_hooks": None,
    "_borrowed": False,
}
"""The slots of a box beside its data, and what a fresh one has in them."""


def _maker() -> Callable[[type, Any], Any]:
    space: dict[str, Any] = {"new": object.__new__}
    lines = [
        "def fresh(face, data):",
        "    box = new(face)",
        "    box._data = data",
        *blank("box", BOX),
        "    return box",
    ]
    exec(compile("\n".join(lines), __file__, "exec"), space)
    made: Callable[[type, Any], Any] = space["fresh"]
    return made


def blank(name: str, slots: dict[str, Any]) -> list[str]:
    """The statements that give an object what these slots hold."""
    return [f"    {name}.{slot} = {value!r}" for slot, value in slots.items()]


fresh = _maker()
"""`fresh(face, data)`: a box of an ndarray, without history, in a third of the time that the class
takes when it is called."""

__all__ = ["BOX", "blank", "fresh"]
