"""The Cholesky factorization, and its derivatives to any order.

The tangent t of the factor l of a solves `t l^H + l t^H = a'` among lower triangles. For large real
matrices it is an operation, `t = T(a')`, and so is its transpose, which gives the cotangent
`s = S(c)` of a from that c of l. Both follow from blocks of the algorithm. Where l moves by l', the
equation gives

    T(a')' = T(a'' - t l'^T - l' t^T)        S(c)' = S(c' - 2 tril(s l')),

the second because `<S(c), a'> = <c, T(a')>` for every a'. So derivatives of any order are these two
operations and products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._codegen import substitution
from ...ir.dispatch import bind
from ...ir.op import Op, op
from ..arrays.creation import eye, tril
from ..define import shape_of
from ..elementwise.arithmetic import neg, sub
from ..elementwise.derived import add, convert, mul
from .products import adjoint, product, swap
from .stacks import Values, batch_stacks, is_large, routine, square_stack
from .triangular import triangular_solve_stack

LEAST_ROWS = 48
"""The rows from which on tangents and cotangents of factors are operations of their own: a GPU's
libraries have none, and below they take two thirds of the time at best."""


def _in_blocks(factor: Any) -> bool:
    n = shape_of(factor)[-1]
    return is_large(factor.dtype, n) and not (isinstance(n, int) and n < LEAST_ROWS)


def _lower_half(x: Any) -> Any:
    """The lower triangle with half of the diagonal."""
    return mul(tril(x), sub(x.dtype.type(1), convert(mul(eye(shape_of(x)[-1]), 0.5), x.dtype)))


def _symmetric(x: Any) -> Any:
    return mul(add(x, adjoint(x)), x.dtype.type(0.5))


# --- the factor -----------------------------------------------------------------------------------


def _cholesky_vjp(ct: Any, out: Any) -> Any:
    if _in_blocks(out):
        return bind(cholesky_adjoint_op, [out, ct])
    inside = _lower_half(product(adjoint(out), ct))
    left = triangular_solve_stack(out, inside, True, 2)
    return _symmetric(adjoint(triangular_solve_stack(out, adjoint(left), True, 2)))


def _cholesky_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    factor, along = outs[0], _symmetric(tangents[0])
    if _in_blocks(factor):
        return [bind(cholesky_tangent_op, [factor, along])]
    left = triangular_solve_stack(factor, along, True)
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


def cholesky_stack(a: Any) -> Any:
    """The lower Cholesky factors of a stack of Hermitian positive definite matrices."""
    return bind(cholesky_op, [a])


# --- its tangent ----------------------------------------------------------------------------------


def _each(of: Callable[[Any, Any], Any], factor: Any, other: Any) -> Any:
    """What is computed of each matrix of two stacks."""
    out = np.empty_like(factor)
    for k, (m, given) in enumerate(zip(factor, other, strict=True)):
        out[k] = of(m, given)
    return out


def _tangent_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    t_factor, along = tangents
    if t_factor is not None:
        moved = product(outs[0], swap(tril(t_factor)))
        change = add(moved, swap(moved))
        along = neg(change) if along is None else sub(along, change)
    return [bind(cholesky_tangent_op, [inputs[0], along])]


def _tangent_vjp(cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool]) -> list[Any]:
    spread = bind(cholesky_adjoint_op, [inputs[0], cts[0]])
    return [_less(spread, outs[0]) if wanted[0] else None, _of_lower(spread) if wanted[1] else None]


def _less(spread: Any, along: Any) -> Any:
    """`-2 tril(s t)`, by which the factor pulls along with a tangent t of its own."""
    return mul(tril(product(spread, along)), spread.dtype.type(-2))


def _of_lower(x: Any) -> Any:
    """The cotangent of the lower triangle of symmetric matrices, where the upper one is not
    read."""
    return mul(_lower_half(x), x.dtype.type(2))


cholesky_tangent_op: Op = op(
    "cholesky_tangent",
    ("factor", "tangent"),
    evaluate=lambda factor, along: _each(substitution.cholesky_tangent, factor, along),
    infer=lambda factor, tangent: (square_stack("cholesky_tangent", factor),),
    vjp=_tangent_vjp,
    jvp=_tangent_jvp,
    batch=batch_stacks(lambda: cholesky_tangent_op),
    lowering=routine("cholesky_tangent"),
    doc=(
        "The tangent of lower Cholesky factors from that of their real symmetric matrices; of both "
        "operands the lower triangle is read."
    ),
)


# --- its transpose --------------------------------------------------------------------------------


def _adjoint_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    t_factor, along = tangents
    if t_factor is not None:
        change = _less(outs[0], tril(t_factor))
        along = change if along is None else add(along, change)
    return [bind(cholesky_adjoint_op, [inputs[0], along])]


def _adjoint_vjp(cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool]) -> list[Any]:
    along = bind(cholesky_tangent_op, [inputs[0], _symmetric(cts[0])])
    return [_less(outs[0], along) if wanted[0] else None, along if wanted[1] else None]


cholesky_adjoint_op: Op = op(
    "cholesky_adjoint",
    ("factor", "cotangent"),
    evaluate=lambda factor, ct: _each(substitution.cholesky_adjoint, factor, ct),
    infer=lambda factor, cotangent: (square_stack("cholesky_adjoint", factor),),
    vjp=_adjoint_vjp,
    jvp=_adjoint_jvp,
    batch=batch_stacks(lambda: cholesky_adjoint_op),
    lowering=routine("cholesky_adjoint"),
    symmetric=True,
    doc=(
        "The cotangent of real symmetric matrices from that of their lower Cholesky factors; "
        "of both operands the lower triangle is read."
    ),
)


OPS = (cholesky_op, cholesky_tangent_op, cholesky_adjoint_op)
