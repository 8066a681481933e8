"""What a jitted function reads around it decides when it is traced again; nothing else does."""

from __future__ import annotations

import numpy as np

import tracegrad as tg

mean = np.zeros(3)
scale = 2.0


def test_an_attribute_is_not_a_global_of_the_same_name() -> None:
    global mean
    count = [0]

    @tg.jit
    def f(x):
        count[0] += 1
        return x.mean()

    for k in range(3):
        mean = np.full(3, float(k))  # rebinding it must not concern `x.mean`
        f(np.ones(4))
    assert count == [1]


def test_a_changed_scalar_is_seen() -> None:
    global scale

    @tg.jit
    def f(x):
        return np.sum(scale * x)

    assert f(np.ones(3)) == 6.0
    try:
        scale = 3.0
        assert f(np.ones(3)) == 9.0
    finally:
        scale = 2.0
