"""Writes at known places, one after the other: the code grows with their number, it does not double
with each. (Of each box around what was written all that lies below was computed anew.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.printer import print_program

import tracegrad as tg
from tests.staging.ways import by_source
from tracegrad.runtime.execute import layout_of
from tracegrad.schedule import schedule


def elements(x: Any, n: int) -> Any:
    y = np.zeros_like(x)
    for k in range(n):
        y[k] = np.mean(x[k : k + 3])
    return y


def overlapping(x: Any, n: int) -> Any:
    y = np.exp(x)
    for k in range(n):
        y[k : k + 5 : 1 + k % 2] = np.sum(y[k : k + 2]) * 0.25
    return y


def frames(x: Any, n: int) -> Any:
    y = np.outer(x, x)
    for k in range(n // 2):
        y[k + 1 : -1 - k, k] = np.sin(x[k + 1 : -1 - k])
        y[k, 2:-2] = x[2:-2] * y[k + 1, 2:-2]
    return y


def text_of(f: Callable[..., Any], x: Any) -> str:
    """Of what goes forth and back, compiled by nothing."""
    (graph, *_) = tg.jit(tg.grad(lambda x: np.sum(f(x) ** 2)), stage=False).graphs(x)[-1:]
    return str(print_program(schedule(graph, (layout_of(x),))).source)


@pytest.mark.parametrize("f", [elements, overlapping, frames])
def test_chains(f: Callable[..., Any]) -> None:
    x = np.linspace(-1.0, 2.0, 40)
    np.testing.assert_allclose(by_source(lambda x: f(x, 12))(x), f(x, 12), rtol=1e-13)
    lines = [text_of(lambda x, n=n: f(x, n), x).count("\n") for n in (6, 12)]
    assert lines[1] < 4 * lines[0]
