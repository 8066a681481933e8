"""Loops along which values differ at a few places only are a fill and loops over these places, with
the bits of the loops that ask everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.schedule.passes import pipeline


def grid(x: Any) -> tuple[Any, Any, Any]:
    """Rows, columns, and a number for each row."""
    j = tg.ops.iota(x.shape[0])
    return j[:, None], j, x[:, None]


def beside(x: Any) -> Any:
    i, j, y = grid(x)
    return ((j == i - 1) * y + (j == i) * (3.0 * y) - (j == i + 1)) * y + 1.0 / y


def before(x: Any) -> Any:
    """Places that are negative in many rows, and alone."""
    i, j, y = grid(x)
    return np.where(j == i - 35, y * y - 1.0, y / 3.0) * (j == i - 20)


def all_before(x: Any) -> Any:
    i, j, y = grid(x)
    return ((j == i - 35) + 2.0 * (j == i - 33) * y) * y - 2.0 * y


def scattered(x: Any) -> Any:
    """Three stretches, of which one is beyond the end in all rows but a few."""
    i, j, y = grid(x)
    return ((j == i + 30) * y + (j == 5) * (y * y) - (j == 3) * 2.0 + 0.5 * (j == i)) * y


def near_the_end(x: Any) -> Any:
    i, j, y = grid(x)
    return ((j == i + (x.shape[0] - 1)) * y + (j == i + x.shape[0] - 2)) * y + y * y


def chain(x: Any) -> Any:
    return np.sum((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)


def ring(x: Any) -> Any:
    return np.sum(np.cos(x) * x) + x[0] * x[-1] ** 3


FORMS: dict[str, Callable[[Any], Any]] = {
    "beside": beside,
    "before": before,
    "all before": all_before,
    "scattered": scattered,
    "near the end": near_the_end,
    "Hessian of a chain": tg.hessian(chain),
    "Hessian of a ring": tg.hessian(ring),
}


def numbers(n: int, dtype: Any, odd: bool) -> Any:
    x = np.random.default_rng(n).uniform(-2, 2, n).astype(dtype)
    if odd:
        x[[1, n // 2, n - 1]] = np.inf, np.nan, -0.0
    return x


@pytest.mark.parametrize("name", FORMS)
def test_bits_are_those_of_the_loop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    new = tg.jit(FORMS[name])
    given = [
        numbers(n, dtype, odd)
        for dtype in (np.float64, np.float32)
        for n, odd in ((40, False), (41, True), (37, True), (33, False))
    ]
    found = [np.asarray(new(x)) for x in given]
    text = new.source(given[0])
    monkeypatch.setattr(
        pipeline, "PIPELINE", tuple([p for p in pipeline.PIPELINE if p[0] != "few places"])
    )
    old = tg.jit(FORMS[name])
    for x, got in zip(given, found, strict=True):
        want = np.asarray(old(x))
        assert got.dtype == want.dtype
        nan = np.isnan(want)
        np.testing.assert_array_equal(np.isnan(got), nan)
        assert np.where(nan, 0, got).tobytes() == np.where(nan, 0, want).tobytes()
    assert old.source(given[0]) != text


def test_what_the_index_is_read_for_stays_a_loop() -> None:
    """Elements along the row, and sums of it."""

    def along(x: Any) -> Any:
        i, j, y = grid(x)
        return ((j == i) * y + (j == i - 1) * x) * y + j

    x = numbers(40, np.float64, False)
    np.testing.assert_allclose(tg.jit(along)(x), along(x), rtol=1e-14)
