"""Loops that a transform has traced, run outside of compiled functions: as native code where that
pays, with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.control import running


def root(a: Any) -> Any:
    return tg.while_loop(
        lambda x: abs(x * x - a) > 1e-13 * a, lambda x: (x + a / x) / 2, a, max_steps=40
    )


def orbit(x: Any, n: Any) -> Any:
    ends = tg.scan(lambda s, t: (np.sin(s * t), s), x, np.arange(1.0, 4.0))
    return tg.fori_loop(
        0,
        n,
        lambda i, s: tg.cond(s > 0.5, np.cos, lambda v: v * x + i, s),
        np.sum(ends[1]) + ends[0],
    )


@pytest.mark.parametrize("native", [False, True])
def test_the_same_in_both_ways(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    original = running.natively

    def seen(op: Any, inputs: Any, params: Any) -> Any:
        made.append(op.name)
        return original(op, inputs, params)

    monkeypatch.setattr(running, "WORTH", 0 if native else float("inf"))
    for module in ("scan_rules", "repeat", "sized"):
        monkeypatch.setattr(f"tracegrad.control.{module}.natively", seen)
    a, n = np.array([2.0, 0.3, 9.0]), np.array([0, 3, 5])
    np.testing.assert_allclose(tg.vmap(root)(a), np.sqrt(a), rtol=1e-13)
    np.testing.assert_allclose(tg.vmap(tg.grad(root))(a), 0.5 * a**-0.5, rtol=1e-9)
    found = tg.vmap(tg.value_and_grad(orbit))(a, n)
    for k in range(3):
        np.testing.assert_allclose(
            [found[0][k], found[1][k]], tg.value_and_grad(orbit)(a[k], n[k]), rtol=1e-11
        )
    x = tg.tensor(a, requires_grad=True)
    tg.vmap(orbit, in_axes=(0, None))(x, 2).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [tg.grad(orbit)(v, 2) for v in a], rtol=1e-11)
    with pytest.raises(RuntimeError, match="max_steps=40"):
        tg.vmap(root)(np.array([1.0, -2.0]))
    assert bool(made) == native


def test_much_work_is_native_and_compiled_once() -> None:
    a = np.linspace(0.5, 9.0, 3000)
    f = tg.vmap(lambda a: root(a) + 0.125)
    found, made = [], [len(running.MADE)]
    for _ in range(3):
        found.append(f(a))
        made.append(len(running.MADE))
    assert made[0] < made[1] == made[2] == made[3]
    np.testing.assert_allclose(found, [np.sqrt(a) + 0.125] * 3, rtol=1e-13)
