"""Programs in plain Python beside Numba's compilation: two rows of the table."""

from __future__ import annotations

import pytest

from tracegrad.bench import programs


def test_rows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong result or gradient would be an error."""
    monkeypatch.setattr(programs, "SECONDS", 0.0)
    assert programs.main(["--program", "GARCH", "--program", "Gauss-Seidel"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["Gauss-Seidel", "GARCH"]
    for line in lines[2:]:
        assert all(float(cell) >= 0 for cell in line.split("|")[2:-1])
