"""Every pass over graphs and over programs is needed: without it some text of the golden files is another."""

from __future__ import annotations

from typing import Any

import pytest

from tests.golden.functions import GOLDEN
from tests.golden.texts import texts_of
from tracegrad.schedule import pipeline
from tracegrad.transforms import rewrite


def changed(where: Any, k: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions of which some text is another without step k, or none comes out."""
    expected = {name: bare(texts_of(golden)) for name, golden in GOLDEN.items()}
    monkeypatch.setattr(where, "PIPELINE", (*where.PIPELINE[:k], *where.PIPELINE[k + 1 :]))
    found = []
    for name, golden in GOLDEN.items():
        try:
            text = bare(texts_of(golden))
        except (AssertionError, KeyError, NotImplementedError):
            text = ""
        if text != expected[name]:
            found.append(name)
    return found


def bare(text: str) -> str:
    """Without the names of passes."""
    return "\n".join(line.partition("  # after ")[0] for line in text.splitlines())


@pytest.mark.parametrize("k", range(len(rewrite.PIPELINE)), ids=lambda k: f"{k} {rewrite.PIPELINE[k][0]}")
def test_passes_over_graphs(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed(rewrite, k, monkeypatch)


@pytest.mark.parametrize("k", range(len(pipeline.PIPELINE)), ids=lambda k: f"{k} {pipeline.PIPELINE[k][0]}")
def test_passes_over_programs(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed(pipeline, k, monkeypatch)
