"""The map of the code keeps to what is there: rooms, files and pages that it names exist, and every
room is on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAP = ROOT / "ARCHITECTURE.md"
PAGES = [
    MAP,
    *sorted((ROOT / "docs" / "adding").glob("*.md")),
    *sorted((ROOT / "docs" / "internals").glob("*.md")),
]
FILES = [
    p.relative_to(ROOT).as_posix()
    for top in ("tracegrad", "codegen", "tests", "docs")
    for p in (ROOT / top).rglob("*.*")
]
NAMES_OF_EXAMPLES = {"code.bin", "model.py"}


def test_every_room_is_on_the_map() -> None:
    text = MAP.read_text()
    rooms = [p.name for p in (ROOT / "tracegrad").iterdir() if (p / "__init__.py").is_file()]
    assert [name for name in rooms if f"`{name}/`" not in text] == []


def test_the_map_is_short() -> None:
    assert len(MAP.read_text().splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_files_that_pages_name_are_there(page: Path) -> None:
    text = page.read_text()
    named = {
        name
        for name in re.findall(r"`([\w/]+\.(?:py|md))`?", text)
        if name not in NAMES_OF_EXAMPLES
    }
    missing = [
        name
        for name in named
        if not any(f"/{file}".endswith(f"/{name}") for file in FILES)
        and not (ROOT / name).is_file()
    ]
    assert missing == []
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text)
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []
