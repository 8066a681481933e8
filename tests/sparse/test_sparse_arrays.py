"""`scipy.sparse` arrays in traced functions, against the same functions of dense arrays: formats,
dtypes, eager and compiled code, transforms; and what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import tracegrad as tg
from tracegrad.errors import ConcretizationError, ShapeError, UnsupportedFunctionError
from tracegrad.ops.sparse.operand import SparseArray
from tracegrad.ops.sparse.pattern import Pattern, layout_of

M, N = 6, 4
RNG = np.random.default_rng(3)
DENSE = RNG.normal(size=(M, N)) * (RNG.random((M, N)) < 0.5)
DENSE[2], DENSE[:, 3] = 0, 0  # a row and a column without entries
X, Y, W = RNG.normal(size=N), RNG.normal(size=M), RNG.normal(size=(M, 1))
MANY = RNG.normal(size=(N, 3))
SQUARE = RNG.normal(size=(5, 5)) * (RNG.random((5, 5)) < 0.4) + 4 * np.eye(5)
RIGHT = RNG.normal(size=5)


def unsorted(dense: np.ndarray[Any, Any]) -> Any:
    """Entries in no order, of which one stands in two parts."""
    rows, columns = np.nonzero(dense)
    rows, columns = np.append(rows, rows[0]), np.append(columns, columns[0])
    data = np.append(dense[np.nonzero(dense)], 0.25)
    data[0] -= 0.25
    order = np.random.default_rng(0).permutation(len(data))
    return sp.coo_array((data[order], (rows[order], columns[order])), shape=dense.shape)


def rows_out_of_order(dense: np.ndarray[Any, Any]) -> Any:
    made = sp.csr_array(dense)
    for i in range(dense.shape[0]):
        part = slice(made.indptr[i], made.indptr[i + 1])
        made.indices[part], made.data[part] = made.indices[part][::-1], made.data[part][::-1]
    made.has_sorted_indices = False
    return made


FORMATS: dict[str, Callable[[Any], Any]] = {
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "dia": sp.dia_array,
    "bsr": lambda d: sp.bsr_array(d, blocksize=(2, 2)),
    "csr_matrix": sp.csr_matrix,
    "duplicates": unsorted,
    "unsorted": rows_out_of_order,
}


def uses(a: Any, x: Any, y: Any, w: Any, many: Any) -> list[Any]:
    """Everything that is done alike with a sparse and a dense matrix, `toarray` and products by `*`
    aside."""
    return [
        a @ x,
        y @ a,
        a.T @ y,
        a @ many,
        many.T @ a.T,
        dense(times(a, w)),
        dense(times(a, x)),
        dense(times(a, w * x)),
        dense(a / w),
        dense(2 * a - a + times(a, w)),
        dense(-a) + x,
        total(a, 0),
        total(a, 1),
        a.sum() * a.mean(),
        a.diagonal(),
        a.diagonal(1),
        dense(abs(a)),
        dense(a.T @ a),
        dense(times(a, a)),
        a + w,
        w - a,
    ]


def dense(a: Any) -> Any:
    return a.toarray() if hasattr(a, "toarray") else a


def times(a: Any, w: Any) -> Any:
    return a.multiply(w) if hasattr(a, "multiply") else a * w


def total(a: Any, axis: int) -> Any:
    return a.sum(axis).reshape(-1)


def weighed(f: Callable[..., Any], *given: Any) -> Any:
    """One number of all results, each with weights of its own."""
    rng = np.random.default_rng(7)
    return sum(np.sum(r * rng.normal(size=np.shape(r)) + r * r) for r in f(*given))


def places(a: Any) -> Any:
    """Where a format keeps an entry."""
    ones = a.copy()
    ones.data = np.ones_like(ones.data)
    return ones.toarray()


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str) -> None:
    """Values and gradients of everything, un-jitted and (of two formats) compiled; the gradient by
    a matrix is one of the same class and places."""
    a = FORMATS[name](DENSE)
    given = (X, Y, W, MANY)
    wanted = uses(DENSE, *given)
    by_dense = tg.grad(lambda *v: weighed(uses, *v), argnums=(0, 1, 2, 3, 4))(DENSE, *given)
    ways: list[Callable[[Any], Any]] = [lambda f: f]
    if name in ("csr", "duplicates"):
        ways.append(tg.jit)
    for way in ways:
        ours = way(lambda a, *v: uses(tg.sparse.array(a), *v))
        for got, expected in zip(ours(a, *given), wanted, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)
        # abs has no derivative where an explicit zero stands.
        smooth = [k for k in range(len(wanted)) if k != 16]

        def some(*v: Any, smooth: Any = smooth) -> Any:
            found = uses(*v)
            return [found[k] for k in smooth]

        by = way(tg.grad(lambda *v: weighed(some, *v), argnums=(0, 1, 2, 3, 4)))(a, *given)
        by_dense = tg.grad(lambda *v: weighed(some, *v), argnums=(0, 1, 2, 3, 4))(DENSE, *given)
        assert type(by[0]) is type(a)
        assert layout_of(by[0]) is layout_of(a)
        # Of entries that stand twice each one has the whole derivative.
        np.testing.assert_allclose(by[0].toarray(), by_dense[0] * places(a), rtol=1e-11, atol=1e-12)
        for got, expected in zip(by[1:], by_dense[1:], strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["csr", "csc", "coo", "csr_matrix"])
def test_constants(name: str) -> None:
    """SciPy's own objects beside traced values: by its operators, from either side."""
    a = FORMATS[name](DENSE)

    def f(x: Any, y: Any, w: Any) -> Any:
        scaled = [a * w, w * a, a / w] if not name.endswith("matrix") else [a * x, y * a]
        return [a @ x, y @ a, a.T @ y, *map(dense, scaled), dense(a * 2), a + w, w - a]

    def of_dense(x: Any, y: Any, w: Any) -> Any:
        d = DENSE
        scaled = [d * w, w * d, d / w] if not name.endswith("matrix") else [d @ x, y @ d]
        return [d @ x, y @ d, d.T @ y, *scaled, d * 2, d + w, w - d]

    expected = tg.grad(lambda *v: weighed(of_dense, *v), argnums=(0, 1, 2))(X, Y, W)
    for way in (lambda f: f, tg.jit) if name == "csr" else (lambda f: f,):
        got = way(tg.grad(lambda *v: weighed(f, *v), argnums=(0, 1, 2)))(X, Y, W)
        for g, e in zip(got, expected, strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-13)


def energy(data: Any, x: Any) -> Any:
    a = tg.sparse.array((data, A.indices, A.indptr), A.shape)
    z = a @ x
    return np.sum(tg.sparse.solve(a, np.sin(z) * x) ** 2) + np.sum((a.T @ z) * x)


A = sp.csr_array(SQUARE)


def of_dense(data: Any, x: Any) -> Any:
    rows, columns = A.tocoo().coords
    d = tg.ops.index_add_at(np.zeros((5, 5)), (rows, columns), data)
    z = d @ x
    return np.sum(np.linalg.solve(d, np.sin(z) * x) ** 2) + np.sum((d.T @ z) * x)


@pytest.mark.parametrize("jitted", [False, True])
def test_transforms(jitted: bool) -> None:
    """Second orders, tangents and batches, of products and of a system."""
    way: Any = tg.jit if jitted else (lambda f: f)
    given, tangents = (A.data, RIGHT), (A.data + 1, RIGHT - 2)
    both = (0, 1)

    def all_of(f: Any) -> Any:
        def run(d: Any, x: Any, td: Any, tx: Any) -> Any:
            return (
                tg.hessian(f, argnums=both)(d, x),
                tg.jvp(tg.grad(f, argnums=both), (d, x), (td, tx)),
                tg.jvp(lambda d, x: tg.jvp(f, (d, x), (td, tx))[1], (d, x), (td, tx)),
                tg.vmap(tg.grad(f, argnums=both))(np.stack([d, td]), np.stack([x, tx])),
                tg.vmap(tg.grad(f, argnums=both), in_axes=(None, 1))(d, np.stack([x, tx], 1)),
                tg.vmap(tg.grad(f, argnums=both), in_axes=(0, None))(np.stack([d, td]), x),
                tg.vmap(tg.vmap(f, in_axes=(0, None)), in_axes=(None, 0))(
                    np.stack([d, td]), np.stack([x, tx])
                ),
            )

        return run

    got, spec = tg.tree.flatten(way(all_of(energy))(*given, *tangents))
    expected, same = tg.tree.flatten(all_of(of_dense)(*given, *tangents))
    assert spec == same
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-9, atol=1e-9)


@pytest.fixture
def _no_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    """All systems go the general way, through SuperLU."""
    monkeypatch.setattr(Pattern, "band", property(lambda self: None))


@pytest.mark.usefixtures("_no_bands")
@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_dtypes(dtype: str) -> None:
    kind = np.dtype(dtype)
    turn = (1 + 0.5j) if kind.kind == "c" else 1
    a, x = sp.csc_array((SQUARE * turn).astype(kind)), (RIGHT * turn).astype(kind)

    def f(a: Any, x: Any) -> Any:
        z = a @ (a.T @ x)
        return np.sum(abs(z) ** 2) + np.sum(abs(solved(a, x)) ** 2)

    def solved(a: Any, x: Any) -> Any:
        return tg.sparse.solve(a, x) if isinstance(a, SparseArray) else np.linalg.solve(a, x)

    expected = tg.grad(f, argnums=(0, 1))(a.toarray(), x)
    tolerance = 1e-3 if kind.itemsize // (2 if kind.kind == "c" else 1) == 4 else 1e-10
    for way in (lambda f: f, tg.jit) if dtype != "complex64" else (lambda f: f,):
        by_a, by_x = way(tg.grad(f, argnums=(0, 1)))(a, x)
        assert by_a.dtype == by_x.dtype == kind
        np.testing.assert_allclose(by_x, expected[1], rtol=tolerance)
        np.testing.assert_allclose(
            by_a.toarray(), expected[0] * places(a).real, rtol=tolerance, atol=tolerance
        )
    whole, ones = sp.csr_array(np.eye(2, dtype=np.int32)), np.array([1, 2], np.int32)
    assert (tg.sparse.array(whole) @ ones).dtype == (whole @ ones).dtype


def test_patterns_that_change() -> None:
    """Compiled functions see what was done to SciPy's arrays in place, whether these are arguments
    or read around the function."""
    a = sp.csr_array(
        (np.array([1.0, 2, 3]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3)
    )
    x = np.array([1.0, 10, 100])
    given, read = tg.jit(lambda a, x: a @ x), tg.jit(lambda x: a @ x)

    def agree() -> None:
        np.testing.assert_array_equal(given(a, x), a @ x)
        np.testing.assert_array_equal(read(x), a @ x)

    agree()
    a.sort_indices()
    agree()
    a.data *= 3
    agree()
    a.data[0] = 0
    a.eliminate_zeros()
    agree()
    a.indices[:] = [2, 1]
    agree()
    a = sp.csr_array(np.array([[0.0, 1, 0], [5, 0, 0]]))
    agree()


@pytest.mark.usefixtures("_no_bands")
def test_factorizations_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for a solution, its adjoint and its tangents; another one when a value changes."""
    made: list[Any] = []
    splu = sla.splu
    monkeypatch.setattr(sla, "splu", lambda *args, **kw: (made.append(1), splu(*args, **kw))[1])
    a = sp.csr_array(SQUARE + np.diag(RNG.random(5)))
    f = lambda a, b: np.sum(tg.sparse.solve(a, b) ** 2)  # noqa: E731
    tg.grad(f, argnums=(0, 1))(a, RIGHT)
    tg.jit(tg.grad(f))(a, RIGHT + 1)
    tg.hessian(lambda b: f(a, b))(RIGHT)
    tg.sparse.solve(tg.sparse.array(a).T, RIGHT)
    assert sum(made) in (1, 2)  # that of the transposed matrix is another one's
    before = sum(made)
    a.data[1] += 1e-9
    np.testing.assert_allclose(a @ tg.sparse.solve(a, RIGHT), RIGHT)
    assert sum(made) == before + 1


def test_trees_and_results() -> None:
    a = sp.csc_array(DENSE)
    doubled = tg.jit(lambda t: {"b": t["a"] * 2, "x": t["a"].data})({"a": a})
    assert type(doubled["b"]) is sp.csc_array
    np.testing.assert_array_equal(doubled["b"].toarray(), 2 * DENSE)
    again = pickle.loads(pickle.dumps(layout_of(a)))
    assert again is layout_of(a)
    own = tg.sparse.array(a)
    f = tg.jit(lambda a: a @ X)
    np.testing.assert_array_equal(f(own), f(a))
    assert isinstance(own.tocsr(), SparseArray)
    np.testing.assert_array_equal(own.tocoo().toarray(), DENSE)


def test_empty() -> None:
    for shape in ((0, 0), (3, 0), (0, 2), (3, 2)):
        a, x = sp.csr_array(shape), np.ones(shape[1])
        for way in (lambda f: f, tg.jit) if shape in ((0, 0), (3, 2)) else (lambda f: f,):
            by_a, by_x = way(tg.grad(lambda a, x: np.sum(a @ x), argnums=(0, 1)))(a, x)
            assert by_a.shape == shape
            assert by_a.nnz == 0
            np.testing.assert_array_equal(by_x, np.zeros(shape[1]))
    assert tg.sparse.solve(sp.csr_array((0, 0)), np.ones(0)).shape == (0,)


SMALL = tg.sparse.array(sp.csr_array(np.eye(3)))
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "columns": (lambda: SMALL @ np.ones(2), ShapeError, "has 3 columns"),
    "rows": (lambda: np.ones(2) @ SMALL, ShapeError, "has 3 rows"),
    "three axes": (lambda: SMALL @ np.ones((3, 3, 3)), ShapeError, "vector or a matrix"),
    "a number": (lambda: SMALL @ 2.0, ShapeError, "A \\* x"),
    "broadcast": (lambda: SMALL * np.ones(2), ShapeError, "not broadcast"),
    "add a number": (lambda: SMALL + 1.0, UnsupportedFunctionError, "A.toarray\\(\\) \\+ c"),
    "index": (lambda: SMALL[0], UnsupportedFunctionError, "tg.sparse.solve"),
    "attribute": (lambda: SMALL.eliminate_zeros(), AttributeError, "eliminate_zeros"),
    "as dense": (lambda: np.asarray(SMALL), ConcretizationError, "toarray"),
    "as dense, huge": (
        lambda: tg.sparse.array(sp.eye_array(100_000, format="csr")).toarray(),
        MemoryError,
        "80,000,000,000 bytes",
    ),
    "outside": (
        lambda: tg.sparse.array(([1.0], [3], [0, 1]), (1, 3)),
        ShapeError,
        "from 3 to 3, and must be from 0 to 2",
    ),
    "falling": (lambda: tg.sparse.array(([1.0], [0], [0, 2]), (1, 3)), ShapeError, "rise from 0"),
    "data": (lambda: tg.sparse.array(([1.0, 2], [0], [0, 1]), (1, 3)), ShapeError, "2 numbers"),
    "no integers": (lambda: tg.sparse.array(([1.0], [0.5], [0, 1]), (1, 3)), TypeError, "integers"),
    "lil": (lambda: tg.jit(lambda a: a)(sp.lil_array((2, 2))), TypeError, "lil"),
    "dok": (lambda: tg.jit(lambda a: a)(sp.dok_array((2, 2))), TypeError, "dok"),
    "dok with": (lambda: tg.grad(lambda x: sp.dok_array((2, 2)) @ x)(np.ones(2)), TypeError, "dok"),
    "vmap": (lambda: tg.vmap(lambda a: a.sum())(A), ShapeError, "Pass A.data"),
    "jacobian": (lambda: tg.jacobian(lambda a: a @ RIGHT)(A), ShapeError, "Pass A.data"),
    "not square": (lambda: tg.sparse.solve(sp.csr_array((2, 3)), [1.0, 2]), ShapeError, "square"),
    "singular": (
        lambda: tg.sparse.solve(sp.csr_array((2, 2)), [1.0, 2]),
        np.linalg.LinAlgError,
        "Singular",
    ),
    "singular, compiled": (
        lambda: tg.jit(lambda b: tg.sparse.solve(sp.csr_array((2, 2)), b))(np.ones(2)),
        np.linalg.LinAlgError,
        "Singular",
    ),
    "dense A": (lambda: tg.sparse.solve(np.eye(2), [1.0, 2]), TypeError, "tg.linalg.solve"),
    "sparse b": (lambda: tg.sparse.solve(A, A), TypeError, "toarray"),
    "spsolve": (
        lambda: tg.grad(lambda b: np.sum(sla.spsolve(A.tocsc(), b)))(RIGHT),
        ConcretizationError,
        "tg.sparse.solve",
    ),
    "spsolve of ours": (
        lambda: tg.grad(lambda a: np.sum(sla.spsolve(a, RIGHT)))(A),
        Exception,
        "tg.sparse.solve",
    ),
    "multiply": (
        lambda: tg.grad(lambda b: A.multiply(b).sum())(RIGHT),
        ConcretizationError,
        "A \\* w",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    run, kind, text = REFUSED[name]
    with pytest.raises(kind, match=text):
        run()


@pytest.mark.parametrize("k", [None, 0, 2])
@pytest.mark.parametrize(("m", "n"), [(0, 0), (0, 2), (3, 0), (3, 2)])
def test_batches_of_empty_products(m: int, n: int, k: int | None) -> None:
    """Of matrices and operands without rows or columns, by `vmap` and in Jacobians."""
    a = sp.csr_array(np.arange(1.0, m * n + 1).reshape(m, n))
    dense = a.toarray()
    x, y = (np.ones(s if k is None else (s, k)) for s in (n, m))
    for axis in range(x.ndim + 1):
        many = np.stack([x, 2 * x, -x], axis)
        found = tg.vmap(lambda x: a @ x, in_axes=axis)(many)
        np.testing.assert_array_equal(found, [dense @ v for v in (x, 2 * x, -x)])
    for f, at in (
        (lambda d, x: np.sin(d @ x), x),
        (lambda d, x: np.sin(d.T @ (d @ x)), x),
        (lambda d, y: y.T @ d, y),
    ):
        for mode in ("forward", "reverse"):
            found = tg.jacobian(lambda v, f=f: f(a, v), mode=mode)(at)
            wanted = tg.jacobian(lambda v, f=f: f(dense, v), mode=mode)(at)
            np.testing.assert_allclose(found, wanted, atol=1e-14)
