"""What is made of a function at each stage is the text that is kept beside this file: whoever
changes a pass sees what it changes.

`pytest tests/golden --golden` writes the texts anew; the difference is then for a person to read.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest

from tests.golden.functions import GOLDEN
from tests.golden.texts import texts_of

FOLDER = Path(__file__).parent / "texts"


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    path = FOLDER / f"{name}.txt"
    found = texts_of(GOLDEN[name])
    if request.config.getoption("golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    kept = path.read_text(encoding="utf-8")
    if found != kept:
        lines = difflib.unified_diff(
            kept.splitlines(), found.splitlines(), "kept", "now", lineterm="", n=2
        )
        pytest.fail(
            "\n".join([*list(lines)[:80], "If this is meant: pytest tests/golden --golden"]),
            pytrace=False,
        )


def test_no_text_is_left_over() -> None:
    assert {p.stem for p in FOLDER.iterdir()} == set(GOLDEN)


def test_texts_do_not_depend_on_what_ran_before() -> None:
    """Names are given in order of appearance, and nothing is remembered between functions."""
    some: list[Any] = [
        GOLDEN[name] for name in ("recurrent_grad", "newton_over_items", "logistic_of_all_sizes")
    ]
    first = [texts_of(g) for g in some]
    assert [texts_of(g) for g in reversed(some)][::-1] == first
