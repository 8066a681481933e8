"""What is staged is a decision about cost alone: written out or kept as loops, a program gives the
same values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.test_statements import PROGRAMS, X
from tracegrad.ir.evaluate import evaluate
from tracegrad.staging import loops


@pytest.mark.parametrize("program", PROGRAMS)
def test_all_loops_kept(program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = program(X.copy()), tg.grad(program)(X)
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    graph = tg.jit(tg.value_and_grad(program), stage=True).graphs(X)[0]
    for a, b in zip(evaluate(graph, [X]), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)
