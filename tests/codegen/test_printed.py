"""The text of a kernel as somebody reads it: nothing in it is dead, and its graph stands once."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.cases import sample
from tests.ops.test_ops import CASES

TEXTS = sorted((Path(__file__).parents[1] / "golden" / "texts").glob("*.txt"))


def dead_views(source: str) -> list[str]:
    """The names that are given a shape and not read after that."""
    views = re.finditer(r"^ +(\w+) = view\(.*\)$", source, flags=re.M)
    return [m[1] for m in views if not re.search(rf"\b{m[1]}\b", source[m.end() :])]


@pytest.mark.parametrize("unused", [0, 1, 2])
@pytest.mark.parametrize("transform", [lambda f: f, lambda f: tg.grad(f, (0, 1, 2))])
def test_arguments_that_nothing_reads_have_no_view(transform: Any, unused: int) -> None:
    def f(*arrays: Any) -> Any:
        return sum(
            (np.sum(np.sin(a.T) * a.reshape(a.shape[::-1])))
            for k, a in enumerate(arrays)
            if k != unused
        )

    arrays = [np.linspace(0.0, 1.0, 12).reshape(3, 4) + k for k in range(3)]
    jitted = tg.jit(transform(f))
    source = jitted.source(*arrays)
    assert "view(" in source
    assert dead_views(source) == []
    for found, expected in zip(
        np.ravel(np.array(jitted(*arrays), object)),
        np.ravel(np.array(transform(f)(*arrays), object)),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("path", TEXTS, ids=[p.stem for p in TEXTS])
def test_no_view_is_dead(path: Path) -> None:
    assert dead_views(path.read_text(encoding="utf-8").partition("## source")[2]) == []


def test_the_docstring_is_the_graph() -> None:
    def f(w: Any, x: Any) -> Any:
        return np.sum(tg.scan(lambda c, v: (np.tanh(w * c + v), c), x[0], x)[0] ** 2)

    jitted = tg.jit(tg.grad(f))
    args = 0.5, np.linspace(0.0, 1.0, 12).reshape(4, 3)
    doc = jitted.source(*args).split('"""')[1]
    assert doc.count("graph grad_f(") == 1
    graph = re.sub(r"  # after .*", "", str(jitted.graphs(*args)[-1]))
    assert [line.strip() for line in doc.splitlines()] == [
        *[line.strip() for line in graph.splitlines()],
        "",
    ]


def test_programs_of_every_operation_have_a_text() -> None:
    """Whatever stands in an operation's formula (`{dtype}` among it) is shown after each pass."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in sample([c for c in CASES if c.jit], 20):
            arrays = case.inputs(np.random.default_rng(0))
            shown = str(tg.jit(case.function).programs(*arrays))
            # Messages have a place for the value that is found.
            assert "{" not in shown.replace("{value}", ""), case.name
