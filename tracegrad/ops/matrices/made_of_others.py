"""Functions of scipy.linalg that are made of others: trigonometric and hyperbolic functions of
matrices (by the exponential), matrices of one pattern, and Stein's equation. Matrices may be stacks
(..., n, n)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import promote
from ...errors import ShapeError
from ...sizes import known_less, same
from ...types import Int, broadcast_shapes, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import eye, zeros
from ..arrays.rearrange import diag_embed
from ..arrays.shape import broadcast_to, expand_dims, reshape
from ..arrays.slices import embed
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import complex_, div, imag, neg, sub, where
from ..elementwise.derived import add, conj, convert, mul, real
from ..elementwise.elementary import absolute
from ..fits import refuse_less
from ..places.along import take
from .linalg import inv, solve
from .products import adjoint, product
from .scipy_names import expm, solve_continuous_lyapunov, sqrtm
from .stacks import as_matrix, in_lapack_dtype

# --- functions of matrices ------------------------------------------------------------------------


def _turned(name: str, a: Any) -> tuple[Any, Any, bool]:
    """The exponentials of 1j * a and of -1j * a, and whether a is real."""
    (a,) = in_lapack_dtype(as_matrix(name, a, True))
    if a.dtype.kind == "c":
        around = complex_(neg(imag(a)), real(a))
        return expm(around), expm(neg(around)), False
    whole = expm(complex_(zeros(shape_of(a), a.dtype), a))
    return whole, conj(whole), True


def cosm(A: Any) -> Any:
    """Cosines of square matrices.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.cosm(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    up, down, is_real = _turned("cosm", A)
    return real(up) if is_real else mul(add(up, down), 0.5)


def sinm(A: Any) -> Any:
    """Sines of square matrices.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.sinm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[0., 1.],
           [0., 0.]])
    """
    up, down, is_real = _turned("sinm", A)
    if is_real:
        return imag(up)
    gap = mul(sub(up, down), 0.5)
    return complex_(imag(gap), neg(real(gap)))


def tanm(A: Any) -> Any:
    """Tangents of square matrices: the solution of cosm(A) @ x = sinm(A).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.tanm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[0., 1.],
           [0., 0.]])
    """
    return solve(cosm(A), sinm(A))


def coshm(A: Any) -> Any:
    """Hyperbolic cosines of square matrices.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.coshm(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    (a,) = in_lapack_dtype(as_matrix("coshm", A, True))
    return mul(add(expm(a), expm(neg(a))), a.dtype.type(0.5))


def sinhm(A: Any) -> Any:
    """Hyperbolic sines of square matrices.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.sinhm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[0., 1.],
           [0., 0.]])
    """
    (a,) = in_lapack_dtype(as_matrix("sinhm", A, True))
    return mul(sub(expm(a), expm(neg(a))), a.dtype.type(0.5))


def tanhm(A: Any) -> Any:
    """Hyperbolic tangents of square matrices: the solution of coshm(A) @ x = sinhm(A).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.tanhm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[0., 1.],
           [0., 0.]])
    """
    return solve(coshm(A), sinhm(A))


def signm(A: Any) -> Any:
    """The signs of square matrices: eigenvalues become 1 or -1, as the sign of their real parts,
    and eigenvectors stay; by the root of A @ A (Higham, "Functions of Matrices", 2008, chapter 5)
    and one step of Newton's. LinAlgError or NaN for an eigenvalue on the imaginary axis (SciPy's
    takes 0 for the sign of 0).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.signm(np.array([[3.0, 0.0], [0.0, -2.0]])) + 0.0
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    (a,) = in_lapack_dtype(as_matrix("signm", A, True))
    rough = solve(sqrtm(product(a, a)), a)
    return mul(add(rough, inv(rough)), rough.dtype.type(0.5))


def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """x with x = a @ x @ a^H + q (Stein's equation): "direct", by one system of n * n equations
    (the default for n below 10), or "bilinear", by a continuous equation.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.solve_discrete_lyapunov(0.5 * np.eye(2), np.eye(2)).round(6)
    array([[1.333333, 0.      ],
           [0.      , 1.333333]])
    """
    a, q = in_lapack_dtype(
        as_matrix("solve_discrete_lyapunov", a, True), as_matrix("solve_discrete_lyapunov", q, True)
    )
    if ndim_of(a) != 2 or ndim_of(q) != 2 or not same(shape_of(a)[0], shape_of(q)[0]):
        raise ShapeError(
            "solve_discrete_lyapunov: a and q must be matrices of one size, not of shapes "
            f"{show(shape_of(a))} and {show(shape_of(q))}"
        )
    n = shape_of(a)[0]
    if method is None:
        method = "direct" if isinstance(n, int) and n < 10 else "bilinear"
    if method not in ("direct", "bilinear"):
        raise ValueError(
            f"solve_discrete_lyapunov: method is {method!r}; it is 'direct' or 'bilinear'"
        )
    one = eye(n, dtype=a.dtype)
    if method == "direct":
        pairs = mul(expand_dims(a, (1, 3)), expand_dims(conj(a), (0, 2)))
        system = sub(eye(n * n, dtype=a.dtype), reshape(pairs, (n * n, n * n)))
        return reshape(solve(system, reshape(q, (n * n,))), (n, n))
    across = inv(add(adjoint(a), one))
    b = product(sub(adjoint(a), one), across)
    c = mul(product(product(inv(add(a, one)), q), across), a.dtype.type(2))
    return solve_continuous_lyapunov(adjoint(b), neg(c))


# --- matrices of one pattern ----------------------------------------------------------------------


def _vectors(name: str, x: Any, least: int) -> Any:
    x = as_array(x)
    n: Int = shape_of(x)[-1] if ndim_of(x) else 0

    def too_short() -> str:
        return (
            f"{name}: a vector of at least {least} elements is needed, not of shape "
            f"{show(shape_of(x))}"
        )

    if ndim_of(x) < 1:
        raise ShapeError(too_short())
    refuse_less(n, least, ShapeError, too_short)
    return x


def companion(a: Any) -> Any:
    """The companion matrix (n - 1, n - 1) of the polynomial with n coefficients, the highest power
    first; its eigenvalues are the roots. The first coefficient must not be 0.

    >>> import tracegrad as tg
    >>> tg.linalg.companion([1.0, -3.0, 2.0])
    array([[ 3., -2.],
           [ 1.,  0.]])
    """
    a = _vectors("companion", a, 2)
    n = shape_of(a)[-1]
    first = div(neg(a[..., 1:]), a[..., :1])
    below = eye(n - 2, n - 1, dtype=first.dtype)
    below = broadcast_to(below, (*shape_of(first)[:-1], n - 2, n - 1))
    return concatenate([expand_dims(first, -2), below], -2)


def fiedler(a: Any) -> Any:
    """The distances |a[i] - a[j]| of all pairs.

    >>> import tracegrad as tg
    >>> tg.linalg.fiedler([1.0, 4.0])
    array([[0., 3.],
           [3., 0.]])
    """
    a = as_array(a)
    if ndim_of(a) < 1:
        raise ShapeError("fiedler: a vector is needed, not a number")
    return absolute(sub(expand_dims(a, -1), expand_dims(a, -2)))


def leslie(f: Any, s: Any) -> Any:
    """The Leslie matrix (..., n, n) of fecundities f (..., n), its first row, and survival rates s
    (..., n - 1) below the diagonal; n is at least 2.

    >>> import tracegrad as tg
    >>> tg.linalg.leslie([0.1, 2.0], [0.2])
    array([[0.1, 2. ],
           [0.2, 0. ]])
    """
    f, s = _vectors("leslie", f, 2), _vectors("leslie", s, 1)
    n = shape_of(f)[-1]
    if not same(n, shape_of(s)[-1] + 1):
        raise ShapeError(
            "leslie: s must have one element less than f, but the shapes are "
            f"{show(shape_of(f))} and {show(shape_of(s))}"
        )
    batch = broadcast_shapes(shape_of(f)[:-1], shape_of(s)[:-1])
    dtype = promote(f.dtype, s.dtype)
    first = broadcast_to(expand_dims(convert(f, dtype), -2), (*batch, 1, n))
    below = diag_embed(broadcast_to(convert(s, dtype), (*batch, n - 1)))
    return concatenate([first, concatenate([below, zeros((*batch, n - 1, 1), dtype)], -1)], -2)


def diagsvd(s: Any, M: int, N: int) -> Any:
    """The matrix (..., M, N) with the vector s (...,  M or N) on its diagonal, as singular values
    stand between singular vectors.

    >>> import tracegrad as tg
    >>> tg.linalg.diagsvd([2.0, 3.0], 2, 3)
    array([[2., 0., 0.],
           [0., 3., 0.]])
    """
    s = _vectors("diagsvd", s, 0)
    n = shape_of(s)[-1]
    if not (same(n, M) and not known_less(N, n)) and not (same(n, N) and not known_less(M, n)):
        raise ShapeError(
            f"diagsvd: s has {n} elements, and a matrix of {M} rows and {N} columns has a diagonal "
            "of as many as the smaller of both"
        )
    return embed(diag_embed(s), (*shape_of(s)[:-1], M, N), (0,) * (ndim_of(s) + 1))


def fiedler_companion(a: Any) -> Any:
    """A matrix (n - 1, n - 1) of five diagonals whose eigenvalues are the roots of the polynomial
    with n coefficients, the highest power first (Fiedler 2003), which must not be 0.

    >>> import tracegrad as tg
    >>> tg.linalg.fiedler_companion([1.0, -3.0, 2.0])
    array([[ 3., -2.],
           [ 1.,  0.]])
    """
    a = _vectors("fiedler_companion", a, 0)
    n = int(shape_of(a)[-1]) - 1
    if n < 1:
        return a[..., :0]
    if type(a) is np.ndarray and not a[..., 0].all():
        raise ValueError("fiedler_companion: the first coefficient is 0; leave it out")
    a = div(a, a[..., :1])
    coefficients = np.zeros((n, n), np.intp)  # which one stands at a place, from 1 on
    ones = np.zeros((n, n), bool)
    for k in range(2, n + 1):  # the k-th is beside the diagonal, right of it or below
        at = (k - 1, k - 2) if k % 2 else (k - 2, k - 1)
        coefficients[at] = k
        one = (k, k - 2) if k % 2 else (k - 2, k)
        if max(one) < n:
            ones[one] = True
    coefficients[0, 0] = 1
    if n > 1:
        ones[1, 0] = True
    taken = neg(take(a, np.minimum(coefficients, n), -1))
    return where(coefficients > 0, taken, ones.astype(taken.dtype))


def khatri_rao(a: Any, b: Any) -> Any:
    """Kronecker products of the columns of (..., n, k) with those of (..., m, k): (..., n * m, k).

    >>> import tracegrad as tg
    >>> tg.linalg.khatri_rao([[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]])
    array([[ 3.,  8.],
           [ 5., 12.]])
    """
    a, b = as_array(a), as_array(b)
    if min(ndim_of(a), ndim_of(b)) < 2 or not same(shape_of(a)[-1], shape_of(b)[-1]):
        raise ShapeError(
            "khatri_rao: both must be matrices of as many columns, but their shapes are "
            f"{show(shape_of(a))} and {show(shape_of(b))}"
        )
    found = mul(expand_dims(a, -2), expand_dims(b, -3))
    *batch, n, m, k = shape_of(found)
    return reshape(found, (*batch, n * m, k))


def expm_frechet(
    A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """`(expm(A), L)`, or L alone: the derivative of the exponential at A in the direction E, as a
    block of the exponential of [[A, E], [0, A]].

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.expm_frechet(np.zeros((2, 2)), np.eye(2), compute_expm=False)
    array([[1., 0.],
           [0., 1.]])
    """
    a, e = in_lapack_dtype(as_matrix("expm_frechet", A, True), as_matrix("expm_frechet", E, True))
    if len(shape_of(a)) != len(shape_of(e)) or not all(map(same, shape_of(a), shape_of(e))):
        raise ShapeError(
            "expm_frechet: A and E must have one shape, not "
            f"{show(shape_of(a))} and {show(shape_of(e))}"
        )
    n = shape_of(a)[-1]
    nothing = zeros(shape_of(a), a.dtype)
    both = expm(concatenate([concatenate([a, e], -1), concatenate([nothing, a], -1)], -2))
    slope = both[..., :n, n:]
    return (both[..., :n, :n], slope) if compute_expm else slope


def solve_lyapunov(a: Any, q: Any) -> Any:
    """SciPy's older name of `solve_continuous_lyapunov`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.solve_lyapunov(np.eye(2), np.eye(2))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    return solve_continuous_lyapunov(a, q)


__all__ = [
    "companion", "coshm", "cosm", "diagsvd", "expm_frechet", "fiedler", "fiedler_companion",
    "khatri_rao", "leslie", "signm", "sinhm", "sinm", "solve_discrete_lyapunov", "solve_lyapunov",
    "tanhm", "tanm",
]  # fmt: skip
