"""LU factors, Sylvester's equation, exponentials and square roots of stacks of matrices: the
primitives, with their rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._codegen import loading
from ...dtypes import INT64
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import same
from ...types import ArrayType, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import eye, tril, triu, zeros
from ..arrays.shape import expand_dims
from ..arrays.slices import slice_array
from ..define import shape_of
from ..elementwise.arithmetic import neg, sub
from ..elementwise.derived import add
from ..places.along import take_along_axis
from ..totals.sorting import argsort
from .products import adjoint, product
from .stacks import Values, batch_stacks, routine, square_stack
from .triangular import triangular_solve_stack

# --- LU -------------------------------------------------------------------------------------------


def _lu_infer(a: Any) -> Types:
    kind = square_stack("lu", a)
    return kind, ArrayType(INT64, kind.shape[:2])


def _lu_evaluate(a: Any) -> Any:
    lapack = loading.imported("scipy.linalg.lapack")
    getrf: Any = lapack.get_lapack_funcs("getrf", (a,))
    packed, pivots = np.empty(a.shape, a.dtype), np.empty(a.shape[:2], np.int64)
    if a.size:
        for k in range(len(a)):
            packed[k], pivots[k], _ = getrf(a[k])
    return packed, pivots


def lower_factor(packed: Any) -> Any:
    """The factor with ones on its diagonal."""
    return add(tril(packed, -1), eye(shape_of(packed)[-1], dtype=packed.dtype))


def _in_order(x: Any, order: Any) -> Any:
    return take_along_axis(x, expand_dims(order, -1), 1)


def inverse_order(order: Any) -> Any:
    """The permutation that undoes one."""
    return argsort(order, 1)


def _lu_vjp(ct0: Any, out0: Any, out1: Any) -> Any:
    lower, upper = lower_factor(out0), triu(out0)
    of_lower = tril(product(adjoint(lower), tril(ct0, -1)), -1)
    of_upper = triu(product(triu(ct0), adjoint(upper)))
    left = triangular_solve_stack(lower, add(of_lower, of_upper), True, 2, True)
    right = adjoint(triangular_solve_stack(upper, adjoint(left), False))
    return _in_order(right, inverse_order(permutation_of(out1)))


def _lu_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    packed, pivots = outs
    lower, upper = lower_factor(packed), triu(packed)
    change = _in_order(tangents[0], permutation_of(pivots))
    left = triangular_solve_stack(lower, change, True, 0, True)
    inside = adjoint(triangular_solve_stack(upper, adjoint(left), False, 2))
    below = tril(product(lower, tril(inside, -1)), -1)
    return [add(below, triu(product(triu(inside), upper))), None]


lu_op: Op = op(
    "lu",
    ("a",),
    evaluate=_lu_evaluate,
    infer=_lu_infer,
    vjp=[_lu_vjp],
    jvp=_lu_jvp,
    batch=batch_stacks(lambda: lu_op),
    lowering=routine("lu"),
    outputs=2,
    doc="Both triangular factors in one matrix, and with which row each row was exchanged.",
)


def _permutation_evaluate(pivots: Any) -> Any:
    order = np.empty(pivots.shape, np.int64)
    for p, o in zip(pivots, order, strict=True):
        o[...] = np.arange(len(p))
        for i in range(len(p)):
            o[i], o[p[i]] = o[p[i]], o[i]
    return order


permutation_op: Op = op(
    "permutation",
    ("pivots",),
    evaluate=_permutation_evaluate,
    infer=lambda pivots: (ArrayType(INT64, pivots.type.shape),),
    batch=batch_stacks(lambda: permutation_op),
    lowering=routine("permutation"),
    doc="The order in which exchanges of rows, one after the other, leave them.",
)


def lu_stack(a: Any) -> Any:
    """The packed LU factors of a stack of square matrices, and the exchanges of rows."""
    return bind(lu_op, [a])


def permutation_of(pivots: Any) -> Any:
    """The order of rows that exchanges leave."""
    return bind(permutation_op, [pivots])


# --- Sylvester's equation -------------------------------------------------------------------------


def _sylvester_infer(a: Any, b: Any, q: Any) -> Types:
    first, second = square_stack("sylvester", a), square_stack("sylvester", b)
    kind = q.type
    wanted = (first.shape[0], first.shape[1], second.shape[1])
    fits = kind.ndim == 3 and all(same(m, n) for m, n in zip(kind.shape, wanted, strict=True))
    if not fits or not kind.dtype == first.dtype == second.dtype:
        raise ShapeError(
            f"sylvester: {first}, {second} and {kind} do not fit: needs right-hand sides of shape "
            f"{show(wanted)} in the same dtype"
        )
    return (kind,)


def _sylvester_evaluate(a: Any, b: Any, q: Any) -> Any:
    linalg, lapack = (loading.imported(f"scipy.linalg{name}") for name in ("", ".lapack"))
    form = "complex" if q.dtype.kind == "c" else "real"
    out = np.empty(q.shape, q.dtype)
    if out.size:
        trsyl: Any = lapack.get_lapack_funcs("trsyl", (q,))
        for k in range(len(q)):
            (r, u), (s, v) = (linalg.schur(m, output=form) for m in (a[k], b[k]))
            y, scale, info = trsyl(r, s, u.conj().T @ q[k] @ v)
            if info:
                raise np.linalg.LinAlgError(NO_SOLUTION)
            out[k] = u @ (y / scale) @ v.conj().T
    return out


def _sylvester_vjp(cts: Values, inputs: Values, outs: Values, wanted: Any) -> list[Any]:
    a, b, _ = inputs
    of_q = sylvester_stack(adjoint(a), adjoint(b), cts[0])
    turned = adjoint(outs[0])
    return [
        neg(product(of_q, turned)) if wanted[0] else None,
        neg(product(turned, of_q)) if wanted[1] else None,
        of_q if wanted[2] else None,
    ]


def _sylvester_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    (t_a, t_b, t_q), (a, b, _), x = tangents, inputs, outs[0]
    right = t_q
    for change in (
        None if t_a is None else product(t_a, x),
        None if t_b is None else product(x, t_b),
    ):
        if change is not None:
            right = neg(change) if right is None else sub(right, change)
    return [sylvester_stack(a, b, right)]


NO_SOLUTION = "Sylvester's equation has no unique solution"
sylvester_op: Op = op(
    "sylvester",
    ("a", "b", "q"),
    evaluate=_sylvester_evaluate,
    infer=_sylvester_infer,
    vjp=_sylvester_vjp,
    types_only=("q",),
    jvp=_sylvester_jvp,
    batch=batch_stacks(lambda: sylvester_op),
    lowering=routine("sylvester", failure=NO_SOLUTION),
    doc="The x with a @ x + x @ b = q.",
)


def sylvester_stack(a: Any, b: Any, q: Any) -> Any:
    """The solutions of a @ x + x @ b = q for stacks of matrices."""
    return bind(sylvester_op, [a, b, q])


# --- exponentials and square roots ----------------------------------------------------------------


def _along(function: Any, a: Any, change: Any) -> Any:
    """The derivative of a function of matrices in a direction: what the function of the block
    matrix [[a, change], [0, a]] has beside its diagonal."""
    b, n, _ = shape_of(a)
    nothing = zeros((b, n, n), dtype=a.dtype)
    block = concatenate([concatenate([a, change], 2), concatenate([nothing, a], 2)], 1)
    return slice_array(function(block), (0, 0, n), (b, n, n), (1, 1, 1))


def _expm_evaluate(a: Any) -> Any:
    return loading.imported("scipy.linalg").expm(a) if a.size else np.empty(a.shape, a.dtype)


expm_op: Op = op(
    "expm",
    ("a",),
    evaluate=_expm_evaluate,
    infer=lambda a: (square_stack("expm", a),),
    vjp=[lambda ct, a: _along(expm_stack, adjoint(a), ct)],
    jvp=lambda tangents, inputs, outs: [_along(expm_stack, inputs[0], tangents[0])],
    batch=batch_stacks(lambda: expm_op),
    lowering=routine("expm"),
    doc="The exponentials of matrices.",
)


def expm_stack(a: Any) -> Any:
    """The exponentials of a stack of matrices."""
    return bind(expm_op, [a])


NO_ROOT = "No principal square root in this dtype (a real matrix may have a complex one)"


def _sqrtm_evaluate(a: Any) -> Any:
    out = np.empty(a.shape, a.dtype)
    if out.size:
        for m, o in zip(a, out, strict=True):
            if not np.isfinite(m).all():
                raise np.linalg.LinAlgError("the matrix holds NaN or an infinite number")
            root = loading.imported("scipy.linalg").sqrtm(m.astype(complex))
            rounding = np.sqrt(np.finfo(a.dtype).eps) * np.abs(root).max()
            if not np.isfinite(root).all() or (
                a.dtype.kind == "f" and np.abs(root.imag).max() > rounding
            ):
                raise np.linalg.LinAlgError(NO_ROOT)
            o[...] = root if a.dtype.kind == "c" else root.real
    return out


sqrtm_op: Op = op(
    "sqrtm",
    ("a",),
    evaluate=_sqrtm_evaluate,
    infer=lambda a: (square_stack("sqrtm", a),),
    vjp=[lambda ct, out: sylvester_stack(adjoint(out), adjoint(out), ct)],
    jvp=lambda tangents, inputs, outs: [sylvester_stack(outs[0], outs[0], tangents[0])],
    batch=batch_stacks(lambda: sqrtm_op),
    lowering=routine("sqrtm", failure=NO_ROOT),
    doc="The principal square roots of matrices.",
)


def sqrtm_stack(a: Any) -> Any:
    """The principal square roots of a stack of matrices."""
    return bind(sqrtm_op, [a])


OPS = (lu_op, permutation_op, sylvester_op, expm_op, sqrtm_op)
