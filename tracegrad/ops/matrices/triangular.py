"""Triangular systems, and the factorization into orthonormal columns and a triangle: QR."""

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
from ..elementwise.derived import add, conj, mul
from .products import adjoint, product, swap
from .stacks import (
    SINGULAR,
    Values,
    batch_stacks,
    floating,
    right_hand_sides,
    routine,
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


OPS = (triangular_op, qr_op)
