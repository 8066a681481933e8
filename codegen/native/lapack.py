"""The native forms of the factorisations and solves, through LAPACK.

LAPACK counts columns first: operands are copied in transposed order, and results copied back.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.np import numpy_support

from ..disk.sources import generated
from .adjugates import by_elimination
from .bridge import compiled, implements
from .factorizations import (
    adjugate,
    cholesky,
    det,
    eigh,
    inv,
    pinv,
    qr,
    record,
    slogdet,
    solve,
    svd,
    triangular_solve,
)
from .foreign import blas, copied, fill, finite, lapack, letter, turned
from .support import index, view

__all__ = [
    "adjugate", "cholesky", "det", "eigh", "inv", "pinv", "qr", "record", "slogdet", "solve", "svd",
    "triangular_solve",
]  # fmt: skip

LOWER, UPPER, VECTORS, SLIM, PLAIN = ord("L"), ord("U"), ord("V"), ord("S"), ord("N")
TRANS = (ord("N"), ord("T"), ord("C"))
Body = Callable[..., Any]


def _stacked(function: Body, ranks: tuple[int, ...], make: Callable[..., Body]) -> None:
    """The native form: `make(array types...)` gives the body for one matrix; stacks are loops over
    it.

    `ranks` are those of the arrays for a single matrix; further arguments are passed on.
    """
    names = list(inspect.signature(function).parameters)
    defaults = {
        p.name: p.default
        for p in inspect.signature(function).parameters.values()
        if p.default is not inspect.Parameter.empty
    }
    arrays, rest = names[: len(ranks)], names[len(ranks) :]
    declared = ", ".join(n + (f"={defaults[n]!r}" if n in defaults else "") for n in names)
    one = ", ".join(names)

    def typer(*kinds: Any) -> Any:
        types_of = kinds[: len(ranks)]
        if not all(isinstance(k, types.Array) for k in types_of):
            return None
        depth = types_of[0].ndim - ranks[0]
        core = make(*types_of)
        scope: dict[str, Any] = {"core": compiled(core), "index": index, "view": view}
        scope |= {f"{n}_type": _numpy_type(k.dtype) for n, k in zip(arrays, types_of, strict=True)}
        if depth == 0:
            text = f"def body({declared}):\n    core({one})\n"
        else:
            views = ", ".join(
                [
                    f"{n}[k]" if r else f"view({n}, index(k), (), {n}_type)"
                    for n, r in zip(arrays, ranks, strict=True)
                ]
                + rest
            )
            text = (
                f"def body({declared}):\n"
                f"    for k in range({arrays[0]}.shape[0]):\n"
                f"        core({views})\n"
            )
        return generated(text, "body", scope)

    implements(function, inline=False)(eval(f"lambda {declared}: typer({one})", {"typer": typer}))


def _numpy_type(dtype: Any) -> Any:
    return numpy_support.as_dtype(dtype).type


def _real_type(dtype: Any) -> Any:
    return {"s": np.float32, "c": np.float32}.get(letter(dtype), np.float64)


def _make_solve(a: Any, b: Any, x: Any) -> Body:
    gesv = lapack(a.dtype, "gesv", "iiaiaaio")
    t = _numpy_type(a.dtype)

    def core(a: Any, b: Any, x: Any, status: Any, code: int) -> None:
        n, k = b.shape
        if n == 0 or k == 0:
            return
        work, right, pivots = np.empty((n, n), t), np.empty((k, n), t), np.empty(n, np.int32)
        turned(a, work)
        turned(b, right)
        info = gesv(n, k, work, 0, n, pivots, 0, right, 0, n)
        if info != 0:
            fill(x, np.nan)
            record(status, code, info)
        else:
            turned(right, x)

    return core


def _make_inv(a: Any, out: Any) -> Body:
    gesv = lapack(a.dtype, "gesv", "iiaiaaio")
    t = _numpy_type(a.dtype)

    def core(a: Any, out: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        if n == 0:
            return
        work, right, pivots = np.empty((n, n), t), np.zeros((n, n), t), np.empty(n, np.int32)
        turned(a, work)
        for i in range(n):
            right[i, i] = t(1)
        info = gesv(n, n, work, 0, n, pivots, 0, right, 0, n)
        if info != 0:
            fill(out, np.nan)
            record(status, code, info)
        else:
            turned(right, out)

    return core


def _lu(a: Any) -> Body:
    """The factors into `work`, and whether the rows were exchanged an odd number of times."""
    getrf = lapack(a.dtype, "getrf", "iiaiao")

    def core(a: Any, work: Any) -> Any:
        n = a.shape[0]
        pivots = np.empty(n, np.int32)
        turned(a, work)
        if n:
            getrf(n, n, work, 0, n, pivots, 0)
        odd = False
        for i in range(n):
            odd ^= pivots[i] != i + 1
        return odd

    return compiled(core)


def _make_det(a: Any, out: Any) -> Body:
    lu = _lu(a)
    t = _numpy_type(a.dtype)

    def core(a: Any, out: Any) -> None:
        work = np.empty(a.shape, t)
        odd = lu(a, work)
        product = t(-1) if odd else t(1)
        for i in range(a.shape[0]):
            before = product
            product = t(product * work[i, i])
            if work[i, i] == 0 and not np.isnan(before):
                # Also where the product before has overflowed.
                product = t(0)
        out[()] = product

    return core


def _make_slogdet(a: Any, sign: Any, logabsdet: Any) -> Body:
    lu = _lu(a)
    t, real = _numpy_type(a.dtype), _real_type(a.dtype)

    def core(a: Any, sign: Any, logabsdet: Any) -> None:
        work = np.empty(a.shape, t)
        odd = lu(a, work)
        direction, total = t(-1) if odd else t(1), real(0)
        for i in range(a.shape[0]):
            size = real(np.abs(work[i, i]))
            if size == 0:
                direction, total = t(0), real(-np.inf)
                break
            direction = t(direction * (work[i, i] / size))
            total = real(total + np.log(size))
        sign[()] = direction
        logabsdet[()] = total

    return core


def _make_cholesky(a: Any, out: Any) -> Body:
    potrf = lapack(a.dtype, "potrf", "ciaio")
    t = _numpy_type(a.dtype)

    def core(a: Any, out: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        # Row by row, the lower triangle of `a` is the upper one of its transpose, and the factor
        # comes out in place.
        for i in range(n):
            for j in range(n):
                out[i, j] = a[i, j] if j <= i else t(0)
        if n:
            info = potrf(UPPER, n, out, 0, n)
            if info != 0:
                fill(out, np.nan)
                record(status, code, info)

    return core


def _make_qr(a: Any, q: Any, r: Any) -> Body:
    complex_name = "ungqr"
    geqrf = lapack(a.dtype, "geqrf", "iiaiaaio")
    orgqr = lapack(a.dtype, "orgqr", "iiiaiaaio", complex_name)
    t = _numpy_type(a.dtype)

    def core(a: Any, q: Any, r: Any) -> None:
        m, n = a.shape
        k = min(m, n)
        if k == 0:
            return
        work, tau, space = np.empty((n, m), t), np.empty(k, t), np.empty(max(n, 1) * 64, t)
        turned(a, work)
        geqrf(m, n, work, 0, m, tau, 0, space, 0, space.size)
        for i in range(k):
            for j in range(n):
                r[i, j] = work[j, i] if j >= i else t(0)
        orgqr(m, k, k, work, 0, m, tau, 0, space, 0, space.size)
        for i in range(m):
            for j in range(k):
                q[i, j] = work[j, i]

    return core


def _make_eigh(a: Any, w: Any, v: Any) -> Body:
    is_complex = letter(a.dtype) in "cz"
    t, real = _numpy_type(a.dtype), _real_type(a.dtype)
    if is_complex:
        heevd = lapack(a.dtype, "", "cciaiaaiaiaio", "heevd")

        def of_complex(a: Any, w: Any, v: Any, status: Any, code: int) -> None:
            n = a.shape[0]
            if n == 0:
                return
            work = np.empty((n, n), t)
            space, reals, ints = (
                np.empty(2 * n + n * n, t),
                np.empty(1 + 5 * n + 2 * n * n, real),
                np.empty(3 + 5 * n, np.int32),
            )
            turned(a, work)
            info = heevd(
                VECTORS,
                LOWER,
                n,
                work,
                0,
                n,
                w,
                0,
                space,
                0,
                space.size,
                reals,
                0,
                reals.size,
                ints,
                0,
                ints.size,
            )
            if info != 0:
                fill(w, np.nan)
                fill(v, np.nan)
                record(status, code, info)
            else:
                turned(work, v)

        return of_complex
    syevd = lapack(a.dtype, "syevd", "cciaiaaiaio")

    def of_real(a: Any, w: Any, v: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        if n == 0:
            return
        work = np.empty((n, n), t)
        space, ints = np.empty(1 + 6 * n + 2 * n * n, t), np.empty(3 + 5 * n, np.int32)
        turned(a, work)
        info = syevd(VECTORS, LOWER, n, work, 0, n, w, 0, space, 0, space.size, ints, 0, ints.size)
        if info != 0:
            fill(w, np.nan)
            fill(v, np.nan)
            record(status, code, info)
        else:
            turned(work, v)

    return of_real


def _gesdd(a: Any) -> Body:
    """The factors of `work`, which is lost; what LAPACK says."""
    t, real = _numpy_type(a.dtype), _real_type(a.dtype)
    is_complex = letter(a.dtype) in "cz"
    gesdd = lapack(a.dtype, "gesdd", "ciiaiaaiaiaiaao" if is_complex else "ciiaiaaiaiaiao")

    def of_complex(m: int, n: int, work: Any, s: Any, left: Any, right: Any) -> Any:
        k, large = min(m, n), max(m, n)
        space = np.empty(k * k + 3 * k + 64 * large + 2 * k * large, t)
        reals = np.empty(max(5 * k * k + 5 * k, 2 * large * k + 2 * k * k + k), real)
        ints = np.empty(8 * k, np.int32)
        return gesdd(
            SLIM, m, n, work, 0, m, s, 0, left, 0, m, right, 0, k, space, 0, space.size, reals, 0,
            ints, 0,
        )  # fmt: skip

    def of_real(m: int, n: int, work: Any, s: Any, left: Any, right: Any) -> Any:
        k, large = min(m, n), max(m, n)
        space = np.empty(4 * k * k + 7 * k + 64 * (large + k), t)
        ints = np.empty(8 * k, np.int32)
        return gesdd(
            SLIM, m, n, work, 0, m, s, 0, left, 0, m, right, 0, k, space, 0, space.size, ints, 0
        )

    return compiled(of_complex if is_complex else of_real)


def _make_svd(a: Any, u: Any, s: Any, vh: Any) -> Body:
    gesdd, t = _gesdd(a), _numpy_type(a.dtype)

    def core(a: Any, u: Any, s: Any, vh: Any, status: Any, code: int) -> None:
        m, n = a.shape
        k = min(m, n)
        if k == 0:
            return
        work, left, right = np.empty((n, m), t), np.empty((k, m), t), np.empty((n, k), t)
        turned(a, work)
        # From infinite numbers gesdd may not come back.
        info = gesdd(m, n, work, s, left, right) if finite(work) else 1
        if info != 0:
            fill(s, np.nan)
            fill(u, np.nan)
            fill(vh, np.nan)
            record(status, code, info)
        else:
            turned(left, u)
            turned(right, vh)

    return core


def _make_triangular(a: Any, b: Any, x: Any) -> Body:
    trsm = blas(a.dtype, "trsm", "cccciisaiai")
    t = _numpy_type(a.dtype)
    right, unit_code, plain = ord("R"), ord("U"), ord("N")

    def core(
        a: Any, b: Any, x: Any, lower: bool, trans: int, unit: bool, status: Any, code: int
    ) -> None:
        n, k = b.shape
        if not unit:
            for i in range(n):
                if a[i, i] == 0:
                    fill(x, np.nan)
                    record(status, code, i + 1)
                    return
        copied(b, x)
        if n and k:
            # Asked for the transposed equation x' op(a)' = b', in which the triangles change names.
            trsm(
                right,
                UPPER if lower else LOWER,
                TRANS[trans],
                unit_code if unit else plain,
                k,
                n,
                t(1),
                a,
                0,
                n,
                x,
                0,
                k,
            )

    return core


def _inside_out(dtype: Any) -> Body:
    """`out = vh^H @ diag(weights) @ u^H`; u and vh are changed."""
    gemm, t = blas(dtype, "gemm", "cciiisaiaisai"), _numpy_type(dtype)

    def core(u: Any, weights: Any, vh: Any, out: Any) -> None:
        m, k = u.shape
        n = vh.shape[1]
        left = np.empty((k, m), t)
        turned(u, left)
        for q in range(k):
            for j in range(m):
                left[q, j] = np.conj(left[q, j])
            for i in range(n):
                vh[q, i] = np.conj(vh[q, i]) * weights[q]
        gemm(PLAIN, TRANS[1], m, n, k, t(1), left, 0, m, vh, 0, n, t(0), out, 0, m)

    return compiled(core)


def _make_pinv(a: Any, out: Any) -> Body:
    t, real, inside_out = _numpy_type(a.dtype), _real_type(a.dtype), _inside_out(a.dtype)

    def core(a: Any, out: Any, rcond: float, status: Any, code: int) -> None:
        m, n = a.shape
        k = min(m, n)
        if k == 0:
            return
        u, s, vh = np.empty((m, k), t), np.empty(k, real), np.empty((k, n), t)
        svd(a, u, s, vh, status, code)
        least = real(rcond) * s[0]
        for q in range(k):
            # Not `<=`, so that NaN reaches the result.
            s[q] = real(1) / s[q] if not s[q] <= least else real(0)
        inside_out(u, s, vh, out)

    return core


def _make_adjugate(a: Any, out: Any) -> Body:
    t, real, inside_out = _numpy_type(a.dtype), _real_type(a.dtype), _inside_out(a.dtype)
    far_from_singular = by_elimination(a.dtype)

    def core(a: Any, out: Any, status: Any, code: int) -> None:
        n = a.shape[0]
        if n == 0 or far_from_singular(a, out):
            return
        u, s, vh, phases, weights = (
            np.empty((n, n), t),
            np.empty(n, real),
            np.empty((n, n), t),
            np.empty((2,), t),
            np.empty(n, t),
        )
        svd(a, u, s, vh, status, code)
        det(u, view(phases, index(0), (), t))
        det(vh, view(phases, index(1), (), t))
        for q in range(n):
            weights[q] = t(phases[0] * phases[1])
            for i in range(n):
                if i != q:
                    weights[q] = t(weights[q] * s[i])
        inside_out(u, weights, vh, out)

    return core


_stacked(solve, (2, 2, 2), _make_solve)
_stacked(pinv, (2, 2), _make_pinv)
_stacked(adjugate, (2, 2), _make_adjugate)
_stacked(inv, (2, 2), _make_inv)
_stacked(det, (2, 0), _make_det)
_stacked(slogdet, (2, 0, 0), _make_slogdet)
_stacked(cholesky, (2, 2), _make_cholesky)
_stacked(qr, (2, 2, 2), _make_qr)
_stacked(eigh, (2, 1, 2), _make_eigh)
_stacked(svd, (2, 2, 1, 2), _make_svd)
_stacked(triangular_solve, (2, 2, 2), _make_triangular)
