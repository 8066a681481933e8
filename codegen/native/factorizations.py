"""Factorisations and solves with NumPy's conventions: single matrices or stacks with one leading
axis. Compiled, they are those of `lapack`.

Failures never raise: `status`, where one is given, receives (code, LAPACK's error number) unless it
holds an earlier failure, and the results become NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types

from .. import singular
from ..substitution import triangular
from .bridge import implements


def _each(*arrays: Any, ndim: int = 2) -> Any:
    """The matrices of stacks, in step."""
    return zip(*arrays, strict=True) if arrays[0].ndim > ndim else iter([arrays])


def record(status: Any, code: int, info: int) -> None:
    if status is not None and status[0] == 0:
        status[0], status[1] = code, info


@implements(record)
def _type_record(status: Any, code: Any, info: Any) -> Any:
    if not isinstance(status, types.Array):
        return lambda status, code, info: None
    return record


def solve(a: Any, b: Any, x: Any, status: Any = None, code: int = 0) -> None:
    """`a @ x = b`; b has the rank of a."""
    for m, rhs, out in _each(a, b, x):
        try:
            out[...] = np.linalg.solve(m, rhs)
        except np.linalg.LinAlgError:
            out[...] = np.nan
            record(status, code, 1)


def inv(a: Any, out: Any, status: Any = None, code: int = 0) -> None:
    """The inverse."""
    for m, o in _each(a, out):
        try:
            o[...] = np.linalg.inv(m)
        except np.linalg.LinAlgError:
            o[...] = np.nan
            record(status, code, 1)


def det(a: Any, out: Any) -> None:
    """The determinant; `out` has the shape of the stack."""
    out[...] = np.linalg.det(a)


def slogdet(a: Any, sign: Any, logabsdet: Any) -> None:
    """Sign (or phase) and logarithm of the size of the determinant; (0, -inf) for a singular
    matrix."""
    s, size = np.linalg.slogdet(a)
    sign[...], logabsdet[...] = s, size


def cholesky(a: Any, out: Any, status: Any = None, code: int = 0) -> None:
    """The lower factor; only the lower triangle of `a` is read."""
    for m, o in _each(a, out):
        try:
            o[...] = np.linalg.cholesky(m)
        except np.linalg.LinAlgError:
            o[...] = np.nan
            record(status, code, 1)


def qr(a: Any, q: Any, r: Any) -> None:
    """The reduced factors."""
    for m, oq, orr in _each(a, q, r):
        oq[...], orr[...] = np.linalg.qr(m)


def eigh(a: Any, w: Any, v: Any, status: Any = None, code: int = 0) -> None:
    """Eigenvalues, ascending, and vectors of a Hermitian matrix, of which only the lower triangle
    is read."""
    for m, ow, ov in ((a, w, v),) if a.ndim == 2 else zip(a, w, v, strict=True):
        try:
            ow[...], ov[...] = np.linalg.eigh(m)
        except np.linalg.LinAlgError:
            ow[...], ov[...] = np.nan, np.nan
            record(status, code, 1)


def eigvalsh(a: Any, w: Any, status: Any = None, code: int = 0) -> None:
    """Eigenvalues, ascending, of a Hermitian matrix, of which only the lower triangle is read."""
    for m, ow in ((a, w),) if a.ndim == 2 else zip(a, w, strict=True):
        try:
            ow[...] = np.linalg.eigvalsh(m)
        except np.linalg.LinAlgError:
            ow[...] = np.nan
            record(status, code, 1)


def svdvals(a: Any, s: Any, status: Any = None, code: int = 0) -> None:
    """Singular values, descending."""
    for m, os in ((a, s),) if a.ndim == 2 else zip(a, s, strict=True):
        try:
            os[...] = np.linalg.svd(m, compute_uv=False)
        except np.linalg.LinAlgError:
            os[...] = np.nan
            record(status, code, 1)


def svd(a: Any, u: Any, s: Any, vh: Any, status: Any = None, code: int = 0) -> None:
    """The reduced singular value decomposition."""
    for m, ou, os, ov in ((a, u, s, vh),) if a.ndim == 2 else zip(a, u, s, vh, strict=True):
        try:
            ou[...], os[...], ov[...] = singular.svd(m)
        except np.linalg.LinAlgError:
            ou[...], os[...], ov[...] = np.nan, np.nan, np.nan
            record(status, code, 1)


def triangular_solve(
    a: Any,
    b: Any,
    x: Any,
    lower: bool,
    trans: int = 0,
    unit: bool = False,
    status: Any = None,
    code: int = 0,
) -> None:
    """`op(a) @ x = b` with op nothing, transposition or conjugate transposition (trans 0, 1, 2);
    the other triangle is not read."""
    for m, rhs, out in _each(a, b, x):
        if not unit and not np.all(np.diagonal(m)):
            out[...] = np.nan
            record(status, code, int(np.argmin(np.diagonal(m) != 0)) + 1)
        elif out.size:
            out[...] = triangular(m, rhs, lower, trans, unit)


def pinv(a: Any, out: Any, rcond: float, status: Any = None, code: int = 0) -> None:
    """The pseudo-inverse: singular values up to rcond times the largest count as zero."""
    for m, o in _each(a, out):
        try:
            o[...] = singular.pinv(m, rcond)
        except np.linalg.LinAlgError:
            o[...] = np.nan
            record(status, code, 1)


def adjugate(a: Any, out: Any, status: Any = None, code: int = 0) -> None:
    """The determinant times the inverse, from the singular values: finite where the matrix is
    singular."""
    for m, o in _each(a, out):
        try:
            u, s, vh = singular.svd(m)
        except np.linalg.LinAlgError:
            o[...] = np.nan
            record(status, code, 1)
            continue
        others = np.array([np.prod(np.delete(s, k)) for k in range(len(s))])
        o[...] = np.linalg.det(u) * np.linalg.det(vh) * ((vh.conj().T * others) @ u.conj().T)
