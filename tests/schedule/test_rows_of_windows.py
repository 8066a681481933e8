"""Rows from one place on are read where they lie: a sum over them goes along memory, and what is
written back changes them there."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracegrad as tg


def projected(a: Any) -> Any:
    """What is left of columns without the ones before them."""
    rest = a.copy()
    m, n = rest.shape
    for k in range(n):
        for j in range(k + 1, n):
            s = 0.0
            for i in range(m):
                s += rest[i, k] * rest[i, j]
            for i in range(m):
                rest[i, j] = rest[i, j] - rest[i, k] * s
    return rest


def test_columns_without_those_before() -> None:
    a = np.random.default_rng(0).uniform(-0.5, 0.5, (24, 20))
    made = tg.jit(projected)
    np.testing.assert_allclose(made(a), projected(a), rtol=1e-9, atol=1e-12)
    text = made.source(a)
    sums = text[text.index("steps1 = ") :].split("for ")
    # Rows outside, columns inside, and no other matrix beside the one that changes.
    assert "in range(0, steps1):" in sums[3]
    assert text.count("(24, 20), np.float64)") + text.count("(19, 24), np.float64)") <= 2
