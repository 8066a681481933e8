"""What a profile holds: events in order of their start, averages over those of one name, and their
table and trace file."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Sequence
from typing import Any, ClassVar

from ..ir.recording import LogEntry

UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
NUMBER_WIDTH = 12
LINES = 5
"""As many lines of a stack are printed."""
SORTS = {
    "operation": "cpu_op",
    "backward": "cpu_op",
    "user": "user_annotation",
    "compile": "compile",
    "call": "compiled_call",
}
"""Categories of a trace file, as viewers colour them."""


def time_text(microseconds: float, unit: str | None = None) -> str:
    """`1.234ms`: in the largest unit that leaves a number of at least one, or in the given one."""
    if unit is None:
        unit = next((u for u, size in UNITS.items() if microseconds >= size), "us")
    return f"{microseconds / UNITS[unit]:.3f}{unit}"


def memory_text(nbytes: int) -> str:
    """`78.12 KB`."""
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


class Interval:
    """Start and end in microseconds after the profile's start."""

    __slots__ = ("end", "start")

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval(start={self.start:.3f}, end={self.end:.3f})"


class Timed:
    """What events and averages share: times in microseconds, also as text."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    input_shapes: Any
    stack: Sequence[str]
    flops: int

    @property
    def cpu_time(self) -> float:
        """The time of one call, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return time_text(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return time_text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return time_text(self.self_cpu_time_total)


class FunctionEvent(Timed):
    """One operation, backward node, stage of compiling, compiled call or named part of the program.

    Its own time (`self_cpu_time_total`) is its time without that of `cpu_children`, the events
    inside it.
    """

    def __init__(self, id: int, entry: LogEntry, origin: int) -> None:
        self.id = id
        self.name = self.key = self.trace_name = entry.name
        self.sort = entry.sort
        self.thread = entry.thread
        self.sequence_nr = entry.sequence
        self.time_range = Interval((entry.start - origin) / 1e3, (entry.end - origin) / 1e3)
        self.input_shapes = entry.shapes
        self.stack = list(entry.stack)
        self.flops = entry.flops
        self.count = 1
        self.top_level = True
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_time_total = self.self_cpu_time_total = self.time_range.elapsed_us()
        # What an operation made includes what was made inside of it.
        self.cpu_memory_usage = self.self_cpu_memory_usage = entry.memory

    def within(self, key: Any, of: Any) -> bool:
        """Whether the event lies inside another one for which `of` gives the same key."""
        above = self.cpu_parent
        while above is not None:
            if of(above) == key:
                return True
            above = above.cpu_parent
        return False

    def __repr__(self) -> str:
        inside = [e.id for e in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"cpu_children={inside} thread={self.thread} input_shapes={self.input_shapes}>"
        )


class FunctionEventAvg(Timed):
    """All events of one key together. Time inside an event of the same key counts once."""

    def __init__(self, key: str, shapes: Any = "", stack: Sequence[str] = ()) -> None:
        self.key, self.input_shapes, self.stack = key, shapes, list(stack)
        self.top_level = False
        """Whether one of the events lies in no other."""
        self.count = self.cpu_memory_usage = self.self_cpu_memory_usage = self.flops = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0

    def add(self, event: FunctionEvent, nested: bool = False) -> None:
        """Take in one event; of a nested one the enclosing event has the total already."""
        self.count += 1
        self.top_level |= event.top_level
        self.self_cpu_time_total += event.self_cpu_time_total
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        self.flops += event.flops
        if not nested:
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += event.cpu_memory_usage

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list[Any]):
    """Events, or averages of them, with their table."""

    STACKS: ClassVar[tuple[str, ...]] = ("cpu_time_total", "self_cpu_time_total")

    def __init__(
        self, events: Sequence[Any] = (), *, memory: bool = False, flops: bool = False
    ) -> None:
        super().__init__(events)
        self.memory, self.flops = memory, flops

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The own times of all events, in microseconds: the whole time that was spent in them."""
        return math.fsum(event.self_cpu_time_total for event in self)

    def total_average(self) -> FunctionEventAvg:
        """Everything as one average, of the key "Total"."""
        total = FunctionEventAvg("Total", [])
        for event in self:
            total.count += event.count
            total.self_cpu_time_total += event.self_cpu_time_total
            total.cpu_time_total += event.cpu_time_total
            total.self_cpu_memory_usage += event.self_cpu_memory_usage
            total.cpu_memory_usage += event.cpu_memory_usage
            total.flops += event.flops
        return total

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One row for each name (and shapes of inputs, and the innermost `group_by_stack_n` lines
        of the program)."""

        def of(event: FunctionEvent) -> Any:
            return (
                event.key,
                str(event.input_shapes) if group_by_input_shapes else "",
                tuple(event.stack[:group_by_stack_n]),
            )

        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = of(event)
            if key not in found:
                found[key] = FunctionEventAvg(
                    event.key, event.input_shapes if group_by_input_shapes else "", key[2]
                )
            found[key].add(event, event.within(key, of))
        return EventList(list(found.values()), memory=self.memory, flops=self.flops)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The rows as text, largest first where `sort_by` names a column.

        `sort_by` is one of cpu_time, cpu_time_total, self_cpu_time_total, cpu_memory_usage,
        self_cpu_memory_usage, count (ValueError for another), `time_unit` one of s, ms, us. At most
        `row_limit` rows are shown (-1: all).
        """
        if sort_by is not None and sort_by not in SORTABLE:
            raise ValueError(
                f"sort_by is {sort_by!r}; a table can be sorted by {', '.join(SORTABLE)}"
            )
        if time_unit is not None and time_unit not in UNITS:
            raise ValueError(f"time_unit is {time_unit!r}; it can be {', '.join(UNITS)}")
        rows = [e for e in self if not top_level_events_only or e.top_level]
        if not rows:
            return ""
        if sort_by is not None:
            rows.sort(key=lambda e: getattr(e, sort_by), reverse=True)
        total = self.self_cpu_time_total
        shown = rows if row_limit < 0 else rows[:row_limit]
        columns = self._columns(
            shown,
            total,
            time_unit,
            max_name_column_width,
            max_shapes_column_width,
            max_src_column_width,
        )
        widths = [
            max(NUMBER_WIDTH, len(title), *map(len, cells))
            if side == ">"
            else max([len(title), *map(len, cells)])
            for title, side, cells in columns
        ]
        ruler = "".join("-" * w + "  " for w in widths)
        lines = [
            ruler,
            "".join(f"{t:{s}{w}}  " for (t, s, _), w in zip(columns, widths, strict=True)),
            ruler,
        ]
        before = 0
        for (title, _, _), width in zip(columns, widths, strict=True):
            if title == "Source Location":
                break
            before += width + 2
        for k, row in enumerate(shown):
            lines.append(
                "".join(f"{c[k]:{s}{w}}  " for (_, s, c), w in zip(columns, widths, strict=True))
            )
            lines += [
                " " * before + cut(frame, max_src_column_width) for frame in row.stack[1:LINES]
            ]
        lines += [ruler, f"Self CPU time total: {time_text(total, time_unit)}", ""]
        if top_level_events_only:
            lines.insert(0, "This report shows top-level events only")
        if header is not None:
            lines.insert(0, header)
        if top_level_events_only or header is not None:
            lines.insert(0, "=" * len(ruler))
        return "\n".join(lines)

    def _columns(
        self,
        rows: Sequence[Any],
        total: float,
        unit: str | None,
        name: int,
        shapes: int,
        source: int,
    ) -> list[Any]:
        """(title, side, cells) of each column."""

        def share(part: float) -> str:
            return f"{100 * part / total:.2f}%" if total > 0 else "0.00%"

        names = [cut(e.key, name) for e in rows]
        wide = max([0, *map(len, names)]) + 4
        columns: list[Any] = [
            ("Name", ">", [n.rjust(min(wide, name)) for n in names]),
            ("Self CPU %", ">", [share(e.self_cpu_time_total) for e in rows]),
            ("Self CPU", ">", [time_text(e.self_cpu_time_total, unit) for e in rows]),
            ("CPU total %", ">", [share(e.cpu_time_total) for e in rows]),
            ("CPU total", ">", [time_text(e.cpu_time_total, unit) for e in rows]),
            ("CPU time avg", ">", [time_text(e.cpu_time, unit) for e in rows]),
        ]
        if self.memory:
            columns += [
                ("CPU Mem", ">", [memory_text(e.cpu_memory_usage) for e in rows]),
                ("Self CPU Mem", ">", [memory_text(e.self_cpu_memory_usage) for e in rows]),
            ]
        columns.append(("# of Calls", ">", [str(e.count) for e in rows]))
        if any(e.input_shapes for e in rows):
            columns.append(
                ("Input Shapes", ">", [cut(str(e.input_shapes or []), shapes) for e in rows])
            )
        if any(e.stack for e in rows):
            columns.append(
                ("Source Location", "<", [cut(e.stack[0], source) if e.stack else "" for e in rows])
            )
        if self.flops:
            columns.append(
                ("Total KFLOPs", ">", [f"{e.flops / 1e3:.3f}" if e.flops else "--" for e in rows])
            )
        return columns

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as JSON that chrome://tracing and Perfetto open; arrows lead from
        operations to their backward nodes."""
        self.write_trace(path, {})

    def write_trace(self, path: str, metadata: dict[str, Any]) -> None:
        """The trace file, with more entries beside the events."""
        process = os.getpid()
        out: list[dict[str, Any]] = [
            {
                "ph": "M",
                "name": "process_name",
                "pid": process,
                "tid": 0,
                "args": {"name": "python"},
            }
        ]
        for thread in dict.fromkeys(e.thread for e in self):
            name = next(
                (t.name for t in threading.enumerate() if t.ident == thread), f"thread {thread}"
            )
            out.append(
                {
                    "ph": "M",
                    "name": "thread_name",
                    "pid": process,
                    "tid": thread,
                    "args": {"name": name},
                }
            )
        forward: dict[int, FunctionEvent] = {}
        for e in self:
            args: dict[str, Any] = {"External id": e.id}
            if e.input_shapes:
                args["Input Dims"] = e.input_shapes
            if e.stack:
                args["Call stack"] = ";".join(e.stack)
            if e.sequence_nr >= 0:
                args["Sequence number"] = e.sequence_nr
            place = {"pid": process, "tid": e.thread}
            start = e.time_range.start
            out.append(
                {
                    "ph": "X",
                    "cat": SORTS[e.sort],
                    "name": e.name,
                    **place,
                    "ts": start,
                    "dur": e.cpu_time_total,
                    "args": args,
                }
            )
            if e.sequence_nr >= 0:
                if e.sort != "backward":
                    forward[e.sequence_nr] = e
                elif e.sequence_nr in forward:
                    link = {"cat": "fwdbwd", "name": "fwdbwd", "id": e.sequence_nr, **place}
                    out.append({"ph": "s", **link, "ts": forward[e.sequence_nr].time_range.start})
                    out.append({"ph": "f", "bp": "e", **link, "ts": start})
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            json.dump({**metadata, "displayTimeUnit": "ms", "traceEvents": out}, file)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write `outer;inner 12` lines, in whole microseconds, as drawers of flame graphs read
        them; the profile needs with_stack=True."""
        if metric not in self.STACKS:
            raise ValueError(
                f"metric is {metric!r}; stacks can be exported with {' or '.join(self.STACKS)}"
            )
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            for e in self:
                value = int(getattr(e, metric))
                if e.stack and value > 0:
                    frames = [
                        frame.replace(";", ",").replace(" ", "_") for frame in reversed(e.stack)
                    ]
                    file.write(f"{';'.join(frames)} {value}\n")


SORTABLE = (
    "cpu_time",
    "cpu_time_total",
    "self_cpu_time_total",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "count",
)


def cut(text: str, width: int) -> str:
    """The text, shortened where it is longer than a column may be."""
    return text if len(text) <= width else text[: max(width - 3, 0)] + "..."


def events_of(entries: Sequence[LogEntry]) -> list[FunctionEvent]:
    """Events of log entries in order of their start, with parents, children and own times; backward
    nodes get their operation's stack."""
    origin = entries[0].start if entries else 0
    made: dict[int, FunctionEvent] = {}
    stacks: dict[int, Sequence[str]] = {}
    for k, entry in enumerate(entries):
        event = made[id(entry)] = FunctionEvent(k, entry, origin)
        if entry.sequence >= 0:
            if entry.sort == "backward":
                event.stack = list(stacks.get(entry.sequence, event.stack))
            else:
                stacks[entry.sequence] = event.stack
        above = made.get(id(entry.parent))
        if above is not None:
            event.cpu_parent, event.top_level = above, False
            above.cpu_children.append(event)
    for event in reversed(made.values()):
        inside = event.cpu_children
        event.self_cpu_time_total = max(
            0.0, event.cpu_time_total - sum(e.cpu_time_total for e in inside)
        )
        below = sum(e.cpu_memory_usage for e in inside)
        event.self_cpu_memory_usage = max(0, event.cpu_memory_usage - below)
        event.cpu_memory_usage = event.self_cpu_memory_usage + below
    return list(made.values())
