"""Phases that say the same of other temporaries are one function, and compute what they did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.fallbacks import FALLBACKS
from tracegrad.codegen.native import compile as native
from tracegrad.codegen.translation import alike, unit

import tracegrad as tg

ROWS, COLUMNS, STEPS = 60, 150, 5


def diffused(x: Any) -> Any:
    """Steps of a loop in Python, each over arrays of its own."""
    for _ in range(STEPS):
        near = np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1)
        x = np.tanh(0.5 * x + 0.2 * near)
    return np.sum(x * x)


def swapped(x: Any) -> Any:
    """What a step writes, the next but one reads: the same temporaries, the other way round."""
    y = x[::-1]
    for _ in range(STEPS):
        x, y = np.tanh(np.roll(x, 1, 0) + np.roll(y, 1, 1)), np.sin(np.roll(x, 1, 1) * y)
    return np.sum(x * y)


def computed(
    function: Any, x: Any, fewest: int, options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Any], list[int]]:
    """Values and gradients, with one thread and with two, and of how many phases there is one
    function each."""
    found: list[int] = []

    def noted(*given: Any) -> list[alike.Alike]:
        made = alike.alike(*given)
        found.extend([len(a.given) for a in made])
        return made

    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", "")
    monkeypatch.setattr(native, "KERNELS", {})
    monkeypatch.setattr(alike, "FEWEST", fewest)
    monkeypatch.setattr(unit, "alike", noted)
    f = tg.jit(tg.value_and_grad(function), **options)
    threads, results = tg.get_num_threads(), []
    try:
        for count in (1, 2):
            tg.set_num_threads(count)
            results.append(f(x))
    finally:
        tg.set_num_threads(threads)
    return results, found


@pytest.mark.parametrize(
    ("function", "dtype", "options"),
    [(diffused, np.float64, {}), (swapped, np.float32, {"flush_denormals": True})],
    ids=["diffused", "swapped"],
)
def test_the_same_as_apart(
    function: Any, dtype: Any, options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.sin(np.arange(ROWS * COLUMNS)).reshape(ROWS, COLUMNS).astype(dtype)
    refused = len(FALLBACKS)
    (one, two), found = computed(function, x, 1, options, monkeypatch)
    (apart, _), none = computed(function, x, 1 << 30, options, monkeypatch)
    assert max(found) >= 2
    assert not none
    assert len(FALLBACKS) == refused
    accuracy = 1e-12 if dtype is np.float64 else 1e-4
    for a, b, other in zip(one, two, apart, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, other, rtol=accuracy, atol=accuracy)
