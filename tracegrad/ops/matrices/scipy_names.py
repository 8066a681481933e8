"""Functions of scipy.linalg under their names, and eigenvalues of general matrices.

Matrices may be stacks (..., n, n) wherever it makes sense. Where NumPy has a function of the same
name (`solve`, `cholesky`, `qr`, ...) `tracegrad.linalg` has NumPy's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...checks import flag
from ...dtypes import promote, real_of
from ...errors import ShapeError
from ...sizes import known_less, same
from ...types import broadcast_shapes, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import arange, eye, zeros
from ..arrays.shape import broadcast_to, expand_dims, reshape
from ..arrays.slices import embed, flip
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import equal, less_equal, sub, where
from ..elementwise.comparison import maximum
from ..elementwise.derived import add, conj, convert, mul
from ..elementwise.elementary import absolute
from ..places.along import take
from ..totals.reductions import max as max_
from ..totals.reductions import sum as sum_
from .eigenvalues import eig_stack, eigvals_stack
from .factorizations import cholesky
from .functions_of_matrices import (
    expm_stack,
    inverse_order,
    lu_stack,
    permutation_of,
    sqrtm_stack,
    sylvester_stack,
)
from .linalg import solve, triangular_solve
from .pivoting import lu_with_order
from .products import adjoint, product
from .stacks import as_matrix, as_stack, from_stack, in_lapack_dtype


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


def eig(a: Any) -> EigResult:
    """Eigenvalues and eigenvectors of length 1 of general square matrices, always complex numbers.

    A result may not depend on the phases of the vectors, which are a convention. Vectors of equal
    eigenvalues have no derivative: it comes out infinite or NaN; functions of the eigenvalues alone
    keep theirs while the matrix has as many independent vectors as rows.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.eig(np.array([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    array([0.+1.j, 0.-1.j])
    """
    a = as_matrix("eig", a, True)
    return EigResult(*[from_stack(r, shape_of(a)[:-2]) for r in eig_stack(as_stack(a))])


def eigvals(a: Any) -> Any:
    """Eigenvalues of general square matrices, always complex numbers.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.eigvals(np.array([[2.0, 1.0], [0.0, 3.0]]))
    array([2.+0.j, 3.+0.j])
    """
    a = as_matrix("eigvals", a, True)
    return from_stack(eigvals_stack(as_stack(a)), shape_of(a)[:-2])


# --- functions of matrices ------------------------------------------------------------------------


def expm(a: Any) -> Any:
    """Exponentials of square matrices.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    a = as_matrix("expm", a, True)
    return from_stack(expm_stack(as_stack(a)), shape_of(a)[:-2])


def sqrtm(a: Any) -> Any:
    """Principal square roots of square matrices. LinAlgError where there is none, and for a real
    matrix whose root is not real: give that one as complex. No derivative for singular matrices.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.sqrtm(np.array([[4.0, 0.0], [0.0, 9.0]]))
    array([[2., 0.],
           [0., 3.]])
    """
    a = as_matrix("sqrtm", a, True)
    return from_stack(sqrtm_stack(as_stack(a)), shape_of(a)[:-2])


LOG_ROOTS = 8
"""So many square roots bring the eigenvalues near to 1 that floating point numbers can have."""
LOG_NODES, LOG_WEIGHTS = np.polynomial.legendre.leggauss(16)
LOG_REACH = 0.749
"""As far from 1 the quadrature is exact to rounding (Higham, Functions of Matrices, 11.1)."""


def logm(a: Any) -> Any:
    """Principal logarithms of square matrices: square roots until the matrix is near the identity
    (its distance from that without cancellation, as Al-Mohy and Higham 2012), and a quadrature of
    Gauss and Legendre there. LinAlgError for a real matrix whose logarithm is not real: give that
    one as complex; NaN for singular ones and where the result would not be exact.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.logm(np.array([[1.0, 1.0], [0.0, 1.0]])).round(12) + 0.0
    array([[0., 1.],
           [0., 0.]])
    """
    a = as_matrix("logm", a, True)
    root = as_stack(a)
    n = shape_of(root)[-1]
    one = eye(n, dtype=root.dtype)
    off = sub(root, one)
    for _ in range(LOG_ROOTS):
        root = sqrtm_stack(root)
        off = solve(add(root, one), off)
    real_kind = np.zeros(0, root.dtype).real.dtype.type
    nodes = ((LOG_NODES + 1) / 2).astype(real_kind).reshape(-1, 1, 1, 1)
    weights = (LOG_WEIGHTS / 2 * 2.0**LOG_ROOTS).astype(real_kind).reshape(-1, 1, 1, 1)
    whole = expand_dims(off, 0)
    parts = solve(add(mul(whole, nodes), one), mul(whole, weights))
    near = less_equal(expand_dims(_reach(off), -1), LOG_REACH) if _not_empty(off) else True
    found = where(near, sum_(parts, 0), root.dtype.type(np.nan))
    return from_stack(found, shape_of(a)[:-2])


def _reach(x: Any) -> Any:
    """How large matrices are for a power series: by norms of their third and fourth powers, which
    far from the diagonal says less than their own (Al-Mohy and Higham)."""
    twice = product(x, x)
    sizes = [
        max_(sum_(absolute(power), -2), -1, keepdims=True) ** (1 / p)
        for p, power in ((3, product(twice, x)), (4, product(twice, twice)))
    ]
    return maximum(*sizes)


def _not_empty(x: Any) -> bool:
    return not any(known_less(n, 1) for n in shape_of(x))


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """x with a @ x + x @ b = q; LinAlgError where a and -b have an eigenvalue in common.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.solve_sylvester(np.eye(2), np.eye(2), np.eye(2))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    a, b, q = in_lapack_dtype(a, b, q)
    a, b = as_matrix("solve_sylvester", a, True), as_matrix("solve_sylvester", b, True)
    wanted = (shape_of(a)[-1], shape_of(b)[-1])
    if ndim_of(q) < 2 or not all(same(m, n) for m, n in zip(shape_of(q)[-2:], wanted, strict=True)):
        raise ShapeError(
            f"solve_sylvester: q has shape {show(shape_of(q))}; it must end in {show(wanted)}"
        )
    batch = broadcast_shapes(*[shape_of(x)[:-2] for x in (a, b, q)])
    full = [as_stack(broadcast_to(x, (*batch, *shape_of(x)[-2:]))) for x in (a, b, q)]
    return from_stack(sylvester_stack(*full), batch)


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """x with a @ x + x @ a^H = q.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.solve_continuous_lyapunov(np.eye(2), np.eye(2))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    (a,) = in_lapack_dtype(a)
    return solve_sylvester(a, adjoint(as_matrix("solve_continuous_lyapunov", a, True)), q)


# --- factors --------------------------------------------------------------------------------------


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """Both triangular factors of square matrices in one matrix, and with which row each row was
    exchanged, as `lu_solve` takes them.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.lu_factor(np.array([[1.0, 2.0], [4.0, 4.0]]))
    (array([[4.  , 4.  ],
           [0.25, 1.  ]]), array([1, 1]))
    """
    a = as_matrix("lu_factor", a, True)
    packed, pivots = lu_stack(as_stack(a))
    return from_stack(packed, shape_of(a)[:-2]), from_stack(pivots, shape_of(a)[:-2])


def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Any, ...]:
    """p, l, u with a = p @ l @ u: a permutation, a lower triangular or trapezoidal matrix with ones
    on its diagonal, an upper one. With permute_l p @ l and u; with p_indices the order of rows in
    place of p, a = l[p] @ u. Of more rows than columns the columns must be independent
    (LinAlgError).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> p, l, u = tg.linalg.lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> p @ l @ u
    array([[1., 2.],
           [4., 4.]])
    """
    a = as_matrix("lu", a)
    batch, m = shape_of(a)[:-2], shape_of(a)[-2]
    lower, upper, order = lu_with_order(as_stack(a))
    if flag("p_indices", p_indices):
        return tuple(from_stack(r, batch) for r in (inverse_order(order), lower, upper))
    p = equal(reshape(arange(m), (1, m, 1)), expand_dims(order, 1))
    if flag("permute_l", permute_l):
        swapped = product(convert(p, a.dtype), lower)
        return from_stack(swapped, batch), from_stack(upper, batch)
    return tuple(from_stack(r, batch) for r in (convert(p, real_of(a.dtype)), lower, upper))


def _pair(name: str, given: Any, second: str) -> tuple[Any, Any]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(f"{name}: takes the pair (matrix, {second}) that {second} belongs to")
    return given[0], given[1]


def lu_solve(
    lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """x with op(a) @ x = b from `lu_factor(a)`; trans 0: op is nothing, 1: transposition, 2: the
    conjugate transpose. b is a vector or a matrix; no stacks.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.lu_solve(tg.linalg.lu_factor(np.eye(2) * 2), np.ones(2))
    array([0.5, 0.5])
    """
    packed, pivots = _pair("lu_solve", lu_and_piv, "piv")
    if trans not in (0, 1, 2):
        raise ValueError(f"lu_solve: trans is 0, 1 or 2, not {trans!r}")
    packed, b = in_lapack_dtype(packed, b)
    pivots = as_array(pivots)
    if ndim_of(packed) != 2 or ndim_of(b) not in (1, 2):
        raise ShapeError(
            f"lu_solve: needs one matrix and a vector or matrix, not shapes "
            f"{show(shape_of(packed))} and {show(shape_of(b))}"
        )
    order = reshape(permutation_of(reshape(convert(pivots, np.int64), (1, -1))), (-1,))
    if trans == 0:
        b = take(b, order, 0)
        return triangular_solve(packed, triangular_solve(packed, b, True, 0, True), False, 0, False)
    middle = triangular_solve(packed, b, False, trans)
    back = reshape(inverse_order(reshape(order, (1, -1))), (-1,))
    return take(triangular_solve(packed, middle, True, trans, True), back, 0)


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """The Cholesky factor of a Hermitian positive definite matrix, of which the given triangle is
    read, and which triangle it is, as `cho_solve` takes them. The other triangle is zeros.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.cho_factor(np.array([[4.0, 2.0], [2.0, 5.0]]), lower=True)
    (array([[2., 0.],
           [1., 2.]]), True)
    """
    return cholesky(a, upper=not flag("lower", lower)), bool(lower)


def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """x with a @ x = b from `cho_factor(a)`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.cho_solve(tg.linalg.cho_factor(np.eye(2) * 2.0), np.ones(2)).round(12)
    array([0.5, 0.5])
    """
    c, lower = _pair("cho_solve", c_and_lower, "lower")
    if flag("lower", lower):
        return triangular_solve(c, triangular_solve(c, b, True), True, 2)
    return triangular_solve(c, triangular_solve(c, b, False, 2), False)


def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """SciPy's `triangular_solve`: of its arguments `trans` comes first, and the upper triangle is
    read unless `lower`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.solve_triangular(np.array([[2.0, 1.0], [9.0, 1.0]]), np.array([3.0, 1.0]))
    array([1., 1.])
    """
    return triangular_solve(a, b, flag("lower", lower), trans, flag("unit_diagonal", unit_diagonal))


# --- special matrices -----------------------------------------------------------------------------


def _vector(name: str, word: str, x: Any) -> Any:
    x = as_array(x)
    if ndim_of(x) != 1:
        raise ShapeError(f"{name}: {word} must be a vector, not of shape {show(shape_of(x))}")
    return x


def _by_diagonals(values: Any, m: Any, n: Any) -> Any:
    """out[i, j] = values[m - 1 + j - i], for m + n - 1 values."""
    at = add(sub(reshape(arange(n), (1, n)), reshape(arange(m), (m, 1))), m - 1)
    return take(values, at, 0)


def _joined(*parts: Any) -> Any:
    dtype = promote(*[p.dtype for p in parts])
    return concatenate([convert(p, dtype) for p in parts])


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with the first column c and the first row r (r[0] is not read; by default the
    conjugates of c), whose diagonals are constant.

    >>> import tracegrad as tg
    >>> tg.linalg.toeplitz([1.0, 2.0], [1.0, 3.0])
    array([[1., 3.],
           [2., 1.]])
    """
    c = _vector("toeplitz", "c", c)
    r = conj(c) if r is None else _vector("toeplitz", "r", r)
    values = _joined(flip(c, 0), r[1:])
    return _by_diagonals(values, shape_of(c)[0], shape_of(r)[0])


def circulant(c: Any) -> Any:
    """The matrix whose columns are c, turned by one from column to column.

    >>> import tracegrad as tg
    >>> tg.linalg.circulant([1.0, 2.0])
    array([[1., 2.],
           [2., 1.]])
    """
    c = _vector("circulant", "c", c)
    return toeplitz(c, _joined(c[:1], flip(c[1:], 0)))


def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with the first column c and the last row r (r[0] is not read; zeros by default),
    whose antidiagonals are constant.

    >>> import tracegrad as tg
    >>> tg.linalg.hankel([1.0, 2.0], [2.0, 3.0])
    array([[1., 2.],
           [2., 3.]])
    """
    c = _vector("hankel", "c", c)
    r = zeros(shape_of(c), dtype=c.dtype) if r is None else _vector("hankel", "r", r)
    m, n = shape_of(c)[0], shape_of(r)[0]
    at = add(reshape(arange(m), (m, 1)), reshape(arange(n), (1, n)))
    return take(_joined(c, r[1:]), at, 0)


def block_diag(*arrs: Any) -> Any:
    """The matrix with these matrices (vectors count as rows) along its diagonal, zeros elsewhere.

    >>> import tracegrad as tg
    >>> tg.linalg.block_diag([[1.0, 2.0]], [[3.0]])
    array([[1., 2., 0.],
           [0., 0., 3.]])
    """
    blocks = [as_array(x) for x in arrs] or [np.zeros((1, 0))]
    for k, x in enumerate(blocks):
        if ndim_of(x) > 2:
            raise ShapeError(
                f"block_diag: argument {k} has shape {show(shape_of(x))}; it must be a matrix"
            )
    blocks = [reshape(x, (1,) * (2 - ndim_of(x)) + tuple(shape_of(x))) for x in blocks]
    dtype = promote(*[x.dtype for x in blocks])
    width: Any = 0
    for x in blocks:
        width = width + shape_of(x)[1]
    at: Any = 0
    strips = []
    for x in blocks:
        m, n = shape_of(x)
        strips.append(embed(convert(x, dtype), (m, width), (0, at)))
        at = at + n
    return concatenate(strips)


__all__ = [
    "block_diag", "cho_factor", "cho_solve", "circulant", "eig", "eigvals", "expm", "hankel",
    "logm", "lu", "lu_factor", "lu_solve", "solve_continuous_lyapunov",
    "solve_sylvester", "solve_triangular", "sqrtm", "toeplitz",
]  # fmt: skip
