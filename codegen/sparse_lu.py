"""Sparse systems through SciPy's SuperLU, and the factorizations that are kept.

SuperLU has no entry for other compiled code in SciPy: compiled functions call back into Python
here. A factorization is found again by the very matrix it is of, so that the adjoint of a solution
and further right-hand sides need no other; a few of the latest are kept, by their memory.
"""

from __future__ import annotations

import ctypes
import math
from collections import OrderedDict
from typing import Any

import numpy as np

from .loading import imported
from .locks import lock

Array = np.ndarray[Any, Any]

MOST, MOST_BYTES = 64, 256 * 2**20
"""How many factorizations are kept, and the most memory of all together; the latest stays in any
case."""


class Factored:
    """A factorization, and copies of what it is of."""

    def __init__(self, parts: tuple[Array, ...], lu: Any) -> None:
        self.parts, self.lu = parts, lu
        # Of each entry of the factors a number and an index.
        self.bytes = sum(p.nbytes for p in parts) + lu.nnz * (parts[0].itemsize + 4)

    def is_of(self, parts: tuple[Array, ...]) -> bool:
        return all(p is q or _same(p, q) for p, q in zip(self.parts, parts, strict=True))


def _same(p: Array, q: Array) -> bool:
    # Of few elements the bytes are compared in less time than NumPy takes to begin.
    if p.nbytes < 2**14:
        return p.shape == q.shape and p.tobytes() == q.tobytes()
    return np.array_equal(_bits(p), _bits(q))


def _bits(x: Array) -> Array:
    """The elements as bits, so that NaN is NaN and -0.0 is not 0.0."""
    return x.view(np.uint32 if x.itemsize == 4 else np.uint64) if x.dtype.kind in "fc" else x


_KEPT: OrderedDict[Any, Factored] = OrderedDict()
_KEEPING = lock()


def _key(parts: tuple[Array, ...]) -> Any:
    """What tells most matrices apart, and is read in a moment."""
    return tuple((p.dtype.char, p.shape, p[:: max(1, p.size // 16)].tobytes()) for p in parts)


def factored(parts: tuple[Array, ...]) -> Any:
    """The factors of the transposed matrix with these data, indptr and indices; None where it is
    singular."""
    key = _key(parts)
    with _KEEPING:
        found = _KEPT.get(key)
        if found is not None and found.is_of(parts):
            _KEPT.move_to_end(key)
            return found.lu
    n = len(parts[1]) - 1
    sparse, linalg = imported("scipy.sparse"), imported("scipy.sparse.linalg")
    # Copies: SciPy sums entries that stand twice in place. Compressed rows are the compressed
    # columns of the transposed matrix.
    copies = tuple(p.copy() for p in parts)
    try:
        lu = linalg.splu(sparse.csc_array(tuple(copies[k].copy() for k in (0, 2, 1)), shape=(n, n)))
    except RuntimeError:
        return None
    with _KEEPING:
        _KEPT[key] = Factored(copies, lu)
        _KEPT.move_to_end(key)
        total = sum(f.bytes for f in _KEPT.values())
        while len(_KEPT) > 1 and (total > MOST_BYTES or len(_KEPT) > MOST):
            total -= _KEPT.popitem(last=False)[1].bytes
    return lu


def solve(
    data: Array, b: Array, indptr: Array, indices: Array, places: Array, x: Array, transposed: bool
) -> bool:
    """x with `A @ x = b` (`A.T @ x = b`) for stacks of data (s, count) and right-hand sides
    (s, n, k); NaN where a matrix is singular, which is what False says."""
    fine = True
    for entries, right, out in zip(data, b, x, strict=True):
        if not out.size:
            continue
        values = entries[places] if len(places) else entries
        lu = factored((np.ascontiguousarray(values), indptr, indices))
        if lu is None:
            out[...] = np.nan
            fine = False
        else:
            out[...] = lu.solve(right, "N" if transposed else "T")
    return fine


def solve_banded(
    data: Array,
    b: Array,
    index: tuple[Array, Array, Array],
    x: Array,
    transposed: bool,
    lower: int,
    upper: int,
) -> bool:
    """The same for matrices with so many diagonals below and above the main one, by LAPACK, with
    nothing kept."""
    indptr, columns, places = index
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if transposed:
        rows, columns, lower, upper = columns, rows, upper, lower
    fine = True
    for entries, right, out in zip(data, b, x, strict=True):
        if not out.size:
            continue
        bands = np.zeros((lower + upper + 1, len(out)), data.dtype)
        values = entries[places] if len(places) else entries
        np.add.at(bands, (rows - columns + upper, columns), values)
        try:
            out[...] = imported("scipy.linalg").solve_banded(
                (lower, upper), bands, right, check_finite=False
            )
        except np.linalg.LinAlgError:
            out[...] = np.nan
            fine = False
    return fine


# --- for compiled code ----------------------------------------------------------------------------

_CALLED: dict[str, Any] = {}
"""What compiled code calls, kept alive."""


def address(name: str) -> int:
    """The address of `sparse_solve_<dtype>_<dtype of indices>`, a C function whose arguments are
    all given by address. It takes Python's lock."""
    found = _CALLED.get(name)
    if found is None:
        dtype, of_indices = (np.dtype(word) for word in name.split("_")[2:])
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 14)
        found = _CALLED[name] = kind(_entry(dtype, of_indices))
    return ctypes.cast(found, ctypes.c_void_p).value or 0


def _entry(dtype: np.dtype[Any], of_indices: np.dtype[Any]) -> Any:
    def array(at: int, kind: np.dtype[Any], *shape: int) -> Array:
        size = math.prod(shape) * kind.itemsize
        if not size:
            return np.empty(shape, kind)
        memory: Any = (ctypes.c_char * size).from_address(at)
        made: Array = np.frombuffer(memory, kind).reshape(shape)
        return made

    def called(*given: int) -> None:
        info = ctypes.c_int32.from_address(given[13])
        try:
            count, n, k, entries, nnz, placed, transposed = [
                ctypes.c_int64.from_address(at).value for at in given[:7]
            ]
            data = array(given[7], dtype, count, entries)
            b = array(given[8], dtype, count, n, k)
            indptr = array(given[9], of_indices, n + 1)
            indices = array(given[10], of_indices, nnz)
            places = array(given[11], of_indices, placed)
            x = array(given[12], dtype, count, n, k)
            fine = solve(data, b, indptr, indices, places, x, bool(transposed))
            info.value = 0 if fine else 1
        except BaseException:
            # Nothing may be raised through compiled code.
            info.value = 2

    return called


__all__ = ["address", "factored", "solve", "solve_banded"]
