"""What is infinite or NaN reaches the elements that it is a part of, and no other. In a convolution
there is nothing beyond the ends to multiply it by (values are NumPy's, slopes are correlations,
which NumPy has too); beside an infinite value a piece of `interp` begins at its other end."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tracegrad as tg

SIZES = [(1, 1), (1, 4), (2, 2), (3, 2), (2, 5), (6, 3)]
MODES = ["full", "same", "valid"]
FUNCTIONS = {
    "np.convolve": (np.convolve, np.convolve),
    "np.correlate": (np.correlate, np.correlate),
    "signal.convolve": (tg.signal.convolve, lambda a, v, mode: cut(np.convolve(a, v), a, v, mode)),
    "signal.correlate": (
        tg.signal.correlate,
        lambda a, v, mode: cut(np.correlate(a, v, "full"), a, v, mode),
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore:invalid value")


def cut(full, a, v, mode):
    """As SciPy has it: it multiplies by zeros beyond the ends where `a` is the shorter one."""
    n, m = len(a), len(v)
    start, size = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n)}.get(
        mode, (min(n, m) - 1, abs(n - m) + 1)
    )
    return full[start : start + size]


def vectors(sizes, bad, which, dtype=float):
    rng = np.random.default_rng(0)
    pair = [rng.standard_normal(n).astype(dtype) for n in sizes]
    pair[which][0] = bad
    return pair


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, mode, bad):
    ours, theirs = FUNCTIONS[name]
    for sizes in SIZES:
        for which in (0, 1):
            for dtype in (float, np.float32, complex):
                a, v = vectors(sizes, bad, which, dtype)
                expected = theirs(a, v, mode)
                found = tg.jvp(lambda a, v: ours(a, v, mode), (a, v), (a * 0, v * 0))[0]
                np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
                np.testing.assert_allclose(found, expected, rtol=1e-5)
                assert found.dtype == expected.dtype


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("which", [0, 1])
def test_slopes(which, sizes):
    a, v = vectors(sizes, np.inf, which)
    c = np.arange(1.0, sum(sizes))
    slopes = tg.grad(lambda a, v: np.sum(c * np.convolve(a, v)), argnums=(0, 1))(a, v)
    np.testing.assert_allclose(slopes[0], np.correlate(c, v, "valid"))
    np.testing.assert_allclose(slopes[1], np.correlate(c, a, "valid"))


def test_compiled():
    a, v = vectors((6, 3), np.inf, 1)
    c = np.arange(1.0, 9.0)
    whole = tg.jit(tg.value_and_grad(lambda a: np.sum(c * np.convolve(a, v))))
    found = tg.jit(lambda a: np.convolve(a, v))(a)
    np.testing.assert_array_equal(found, np.convolve(a, v))
    np.testing.assert_allclose(whole(a)[1], np.correlate(c, v, "valid"))


@pytest.mark.parametrize("sizes", [((3, 4), (2, 3)), ((4, 1), (1, 1)), ((2, 2), (2, 2))])
@pytest.mark.parametrize("which", [0, 1])
def test_matrices(which, sizes):
    rng = np.random.default_rng(0)
    pair = [rng.standard_normal(size) for size in sizes]
    pair[which][0, 0] = np.inf
    a, v = pair
    expected = np.zeros([n + m - 1 for n, m in zip(*sizes, strict=True)])
    for at in np.ndindex(*sizes[1]):
        expected[tuple(slice(k, k + n) for k, n in zip(at, sizes[0], strict=True))] += a * v[at]
    ways = (
        lambda a: tg.signal.convolve(a, v),
        lambda a: tg.signal.convolve2d(a, v),
        lambda a: tg.signal.correlate2d(a, v[::-1, ::-1]),
    )
    for way in ways:
        np.testing.assert_allclose(tg.jvp(way, (a,), (0 * a,))[0], expected)


def test_polynomials():
    p, q = np.array([np.inf, 1.0]), np.array([2.0, -1.0, 3.0])
    found = tg.jvp(lambda p: np.polymul(p, q), (p,), (0 * p,))[0]
    np.testing.assert_allclose(found, np.polymul(p, q))


def test_a_mode_that_is_none():
    with pytest.raises(ValueError, match="mode is"):
        tg.grad(lambda a: np.sum(np.convolve(a, a, "most")))(np.ones(3))


def test_interpolated():
    places, points = np.array([-1, 0, 0.5, 1, 2, 2.5, 3, np.nan, np.inf, -np.inf]), np.arange(4.0)
    for compiled in (False, True):
        wrap = tg.jit if compiled else lambda f: lambda x, y: tg.jvp(f, (x, y), (x, y))[0]
        ours = wrap(lambda x, y: np.interp(x, points, y))
        for values in itertools.product([np.inf, -np.inf, np.nan, 1.0, 2.0], repeat=4):
            np.testing.assert_array_equal(
                ours(places, np.array(values)), np.interp(places, points, values)
            )


def test_slopes_of_interpolated():
    values = np.array([1.0, 3.0, -np.inf, 2.0])
    slope = tg.grad(lambda x: np.sum(np.interp(x, np.arange(4.0), values)))(np.array([0.0, 0.5]))
    np.testing.assert_array_equal(slope, [2.0, 2.0])
