"""`bench --page` replaces each section, tells of runs that fail, and leaves their sections."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tracegrad.bench import machine, page
from tracegrad.bench.report.files import replace_section

ROOT = Path(__file__).parents[2]


def head() -> dict[str, object]:
    settings = {"threads": 1, "device": "cpu"}
    return {
        "tracegrad": "0",
        "machine": machine.summary(sys.executable, "cpu"),
        "settings": settings,
    }


def test_each_section_and_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.md"
    path.write_text("".join(f"<!-- begin {s} -->\nold {s}\n<!-- end {s} -->\n" for s in "ab"))
    asked, told = [], []

    def ran(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append(tuple(command))
        if "--sparse" in command:
            return subprocess.CompletedProcess(command, 1, "", "a\nValueError: no pattern\n\n")
        if "--markdown" in command:
            replace_section(Path(command[-1]), "a", "new")
        return subprocess.CompletedProcess(command, 0, "| of loops |", "")

    monkeypatch.setattr(page, "ran", ran)
    failed = page.write(path, "/there/python", head(), told.append)
    assert failed == ["sparse: exit code 1; ValueError: no pattern"]
    assert told == [*page.RUNS, page.LONG_LOOP]
    assert len(asked) == len(told)
    text = path.read_text()
    assert "old b" in text
    assert "old a" not in text
    assert "| of loops |" in text
    peers = {name for name, c in zip(told, asked, strict=True) if "/there/python" in c}
    assert peers == set(page.RUNS) - set(page.ALONE)


def test_the_documentation_has_a_place_for_each() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    kinds = ("1 thread", "2 threads", "wide", "memory", "operations", "programs", "sparse")
    missing = [
        s for s in (*kinds, "linalg", "scipy", page.LONG_LOOP) if f"<!-- begin {s} -->" not in text
    ]
    assert missing == []
