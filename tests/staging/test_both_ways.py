"""What is staged is a decision about cost alone: written out or kept as loops, a program gives the
same values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.test_statements import PROGRAMS, X
from tracegrad.staging import loops


@pytest.mark.parametrize("program", PROGRAMS)
def test_all_loops_kept(program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = tg.jit(tg.value_and_grad(program))(X)
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    found = tg.jit(tg.value_and_grad(program), stage=True)(X)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)
