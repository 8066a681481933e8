"""Matrices given by their diagonals, as Python computes with them.

A matrix `a` with so many diagonals below (`lower`) and above (`upper`) the main one is
`ab[upper + i - j, j] = a[i, j]`, as LAPACK and SciPy have it; what else is in `ab` is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .loading import imported

__all__ = ["cholesky", "cholesky_adjoint", "entries", "product", "solve"]


def _diagonals(n: int, lower: int, upper: int) -> Iterator[tuple[int, slice, slice]]:
    """Of each diagonal, from above to below: where it stands in `ab`, its rows and its columns."""
    for place in range(lower + upper + 1):
        below = place - upper
        first, last = max(0, -below), min(n, n - below)
        if first < last:
            yield place, slice(first + below, last + below), slice(first, last)


def turned(ab: Any, lower: int, upper: int) -> Any:
    """The diagonals of the transposed matrix."""
    out = np.zeros_like(ab)
    for place, rows, columns in _diagonals(ab.shape[-1], lower, upper):
        out[lower + upper - place, rows] = ab[place, columns]
    return out


def solve(ab: Any, b: Any, out: Any, lower: int, upper: int, trans: int, definite: bool) -> bool:
    """x with op(a) @ x = b for stacks of diagonals (s, lower + upper + 1, n) and right-hand sides
    (s, n, k), op being nothing, transposition or its conjugate for trans 0, 1, 2. Hermitian
    matrices that are said to be positive definite have to be. NaN where there is no solution, which
    is what False says."""
    fine = True
    for bands, right, x in zip(ab, b, out, strict=True):
        if not x.size:
            continue
        if trans:
            bands = turned(bands.conj() if trans == 2 else bands, lower, upper)
        below, above = (upper, lower) if trans else (lower, upper)
        try:
            x[...] = _solved(bands, right, below, above, definite)
        except np.linalg.LinAlgError:
            x[...] = np.nan
            fine = False
    return fine


def _solved(bands: Any, right: Any, below: int, above: int, definite: bool) -> Any:
    linalg: Any = imported("scipy.linalg")
    if definite:
        # SciPy's takes no two diagonals of a single number.
        bands = bands[: above + bands.shape[1]]
        return linalg.solveh_banded(bands[above:], right, lower=True, check_finite=False)
    if bands.shape[1] == 1:
        # Of a single equation SciPy does not look at the divisor.
        return np.linalg.solve(bands[above : above + 1], right)
    return linalg.solve_banded((below, above), bands, right, check_finite=False)


def product(ab: Any, x: Any, out: Any, lower: int, upper: int, trans: int) -> None:
    """op(a) @ x for stacks."""
    out[...] = 0
    values = ab.conj() if trans == 2 else ab
    for place, rows, columns in _diagonals(x.shape[1], lower, upper):
        to, source = (columns, rows) if trans else (rows, columns)
        out[:, to] += values[:, place, columns, None] * x[:, source]


def entries(y: Any, x: Any, out: Any, lower: int, upper: int) -> None:
    """The diagonals of y @ x.T for stacks (s, n, k), zero where there is no element."""
    out[...] = 0
    for place, rows, columns in _diagonals(x.shape[1], lower, upper):
        out[:, place, columns] = np.einsum("sik,sik->si", y[:, rows], x[:, columns])


# --- Cholesky factors -----------------------------------------------------------------------------
# Diagonals come in planes (`native.band_factors` says of what). Work goes on by columns, for all of
# a stack at once: w[plane, j, i - j, s] = a[s, i, j] for the lower triangle.


def cholesky(ab: Any, out: Any, lower: bool) -> bool:
    """The triangular factors of a stack (s, planes, k + 1, n), in the same form; zero where there
    is no element, NaN where a matrix is not positive definite, which is what False says."""
    if ab.shape[1] > 1 or not ab.size:
        w = _by_columns(ab, lower)
        failed = _factor(w)
        _by_diagonals(w, out, lower)
        out[failed] = np.nan
        return not failed.any()
    fine = True
    for (bands,), (factor,) in zip(ab, out, strict=True):
        # As many diagonals as there are elements in the outermost one.
        many = min(bands.shape)
        part = slice(many) if lower else slice(len(bands) - many, None)
        factor[...] = 0
        try:
            found = imported("scipy.linalg").cholesky_banded(
                bands[part], lower=lower, check_finite=False
            )
        except np.linalg.LinAlgError:
            factor[...] = np.nan
            fine = False
            continue
        main = 0 if lower else many - 1
        for place, _, columns in _diagonals(bands.shape[1], many - 1 - main, main):
            factor[part][place, columns] = found[place, columns]
    return fine


def cholesky_adjoint(ab: Any, ct: Any, out: Any, lower: bool) -> bool:
    """The cotangents of the diagonals for those of the factors."""
    w, found = _by_columns(ab, lower), _by_columns(ct, lower)
    failed = _factor(w)
    # Cotangents of planes come in the opposite order: what multiplies by a number with planes does
    # so again.
    found = found[::-1]
    _, n, wide, _ = w.shape
    for j in range(n - 1, -1, -1):
        end = min(wide, n - j)
        column, c = w[:, j], found[:, j]
        for p in range(1, end):
            theirs, mine = found[:, j + p, : end - p], column[:, p:end]
            c[:, p:end] -= _times(theirs, column[:, p, None])
            c[:, p] -= _times(theirs.conj(), mine).sum(1)
        c[:, 1:end] = _over(c[:, 1:end], column[:, 0, None])
        c[:, 0] = (c[:, 0] - _times(c[:, 1:end].conj(), column[:, 1:end]).sum(1)).real / 2
        c[:, 0] = _over(c[:, 0], column[:, 0])
    _by_diagonals(found[::-1], out, lower)
    out[failed] = np.nan
    return not failed.any()


def _factor(w: Any) -> Any:
    """The factors in place, and which matrices have none."""
    _, n, wide, count = w.shape
    failed = np.zeros(count, bool)
    for j in range(n):
        end = min(wide, n - j)
        pivot = w[:, j, 0].real.copy()
        failed |= pivot[0] <= 0
        pivot[0, failed] = 1
        column = w[:, j, :end]
        column[:, 0] = _root(pivot)
        column[:, 1:] = _over(column[:, 1:], column[:, 0, None])
        for p in range(1, end):
            w[:, j + p, : end - p] -= _times(column[:, p:], column[:, p, None].conj())
    return failed


def _parts(s: int) -> Iterator[int]:
    """The planes of what divides the product of plane s, from s itself to 0."""
    part = s
    while part:
        yield part
        part = (part - 1) & s
    yield 0


def _times(x: Any, y: Any) -> Any:
    """Products of numbers with planes."""
    if len(x) == 1:
        return x * y
    return np.stack([sum(x[t] * y[s ^ t] for t in _parts(s)) for s in range(len(x))])


def _over(x: Any, y: Any) -> Any:
    """Quotients of numbers with planes."""
    out: list[Any] = []
    for s in range(len(x)):
        out.append((x[s] - sum(out[s ^ t] * y[t] for t in _parts(s) if t)) / y[0])
    return np.stack(out)


def _root(x: Any) -> Any:
    out = [np.sqrt(x[0])]
    for s in range(1, len(x)):
        mixed = sum(out[t] * out[s ^ t] for t in _parts(s) if 0 < t < s)
        out.append((x[s] - mixed) / (2 * out[0]))
    return np.stack(out)


def _by_columns(ab: Any, lower: bool) -> Any:
    count, planes, wide, n = ab.shape
    w = np.zeros((planes, n, wide, count), ab.dtype)
    for d in range(min(wide, n)):
        rows = ab[:, :, d, : n - d] if lower else ab[:, :, wide - 1 - d, d:].conj()
        w[:, : n - d, d] = rows.transpose(1, 2, 0)
    return w


def _by_diagonals(w: Any, out: Any, lower: bool) -> None:
    _, n, wide, _ = w.shape
    out[...] = 0
    for d in range(min(wide, n)):
        rows = w[:, : n - d, d].transpose(2, 0, 1)
        if lower:
            out[:, :, d, : n - d] = rows
        else:
            out[:, :, wide - 1 - d, d:] = rows.conj()
