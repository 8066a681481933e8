"""Own divide and conquer: residuals, orthogonality and eigenvalues on tridiagonal matrices that are
hard for it, with clusters, equal parts, tiny bridges between parts, and elements of all sizes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.native import prebuilt

import tracegrad as tg

Array = np.ndarray[Any, Any]
SIZES = (1, 2, 3, 5, 24, 25, 49, 63, 100, 203)


def _random(n: int) -> Array:
    return np.random.default_rng(n).standard_normal(n)


DIAGONALS: dict[str, Callable[[int], tuple[Array, Array]]] = {
    "random": lambda n: (_random(n), _random(n + 1)[1:]),
    "negative": lambda n: (_random(n), -np.abs(_random(n + 1)[1:])),
    "second difference": lambda n: (2 * np.ones(n), -np.ones(n)),
    "zero": lambda n: (np.zeros(n), np.zeros(n)),
    "diagonal": lambda n: (_random(n), np.zeros(n)),
    "nothing on the diagonal": lambda n: (np.zeros(n), np.ones(n)),
    "Wilkinson": lambda n: (np.abs(np.arange(n) - (n - 1) / 2), np.ones(n)),
    "Wilkinson, glued": lambda n: (
        np.abs(np.arange(n) % 21 - 10.0),
        np.where(np.arange(n) % 21 == 20, 1e-7, 1.0),
    ),
    "falling": lambda n: (10.0 ** -np.linspace(0, 30, n), 10.0 ** -np.linspace(0, 30, n)),
    "rising": lambda n: (10.0 ** -np.linspace(30, 0, n), 10.0 ** -np.linspace(30, 0, n)),
    "nearly diagonal": lambda n: (_random(n), 1e-9 * _random(n + 1)[1:]),
    "a cluster": lambda n: (1 + 1e-12 * _random(n), 1e-12 * _random(n + 1)[1:]),
    "parts apart": lambda n: (np.full(n, 0.5), (np.arange(n) % 3 > 0) * 1.0),
    "Legendre": lambda n: (np.zeros(n), 0.5 / np.sqrt(1 - 0.25 / np.arange(1.0, n + 1) ** 2)),
    "Hermite": lambda n: (np.zeros(n), np.sqrt(np.arange(1.0, n + 1))),
    "large": lambda n: (1e9 * _random(n), 1e9 * _random(n + 1)[1:]),
    "small": lambda n: (1e-9 * _random(n), 1e-9 * _random(n + 1)[1:]),
}  # fmt: skip


@cache
def routine(dtype: str) -> Any:
    address = prebuilt.address(f"divided_{dtype}")
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 7)(address)


def divided(d: Array, e: Array) -> tuple[Array, Array]:
    n, dtype = len(d), d.dtype
    apart = ((n + 8 + 15) // 16 | 1) * 16
    w, beside, z = d.copy(), e.copy(), np.full((n, n), np.nan, dtype)
    space = np.full((2 * n + 8) * apart, np.nan, dtype)
    ints, info = np.full(6 * n, -1, np.int64), np.full(1, 77, np.int32)
    given = (np.array([n]), w, beside, z, space, ints, info)
    routine(dtype.name)(*[x.ctypes.data for x in given])
    assert info[0] == 0
    return w, z


def is_spectrum(whole: Array, w: Array, v: Array, dtype: Any) -> bool:
    """Whether these are eigenvalues, ascending, and orthonormal eigenvectors, to a few units of
    rounding."""
    whole, found, v = (np.asarray(x, np.float64) for x in (whole, w, v))
    size, n = np.abs(whole).sum(1).max() or 1.0, len(whole)
    limit = 4 * max(n, 10) * np.finfo(dtype).eps
    return bool(
        (np.diff(w) >= 0).all()
        and np.abs(whole @ v - v * found).max() <= limit * size
        and np.abs(v.T @ v - np.eye(n)).max() <= limit
        and np.abs(found - np.linalg.eigvalsh(whole)).max() <= limit * size
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", DIAGONALS)
def test_hard_matrices(name: str, dtype: str) -> None:
    for n in SIZES:
        d, e = (x.astype(dtype) for x in DIAGONALS[name](n))
        w, z = divided(d, e)
        whole = np.diag(d) + np.diag(e[:-1], 1) + np.diag(e[:-1], -1)
        assert is_spectrum(whole, w, z.T, dtype), n


def _turned(n: int, values: Array) -> Array:
    q = np.linalg.qr(np.random.default_rng(n).standard_normal((n, n)))[0]
    return np.asarray(q * values @ q.T)


WHOLE: dict[str, Callable[[int], Array]] = {
    "of rank three": lambda n: _turned(n, (np.arange(n) < 3) * 1.0),
    "two values": lambda n: _turned(n, 1.0 + (np.arange(n) < n // 2)),
    "geometric": lambda n: _turned(n, 10.0 ** -np.linspace(0, 18, n)),
    "Hilbert's": lambda n: 1 / (1.0 + np.arange(n)[:, None] + np.arange(n)),
    "ones": lambda n: np.ones((n, n)),
    "a star": lambda n: np.eye(n) + ((np.arange(n)[:, None] == 0) ^ (np.arange(n) == 0)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_whole_matrices(dtype: str) -> None:
    f = tg.jit(np.linalg.eigh)
    for n in (24, 50, 101):
        both = [a(n) + a(n).T for a in WHOLE.values()]
        stack = np.stack(both).astype(dtype)
        w, v = f(stack)
        for k, name in enumerate(WHOLE):
            assert is_spectrum(stack[k], w[k], v[k], dtype), (name, n)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float64", 1e-320), ("float64", 1e300), ("float32", 1e-42), ("float32", 1e38)],
)
def test_numbers_of_all_sizes(dtype: str, size: float) -> None:
    """Squares of differences overflow or vanish: the matrix is worked on times a power of two."""
    both = tg.jit(lambda d, e: tg.linalg.eigh_tridiagonal(d, e))
    alone = tg.jit(lambda d, e: tg.linalg.eigvalsh_tridiagonal(d, e))
    for n in (1, 3, 40):
        rng = np.random.default_rng(n)
        d, e = ((rng.uniform(-1, 1, k) * size).astype(dtype) for k in (n, n - 1))
        w, v = both(d, e)
        scaled = [np.asarray(np.asarray(x, np.longdouble) / size, np.float64) for x in (d, e, w)]
        whole = np.diag(scaled[0]) + np.diag(scaled[1], 1) + np.diag(scaled[1], -1)
        # Of numbers next to nothing few digits are left.
        rounded = np.spacing(np.dtype(dtype).type(size)) / size
        assert np.abs(np.linalg.eigvalsh(whole) - scaled[2]).max() <= 50 * rounded
        assert np.abs(whole @ v - v * scaled[2]).max() <= 100 * rounded
        np.testing.assert_allclose(alone(d, e), w, rtol=1e-5, atol=20 * rounded * size)
