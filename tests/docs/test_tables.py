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


def test_a_crooked_table_is_seen() -> None:
    found = list(crooked("| a | b |\n|---|---|\n| 1 | 2 |\n| 1 |\n\n| x |\n"))
    assert found == ["4: 2 in place of 3 bars: | 1 |"]
