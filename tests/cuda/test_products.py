"""Products that cuBLAS computes on a GPU; on the simulator a reading of its documentation in NumPy
stands in for it, which takes matrices in Fortran order from addresses as it does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.cuda import blas, driver

import tracegrad as tg
from tests.cuda.common import host

DTYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}


def matrix(at: int, dtype: Any, rows: int, columns: int, leading: int) -> Any:
    """A matrix in Fortran order; the library refuses a leading size below the rows."""
    assert leading >= max(1, rows)
    size = np.dtype(dtype).itemsize
    near = at - driver.APART if at >= driver.APART else at
    return driver.array_at(near, (rows, columns), dtype, (size, leading * size))


def stand_in() -> Any:
    """The functions of the library that are asked."""
    functions = SimpleNamespace(cublasCreate_v2=lambda pointer: 0)

    def gemm(dtype: Any) -> Any:
        def one(h: Any, ta: int, tb: int, m: int, n: int, k: int, *rest: int) -> int:
            alpha, a, lda, b, ldb, beta, c, ldc = rest
            many(h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1)
            return 0

        def many(h: Any, ta: int, tb: int, m: int, n: int, k: int, *rest: int) -> int:
            alpha, a, lda, step_a, b, ldb, step_b, beta, c, ldc, step_c, count = rest
            assert matrix(alpha, dtype, 1, 1, 1) == 1
            assert matrix(beta, dtype, 1, 1, 1) == 0
            size = np.dtype(dtype).itemsize
            for q in range(count):
                first = matrix(a + q * step_a * size, dtype, *((k, m) if ta else (m, k)), lda)
                second = matrix(b + q * step_b * size, dtype, *((n, k) if tb else (k, n)), ldb)
                out = matrix(c + q * step_c * size, dtype, m, n, ldc)
                out[...] = (first.T if ta else first) @ (second.T if tb else second)
            return 0

        return one, many

    def gemv(dtype: Any) -> Any:
        def vector(h: Any, t: int, m: int, n: int, alpha: int, a: int, *rest: int) -> int:
            lda, x, step, _, y, step_y = rest
            assert step == step_y == 1
            first = matrix(a, dtype, m, n, lda)
            first = first.T if t else first
            given = matrix(x, dtype, first.shape[1], 1, first.shape[1])
            matrix(y, dtype, first.shape[0], 1, first.shape[0])[...] = first @ given
            return 0

        return vector

    for letter, dtype in DTYPES.items():
        one, many = gemm(dtype)
        setattr(functions, f"cublas{letter}gemm_v2", one)
        setattr(functions, f"cublas{letter}gemmStridedBatched", many)
        setattr(functions, f"cublas{letter}gemv_v2", gemv(dtype))
    return functions


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The dtypes of the products that the library computed."""
    if driver.simulated():
        found = blas.Cublas(stand_in())
        monkeypatch.setattr(found, "handle", lambda index: 0)
        monkeypatch.setattr(blas, "library", lambda: found)
    elif blas.library() is None:
        pytest.skip("cuBLAS is not installed")
    monkeypatch.setattr(blas, "WORTH", 1)
    letters: list[str] = []
    known = blas.Cublas.product

    def noted(self: Any, index: int, letter: str, *rest: Any) -> None:
        letters.append(letter)
        known(self, index, letter, *rest)

    monkeypatch.setattr(blas.Cublas, "product", noted)
    return letters


SHAPES = [
    ((30, 40), (40, 50)),
    ((1, 400), (400, 500)),
    ((300, 400), (400, 1)),
    ((2, 30, 40), (2, 40, 50)),
    ((2, 30, 40), (40, 50)),
    ((30, 40), (2, 40, 50)),
    ((2, 3, 1, 40), (3, 40, 500)),
    ((2, 100, 40), (2, 40, 1)),
    ((400,), (400, 50)),
    ((300, 400), (400,)),
]


ROWS = [(*pair, "D") for pair in SHAPES] + [
    (*pair, letter) for letter in "SCZ" for pair in (SHAPES[0], SHAPES[2], SHAPES[5], SHAPES[8])
]


@pytest.mark.parametrize(("left", "right", "letter"), ROWS, ids=str)
def test_products(left: Any, right: Any, letter: str, asked: list[str]) -> None:
    dtype = DTYPES[letter]
    rng = np.random.default_rng(3)

    def drawn(shape: Any) -> Any:
        x = rng.normal(size=shape)
        return (x + 1j * rng.normal(size=shape) if letter in "CZ" else x).astype(dtype)

    tolerance = 1e-5 if letter in "SC" else 1e-12
    for turned_a in (False, True)[: 1 + (len(left) > 1)]:
        for turned_b in (False, True)[: 1 + (len(right) > 1)]:
            a = drawn((*left[:-2], *left[-1:-3:-1])).swapaxes(-1, -2) if turned_a else drawn(left)
            b = (
                drawn((*right[:-2], *right[-1:-3:-1])).swapaxes(-1, -2)
                if turned_b
                else drawn(right)
            )
            # As the program has it: turned inside of what is compiled.
            there = [
                tg.tensor(np.ascontiguousarray(x.swapaxes(-1, -2) if t else x), device="cuda")
                for x, t in ((a, turned_a), (b, turned_b))
            ]

            def f(x: Any, y: Any, t: bool = turned_a, u: bool = turned_b) -> Any:
                return (x.swapaxes(-1, -2) if t else x) @ (y.swapaxes(-1, -2) if u else y)

            for way in (f, tg.jit(f)):
                found = host(way(*there))
                assert found.dtype == dtype
                np.testing.assert_allclose(found, a @ b, rtol=tolerance, atol=tolerance)
    assert set(asked) <= {letter}
    assert asked or len(left) == len(right) == 1, "nothing was asked of the library"


def test_a_gradient(asked: list[str]) -> None:
    rng = np.random.default_rng(4)
    arrays = rng.normal(size=(6, 5)), rng.normal(size=(5, 3)), rng.normal(size=6)

    def f(a: Any, b: Any, v: Any) -> Any:
        return (v @ tg.tanh(a @ b)).sum()

    expected = tg.grad(f, argnums=(0, 1, 2))(*map(tg.tensor, arrays))
    there = [tg.tensor(x, device="cuda") for x in arrays]
    for way in (tg.grad(f, argnums=(0, 1, 2)), tg.jit(tg.grad(f, argnums=(0, 1, 2)))):
        for mine, theirs in zip(way(*there), expected, strict=True):
            np.testing.assert_allclose(host(mine), host(theirs), rtol=1e-12, atol=1e-12)
    assert asked


def test_a_refusal() -> None:
    with pytest.raises(RuntimeError, match=r"cuBLAS refused a matrix product \(status 7\)"):
        blas.check("a matrix product", 7)
