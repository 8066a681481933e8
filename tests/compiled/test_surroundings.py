"""What a jitted function reads around it decides when it is traced again; nothing else does."""

from __future__ import annotations

import numpy as np

import tracegrad as tg

mean = np.zeros(3)
scale = 2.0


def test_an_attribute_is_not_a_global_of_the_same_name() -> None:
    global mean

    @tg.jit
    def f(x):
        return x.mean()

    x = np.ones(4)
    first = f.graphs(x)[0]
    mean = np.ones(3)
    assert f(x) == 1.0
    assert f.graphs(x)[0] is first


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


def test_an_attribute_of_the_class_that_is_shadowed_later() -> None:
    class Settings:
        rate = 0.5
        offset = np.array([1.0])

    settings = Settings()
    f = tg.jit(lambda x: settings.rate * x + settings.offset)
    assert f(np.ones(1)) == 1.5
    settings.rate = 2.0
    assert f(np.ones(1)) == 3.0
    settings.offset = np.array([5.0])
    assert f(np.ones(1)) == 7.0
    Settings.rate = 100.0
    del settings.rate
    assert f(np.ones(1)) == 105.0
