"""The tables of the documentation: each row has as many cells as the heading."""

from __future__ import annotations

import re
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


def test_a_crooked_table_is_seen() -> None:
    found = list(crooked("| a | b |\n|---|---|\n| 1 | 2 |\n| 1 |\n\n| x |\n"))
    assert found == ["4: 2 in place of 3 bars: | 1 |"]
