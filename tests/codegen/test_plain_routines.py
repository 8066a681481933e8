"""BLAS's and LAPACK's routines as plain loops, which stand in for them in exported libraries."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from numba import cfunc
from scipy.linalg import get_lapack_funcs
from tracegrad.codegen.native import plain
from tracegrad.codegen.translation.direct import DirectCompiler

Array = np.ndarray[Any, Any]
LETTERS = tuple(plain.LETTERS)
SHAPES = [(1, 1), (5, 3), (3, 5), (17, 40), (40, 17), (30, 30)]
SIZES = [1, 2, 3, 30, 80]


@cache
def compiled(name: str) -> Any:
    found = plain.entry(name)
    assert found is not None
    function, signature = found
    options = {"error_model": "numpy", "_nrt": False, "pipeline_class": DirectCompiler}
    return cfunc(signature, **options)(function)


def call(name: str, *given: Any) -> int:
    """As Fortran calls it, with room of its own for info, which is the result."""
    kept = [
        np.array([ord(x)], np.int8)
        if isinstance(x, str)
        else np.array([x], np.int32)
        if isinstance(x, int)
        else x
        for x in (*given, np.full(1, 77, np.int32))
    ]
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kept))(compiled(name).address)
    function(*[x.ctypes.data for x in kept])
    return int(kept[-1][0])


def accuracy(letter: str) -> float:
    return 3e-4 if letter in "sc" else 3e-12


def matrix(m: int, n: int, letter: str, seed: int = 0) -> Array:
    rng = np.random.default_rng([m, n, seed])
    a = rng.normal(size=(m, n)) + (1j * rng.normal(size=(m, n)) if letter in "cz" else 0.0)
    return np.asfortranarray(a.astype(plain.LETTERS[letter]))


def close(x: Array, y: Array, letter: str) -> bool:
    return bool(np.allclose(x, y, rtol=accuracy(letter), atol=accuracy(letter)))


TURNS: dict[str, Callable[[Array], Array]] = {
    "N": lambda a: a,
    "T": lambda a: a.T,
    "C": lambda a: a.conj().T,
}


@pytest.mark.parametrize(("letter", "shape"), [*product(LETTERS, [*SHAPES, (0, 3), (4, 0)])])
def test_products(letter: str, shape: tuple[int, int]) -> None:
    a, dtype = matrix(*shape, letter), plain.LETTERS[letter]
    two, nothing = np.array([2], dtype), np.array([0], dtype)
    for turn, turned in TURNS.items():
        m, k = turned(a).shape
        x, y = matrix(k, 1, letter)[:, 0].copy(), np.full(m, np.nan, dtype)
        call(letter + "gemv", turn, *shape, two, a, max(shape[0], 1), x, 1, nothing, y, 1)
        assert close(y, 2 * turned(a) @ x, letter)
        call(letter + "gemv", turn, *shape, two, a, max(shape[0], 1), x, 1, two, y, 1)
        assert close(y, 6 * turned(a) @ x, letter)
        for other, turned_back in TURNS.items():
            b = matrix(k, 7, letter) if other == "N" else matrix(7, k, letter)
            c = np.full((m, 7), np.nan, dtype, order="F")
            call(
                letter + "gemm", turn, other, m, 7, k, two, a, max(shape[0], 1), b,
                max(b.shape[0], 1), nothing, c, max(m, 1),
            )  # fmt: skip
            assert close(c, 2 * turned(a) @ turned_back(b), letter)


@pytest.mark.parametrize(("letter", "shape"), [*product(LETTERS, SHAPES)])
def test_triangular_systems(letter: str, shape: tuple[int, int]) -> None:
    b, (m, n) = matrix(*shape, letter), shape
    three = np.array([3], b.dtype)
    for side, uplo, turn, diag in product("LR", "UL", TURNS, "NU"):
        size = m if side == "L" else n
        a = matrix(size, size, letter) + np.asfortranarray(4 * np.eye(size, dtype=b.dtype))
        x = b.copy(order="F")
        call(letter + "trsm", side, uplo, turn, diag, m, n, three, a / 9, size, x, m)
        read = (np.triu if uplo == "U" else np.tril)(a / 9)
        if diag == "U":
            read = read - np.diag(np.diag(read)) + np.eye(size)
        op = TURNS[turn](read)
        back = op @ x if side == "L" else x @ op
        scale = max(1.0, float(np.abs(x).max()))
        assert np.abs(back - 3 * b).max() <= 10 * accuracy(letter) * scale, (side, uplo, turn, diag)


@pytest.mark.parametrize(("letter", "shape"), [*product(LETTERS, SHAPES)])
def test_factors_are_those_of_lapack(letter: str, shape: tuple[int, int]) -> None:
    a, (m, n) = matrix(*shape, letter), shape
    k = min(shape)
    getrf, geqrf = (get_lapack_funcs(name, (a,)) for name in ("getrf", "geqrf"))
    work, pivots = a.copy(order="F"), np.zeros(k, np.int32)
    assert call(letter + "getrf", m, n, work, m, pivots) == 0
    lu, wanted, _ = getrf(a)
    assert close(work, lu, letter)
    assert np.array_equal(pivots - 1, wanted)
    work, tau = a.copy(order="F"), np.zeros(k, a.dtype)
    assert call(letter + "geqrf", m, n, work, m, tau, tau, 1) == 0
    qr, factors, _, _ = geqrf(a)
    assert close(work, qr, letter)
    assert close(tau, factors, letter)
    q = work[:, :k].copy(order="F")
    name = letter + ("orgqr" if letter in "sd" else "ungqr")
    assert call(name, m, k, k, q, m, tau, tau, 1) == 0
    assert close(q.conj().T @ q, np.eye(k), letter)
    assert close(q @ np.triu(work[:k]), a, letter)


@pytest.mark.parametrize(("letter", "n"), [*product(LETTERS, SIZES)])
def test_systems(letter: str, n: int) -> None:
    a, b = matrix(n, n, letter), matrix(n, 3, letter)
    x, pivots = b.copy(order="F"), np.zeros(n, np.int32)
    assert call(letter + "gesv", n, 3, a.copy(order="F"), n, pivots, x, n) == 0
    assert np.abs(a @ x - b).max() <= 30 * accuracy(letter) * max(1.0, float(np.abs(x).max()))
    singular = a.copy(order="F")
    singular[:, -1] = 0
    assert call(letter + "gesv", n, 3, singular, n, pivots, x, n) == n
    h = np.asfortranarray(a @ a.conj().T + n * np.eye(n, dtype=a.dtype))
    u = h.copy(order="F")
    assert call(letter + "potrf", "U", n, u, n) == 0
    assert close(np.triu(u).conj().T @ np.triu(u) / n, h / n, letter)
    h[n // 2, n // 2] = -1
    assert call(letter + "potrf", "U", n, h, n) == n // 2 + 1
    h[...] = np.nan
    assert call(letter + "potrf", "U", n, h, n) == 0
    assert np.isnan(np.diag(h)).all()


def symmetric(n: int, dtype: Any) -> dict[str, Array]:
    a = matrix(n, n, "d")
    kinds = {
        "any": a + a.T,
        "ones": np.eye(n),
        "zeros": np.zeros((n, n)),
        "a diagonal": np.diag(np.arange(n, 0.0, -1.0)),
        "one value many times": np.ones((n, n)),
        "small": 1e-30 * (a + a.T),
        "large": 1e30 * (a + a.T),
    }
    return {name: np.asfortranarray(x.astype(dtype)) for name, x in kinds.items()}


@pytest.mark.parametrize(("letter", "n"), [*product("sd", SIZES)])
def test_eigenvalues(letter: str, n: int) -> None:
    room, ints = np.zeros(1 + 66 * n + 2 * n * n, plain.LETTERS[letter]), np.zeros(4, np.int32)
    for name, a in symmetric(n, room.dtype).items():
        scale = np.abs(a).max() or 1
        found, alone = np.zeros(n, a.dtype), np.zeros(n, a.dtype)
        v = np.asfortranarray(np.tril(a))
        assert call(letter + "syevd", "V", "L", n, v, n, found, room, 1, ints, 1) == 0, name
        w = np.asfortranarray(np.tril(a))
        assert call(letter + "syevd", "N", "L", n, w, n, alone, room, 1, ints, 1) == 0, name
        wanted = np.linalg.eigvalsh(np.asarray(a / scale, np.float64))
        assert close(found / scale, wanted, letter), name
        assert close(alone / scale, wanted, letter), name
        assert close(v.T @ v, np.eye(n), letter), name
        assert close(a / scale @ v, v * (found / scale), letter), name
    a = symmetric(n, room.dtype)["any"]
    d, e, tau = np.zeros((3, n), a.dtype)
    v = np.asfortranarray(np.tril(a))
    assert call(letter + "sytrd", "L", n, v, n, d, e, tau, room, 1) == 0
    q = np.eye(n)
    for k in range(n - 1):
        u = np.where(np.arange(n) > k, v[:, k], 0.0)
        u[k + 1] = 1.0
        q = q @ (np.eye(n) - tau[k] * np.outer(u, u))
    inner = np.diag(d) + np.diag(e[:-1], 1) + np.diag(e[:-1], -1)
    assert close(q @ inner @ q.T, a, letter)
    w[...] = np.nan
    failed = call(letter + "syevd", "N", "L", n, w, n, alone, room, 1, ints, 1)
    assert failed > 0 if n > 1 else np.isnan(alone).all()


@pytest.mark.parametrize(("letter", "n"), [*product("sd", SIZES)])
def test_tridiagonal_and_bidiagonal_matrices(letter: str, n: int) -> None:
    rng, dtype = np.random.default_rng(n), plain.LETTERS[letter]
    d, e = rng.normal(size=(2, n)).astype(dtype)
    whole = np.diag(d) + np.diag(e[:-1], 1)
    both = whole + np.diag(e[:-1], -1)
    room, one = np.zeros(4 * n, dtype), np.zeros(1, dtype)
    values, beside = d.copy(), e.copy()
    assert call(letter + "sterf", n, values, beside) == 0
    assert close(values, np.linalg.eigvalsh(both.astype(np.float64)), letter)
    values, beside = d.copy(), e.copy()
    given = (one, 1, one, 1, one, 1, room)
    assert call(letter + "bdsqr", "U", n, 0, 0, 0, values, beside, *given) == 0
    assert close(values, np.linalg.svd(whole.astype(np.float64), compute_uv=False), letter)


@pytest.mark.parametrize(("letter", "shape"), [*product("sd", SHAPES)])
def test_singular_values(letter: str, shape: tuple[int, int]) -> None:
    a, (m, n) = matrix(*shape, "d"), shape
    k, dtype = min(shape), plain.LETTERS[letter]
    columns = a.copy()
    columns[:, : k // 2] = 0
    kinds = [a, a[:, :1] @ a[:1], 0 * a, 1e25 * a, 1e-25 * a, columns, np.ones(shape)]
    room, ints = np.zeros(4 * k * k + 7 * k + 64 * (m + n), dtype), np.zeros(8 * k, np.int32)
    s = np.zeros(k, dtype)
    u, vt = np.zeros((m, k), dtype, order="F"), np.zeros((k, n), dtype, order="F")
    for kind in kinds:
        matrix_ = np.asfortranarray(kind.astype(dtype))
        scale = np.abs(matrix_).max() or 1
        wanted = np.linalg.svd(np.asarray(matrix_ / scale, np.float64), compute_uv=False)
        for job in "SN":
            given = (matrix_.copy(order="F"), m, s, u, m, vt, k, room, 1, ints)
            assert call(letter + "gesdd", job, m, n, *given) == 0
            assert close(s / scale, wanted, letter)
        assert close(u * (s / scale) @ vt, matrix_ / scale, letter)
        assert close(u.T @ u, np.eye(k), letter)
        assert close(vt @ vt.T, np.eye(k), letter)
    for strange in (np.nan, np.inf):
        work = np.full(shape, strange, dtype, order="F")
        assert call(letter + "gesdd", "S", m, n, work, m, s, u, m, vt, k, room, 1, ints) == 1
