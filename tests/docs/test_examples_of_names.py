"""Each public name has an example on its page: in its docstring, or among the short ones, which run
here. What needs a GPU or another library has its examples on pages of their own."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

import tracegrad as tg

EXTENSIONS = Path(__file__).resolve().parents[2] / "docs" / "_ext"


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The modules that make the pages of names."""
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    import api_pages

    return api_pages


def test_each_name_has_an_example(pages: Any) -> None:
    short = sys.modules["short_examples"]
    lacking, needless, known = [], [], set()
    for group in pages.GROUPS:
        for name, value in pages.members(group).items():
            full = f"{group.place}.{name}"
            known.add(full)
            told = ">>>" in (inspect.getdoc(value) or "")
            if not told and full not in short.EXAMPLES and not full.startswith(short.ELSEWHERE):
                lacking.append(full)
            if told and full in short.EXAMPLES:
                needless.append(full)
    assert lacking == []
    assert needless == []
    assert set(short.EXAMPLES) <= known


def test_each_namespace_is_in_the_reference(pages: Any) -> None:
    """Those of `tg` that are loaded where they are asked for."""
    # `functional` is autograd's; what `interfaces` has is made by methods of jitted functions.
    inside = {"tree", "utils", "functional", "interfaces"}
    known = {group.place for group in (*pages.GROUPS, *pages.OF_OTHERS)}
    modules = {f"tracegrad.{name}" for name in {*tg._MODULES} - inside}  # type: ignore[attr-defined]
    assert modules - known == set()


def test_short_examples_run(pages: Any) -> None:
    short = sys.modules["short_examples"]
    for name in short.EXAMPLES:
        text = short.session(name)
        assert text.startswith(">>> import")


def test_docstrings_become_markup(pages: Any) -> None:
    import docstrings

    text = "Of `x` and *args.\n\na, b    two, see\n        `grad`\nc       last\n\n>>> 1 + 1\n2"
    made = docstrings.as_rst(text, "tracegrad")
    assert "``x``" in made
    assert "\\*args" in made
    assert "**a**, **b**\n    two, see " in made
    assert ":py:obj:`grad <tracegrad.grad>`" in made
    assert made.endswith(">>> 1 + 1\n2\n")
