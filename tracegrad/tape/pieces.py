"""The pieces of recording that both ways have, written once: as text for operations and rules that
are written out (`eager_text`, `rule_text`), and as functions, made of the same text, for those that
are interpreted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

NOTHING: dict[int, Any] = {}
"""The past of a box that was saved and not replaced yet."""


def mark(box: Any) -> None:
    """Note that the tape has saved this box, for writes that replace its data and for those who
    share its memory."""
    box._past = NOTHING
    if box._versions is not None:
        box._versions[2] = 1


class Piece:
    """Statements that give `r` from variables; `mark` is known to them."""

    def __init__(self, given: Sequence[str], *lines: str) -> None:
        self.given, self.text = given, lines

    def lines(self, result: str, *given: str) -> list[str]:
        """The statements with these variables."""
        names = dict(zip(self.given, given, strict=True), r=result)
        return [line.format(**names) for line in self.text]

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the variables that returns `r`."""
        lines = [f"    {line}" for line in self.lines("r", *self.given)]
        head = f"def {name}({', '.join(self.given)}):"
        space: dict[str, Any] = {"mark": mark}
        exec(
            compile("\n".join([head, *lines, "    return r"]), f"{__file__}: {name}", "exec"), space
        )
        made: Callable[..., Any] = space[name]
        return made


END = Piece(
    ["x"],
    "{r} = {x}._grad_fn",
    "if {r} is not None: {r} = ({r}, {x}._output_nr)",
    "else:",
    "    if not {x}._order: {x}._ordered()",
    "    {r} = ({x}, 0)",
)
"""Where a cotangent of a box is sent: to its node, or to the leaf that it is."""
SAVE = Piece(
    ["x", "data"],
    "if {x}._past is None: mark({x})",
    "{r} = {x}._versions",
    "{r} = ({x}, {data}, 0 if {r} is None else {r}[0])",
)
"""What is saved of a box. One that will be replaced by a write remembers what it was."""
AS_SAVED = Piece(
    ["box", "data", "version"],
    "{r} = {box}._versions",
    "{r} = {box}._data is {data} and {box}._base is None and {box}._tangents is None "
    "and ({r} is None or {r}[0] == {version})",
)
"""Whether a box still holds what was saved of it, and no more; else `saved.unpack` says what a rule
may read."""

end_of = END.function("end_of")
save = SAVE.function("save")
as_saved = AS_SAVED.function("as_saved")

__all__ = ["AS_SAVED", "END", "NOTHING", "SAVE", "Piece", "as_saved", "end_of", "mark", "save"]
