"""Linear algebra. Vectors of factorizations are checked through what does not depend on their signs
and phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from tests.cases import Case
from tests.cases.products import normal
from tracegrad.errors import ShapeError
from tracegrad.ir.dispatch import bind
from tracegrad.ir.op import Op
from tracegrad.ops import matmul
from tracegrad.ops.matrices import factored, linalg
from tracegrad.ops.matrices.cholesky import cholesky_adjoint_op, cholesky_tangent_op
from tracegrad.ops.matrices.eigenvalues import eigh_strict_op
from tracegrad.ops.matrices.spectral import svd_strict_op
from tracegrad.ops.matrices.stacks import as_stack

Inputs = Callable[[np.random.Generator], tuple[Any, ...]]
Shape = tuple[int, ...]


def regular(*shapes: Shape, dtype: type = float, vectors: tuple[Shape, ...] = ()) -> Inputs:
    """Matrices well away from singular ones, then arrays of any kind."""

    def inputs(rng: np.random.Generator) -> tuple[Any, ...]:
        matrices = [m + 3 * np.eye(*m.shape[-2:]) for m in normal(*shapes, dtype=dtype)(rng)]
        return (*matrices, *normal(*vectors, dtype=dtype)(rng))

    return inputs


def positive(shape: Shape, dtype: type = float) -> Inputs:
    """Hermitian positive definite matrices with separate eigenvalues."""

    def inputs(rng: np.random.Generator) -> tuple[Any, ...]:
        (m,) = normal(shape, dtype=dtype)(rng)
        return (m @ m.conj().swapaxes(-1, -2) + np.diag(np.arange(1.0, shape[-1] + 1)),)

    return inputs


def low_rank(m: int, n: int, rank: int) -> Inputs:
    def inputs(rng: np.random.Generator) -> tuple[Any, ...]:
        return (
            rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n)),
            rng.normal(size=(m, rank)),
            rng.normal(size=(rank, n)),
        )

    return inputs


def symmetric(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the Hermitian part, which a perturbation cannot leave."""
    return lambda a, *rest: function((a + a.conj().swapaxes(-1, -2)) / 2, *rest)


def adjoint(x: Any) -> Any:
    return x.conj().swapaxes(-1, -2)


def both(
    function: Callable[[Any, Callable[[Any, Any], Any]], Any], ours: Any, numpy: Any
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The same formula with our factorization and with NumPy's."""
    return (
        lambda *xs: function(ours, *xs),  # type: ignore[call-arg]
        lambda *xs: function(numpy, *xs),  # type: ignore[call-arg]
    )


def spectral(eigh: Any, a: Any) -> Any:
    w, v = eigh((a + adjoint(a)) / 2)
    return w, (v * np.sin(w)[..., None, :]) @ adjoint(v)


def along_factors(factor: Any, given: Any) -> Any:
    """Of a factor's tangent and cotangent, both from the lower triangle."""
    halves, lower = 1 - np.eye(3) / 2, np.tril(given)
    inverse, both = np.linalg.inv(factor), lower + np.tril(given, -1).swapaxes(1, 2)
    made = adjoint(inverse) @ (np.tril(adjoint(factor) @ lower) * halves) @ inverse
    tangent = factor @ (np.tril(inverse @ both @ adjoint(inverse)) * halves)
    return tangent, (made + adjoint(made)) / 2


def by_factors(a: Any, b: Any) -> Any:
    factors, moved = factored.lu_factors_op(a)
    return (
        factored.factored_solve_op(factors, moved, b, turned=False),
        factored.factored_solve_op(factors, moved, b, turned=True),
        factored.factored_inv_op(factors, moved),
        *factored.factored_slogdet_op(factors, moved),
    )


def singular(svd: Any, a: Any) -> Any:
    u, s, vh = svd(a, full_matrices=False)
    return s, (u * np.sin(s)[..., None, :]) @ vh


def null_space(svd: Any, a: Any) -> Any:
    """The projection on what no column reaches: of the vectors that complete the basis."""
    u = svd(a)[0] if a.shape[-2] > a.shape[-1] else np.conj(np.swapaxes(svd(a)[2], -1, -2))
    u = u[..., :, min(a.shape[-2:]) :]
    return u @ np.conj(np.swapaxes(u, -1, -2))


def sized_qr(qr: Any, a: Any) -> Any:
    q, r = qr(a)
    return q, r


def strict(op: Op) -> Callable[..., Any]:
    """A decomposition that derivatives of values use, of stacks."""
    return lambda a, *_, **__: bind(op, [as_stack(a)])


EIGH, EIGH_NUMPY = both(spectral, linalg.eigh, np.linalg.eigh)
SVD, SVD_NUMPY = both(singular, linalg.svd, np.linalg.svd)
STRICT_EIGH, _ = both(spectral, strict(eigh_strict_op), np.linalg.eigh)
STRICT_SVD, _ = both(singular, strict(svd_strict_op), np.linalg.svd)
QR, QR_NUMPY = both(sized_qr, linalg.qr, np.linalg.qr)
SINGULAR = np.array(
    [[1.0, 2.0, 0.0, 1.0], [2.0, 4.0, 0.0, 2.0], [0.5, 1.0, 3.0, 1.0], [1.0, 0.0, 2.0, 5.0]]
)
WIDE, VECTOR = np.ones((2, 3)), np.ones(2)
NOT_SQUARE = ((WIDE,), ShapeError, "square matrices, not shape")
NO_MATRIX = ((VECTOR,), ShapeError, "needs a matrix")
NO_INVERSE = ((np.zeros((2, 2)),), np.linalg.LinAlgError, "Singular")


def triangular(lower: bool, trans: int, unit: bool, dtype: type = float) -> Case:
    kind = f"{'lower' if lower else 'upper'} {trans} {'unit' if unit else ''}"
    return Case(
        f"triangular_solve {kind} {dtype.__name__}",
        lambda a, b: linalg.triangular_solve(a, b, lower, trans, unit),
        regular((3, 3), dtype=dtype, vectors=((3, 2),)),
        lambda a, b: scipy.linalg.solve_triangular(
            a, b, lower=lower, trans=trans, unit_diagonal=unit
        ),
        ("triangular_solve",),
        errors=(
            (((np.zeros((2, 2)), VECTOR), np.linalg.LinAlgError, "Singular"),) if not unit else ()
        ),
    )


SOLVE = (
    Case(
        "solve",
        linalg.solve,
        regular((3, 3), vectors=((3, 2),)),
        np.linalg.solve,
        ("solve",),
        special=(
            (np.eye(2, dtype=int), np.array([1, 2])),
            (np.eye(2, dtype=np.float32), np.ones(2)),
            (np.zeros((0, 0)), np.zeros((0, 2))),
            (2 * np.eye(2, dtype=np.float32), np.ones(2, np.float32)),
        ),
        errors=(
            ((np.zeros((2, 2)), VECTOR), np.linalg.LinAlgError, "Singular"),
            ((WIDE, VECTOR), ShapeError, "square"),
            ((np.eye(3), VECTOR), ShapeError, "right-hand sides of 3 rows"),
            ((np.eye(3), 1.0), ShapeError, "scalar"),
        ),
    ),
    Case(
        "solve vector", linalg.solve, regular((3, 3), vectors=((3,),)), np.linalg.solve, ("solve",)
    ),
    Case(
        "solve stacks",
        linalg.solve,
        regular((2, 1, 3, 3), vectors=((2, 3, 2),)),
        np.linalg.solve,
        ("solve",),
    ),
    Case(
        "solve one matrix",
        linalg.solve,
        regular((3, 3), vectors=((2, 2, 3, 1),)),
        np.linalg.solve,
        ("solve",),
    ),
    Case(
        "solve complex",
        linalg.solve,
        regular((3, 3), dtype=complex, vectors=((3, 2),)),
        np.linalg.solve,
        ("solve",),
    ),
    *[
        triangular(lower, trans, unit)
        for lower in (True, False)
        for trans in (0, 1, 2)
        for unit in (True, False)
    ],
    *[triangular(True, trans, False, complex) for trans in (0, 1, 2)],
    Case(
        "inv",
        linalg.inv,
        regular((3, 3)),
        np.linalg.inv,
        ("inv",),
        special=((np.zeros((0, 2, 2)),), (np.eye(2, dtype=bool),)),
        errors=(NOT_SQUARE, NO_MATRIX, NO_INVERSE),
    ),
    Case("inv stack", linalg.inv, regular((2, 2, 2), dtype=complex), np.linalg.inv, ("inv",)),
    Case("pinv tall", linalg.pinv, regular((4, 2)), np.linalg.pinv, ("pinv",), errors=(NO_MATRIX,)),
    Case("pinv wide", linalg.pinv, regular((2, 2, 4), dtype=complex), np.linalg.pinv, ("pinv",)),
    Case(
        "pinv low rank",
        lambda m, x, y: linalg.pinv(matmul(x, y), 1e-10),
        low_rank(4, 3, 2),
        lambda m, x, y: np.linalg.pinv(x @ y, 1e-10),
        ("pinv",),
        wrt=(1, 2),
        vmap=False,
    ),
    Case(
        "lstsq",
        lambda a, b: linalg.lstsq(a, b)[:2],
        regular((5, 2), vectors=((5, 2),)),
        lambda a, b: np.linalg.lstsq(a, b)[:2],
        ("pinv",),
        errors=(((WIDE, np.ones(3)), ShapeError, "as many rows"),),
        vmap=False,
    ),
    Case(
        "lstsq wide",
        lambda a, b: linalg.lstsq(a, b)[0],
        regular((2, 4), vectors=((2,),)),
        lambda a, b: np.linalg.lstsq(a, b)[0],
        vmap=False,
    ),
    Case(
        "tensorsolve",
        linalg.tensorsolve,
        lambda rng: (
            rng.normal(size=(2, 3, 6)) + np.eye(6).reshape(2, 3, 6) * 4,
            rng.normal(size=(2, 3)),
        ),
        np.linalg.tensorsolve,
    ),
    Case(
        "tensorinv",
        linalg.tensorinv,
        lambda rng: (rng.normal(size=(2, 3, 6)) + np.eye(6).reshape(2, 3, 6) * 4,),
        np.linalg.tensorinv,
    ),
)

DETERMINANTS = (
    *[
        Case(f"det {n}", linalg.det, normal((2, n, n)), np.linalg.det, ("det",))
        for n in (1, 2, 3, 4)
    ],
    Case(
        "det",
        linalg.det,
        normal((3, 3)),
        np.linalg.det,
        ("det",),
        special=((np.zeros((0, 0)),), (np.ones((2, 2), int),)),
        errors=(NOT_SQUARE, NO_MATRIX),
    ),
    Case(
        "det complex", linalg.det, normal((4, 4), dtype=complex), np.linalg.det, ("det", "adjugate")
    ),
    Case(
        "det singular",
        linalg.det,
        lambda rng: (SINGULAR.copy(),),
        np.linalg.det,
        ("det", "adjugate"),
        tolerance=1e-5,
        vmap=False,
    ),
    Case(
        "det zero", linalg.det, lambda rng: (np.zeros((2, 2)),), np.linalg.det, ("det",), vmap=False
    ),
    Case(
        "slogdet",
        lambda a: tuple(linalg.slogdet(a)),
        normal((2, 3, 3)),
        lambda a: tuple(np.linalg.slogdet(a)),
        ("slogdet",),
        special=((np.zeros((2, 2)),),),
        errors=(NOT_SQUARE,),
    ),
    Case(
        "slogdet complex",
        lambda a: tuple(linalg.slogdet(a)),
        normal((3, 3), dtype=complex),
        lambda a: tuple(np.linalg.slogdet(a)),
        ("slogdet",),
    ),
)

FACTORIZATIONS = (
    Case(
        "cholesky",
        symmetric(linalg.cholesky),
        positive((3, 3)),
        symmetric(np.linalg.cholesky),
        ("cholesky",),
        errors=(((-np.eye(2),), np.linalg.LinAlgError, "positive definite"),),
    ),
    Case(
        "cholesky complex",
        symmetric(linalg.cholesky),
        positive((2, 3, 3), complex),
        symmetric(np.linalg.cholesky),
        ("cholesky",),
    ),
    Case(
        "cholesky upper",
        symmetric(lambda a: linalg.cholesky(a, upper=True)),
        positive((3, 3)),
        symmetric(lambda a: np.linalg.cholesky(a, upper=True)),
        ("cholesky",),
    ),
    Case(
        "along cholesky",
        lambda f, given: (cholesky_tangent_op(f, given), cholesky_adjoint_op(f, given)),
        lambda rng: (np.tril(rng.normal(size=(2, 3, 3))) + 2 * np.eye(3), *normal((2, 3, 3))(rng)),
        lambda f, given: along_factors(np.tril(f), given),
        ("cholesky_tangent", "cholesky_adjoint"),
    ),
    Case(
        "factored systems",
        by_factors,
        lambda rng: (*regular((2, 3, 3))(rng), *normal((2, 3, 2))(rng)),
        lambda a, b: (
            np.linalg.solve(a, b),
            np.linalg.solve(a.swapaxes(1, 2), b),
            np.linalg.inv(a),
            *np.linalg.slogdet(a),
        ),
        ("lu_factors", "factored_solve", "factored_inv", "factored_slogdet"),
        order=0,
        special=((np.eye(4)[None, ::-1].copy(), np.ones((1, 4, 0))),),
        errors=(((np.zeros((1, 3, 3)), np.ones((1, 3, 2))), np.linalg.LinAlgError, "Singular"),),
    ),
    *[
        Case(f"qr {m} {n}", QR, regular((m, n)), QR_NUMPY, ("qr",))
        for m, n in ((3, 3), (5, 2), (2, 4))
    ],
    Case(
        "qr complete",
        lambda a: null_space(lambda x: linalg.qr(x, "complete"), a),
        regular((4, 2)),
        lambda a: null_space(lambda x: np.linalg.qr(x, "complete"), a),
        ("qr",),
        order=1,
    ),
    Case("qr complex", QR, regular((2, 4, 3), dtype=complex), QR_NUMPY, ("qr",)),
    Case(
        "qr r",
        lambda a: linalg.qr(a, "r"),
        regular((3, 2)),
        lambda a: np.linalg.qr(a, "r"),
        ("qr",),
        errors=(NO_MATRIX,),
    ),
    Case("eigh", EIGH, positive((3, 3)), EIGH_NUMPY, ("eigh",)),
    Case("eigh complex", EIGH, positive((2, 3, 3), complex), EIGH_NUMPY, ("eigh",)),
    Case(
        "eigvalsh",
        symmetric(linalg.eigvalsh),
        positive((4, 4)),
        symmetric(np.linalg.eigvalsh),
        ("eigvalsh",),
    ),
    Case(
        "eigvalsh upper",
        lambda a: linalg.eigvalsh(a, "U"),
        positive((3, 3)),
        lambda a: np.linalg.eigvalsh(a, "U"),
        ("eigvalsh",),
        order=0,
        errors=(NOT_SQUARE,),
    ),
    *[
        Case(f"svd {m} {n}", SVD, regular((m, n)), SVD_NUMPY, ("svd",))
        for m, n in ((3, 3), (4, 2), (2, 4))
    ],
    Case("eigh strict", STRICT_EIGH, positive((2, 3, 3)), EIGH_NUMPY, ("eigh_strict",)),
    Case("svd strict", STRICT_SVD, regular((2, 4, 3)), SVD_NUMPY, ("svd_strict",)),
    Case("svd complex", SVD, regular((2, 3, 2), dtype=complex), SVD_NUMPY, ("svd",)),
    Case(
        "svdvals",
        linalg.svdvals,
        normal((2, 3)),
        np.linalg.svdvals,
        ("svdvals",),
        errors=(NO_MATRIX,),
    ),
    Case(
        "svd square",
        lambda a: linalg.svd(a)[1],
        normal((3, 3)),
        lambda a: np.linalg.svd(a)[1],
        ("svd",),
    ),
    Case(
        "svd full",
        lambda a: null_space(linalg.svd, a),
        regular((2, 4, 2)),
        lambda a: null_space(np.linalg.svd, a),
        ("svd", "qr"),
    ),
    Case(
        "svd full, wide, complex",
        lambda a: null_space(linalg.svd, a),
        regular((2, 3), dtype=complex),
        lambda a: null_space(np.linalg.svd, a),
        ("svd", "qr"),
        order=1,
    ),
)

NUMBERS = (
    *[
        Case(
            f"norm {order}",
            lambda a, order=order: linalg.norm(a, order, (0, -1)),
            normal((3, 2, 4)),
            lambda a, order=order: np.linalg.norm(a, order, (0, -1)),
        )
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    ],
    *[
        Case(
            f"norm vector {order}",
            lambda a, order=order: linalg.norm(a, order, 1, True),
            normal((3, 4)),
            lambda a, order=order: np.linalg.norm(a, order, 1, True),
        )
        for order in (None, 1, 2, 3, 0.5, -1, np.inf, -np.inf)
    ],
    Case(
        "norm",
        linalg.norm,
        normal((2, 3, 2), dtype=complex),
        np.linalg.norm,
        special=((np.zeros(3),), (np.arange(3),)),
    ),
    Case(
        "matrix_norm keepdims",
        lambda a: linalg.matrix_norm(a, "nuc", keepdims=True),
        normal((2, 3, 2)),
        lambda a: np.linalg.matrix_norm(a, ord="nuc", keepdims=True),
    ),
    Case("cond", linalg.cond, regular((3, 3)), np.linalg.cond),
    Case("cond 1", lambda a: linalg.cond(a, 1), regular((3, 3)), lambda a: np.linalg.cond(a, 1)),
    Case(
        "matrix_rank",
        linalg.matrix_rank,
        lambda rng: (SINGULAR.copy(),),
        np.linalg.matrix_rank,
        order=0,
        vmap=False,
        special=((np.zeros((2, 3, 2)),), (np.ones(3),)),
    ),
    *[
        Case(
            f"matrix_power {n}",
            lambda a, n=n: linalg.matrix_power(a, n),
            regular((2, 2, 2)),
            lambda a, n=n: np.linalg.matrix_power(a, n),
            errors=(NOT_SQUARE,),
        )
        for n in (1, 2, 5, -3)
    ],
    Case(
        "matrix_power 0",
        lambda a: linalg.matrix_power(a, 0),
        regular((2, 3, 3)),
        lambda a: np.linalg.matrix_power(a, 0),
        order=0,
    ),
    Case("linalg trace", linalg.trace, normal((2, 3, 3)), np.linalg.trace),
    Case(
        "linalg diagonal",
        lambda a: linalg.diagonal(a, -1),
        normal((2, 3, 3)),
        lambda a: np.linalg.diagonal(a, offset=-1),
    ),
)

CASES = (*SOLVE, *DETERMINANTS, *FACTORIZATIONS, *NUMBERS)
