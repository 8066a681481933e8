"""What `lapack` does for large real matrices, by the own routines in blocks; the derivative of
Cholesky factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.np import numpy_support

from .. import substitution
from . import dense, elimination, factorizations, lapack, orthogonal, positive
from .bridge import implements
from .factored import eliminated, of_diagonal
from .foreign import copied, fill, routine
from .lapack import record
from .support import index, signed
from .symbols import OWN

__all__ = [
    "blocked_cholesky", "blocked_det", "blocked_inv", "blocked_qr", "blocked_slogdet",
    "blocked_solve", "blocked_triangular_solve", "cholesky_adjoint", "cholesky_tangent",
]  # fmt: skip

LEAST = 24
"""Below, LAPACK's take no longer."""


def blocked_cholesky(a: Any, out: Any, status: Any = None, code: int = 0) -> None:
    factorizations.cholesky(a, out, status, code)


def blocked_triangular_solve(
    a: Any,
    b: Any,
    x: Any,
    lower: bool,
    trans: int = 0,
    unit: bool = False,
    status: Any = None,
    code: int = 0,
) -> None:
    factorizations.triangular_solve(a, b, x, lower, trans, unit, status, code)


def blocked_solve(a: Any, b: Any, x: Any, status: Any = None, code: int = 0) -> None:
    factorizations.solve(a, b, x, status, code)


def blocked_inv(a: Any, out: Any, status: Any = None, code: int = 0) -> None:
    factorizations.inv(a, out, status, code)


def blocked_det(a: Any, out: Any) -> None:
    factorizations.det(a, out)


def blocked_slogdet(a: Any, sign: Any, logabsdet: Any) -> None:
    factorizations.slogdet(a, sign, logabsdet)


def blocked_qr(a: Any, q: Any, r: Any) -> None:
    factorizations.qr(a, q, r)


def cholesky_adjoint(l: Any, c: Any, out: Any) -> None:  # noqa: E741
    """The cotangents of symmetric matrices from those of their lower factors l."""
    for m, given, o in zip(l, c, out, strict=True):
        o[...] = substitution.cholesky_adjoint(m, given)


def cholesky_tangent(l: Any, a: Any, out: Any) -> None:  # noqa: E741
    """The tangents of lower factors l from those of their symmetric matrices."""
    for m, given, o in zip(l, a, out, strict=True):
        o[...] = substitution.cholesky_tangent(m, given)


@implements(blocked_cholesky, inline=False)
def _type_cholesky(a: Any, out: Any, status: Any = None, code: Any = 0) -> Any:
    own, least = routine(OWN, f"factor_{a.dtype}", "laaao"), LEAST
    room = positive.factor_space
    t = numpy_support.as_dtype(a.dtype).type

    def body(a: Any, out: Any, status: Any = None, code: int = 0) -> None:
        count, n, _ = a.shape
        if n < least:
            lapack.cholesky(a, out, status, code)
        else:
            work = np.empty(signed(room(index(n))), t)
            for q in range(count):
                failed = own(n, a, q * n * n, out, q * n * n, work, 0)
                if failed != 0:
                    fill(out[q], np.nan)
                    record(status, code, failed)

    return body


@implements(cholesky_adjoint, inline=False)
def _type_adjoint(l: Any, c: Any, out: Any) -> Any:  # noqa: E741
    own, room = routine(OWN, f"adjoint_{l.dtype}", "laaaa"), positive.adjoint_space
    t = numpy_support.as_dtype(l.dtype).type

    def body(l: Any, c: Any, out: Any) -> None:  # noqa: E741
        count, n, _ = l.shape
        work = np.empty(signed(room(index(n))), t)
        for q in range(count):
            own(n, l, q * n * n, c, q * n * n, out, q * n * n, work, 0)

    return body


@implements(cholesky_tangent, inline=False)
def _type_tangent(l: Any, a: Any, out: Any) -> Any:  # noqa: E741
    own, room = routine(OWN, f"tangent_{l.dtype}", "laaaa"), positive.tangent_space
    t = numpy_support.as_dtype(l.dtype).type

    def body(l: Any, a: Any, out: Any) -> None:  # noqa: E741
        count, n, _ = l.shape
        work = np.empty(signed(room(index(n))), t)
        for q in range(count):
            own(n, l, q * n * n, a, q * n * n, out, q * n * n, work, 0)

    return body


@implements(blocked_triangular_solve, inline=False)
def _type_triangular(
    a: Any,
    b: Any,
    x: Any,
    lower: Any,
    trans: Any = 0,
    unit: Any = False,
    status: Any = None,
    code: Any = 0,
) -> Any:
    own = routine(OWN, f"substitute_{a.dtype}", dense.SUBSTITUTE_KINDS)
    least, few = LEAST, dense.FEW

    def body(
        a: Any,
        b: Any,
        x: Any,
        lower: bool,
        trans: int = 0,
        unit: bool = False,
        status: Any = None,
        code: int = 0,
    ) -> None:
        count, n, k = b.shape
        if n < least or k < few:
            lapack.triangular_solve(a, b, x, lower, trans, unit, status, code)
            return
        row, col = (n, 1) if trans == 0 else (1, n)
        for q in range(count):
            m, solution = a[q], x[q]
            zero = 0
            if not unit:
                for i in range(n):
                    if m[i, i] == 0 and zero == 0:
                        zero = i + 1
            if zero != 0:
                fill(solution, np.nan)
                record(status, code, zero)
            else:
                copied(b[q], solution)
                own(
                    n, k, a, q * n * n, row, col, 1 if lower == (trans == 0) else 0,
                    1 if unit else 0, x, q * n * k, k, 0,
                )  # fmt: skip

    return body


@implements(blocked_solve, inline=False)
def _type_solve(a: Any, b: Any, x: Any, status: Any = None, code: Any = 0) -> Any:
    own = routine(OWN, f"factored_{a.dtype}", elimination.FACTORED_KINDS)
    factorised, least, t = eliminated(a), LEAST, numpy_support.as_dtype(a.dtype).type

    def body(a: Any, b: Any, x: Any, status: Any = None, code: int = 0) -> None:
        count, n, k = b.shape
        if n < least:
            lapack.solve(a, b, x, status, code)
            return
        work, exchanges, space = np.empty((n, n), t), np.empty(n, np.int64), np.empty(n, t)
        for q in range(count):
            failed = factorised(a[q], work, exchanges)
            if failed != 0:
                fill(x[q], np.nan)
                record(status, code, failed)
            else:
                copied(b[q], x[q])
                own(n, k, work, 0, exchanges, 0, x, q * n * k, 0, space, 0)

    return body


@implements(blocked_inv, inline=False)
def _type_inv(a: Any, out: Any, status: Any = None, code: Any = 0) -> Any:
    own = routine(OWN, f"inverse_{a.dtype}", elimination.INVERSE_KINDS)
    factorised, least, t = eliminated(a), LEAST, numpy_support.as_dtype(a.dtype).type

    def body(a: Any, out: Any, status: Any = None, code: int = 0) -> None:
        count, n, _ = a.shape
        if n < least:
            lapack.inv(a, out, status, code)
            return
        work, exchanges, space = np.empty((n, n), t), np.empty(n, np.int64), np.empty(n, t)
        for q in range(count):
            failed = factorised(a[q], work, exchanges)
            if failed != 0:
                fill(out[q], np.nan)
                record(status, code, failed)
            else:
                own(n, work, 0, exchanges, 0, out, q * n * n, space, 0)

    return body


@implements(blocked_det, inline=False)
def _type_det(a: Any, out: Any) -> Any:
    factorised, t = eliminated(a), numpy_support.as_dtype(a.dtype).type

    def body(a: Any, out: Any) -> None:
        count, n, _ = a.shape
        work, exchanges = np.empty((n, n), t), np.empty(n, np.int64)
        for q in range(count):
            factorised(a[q], work, exchanges)
            product = t(1)
            for i in range(n):
                factor, before = work[i, i], product
                product = t(product * (factor if exchanges[i] == i else -factor))
                if factor == 0 and not np.isnan(before):
                    product = t(0)
            out[q] = product

    return body


@implements(blocked_slogdet, inline=False)
def _type_slogdet(a: Any, sign: Any, logabsdet: Any) -> Any:
    factorised, t = eliminated(a), numpy_support.as_dtype(a.dtype).type

    def body(a: Any, sign: Any, logabsdet: Any) -> None:
        count, n, _ = a.shape
        work, exchanges = np.empty((n, n), t), np.empty(n, np.int64)
        for q in range(count):
            factorised(a[q], work, exchanges)
            of_diagonal(work, exchanges, sign, logabsdet, q)

    return body


@implements(blocked_qr, inline=False)
def _type_qr(a: Any, q: Any, r: Any) -> Any:
    own, least = routine(OWN, f"qr_{a.dtype}", orthogonal.QR_KINDS), LEAST
    t, room = numpy_support.as_dtype(a.dtype).type, orthogonal.qr_space

    def body(a: Any, q: Any, r: Any) -> None:
        count, m, n = a.shape
        if n < least:
            lapack.qr(a, q, r)
            return
        space = np.empty(signed(room(index(m), index(n))), t)
        for k in range(count):
            at = k * m * n
            if own(m, n, a, at, q, at, r, k * n * n, space, 0) != 0:
                # NaN and infinities stay in the columns in which LAPACK has them.
                lapack.qr(a[k], q[k], r[k])

    return body
