"""Own tridiagonal forms of symmetric matrices: residuals and orthogonality on matrices of all
kinds, sizes around the ends of blocks, and what is left to LAPACK."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from tracegrad.codegen.native import prebuilt
from tracegrad.codegen.native.tridiagonal import BLOCK, MOST, STRIP, side

import tracegrad as tg

RNG = np.random.default_rng(3)


def symmetric(n: int) -> dict[str, Any]:
    a = RNG.normal(size=(n, n))
    a = a + a.T
    grades = 10.0 ** -np.linspace(0, 9, n)
    return {
        "random": a,
        "Hilbert": scipy.linalg.hilbert(n),
        "graded": a * grades * grades[:, None],
        "graded upwards": a * grades[::-1] * grades[::-1, None],
        "zero": 0 * a,
        "identity": np.eye(n),
        "of rank one": np.ones((n, n)),
        "Wilkinson": np.diag(np.abs(np.arange(n) - n / 2)) + np.eye(n, k=1) + np.eye(n, k=-1),
        "large": a * 1e9,
        "small": a * 1e-9,
    }


def call(name: str, *args: Any) -> None:
    """Integers and arrays are given by address."""
    held = [np.array(a) if isinstance(a, int) else a for a in args]
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(held))
    kind(prebuilt.address(name))(*[a.ctypes.data for a in held])


def reduced(a: Any) -> tuple[Any, Any, int]:
    """The tridiagonal matrix and Q, both in double precision, and whether the matrix has to be
    scaled; the upper triangle of a is not read."""
    n, dtype = len(a), a.dtype
    given = np.where(np.triu(np.ones((n, n)), 1) > 0, np.nan, a).astype(dtype)
    d, e, tau = (np.zeros(n, dtype) for _ in range(3))
    apart = side(n)
    work, failed = np.full(n * apart + 1, np.nan, dtype), np.full(1, -1, np.int32)
    work[-1] = 7
    call(f"tridiagonal_{dtype}", n, apart, given, d, e, tau, work, failed)
    q = np.eye(n, dtype=dtype)
    space = np.full(n * (3 * BLOCK + STRIP) + BLOCK * BLOCK, np.nan, dtype)
    if not failed[0]:
        call(f"back_{dtype}", n, apart, work, tau, q.copy(), q, space)
        assert work[-1] == 7
    beside = np.diag(e[:-1].astype(float), 1)
    return np.diag(d.astype(float)) + beside + beside.T, q.astype(float), int(failed[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_forms_are_backward_stable(dtype: Any) -> None:
    for n in (1, 2, 5, 8, 17, 33, 100, 217, 331):
        for name, given in symmetric(n).items():
            a = given.astype(dtype)
            form, q, failed = reduced(a)
            assert failed == 0, (name, n)
            bound = 10 * np.sqrt(n) * np.finfo(dtype).eps
            assert np.abs(q.T @ q - np.eye(n)).max() < bound, (name, n)
            error = np.abs(q @ form @ q.T - a).max()
            assert error <= bound * np.linalg.norm(a.astype(float)), (name, n)


def test_what_has_to_be_scaled_is_left_to_lapack() -> None:
    n = 40
    a = symmetric(n)["random"]
    compiled, values = tg.jit(lambda a: np.linalg.eigh(a)), tg.jit(lambda a: np.linalg.eigvalsh(a))
    for factor in (1.0, 1e200, 1e-200, 0.0):
        w, v = compiled(a * factor)
        expected = np.linalg.eigvalsh(a) * factor
        np.testing.assert_allclose(w, expected, rtol=1e-11)
        np.testing.assert_allclose(values(a * factor), expected, rtol=1e-11)
        np.testing.assert_allclose(v.T @ v, np.eye(n), atol=1e-13)
        np.testing.assert_allclose(a @ v * factor, v * w, atol=1e-12 * factor)
    assert "blocked_eigh(" in str(compiled.programs(a))
    assert "blocked_eigvalsh(" in str(values.programs(a))
    for value in (np.nan, np.inf):
        for place in np.ndindex(5, 5):
            bad = np.zeros((5, 5))
            bad[place] = value
            assert reduced(bad)[2] == (place[0] >= place[1]), place
        bad = a.copy()
        bad[-1, 0] = value
        for ours, theirs in ((compiled, np.linalg.eigh), (values, np.linalg.eigvalsh)):
            assert outcome(ours, bad) == outcome(theirs, bad)


def outcome(f: Any, a: Any) -> Any:
    """Where the results are NaN, or that there are none."""
    try:
        found = f(a)
    except np.linalg.LinAlgError:
        return "LinAlgError"
    return [np.isnan(x).tolist() for x in (found if isinstance(found, tuple) else (found,))]


def test_larger_and_smaller_stacks() -> None:
    for n in (0, 1, 23, 24, 192, 230):
        a = RNG.normal(size=(2, n, n))
        a = a + a.swapaxes(1, 2)
        w, v = tg.jit(lambda a: np.linalg.eigh(a))(a)
        np.testing.assert_allclose(w, np.linalg.eigvalsh(a), atol=1e-12 * n)
        np.testing.assert_allclose(a @ v, v * w[:, None], atol=1e-12 * n)


def test_the_largest_matrix_and_the_next() -> None:
    """Of known eigenvalues: those of the second difference, its rows and columns mixed. The larger
    one is reduced by LAPACK and its vectors made by the own routine."""
    for n, vectors in ((MOST, False), (MOST + 1, True)):
        expected = 2 - 2 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1))
        order = RNG.permutation(n)
        a = (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))[np.ix_(order, order)]
        if not vectors:
            w = tg.jit(lambda a: np.linalg.eigvalsh(a))(a)
        else:
            w, v = tg.jit(lambda a: np.linalg.eigh(a))(a)
            np.testing.assert_allclose(v.T @ v, np.eye(n), atol=1e-12)
            np.testing.assert_allclose(a @ v, v * w, atol=1e-12)
        np.testing.assert_allclose(w, expected, atol=1e-12)
