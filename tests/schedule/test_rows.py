"""What is summed along short rows and read again is computed once, while its row is at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

RNG = np.random.default_rng(8)


def entropies(z: Any) -> Any:
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    return np.sum(p * p, axis=1)


def by_hand(z: Any) -> tuple[Any, Any]:
    """The sum of squared probabilities of each row, and the derivative of their total."""
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    squares = np.sum(p * p, axis=1, keepdims=True)
    return squares[:, 0], 2 * p * (p - squares)


@pytest.mark.parametrize(("rows", "columns"), [(2001, 9), (300, 40)])
def test_the_exponentials_of_a_row_are_computed_once(rows: int, columns: int) -> None:
    f = tg.jit(lambda z: (entropies(z), tg.grad(lambda y: np.sum(entropies(y)))(z)))
    z = RNG.normal(size=(rows, columns))
    squares, slopes = by_hand(z)
    found = f(z)
    np.testing.assert_allclose(found[0], squares, rtol=1e-12)
    np.testing.assert_allclose(found[1], slopes, rtol=1e-10, atol=1e-14)
    assert f.source(z).split('"""')[2].count("exp(") == 1
    assert f.memory(z).temporaries < z.nbytes // 2
    before = tg.get_num_threads()
    tg.set_num_threads(2)
    for x, y in zip(f(z), found, strict=True):
        np.testing.assert_array_equal(x, y)
    tg.set_num_threads(before)
    # A row without a greatest number says so, and the others do not mind.
    z[1, 3], z[2, 5], z[3, 7] = np.nan, np.inf, -np.inf
    squares, slopes = f(z)
    with np.errstate(all="ignore"):
        wanted = by_hand(z)
    np.testing.assert_array_equal(np.isnan(squares), np.isnan(wanted[0]))
    np.testing.assert_allclose(squares, wanted[0], rtol=1e-12)
    assert np.all(np.isnan(slopes[1:3]))
    kept = np.setdiff1d(np.arange(rows), [1, 2])
    np.testing.assert_allclose(slopes[kept], wanted[1][kept], rtol=1e-10, atol=1e-14)


def test_short_axes_between_two_are_written_out() -> None:
    """A total that is stored is one statement in the loop along the row, which then vectorises."""

    def totals(a: Any, b: Any) -> Any:
        each = a[:, :, None] * b
        whole, largest = np.sum(each, axis=1), np.max(each, axis=1)
        return whole, largest, np.min(whole, axis=1), np.sum(each > 0.0, axis=1)

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((40, 3)), rng.standard_normal((3, 40))
    a[3, 1], b[2, 5] = np.nan, np.inf
    f = tg.jit(totals)
    assert "range(0, 3)" not in f.source(a, b).split('"""')[2]
    for found, expected in zip(f(a, b), totals(a, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-15)
