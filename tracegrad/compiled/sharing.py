"""Which of the things around a traced function are one object, or show one memory. Its graph is
made for that: it holds for the calls where it is as it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import TracegradError
from ..ir.contents import share
from ..ir.trace import WRITTEN_APART
from ..surroundings.places import Fact, Place
from ..tensor import Boxed
from ..transforms.tracing import Change
from ..types import show
from .overlaps import may_meet, memory_of

Changes = Sequence[tuple[Change, Any]]


def written_boxes(changes: Changes) -> list[Any]:
    """Of what a call changes, the boxes from outside into whose memory it writes."""
    return [
        box
        for change, box in changes
        if change.what in ("data", "grad data") and not isinstance(change.target, int)
    ]


def one_object(
    facts: Sequence[Fact],
    captures: Sequence[Any],
    places: Sequence[Place | None],
    others: Sequence[tuple[Any, Place | None]],
) -> Iterator[Fact]:
    """That what was captured, or is written or stored (`others`), is found at other places, too,
    which code names: it is read at one of them, for all."""
    captured = list(zip(captures, places, strict=True))
    where: dict[int, Place | None] = {}
    for x, place in (*captured, *others):
        taken = where.setdefault(id(x), place)
        if taken is not place and taken is not None and place is not None:
            yield place.same(taken), True
    memory = {id(x._data): x for x in captures if isinstance(x, Boxed)}
    own = {id(x) for x in captures}
    for place, x in facts:
        if (taken := where.get(id(x))) is not None and place is not taken:
            yield place.same(taken), True
        if isinstance(x, Boxed) and id(x) not in own and id(x._data) in memory:
            # Both are read as the one that was captured: neither may become another.
            one = memory[id(x._data)]
            yield place, x
            if (taken := where[id(one)]) is not None:
                yield taken, one


def beside_written(
    name: str,
    changes: Changes,
    facts: Sequence[Fact],
    captures: Sequence[Any],
    places: Sequence[Place | None],
) -> tuple[tuple[int, ...], list[Fact]]:
    """The numbers of the captured values that show nothing of what the call writes outside; and, of
    those which do, that they are the objects that they were.

    A TracegradError where NumPy read memory while tracing that the function writes at each call.
    """
    changed = [(c, place, _box(c)) for c, place in changes]
    boxes = written_boxes([(c, box) for c, _, box in changed])
    if not boxes:
        return (), []
    own, taken = {id(box) for box in boxes}, {id(x) for x in captures}
    for place, x in facts:
        if type(x) is np.ndarray and id(x) not in taken:
            for box in boxes:
                if share(x, box._data):
                    who = f"{name}, which reads {place.path},"
                    raise TracegradError(WRITTEN_APART.format(name=who, shape=show(box.shape)))
    others = [k for k, x in enumerate(captures) if id(x) not in own]
    memory = memory_of([*boxes, *[captures[k] for k in others]])
    written, read = memory[: len(boxes)], memory[len(boxes) :]
    if not may_meet(written, read):
        return tuple(others), []
    roots = {id(box._root) for box in boxes}
    shown = {
        k
        for k, data in zip(others, read, strict=True)
        if id(getattr(captures[k], "_root", None)) in roots
        or any(share(data, other) for other in written)
    }
    beside = tuple([k for k in others if k not in shown])
    if not shown:
        return beside, []
    fixed = [(places[k], captures[k]) for k in shown]
    fixed += [(place, c.target) for c, place, _ in changed]
    return beside, [(place, x) for place, x in fixed if place is not None]


def _box(change: Change) -> Any:
    """The box that a change writes; of a change of an argument its number."""
    target: Any = change.target
    return target._grad if change.what == "grad data" and not isinstance(target, int) else target
