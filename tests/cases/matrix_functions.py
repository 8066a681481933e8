"""Functions of general matrices and SciPy's names of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as sl

import tracegrad as tg
from tests.cases import Case, off_device
from tests.cases.linalg import NO_MATRIX, NOT_SQUARE, VECTOR, WIDE, positive, regular
from tests.cases.products import normal
from tracegrad.errors import ShapeError

linalg: Any = tg.linalg
EMPTY = (np.zeros((0, 0)),)
F32 = ((np.array([[2.0, 1.0], [0.5, 3.0]], np.float32),),)
INTEGERS = ((np.array([[2, 1], [1, 3]]),),)


def banded_factor(ab: Any, lower: bool) -> Any:
    """SciPy's, with zeros where a diagonal has no element."""
    k, n = np.subtract(ab.shape, (1, 0))
    gap = np.arange(k + 1)[:, None]
    inside = np.arange(n) < n - gap if lower else np.arange(n) >= k - gap
    return np.where(inside, sl.cholesky_banded(ab, lower=lower), 0)


def by_eig(library: Any, a: Any) -> Any:
    """Eigenvalues in a sum, and what does not depend on lengths and phases of vectors."""
    w, v = library.eig(a)
    w, v = w + 0j, v + 0j
    return np.sum(w**3), np.abs(v), (v * np.sin(w)[..., None, :]) @ library.inv(v)


SPECTRAL = (
    Case(
        "eig",
        lambda a: by_eig(linalg, a),
        normal((3, 3)),
        lambda a: by_eig(np.linalg, a),
        ("eig",),
        tolerance=1e-5,
        special=F32,
        errors=(NOT_SQUARE, NO_MATRIX),
    ),
    Case(
        "eig complex stack",
        lambda a: by_eig(linalg, a),
        normal((2, 3, 3), dtype=complex),
        lambda a: by_eig(np.linalg, a),
        ("eig",),
        tolerance=1e-5,
    ),
    Case(
        "eigvals",
        lambda a: linalg.eigvals(a) ** 2,
        positive((3, 3)),
        lambda a: (np.linalg.eigvals(a) + 0j) ** 2,
        ("eigvals", "eig_strict"),
        special=INTEGERS,
    ),
)


def squares_and_values(module: Any, d: Any, e: Any) -> Any:
    w, v = module.eigh_tridiagonal(d, e)
    return v**2 + w


def small(shape: tuple[int, ...], dtype: type = float) -> Any:
    return lambda rng: (normal(shape, dtype=dtype)(rng)[0] * 0.7,)


def logm(a: Any) -> Any:
    """SciPy's, in the dtype of the matrix."""
    return np.asarray(sl.logm(a), a.dtype) if a.size else a


def riccati(m: int, n: int, dtype: Any = float, more: bool = False) -> Any:
    """Arguments of Riccati's equations."""

    def inputs(rng: np.random.Generator) -> tuple[Any, ...]:
        def matrix(*shape: int) -> Any:
            x = rng.normal(size=shape)
            return (x + 1j * rng.normal(size=shape) if dtype is complex else x) * 0.5

        def positive(k: int) -> Any:
            x = matrix(k, k)
            return x @ x.conj().T + np.eye(k)

        found = (matrix(m, m), matrix(m, n), positive(m), positive(n))
        return (*found, np.eye(m) + 0.3 * matrix(m, m), 0.2 * matrix(m, n)) if more else found

    return inputs


def unbalanced(function: Any) -> Any:
    """SciPy 1.17 solves no equations with e when it has balanced them."""
    return lambda *given: function(*given, balanced=False)


NO_RICCATI = (
    ((np.eye(2), np.zeros((2, 1)), np.eye(2), np.eye(1)), np.linalg.LinAlgError, "no stabilizing"),
    ((np.eye(2), np.zeros((2, 1)), np.eye(3), np.eye(1)), ShapeError, "q has the shape"),
)
FUNCTIONS = (
    Case(
        "expm",
        linalg.expm,
        small((3, 3)),
        sl.expm,
        ("expm",),
        special=(
            EMPTY,
            (np.zeros((2, 2)),),
            (np.array([[0.0, 1e4], [0.0, 0.0]]),),
            (np.diag([-50.0, 3.0]),),
            *F32,
            *INTEGERS,
        ),
        errors=(NOT_SQUARE, NO_MATRIX),
    ),
    Case("expm complex stack", linalg.expm, small((2, 2, 2), complex), sl.expm, ("expm",)),
    Case("expm large", linalg.expm, lambda rng: (rng.normal(size=(2, 2)) * 6,), sl.expm, ("expm",),
         order=0),
    Case(
        "sqrtm",
        linalg.sqrtm,
        regular((3, 3)),
        sl.sqrtm,
        ("sqrtm", "sylvester"),
        special=F32,
        errors=(
            NOT_SQUARE,
            ((-np.eye(2),), np.linalg.LinAlgError, "No principal square root in this dtype"),
        ),
    ),
    Case("logm", linalg.logm, regular((3, 3)), logm, special=(*F32, EMPTY, (np.eye(2),),
         (np.diag([1e-12, 1e8]),), (np.array([[1.0, 1e3], [0.0, 2.0]]),)), tolerance=1e-5,
         jit=False, errors=(
             NOT_SQUARE, ((-np.eye(2),), np.linalg.LinAlgError, "No principal square root"))),
    Case("logm complex stack", linalg.logm, regular((2, 2, 2), dtype=complex), logm, order=0,
         special=((np.array([[0.0, 1.0], [-1.0, 0.0]]) + 0j,),)),
    Case("sqrtm complex", linalg.sqrtm, regular((2, 2), dtype=complex), sl.sqrtm, ("sqrtm",)),
    Case(
        "sylvester",
        linalg.solve_sylvester,
        regular((3, 3), (2, 2), vectors=((3, 2),)),
        sl.solve_sylvester,
        ("sylvester",),
        errors=(
            ((np.eye(2), -np.eye(2), np.ones((2, 2))), np.linalg.LinAlgError, "no unique solution"),
            ((np.eye(2), np.eye(3), np.ones((3, 2))), ShapeError, "q has shape"),
        ),
    ),
    Case(
        "sylvester complex",
        linalg.solve_sylvester,
        regular((2, 2), (2, 2), vectors=((2, 2),), dtype=complex),
        sl.solve_sylvester,
        ("sylvester",),
    ),
    *[
        Case(
            f"{name} {word}", getattr(linalg, name), inputs, unbalanced(getattr(sl, name)), ops,
            errors=errors, order=order, tolerance=1e-6,
        )
        for name, ops, errors in (
            ("solve_continuous_are", ("stable_slope",), NO_RICCATI),
            ("solve_discrete_are", ("stable_slope",), ()),
        )
        for word, inputs, order in (
            ("real", riccati(3, 2), 2),
            ("complex with e and s", riccati(2, 1, complex, True), 1),
        )
    ],
    *[
        Case(f"polar {word}", lambda a, side=side: linalg.polar(a, side), regular(shape,
             dtype=dtype), lambda a, side=side: sl.polar(a, side), tolerance=1e-6)
        for word, shape, side, dtype in (
            ("square", (2, 2), "right", float), ("wide complex", (2, 3), "left", complex))
    ],
    Case("orthogonal_procrustes", linalg.orthogonal_procrustes, regular((3, 2), (3, 2)),
         sl.orthogonal_procrustes, tolerance=1e-6),
    Case(
        "lyapunov",
        linalg.solve_continuous_lyapunov,
        regular((2, 2), vectors=((2, 2),)),
        sl.solve_continuous_lyapunov,
    ),
)  # fmt: skip


def tall(rng: np.random.Generator) -> tuple[Any, ...]:
    """Two matrices whose pivots are clear."""
    clear = np.array([[[1, 2], [-5, 1], [2, 6], [0, 1]], [[7, 1], [1, 1], [2, 0], [1, -6]]])
    return (clear + 0.1 * rng.normal(size=clear.shape),)


def pivoted_qr(a: Any) -> Any:
    q, r, p = sl.qr(a, mode="economic", pivoting=True)
    return q, r, p.astype(np.int64)


FACTORS = (
    Case(
        "lu",
        linalg.lu,
        normal((4, 4)),
        sl.lu,
        ("lu", "permutation"),
        special=F32,
        errors=(NO_MATRIX,),
    ),
    *[
        Case(
            f"lu {m} {n}",
            linalg.lu,
            normal((m, n), dtype=kind),
            sl.lu,
            (),
        )
        for m, n, kind in ((5, 3, float), (3, 5, float), (4, 2, complex))
    ],
    Case(
        "lu tall stack",
        lambda a: linalg.lu(a, permute_l=True),
        tall,
        lambda a: sl.lu(a, permute_l=True),
        ("row_order",),
        errors=(((np.ones((3, 2)),), np.linalg.LinAlgError, "Singular"),),
    ),
    *[
        Case(
            f"qr pivoting {m} {n} {kind.__name__}",
            lambda a: linalg.qr(a, pivoting=True),
            normal((m, n), dtype=kind),
            pivoted_qr,
            ("column_order",),
        )
        for m, n, kind in ((4, 3, float), (2, 4, float), (3, 3, complex))
    ],
    Case(
        "qr pivoting r",
        lambda a: linalg.qr(a, "r", True),
        normal((2, 3, 2)),
        lambda a: tuple(np.stack(x) for x in zip(*[pivoted_qr(m)[1:] for m in a], strict=True)),
        order=1,
        special=((np.array([[[1, 2], [3, 1]]], np.float32),),),
    ),
    Case(
        "lu complex stack",
        linalg.lu,
        normal((2, 3, 3), dtype=complex),
        sl.lu,
        ("lu",),
    ),
    Case(
        "lu permuted",
        lambda a: linalg.lu(a, permute_l=True),
        normal((3, 3)),
        lambda a: sl.lu(a, permute_l=True),
    ),
    Case(
        "lu indices",
        lambda a: linalg.lu(a, p_indices=True),
        normal((3, 3)),
        lambda a: (sl.lu(a, p_indices=True)[0].astype(np.int64), *sl.lu(a, p_indices=True)[1:]),
        order=1,
    ),
    *[
        Case(
            f"lu_solve {trans} {dtype.__name__}",
            lambda a, b, t=trans: linalg.lu_solve(linalg.lu_factor(a), b, t),
            regular((3, 3), vectors=((3, 2),), dtype=dtype),
            lambda a, b, t=trans: sl.lu_solve(sl.lu_factor(a), b, t),
        )
        for trans, dtype in ((0, float), (1, float), (2, complex))
    ],
    *[
        Case(
            f"cho_solve {lower}",
            lambda a, b, low=lower: linalg.cho_solve(linalg.cho_factor(a, low), b),
            lambda rng: (*positive((3, 3))(rng), rng.normal(size=3)),
            lambda a, b, low=lower: sl.cho_solve(sl.cho_factor(a, low), b),
            order=0,
        )
        for lower in (False, True)
    ],
    Case(
        "solve_triangular",
        lambda a, b: linalg.solve_triangular(a, b, "T", lower=True),
        regular((3, 3), vectors=((3,),)),
        lambda a, b: sl.solve_triangular(a, b, "T", lower=True),
    ),
    Case(
        "solve_banded",
        lambda ab, b: linalg.solve_banded((1, 2), ab, b),
        lambda rng: (
            rng.normal(size=(4, 5)) + np.array([0, 0, 6, 0])[:, None],
            rng.normal(size=5),
        ),
        lambda ab, b: sl.solve_banded((1, 2), ab, b),
        ("band_solve", "band_product", "band_entries"),
        special=(
            (np.ones((4, 0)), np.ones(0)),
            (np.eye(4, 3, -2, np.float32) + np.float32(1), np.arange(3)),
        ),
        errors=(
            ((np.ones((3, 4)), np.ones(4)), ShapeError, "must have 4 rows"),
            ((np.ones((4, 4)), np.ones(3)), ShapeError, "need right-hand sides of 4 rows"),
        ),
    ),
    Case(
        "solve_banded complex stack",
        lambda ab, b: linalg.solve_banded((1, 1), ab, b),
        lambda rng: (
            normal((2, 3, 4), dtype=complex)(rng)[0] + np.array([0, 6, 0])[:, None],
            normal((2, 4, 2), dtype=complex)(rng)[0],
        ),
        lambda ab, b: np.stack([sl.solve_banded((1, 1), a, r) for a, r in zip(ab, b, strict=True)]),
    ),
    *[
        Case(
            f"solveh_banded lower={lower}",
            lambda ab, b, low=lower: linalg.solveh_banded(ab, b, lower=low),
            lambda rng, low=lower: (
                normal((3, 5), dtype=complex)(rng)[0] + np.array([0, 0, 9])[:: 1 - 2 * low, None],
                rng.normal(size=5),
            ),
            lambda ab, b, low=lower: sl.solveh_banded(ab, b, lower=low),
        )
        for lower in (False, True)
    ],
    *[
        Case(
            f"cholesky_banded lower={lower} {np.dtype(dtype).name}",
            lambda ab, low=lower: linalg.cholesky_banded(ab, lower=low),
            lambda rng, low=lower, of=dtype: (
                normal((3, 5), dtype=of)(rng)[0] + np.array([0, 0, 9])[:: 1 - 2 * low, None],
            ),
            lambda ab, low=lower: banded_factor(ab, low),
            ("band_cholesky", "band_cholesky_adjoint"),
            special=(
                (np.ones((3, 0)),),
                (np.array([[4.0]]),),
                (np.array([[4, 9]]),),
                (np.float32([[0, 1, 1], [4, 5, 6]])[:: 1 - 2 * lower],),
            ),
            errors=(
                ((np.ones(3),), ShapeError, "a row for each diagonal"),
                ((np.zeros((2, 3)),), np.linalg.LinAlgError, "not positive definite"),
            ),
        )
        for lower, dtype in ((False, complex), (True, float))
    ],
    *[
        Case(
            f"cho_solve_banded lower={lower}",
            lambda cb, b, low=lower: linalg.cho_solve_banded((cb, low), b),
            lambda rng, low=lower: (
                normal((3, 5), dtype=complex)(rng)[0] + np.array([0, 0, 6])[:: 1 - 2 * low, None],
                rng.normal(size=(5, 2)),
            ),
            lambda cb, b, low=lower: sl.cho_solve_banded((cb, low), b),
            special=((np.ones((1, 0)), np.ones((0, 2))), (np.ones((2, 4)), np.arange(4))),
        )
        for lower in (False, True)
    ],
    Case(
        "solve_toeplitz",
        lambda c, r, b: linalg.solve_toeplitz((c, r), b),
        lambda rng: (rng.normal(size=3) + [4, 0, 0], rng.normal(size=3), rng.normal(size=3)),
        lambda c, r, b: sl.solve_toeplitz((c, r), b),
        ("toeplitz_solve",),
        errors=(((VECTOR, VECTOR, np.ones(9)), ShapeError, "as many elements"),),
    ),
    Case(
        "eigvalsh_tridiagonal",
        lambda d, e: linalg.eigvalsh_tridiagonal(d, e) ** 2,
        normal((4,), (3,)),
        lambda d, e: sl.eigvalsh_tridiagonal(d, e) ** 2,
        ("tridiagonal_eigvalsh", "tridiagonal_eigh_strict"),
        errors=(((VECTOR, np.ones(9)), ShapeError, "one element less"),),
    ),
    Case(
        "eigh_tridiagonal",
        lambda d, e: squares_and_values(linalg, d, e),
        lambda rng: (rng.normal(size=3), rng.normal(size=2) + 2),
        lambda d, e: squares_and_values(sl, d, e),
        ("tridiagonal_eigh",),
        tolerance=1e-5,
    ),
)
MADE = (
    Case(
        "toeplitz",
        linalg.toeplitz,
        normal((3,), (4,)),
        sl.toeplitz,
        special=((np.arange(3), np.arange(2)),),
        errors=(((WIDE, VECTOR), ShapeError, "c must be a vector"),),
    ),
    Case("toeplitz hermitian", linalg.toeplitz, normal((3,), dtype=complex), sl.toeplitz),
    Case("circulant", linalg.circulant, normal((4,)), sl.circulant, order=1),
    Case("hankel", linalg.hankel, normal((3,), (2,)), sl.hankel, order=1),
    Case("hankel zeros", linalg.hankel, normal((3,)), sl.hankel, order=1),
    Case(
        "block_diag",
        linalg.block_diag,
        normal((2, 3), (1, 1), (2,)),
        sl.block_diag,
        order=1,
        errors=(((np.ones((2, 2, 2)),), ShapeError, "must be a matrix"),),
    ),
)


CASES = (
    *SPECTRAL[:1],
    *FUNCTIONS[:1],
    *FACTORS[:1],
    *off_device(*SPECTRAL[1:], *FUNCTIONS[1:], *FACTORS[1:], *MADE),
)
