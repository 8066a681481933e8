"""What users read names no file of the repository, which whoever installs the wheel does not have:
the pages for users in their prose, public docstrings, and the texts of errors."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACE = re.compile(
    r"\b(?:docs|tests|codegen|tracegrad|examples)/[a-z_]+(?:/|\.)|\w+/\w+\.(?:md|py)\b"
)
NOT_PROSE = re.compile(r"^```.*?^```$|\]\([^)]*\)|https?://\S+", re.MULTILINE | re.DOTALL)
FOR_DEVELOPERS = ("adding", "decisions", "internals", "project", "benchmarks.md", "inside.md")
MADE = ("_build", "api", "from_root", "gallery")
PAGES = [
    path
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if path.relative_to(ROOT / "docs").parts[0] not in (*MADE, *FOR_DEVELOPERS)
]
FILES = sorted((ROOT / "tracegrad").rglob("*.py"))


def places(text: str) -> list[str]:
    return [found[0] for found in PLACE.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_pages(page: Path) -> None:
    assert places(NOT_PROSE.sub("", page.read_text(encoding="utf-8"))) == []


def said(file: Path) -> Iterator[str]:
    """The strings of a module that are no docstrings: texts of errors, of commands, of reports."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    alone = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in alone:
            yield node.value


def test_texts_of_errors_and_commands() -> None:
    found = [(f.stem, place) for f in FILES for text in said(f) for place in places(text)]
    assert found == []


@pytest.fixture
def public_names(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    import public_names

    return public_names


def test_public_docstrings(public_names: Any) -> None:
    found: list[tuple[str, str]] = []
    for space in public_names.NAMESPACES:
        found += [(space, p) for p in places(inspect.getdoc(public_names.namespace(space)) or "")]
        for name, x in public_names.names(space).items():
            parts = [x]
            if isinstance(x, type):
                parts += [m for n, m in inspect.getmembers(x, callable) if not n.startswith("_")]
            found += [(name, p) for part in parts for p in places(inspect.getdoc(part) or "")]
    assert found == []
