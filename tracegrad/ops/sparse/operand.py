"""The sparse array of traced functions: values that may be traced, at places that are fixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ...dtypes import kind_of, promote
from ...errors import ConcretizationError, ShapeError, UnsupportedFunctionError
from ...ir.dispatch import Value
from ...ir.lines import user_line
from ...sizes import same
from ...types import show
from ..arrays.creation import zeros
from ..arrays.shape import reshape
from ..define import as_array, ndim_of, of_list, shape_of
from ..elementwise import arithmetic, derived
from ..elementwise.derived import add, conj, convert, mul
from ..elementwise.elementary import abs as abs_
from ..places.indexing import getitem, index_add_at
from ..totals.reductions import sum as sum_
from . import products
from .pattern import (
    Array,
    Pattern,
    SparseFormat,
    csr,
    in_order,
    is_scipy,
    layout,
    layout_of,
    meetings,
    shared,
    union,
)  # fmt: skip

LARGEST = 2**30
"""Bytes above which no dense array is made of a sparse one."""
NUMBERS = (int, float, complex, np.number)


def as_sparse(x: Any) -> SparseArray:
    """A sparse array of SciPy's as ours, if its format (looked at first) has data; ours as is."""
    return x if isinstance(x, SparseArray) else SparseArray(layout=layout_of(x), data=x.data)


def is_sparse(x: Any) -> bool:
    return isinstance(x, SparseArray) or is_scipy(x)


def _at(x: Any, places: Array) -> Any:
    """The elements of a vector at places that are known to be inside."""
    return getitem(x, places)


class SparseArray:
    """A sparse matrix whose values may be traced or differentiated, at places that are fixed: what
    `scipy.sparse` arrays are inside of traced and differentiated functions, and what
    `tg.sparse.array` makes. Formats csr, csc, coo, dia and bsr; the data is that of SciPy.

    `A @ x`, `x @ A`, `A.T`, `A * w`, `A / w`, `A + B`, `A - B`, `-A`, `abs(A)`, `sum`, `mean`,
    `diagonal`, `trace`, `toarray`, `conj`, `astype`, `tocsr`, `tocsc`, `tocoo`; `data`, `indices`,
    `indptr`, `shape`, `nnz`, `format`. What SciPy calls a matrix (`csr_matrix`) multiplies by `*`
    as it does there: a product of matrices.

    >>> import numpy as np
    >>> import scipy.sparse
    >>> import tracegrad as tg
    >>> A = scipy.sparse.csr_array(np.array([[2.0, 0.0], [1.0, 3.0]]))
    >>> tg.grad(lambda A, x: np.sum((A @ x) ** 2))(A, np.array([1.0, 1.0])).toarray()
    array([[4., 0.],
           [8., 8.]])
    """

    __slots__ = ("data", "layout")
    __array_ufunc__ = None
    __array_priority__ = 2000.0
    __hash__ = None  # type: ignore[assignment]
    ndim = 2

    def __init__(self, data: Any, layout: SparseFormat) -> None:
        self.data, self.layout = data, layout

    # --- what it is -------------------------------------------------------------------------------

    shape = property(lambda self: self.layout.shape)
    format = property(lambda self: self.layout.format)
    nnz = property(lambda self: self.layout.pattern.nnz)
    dtype = property(lambda self: self.data.dtype)
    size = nnz
    indices = property(lambda self: self._index("csr", "csc", "bsr", at=0))
    indptr = property(lambda self: self._index("csr", "csc", "bsr", at=1))
    offsets = property(lambda self: self._index("dia", at=0))
    row = property(lambda self: self._index("coo", at=0))
    col = property(lambda self: self._index("coo", at=1))
    coords = property(lambda self: (self.row, self.col))

    def _index(self, *formats: str, at: int) -> Array:
        if self.format not in formats:
            raise AttributeError(
                f"a sparse array of format {self.format} has no such indices; tocsr() has indices "
                "and indptr, tocoo() row and col"
            )
        return self.layout.index[at]

    def __str__(self) -> str:
        # SciPy's constructors show what they cannot take, and hide why.
        return f"{self!r} of tracegrad (see tg.sparse.solve(A, b), tg.sparse.array, A.toarray())"

    def __repr__(self) -> str:
        m, n = self.shape
        kind = "matrix" if self.layout.matrix else "array"
        dtype = getattr(self.data, "dtype", "no")
        return f"<sparse {kind} {m}x{n}, {self.format}, {self.nnz} entries of dtype {dtype}>"

    @property
    def _pattern(self) -> Pattern:
        return self.layout.pattern

    @property
    def _flat(self) -> Any:
        return self.data if ndim_of(self.data) == 1 else reshape(self.data, (-1,))

    def _as(self, data: Any) -> SparseArray:
        return SparseArray(data, self.layout)

    # --- formats ----------------------------------------------------------------------------------

    def tocsr(self) -> SparseArray:
        """The same by rows; entries that stand twice stay two."""
        if self.format == "csr":
            return self
        pattern = self._pattern
        data = _at(self._flat, pattern.places) if len(pattern.places) else self._flat
        if not len(pattern.places) and pattern.nnz < pattern.count:
            data = _at(data, np.arange(pattern.nnz))
        return SparseArray(data, csr(in_order(pattern), self.layout.matrix))

    def tocsc(self) -> SparseArray:
        """The same by columns."""
        return self if self.format == "csc" else self.T.tocsr().T

    def tocoo(self) -> SparseArray:
        """The same by entries."""
        by_row = self if self.format in ("csr", "csc", "coo") else self.tocsr()
        rows, columns = by_row.layout.places
        here = by_row.layout
        made = layout("coo", here.matrix, here.shape, here.of_data, rows, columns)
        return SparseArray(by_row.data, made)

    def sum_duplicates(self) -> SparseArray:
        """The same with one entry for each place, by rows and in order of columns."""
        rows, columns = self.tocsr().layout.places
        pattern, at = union(self.shape, [(rows, columns)])
        data = self.tocsr().data
        if pattern.nnz == len(rows) and np.array_equal(at[0], np.arange(len(rows))):
            return self.tocsr()
        total = index_add_at(zeros(pattern.nnz, data.dtype), at[0], data)
        return SparseArray(total, csr(pattern, self.layout.matrix))

    def toarray(self) -> Any:
        """The dense array of shape (m, n). One of more than 1 GiB is refused (MemoryError)."""
        self._affordable()
        return self._onto(zeros(self.shape, self.dtype))

    todense = toarray

    def _affordable(self) -> None:
        m, n = self.shape
        size = m * n * np.dtype(self.dtype).itemsize
        if size > LARGEST:
            raise MemoryError(
                f"{user_line()}: a dense array of a sparse one of shape {self.shape} and dtype "
                f"{self.dtype} takes {size:,} bytes, for {self.nnz:,} entries. Keep it sparse: "
                "A @ x, A.sum(axis), A * w, A.diagonal(), tg.sparse.solve(A, b)"
            )

    def _onto(self, dense: Any) -> Any:
        """A dense array with the entries added."""
        entries = self.tocsr()
        return index_add_at(dense, entries.layout.places, entries.data)

    @property
    def T(self) -> SparseArray:
        """The transposed matrix, of the same data."""
        if self.format in ("csr", "csc", "coo"):
            return SparseArray(self.data, self.layout.turned())
        return self.tocsr().T

    def transpose(self, axes: Any = None, copy: bool = False) -> SparseArray:
        if axes not in (None, (1, 0)):
            raise ValueError("a sparse array is transposed by exchanging its two axes only")
        return self.T

    # --- values -----------------------------------------------------------------------------------

    def astype(self, dtype: Any, **_: Any) -> SparseArray:
        return self._as(convert(self.data, np.dtype(dtype)))

    def copy(self) -> SparseArray:
        return self._as(self.data)

    def conj(self) -> SparseArray:
        return self._as(conj(self.data))

    conjugate = conj
    H = property(lambda self: self.conj().T)
    real = property(lambda self: self._as(derived.real(self.data)))
    imag = property(lambda self: self._as(arithmetic.imag(self.data)))

    def __neg__(self) -> SparseArray:
        return self._as(arithmetic.neg(self.data))

    def __abs__(self) -> SparseArray:
        return (single := self.sum_duplicates())._as(abs_(single.data))

    # --- products ---------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _sparse_product(self, as_sparse(other))
        right = _dense(other)
        if right is None:
            return NotImplemented
        if ndim_of(right) not in (1, 2):
            raise ShapeError(
                f"a sparse matrix of shape {self.shape} times an array of shape "
                f"{show(shape_of(right))}: it must be a vector or a matrix"
            )
        if not same(shape_of(right)[0], self.shape[1]):
            raise ShapeError(
                f"matmul: a sparse matrix of shape {self.shape} and an array of shape "
                f"{show(shape_of(right))} do not fit: the matrix has {self.shape[1]} columns, and "
                f"the first axis of the array has {shape_of(right)[0]}"
            )
        data = self._flat
        dtype = promote(kind_of(data), kind_of(right))
        data, right = convert(data, dtype), convert(right, dtype)
        return products.product(data, right, self._pattern.operands)

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _sparse_product(as_sparse(other), self)
        left = _dense(other)
        if left is None:
            return NotImplemented
        if ndim_of(left) not in (1, 2):
            raise ShapeError(
                f"an array of shape {show(shape_of(left))} times a sparse matrix of shape "
                f"{self.shape}: it must be a vector or a matrix"
            )
        if not same(shape_of(left)[-1], self.shape[0]):
            raise ShapeError(
                f"matmul: an array of shape {show(shape_of(left))} and a sparse matrix of shape "
                f"{self.shape} do not fit: the last axis of the array has {shape_of(left)[-1]}, "
                f"and the matrix has {self.shape[0]} rows"
            )
        if ndim_of(left) == 1:
            return self.T @ left
        return (self.T @ left.T).T

    def dot(self, other: Any) -> Any:
        return self * other if isinstance(other, NUMBERS) else self @ other

    # --- elementwise ------------------------------------------------------------------------------

    def multiply(self, other: Any) -> Any:
        """The product element by element with a number, an array that is broadcast to the shape of
        this one, or a sparse array."""
        return _scaled(self, other, derived.mul)

    def __mul__(self, other: Any) -> Any:
        if self.layout.matrix and not _is_number(other):
            return self @ other
        return _scaled(self, other, derived.mul)

    def __rmul__(self, other: Any) -> Any:
        if self.layout.matrix and not _is_number(other):
            return self.__rmatmul__(other)
        return _scaled(self, other, derived.mul)

    def __truediv__(self, other: Any) -> Any:
        if is_sparse(other):
            raise self._unknown("A / B of two sparse arrays")
        return _scaled(self, other, arithmetic.div)

    def __rtruediv__(self, other: Any) -> Any:
        raise self._unknown("x / A")

    def __add__(self, other: Any) -> Any:
        return _added(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _added(self, -as_sparse(other) if is_sparse(other) else _negated(other))

    def __rsub__(self, other: Any) -> Any:
        return _added(-self, other)

    # --- totals -----------------------------------------------------------------------------------

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The sum of all elements, or along an axis; of what SciPy calls a matrix with two axes."""
        if out is not None:
            raise self._unknown("sum(out=)")
        given = self if dtype is None else self.astype(dtype)
        if given.dtype.kind == "b":
            given = given.astype(int)
        if axis is None or axis in ((0, 1), (1, 0), (0, -1)):
            return sum_(given.tocsr().data)
        if axis not in (0, 1, -1, -2):
            raise ValueError(f"a sparse array has the axes 0 and 1, not {axis!r}")
        across = given if axis in (1, -1) else given.T
        total = across @ np.ones(across.shape[1], given.dtype)
        if not self.layout.matrix:
            return total
        return reshape(total, (-1, 1) if axis in (1, -1) else (1, -1))

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        m, n = self.shape
        count = {None: m * n, 0: m, -2: m, 1: n, -1: n}.get(axis, m * n)
        return arithmetic.div(self.sum(axis, dtype, out), count)

    def diagonal(self, k: int = 0) -> Any:
        """The elements `A[i, i + k]` as a vector."""
        m, n = self.shape
        if not -m < k < n and k:
            raise ValueError(f"a sparse array of shape {self.shape} has no diagonal {k}")
        entries = self.tocsr()
        rows, columns = entries.layout.places
        at = np.flatnonzero(columns.astype(np.int64) - rows == k)
        length = max(0, min(m + min(k, 0), n - max(k, 0)))
        where = (rows if k >= 0 else columns)[at]
        return index_add_at(zeros(length, self.dtype), where, _at(entries.data, at))

    def trace(self, offset: int = 0) -> Any:
        return sum_(self.diagonal(offset))

    # --- what is refused --------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise ConcretizationError(
            f"{user_line()}: {self!r} is asked to become a dense array. Write A.toarray() for "
            "that, tg.sparse.solve(A, b) in place of scipy.sparse.linalg.spsolve(A, b)"
        )

    def __getitem__(self, key: Any) -> NoReturn:
        raise self._unknown("A[...]")

    def __iter__(self) -> NoReturn:
        raise self._unknown("iteration over rows")

    def __bool__(self) -> bool:
        raise ValueError("the truth value of a sparse array is ambiguous; look at A.nnz")

    def __eq__(self, other: object) -> Any:
        raise self._unknown("a comparison")

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") or name in SparseArray.__slots__:
            raise AttributeError(name)
        raise AttributeError(f"{self._unknown(f'A.{name}')}")

    def _unknown(self, what: str) -> UnsupportedFunctionError:
        return UnsupportedFunctionError(
            f"{user_line()}: {what} is not supported for sparse arrays whose values may be traced. "
            f"{INSTEAD}"
        )


INSTEAD = (
    "Supported are A @ x, x @ A, A.T, A * w, A / w, A + B, A.sum(axis), A.diagonal(), A.toarray() "
    "and tg.sparse.solve(A, b); other arrays of the same places are made of A.data by "
    "tg.sparse.array((data, A.indices, A.indptr), A.shape)"
)


def _is_number(x: Any) -> bool:
    return not is_sparse(x) and shape_of(x) == () and not isinstance(x, (list, tuple))


def _dense(x: Any) -> Any:
    """An operand that is no sparse array, None where it is no array at all."""
    if isinstance(x, (Value, np.ndarray, list, tuple)) and not isinstance(x, np.matrix):
        return as_array(x)
    if isinstance(x, NUMBERS) or shape_of(x) == ():
        if isinstance(x, (*NUMBERS, bool, np.bool_, Value)):
            raise ShapeError("matmul: a number has no axis to sum over; use A * x")
    return None


def _negated(x: Any) -> Any:
    return arithmetic.neg(x) if isinstance(x, (Value, np.ndarray, *NUMBERS)) else x


def _sparse_product(a: SparseArray, b: SparseArray) -> Any:
    """The product of two sparse matrices: its places from theirs, once, and each of its values as
    the sum of what meets there."""
    if a.shape[1] != b.shape[0]:
        raise ShapeError(
            f"matmul: sparse matrices of shapes {a.shape} and {b.shape} do not fit: the first has "
            f"{a.shape[1]} columns, the second {b.shape[0]} rows"
        )
    a, b = a.tocsr(), b.tocsr()
    p, q = a._pattern, b._pattern
    total = int(np.diff(q.indptr)[p.indices].sum(dtype=np.int64))
    if total * 24 > LARGEST:
        raise MemoryError(
            f"{user_line()}: the product of sparse matrices of shapes {a.shape} and {b.shape} "
            f"takes {total:,} multiplications, whose places take {24 * total:,} bytes. Apply them "
            "one after the other: A @ (B @ x)"
        )
    left, right = meetings(p, q)
    pattern, at = union((a.shape[0], b.shape[1]), [(p.rows[left], q.indices[right])])
    terms = mul(_at(a.data, left), _at(b.data, right))
    data = index_add_at(zeros(pattern.nnz, terms.dtype), at[0], terms)
    return SparseArray(data, csr(pattern, a.layout.matrix or b.layout.matrix))


def _added(a: SparseArray, other: Any) -> Any:
    if not is_sparse(other):
        if isinstance(other, (int, float)) and not isinstance(other, bool) and other == 0:
            return a
        right = other if isinstance(other, (Value, np.ndarray)) else None
        if right is None or shape_of(right) == ():
            if _is_number(other) and isinstance(other, (*NUMBERS, Value, np.ndarray)):
                raise UnsupportedFunctionError(
                    f"{user_line()}: a number added to a sparse array is a dense array. Write "
                    "A.toarray() + c, or add it to A.data: "
                    "tg.sparse.array((A.data + c, A.indices, A.indptr), A.shape)"
                )
            return NotImplemented
        a._affordable()
        dtype = promote(kind_of(a.data), kind_of(right))
        dense = add(convert(right, dtype), zeros(a.shape, dtype))
        return a.astype(dtype)._onto(dense)
    b = as_sparse(other)
    if a.shape != b.shape:
        raise ShapeError(f"sparse arrays of shapes {a.shape} and {b.shape} cannot be added")
    if a.layout is b.layout:
        return a._as(add(a.data, b.data))
    x, y = a.tocsr(), b.tocsr()
    pattern, (at_x, at_y) = union(a.shape, [x.layout.places, y.layout.places])
    dtype = promote(kind_of(x.data), kind_of(y.data))
    total = index_add_at(zeros(pattern.nnz, dtype), at_x, convert(x.data, dtype))
    total = index_add_at(total, at_y, convert(y.data, dtype))
    return SparseArray(total, csr(pattern, a.layout.matrix and b.layout.matrix))


def _scaled(a: SparseArray, other: Any, function: Callable[[Any, Any], Any]) -> Any:
    """`a * w` (or `a / w`) at the entries of a, for what is broadcast to its shape."""
    if is_sparse(other):
        return _met(a, as_sparse(other))
    if not isinstance(other, (*NUMBERS, bool, np.bool_, Value, np.ndarray, list, tuple)):
        return NotImplemented
    w = of_list(other)
    shape = shape_of(w)
    if shape == ():
        return a._as(function(a.data, w))
    shape = (1,) * (2 - len(shape)) + tuple(shape)
    if len(shape) > 2 or not all(
        same(s, 1) or same(s, n) for s, n in zip(shape, a.shape, strict=True)
    ):
        raise ShapeError(
            f"an array of shape {show(shape_of(w))} is not broadcast to a sparse array of shape "
            f"{a.shape}: a row (n,), a column (m, 1) or (m, n)"
        )
    if a.format not in ("csr", "csc", "coo"):
        a = a.tocsr()
    rows, columns = a.layout.places
    # An axis of size 1 that the array has many of is named first: (1, 1) is a number.
    along = [not same(s, 1) for s in shape]
    if along == [False, False]:
        return a._as(function(a.data, reshape(w, ())))
    if along == [True, True]:
        return a._as(function(a.data, getitem(w, (rows, columns))))
    return a._as(function(a.data, _at(reshape(w, (-1,)), rows if along[0] else columns)))


def _met(a: SparseArray, b: SparseArray) -> SparseArray:
    """The product element by element of two sparse arrays, at the places that both have."""
    if a.shape != b.shape:
        raise ShapeError(
            f"sparse arrays of shapes {a.shape} and {b.shape} cannot be multiplied element by "
            "element"
        )
    x, y = a.sum_duplicates(), b.sum_duplicates()
    if x.layout is y.layout:
        return x._as(mul(x.data, y.data))
    kept, of_x, of_y = shared(a.shape, x.layout.places, y.layout.places)
    data = mul(_at(x.data, of_x), _at(y.data, of_y))
    return SparseArray(data, csr(kept, a.layout.matrix))


__all__ = ["SparseArray", "as_sparse", "is_scipy", "is_sparse"]
