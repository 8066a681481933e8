"""Tables of what a benchmark run found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ..contestant import LIBRARIES
from ..run import Outcome

if TYPE_CHECKING:
    from rich.table import Table

ByCase = dict[tuple[str, str, str], dict[str, Outcome]]
Rows = tuple[list[str], list[list[str]]]
WORDS = (
    "workload",
    "derivative",
    "size",
    "check",
    "process",
    "aim",
    "wanted",
    "measured",
    "met",
    "operation",
    "chain",
    "program",
    "what",
)


def by_case(outcomes: Sequence[Outcome]) -> ByCase:
    """Outcomes by workload, derivative and size, then by contestant."""
    found: ByCase = {}
    for outcome in outcomes:
        found.setdefault(outcome.case, {})[outcome.contestant] = outcome
    return found


def milliseconds(seconds: float | None) -> str:
    """Three significant digits."""
    return "" if seconds is None else significant(seconds * 1e3)


def significant(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - _magnitude(value))}f}"


def _magnitude(value: float) -> int:
    return int(f"{value:e}".rpartition("e")[2]) if value > 0 else 0


def met(aim: bool) -> str:
    """Whether an aim is met."""
    return "yes" if aim else "no"


def time_of(outcome: Outcome | None) -> str:
    """The time of a derivative, or what there is instead of one; nothing where the workload does
    not fit."""
    if outcome is None or outcome.status == "left out":
        return ""
    return (
        milliseconds(outcome.derivative_s)
        if outcome.good
        else "wrong"
        if outcome.check
        else outcome.status
    )


def speed_up(slow: Outcome | None, fast: Outcome | None) -> str:
    """How many times faster the second is."""
    if slow is None or fast is None or not slow.derivative_s or not fast.derivative_s:
        return ""
    return f"{significant(slow.derivative_s / fast.derivative_s)}x"


def check_of(found: Mapping[str, Outcome]) -> str:
    """ "ok", or what is wrong with eager or jit."""
    problems = []
    for name in ("eager", "jit"):
        outcome = found.get(name)
        if outcome is not None and not outcome.good:
            problems.append(
                f"{name} {outcome.status}: {outcome.detail}"
                if outcome.detail
                else f"{name}: {outcome.check}"
            )
    return "; ".join(problems) or "ok"


def value(outcome: Outcome | None, name: str) -> float | None:
    """A number of an outcome, where there is one."""
    return None if outcome is None else getattr(outcome, name)


def seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def megabytes(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}" if value < 10 else f"{value:,.0f}"


def ratio(outcome: Outcome | None) -> str:
    """Derivative over function."""
    if outcome is None or not outcome.derivative_s or not outcome.primal_s:
        return ""
    return significant(outcome.derivative_s / outcome.primal_s)


def over(outcome: Outcome | None, other: Outcome | None) -> str:
    """The first one's time over the second one's, where both are right."""
    if (
        outcome is None
        or other is None
        or not (outcome.good and other.good and outcome.derivative_s and other.derivative_s)
    ):
        return ""
    return significant(outcome.derivative_s / other.derivative_s)


def main_rows(outcomes: Sequence[Outcome], separate: bool) -> Rows:
    """Headings and rows of the table of eager against jit; what compiling takes can only be told
    apart in processes of their own."""
    headings = [
        "workload",
        "derivative",
        "size",
        "eager ms",
        "function ms",
        "jit ms",
        "speed-up",
        "jit / function",
        "first call s",
    ]
    headings += ["eager MB", "jit MB", *(["jit first call MB"] if separate else [])]
    rows = []
    for case, found in by_case(outcomes).items():
        eager, jit = found.get("eager"), found.get("jit")
        row = [
            *case,
            time_of(eager),
            milliseconds(value(jit, "primal_s")),
            time_of(jit),
            speed_up(eager, jit),
            ratio(jit),
        ]
        row += [
            seconds(value(jit, "first_call_s")),
            megabytes(value(eager, "call_mb")),
            megabytes(value(jit, "call_mb")),
        ]
        row += [megabytes(value(jit, "first_call_mb"))] if separate else []
        rows.append([*row, check_of(found)])
    return [*headings, "check"], rows


def peer_rows(outcomes: Sequence[Outcome], peers: Sequence[str]) -> Rows:
    """Headings and rows of the table of jit against the others."""
    shown = present(outcomes, peers)
    headings = [
        "workload",
        "derivative",
        "size",
        "jit",
        *shown,
        "jit / floor",
        "jit / Numba",
        "best peer / jit",
    ]
    rows = []
    for case, found in by_case(outcomes).items():
        jit = found.get("jit")
        timed = [
            o
            for p in shown
            if p in LIBRARIES and (o := found.get(p)) is not None and o.good and o.derivative_s
        ]
        best = min(timed, key=lambda o: o.derivative_s or 0.0, default=None)
        against = (
            f"{over(best, jit)} {best.contestant}" if best is not None and over(best, jit) else ""
        )
        times = [time_of(found.get(p)) for p in shown]
        rows.append(
            [
                *case,
                time_of(jit),
                *times,
                over(jit, found.get("floor")),
                over(jit, found.get("hand-written Numba")),
                against,
            ]
        )
    return headings, rows


def cells(
    outcomes: Sequence[Outcome], contestants: Sequence[str], cell: Callable[[Outcome], str]
) -> Rows:
    """Headings and rows of a table of one number of every contestant."""
    shown = present(outcomes, contestants)
    return ["workload", "derivative", "size", *shown], [
        [
            *case,
            *[cell(o) if (o := found.get(name)) is not None and o.good else "" for name in shown],
        ]
        for case, found in by_case(outcomes).items()
    ]


def present(outcomes: Sequence[Outcome], contestants: Sequence[str]) -> list[str]:
    """Those that are installed and have a version of at least one workload."""
    there = {o.contestant for o in outcomes if o.status != "left out"}
    return [name for name in contestants if name in there]


def remarks(outcomes: Sequence[Outcome], peers: Sequence[str]) -> list[str]:
    """Who was left out, failed or was wrong, and why; one line each."""
    lines = []
    for name in peers:
        mine = [o for o in outcomes if o.contestant == name]
        if (
            mine
            and all(o.status == "left out" for o in mine)
            and len({o.detail for o in mine}) == 1
        ):
            lines.append(f"{name} is left out: {mine[0].detail}.")
            continue
        # That a workload does not fit a contestant shows in the table.
        bad = [o for o in mine if not o.good and o.status != "left out"]
        lines += [
            f"{name}, {o.title} {o.derivative}: "
            f"{o.check or o.status}{': ' + o.detail if o.detail else ''}"
            for o in bad
        ]
    absent = dict.fromkeys(
        o.detail for o in outcomes if o.contestant == "eager" and o.status == "left out"
    )
    return [*lines, *[f"Left out: {detail}." for detail in absent]]


def rich_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table for the terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", header_style="bold")
    for heading in headings:
        justify: Literal["left", "right"] = "left" if heading in WORDS else "right"
        table.add_column(
            heading,
            justify=justify,
            overflow="fold",
            no_wrap=heading in WORDS and heading != "check",
        )
    for row in rows:
        shown = [Text(cell) for cell in row]
        if headings[-1] in ("check", "met"):
            shown[-1].stylize("green" if row[-1] in ("ok", "met") else "bold red")
        table.add_row(*shown)
    return table


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same as Markdown."""
    lines = [
        "| " + " | ".join(headings) + " |",
        "|" + "|".join("---" if h in WORDS else "---:" for h in headings) + "|",
    ]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)
