"""All powers of a number from the 0th on: one product each, and within the error of single ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

ULPS = {64: 5, 100: 5, 128: 5, 300: 7, 1000: 7}
"""What `pow_below_128` and `pow_below_1024` are said to keep."""


def powers(x: Any, n: int) -> Any:
    return x[:, None] ** np.arange(n)


@pytest.mark.parametrize("n", ULPS)
def test_errors(n: int) -> None:
    rng = np.random.default_rng(n)
    x = np.concatenate([rng.uniform(-1.3, 1.3, 3_000), 1 + rng.normal(size=1_000) / n])
    compiled = tg.jit(lambda x: powers(x, n))
    found = compiled(x)
    assert "high = pow_below" in compiled.source(x)
    exact = np.ones((len(x), n), np.longdouble)
    for k in range(1, n):
        exact[:, k] = exact[:, k - 1] * x
    info = np.finfo(float)
    normal = (np.abs(exact) > 4 * info.smallest_normal) & (np.abs(exact) < info.max / 4)
    steps = np.abs(found - exact)[normal] / np.spacing(np.abs(exact[normal]).astype(float))
    assert steps.max() <= ULPS[n]
    small = np.abs(exact) <= 4 * info.smallest_normal
    assert np.all(np.abs(found - exact)[small] <= 2 * ULPS[n] * info.smallest_subnormal)


@pytest.mark.parametrize("n", [64, 70, 128, 1000])
def test_special_numbers(n: int) -> None:
    x = np.array(
        [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-300, -1e300, 5e-324, 1e5, -1e-5]
    )
    with np.errstate(all="ignore"):
        expected = powers(x, n)
    found = tg.jit(lambda x: powers(x, n))(x)
    np.testing.assert_allclose(found, expected, rtol=2e-15, atol=1e-322)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("rows", [0, 1, 3, 500])
def test_sums_and_gradients(rows: int) -> None:
    rng = np.random.default_rng(0)
    w, x, y = rng.normal(size=90), rng.uniform(-1, 1, rows), rng.normal(size=rows)

    def loss(w: Any, x: Any) -> Any:
        return np.sum((y - np.sum(w * powers(x, 90), axis=1)) ** 2) + np.sum(powers(x, 90)[:, ::7])

    for k in (0, 1):
        found = tg.jit(tg.grad(loss, argnums=k))(w, x)
        np.testing.assert_allclose(found, tg.grad(loss, argnums=k)(w, x), rtol=1e-11, atol=1e-11)


def test_threads_have_rows_of_their_own() -> None:
    x = np.linspace(-1, 1, 40_000)
    compiled = tg.jit(lambda x: np.sum(powers(x, 128), axis=0))
    before, found = tg.get_num_threads(), []
    try:
        for threads in (1, 2):
            tg.set_num_threads(threads)
            found.append(compiled(x))
    finally:
        tg.set_num_threads(before)
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], powers(x, 128).sum(axis=0), rtol=1e-11, atol=1e-11)


def residuals(w: Any, x: Any) -> Any:
    return np.sum((np.sign(x) - np.sum(w * powers(x, 128), axis=1)) ** 2)


def test_what_is_kept_is_computed_in_its_place() -> None:
    """No row of the thread's own, and no copy of it."""
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=128), rng.uniform(-1, 1, 300)
    compiled = tg.jit(tg.grad(residuals))
    source = compiled.source(w, x)
    assert "high = pow_below" in source
    assert "np.empty" not in source
    np.testing.assert_allclose(compiled(w, x), tg.grad(residuals)(w, x), rtol=1e-11, atol=1e-11)


def test_what_is_kept_with_something_else_has_a_row_of_its_own() -> None:
    """The powers, and beside them their sum with what was there."""

    def kept_and_summed(w: Any, x: Any) -> Any:
        row = powers(x, 100)
        return np.sum(row * (np.sum(row * w, axis=1)[:, None] + row))

    rng = np.random.default_rng(1)
    w, x = rng.normal(size=100), rng.uniform(-1, 1, 70)
    for k in (0, 1):
        found = tg.jit(tg.grad(kept_and_summed, argnums=k))(w, x)
        expected = tg.grad(kept_and_summed, argnums=k)(w, x)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
