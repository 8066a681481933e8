"""Products of vectors, matrices and stacks of matrices. `matmul` is the only primitive that traces
record; the rest is built on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._codegen import integers
from ..._codegen import lowering as lower
from ...checks import explained_here
from ...dtypes import kind_of, promote
from ...errors import DTypeError, ShapeError
from ...ir.dispatch import Value, bind
from ...ir.op import Op, Types, op
from ...sizes import SIZES, form, numel, same
from ...types import ArrayType, Int, broadcast_shapes, show
from ..arrays.shape import broadcast_to, expand_dims, moveaxis, reshape, sum_axes, sum_to, transpose
from ..define import as_array, ndim_of, of_shape, shape_of
from ..elementwise.arithmetic import compose_real
from ..elementwise.derived import add, conj, convert, mul


def operand(x: Any) -> Any:
    """`x` with a dtype and a shape: Python scalars and lists become arrays."""
    return x if isinstance(x, Value) or hasattr(x, "dtype") else as_array(x)


def alike(*xs: Any) -> list[Any]:
    """The operands in the dtype that NumPy computes their product in."""
    try:
        dtype = promote(*[kind_of(x) for x in xs])
    except TypeError as error:
        raise explained_here(error, "matmul") from error.__cause__
    return [convert(x, dtype) for x in xs]


def size_hint(size: Int) -> int:
    """About how large a size is: for choices that change the speed of a result and not its value,
    so no guard is recorded."""
    if isinstance(size, int):
        return size
    if not SIZES.open:
        return 64
    size = form(size)
    hints = {**dict.fromkeys(integers.symbols(size), 64), **SIZES.open[-1].hints}
    return int(integers.evaluate(size, hints))


def swap(x: Any) -> Any:
    """The last two axes exchanged."""
    ndim = ndim_of(x)
    return transpose(x) if ndim == 2 else transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def adjoint(x: Any) -> Any:
    """The conjugate transpose of the last two axes."""
    return conj(swap(x))


# --- the primitive --------------------------------------------------------------------------------


def _matmul_infer(x: Any, y: Any) -> Types:
    a, b = x.type.shape, y.type.shape
    if not (len(a) == len(b) and len(a) in (2, 3)):
        raise ShapeError(
            "the operation matmul takes two matrices or two stacks of matrices, "
            f"not shapes {show(a)} and {show(b)}"
        )
    if not same(a[-1], b[-2]):
        raise ShapeError(
            mismatch(
                "matmul",
                a,
                b,
                "the last axis of the first",
                a[-1],
                "the second-to-last axis of the second",
                b[-2],
            )
        )
    if x.type.dtype != y.type.dtype:
        raise DTypeError(
            f"the operation matmul takes operands of one dtype, not {x.type.dtype} and "
            f"{y.type.dtype}; convert one of them"
        )
    return (ArrayType(x.type.dtype, (*broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])),)


def _matmul_jvp(tangents: Sequence[Any], inputs: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
    terms = [
        product(t, inputs[1]) if k == 0 else product(inputs[0], t)
        for k, t in enumerate(tangents)
        if t is not None
    ]
    total = terms[0] if len(terms) == 1 else add(*terms)
    return [broadcast_to(total, shape_of(outs[0]))]


def _matmul_batch(
    values: Sequence[Any], axes: Sequence[int | None], size: Int
) -> tuple[list[Any], list[int]]:
    x, y = (v if a is None else moveaxis(v, a, 0) for v, a in zip(values, axes, strict=True))
    # One mapped operand of two matrices: one larger product instead of many small ones.
    if axes[1] is None and ndim_of(y) == 2 and ndim_of(x) == 3:
        _, m, k = shape_of(x)
        return [
            reshape(bind(matmul_op, [reshape(x, (size * m, k)), y]), (size, m, shape_of(y)[1]))
        ], [0]
    if axes[0] is None and ndim_of(x) == 2 and ndim_of(y) == 3 and same(shape_of(y)[2], 1):
        _, k, _ = shape_of(y)
        return [
            reshape(
                bind(matmul_op, [reshape(y, (size, k)), transpose(x)]), (size, shape_of(x)[0], 1)
            )
        ], [0]
    # An operand that is not mapped has the lower rank, so broadcasting repeats it.
    return [matmul(x, y)], [0]


SHARED = 1_000_000
"""Products of fewer additions, 10 us, are not divided among threads."""


def _matmul_share(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[Int, Int]:
    """Parts of some 100 rows or columns, or of whole matrices of a stack."""
    shape, terms = outputs[0].shape, inputs[0].shape[-1]
    work = integers.product((2, terms, *shape))
    if outputs[0].dtype.kind != "f" or any(same(s, 1) for s in shape[-2:]):
        return 1, 0
    if isinstance(work, int) and work < SHARED:
        return 1, work
    if len(shape) == 3:
        return integers.minimum(64, shape[0]), work
    return integers.floordiv(integers.maximum(*shape) + 95, 96), work


def _flops(inputs: Any, outs: Any) -> int:
    total: int = 2 * math.prod(outs[0]) * inputs[0][-1]
    return total


matmul_op = op(
    "matmul",
    ("x", "y"),
    # For matrices NumPy's `dot` takes half the time to begin.
    evaluate=lambda x, y: x.dot(y) if x.ndim == 2 == y.ndim else np.matmul(x, y),
    infer=_matmul_infer,
    vjp=[
        lambda ct, y, *, like: sum_to(compose_real(product(ct, adjoint(y)), like), like.shape),
        lambda ct, x, *, like: sum_to(compose_real(product(adjoint(x), ct), like), like.shape),
    ],
    jvp=_matmul_jvp,
    batch=_matmul_batch,
    lowering=lower.Library(
        lambda inputs, outputs, params: (
            "matmul" if len(outputs[0].shape) == 2 else "matmul_batched",
            (),
        ),
        absorbs_transpose=(0, 1),
        absorbs_scale=((0, -1), (1, -2)),
        share=_matmul_share,
    ),
    flops=_flops,
    doc=(
        "Product of two matrices, or of two stacks of matrices of which one may "
        "hold a single matrix."
    ),
)


# --- vectors --------------------------------------------------------------------------------------


def _vectors_infer(x: Any, y: Any) -> Types:
    a, b = x.type.shape, y.type.shape
    first = "the only axis" if len(a) == 1 else "the last axis"
    second = "the only axis" if len(b) == 1 else "the second-to-last axis"
    if not same(a[-1], b[0]):
        raise ShapeError(
            mismatch(
                "matmul", a, b, f"{first} of the first", a[-1], f"{second} of the second", b[0]
            )
        )
    return (ArrayType(x.type.dtype, (*a[:-1], *b[1:])),)


def _vectors_vjp_x(ct: Any, y: Any, *, like: Any) -> Any:
    if ndim_of(y) == 2:
        return matmul(conj(y), ct)
    return mul(ct if len(like.shape) == 1 else expand_dims(ct, 1), conj(y))


def _vectors_vjp_y(ct: Any, x: Any, *, like: Any) -> Any:
    if ndim_of(x) == 2:
        return matmul(ct, conj(x))
    return mul(conj(x) if len(like.shape) == 1 else expand_dims(conj(x), 1), ct)


def _vectors_jvp(tangents: Sequence[Any], inputs: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
    terms = [
        matmul(t, inputs[1]) if k == 0 else matmul(inputs[0], t)
        for k, t in enumerate(tangents)
        if t is not None
    ]
    return [terms[0] if len(terms) == 1 else add(*terms)]


def _vectors_batch(
    values: Sequence[Any], axes: Sequence[int | None], size: Int
) -> tuple[list[Any], list[int]]:
    x, y = (v if a is None else moveaxis(v, a, 0) for v, a in zip(values, axes, strict=True))
    rank_x, rank_y = ndim_of(x) - (axes[0] is not None), ndim_of(y) - (axes[1] is not None)
    x, y = expand_dims(x, -2) if rank_x == 1 else x, expand_dims(y, -1) if rank_y == 1 else y
    result = matmul(x, y)
    _, rows, columns = shape_of(result)
    return [reshape(result, (size, *[rows] * (rank_x == 2), *[columns] * (rank_y == 2)))], [0]


def _of_vectors(name: str, doc: str) -> Op:
    return op(
        name,
        ("x", "y"),
        evaluate=np.ndarray.dot,
        infer=_vectors_infer,
        vjp=[_vectors_vjp_x, _vectors_vjp_y],
        jvp=_vectors_jvp,
        batch=_vectors_batch,
        composed=lambda x, y: _composed(x, y),
        doc=doc,
    )


dot_op = _of_vectors("dot", "Inner product of two vectors of one dtype.")
mv_op = _of_vectors(
    "mv", "Product of a matrix and a vector, or of a vector and a matrix, of one dtype."
)
IN_ONE_STEP = {
    (1, 1): dot_op,
    (2, 1): mv_op,
    (1, 2): mv_op,
}


def product(x: Any, y: Any) -> Any:
    """The product of two matrices, or of two equally deep stacks of depth one, of one dtype.

    Where the summed axis has size 1 it is an outer product, which fuses with its neighbours.
    """
    inner_size = shape_of(x)[-1]
    if isinstance(inner_size, int) and inner_size == 1 and same(shape_of(y)[-2], 1):
        return mul(x, y)
    return bind(matmul_op, [x, y])


def mismatch(name: str, a: Any, b: Any, first: str, n: Int, second: str, m: Int) -> str:
    return (
        f"{name}: shapes {show(a)} and {show(b)} do not fit: "
        f"{first} ({n}) must equal {second} ({m})"
    )


def check_axes(name: str, x: Any, y: Any, axis_x: int, axis_y: int) -> Any:
    """`y`, of which an axis is as long as one of `x`; where only a run knows that it fails if it is
    not, as this does."""
    a, b = shape_of(x), shape_of(y)
    words = {-1: "the last axis", -2: "the second-to-last axis"}
    first = "the only axis" if len(a) == 1 else words.get(axis_x, f"axis {axis_x}")
    second = "the only axis" if len(b) == 1 else words.get(axis_y, f"axis {axis_y}")
    first, second = f"{first} of the first", f"{second} of the second"
    wanted = list(b)
    wanted[axis_y] = a[axis_x]
    found = of_shape(y, wanted, f"{name}: {first} must be as long as {second}")
    if found is None:
        raise ShapeError(mismatch(name, a, b, first, a[axis_x], second, b[axis_y]))
    return found


def sum_products(x: Any, y: Any, axes: tuple[int, ...]) -> Any:
    """`sum(x * y)` over these axes, in the dtype of the operands (integers wrap, booleans mean: any
    pair true)."""
    result = mul(x, y)
    return convert(sum_axes(result, axes), result.dtype)


def matmul(x: Any, y: Any) -> Any:
    """Matrix product of the last two axes, with broadcasting of the others; vectors count as rows
    on the left and columns on the right.

    Shapes (..., m, k) and (..., k, n) give (..., m, n). Scalars and sizes that do not fit are
    refused (ShapeError).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.matmul(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    array([3., 7.])
    """
    x, y = operand(x), operand(y)
    dx, dy = ndim_of(x), ndim_of(y)
    if x.dtype is y.dtype and (dx, dy) in IN_ONE_STEP:
        return bind(IN_ONE_STEP[dx, dy], (x, y))
    return _composed(x, y)


def _composed(x: Any, y: Any) -> Any:
    dx, dy = ndim_of(x), ndim_of(y)
    if dx == 0 or dy == 0:
        raise ShapeError(
            f"matmul: shapes {show(shape_of(x))} and {show(shape_of(y))}: "
            "a scalar has no axis to sum over; use x * y"
        )
    y = check_axes("matmul", x, y, -1, -1 if dy == 1 else -2)
    if x.dtype != y.dtype:
        x, y = alike(x, y)
    if dx == 2 and dy == 2:
        return product(x, y)
    if dx == 1 and dy == 1:
        return sum_products(x, y, (0,))
    if dx == 1:
        result = matmul(expand_dims(x, 0), y)
        return reshape(result, (*shape_of(y)[:-2], shape_of(y)[-1]))
    if dy == 1:
        result = matmul(x, expand_dims(y, 1))
        return reshape(result, shape_of(x)[:-1])
    return _stacks(x, y)


def _stacks(x: Any, y: Any) -> Any:
    """Stacks of matrices as one product, or as one stack of products along a single leading
    axis."""
    a, b = shape_of(x), shape_of(y)
    batch = broadcast_shapes(a[:-2], b[:-2])
    if _ones(b[:-2]) and len(a) == len(batch) + 2:
        flat = product(reshape(x, (numel(a[:-1]), a[-1])), reshape(y, b[-2:]))
        return reshape(flat, (*batch, a[-2], b[-1]))
    total = numel(batch)

    def one_axis(v: Any) -> Any:
        shape = shape_of(v)
        if _ones(shape[:-2]):
            return reshape(v, (1, *shape[-2:]))
        return reshape(broadcast_to(v, (*batch, *shape[-2:])), (total, *shape[-2:]))

    result = product(one_axis(x), one_axis(y))
    return reshape(result, (*batch, a[-2], b[-1]))


def _ones(shape: Sequence[Int]) -> bool:
    return all(isinstance(s, int) and s == 1 for s in shape)


def matrix_transpose(x: Any) -> Any:
    """The last two axes exchanged.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.matrix_transpose(np.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    x = operand(x)
    if ndim_of(x) < 2:
        raise ShapeError(f"matrix_transpose needs at least two axes, got shape {show(shape_of(x))}")
    return swap(x)


OPS = (matmul_op, dot_op, mv_op)
