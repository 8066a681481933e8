"""The matrix product in registers: every edge of its blocks, its flags, and its place on disk."""

from __future__ import annotations

import ctypes
import mmap
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from tracegrad.codegen.disk import cache
from tracegrad.codegen.native import (
    by_address,
    foreign,
    gemm,
    library,
    prebuilt,
    products,
    symbols,
)

import tracegrad as tg

TOLERANCE = {"float32": 2e-4, "float64": 1e-12}


def caller(dtype: str) -> Any:
    routine = foreign.routine(symbols.OWN, f"gemm_{dtype}", products.KINDS)

    @numba.njit(error_model="numpy")
    def call(m, n, k, a, row_a, step_a, b, step_b, col_b, scale, c, row_c, flags):
        routine(
            m,
            n,
            k,
            a,
            0,
            row_a,
            step_a,
            b,
            0,
            step_b,
            col_b,
            scale,
            0,
            c,
            0,
            row_c,
            flags,
            1,
            0,
            0,
            0,
            0,
        )

    return call


CALL = {dtype: caller(dtype) for dtype in gemm.DTYPES}


def multiply(a: Any, b: Any, c: Any, scale: Any = None, flags: int = 0) -> None:
    """`a` and `b` in any strides that count whole elements."""
    (m, k), n, size = a.shape, b.shape[1], c.dtype.itemsize

    def flat(x: Any) -> Any:
        return np.lib.stride_tricks.as_strided(x, (1,), (size,))

    ra, sa = (s // size for s in a.strides)
    sb, cb = (s // size for s in b.strides)
    CALL[c.dtype.name](
        m,
        n,
        k,
        flat(a),
        ra,
        sa,
        flat(b),
        sb,
        cb,
        np.ones(1, c.dtype) if scale is None else scale,
        c.reshape(-1),
        n,
        flags,
    )


def matrix(rng: Any, m: int, n: int, turned: bool, dtype: str) -> Any:
    x = rng.standard_normal((n, m) if turned else (m, n)).astype(dtype)
    return x.T if turned else x


def close(actual: Any, expected: Any) -> None:
    largest = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=TOLERANCE[actual.dtype.name] * largest
    )


EDGES = [
    (1, 1, 1),
    (2, 3, 4),
    (7, 8, 9),
    (8, 24, 5),
    (9, 25, 257),
    (16, 17, 256),
    (17, 47, 3),
    (12, 71, 200),
    (13, 44, 129),
    (30, 30, 600),
    (20, 50, 1100),
    (140, 260, 1100),
    (44, 300, 300),
    (100, 100, 100),
    (257, 49, 8),
    (300, 10, 300),
    (262, 500, 300),
    (1030, 1100, 260),
]


@pytest.mark.parametrize("dtype", gemm.DTYPES)
@pytest.mark.parametrize("shape", EDGES, ids=str)
def test_every_edge(shape: tuple[int, int, int], dtype: str) -> None:
    rng = np.random.default_rng(0)
    m, n, k = shape
    for turned_a in (False, True):
        for turned_b in (False, True):
            a, b = matrix(rng, m, k, turned_a, dtype), matrix(rng, k, n, turned_b, dtype)
            exact = a.astype(np.float64) @ b.astype(np.float64)
            # One element beyond the result shows writes past its end.
            space = np.full(m * n + 1, np.nan, dtype)
            c = space[:-1].reshape(m, n)
            multiply(a, b, c)
            close(c, exact)
            multiply(a, b, c, flags=gemm.ADD)
            close(c, 2 * exact)
            scale = rng.standard_normal(k).astype(dtype)
            multiply(a, b, c, scale, gemm.SCALED)
            close(c, (a.astype(np.float64) * scale) @ b.astype(np.float64))
            assert np.isnan(space[-1])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="protects memory as Linux does")
@pytest.mark.parametrize("dtype", gemm.DTYPES)
@pytest.mark.parametrize("n", [3, 17, 20, 23, 44, 71, 100])
def test_nothing_behind_an_operand_is_read(n: int, dtype: str) -> None:
    """Operands that end where memory ends: reading one element more is a crash."""
    rng, libc, page = np.random.default_rng(7), ctypes.CDLL(None), mmap.PAGESIZE
    kept = []

    def at_the_end(x: Any) -> Any:
        pages = -(-x.nbytes // page)
        memory = mmap.mmap(-1, (pages + 1) * page)
        kept.append(memory)
        start = np.frombuffer(memory, np.uint8).ctypes.data
        assert libc.mprotect(ctypes.c_void_p(start + pages * page), page, 0) == 0
        placed = np.frombuffer(memory, dtype, x.size, pages * page - x.nbytes).reshape(x.shape)
        placed[...] = x
        return placed

    for m, k in product((1, 5, 13, 130), (1, 2, 40, 140)):
        a, b = (matrix(rng, *shape, False, dtype) for shape in ((m, k), (k, n)))
        c = at_the_end(np.zeros((m, n), dtype))
        multiply(at_the_end(a), at_the_end(b), c)
        close(c, a.astype(np.float64) @ b)
        multiply(at_the_end(a.T).T, at_the_end(b.T).T, c)
        close(c, a.astype(np.float64) @ b)


@pytest.mark.parametrize("dtype", gemm.DTYPES)
@pytest.mark.parametrize("size", [1, 7, 8, 24, 25, 100, 300, 600])
def test_symmetric_results(size: int, dtype: str) -> None:
    rng = np.random.default_rng(1)
    x, weights = (
        rng.standard_normal((130, size)).astype(dtype),
        rng.standard_normal(130).astype(dtype),
    )
    c = np.full((size, size), np.nan, dtype)
    multiply(x.T, x, c, weights, gemm.SCALED | gemm.SYMMETRIC)
    close(c, x.T.astype(np.float64) @ (weights[:, None] * x.astype(np.float64)))
    np.testing.assert_array_equal(c, c.T)


def test_strides_and_empty_sums() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((40, 60))[::3, ::2], rng.standard_normal((60, 50))[::2, 1::5]
    c = np.empty((a.shape[0], b.shape[1]))
    multiply(a, b, c)
    close(c, a @ b)
    multiply(np.empty((14, 0)), np.empty((0, 10)), c)
    assert not c.any()
    c[...] = 3.0
    multiply(np.empty((14, 0)), np.empty((0, 10)), c, flags=gemm.ADD)
    assert (c == 3.0).all()


def test_infinities_stay_in_their_rows_and_columns() -> None:
    a, b, c = np.ones((9, 5)), np.ones((5, 11)), np.empty((9, 11))
    a[8, 0], b[2, 10] = np.inf, np.nan
    multiply(a, b, c)
    with np.errstate(invalid="ignore"):
        # What pads NumPy's own blocks may meet the infinity, and then it warns.
        expected = a @ b
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("dtype", gemm.DTYPES)
@pytest.mark.parametrize("largest", [1e-8, 1e-20, 1e-30], ids=str)
def test_denormal_weights_round_as_others(largest: float, dtype: str) -> None:
    """Weights down to the smallest number there is: sums as of weights that are 2**80 times as
    large, where these are no denormals, bit for bit, and rounded once where they are denormal."""
    rng = np.random.default_rng(6)
    t, tiny = np.dtype(dtype).type, np.finfo(dtype).smallest_normal
    a, b = matrix(rng, 21, 200, True, dtype), matrix(rng, 200, 30, False, dtype)
    weights = (rng.random(200) * float(tiny) * 2.0**20 * largest / 1e-8).astype(dtype)
    weights[::7] = 0
    weights[3] = np.nextafter(t(0), t(1))
    assert ((weights > 0) & (weights < tiny)).any()
    c, larger = np.empty((21, 30), dtype), np.empty((21, 30), dtype)
    multiply(a, b, c, weights, gemm.SCALED)
    multiply(a, b, larger, np.ldexp(weights, 80), gemm.SCALED)
    np.testing.assert_array_equal(c, np.ldexp(larger, -80))
    multiply(a, b, c, weights, gemm.SCALED | gemm.ADD | gemm.NEGATE)
    assert not c.any()


@pytest.mark.parametrize("dtype", gemm.DTYPES)
@pytest.mark.parametrize("rows", [2, 300])
@pytest.mark.parametrize("where", ["a", "b", "weights"])
@pytest.mark.parametrize("huge", ["max", "inf", "nan"])
def test_denormal_weights_beside_huge_numbers(huge: str, where: str, rows: int, dtype: str) -> None:
    """What a power of two would make overflow stays as it is."""
    info = np.finfo(dtype)
    value = float(info.max) / 8 if huge == "max" else float(huge)
    a, b, weights = np.ones((rows, 40), dtype), np.ones((40, 26), dtype), np.ones(40, dtype)
    weights[5] = info.smallest_subnormal
    {"a": a[1], "b": b[:, 3], "weights": weights}[where][7] = value
    c = np.empty((rows, 26), dtype)
    multiply(a, b, c, weights, gemm.SCALED)
    with np.errstate(invalid="ignore"):
        expected = (a.astype(np.longdouble) * weights) @ b.astype(np.longdouble)
    np.testing.assert_allclose(c, expected.astype(dtype), rtol=1e-5)


def test_routine_is_built_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "FOLDER", [tmp_path])
    build = prebuilt.address.__wrapped__
    before = (cache.COUNTERS.compiled, cache.COUNTERS.loaded)
    assert build("gemm_float32") != 0
    assert build("gemm_float32") != 0
    assert (cache.COUNTERS.compiled, cache.COUNTERS.loaded) == (before[0] + 1, before[1] + 1)
    (damaged,) = tmp_path.iterdir()
    damaged.write_bytes(damaged.read_bytes()[:100])
    assert build("gemm_float32") != 0
    assert cache.COUNTERS.compiled == before[0] + 2


@pytest.mark.parametrize(
    "shape",
    [
        (300, 200, 40),
        (200, 300, 40),
        (100, 100, 70),
        (50, 7, 30),
        (1, 60, 20),
        (3, 2, 3),
        (1000, 970, 130),
    ],
    ids=str,
)
def test_parts_give_the_bits_of_the_whole(shape: tuple[int, int, int]) -> None:
    @numba.njit(error_model="numpy")
    def call(a, b, scale, out, parts, scaled, step):  # type: ignore[no-untyped-def]
        for part in range(0, parts, step):
            if scaled:
                library.matmul_scaled(
                    a, b, scale, out, True, False, part, min(part + step, parts), parts
                )
            else:
                library.matmul(a, b, out, True, False, part, min(part + step, parts), parts)

    rng = np.random.default_rng(3)
    m, n, k = shape
    a, scale = rng.standard_normal((k, m)), rng.standard_normal(k)
    for b in (rng.standard_normal((k, n)), a):
        for scaled in (False, True):
            found = []
            for parts, step in ((1, 1), (2, 1), (3, 2), (9, 1), (9, 4), (9, 9)):
                out = np.full((m, b.shape[1]), np.nan)
                call(a, b, scale, out, parts, scaled, step)
                plain = np.full_like(out, np.nan)
                for part in range(parts):
                    (
                        library.matmul_scaled(
                            a, b, scale, plain, True, False, part, part + 1, parts
                        )
                        if scaled
                        else library.matmul(a, b, plain, True, False, part, part + 1, parts)
                    )
                close(out, plain)
                found.append(out)
            assert all(np.array_equal(found[0], f) for f in found)


def test_large_products_are_shared_among_threads() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((400, 300)), rng.standard_normal((8, 300, 100))
    before = tg.get_num_threads()
    try:
        for f, args in ((lambda a: a.T @ a, (a,)), (lambda a, b: a @ b, (a[:300].T.copy(), b))):
            found = []
            for threads in (1, 2):
                tg.set_num_threads(threads)
                found.append(tg.jit(f)(*args))
            np.testing.assert_array_equal(*found)
            close(found[0], f(*args))
            assert "signed(first), signed(last)" in tg.jit(f).source(*args)
    finally:
        tg.set_num_threads(before)
    assert "part" not in tg.jit(lambda a: a.T @ a).source(a[:10, :50])


@pytest.mark.parametrize(
    ("register", "rows", "tall", "line"),
    [(16, 8, 1024, 64), (32, 4, 16, 64), (32, 4, 16, 1 << 45)],
    ids=["packed", "packed, few registers", "no memory"],
)
def test_narrower_registers(
    register: int, rows: int, tall: int, line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with blocks copied whatever the size, and where the system has no memory for them."""
    monkeypatch.setattr(cache, "FOLDER", [None])
    monkeypatch.setattr(gemm, "REGISTER", register)
    monkeypatch.setattr(gemm, "ROWS", rows)
    monkeypatch.setattr(by_address, "ROWS", rows)
    monkeypatch.setattr(gemm, "TALL", tall)
    monkeypatch.setattr(gemm, "LINE", line)
    monkeypatch.setattr(gemm, "LARGE", (1, 1, 1))
    address = prebuilt.address.__wrapped__("gemm_float64")
    rng = np.random.default_rng(5)
    a, b, c = (
        rng.standard_normal((2, 21, 300)),
        rng.standard_normal((2, 300, 33)),
        np.empty((2, 21, 33)),
    )
    integers = [
        ctypes.byref(ctypes.c_int64(k))
        for k in (21, 33, 300, 300, 1, 33, 1, 33, 0, 2, 21 * 300, 300 * 33, 0, 21 * 33)
    ]
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, a, c)]
    i, p = iter(integers), iter(pointers)
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 18)(address)(
        *[next(p) if k == "a" else next(i) for k in products.KINDS]
    )
    close(c, a @ b)


@pytest.mark.parametrize(
    ("features", "width"),
    [("", 16), ("+sse4.2", 16), ("+avx,+avx2,+fma", 32), ("+avx2,+avx,+avx512f", 64)],
)
def test_registers_of_the_processor_that_numba_compiles_for(
    features: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_address.config, "CPU_FEATURES", features)
    assert by_address.register_bytes() == width
