"""LU factors of large real matrices, and what is done with them: single steps of what `blocked` has
in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numba.np import numpy_support

from ..substitution import by_factors
from . import elimination
from .bridge import compiled, implements
from .factorizations import record
from .foreign import copied, fill, routine
from .support import index, signed
from .symbols import OWN

__all__ = ["factored_inv", "factored_slogdet", "factored_solve", "lu_factors"]


def lu_factors(a: Any, factors: Any, exchanges: Any) -> None:
    """Both factors in one, and with which row each row was exchanged."""
    getrf: Any = scipy.linalg.lapack.get_lapack_funcs("getrf", (a,))
    for k, m in enumerate(a if a.size else ()):
        factors[k], exchanges[k], _ = getrf(m)


def factored_solve(
    factors: Any, exchanges: Any, b: Any, x: Any, turned: bool, status: Any = None, code: int = 0
) -> None:
    """`a @ x = b`, or `a.T @ x = b`."""
    for m, moved, rhs, out in zip(factors, exchanges, b, x, strict=True):
        zeros = np.flatnonzero(np.diagonal(m) == 0)
        if len(zeros):
            out[...] = np.nan
            record(status, code, int(zeros[0]) + 1)
        else:
            out[...] = by_factors(m, moved, rhs, turned)


def factored_inv(factors: Any, exchanges: Any, out: Any, status: Any = None, code: int = 0) -> None:
    """The inverse."""
    unit = np.broadcast_to(np.eye(factors.shape[-1], dtype=factors.dtype), factors.shape)
    factored_solve(factors, exchanges, unit, out, False, status, code)


def factored_slogdet(factors: Any, exchanges: Any, sign: Any, logabsdet: Any) -> None:
    """Sign and logarithm of the size of the determinant; (0, -inf) for a singular matrix."""
    with np.errstate(divide="ignore"):
        for k, (m, moved) in enumerate(zip(factors, exchanges, strict=True)):
            diagonal = np.diagonal(m)
            odd = np.count_nonzero(moved != np.arange(len(m))) % 2
            sign[k] = np.prod(np.sign(diagonal)) * (-1 if odd else 1)
            logabsdet[k] = np.sum(np.log(np.abs(diagonal)))


# --- compiled -------------------------------------------------------------------------------------


def eliminated(a: Any) -> Any:
    """For arrays like `a`: a function that leaves the factors of a matrix in `work`, and gives the
    number of the first pivot that is 0."""
    own = routine(OWN, f"lu_{a.dtype}", elimination.LU_KINDS)
    t, room = numpy_support.as_dtype(a.dtype).type, elimination.lu_space

    def core(a: Any, work: Any, exchanges: Any) -> Any:
        n = a.shape[0]
        copied(a, work)
        return own(n, work, 0, exchanges, 0, np.empty(signed(room(index(n))), t), 0)

    return compiled(core)


def first_zero(factors: Any) -> Any:
    """The number of the first pivot that is 0, or 0."""
    for i in range(factors.shape[0]):
        if factors[i, i] == 0:
            return i + 1
    return 0


implements(first_zero, inline=False)(lambda factors: first_zero)


def of_diagonal(factors: Any, exchanges: Any, sign: Any, logabsdet: Any, q: Any) -> None:
    """Sign and logarithm for one matrix."""
    raise TypeError("compiled code only")


@implements(of_diagonal, inline=False)
def _type_of_diagonal(factors: Any, exchanges: Any, sign: Any, logabsdet: Any, q: Any) -> Any:
    t = numpy_support.as_dtype(factors.dtype).type

    def body(factors: Any, exchanges: Any, sign: Any, logabsdet: Any, q: Any) -> None:
        direction, total = t(1), t(0)
        for i in range(factors.shape[0]):
            factor = factors[i, i]
            size = t(np.abs(factor))
            if size == 0:
                direction, total = t(0), t(-np.inf)
                break
            direction = t(direction * ((factor if exchanges[i] == i else -factor) / size))
            total = t(total + np.log(size))
        sign[q] = direction
        logabsdet[q] = total

    return body


@implements(lu_factors, inline=False)
def _type_factors(a: Any, factors: Any, exchanges: Any) -> Any:
    own = eliminated(a)

    def body(a: Any, factors: Any, exchanges: Any) -> None:
        for q in range(a.shape[0]):
            own(a[q], factors[q], exchanges[q])

    return body


@implements(factored_solve, inline=False)
def _type_solve(
    factors: Any, exchanges: Any, b: Any, x: Any, turned: Any, status: Any = None, code: Any = 0
) -> Any:
    own = routine(OWN, f"factored_{b.dtype}", elimination.FACTORED_KINDS)
    t = numpy_support.as_dtype(b.dtype).type

    def body(
        factors: Any, exchanges: Any, b: Any, x: Any, turned: bool, status: Any = None,
        code: int = 0,
    ) -> None:  # fmt: skip
        count, n, k = b.shape
        space = np.empty(n, t)
        for q in range(count):
            failed = first_zero(factors[q])
            if failed != 0:
                fill(x[q], np.nan)
                record(status, code, failed)
            else:
                copied(b[q], x[q])
                own(
                    n, k, factors, q * n * n, exchanges, q * n, x, q * n * k, 1 if turned else 0,
                    space, 0,
                )  # fmt: skip

    return body


@implements(factored_inv, inline=False)
def _type_inv(factors: Any, exchanges: Any, out: Any, status: Any = None, code: Any = 0) -> Any:
    own = routine(OWN, f"inverse_{factors.dtype}", elimination.INVERSE_KINDS)
    t = numpy_support.as_dtype(factors.dtype).type

    def body(factors: Any, exchanges: Any, out: Any, status: Any = None, code: int = 0) -> None:
        count, n, _ = out.shape
        space = np.empty(n, t)
        for q in range(count):
            failed = first_zero(factors[q])
            if failed != 0:
                fill(out[q], np.nan)
                record(status, code, failed)
            else:
                own(n, factors, q * n * n, exchanges, q * n, out, q * n * n, space, 0)

    return body


@implements(factored_slogdet, inline=False)
def _type_slogdet(factors: Any, exchanges: Any, sign: Any, logabsdet: Any) -> Any:
    def body(factors: Any, exchanges: Any, sign: Any, logabsdet: Any) -> None:
        for q in range(factors.shape[0]):
            of_diagonal(factors[q], exchanges[q], sign, logabsdet, q)

    return body
