"""Tables, files and a picture of what a benchmark run found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .run import Outcome

if TYPE_CHECKING:
    from rich.table import Table

ByCase = dict[tuple[str, str, str], dict[str, Outcome]]


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


def time_of(outcome: Outcome | None) -> str:
    """The time of a derivative, or what there is instead of one."""
    if outcome is None:
        return ""
    return milliseconds(outcome.derivative_s) if outcome.good else "wrong" if outcome.check else outcome.status


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
            problems.append(f"{name} {outcome.status}: {outcome.detail}" if outcome.detail else f"{name}: {outcome.check}")
    return "; ".join(problems) or "ok"


def seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def megabytes(outcome: Outcome | None) -> str:
    return "" if outcome is None or outcome.peak_mb is None else f"{outcome.peak_mb:,.0f}"


def ratio(outcome: Outcome | None) -> str:
    """Derivative over function."""
    if outcome is None or not outcome.derivative_s or not outcome.primal_s:
        return ""
    return significant(outcome.derivative_s / outcome.primal_s)


def main_rows(outcomes: Sequence[Outcome], memory: bool) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the table of eager against jit."""
    headings = ["workload", "derivative", "size", "eager ms", "jit ms", "speed-up", "jit / function", "first call s"]
    headings += ["eager MB", "jit MB"] if memory else []
    rows = []
    for case, found in by_case(outcomes).items():
        eager, jit = found.get("eager"), found.get("jit")
        row = [*case, time_of(eager), time_of(jit), speed_up(eager, jit), ratio(jit), seconds(jit.first_call_s if jit else None)]
        rows.append([*row, *([megabytes(eager), megabytes(jit)] if memory else []), check_of(found)])
    return [*headings, "check"], rows


def peer_rows(outcomes: Sequence[Outcome], peers: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the table of jit against the others; contestants that are not installed have no column."""
    there = [p for p in peers if any(o.contestant == p and o.status != "left out" for o in outcomes)]
    libraries = [p for p in there if p != "hand-written Numba"]
    headings = ["workload", "derivative", "size", "jit", *there, "jit to best peer"]
    rows = []
    for case, found in by_case(outcomes).items():
        jit = found.get("jit")
        timed = [o for p in libraries if (o := found.get(p)) is not None and o.good and o.derivative_s]
        best = min(timed, key=lambda o: o.derivative_s or 0.0, default=None)
        against = f"{speed_up(best, jit)} {best.contestant}" if best is not None and jit is not None and jit.good else ""
        rows.append([*case, time_of(jit), *[time_of(found.get(p)) for p in there], against])
    return headings, rows


def remarks(outcomes: Sequence[Outcome], peers: Sequence[str]) -> list[str]:
    """Who was left out, failed or was wrong, and why; one line each."""
    lines = []
    for name in peers:
        mine = [o for o in outcomes if o.contestant == name]
        if mine and all(o.status == "left out" for o in mine) and len({o.detail for o in mine}) == 1:
            lines.append(f"{name} is left out: {mine[0].detail}.")
            continue
        # That a workload does not fit a contestant shows in the table.
        bad = [o for o in mine if not o.good and o.status != "left out"]
        lines += [f"{name}, {o.title} {o.derivative}: {o.check or o.status}{': ' + o.detail if o.detail else ''}" for o in bad]
    absent = dict.fromkeys(o.detail for o in outcomes if o.contestant == "eager" and o.status == "left out")
    return [*lines, *[f"Left out: {detail}." for detail in absent]]


def rich_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table for the terminal."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", header_style="bold")
    for heading in headings:
        words = heading in ("workload", "derivative", "size", "check")
        table.add_column(heading, justify="left" if words else "right", overflow="fold", no_wrap=heading != "check")
    for row in rows:
        cells = [Text(cell) for cell in row]
        if headings[-1] == "check":
            cells[-1].stylize("green" if row[-1] == "ok" else "bold red")
        table.add_row(*cells)
    return table


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same as Markdown."""
    words = ("workload", "derivative", "size", "check")
    lines = ["| " + " | ".join(headings) + " |", "|" + "|".join("---" if h in words else "---:" for h in headings) + "|"]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def write_json(path: Path, head: Mapping[str, Any], outcomes: Sequence[Outcome]) -> None:
    """Everything that was measured, times in seconds."""
    path.write_text(json.dumps({**head, "results": [o.as_dict() for o in outcomes]}, indent=2) + "\n")


def write_markdown(path: Path, head: Mapping[str, Any], outcomes: Sequence[Outcome], peers: Sequence[str], memory: bool) -> None:
    """The tables, with the machine and the settings above them."""
    machine = head["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    parts = [
        f"Threads: {head['settings']['threads']}. Machine: {machine['cpu']}, {machine['cores']} cores, {machine['system']}; "
        f"Python {machine['python']}, tracegrad {head['tracegrad']}, {versions}.",
        markdown_table(*main_rows(outcomes, memory)),
    ]
    if peers:
        parts += ["Milliseconds per derivative:", markdown_table(*peer_rows(outcomes, peers))]
    parts += ["\n".join(f"- {line}" for line in lines)] if (lines := remarks(outcomes, peers)) else []
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def write_plot(path: Path, outcomes: Sequence[Outcome], contestants: Sequence[str]) -> None:
    """Bars of the times on a logarithmic scale, a group per workload."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    cases = by_case(outcomes)
    shown = [c for c in contestants if any(o.contestant == c and o.good for o in outcomes)]
    height = 0.8 / max(1, len(shown))
    figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.22 * len(cases) * max(2, len(shown))), layout="constrained")
    for k, contestant in enumerate(shown):
        # A contestant without a right result has no bar.
        bars = [(row, (o.derivative_s or 0.0) * 1e3) for row, found in enumerate(cases.values()) if (o := found.get(contestant)) and o.good]
        positions = [row + (k - (len(shown) - 1) / 2) * height for row, _ in bars]
        axes.barh(positions, [ms for _, ms in bars], height=height, label=contestant)
    axes.set_yticks(range(len(cases)), [f"{title}\n{derivative}, {size}" for title, derivative, size in cases], fontsize=7)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("milliseconds per call (median)")
    axes.grid(axis="x", which="major", alpha=0.4)
    axes.set_axisbelow(True)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
