"""Linear systems, inverses, pseudo-inverses and determinants of stacks of matrices: the primitives,
with their rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._codegen import singular
from ...dtypes import real_of
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...types import ArrayType, Int, show
from ..arrays.concatenation import stack
from ..arrays.creation import eye
from ..arrays.shape import broadcast_to, front, reshape, sum_axes, transpose
from ..arrays.slices import slice_array
from ..define import shape_of
from ..elementwise.arithmetic import imag, neg, sub, where
from ..elementwise.derived import add, conj, mul, real
from ..totals.reductions import product_of_others
from . import factored
from .products import adjoint, product, swap
from .spectral import svd_stack
from .stacks import (
    NO_CONVERGENCE,
    SINGULAR,
    Values,
    batch_stacks,
    columns,
    diagonal_of,
    floating,
    on_diagonal,
    right_hand_sides,
    routine,
    square_stack,
)

# --- solve ----------------------------------------------------------------------------------------


def _solve_vjp(cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool]) -> list[Any]:
    ct_b = solve_stack(adjoint(inputs[0]), cts[0])
    return [
        neg(product(ct_b, adjoint(outs[0]))) if wanted[0] else None,
        ct_b if wanted[1] else None,
    ]


def _solve_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    t_a, t_b = tangents
    change = None if t_a is None else product(t_a, outs[0])
    right = t_b if change is None else neg(change) if t_b is None else sub(t_b, change)
    return [solve_stack(inputs[0], right)]


def _solve_batch(
    values: Values, axes: Sequence[int | None], size: Int
) -> tuple[list[Any], list[int]]:
    if axes[0] is not None:
        return batch_stacks(lambda: solve_op)(values, axes, size)  # type: ignore[no-any-return]
    # One matrix for all: the mapped right-hand sides become further columns, and the matrix is
    # factored once.
    right = front(values[1], axes[1] or 0)
    _, b, n, k = shape_of(right)
    out = solve_stack(values[0], reshape(transpose(right, (1, 2, 0, 3)), (b, n, size * k)))
    return [transpose(reshape(out, (b, n, size, k)), (2, 0, 1, 3))], [0]


solve_op: Op = op(
    "solve",
    ("a", "b"),
    evaluate=np.linalg.solve,
    infer=lambda a, b: right_hand_sides("solve", a, b),
    vjp=_solve_vjp,
    types_only=("b",),
    jvp=_solve_jvp,
    batch=_solve_batch,
    lowering=routine("solve", failure=SINGULAR),
    doc="x with a @ x = b, by LU factorization with row exchanges.",
)


def solve_stack(a: Any, b: Any) -> Any:
    """x with a @ x = b for stacks of matrices."""
    return bind(solve_op, [a, b])


# --- inverse --------------------------------------------------------------------------------------

inv_op: Op = op(
    "inv",
    ("a",),
    evaluate=np.linalg.inv,
    infer=lambda a: (square_stack("inv", a),),
    vjp=[lambda ct, out: neg(product(adjoint(out), product(ct, adjoint(out))))],
    jvp=lambda tangents, inputs, outs: [neg(product(outs[0], product(tangents[0], outs[0])))],
    batch=batch_stacks(lambda: inv_op),
    lowering=routine("inv", failure=SINGULAR),
    doc="Inverse matrices.",
)


def inv_stack(a: Any) -> Any:
    """The inverses of a stack of matrices."""
    return bind(inv_op, [a])


# --- pseudo-inverse -------------------------------------------------------------------------------


def _pinv_infer(a: Any, *, rcond: float) -> Types:
    kind = floating("pinv", a.type)
    if kind.ndim != 3:
        raise ShapeError(
            f"pinv: needs a stack of matrices, not an array of shape {show(kind.shape)}"
        )
    b, m, n = kind.shape
    return (ArrayType(kind.dtype, (b, n, m)),)


def _change_of_pinv(t: Any, a: Any, p: Any) -> Any:
    """The differential of the pseudo-inverse `p` of `a` along `t`, among matrices of the same rank
    (Golub and Pereyra)."""
    h = adjoint(t)
    left = sub(h, product(h, product(a, p)))
    right = sub(h, product(p, product(a, h)))
    return add(
        sub(product(p, product(adjoint(p), left)), product(p, product(t, p))),
        product(right, product(adjoint(p), p)),
    )


def _pinv_vjp(ct: Any, a: Any, out: Any) -> Any:
    p, g = out, adjoint(ct)
    # Terms of Re tr(g D(t)), turned around until t^H stands last.
    first = product(g, product(p, adjoint(p)))
    first = sub(first, product(a, product(p, first)))
    last = product(adjoint(p), product(p, g))
    last = sub(last, product(product(last, p), a))
    return sub(add(first, last), adjoint(product(p, product(g, p))))


pinv_op: Op = op(
    "pinv",
    ("a",),
    evaluate=lambda a, *, rcond: singular.pinv(a, rcond),
    infer=_pinv_infer,
    vjp=[_pinv_vjp],
    jvp=lambda tangents, inputs, outs, *, rcond: [_change_of_pinv(tangents[0], inputs[0], outs[0])],
    batch=batch_stacks(lambda: pinv_op),
    lowering=routine("pinv", "rcond", failure=NO_CONVERGENCE),
    doc=(
        "Pseudo-inverse: singular values up to rcond times the largest count as zero. "
        "Differentiated among matrices of the same rank."
    ),
)


def pinv_stack(a: Any, rcond: float) -> Any:
    """The pseudo-inverses of a stack of matrices."""
    return bind(pinv_op, [a], {"rcond": float(rcond)})


# --- determinants ---------------------------------------------------------------------------------


def _det_infer(a: Any) -> Types:
    kind = square_stack("det", a)
    return (ArrayType(kind.dtype, kind.shape[:1]),)


def _det_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    return [sum_axes(mul(swap(adjugate(inputs[0])), tangents[0]), (1, 2))]


det_op: Op = op(
    "det",
    ("a",),
    evaluate=lambda a: np.asarray(np.linalg.det(a)),
    infer=_det_infer,
    vjp=[lambda ct, a: mul(reshape(ct, (*shape_of(ct), 1, 1)), adjoint(adjugate(a)))],
    jvp=_det_jvp,
    batch=batch_stacks(lambda: det_op),
    lowering=routine("det"),
    doc="Determinants.",
)


def det_stack(a: Any) -> Any:
    """The determinants of a stack of matrices."""
    return bind(det_op, [a])


def _slogdet_infer(a: Any) -> Types:
    kind = square_stack("slogdet", a)
    return ArrayType(kind.dtype, kind.shape[:1]), ArrayType(real_of(kind.dtype), kind.shape[:1])


def _slogdet_vjp(ct0: Any, ct1: Any, a: Any, out0: Any) -> Any:
    scale = ct1
    if out0.dtype.kind == "c":
        # The sign turns by the imaginary part of tr(a^-1 t).
        turning = neg(imag(mul(conj(ct0), out0)))
        scale = add(ct1, mul(turning, out0.dtype.type(1j)))
    return mul(reshape(scale, (*shape_of(scale), 1, 1)), adjoint(inv_stack(a)))


def _slogdet_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    change = sum_axes(mul(swap(inv_stack(inputs[0])), tangents[0]), (1, 2))
    if change.dtype.kind != "c":
        return [None, change]
    return [mul(mul(outs[0], imag(change)), outs[0].dtype.type(1j)), real(change)]


slogdet_op: Op = op(
    "slogdet",
    ("a",),
    evaluate=lambda a: tuple(map(np.asarray, np.linalg.slogdet(a))),
    infer=_slogdet_infer,
    vjp=[_slogdet_vjp],
    jvp=_slogdet_jvp,
    batch=batch_stacks(lambda: slogdet_op),
    lowering=routine("slogdet"),
    outputs=2,
    doc="Signs and logarithms of the absolute values of determinants.",
)


def slogdet_stack(a: Any) -> Any:
    """Signs and logarithms of the absolute values of the determinants of a stack of matrices."""
    return bind(slogdet_op, [a])


# --- adjugate: the gradient of a determinant, also where the matrix is singular -------------------


def _adjugate_evaluate(a: Any) -> Any:
    u, s, vh = singular.svd(a)
    others = np.where(np.eye(s.shape[-1], dtype=bool), s.dtype.type(1), s[:, None, :]).prod(-1)
    phase = np.linalg.det(u) * np.linalg.det(vh)
    return (
        phase[:, None, None] * (vh.conj().swapaxes(1, 2) * others[:, None, :])
    ) @ u.conj().swapaxes(1, 2)


def _rotated(a: Any) -> tuple[Any, Any, Any, Any]:
    """u, v, the phase, and the products of all singular values but two: what the differential of
    the adjugate needs."""
    u, s, vh = svd_stack(a)
    n = shape_of(s)[-1]
    without_one = where(eye(n, dtype=bool), 1, broadcast_to(columns(s), (shape_of(s)[0], n, n)))
    phase = mul(det_stack(u), det_stack(vh))
    return (
        u,
        adjoint(vh),
        reshape(phase, (*shape_of(phase), 1, 1)),
        product_of_others(without_one, (2,)),
    )


def _adjugate_map(w: Any, without_two: Any) -> Any:
    """The differential at a diagonal matrix: off the diagonal -w_ij times the other values, on it
    sums of the other elements."""
    on = eye(shape_of(w)[-1], dtype=bool)
    off = where(on, 0, without_two)
    return sub(on_diagonal(sum_axes(mul(off, columns(diagonal_of(w))), (2,))), mul(off, w))


def _adjugate_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    u, v, phase, without_two = _rotated(inputs[0])
    change = _adjugate_map(product(adjoint(u), product(tangents[0], v)), without_two)
    return [mul(phase, product(v, product(change, adjoint(u))))]


def _adjugate_vjp(ct: Any, a: Any) -> Any:
    u, v, phase, without_two = _rotated(a)
    change = _adjugate_map(mul(conj(phase), product(adjoint(v), product(ct, u))), without_two)
    return product(u, product(change, adjoint(v)))


adjugate_op: Op = op(
    "adjugate",
    ("a",),
    evaluate=_adjugate_evaluate,
    infer=lambda a: (square_stack("adjugate", a),),
    vjp=[_adjugate_vjp],
    jvp=_adjugate_jvp,
    batch=batch_stacks(lambda: adjugate_op),
    lowering=routine("adjugate", failure=NO_CONVERGENCE),
    doc="Adjugate matrices: det(a) times the inverse, and finite where a is singular.",
)


def adjugate(a: Any) -> Any:
    """The adjugates of a stack of matrices: polynomials for sizes up to 3, from the singular values
    beyond."""
    b, n, _ = shape_of(a)
    if not isinstance(n, int) or n > 3:
        return bind(adjugate_op, [a])
    if n <= 1:
        return broadcast_to(a.dtype.type(1), (b, n, n))
    entry = [
        [reshape(slice_array(a, (0, i, j), (b, 1, 1), (1, 1, 1)), (b,)) for j in range(n)]
        for i in range(n)
    ]
    if n == 2:
        flat = [entry[1][1], neg(entry[0][1]), neg(entry[1][0]), entry[0][0]]
    else:
        flat = [
            sub(
                mul(entry[(j + 1) % 3][(i + 1) % 3], entry[(j + 2) % 3][(i + 2) % 3]),
                mul(entry[(j + 1) % 3][(i + 2) % 3], entry[(j + 2) % 3][(i + 1) % 3]),
            )
            for i in range(3)
            for j in range(3)
        ]
    return reshape(stack(flat, 1), (b, n, n))


OPS = (solve_op, inv_op, pinv_op, det_op, slogdet_op, adjugate_op, *factored.OPS)
