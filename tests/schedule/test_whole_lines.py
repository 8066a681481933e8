"""Rows of temporaries are whole lines where loops along them may go on beyond their ends: with the
bits of rows as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.schedule.passes import pipeline


def cost(centres: Any, points: Any) -> Any:
    squared = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    return np.sum(np.min(squared, axis=1))


def leaves(value: Any) -> list[Any]:
    number, found = value
    return [number, *(found if isinstance(found, tuple) else [found])]


def farthest(centres: Any, points: Any) -> Any:
    return np.sum(np.max(np.abs(points[:, None, :] - centres[None, :, :]).sum(2), axis=1))


def quotients(centres: Any, points: Any) -> Any:
    """Of zeros by zeros beyond the ends of rows."""
    squared = np.sum((points[:, None, :] / centres[None, :, :]) ** 2, axis=2)
    return np.sum(np.min(squared, axis=1))


COSTS = (cost, farthest, quotients)


def given(n: int, k: int, d: int, dtype: Any, odd: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(n + k)
    centres, points = rng.standard_normal((k, d)), rng.standard_normal((n, d))
    if odd:
        centres[3, 1], centres[k - 1, 0], points[5, 0], points[7] = np.inf, np.nan, -np.inf, 0.0
        points[11], centres[4] = centres[5], 1e-310
    return centres.astype(dtype), points.astype(dtype)


def rows(function: Callable[..., Any], *arguments: Any) -> set[int]:
    """How long the rows of temporaries are."""
    programs = tg.jit(function).programs(*arguments)
    return {int(b.shape[-1]) for b in programs[-1].program.buffers if b.role == "temp"}


@pytest.fixture
def as_they_are(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Takes the pass out."""

    def out() -> None:
        steps = tuple(p for p in pipeline.PIPELINE if p[0] != "whole lines")
        assert len(steps) == len(pipeline.PIPELINE) - 1
        monkeypatch.setattr(pipeline, "PIPELINE", steps)

    return out


@pytest.mark.parametrize("odd", [False, True], ids=["finite", "odd"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", COSTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("n", "k", "d", "argnums"), [(300, 100, 8, 0), (70, 57, 3, 0), (70, 57, 3, (0, 1))]
)
def test_bits_are_those_of_rows_as_they_are(
    function: Any,
    n: int,
    k: int,
    d: int,
    argnums: Any,
    dtype: Any,
    odd: bool,
    as_they_are: Callable[[], None],
) -> None:
    arguments = given(n, k, d, dtype, odd)
    derivative = tg.value_and_grad(function, argnums)
    with np.errstate(all="ignore"):
        found = leaves(tg.jit(derivative)(*arguments))
        longer = rows(derivative, *arguments)
        as_they_are()
        expected = leaves(tg.jit(derivative)(*arguments))
    assert k in rows(derivative, *arguments)
    lanes = 64 // np.dtype(dtype).itemsize
    whole = -(-k // lanes) * lanes
    # What is summed up along a row besides stays: its loops read no more than there is.
    assert (whole in longer) == (argnums == 0 and (whole - k) * 8 <= k)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("k", [24, 64, 96, 104, 1020])
def test_rows_that_stay(k: int) -> None:
    """Short ones, whole ones, and those that would be in each other's way."""
    assert rows(tg.grad(cost), *given(200, k, 4, np.float64, False)) <= {k, 4, 200, 1}


def test_sizes_that_are_not_known_stay() -> None:
    f = tg.jit(tg.grad(cost))
    for n, k in ((300, 100), (200, 90), (100, 101)):
        arguments = given(n, k, 4, np.float64, False)
        np.testing.assert_allclose(f(*arguments), tg.grad(cost)(*arguments), rtol=1e-12)


def test_threads_change_no_bit() -> None:
    arguments = given(20_000, 100, 8, np.float64, False)
    before = tg.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            tg.set_num_threads(threads)
            found.append(tg.jit(tg.grad(cost))(*arguments))
    finally:
        tg.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
