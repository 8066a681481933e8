"""Every pass over graphs and over programs is needed: without it some text of the golden files is another."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.golden.functions import GOLDEN
from tests.golden.texts import texts_of
from tracegrad.schedule import pipeline
from tracegrad.transforms import rewrite


@functools.cache
def expected(name: str) -> str:
    return bare(texts_of(GOLDEN[name]))


def changed(where: Any, k: int, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """A function of which some text is another without step k, or none comes out."""
    with_all = {name: expected(name) for name in GOLDEN}
    monkeypatch.setattr(where, "PIPELINE", (*where.PIPELINE[:k], *where.PIPELINE[k + 1 :]))
    for name, golden in GOLDEN.items():
        try:
            text = bare(texts_of(golden))
        except (AssertionError, KeyError, NotImplementedError):
            return name
        if text != with_all[name]:
            return name
    return None


def bare(text: str) -> str:
    """Without the names of passes."""
    return "\n".join(line.partition("  # after ")[0] for line in text.splitlines())


@pytest.mark.parametrize("k", range(len(rewrite.PIPELINE)), ids=lambda k: f"{k} {rewrite.PIPELINE[k][0]}")
def test_passes_over_graphs(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed(rewrite, k, monkeypatch)


@pytest.mark.parametrize("k", range(len(pipeline.PIPELINE)), ids=lambda k: f"{k} {pipeline.PIPELINE[k][0]}")
def test_passes_over_programs(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert changed(pipeline, k, monkeypatch)
