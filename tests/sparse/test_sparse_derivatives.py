"""Sparse Jacobians and Hessians as a user calls them: formats, methods, trees, dtypes, constants
that change, refusals, `njit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.sparse as sp

import tracegrad as tg
from tracegrad.errors import DTypeError, TracegradError
from tracegrad.sparse.derivatives import FORMATS
from tracegrad.sparse.structure import Order

pytestmark = pytest.mark.usefixtures("kernels_in_python")

X = np.random.default_rng(0).normal(size=12)


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def stencil(x: Any) -> Any:
    u = x.reshape(3, 4)
    return (np.roll(u, 1, 0) + np.roll(u, -1, 1) * u - 4 * np.sin(u)).ravel()


def mesh(x: Any) -> Any:
    """Elements that share corners: duplicates are summed."""
    i = np.array([0, 1, 2, 3, 4, 5, 9])
    j = np.array([1, 2, 3, 4, 5, 0, 9])
    return np.sum(np.exp(x[i] * x[j]) + (x[i] - x[j]) ** 2 * x[i])


def row_sums(x: Any) -> Any:
    return np.sin(np.sum(x.reshape(2, 6) ** 2, axis=1)) * np.ones(2)


def products(x: Any) -> Any:
    a = np.triu(np.ones((12, 12))) - np.triu(np.ones((12, 12)), 3)
    return np.sin(a @ x)


JACOBIANS: tuple[Callable[..., Any], ...] = (
    stencil,
    row_sums,
    products,
    np.diff,
    np.cumsum,
    np.sum,
)
HESSIANS: tuple[Callable[..., Any], ...] = (rosenbrock, mesh, lambda x: np.sum(row_sums(x) ** 2))


@pytest.mark.parametrize("k", range(len(JACOBIANS)))
def test_jacobians(k: int) -> None:
    """All formats and methods give the dense Jacobian, with sorted entries."""
    wanted = tg.jacobian(JACOBIANS[k])(X)
    wanted = wanted.reshape(-1, 12)
    for format in FORMATS if k == 0 else ("csr",):
        for method in ("auto", "columns", "rows"):
            J = tg.sparse_jacobian(JACOBIANS[k], format=format, method=method)
            found = J(X)
            assert found.format == format
            np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-12, atol=1e-14)
            s = J.structure(X)
            again = sp.coo_array((J.values(X), (s.rows, s.columns)), s.shape)
            np.testing.assert_array_equal(again.toarray(), found.toarray())
            assert (np.diff(Order(format, s.shape, s.block).keys(s.rows, s.columns)) > 0).all()


@pytest.mark.parametrize("k", range(len(HESSIANS)))
def test_hessians(k: int) -> None:
    wanted = tg.hessian(HESSIANS[k])(X)
    for method in ("auto", "star", "columns"):
        found = tg.sparse_hessian(HESSIANS[k], method=method)(X).toarray()
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
    lower = tg.sparse_hessian(HESSIANS[k], lower=True, format="coo")(X)
    np.testing.assert_allclose(lower.toarray(), np.tril(wanted), rtol=1e-11, atol=1e-12)


def test_a_lagrangian() -> None:
    lam, sigma = np.arange(1.0, 12.0), 0.5
    H = tg.hessian_of_lagrangian(rosenbrock, np.diff)
    wanted = 0.5 * tg.hessian(rosenbrock)(X)
    np.testing.assert_allclose(H(X, lam, sigma).toarray(), wanted, rtol=1e-12)
    two = tg.hessian_of_lagrangian(rosenbrock, lambda x: (x[:2] ** 3, x[2] * x[5]), lower=True)
    found = two(X, (np.ones(2), 2.0), 0.0).toarray()
    assert found[5, 2] == 2
    assert found[0, 0] == pytest.approx(6 * X[0])
    assert two.method(X, (np.ones(2), 2.0), 0.0) == "direct"
    with pytest.raises(ValueError, match="structure"):
        two(X, np.ones(3), 1.0)


def coupled(x: Any) -> Any:
    """Three unknowns at each of four points, all of one and all of the one before coupled."""
    a = x.reshape(4, 3)
    return a * np.sum(a, axis=1, keepdims=True) * np.roll(np.sum(a, axis=1, keepdims=True), 1, 0)


@pytest.mark.parametrize(
    ("function", "block"),
    [(coupled, (3, 3)), (lambda x: coupled(x)[1:], (3, 3)), (stencil, (1, 1)), (np.sum, (1, 12))],
)
def test_blocks(function: Any, block: tuple[int, int]) -> None:
    """Of the largest size that entries fill, with nothing beside them."""
    wanted = tg.jacobian(function)(X).reshape(-1, 12)
    for method in ("auto", "columns"):
        J = tg.sparse_jacobian(function, format="bsr", method=method)
        found, s = J(X), J.structure(X)
        assert (found.format, found.blocksize, s.block) == ("bsr", block, block)
        assert found.nnz == np.count_nonzero(wanted)
        np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-12)
        by_places = sp.coo_array((J.values(X), (s.rows, s.columns)), s.shape)
        np.testing.assert_array_equal(by_places.toarray(), found.toarray())


def test_trees_give_blocks() -> None:
    def f(p: Any, scale: Any) -> Any:
        return {"a": p["u"][1:] * p["v"] * scale, "b": (np.sum(p["u"]), p["v"])}

    p = {"u": np.arange(3.0), "v": np.array([4.0, 5.0])}
    found, wanted = tg.sparse_jacobian(f)(p, 2.0), tg.jacobian(f)(p, 2.0)
    for key in ("u", "v"):
        np.testing.assert_allclose(found["a"][key].toarray(), wanted["a"][key])
        for k in range(2):
            part = np.reshape(wanted["b"][k][key], found["b"][k][key].shape)
            np.testing.assert_allclose(found["b"][k][key].toarray(), part)
    both = tg.sparse_jacobian(f, (0, 1))(p, 2.0)["a"]
    np.testing.assert_allclose(both[1].toarray(), (p["u"][1:] * p["v"])[:, None])
    H = tg.sparse_hessian(lambda x, y: np.sum(x**2 * y), (0, 1))(np.ones(3), np.ones(3))
    np.testing.assert_allclose(H[0][1].toarray(), 2 * np.eye(3))
    named = tg.sparse_jacobian(lambda x, *, k: x * k)(np.ones(2), k=3.0)
    np.testing.assert_allclose(named.toarray(), 3 * np.eye(2))


def test_awkward_arguments() -> None:
    J = tg.sparse_jacobian(lambda x: np.sin(x) * x[::-1])
    for x in (X.astype(np.float32), X[::2], np.zeros(0), X + 1j * X[::-1]):
        found = J(x)
        assert found.dtype == x.dtype
        wanted = tg.jacobian(lambda x: np.sin(x) * x[::-1], mode="forward")(x)
        np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-5)
    assert tg.sparse_jacobian(lambda x: x**2)(3.0).toarray().tolist() == [[6.0]]
    assert tg.sparse_jacobian(lambda x: np.ones(2))(X).nnz == 0
    assert tg.sparse_jacobian(lambda x: np.array(x))(tg.tensor([1.0, 2.0])).nnz == 2
    nan = tg.sparse_jacobian(lambda x: x * x)(np.array([np.nan, 1.0])).toarray()
    np.testing.assert_array_equal(nan, [[np.nan, 0], [0, 2]])


def test_index_arrays_that_change() -> None:
    """What decides places is compared at each call; values computed for old places are refused."""
    J = tg.sparse_jacobian(lambda x, k: x[k] ** 2)
    for k in ([0, 3], [5, 5]):
        found = J(X, np.array(k)).toarray()
        assert np.flatnonzero(found.any(0)).tolist() == sorted(set(k))
    J.structure(X, np.array([0, 1]))
    with pytest.raises(TracegradError, match="changed"):
        J.values(X, np.array([0, 2]))
    J.structure(X, np.array([0, 2]))
    assert J.values(X, np.array([0, 2])).tolist() == [2 * X[0], 2 * X[2]]

    weights = np.eye(12)
    K = tg.sparse_jacobian(lambda x: weights @ x)
    assert K(X).nnz == 12
    K.structure(X)
    weights[0, 5] = 3.0
    assert K(X)[0, 5] == 3
    weights[1, 5] = 3.0
    K.structure(X)
    weights[2, 5] = 3.0
    with pytest.raises(TracegradError, match="changed"):
        K.values(X)


def test_products_with_sparse_matrices() -> None:
    """Their places are those of the pattern, their data may change."""
    matrix = sp.random_array((9, 12), density=0.2, format="csc", rng=0)
    wide = np.ones((12, 2)) * X[:, None]
    cases: tuple[tuple[Any, Any, str], ...] = (
        (lambda x: np.sin(matrix @ (x * x)) * x[:9], X, "direct"),
        (lambda x: matrix @ x, wide, "columns"),
        (lambda x: matrix.T @ (matrix @ x), X, "columns"),
    )
    for f, x, method in cases:
        J = tg.sparse_jacobian(f)
        assert J.method(x) == method
        for _ in range(2):
            wanted = tg.jacobian(f)(x).reshape(-1, x.size)
            np.testing.assert_allclose(J(x).toarray(), wanted, rtol=1e-12, atol=1e-15)
            matrix.data[:] *= -2.0
        assert J.pattern(x).dense_at == ()


def test_values_into_a_buffer() -> None:
    for f in (stencil, products):
        J = tg.sparse_jacobian(f)
        out = np.full(len(J.structure(X)), np.nan)
        assert J.values(X, out=out) is out
        np.testing.assert_array_equal(out, J.values(X))
        wide = np.full((len(out), 2), np.nan)
        J.values(X, out=wide[:, 0])
        np.testing.assert_array_equal(wide[:, 0], out)
    with pytest.raises(ValueError, match="vector of"):
        J.values(X, out=np.zeros(3))
    with pytest.raises(DTypeError, match="float32"):
        J.values(X, out=np.zeros(len(out), np.float32))


def test_matrices_are_their_own() -> None:
    """What is done to one matrix does not reach the next."""
    J = tg.sparse_jacobian(stencil)
    first = J(X)
    kept = first.toarray()
    first.data[:] = 0
    first.eliminate_zeros()
    np.testing.assert_array_equal(J(X).toarray(), kept)


def test_compiled_code_calls_it() -> None:
    H = tg.sparse_hessian(rosenbrock, lower=True)
    np.testing.assert_allclose(H.njit(X)(X), H.values(X), rtol=1e-13)
    L = tg.hessian_of_lagrangian(rosenbrock, lambda x: x[1:-1] ** 3 * x[2:])
    lam = np.ones(10)
    np.testing.assert_allclose(L.njit(X, lam, 1.0)(X, lam, 1.0), L.values(X, lam, 1.0), rtol=1e-13)


def test_dense_ones_are_refused() -> None:
    J = tg.sparse_jacobian(lambda x: x / np.sum(x))
    with pytest.raises(TracegradError, match=r"10,000,000,000 entries .* 111.8 GiB.*tg.jvp"):
        J(np.ones(100_000))
    with pytest.raises(TracegradError, match="limit="):
        tg.sparse_jacobian(np.cumsum, limit=10)(X)
    assert tg.sparse_jacobian(lambda x: np.sum(x / np.sum(x)))(np.ones(100_000)).nnz == 100_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tg.sparse_jacobian(3), "function"),
        (lambda: tg.sparse_jacobian(np.sin, format="dia"), "format"),
        (lambda: tg.sparse_jacobian(np.sin, method="star"), "star"),
        (lambda: tg.sparse_jacobian(np.sin, limit=-1), "limit"),
        (lambda: tg.sparse_hessian(np.sum, lower="yes"), "lower"),
        (lambda: tg.sparse_hessian(np.sum, method="rows"), "rows"),
        (lambda: tg.sparse_jacobian(np.sin, 3)(X), "argnums"),
        (lambda: tg.sparse_jacobian(np.sin)(np.arange(3)), "floating-point"),
        (lambda: tg.sparse_jacobian(np.argmax)(X), "no floating-point"),
        (lambda: tg.sparse_hessian(np.sin)(X), "scalar"),
        (lambda: tg.sparsity(np.sin, of="gradient"), "hessian"),
        (lambda: tg.jit(lambda x: tg.sparse_jacobian(np.sin).method(x))(X), "traced"),
        (lambda: tg.sparse_jacobian(np.linalg.inv, method="direct")(np.eye(2)), "inv"),
        (lambda: tg.sparse_jacobian(lambda x: x.__setitem__(0, 1.0))(X), "writes"),
    ],
)
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError, TracegradError), match=message):
        call()


def test_a_pattern_is_shown() -> None:
    found = tg.sparsity(stencil)(X)
    assert (found.dtype, found.method, found.colours) == (bool, "direct", 0)
    assert "12 x 12" in found.plot().get_title()
    svg = ElementTree.fromstring(found._repr_svg_())
    squares = svg.findall("{http://www.w3.org/2000/svg}g/{http://www.w3.org/2000/svg}rect")
    assert len(squares) == found.nnz
    wide = tg.sparsity(lambda x: np.repeat(x, 3)[:1000])(np.ones(400))
    shades = wide._repr_svg_().count("fill-opacity")
    assert 0 < shades < wide.nnz
    printed = repr(tg.sparsity(lambda x: np.sort(x) * np.sum(x))(np.ones(3)))
    assert "9 entries (100.00%)" in printed
    assert "0 of them assumed at 1 operations>\n  gather at" in printed
    assert "entries" in tg.sparsity(lambda x: x[:0])(np.ones(3))._repr_svg_()
    solved = tg.sparsity(lambda x: np.linalg.solve(np.eye(3) * x[:3], x[3:6]))(X)
    assert solved.colours == 6
    assert solved.dense_at[0].startswith("solve at")
    assert tg.sparsity(rosenbrock, of="hessian")(X).nnz == 34


def rotated_often(x: Any) -> Any:
    return tg.while_loop(lambda s: np.sum(s) < 9, lambda s: 2 * np.roll(s, 1), x)


def overwritten(x: Any) -> Any:
    out = x * 1
    out[np.argmax(x)] = x[0]
    return out


@pytest.mark.parametrize(
    ("function", "assumed", "entries"),
    [
        (stencil, 0, 36),
        (lambda x: np.linalg.solve(np.diag(x[:4]), x[4:8]), 32, 32),
        (lambda x: x[np.argmax(x)] * x, 12 * 11, 144),
        (lambda x: np.sort(x) * np.sum(x), 0, 144),
        (overwritten, 23, 23),
        (rotated_often, 144, 144),
        (lambda x: tg.while_loop(lambda s: np.sum(s) < 9, lambda s: 2 * s, x), 0, 12),
        (lambda x: tg.scan(lambda c, _: (c * x, None), x, length=200)[0], 0, 12),
        (lambda x: np.sum(x**3) + np.linalg.det(np.diag(x)), 132, 144),
    ],
)
def test_assumed_entries_are_counted(function: Any, assumed: int, entries: int) -> None:
    """Those that there would not be if the operations of which more is assumed gave nothing."""
    of = "hessian" if np.ndim(function(X)) == 0 else "jacobian"
    found = tg.sparsity(function, of=of)(X)
    assert (found.assumed, found.nnz) == (assumed, entries)
    assert bool(assumed) <= bool(found.dense_at)


def test_assumed_entries_of_blocks() -> None:
    function = lambda x, y: (x[np.argmax(y)] * x, x * y)  # noqa: E731
    rows = tg.sparsity(function, argnums=(0, 1))(X, X)
    assert [[b.assumed for b in row] for row in rows] == [[132, 0], [0, 0]]
