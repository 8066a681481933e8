"""Bases of ranges and null spaces, the angles between subspaces, and products with factors of QR,
under scipy.linalg's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import flag
from ...errors import ShapeError
from ...sizes import known_less, same
from ...types import show
from ..arrays.shape import broadcast_to, reshape
from ..arrays.slices import flip
from ..define import ndim_of, shape_of
from ..elementwise.arithmetic import greater, greater_equal, sub, where
from ..elementwise.comparison import clip
from ..elementwise.derived import conj, mul
from ..elementwise.trigonometric import arccos, arcsin
from ..places.keys import concrete
from ..totals.reductions import max as max_
from ..totals.reductions import min as min_
from .bases import waves
from .factorizations import qr, svd, svdvals
from .linalg import pinv
from .products import adjoint, matmul, product
from .stacks import as_matrix, in_lapack_dtype


def _rank(name: str, a: Any, values: Any, rcond: Any) -> tuple[int, float]:
    """How many of the singular values of a matrix, or of each of a stack, are not small, and up to
    which share of the largest they are."""
    sizes = shape_of(a)[-2:]
    if rcond is None:
        rcond = float(np.finfo(a.dtype).eps) * max(int(n) for n in sizes)
    s = concrete(
        values, f"linalg.{name}",
        "The number of columns would depend on the data: where the rank is known, take that many "
        "columns of what np.linalg.svd gives.",
    )  # fmt: skip
    counts = np.sum(s > np.max(s, -1, keepdims=True, initial=0.0) * rcond, -1)
    if np.size(counts) and np.min(counts) != np.max(counts):
        raise ShapeError(
            f"{name}: the matrices of the stack have ranks from {np.min(counts)} to "
            f"{np.max(counts)}; call it for each, since the results have different shapes"
        )
    return int(np.max(counts, initial=0)), rcond


def orth(A: Any, rcond: float | None = None) -> Any:
    """Orthonormal columns that span the range of A (..., m, n): (..., m, rank), the left singular
    vectors of singular values above `rcond` (default: precision times the larger size) times the
    largest. How many that are needs known values, so that compiled code refuses it. As of `svd`,
    vectors of equal singular values have no derivative; what depends on the range alone is smooth
    in `a @ tg.linalg.pinv(a)`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> np.abs(tg.linalg.orth(np.array([[2.0, 0.0, 0.0], [0.0, 5.0, 0.0]])))
    array([[0., 1.],
           [1., 0.]])
    """
    a = as_matrix("orth", A)
    (a,) = in_lapack_dtype(a)
    u, s, _ = svd(a, full_matrices=False)
    return u[..., : _rank("orth", a, s, rcond)[0]]


def null_space(
    A: Any, rcond: float | None = None, *, overwrite_a: bool = False, check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    """Orthonormal columns that span the null space of A (..., m, n): (..., n, n - rank). Singular
    values up to `rcond` (default: precision times the larger size) times the largest count as
    zero, and how many do needs known values, so that compiled code refuses it. Which basis of the
    space it is is arbitrary, and not LAPACK's: what does not depend on the choice is SciPy's. The
    derivative is that among matrices of the same rank. The other arguments have no effect.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> np.abs(tg.linalg.null_space(np.array([[1.0, 1.0]]))).round(6)
    array([[0.707107],
           [0.707107]])
    """
    a = as_matrix("null_space", A)
    (a,) = in_lapack_dtype(a)
    count, rcond = _rank("null_space", a, svdvals(a), rcond)
    *batch, _, n = shape_of(a)
    some = broadcast_to(waves(n, n - count, a.dtype), (*batch, n, n - count))
    if not count:
        return qr(some)[0]
    inverse = pinv(a, rcond)
    for _ in range(2):  # once leaves rounding times the condition of what the waves become
        some = qr(sub(some, product(inverse, product(a, some))))[0]
    return some


def subspace_angles(A: Any, B: Any) -> Any:
    """The angles, descending, between the ranges of A (..., n, p) and B (..., n, q), min(p, q) of
    them, by sines where they are small and by cosines elsewhere (Knyazev and Argentati 2002). The
    columns of either must be independent: of others SciPy's leaves some out, and here the angles
    are NaN. No derivative for an angle of 0.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.subspace_angles(np.array([[1.0], [0.0]]), np.array([[1.0], [1.0]])).round(6)
    array([0.785398])
    """
    a, b = in_lapack_dtype(as_matrix("subspace_angles", A), as_matrix("subspace_angles", B))
    n = shape_of(a)[-2]
    if not same(n, shape_of(b)[-2]):
        raise ShapeError(
            "subspace_angles: A and B must have as many rows, not the shapes "
            f"{show(shape_of(a))} and {show(shape_of(b))}"
        )
    bases = []
    for word, x in (("A", a), ("B", b)):
        if known_less(n, shape_of(x)[-1]):
            raise ShapeError(
                f"subspace_angles: the columns of {word}, of shape {show(shape_of(x))}, are not "
                "independent; give columns that span the same, tg.linalg.orth of them"
            )
        bases.append(qr(x)[0])
    p, q = bases
    if known_less(shape_of(p)[-1], shape_of(q)[-1]):
        p, q = q, p
    cosines = matmul(adjoint(p), q)
    sines = svdvals(sub(q, matmul(p, cosines)))
    kept = flip(svdvals(cosines), -1)
    near = greater_equal(mul(kept, kept), 0.5)
    one = kept.dtype.type(1)
    # Each of both is asked within its half alone: at the ends of the other its slope is infinite.
    small, large = where(near, clip(sines, -one, one), 0), where(near, 0, clip(kept, -one, one))
    angles = where(near, arcsin(small), arccos(large))
    for x in (a, b):
        if not any(same(s, 0) for s in shape_of(x)):
            s = svdvals(x)
            least = float(np.finfo(s.dtype).eps) * max(int(k) for k in shape_of(x)[-2:])
            full = greater(min_(s, -1, keepdims=True), mul(max_(s, -1, keepdims=True), least))
            angles = where(full, angles, s.dtype.type(np.nan))
    return angles


def rq(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full",
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """a = r @ q with upper triangular r (..., m, n), or trapezoidal, and unitary q (..., n, n);
    mode "economic" leaves out what is zeros in r, and "r" gives r alone. Which rows make q square
    where a has more columns than rows is arbitrary, as of `qr`. Differentiable where the last rows
    are independent. The other arguments have no effect.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> r, q = tg.linalg.rq(np.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> np.allclose(r @ q, [[3.0, 1.0], [4.0, 2.0]])
    True
    """
    if mode not in ("full", "r", "economic"):
        raise ValueError(f'rq: mode is "full", "r" or "economic", not {mode!r}')
    a = as_matrix("rq", a)
    # The rows, backwards, are the columns that QR takes in turn.
    turned = qr(adjoint(flip(a, (-2, -1))), "economic" if mode == "economic" else "full")
    q, r = (flip(adjoint(x), (-2, -1)) for x in turned)
    return r if mode == "r" else (r, q)


def qr_multiply(
    a: Any, c: Any, mode: str = "right", pivoting: bool = False, conjugate: bool = False,
    overwrite_a: bool = False, overwrite_c: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """c @ q (mode "right") or q @ c ("left"), and r (with pivoting, also the order of the columns),
    for the economic factors of `qr(a)`; with `conjugate` q is conjugated. a and c are matrices, c
    a vector, too.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> np.abs(tg.linalg.qr_multiply(np.array([[2.0], [0.0]]), np.ones((2, 2)))[0])
    array([[1.],
           [1.]])
    """
    if mode not in ("left", "right"):
        raise ValueError(f'qr_multiply: mode is "left" or "right", not {mode!r}')
    a, c = in_lapack_dtype(as_matrix("qr_multiply", a), c)
    q, *rest = qr(a, "economic", flag("pivoting", pivoting))
    if flag("conjugate", conjugate):
        q = conj(q)
    m, k = shape_of(q)[-2:]
    vector = ndim_of(c) == 1
    if vector:
        c = reshape(c, (-1, 1) if mode == "left" else (1, -1))
    axis, wanted = (0, k) if mode == "left" else (1, m)
    if ndim_of(c) != 2 or ndim_of(a) != 2 or not same(shape_of(c)[axis], wanted):
        raise ShapeError(
            f"qr_multiply: with mode={mode!r} and a of shape {show(shape_of(a))}, c must have "
            f"{wanted} {'rows' if mode == 'left' else 'columns'}, not the shape {show(shape_of(c))}"
        )
    found = product(q, c) if mode == "left" else product(c, q)
    return (reshape(found, (-1,)) if vector else found, *rest)


__all__ = ["null_space", "orth", "qr_multiply", "rq", "subspace_angles"]
