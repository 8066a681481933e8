"""The files that a benchmark run writes: JSON with everything, and Markdown tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .. import machine
from ..run import Outcome
from ..startup import StartUp
from . import tables, targets


@dataclass(frozen=True)
class Findings:
    """What a run measured. `head` says with which version, machine and settings; `peers` are the
    contestants beside eager and jit."""

    head: dict[str, Any]
    outcomes: Sequence[Outcome]
    peers: Sequence[str] = ()
    start_up: StartUp | None = None
    results: targets.Results = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "results",
            targets.Results(
                self.outcomes,
                self.start_up,
                self.head["settings"]["size"],
                self.head["settings"]["device"],
                self.head["settings"].get("suite", "public"),
            ),
        )

    def write_json(self, path: Path) -> None:
        """Everything, times in seconds."""
        headings, rows = targets.rows(self.results)
        everything = {
            **self.head,
            "results": [o.as_dict() for o in self.outcomes],
            "start_up": None if self.start_up is None else asdict(self.start_up),
            "geometric_mean": self.results.geometric_mean(),
            "targets": [dict(zip(headings, row, strict=True)) for row in rows],
        }
        path.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")

    def write_markdown(self, path: Path) -> None:
        """Write the tables, or replace the section of this kind of run in a file that has one (see
        `section`)."""
        replace_section(path, self.section, self.markdown())

    @property
    def section(self) -> str:
        """What a page calls this kind of run: "1 thread", "cuda", or "memory"; with the suite in
        front of it for another one: "wide" (on one thread), "wide, 2 threads"."""
        settings = self.head["settings"]
        kind = "memory" if settings["separate"] else threads(self.head)
        suite = settings.get("suite", "public")
        if suite == "public":
            return kind
        return suite if kind == "1 thread" else f"{suite}, {kind}"

    def markdown(self) -> str:
        """The tables, with the machine and the settings above them."""
        separate = self.head["settings"]["separate"]
        everyone = ("eager", "jit", *self.peers)
        parts = ["\n".join(f"- {line}" for line in machine.lines(self.head))]
        parts += [table("Eager against jit", tables.main_rows(self.outcomes, separate))]
        if self.peers:
            parts += [
                table("Milliseconds per derivative", tables.peer_rows(self.outcomes, self.peers)),
                table(
                    "Milliseconds of the function alone",
                    self._each(everyone, lambda o: tables.milliseconds(o.primal_s)),
                ),
                table(
                    "Seconds of the first call",
                    self._each(everyone, lambda o: tables.seconds(o.first_call_s)),
                ),
                table(
                    "MB that a call takes above what stays between calls",
                    self._each(everyone, lambda o: tables.megabytes(o.call_mb)),
                ),
            ]
            if separate:
                each = self._each(everyone, lambda o: tables.megabytes(o.first_call_mb))
                parts += [
                    table("MB that the first call takes, compilers and what stays included", each)
                ]
        if self.start_up is not None:
            parts += [
                table(
                    f"Start-up, whole processes, medians of {self.start_up.repeat}",
                    self.start_up.rows(),
                )
            ]
            if self.start_up.loops:
                parts += [table("CPU seconds to compile a loop", self.start_up.loop_rows())]
        if self.peers or self.start_up is not None:
            parts += [table("Aims", targets.rows(self.results))]
        remarks = tables.remarks(self.outcomes, self.peers)
        parts += ["\n".join(f"- {line}" for line in remarks)] if remarks else []
        return "\n\n".join(parts) + "\n"

    def _each(self, contestants: Sequence[str], cell: Any) -> tables.Rows:
        return tables.cells(self.outcomes, contestants, cell)


class Section:
    """Tables of a run that measures other things than workloads; they replace the section of this
    name on a page. `head` says with which version, machine and settings."""

    name: str
    head: dict[str, Any]
    remarks: list[str]

    @property
    def wrong(self) -> bool:
        """Whether a result of tracegrad is wrong or missing."""
        raise NotImplementedError

    def tables(self) -> list[tuple[str, tables.Rows]]:
        """Titles, headings and rows."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        raise NotImplementedError

    def write_json(self, path: Path) -> None:
        """Everything, times in seconds."""
        path.write_text(json.dumps(self.as_dict(), indent=2) + "\n", encoding="utf-8")

    def write_markdown(self, path: Path) -> None:
        """Write the tables, or replace their section in a file that has one."""
        replace_section(path, self.name, self.markdown())

    def markdown(self) -> str:
        """The tables, with the machine and the settings above them."""
        lines = (*machine.lines(self.head), *self.remarks)
        parts = ["\n".join(f"- {line}" for line in lines)]
        return "\n\n".join([*parts, *[table(title, rows) for title, rows in self.tables()]]) + "\n"


class Costs(Section):
    """A section with a row of each thing that was timed: a dataclass whose `check` is "ok", or says
    what is wrong."""

    costs: Sequence[Any]

    @property
    def wrong(self) -> bool:
        """Whether results are wrong or missing."""
        return any(cost.check != "ok" for cost in self.costs)

    def as_dict(self) -> dict[str, Any]:
        """Everything, times in seconds."""
        costs = [asdict(cost) for cost in self.costs]
        return {**self.head, self.name: costs, "remarks": self.remarks}


def replace_section(path: Path, section: str, text: str) -> None:
    """Put the text between the lines that begin and end a section; at the end of a page of other
    sections; else it is all that the file holds."""
    begin, end = (f"<!-- {word} {section} -->" for word in ("begin", "end"))
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    if begin in old and end in old:
        text = old[: old.index(begin)] + f"{begin}\n\n{text}\n" + old[old.index(end) :]
    elif "<!-- begin " in old:
        text = f"{old.rstrip()}\n\n{begin}\n\n{text}\n{end}\n"
    path.write_text(text, encoding="utf-8")


def threads(head: dict[str, Any]) -> str:
    """For headings: the number of threads, or the GPU."""
    if head["settings"]["device"] != "cpu":
        return str(head["settings"]["device"])
    count = head["settings"]["threads"]
    return f"{count} thread{'s' if count > 1 else ''}"


def table(title: str, rows: tables.Rows) -> str:
    """A heading and a table."""
    return f"### {title}\n\n{tables.markdown_table(*rows)}"
