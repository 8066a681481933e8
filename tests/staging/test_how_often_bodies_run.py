"""How often the body of a loop or a branch runs: while it is traced, and in the function made of
it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.test_stacks_and_queues import X, adaptive_quadrature
from tests.texts import executed
from tracegrad.ir.evaluate import evaluate
from tracegrad.staging import both_branches


def test_a_stack_is_filled_for_its_rows_and_for_the_adjoint() -> None:
    """The loop that finds how many rows it takes has the value, too; that of the adjoint keeps the
    items that were read, and not all rows for each pass."""
    for f, runs in ((adaptive_quadrature, 1), (tg.grad(adaptive_quadrature), 3)):
        _, text = str(tg.jit(f).source(X)).rsplit('"""', 1)
        assert text.count("= sin(") == 3 * runs
        assert text.count("np.empty((steps1,") == (3 if runs > 1 else 0)
        assert "np.empty((steps1 + 1," not in text


def nested(depth: int) -> str:
    lines = ["def f(x):", "    a, t = [x[0]], 0.0"]
    for k in range(depth):
        tab = "    " * (k + 1)
        lines += [f"{tab}if x[{k % 4}] < 3.5 - t:", f"{tab}    a.append(x[{k % 4}] * {k + 1})"]
        lines += [f"{tab}    t = t + 0.1 * a[-1]"]
    return "\n".join([*lines, "    return t + sum(a)", ""])


def test_looks_at_nested_branches_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """How a branch leaves lists of two lengths is learnt once, so that depth does not multiply
    looks."""
    run, looks = both_branches.run, [0, 0]

    def counted(*args: Any) -> Any:
        looks[-1] += 1
        return run(*args)

    monkeypatch.setattr(both_branches, "run", counted)
    for k, depth in enumerate((3, 6)):
        looks[1], looks[0] = 0, looks[k]
        f = executed(nested(depth), f"/nested/branches_{depth}.py")["f"]
        graph = tg.jit(f).graphs(X)[0]
        np.testing.assert_allclose(evaluate(graph, [X])[0], f(X), rtol=1e-13)
    assert looks[1] <= 4 * looks[0]
