"""What `lapack` does for stacks of real matrices of at most `small.LARGEST` rows, many at a
time."""

from __future__ import annotations

from typing import Any

from . import lapack, small
from .bridge import implements
from .foreign import routine
from .lapack import record
from .symbols import OWN

__all__ = ["small_cholesky", "small_det", "small_inv", "small_solve", "small_triangular_solve"]


def small_solve(a: Any, b: Any, x: Any, status: Any = None, code: int = 0) -> None:
    lapack.solve(a, b, x, status, code)


def small_inv(a: Any, out: Any, status: Any = None, code: int = 0) -> None:
    lapack.inv(a, out, status, code)


def small_det(a: Any, out: Any) -> None:
    lapack.det(a, out)


def small_cholesky(a: Any, out: Any, status: Any = None, code: int = 0) -> None:
    lapack.cholesky(a, out, status, code)


def small_triangular_solve(
    a: Any,
    b: Any,
    x: Any,
    lower: bool,
    trans: int = 0,
    unit: bool = False,
    status: Any = None,
    code: int = 0,
) -> None:
    lapack.triangular_solve(a, b, x, lower, trans, unit, status, code)


@implements(small_solve, inline=False)
def _type_solve(a: Any, b: Any, x: Any, status: Any = None, code: Any = 0) -> Any:
    own = routine(OWN, f"eliminate_{a.dtype}", small.ELIMINATE_KINDS)

    def body(a: Any, b: Any, x: Any, status: Any = None, code: int = 0) -> None:
        count, n, k = b.shape
        failed = own(count, n, k, a, 0, b, 0, x, 0, 0)
        if failed != 0:
            record(status, code, failed)

    return body


@implements(small_inv, inline=False)
def _type_inv(a: Any, out: Any, status: Any = None, code: Any = 0) -> Any:
    own, flags = routine(OWN, f"eliminate_{a.dtype}", small.ELIMINATE_KINDS), small.IDENTITY

    def body(a: Any, out: Any, status: Any = None, code: int = 0) -> None:
        count, n, k = a.shape
        failed = own(count, n, k, a, 0, a, 0, out, 0, flags)
        if failed != 0:
            record(status, code, failed)

    return body


@implements(small_det, inline=False)
def _type_det(a: Any, out: Any) -> Any:
    own, flags = routine(OWN, f"eliminate_{a.dtype}", small.ELIMINATE_KINDS), small.DET

    def body(a: Any, out: Any) -> None:
        count, n, k = a.shape
        own(count, n, k, a, 0, a, 0, out, 0, flags)

    return body


@implements(small_cholesky, inline=False)
def _type_cholesky(a: Any, out: Any, status: Any = None, code: Any = 0) -> Any:
    own = routine(OWN, f"cholesky_{a.dtype}", small.CHOLESKY_KINDS)

    def body(a: Any, out: Any, status: Any = None, code: int = 0) -> None:
        count, n, _ = a.shape
        failed = own(count, n, a, 0, out, 0)
        if failed != 0:
            record(status, code, failed)

    return body


@implements(small_triangular_solve, inline=False)
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
    own = routine(OWN, f"triangular_{a.dtype}", small.TRIANGULAR_KINDS)
    of_lower, of_turned, of_unit = small.LOWER, small.TURNED, small.UNIT

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
        flags = (
            (of_lower if lower else 0) + (of_turned if trans != 0 else 0) + (of_unit if unit else 0)
        )
        failed = own(count, n, k, a, 0, b, 0, x, 0, flags)
        if failed != 0:
            record(status, code, failed)

    return body
