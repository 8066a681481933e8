"""The tables of the documentation: each row has as many cells as the heading."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
CELL = re.compile(r"(?<!\\)\|")


def crooked(text: str) -> Iterator[str]:
    heading = None
    for number, line in enumerate(text.splitlines(), 1):
        cells = len(CELL.findall(line)) if line.startswith("|") else None
        heading = None if cells is None else heading or cells
        if cells != heading:
            yield f"{number}: {cells} in place of {heading} bars: {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_rows_have_the_cells_of_their_heading(page: Path) -> None:
    assert list(crooked(page.read_text())) == []


def cells(text: str) -> list[list[str]]:
    lines = (line for line in text.splitlines() if line.startswith("|"))
    return [[c.strip() for c in CELL.split(line)[1:-1]] for line in lines]


def test_the_short_page_repeats_the_measurements() -> None:
    table = re.compile(
        r"Milliseconds (?:per derivative|of some of them).*?\n\n(\|.*?)\n\n", re.DOTALL
    )
    short, measured = (
        cells(found[1])
        for page in ("performance", "benchmarks")
        if (found := table.search((ROOT / "docs" / f"{page}.md").read_text()))
    )
    columns = [measured[0].index(name) for name in short[0]]
    rows = [[row[k] for k in columns] for row in measured]
    assert len(short) > 10
    assert [row for row in short[2:] if row not in rows] == []


def column(title: str, name: str, of: tuple[str, ...] = ()) -> list[float]:
    """The numbers of a column of the first table below a heading of the measurements; `of`: the
    derivatives whose rows count."""
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    below = text[text.index(title) :]
    rows = cells(below[below.index("\n|") :].lstrip().split("\n\n")[0])
    k = rows[0].index(name)
    found = (re.match(r"[\d.]+", row[k]) for row in rows[2:] if not of or row[1] in of)
    return [float(number[0]) for number in found if number]


def test_the_conclusions_follow_from_the_measurements() -> None:
    text = " ".join((ROOT / "docs" / "performance.md").read_text().split())
    mean, median = statistics.geometric_mean, statistics.median
    table, programs = "### Milliseconds per derivative", "### Programs, ms of a call"
    peers, by_hand = column(table, "best peer / jit"), column(table, "jit / Numba")
    gradients = column("### Eager against jit", "jit / function", ("grad", "value_and_grad"))
    calls = column("### Seconds of the first call", "jit")
    devices = column("## On a GPU", "JAX / tracegrad")
    number = r"(\d+(?:\.\d+)?)"
    for words, *expected in (
        ("are # times as fast in the geometric mean of # workloads", mean(peers), len(peers)),
        ("they take # of the time in the geometric mean of #", mean(by_hand), len(by_hand)),
        (r"\(the median; # to #\)", min(gradients), max(gradients)),
        (
            "takes # of Numba's own time in the geometric mean, value and gradient together #",
            mean(column(programs, "function / Numba")),
            mean(column(programs, "value and gradient / Numba")),
        ),
        (
            "JAX's loops take # times our time for the function, and # times",
            mean(column(programs, "JAX / function")),
            mean(column(programs, "JAX / value and gradient")),
        ),
        ("takes # to # s, in the median # s", min(calls), max(calls), median(calls)),
        ("JAX takes # times our time in the geometric mean of #", mean(devices), len(devices)),
        ("up to # times as fast here", max(devices)),
    ):
        said = re.search(words.replace("#", number), text)
        assert said, words
        for told, value in zip(said.groups(), expected, strict=True):
            # The cells are rounded, as what is told is.
            digits = len(told.partition(".")[2])
            assert abs(float(told) - value) <= 0.51 * 10**-digits + 0.003 * value, (words, value)
    assert 1.5 < median(gradients) < 2.5
    assert min(peers) >= 1


def test_a_crooked_table_is_seen() -> None:
    found = list(crooked("| a | b |\n|---|---|\n| 1 | 2 |\n| 1 |\n\n| x |\n"))
    assert found == ["4: 2 in place of 3 bars: | 1 |"]
