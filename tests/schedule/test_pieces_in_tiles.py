"""Arrays joined of pieces that lie across memory: parts of a loop in blocks, in tiles. A part may
have no passes in a block, and compiled code's integers have no sign."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.kernel_runner import Runner
from tracegrad._codegen import integers, kernel
from tracegrad.schedule import build, schedule
from tracegrad.schedule.passes import tiling
from tracegrad.transforms.rewrite import optimize

I = integers.symbol("i")  # noqa: E741


def bends(a: Any) -> Any:
    kept = np.sin(a)
    return np.concatenate([kept[:, 2:] - kept[:, :-2], kept], axis=1).T


def turned(a: Any) -> Any:
    kept = np.sin(a)
    return np.concatenate([kept[:, :1], kept[:, ::-1], kept[:, 5:], 2 * kept[:, :-3]], axis=1).T


def framed(a: Any) -> Any:
    kept = np.sin(a)
    return np.pad(kept[:, 1:] * kept[:, :-1], ((0, 0), (3, 20))).T + np.sum(kept)


@pytest.mark.parametrize("f", [bends, turned, framed])
@pytest.mark.parametrize("columns", [14, 15, 16, 17, 31, 33, 40, 46])
def test_every_part_ends(
    f: Callable[..., Any], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiling, "TILE", 3)
    monkeypatch.setattr(build, "BLOCK", 64)
    a = np.random.default_rng(columns).normal(size=(15, columns))
    for sized in (a, a[:, :-1]):  # the second one by the code for any size
        graph = optimize(tg.jit(f).graphs(sized)[0])
        runner = Runner(schedule(graph, ("C",)), [sized], 1)
        (found,) = runner.run()
        np.testing.assert_allclose(found, f(sized), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("lo", "hi", "trips"),
    [(0, 7, 7), (2, 7, 5), (7, 2, 0), (I, I + 3, 3), (I + 3, I, 0), (0, I, I)],
)
def test_passes_are_none_or_more(lo: Any, hi: Any, trips: Any) -> None:
    assert kernel.Loop("j", lo, hi, ()).trips == trips


def test_passes_of_ends_that_a_run_knows() -> None:
    trips = kernel.Loop("j", I, 10, ()).trips
    assert [integers.evaluate(trips, {"i": i}) for i in (0, 9, 10, 11)] == [10, 1, 0, 0]


def test_the_jacobian_of_a_smooth_line() -> None:
    """It did not end."""
    t = np.linspace(0, 3, 200)

    def residuals(x: Any) -> Any:
        line = x[:200] + x[200] * t
        return np.concatenate([5.0 * (line[2:] - 2 * line[1:-1] + line[:-2]), line])

    x = np.zeros(201)
    np.testing.assert_allclose(tg.jit(tg.jacobian(residuals))(x), tg.jacobian(residuals)(x))
