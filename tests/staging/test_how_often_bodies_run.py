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
from tracegrad.staging import both_branches, one_loop


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

    def counted(*args: Any, **options: Any) -> Any:
        looks[-1] += 1
        return run(*args, **options)

    monkeypatch.setattr(both_branches, "run", counted)
    for k, depth in enumerate((3, 6)):
        looks[1], looks[0] = 0, looks[k]
        f = executed(nested(depth), f"/nested/branches_{depth}.py")["f"]
        graph = tg.jit(f).graphs(X)[0]
        np.testing.assert_allclose(evaluate(graph, [X])[0], f(X), rtol=1e-13)
    assert looks[1] <= 4 * looks[0]


def nested_in_a_while(depth: int) -> str:
    """Branches that append to a list and write into an array, in a loop that takes items, which is
    in a branch of another loop."""
    lines = ["def f(x):", "    z, n = np.zeros(4), 0", "    for i in range(6):"]
    lines += ["        if x[i % 4] > 0.8:", "            a = [i]", "            while a:"]
    lines += ["                k = a.pop()", "                n = n + 1"]
    for d in range(depth):
        tab = "    " * (d + 4)
        lines += [f"{tab}if z[{d % 4}] < 2 * x[{d % 4}]:", f"{tab}    z[{d % 4}] += x[0]"]
        lines += [f"{tab}    a.append(k + 1)"]
    return "\n".join([*lines, "    return z.sum() + n", ""])


def test_what_branches_leave_is_known_in_later_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither lists nor arrays are known by what only one graph has of them: 724 runs of bodies,
    which were 1,228."""
    run, looks = both_branches.run, [0]

    def counted(*args: Any, **options: Any) -> Any:
        looks[0] += 1
        return run(*args, **options)

    monkeypatch.setattr(both_branches, "run", counted)
    monkeypatch.setattr(one_loop, "run", counted)
    x = np.array([1.1, 0.7, 0.9, 1.3])
    f = executed(nested_in_a_while(4), "/nested/while_4.py")["f"]
    graph = tg.jit(f, stage=True).graphs(x)[0]
    np.testing.assert_allclose(evaluate(graph, [x])[0], f(x), rtol=1e-13)
    assert looks[0] < 900
