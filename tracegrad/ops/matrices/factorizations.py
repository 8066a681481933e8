"""Factorizations of matrices and of stacks of them, under the names of numpy.linalg."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...checks import flag
from ...sizes import same
from ..arrays.concatenation import concatenate
from ..arrays.creation import zeros
from ..define import shape_of
from .bases import completed
from .cholesky import cholesky_stack
from .eigenvalues import eigh_stack, eigvalsh_stack
from .pivoting import pivoted_qr_stack
from .products import adjoint
from .spectral import svd_stack, svdvals_stack
from .stacks import as_matrix, as_stack, from_stack
from .triangular import qr_stack


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and the eigenvectors as columns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """Orthonormal columns and an upper triangular matrix."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """Left singular vectors as columns, singular values in descending order, right singular vectors
    as rows."""

    U: Any
    S: Any
    Vh: Any


def cholesky(a: Any, *, upper: bool = False, lower: bool | None = None) -> Any:
    """The triangular factor l of Hermitian positive definite matrices: a = l @ l^H, or u with a =
    u^H @ u. Without options it is l, as NumPy's; `lower` is SciPy's word, whose default is u.

    LinAlgError where a matrix is not positive definite.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    a = as_matrix("cholesky", a, True)
    upper = upper if lower is None else not flag("lower", lower)
    factor = from_stack(cholesky_stack(as_stack(adjoint(a) if upper else a)), shape_of(a)[:-2])
    return adjoint(factor) if upper else factor


_QR_MODES = {"full": "complete", "economic": "reduced"}
"""SciPy's words, and NumPy's."""


def qr(a: Any, mode: str = "reduced", pivoting: bool = False) -> Any:
    """a = q @ r with orthonormal columns q and upper triangular r; mode "r" gives r alone.

    "complete" adds columns to q (and rows of zeros to r) until q is square. Which ones is
    arbitrary, and they are not LAPACK's: what does not depend on the choice is NumPy's. SciPy's
    words for the modes, "full" and "economic", hold as well.

    With pivoting, as `scipy.linalg.qr` has it, the columns are taken in the order p that makes the
    diagonal of r decrease, a[:, p] = q @ r, and p is the last result. Differentiable where the
    leading columns (in that order) are independent.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> q, r = tg.linalg.qr(np.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> np.allclose(q @ r, [[3.0, 1.0], [4.0, 2.0]])
    True
    """
    a = as_matrix("qr", a)
    mode = _QR_MODES.get(mode, mode)
    if mode not in ("reduced", "r", "complete"):
        raise ValueError(f'qr: mode is "reduced", "complete" or "r", not {mode!r}')
    batch = shape_of(a)[:-2]
    factors = pivoted_qr_stack if flag("pivoting", pivoting) else qr_stack
    q, r, *pivots = factors(as_stack(a))
    b, m, k = shape_of(q)
    if mode == "complete" and not same(m, k):
        q = completed(q)
        r = concatenate([r, zeros((b, m - k, shape_of(r)[-1]), r.dtype)], 1)
    found = tuple(from_stack(x, batch) for x in (q, r, *pivots))
    if mode == "r":
        return found[1:] if pivots else found[1]
    return found if pivots else QRResult(*found)


def _triangle(name: str, a: Any, UPLO: str) -> Any:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError(f'{name}: UPLO is "L" or "U", not {UPLO!r}')
    a = as_matrix(name, a, True)
    return adjoint(a) if UPLO.upper() == "U" else a


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices, of which the lower (or upper)
    triangle is read.

    Eigenvectors of equal eigenvalues have no derivative: it comes out infinite or NaN. Functions of
    the eigenvalues alone keep theirs.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    array([1., 2.])
    """
    a = _triangle("eigh", a, UPLO)
    return EighResult(*[from_stack(r, shape_of(a)[:-2]) for r in eigh_stack(as_stack(a))])


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of Hermitian matrices, ascending.

    Second derivatives divide by differences of eigenvalues: NaN where two are equal, and where two
    nearly are, right to the precision over the relative difference only.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.eigvalsh(np.array([[2.0, 0.0], [0.0, 1.0]]))
    array([1., 2.])
    """
    a = _triangle("eigvalsh", a, UPLO)
    return from_stack(eigvalsh_stack(as_stack(a)), shape_of(a)[:-2])


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """Singular value decomposition u, s, vh with a = (u * s) @ vh.

    full_matrices completes u and vh to bases where the matrix is not square. Which vectors do so
    is arbitrary, and they are not LAPACK's: what does not depend on the choice is NumPy's. Singular
    vectors of equal singular values have no derivative; functions of the singular values alone keep
    theirs.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.svd(np.array([[3.0, 0.0], [0.0, 2.0]])).S
    array([3., 2.])
    """
    a = as_matrix("svd", a)
    batch = shape_of(a)[:-2]
    if not compute_uv:
        return from_stack(svdvals_stack(as_stack(a)), batch)
    u, s, vh = svd_stack(as_stack(a))
    if full_matrices and not same(*shape_of(a)[-2:]):
        if shape_of(a)[-2] > shape_of(a)[-1]:
            u = completed(u)
        else:
            vh = adjoint(completed(adjoint(vh)))
    return SVDResult(*[from_stack(r, batch) for r in (u, s, vh)])


def svdvals(a: Any) -> Any:
    """Singular values, descending.

    Second derivatives divide by differences of singular values, and by those that belong to null
    spaces: NaN where two are equal or one is 0, and inaccurate where that nearly is so.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.svdvals(np.array([[3.0, 0.0], [0.0, 2.0]]))
    array([3., 2.])
    """
    return svd(a, compute_uv=False)
