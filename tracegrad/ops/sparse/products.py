"""Products with sparse matrices and systems of them: the primitives, with their rules.

A matrix is its data and six arrays of integers (`Pattern.operands`): its own rows, then those of
the transposed matrix of the same data. Each rule is another of these operations, with the two
halves exchanged where the matrix is transposed; so none of them scatters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._codegen import integers, sparse_lu
from ..._codegen import lowering as lower
from ...errors import DTypeError, ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import same
from ...types import ArrayType, Int, show
from ..arrays.shape import broadcast_to, expand_dims, moveaxis, reshape
from ..define import ndim_of, shape_of
from ..elementwise.arithmetic import neg
from ..elementwise.derived import add, conj
from ..matrices.stacks import SINGULAR, routine
from ..places.indexing import getitem
from .pattern import Pattern

INDICES = ("indptr", "indices", "places", "t_indptr", "t_indices", "t_places")
Values = Sequence[Any]


def _turned(index: Values) -> list[Any]:
    """The index arrays of the transposed matrix."""
    return [*index[3:], *index[:3]]


def _check_index(name: str, dtype: Any, index: Values) -> None:
    if dtype.kind not in "iufc":
        raise DTypeError(f"{name}: needs numbers, not {dtype}; convert with .astype(float)")
    if any(i.type.dtype.name not in ("int32", "int64") or i.type.ndim != 1 for i in index):
        raise DTypeError(f"{name}: the indices of a pattern are vectors of integers")


def _unbatched(axes: Sequence[int | None]) -> None:
    if any(a is not None for a in axes[2:]):
        raise ShapeError("vmap over the pattern of a sparse array: map over its data")


def _sizes(index: Values) -> tuple[Int, Int]:
    return index[0].type.shape[0] - 1, index[3].type.shape[0] - 1


def _share(inputs: Values, matrix: Any, whole: bool) -> tuple[Int, Int]:
    """Parts of some 500 rows, one if they must stay `whole`; the work for a vector, or for each
    column of a matrix or stack of them."""
    shape = matrix.shape[1:] if matrix.ndim < 3 else matrix.shape[::2]
    work = integers.product((4, inputs[3].shape[0], *shape))
    rows = inputs[2].shape[0] - 1
    return 1 if whole else integers.maximum(1, integers.floordiv(rows + 511, 512)), work


# --- products -------------------------------------------------------------------------------------


def _product_infer(data: Any, x: Any, *index: Any) -> Types:
    _check_index("sparse_product", data.type.dtype, index)
    a, b = data.type, x.type
    rows, columns = _sizes(index)
    if a.dtype != b.dtype:
        raise DTypeError(f"sparse_product: operands of one dtype, not {a.dtype} and {b.dtype}")
    if (a.ndim, b.ndim) not in ((1, 1), (1, 2), (2, 3)) or not same(b.shape[b.ndim == 3], columns):
        raise ShapeError(
            f"a sparse matrix of shape {show((rows, columns))} times an array of shape "
            f"{show(b.shape)}: it must have {columns} rows"
        )
    shape = (*b.shape[:1], rows, *b.shape[2:]) if b.ndim == 3 else (rows, *b.shape[1:])
    return (ArrayType(b.dtype, shape),)


def _plain(data: Any, index: Values) -> Any:
    """SciPy's array of one matrix."""
    indptr, indices, places, columns = *index[:3], len(index[3]) - 1
    from scipy import sparse  # costs more to load than most programs need

    values = data[places] if len(places) else data
    return sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, columns))


def _product_evaluate(data: Any, x: Any, *index: Any) -> Any:
    if x.ndim < 3:
        return _plain(data, index) @ x
    shape = (len(x), len(index[0]) - 1, x.shape[2])
    out = np.empty(shape, x.dtype)
    for k in range(len(x)):
        out[k] = _plain(data[k], index) @ x[k]
    return out


def _product_vjp(cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool]) -> list[Any]:
    data, x, index = inputs[0], inputs[1], inputs[2:]
    return [
        entries(cts[0], conj(x), index, shape_of(data)[-1]) if wanted[0] else None,
        product(conj(data), cts[0], _turned(index)) if wanted[1] else None,
        *[None] * 6,
    ]


def _product_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    index = inputs[2:]
    terms = [] if tangents[0] is None else [product(tangents[0], inputs[1], index)]
    terms += [] if tangents[1] is None else [product(inputs[0], tangents[1], index)]
    return [terms[0] if len(terms) == 1 else add(*terms)]


def _columns(x: Any, axis: int) -> Any:
    """A batch of vectors or matrices as one matrix with as many more columns, the batch before the
    columns."""
    moved = moveaxis(x, axis, 1)
    if ndim_of(moved) < 3:
        return moved
    n, size, k = shape_of(moved)
    return reshape(moved, (n, size * k))  # -1 is not known where there are no rows


def _stacked(x: Any, axis: int | None, size: Int, ndim: int) -> Any:
    """A batch with its axis in front, repeated where there is none; vectors as matrices of one
    column where `ndim` says so."""
    x = broadcast_to(x, (size, *shape_of(x))) if axis is None else moveaxis(x, axis, 0)
    return expand_dims(x, -1) if ndim_of(x) < ndim else x


def _product_batch(
    values: Values, axes: Sequence[int | None], size: Int
) -> tuple[list[Any], list[int]]:
    _unbatched(axes)
    data, x, index = values[0], values[1], values[2:]
    rank = ndim_of(x) - (axes[1] is not None)
    if axes[0] is None and rank < 3:
        # More columns of one product.
        out = product(data, _columns(x, axes[1] or 0), index)
        if rank == 1:
            return [out], [1]
        k = shape_of(moveaxis(x, axes[1] or 0, 1))[2]
        return [reshape(out, (shape_of(out)[0], size, k))], [1]
    if rank < 3:
        out = product(_stacked(data, axes[0], size, 2), _stacked(x, axes[1], size, 3), index)
        return [reshape(out, shape_of(out)[:2]) if rank == 1 else out], [0]
    data, x = _stacked(data, axes[0], size, 3), _stacked(x, axes[1], size, 4)
    _, inside, n, k = shape_of(x)
    out = product(
        reshape(data, (size * inside, shape_of(data)[2])), reshape(x, (size * inside, n, k)), index
    )
    return [reshape(out, (size, inside, shape_of(out)[1], k))], [0]


product_op: Op = op(
    "sparse_product",
    ("data", "x", *INDICES),
    evaluate=_product_evaluate,
    infer=_product_infer,
    vjp=_product_vjp,
    jvp=_product_jvp,
    batch=_product_batch,
    lowering=lower.Library(
        lambda inputs, outputs, params: ("sparse_product", ()),
        # Where the data lie in the order of the transposed matrix, it adds where they belong.
        share=lambda inputs, outputs: _share(
            inputs, outputs[0], same(inputs[7].shape[0], 0) and not same(inputs[4].shape[0], 0)
        ),
    ),
    flops=lambda inputs, outs: 2 * inputs[3][0] * (outs[0][-1] if len(outs[0]) > 1 else 1),
    doc="Product of a sparse matrix and a vector or a matrix, or of a stack of each.",
)


def product(data: Any, x: Any, index: Values) -> Any:
    """The product of the matrix with these data and index arrays, and x of the same dtype."""
    return bind(product_op, [data, x, *index])


# --- the entries of outer products ----------------------------------------------------------------


def _entries_infer(y: Any, x: Any, *index: Any, count: Int) -> Types:
    _check_index("sparse_entries", y.type.dtype, index)
    rows, columns = _sizes(index)
    a, b = y.type, x.type
    lead = a.ndim == 3
    if (
        a.dtype != b.dtype
        or a.ndim != b.ndim
        or not 1 <= a.ndim <= 3
        or not (same(a.shape[lead], rows) and same(b.shape[lead], columns))
    ):
        raise ShapeError(
            f"sparse_entries: arrays {a} and {b} do not fit a pattern of shape "
            f"{show((rows, columns))}"
        )
    return (ArrayType(a.dtype, (*a.shape[:lead], count)),)


def _entries_evaluate(y: Any, x: Any, *index: Any, count: int) -> Any:
    indptr, indices, places = index[:3]
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if y.ndim == 1:
        values = y[rows] * x[indices]
    else:
        values = np.einsum("...pk,...pk->...p", y[..., rows, :], x[..., indices, :])
    if not len(places) and len(indices) == count:
        return values
    out = np.zeros((*values.shape[:-1], count), values.dtype)
    out[..., places] = values
    return out


def _entries_vjp(
    cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool], *, count: Int
) -> list[Any]:
    y, x, index = inputs[0], inputs[1], inputs[2:]
    return [
        product(cts[0], conj(x), index) if wanted[0] else None,
        product(cts[0], conj(y), _turned(index)) if wanted[1] else None,
        *[None] * 6,
    ]


def _entries_jvp(tangents: Values, inputs: Values, outs: Values, *, count: Int) -> list[Any]:
    y, x, index = inputs[0], inputs[1], inputs[2:]
    terms = [] if tangents[0] is None else [entries(tangents[0], x, index, count)]
    terms += [] if tangents[1] is None else [entries(y, tangents[1], index, count)]
    return [terms[0] if len(terms) == 1 else add(*terms)]


def _entries_batch(
    values: Values, axes: Sequence[int | None], size: Int, *, count: Int
) -> tuple[list[Any], list[int]]:
    _unbatched(axes)
    index = values[2:]
    rank = ndim_of(values[0]) - (axes[0] is not None)
    y, x = (_stacked(v, a, size, 3) for v, a in zip(values[:2], axes[:2], strict=True))
    if rank < 3:
        return [entries(y, x, index, count)], [0]
    inside = shape_of(y)[1]
    y, x = (reshape(v, (size * inside, *shape_of(v)[2:])) for v in (y, x))
    return [reshape(entries(y, x, index, count), (size, inside, count))], [0]


entries_op: Op = op(
    "sparse_entries",
    ("y", "x", *INDICES),
    evaluate=_entries_evaluate,
    infer=_entries_infer,
    vjp=_entries_vjp,
    jvp=_entries_jvp,
    batch=_entries_batch,
    lowering=lower.Library(
        lambda inputs, outputs, params: ("sparse_entries", ()),
        # Zeros go where there is no entry before all else.
        share=lambda inputs, outputs: _share(
            inputs, inputs[0], not same(outputs[0].shape[-1], inputs[3].shape[0])
        ),
    ),
    doc="The products y[i] @ x[j] at the entries (i, j) of a sparse matrix, as its data.",
)


def entries(y: Any, x: Any, index: Values, count: Int) -> Any:
    """`y[i] * x[j]`, summed over the columns of matrices, at the entries of a pattern."""
    placed, t_placed = shape_of(index[2])[0], shape_of(index[5])[0]
    if not same(placed, 0) and same(t_placed, 0) and same(shape_of(index[4])[0], count):
        # Which way round the data lie in order, they are written in order.
        return bind(entries_op, [x, y, *_turned(index)], {"count": count})
    return bind(entries_op, [y, x, *index], {"count": count})


# --- systems --------------------------------------------------------------------------------------


def _solve_infer(data: Any, b: Any, *index: Any, transposed: bool, **of: int) -> Types:
    _check_index("sparse_solve", data.type.dtype, index)
    rows, columns = _sizes(index)
    kind, right = data.type, b.type
    if kind.dtype.kind not in "fc":
        raise DTypeError(f"sparse.solve: needs real or complex numbers, not {kind.dtype}")
    if (
        not same(rows, columns)
        or kind.ndim != 2
        or right.ndim != 3
        or not (same(right.shape[0], kind.shape[0]) and same(right.shape[1], rows))
        or right.dtype != kind.dtype
    ):
        raise ShapeError(
            f"sparse.solve: data {kind} and right-hand sides {right} do not fit a square matrix of "
            f"shape {show((rows, columns))}"
        )
    return (right,)


def _solve_evaluate(data: Any, b: Any, *index: Any, transposed: bool) -> Any:
    out = np.empty(b.shape, b.dtype)
    if not sparse_lu.solve(data, b, index[0], index[1], index[2], out, transposed):
        raise np.linalg.LinAlgError(SINGULAR)
    return out


def _solve_vjp(
    cts: Values,
    inputs: Values,
    outs: Values,
    wanted: Sequence[bool],
    *,
    transposed: bool,
    **of: int,
) -> list[Any]:
    data, index = inputs[0], inputs[2:]
    # conj(A.T) w = ct, by the factors of A itself.
    ct_b = conj(solve_stack(data, conj(cts[0]), index, not transposed, **of))
    of_data = None
    if wanted[0]:
        x = conj(outs[0])
        pair = (x, ct_b) if transposed else (ct_b, x)
        of_data = neg(entries(*pair, index, shape_of(data)[-1]))
    return [of_data, ct_b if wanted[1] else None, *[None] * 6]


def _solve_jvp(
    tangents: Values, inputs: Values, outs: Values, *, transposed: bool, **of: int
) -> list[Any]:
    index, right = inputs[2:], tangents[1]
    if tangents[0] is not None:
        change = neg(product(tangents[0], outs[0], _turned(index) if transposed else index))
        right = change if right is None else add(right, change)
    return [solve_stack(inputs[0], right, index, transposed, **of)]


def _solve_batch(
    values: Values, axes: Sequence[int | None], size: Int, *, transposed: bool, **of: int
) -> tuple[list[Any], list[int]]:
    _unbatched(axes)
    index = values[2:]
    if axes[0] is None:
        # One matrix for all: more right-hand sides.
        right = moveaxis(values[1], axes[1] or 0, 2)
        b, n, _, k = shape_of(right)
        out = solve_stack(values[0], reshape(right, (b, n, size * k)), index, transposed, **of)
        return [reshape(out, (b, n, size, k))], [2]
    data, b = _stacked(values[0], axes[0], size, 3), _stacked(values[1], axes[1], size, 4)
    inside = shape_of(data)[1]
    data, b = (reshape(v, (size * inside, *shape_of(v)[2:])) for v in (data, b))
    out = solve_stack(data, b, index, transposed, **of)
    return [reshape(out, (size, inside, *shape_of(out)[1:]))], [0]


solve_op: Op = op(
    "sparse_solve",
    ("data", "b", *INDICES),
    evaluate=_solve_evaluate,
    infer=_solve_infer,
    vjp=_solve_vjp,
    types_only=("b",),
    jvp=_solve_jvp,
    batch=_solve_batch,
    lowering=routine("sparse_solve", "transposed", failure=SINGULAR),
    doc="x with A @ x = b (transposed: A.T) for stacks of matrices of one pattern, by SuperLU.",
)


def _banded_evaluate(
    data: Any, b: Any, *index: Any, transposed: bool, lower: int, upper: int
) -> Any:
    out = np.empty(b.shape, b.dtype)
    if not sparse_lu.solve_banded(data, b, index[:3], out, transposed, lower, upper):
        raise np.linalg.LinAlgError(SINGULAR)
    return out


banded_op: Op = op(
    "banded_solve",
    ("data", "b", *INDICES),
    evaluate=_banded_evaluate,
    infer=_solve_infer,
    vjp=_solve_vjp,
    types_only=("b",),
    jvp=_solve_jvp,
    batch=_solve_batch,
    lowering=routine("banded_solve", "transposed", "lower", "upper", failure=SINGULAR),
    doc="The same for matrices with so many diagonals below and above the main one, by LAPACK.",
)


def solve_stack(data: Any, b: Any, index: Values, transposed: bool = False, **band: int) -> Any:
    """x with `A @ x = b` (or `A.T @ x = b`) for stacks of data (s, count) and (s, n, k); `band`:
    how many diagonals there are, where these are few."""
    chosen = banded_op if band else solve_op
    return bind(chosen, [data, b, *index], {"transposed": transposed, **band})


def solve(data: Any, b: Any, pattern: Pattern, transposed: bool = False) -> Any:
    """The solution for one matrix and a vector or a matrix of right-hand sides, of one dtype."""
    shape, band = shape_of(b), pattern.band
    if band is None:
        right = reshape(b, (1, shape[0], 1 if len(shape) == 1 else shape[1]))
        out = solve_stack(reshape(data, (1, -1)), right, pattern.operands, transposed)
        return reshape(out, shape)
    if band.order is not None:
        b = getitem(b, band.order)
    right = reshape(b, (1, shape[0], 1 if len(shape) == 1 else shape[1]))
    params = {"transposed": transposed, "lower": band.lower, "upper": band.upper}
    operands = [reshape(data, (1, -1)), right, *band.pattern.operands]
    out = reshape(bind(banded_op, operands, params), shape)
    return out if band.order is None else getitem(out, _inverse(band.order))


def _inverse(order: Any) -> Any:
    found = np.empty_like(order)
    found[order] = np.arange(len(order), dtype=order.dtype)
    return found


OPS = (product_op, entries_op, solve_op, banded_op)
