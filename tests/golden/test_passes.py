"""Every pass over graphs and over programs is needed: without it some text of the golden files is
another."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.golden.functions import GOLDEN
from tests.golden.test_golden import FOLDER
from tests.golden.texts import texts_of
from tracegrad.schedule.passes import pipeline
from tracegrad.transforms import rewrite


@functools.cache
def expected(name: str) -> str:
    """The text with all passes, as `test_golden` holds it to what is kept."""
    return bare((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))


def changed(
    where: Any, k: int, monkeypatch: pytest.MonkeyPatch, name: str = "PIPELINE"
) -> str | None:
    """A function of which some text is another without entry k of that tuple, or none comes out."""
    steps = getattr(where, name)
    monkeypatch.setattr(where, name, (*steps[:k], *steps[k + 1 :]))
    return first_other()


def first_other() -> str | None:
    """The first function of which some text is another now."""
    # What was added for the sake of one pass stands at the end, and what is common is everywhere.
    for name in reversed(GOLDEN):
        try:
            text = bare(texts_of(GOLDEN[name]))
        except (AssertionError, KeyError, NotImplementedError):
            return name
        if text != expected(name):
            return name
    return None


def bare(text: str) -> str:
    """Without the names of passes."""
    return "\n".join(line.partition("  # after ")[0] for line in text.splitlines())


@pytest.mark.parametrize(
    "k", range(len(rewrite.PIPELINE)), ids=lambda k: f"{k} {rewrite.PIPELINE[k][0]}"
)
def test_passes_over_graphs(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name = rewrite.PIPELINE[k][0]
    assert changed(rewrite, k, monkeypatch), f"no golden text differs without the pass {name!r}"


@pytest.mark.parametrize(
    "k", range(len(pipeline.PIPELINE)), ids=lambda k: f"{k} {pipeline.PIPELINE[k][0]}"
)
def test_passes_over_programs(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name = pipeline.PIPELINE[k][0]
    assert changed(pipeline, k, monkeypatch), f"no golden text differs without the pass {name!r}"


@pytest.mark.parametrize(
    "k", range(len(rewrite.RULES)), ids=lambda k: f"{k} {rewrite.RULES[k].__name__}"
)
def test_rules(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name = rewrite.RULES[k].__name__
    assert changed(rewrite, k, monkeypatch, "RULES"), (
        f"no golden text differs without the rule {name}"
    )


WITHOUT: dict[str, Any] = {
    "inline_constants": lambda graph: graph,
    "trim": lambda graph: graph,
    "unstack": lambda graph: graph,
    "fuse": lambda graph, *others: graph,
    "tape": lambda graph, *others: graph,
    "streamed": lambda graph: set(),
    "small_product": lambda *others: None,
}
"""What the passes over loops and products are made of, and what does nothing in their place."""


@pytest.mark.parametrize("name", WITHOUT)
def test_parts_of_passes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewrite, name, WITHOUT[name])
    assert first_other(), f"no golden text differs without {name}"
