"""What a picture shows, before anybody knows where: boxes, arrows between them, and boxes that hold
a picture of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class DrawnBox:
    """One vertex. The first line is its title; `kind` decides its look; `inside` is a region drawn
    within it."""

    kind: str
    lines: tuple[str, ...]
    tip: str = ""
    """What a viewer shows when the pointer rests on it."""
    inside: tuple[Diagram, ...] = ()
    x: float = 0.0
    """Of the centre, once it was laid out."""
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0


@dataclass(eq=False)
class Arrow:
    """From a value's maker to its reader."""

    source: DrawnBox
    target: DrawnBox
    dashed: bool = False
    points: list[tuple[float, float]] = field(default_factory=list)
    """The way that was laid out: start, a point in each row it crosses, end."""


@dataclass(eq=False)
class Diagram:
    """Boxes in an order in which makers come before readers, and their arrows."""

    boxes: list[DrawnBox]
    arrows: list[Arrow]
    title: str = ""
    left_out: int = 0
    """How many boxes one box stands for, where there were too many."""
    width: float = 0.0
    height: float = 0.0

    def kinds(self) -> set[str]:
        """The kinds of boxes that occur, at any depth."""
        found = {box.kind for box in self.boxes}
        for box in self.boxes:
            for inner in box.inside:
                found |= inner.kinds()
        return found


def shortened(diagram: Diagram, limit: int) -> Diagram:
    """The diagram with at most about `limit` boxes: its beginning and its end, and between them one
    box for all the rest.

    What stands together in an order of makers before readers can become one box without making a
    circle.
    """
    count = len(diagram.boxes)
    if count <= limit:
        return diagram
    first = max(1, (limit - 1) // 2)
    last = max(1, limit - 1 - first)
    gone = set(diagram.boxes[first : count - last])
    rest = DrawnBox(
        "rest",
        (f"… {len(gone):,} more …",),
        tip=f"{len(gone):,} of {count:,} boxes are left out (limit={limit})",
    )
    arrows: list[Arrow] = []
    known: set[Any] = set()
    for arrow in diagram.arrows:
        source, target = (rest if box in gone else box for box in (arrow.source, arrow.target))
        folded = source is rest or target is rest
        if source is target or (folded and (source, target) in known):
            continue
        known.add((source, target))
        arrows.append(Arrow(source, target, arrow.dashed) if folded else arrow)
    boxes = [*diagram.boxes[:first], rest, *diagram.boxes[count - last :]]
    return Diagram(boxes, arrows, diagram.title, len(gone))


def lines_of(text: str, width: int) -> Sequence[str]:
    """Text of a box, cut where it is too long for one."""
    return (text,) if len(text) <= width else (text[: width - 1] + "…",)
