"""Functions of scipy.linalg for matrices of one pattern: circulant, Toeplitz; and powers that are
not whole."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...checks import describe
from ...dtypes import promote
from ...errors import ShapeError, UnsupportedFunctionError
from ...ir.dispatch import Value
from ...ir.lines import user_line
from ...sizes import same
from ...types import normalize_axis, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import zeros
from ..arrays.shape import moveaxis, reshape, transpose
from ..arrays.slices import cut, flip
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import div, where
from ..elementwise.derived import conj, convert, mul, real
from ..fourier.functions import factored_length, fft, ifft, irfft, rfft
from ..places.along import take
from .linalg import matrix_power, pinv
from .products import matmul
from .scipy_names import expm, logm, toeplitz


def pinvh(
    a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """The pseudo-inverse of a Hermitian matrix, of which all is read. Eigenvalues up to `rtol`
    times the largest in size count as zero. `atol` and `return_rank` are refused.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.pinvh(np.array([[2.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    if atol is not None or return_rank:
        raise UnsupportedFunctionError(
            f"{user_line()}: linalg.pinvh with atol= or return_rank= is not supported; "
            "tg.linalg.matrix_rank gives the rank"
        )
    a = as_array(a)
    if rtol is None:
        kind = a.dtype if a.dtype.kind in "fc" else np.dtype(float)
        rtol = float(np.finfo(kind).eps) * int(shape_of(a)[-1] if ndim_of(a) else 1)
    return pinv(a, rtol, hermitian=True)


def fractional_matrix_power(A: Any, t: Any) -> Any:
    """A square matrix to a power: the exponential of t times its logarithm, or for a known whole t
    products. NaN where there is no logarithm.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.fractional_matrix_power(np.diag([4.0, 9.0]), 0.5).round(12)
    array([[2., 0.],
           [0., 3.]])
    """
    if not isinstance(t, Value) and float(t).is_integer():
        return matrix_power(A, int(t))
    return expm(mul(t, logm(A)))


def _pair(name: str, c_or_cr: Any) -> tuple[Any, Any]:
    if not isinstance(c_or_cr, tuple):
        return c_or_cr, None
    if len(c_or_cr) != 2:
        raise ValueError(f"{name}: c_or_cr is {describe(c_or_cr)}; it must be c, or (c, r)")
    return c_or_cr


MANY = 1 << 14
"""Elements of a Toeplitz matrix from which on products with it go through Fourier transforms."""


def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """The product of the Toeplitz matrix of the first column c (and the first row r) with x: by the
    full matrix, or for large ones by Fourier transforms as SciPy's, whose rounding errors are those
    of the largest element everywhere.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.matmul_toeplitz(([1.0, 2.0], [1.0, 3.0]), np.array([1.0, 1.0]))
    array([4., 3.])
    """
    c, r = _pair("matmul_toeplitz", c_or_cr)
    c, x = as_array(c), as_array(x)
    x = x if x.dtype.kind in "fc" else convert(x, np.float64)
    r = conj(c) if r is None else as_array(r)
    sizes = (*shape_of(c), *shape_of(r), *shape_of(x)[:1])
    if (
        (ndim_of(c), ndim_of(r)) != (1, 1)
        or ndim_of(x) not in (1, 2)
        or not all(isinstance(n, int) for n in sizes)
        or sizes[0] * sizes[1] < MANY
        or sizes[1] != sizes[2]
        or promote(c.dtype, r.dtype, x.dtype).kind not in "fc"
    ):
        return matmul(toeplitz(c, r), x)
    # The first columns of a circulant matrix with zeros between the ends of c and r.
    m, n = sizes[:2]
    size: Any = factored_length(m + n - 1)
    around = concatenate([c, zeros((size - m - n + 1,), c.dtype), flip(cut(r, 0, 1, n - 1), 0)])
    kept = promote(c.dtype, r.dtype, x.dtype)
    if kept.kind == "c":
        spectra, back = fft, ifft
    else:
        spectra, back = rfft, irfft
    lanes = x if ndim_of(x) == 1 else transpose(x)
    found = cut(back(mul(spectra(around), spectra(lanes, size)), size), ndim_of(x) - 1, 0, m)
    return found if ndim_of(x) == 1 else transpose(found)


def solve_circulant(
    c: Any, b: Any, singular: str = "raise", tol: Any = None, caxis: int = -1, baxis: int = 0,
    outaxis: int = 0,
) -> Any:  # fmt: skip
    """x with C @ x = b for the circulant matrix of the first column c, by Fourier transforms. A
    singular matrix is not noticed: the result has infinities or NaN.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.solve_circulant(np.array([2.0, 1.0, 0.0]), np.array([3.0, 3.0, 3.0])).round(12)
    array([1., 1., 1.])
    """
    if singular != "raise":
        raise ValueError("solve_circulant: singular='lstsq' is not supported; use tg.linalg.lstsq")
    c, b = as_array(c), as_array(b)
    is_real = c.dtype.kind != "c" and b.dtype.kind != "c"
    c = fft(moveaxis(c, normalize_axis(caxis, ndim_of(c)), -1))
    b = fft(moveaxis(b, normalize_axis(baxis, ndim_of(b)), -1))
    if not same(shape_of(c)[-1], shape_of(b)[-1]):
        raise ShapeError(
            f"solve_circulant: c and b have {shape_of(c)[-1]} and {shape_of(b)[-1]} elements along "
            "their axes; they must have as many"
        )
    if ndim_of(b) > 1 and ndim_of(c) > 1:
        c = reshape(c, (*shape_of(c)[:-1], *[1] * (ndim_of(b) - 1), shape_of(c)[-1]))
    found = ifft(div(b, c))
    return moveaxis(real(found) if is_real else found, -1, outaxis)


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix A with `A @ v = convolve(a, v, mode)` for vectors v of n elements.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.convolution_matrix(np.array([1.0, 2.0]), 2)
    array([[1., 0.],
           [2., 1.],
           [0., 2.]])
    """
    a = as_array(a)
    n = operator.index(n)
    m = int(shape_of(a)[-1]) if ndim_of(a) else 0
    if ndim_of(a) != 1 or m < 1 or n < 1 or mode not in ("full", "same", "valid"):
        raise ValueError(
            f"convolution_matrix: a vector, n from 1 on and mode 'full', 'same' or 'valid' are "
            f"needed, not shape {show(shape_of(a))}, n {n} and mode {mode!r}"
        )
    gap = np.arange(m + n - 1)[:, None] - np.arange(n)
    if mode != "full":
        size = max(m, n) if mode == "same" else max(m, n) - min(m, n) + 1
        first = (min(m, n) - 1) // 2 if mode == "same" else min(m, n) - 1
        gap = gap[first : first + size]
    inside = (gap >= 0) & (gap < m)
    return where(inside, take(a, np.where(inside, gap, 0), 0), a.dtype.type(0))


__all__ = [
    "convolution_matrix", "fractional_matrix_power",
    "matmul_toeplitz", "pinvh", "solve_circulant",
]  # fmt: skip
