"""Triangular systems, and the factorizations that lead to them: Cholesky and QR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._codegen import substitution
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import same
from ...types import ArrayType, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import eye, tril, triu
from ..arrays.slices import slice_array
from ..define import shape_of
from ..elementwise.arithmetic import imag, neg, sub, where
from ..elementwise.derived import add, conj, convert, mul
from .products import adjoint, product, swap
from .stacks import (
    SINGULAR,
    Values,
    batch_stacks,
    floating,
    is_large,
    right_hand_sides,
    routine,
    square_stack,
)

# --- triangular systems ---------------------------------------------------------------------------


def _triangular_evaluate(a: Any, b: Any, *, lower: bool, trans: int, unit: bool) -> Any:
    out = np.empty(np.shape(b), np.result_type(a, b))
    for k in range(len(b)):
        if not unit and out.size and not (diagonal := np.diagonal(a[k])).all():
            at = int(np.argmin(diagonal != 0))
            raise np.linalg.LinAlgError(f"Singular matrix: element {at} of the diagonal is zero")
        out[k] = substitution.triangular(a[k], b[k], lower, trans, unit)
    return out


def _triangular_infer(a: Any, b: Any, *, lower: bool, trans: int, unit: bool) -> Types:
    return right_hand_sides("triangular_solve", a, b)


def _part(x: Any, lower: bool, unit: bool) -> Any:
    return tril(x, -1 if unit else 0) if lower else triu(x, 1 if unit else 0)


def _triangular_vjp(
    cts: Values,
    inputs: Values,
    outs: Values,
    wanted: Sequence[bool],
    *,
    lower: bool,
    trans: int,
    unit: bool,
) -> list[Any]:
    a, x = inputs[0], outs[0]
    if trans == 0:
        ct_b = triangular_solve_stack(a, cts[0], lower, 2, unit)
    else:
        ct_b = triangular_solve_stack(a if trans == 2 else conj(a), cts[0], lower, 0, unit)
    if not wanted[0]:
        return [None, ct_b]
    if trans == 0:
        outer = product(ct_b, adjoint(x))
    elif trans == 1:
        outer = product(conj(x), swap(ct_b))
    else:
        outer = product(x, adjoint(ct_b))
    return [neg(_part(outer, lower, unit)), ct_b if wanted[1] else None]


def _triangular_jvp(
    tangents: Values, inputs: Values, outs: Values, *, lower: bool, trans: int, unit: bool
) -> list[Any]:
    t_a, right = tangents
    if t_a is not None:
        change = _part(t_a, lower, unit)
        change = product(
            change if trans == 0 else swap(change) if trans == 1 else adjoint(change), outs[0]
        )
        right = neg(change) if right is None else sub(right, change)
    return [triangular_solve_stack(inputs[0], right, lower, trans, unit)]


triangular_op: Op = op(
    "triangular_solve",
    ("a", "b"),
    evaluate=_triangular_evaluate,
    infer=_triangular_infer,
    vjp=_triangular_vjp,
    types_only=("b",),
    jvp=_triangular_jvp,
    batch=batch_stacks(lambda: triangular_op),
    lowering=routine("triangular_solve", "lower", "trans", "unit", failure=SINGULAR),
    doc="x with a @ x = b (trans=1: a.T @ x = b, 2: a^H), reading one triangle of a only.",
)


def triangular_solve_stack(a: Any, b: Any, lower: bool, trans: int = 0, unit: bool = False) -> Any:
    """x with op(a) @ x = b for stacks of triangular matrices; op is nothing, transposition or the
    adjoint for trans = 0, 1, 2."""
    return bind(triangular_op, [a, b], {"lower": lower, "trans": trans, "unit": unit})


# --- Cholesky -------------------------------------------------------------------------------------


def _lower_half(x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    return mul(tril(x), sub(x.dtype.type(1), convert(mul(eye(shape_of(x)[-1]), 0.5), x.dtype)))


def _symmetric(x: Any) -> Any:
    return mul(add(x, adjoint(x)), x.dtype.type(0.5))


def _cotangent(factor: Any, ct: Any) -> Any:
    """The cotangent of a matrix from that of its factor."""
    inside = _lower_half(product(adjoint(factor), ct))
    left = triangular_solve_stack(factor, inside, True, 2)
    return _symmetric(adjoint(triangular_solve_stack(factor, adjoint(left), True, 2)))


ADJOINT_ROWS = 48
"""The rows from which on the cotangent of a Cholesky factor is an operation of its own: a GPU's
libraries have none, and below it takes two thirds of the time at best."""


def _cholesky_vjp(ct: Any, out: Any) -> Any:
    n = shape_of(out)[-1]
    if is_large(out.dtype, n) and not (isinstance(n, int) and n < ADJOINT_ROWS):
        return bind(cholesky_adjoint_op, [out, ct])
    return _cotangent(out, ct)


def _cholesky_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    factor = outs[0]
    left = triangular_solve_stack(factor, _symmetric(tangents[0]), True)
    inside = triangular_solve_stack(factor, adjoint(left), True)
    return [product(factor, _lower_half(inside))]


cholesky_op: Op = op(
    "cholesky",
    ("a",),
    evaluate=np.linalg.cholesky,
    infer=lambda a: (square_stack("cholesky", a),),
    vjp=[_cholesky_vjp],
    jvp=_cholesky_jvp,
    batch=batch_stacks(lambda: cholesky_op),
    lowering=routine("cholesky", failure="Matrix is not positive definite"),
    doc=(
        "The lower triangular factor l with l @ l^H = a. Only the lower triangle of a is read; "
        "the derivative takes a as Hermitian."
    ),
)


# The cotangent `s` of a matrix from the cotangent `c` of its factor l is the Hermitian part of
# l^-H P l^-1, where P is the lower half of l^H c. It is linear in c, and so its adjoint is the
# tangent of the factor.


def _cholesky_adjoint_evaluate(factor: Any, cotangent: Any) -> Any:
    half = np.tril(np.tril(factor).swapaxes(1, 2) @ np.tril(cotangent))
    on = np.arange(factor.shape[-1])
    half[:, on, on] *= factor.dtype.type(0.5)
    for _ in range(2):
        half = _triangular_evaluate(factor, half, lower=True, trans=2, unit=False).swapaxes(1, 2)
    return (half + half.swapaxes(1, 2)) * factor.dtype.type(0.5)


def _cholesky_adjoint_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    (factor, _), (t_factor, along) = inputs, tangents
    if t_factor is None:
        return [bind(cholesky_adjoint_op, [factor, along])]
    t_factor = tril(t_factor)
    moved = product(swap(t_factor), tril(inputs[1]))
    moved = triangular_solve_stack(factor, moved, True, 1)
    right = swap(triangular_solve_stack(factor, swap(t_factor), True, 1))
    turned = product(outs[0], right)
    along = moved if along is None else add(along, moved)
    return [sub(bind(cholesky_adjoint_op, [factor, along]), add(turned, swap(turned)))]


def _cholesky_adjoint_vjp(
    cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool]
) -> list[Any]:
    factor, given = inputs[0], _symmetric(cts[0])
    left = triangular_solve_stack(factor, given, True)
    inside = _lower_half(triangular_solve_stack(factor, swap(left), True))
    found: list[Any] = [None, tril(product(tril(factor), inside)) if wanted[1] else None]
    if wanted[0]:
        turned = swap(triangular_solve_stack(factor, swap(product(outs[0], given)), True))
        of_factor = product(tril(inputs[1]), swap(inside))
        found[0] = tril(sub(of_factor, mul(turned, factor.dtype.type(2))))
    return found


cholesky_adjoint_op: Op = op(
    "cholesky_adjoint",
    ("factor", "cotangent"),
    evaluate=_cholesky_adjoint_evaluate,
    infer=lambda factor, cotangent: (square_stack("cholesky_adjoint", factor),),
    vjp=_cholesky_adjoint_vjp,
    jvp=_cholesky_adjoint_jvp,
    batch=batch_stacks(lambda: cholesky_adjoint_op),
    lowering=routine("cholesky_adjoint"),
    symmetric=True,
    doc=(
        "The cotangent of real symmetric matrices from that of their lower Cholesky factors; "
        "of both operands the lower triangle is read."
    ),
)


def cholesky_stack(a: Any) -> Any:
    """The lower Cholesky factors of a stack of Hermitian positive definite matrices."""
    return bind(cholesky_op, [a])


# --- QR -------------------------------------------------------------------------------------------


def _qr_infer(a: Any) -> Types:
    kind = floating("qr", a.type)
    if kind.ndim != 3:
        raise ShapeError(f"qr: needs a stack of matrices, not an array of shape {show(kind.shape)}")
    return kind, ArrayType(kind.dtype, (kind.shape[0], kind.shape[2], kind.shape[2]))


def _turn(x: Any) -> Any:
    """i times the imaginary part of the diagonal: what keeps the diagonal of r real. Nothing for
    real matrices."""
    return mul(where(eye(shape_of(x)[-1], dtype=bool), imag(x), 0), x.dtype.type(1j))


def _qr_vjp(ct0: Any, ct1: Any, out0: Any, out1: Any) -> Any:
    inside = sub(product(adjoint(out0), ct0), product(ct1, adjoint(out1)))
    of_product = sub(tril(sub(inside, adjoint(inside)), -1), inside)
    if inside.dtype.kind == "c":
        of_product = add(of_product, _turn(inside))
    right = add(ct0, product(out0, of_product))
    return adjoint(triangular_solve_stack(out1, adjoint(right), False))


def _qr_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    q, r = outs
    scaled = adjoint(triangular_solve_stack(r, adjoint(tangents[0]), False, 2))
    inside = product(adjoint(q), scaled)
    below = tril(inside, -1)
    rotation = sub(below, adjoint(below))
    if inside.dtype.kind == "c":
        rotation = add(rotation, _turn(inside))
    rest = sub(inside, rotation)
    return [sub(scaled, product(q, rest)), product(rest, r)]


qr_op: Op = op(
    "qr",
    ("a",),
    evaluate=lambda a: tuple(np.linalg.qr(a)),
    infer=_qr_infer,
    vjp=[_qr_vjp],
    jvp=_qr_jvp,
    batch=batch_stacks(lambda: qr_op),
    lowering=routine("qr"),
    outputs=2,
    doc=(
        "q with orthonormal columns and upper triangular r, q @ r = a, for at least as many rows "
        "as columns (full rank, for derivatives)."
    ),
)


def qr_stack(a: Any) -> Any:
    """The reduced QR factorizations of a stack of matrices."""
    b, m, n = shape_of(a)
    if same(m, n) or m > n:
        return bind(qr_op, [a])
    # More columns than rows: those of the leading square block decide q, the others only follow.
    q, r = bind(qr_op, [slice_array(a, (0, 0, 0), (b, m, m), (1, 1, 1))])
    return q, concatenate(
        [r, product(adjoint(q), slice_array(a, (0, 0, m), (b, m, n - m), (1, 1, 1)))], 2
    )


OPS = (triangular_op, cholesky_op, cholesky_adjoint_op, qr_op)
