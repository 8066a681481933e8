"""What compiled functions print on a device: at each call, in Python's order, and in gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([0.5, 1.5, -2.0])


def told(x: Any) -> Any:
    total = x[0]
    for k in range(3):
        if total < 1.0:
            tg.debug_print("step {}: {}", k, total)
        total = total * x[k]
    tg.debug_print("total {}", total)
    return total * np.sum(x)


def test_each_call_prints(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(function: Any, x: Any) -> tuple[Any, str]:
        capsys.readouterr()
        found = function(x)
        return found, capsys.readouterr().out

    for function in (told, tg.grad(told)):
        jitted = tg.jit(function)
        wanted, lines = printed(jitted, X)
        assert len(lines.splitlines()) > 1
        on_device = tg.tensor(X, device="cuda")
        for _ in range(3):
            found, there = printed(jitted, on_device)
            assert there == lines
            np.testing.assert_allclose(found.cpu().numpy(), wanted, rtol=1e-12)
