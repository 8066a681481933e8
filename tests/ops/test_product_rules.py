"""Rules for matrix products, and what their library calls absorb: transpositions, factors along the
summed axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.native.library import matmul_batched_scaled

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad.ir.graph import Graph
from tracegrad.ir.parser import parse_graph
from tracegrad.ir.verify import verify
from tracegrad.registry import OPS_BY_NAME
from tracegrad.transforms.rewrite import optimize

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(40, 9)), RNG.normal(size=(40, 7))
S, R, V = RNG.normal(size=40), RNG.normal(size=9), RNG.normal(size=7)
SMALL = {"rtol": 1e-12, "atol": 1e-12}


def optimized(f: Any, *args: Any) -> Graph:
    graph: Graph = tg.jit(f).graphs(*args)[1]
    return graph


def names(f: Any, *args: Any) -> list[str]:
    return [node.op.name for node in optimized(f, *args).nodes]


def check(f: Any, *args: Any) -> str:
    """The source, after comparing eager, jitted and un-jitted results."""
    expected = np.asarray(f(*args))
    np.testing.assert_allclose(tg.jit(f)(*args), expected, **SMALL)
    graph = optimized(f, *args)
    np.testing.assert_allclose(run_unjitted(graph, args)[0], expected, **SMALL)
    source: str = tg.jit(f).source(*args)
    return source


GRAPH = """graph f(x: f64[6, 6]):
    t0: i64[6] = iota(size=6, dtype=i64)
    t1: i64[6, 1] = reshape(t0, shape=(6, 1))
    t2: bool[6, 6] = equal({left}, {right})
    t3: f64[6, 6] = convert(t2, dtype=f64)
    t4: f64[6, 6] = matmul({a}, {b})
    return t4"""


@pytest.mark.parametrize(
    ("left", "right"), [("t1", "t0"), ("t0", "t1"), ("t1", "t1"), ("t0", "t0"), ("t1", "2")]
)
@pytest.mark.parametrize(("a", "b"), [("t3", "x"), ("x", "t3")])
def test_products_with_an_identity_go(left: str, right: str, a: str, b: str) -> None:
    text = GRAPH.format(left=left, right=right, a=a, b=b)
    if left == right or right == "2":
        # Not an identity: a row or a column of the comparison, repeated.
        shape = {"t0": "(6,)", "t1": "(6, 1)"}[left]
        column = (
            f"    t2: bool[{shape.strip('(),')}] = equal({left}, {right})\n"
            "    t5: bool[6, 6] = broadcast_to(t2, shape=(6, 6))\n"
        )
        text = text.replace(f"    t2: bool[6, 6] = equal({left}, {right})\n", column).replace(
            "convert(t2", "convert(t5"
        )
    left_out = "matmul" not in [
        n.op.name for n in optimize(verify(parse_graph(text, OPS_BY_NAME))).nodes
    ]
    assert left_out == ({left, right} == {"t0", "t1"})


def test_jacobian_of_a_product_is_the_matrix() -> None:
    np.testing.assert_array_equal(tg.jit(tg.jacobian(lambda v, x: x @ v))(R, X), X)
    assert "matmul" not in names(tg.jacobian(lambda v, x: x @ v), R, X)


def test_logistic_hessian_is_one_weighed_product() -> None:
    labels = np.where(S > 0, 1.0, -1.0)

    def loss(w: Any, x: Any, y: Any) -> Any:
        return np.mean(np.logaddexp(0.0, -y * (x @ w)))

    source = tg.hessian(tg.jit(loss)).source(R, X, labels)
    assert source.count("matmul_scaled(x, x,") == 1
    p = 1 / (1 + np.exp(-(X @ R)))
    np.testing.assert_allclose(
        tg.jit(tg.hessian(loss))(R, X, labels), X.T @ ((p * (1 - p) / 40)[:, None] * X), **SMALL
    )


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s, y: (x.T * s) @ y,
        lambda x, s, y: x.T @ (s[:, None] * y),
        lambda x, s, y: (x * s[:, None]).T @ y,
        lambda x, s, y: ((-x.T * s) * (2 * s)) @ y,
        lambda x, s, y: x.T @ ((y * s[:, None]) * 3 * np.exp(s)[:, None]),
    ],
)
def test_factors_along_the_sum_are_absorbed(f: Any) -> None:
    source = check(f, X, S, Y)
    assert "matmul_scaled(x, y," in source


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s, y: (x * s[:, None]) @ y[:9],  # along the rows
        lambda x, s, y: np.stack([a := x.T * s @ np.ones((40, 40)), a])[0] @ y,
        lambda x, s, y: np.concatenate([((a := x.T * s) @ y).ravel(), a.ravel()]),
        lambda x, s, y: (x.T * s) @ y[:, :1],  # beside one column
    ],
)
def test_other_factors_are_not(f: Any) -> None:
    check(f, X, S, Y)


def test_factor_beside_a_vector_goes_to_the_vector() -> None:
    graph = optimized(lambda x, s, v: (x.T * s * s) @ v, X, S, S)
    assert all(
        v.type.shape != (9, 40) or node.op.name == "transpose"
        for node in graph.nodes
        for v in node.outputs
    )
    np.testing.assert_allclose(
        tg.jit(lambda x, s, v: (x.T * s * s) @ v)(X, S, S), X.T @ S**3, **SMALL
    )


def test_stacks_take_a_factor_each_or_one_for_all() -> None:
    a, b, s = RNG.normal(size=(3, 12, 11)), RNG.normal(size=(3, 12, 13)), RNG.normal(size=(3, 12))
    each = check(lambda a, b, s: np.swapaxes(a, 1, 2) @ (s[:, :, None] * b), a, b, s)
    assert "matmul_batched_scaled(a, b," in each
    for_all = check(lambda a, b, s: (np.swapaxes(a, 1, 2) * s[0]) @ b, a, b, s)
    assert "matmul_batched_scaled(a, b," in for_all
    check(lambda a, b, s: (np.swapaxes(a[:1], 1, 2) * s[0]) @ b, a, b, s)


def test_other_dtypes_keep_their_products() -> None:
    for dtype in (np.complex128, np.int64):
        x, s, y = X.astype(dtype), (3 * S).astype(dtype), Y.astype(dtype)
        assert "scaled" not in check(lambda x, s, y: (x.T * s) @ y, x, s, y)
    single = [v.astype(np.float32) for v in (X, S, Y)]
    f = tg.jit(lambda x, s, y: (x.T * s) @ y)
    found = f(*single)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, (X.T * S) @ Y, rtol=1e-4, atol=1e-4)


def test_sums_over_rows_and_columns_come_first() -> None:
    functions: list[tuple[Any, Any]] = [
        (lambda x, y: np.sum(x.T @ y, axis=0), (X.T @ Y).sum(0)),
        (lambda x, y: np.sum(-(x.T @ y), axis=1), -(X.T @ Y).sum(1)),
    ]
    for f, expected in functions:
        sizes = [
            v.type.size
            for node in optimized(f, X, Y).nodes
            for v in node.outputs
            if node.op.name == "matmul"
        ]
        assert sizes == [expected.size]
        np.testing.assert_allclose(tg.jit(f)(X, Y), expected, **SMALL)
    a, b = RNG.normal(size=(3, 5, 6)), RNG.normal(size=(3, 6, 4))
    np.testing.assert_allclose(
        tg.jit(lambda a, b: np.sum(a @ b, axis=1))(a, b), np.sum(a @ b, axis=1), **SMALL
    )
    np.testing.assert_allclose(
        tg.jit(lambda a, b: np.sum(a @ b[0], axis=2))(a, b), np.sum(a @ b[0], axis=2), **SMALL
    )
    np.testing.assert_allclose(
        tg.jit(lambda a, b: np.sum(a @ b, axis=(0, 1)))(a, b), np.sum(a @ b, axis=(0, 1)), **SMALL
    )


def test_products_of_a_matrix_with_itself_are_symmetric() -> None:
    for f in (lambda x: x.T @ x, lambda x: x @ x.T, lambda x: np.swapaxes(x, 0, 1) @ x):
        found = tg.jit(f)(X)
        np.testing.assert_allclose(found, f(X), **SMALL)
        np.testing.assert_array_equal(found, found.T)
    square = RNG.normal(size=(30, 30))
    np.testing.assert_allclose(tg.jit(lambda x: x @ x)(square), square @ square, **SMALL)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize(
    "shape",
    [(0, 4, 3), (4, 0, 3), (4, 3, 0), (0, 0, 0), (1, 20, 1), (20, 1, 20), (1, 1, 50)],
    ids=str,
)
def test_empty_and_thin_products(shape: tuple[int, int, int], dtype: Any) -> None:
    m, n, k = shape
    a, b = RNG.normal(size=(m, k)).astype(dtype), RNG.normal(size=(k, n)).astype(dtype)
    for f in (lambda a, b: a @ b, lambda a, b: (b.T @ a.T).T):
        found = tg.jit(f)(a, b)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, a @ b, rtol=1e-4, atol=1e-5)
    stacked = tg.jit(lambda a, b: a @ b)(np.stack([a, a]), b)
    np.testing.assert_allclose(stacked, np.stack([a @ b] * 2), rtol=1e-4, atol=1e-5)


def test_strided_operands() -> None:
    a, b = RNG.normal(size=(60, 44))[::2, ::-2], np.asfortranarray(RNG.normal(size=(22, 18)))
    np.testing.assert_allclose(tg.jit(lambda a, b: a @ b)(a, b), a @ b, **SMALL)
    np.testing.assert_allclose(tg.jit(lambda a, b: b.T @ a.T)(a, b), b.T @ a.T, **SMALL)
    np.testing.assert_allclose(tg.jit(lambda a: a.T @ a)(a), a.T @ a, **SMALL)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int32, np.bool_])
@pytest.mark.parametrize(
    "shape", [(2, 2, 2), (3, 4, 3), (50, 3, 4), (2, 2, 50), (4, 1, 9), (1, 1, 1)], ids=str
)
def test_small_products_are_spelled_out(shape: tuple[int, int, int], dtype: Any) -> None:
    m, n, k = shape
    a, b = (
        (3 * RNG.normal(size=(5, m, k))).astype(dtype),
        (3 * RNG.normal(size=(5, k, n))).astype(dtype),
    )
    for f, args in (
        (lambda a, b: a @ b, (a[0], b[0])),
        (lambda a, b: a @ b, (a, b)),
        (lambda a, b: a @ b, (a, b[0])),
    ):
        found = tg.jit(f)(*args)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, f(*args), rtol=1e-4, atol=1e-4)
        if np.dtype(dtype).kind in "fc":
            # A stack times one matrix is one product of more rows, which are too many here where
            # the sums are long.
            assert ("matmul" in names(f, *args)) == (k > 4 and args[0].ndim > args[1].ndim)


def test_larger_products_are_calls() -> None:
    assert "matmul" in names(lambda a, b: a @ b, np.ones((6, 5)), np.ones((5, 6)))
    assert "matmul" in names(lambda a, b: a @ b, np.ones((2, 5)), np.ones((5, 3)))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("stacked", [False, True])
def test_the_text_of_scaled_stacks_takes_no_columns(stacked: bool, turned: bool) -> None:
    """Where kernels run in Python (`NUMBA_DISABLE_JIT`), as where they are compiled."""
    a = np.ones((3, 0, 2) if turned else (3, 2, 0))
    scale, out = np.ones((3, 0) if stacked else 0), np.ones((3, 2, 4))
    matmul_batched_scaled(a, np.ones((3, 0, 4)), scale, out, turned)
    np.testing.assert_array_equal(out, np.zeros((3, 2, 4)))
