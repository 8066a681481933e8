"""Singular values of stacks of matrices, and what they share with eigenvalues.

Where two eigenvalues (singular values) coincide, their vectors have no derivative: a cotangent that
reaches them then gives infinities or NaN, as it should. Results that depend on the values alone,
whose vectors get a cotangent of exactly zero, stay right.

Values alone are operations of their own, since they take a fraction of the time; their derivatives
need the vectors. A graph in which somebody reads the vectors takes the values from there.

Vectors in a derivative of values are those of a `strict` decomposition: there the cotangent of a
vector is zero where that of its value is, as for sum((w - c)**2) at w = c, whose second derivative
is not zero. Zero times the infinite 1 / (w_j - w_i) is NaN then: what it is cannot be known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._codegen import singular
from ...dtypes import real_of
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import less, same
from ...types import ArrayType, show
from ..arrays.creation import eye
from ..arrays.shape import sum_axes
from ..define import shape_of
from ..elementwise.arithmetic import div, sub, where
from ..elementwise.derived import add, conj, convert, mul, real, strong_mul
from .products import adjoint, product
from .stacks import (
    NO_CONVERGENCE,
    Values,
    batch_stacks,
    columns,
    floating,
    on_diagonal,
    routine,
    rows,
)

Product = Callable[[Any, Any], Any]
"""How a cotangent of vectors meets what may be infinite: `strong_mul`, by which one of exactly zero
is one that is absent, or `mul`."""


def off_diagonal_inverse(x: Any) -> Any:
    """1 / x off the diagonal, 0 on it."""
    on = eye(shape_of(x)[-1], dtype=bool)
    return where(on, 0, div(x.dtype.type(1), where(on, x.dtype.type(1), x)))


def hermitian(x: Any) -> Any:
    return mul(add(x, adjoint(x)), x.dtype.type(0.5))


def _skew(x: Any) -> Any:
    return mul(sub(x, adjoint(x)), x.dtype.type(0.5))


def in_two_forms(
    name: str, vjp: Callable[[Product], Callable[..., Any]], where_: str, *, doc: str,
    inputs: tuple[str, ...] = ("a",), **rules: Any,
) -> tuple[Op, Op]:  # fmt: skip
    """A decomposition of stacks, and its strict form; `vjp(times)` is the rule of the one operand,
    or of all of them."""

    def made(name: str, times: Product, doc: str) -> Op:
        batch = batch_stacks(lambda: one)
        rule = vjp(times) if len(inputs) > 1 else [vjp(times)]
        one = op(name, inputs, vjp=rule, batch=batch, doc=doc, **rules)
        return one

    strict = f"As `{name}`, but a cotangent of zero {where_} gives NaN."
    return made(name, strong_mul, doc), made(f"{name}_strict", mul, strict)


# --- singular values ------------------------------------------------------------------------------


def _svd_infer(a: Any) -> Types:
    kind = floating("svd", a.type)
    if kind.ndim != 3:
        raise ShapeError(
            f"svd: needs a stack of matrices, not an array of shape {show(kind.shape)}"
        )
    b, m, n = kind.shape
    k = m if same(m, n) or less(m, n) else n
    return (
        ArrayType(kind.dtype, (b, m, k)),
        ArrayType(real_of(kind.dtype), (b, k)),
        ArrayType(kind.dtype, (b, k, n)),
    )


def _gaps(s: Any) -> tuple[Any, Any]:
    """1 / (s_j - s_i) off the diagonal, and 1 / (s_j + s_i)."""
    return off_diagonal_inverse(sub(columns(s), rows(s))), div(
        s.dtype.type(1), add(columns(s), rows(s))
    )


def _svd_vjp(times: Product) -> Callable[..., Any]:
    def rule(ct0: Any, ct1: Any, ct2: Any, out0: Any, out1: Any, out2: Any) -> Any:
        u, s, vh = out0, out1, out2
        v, ct_v = adjoint(vh), adjoint(ct2)
        less, more = _gaps(s)
        of_u, of_v = product(adjoint(u), ct0), product(vh, ct_v)
        # A rotation of both sides by x, and of u against v by y; the Hermitian part of u^H a' v
        # drives x, its other part y.
        x, y = hermitian(times(add(of_u, of_v), less)), _skew(times(sub(of_u, of_v), more))
        result = product(u, product(add(on_diagonal(convert(ct1, u.dtype)), add(x, y)), vh))
        m, n, k = shape_of(u)[1], shape_of(vh)[2], shape_of(s)[1]
        if not same(m, k):
            beside = sub(ct0, product(u, of_u))
            result = add(result, product(times(beside, div(s.dtype.type(1), columns(s))), vh))
        if not same(n, k):
            beside = sub(ct_v, product(v, of_v))
            result = add(
                result, product(u, adjoint(times(beside, div(s.dtype.type(1), columns(s)))))
            )
        return result

    return rule


def _svd_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    u, s, vh = outs
    t, v = tangents[0], adjoint(vh)
    tv, tu = product(t, v), product(adjoint(t), u)
    inside = product(adjoint(u), tv)
    less, more = _gaps(s)
    x, y = strong_mul(hermitian(inside), less), strong_mul(_skew(inside), more)
    t_u, t_v = product(u, add(x, y)), product(v, sub(x, y))
    if not same(shape_of(u)[1], shape_of(s)[1]):
        t_u = add(t_u, strong_mul(sub(tv, product(u, inside)), div(s.dtype.type(1), columns(s))))
    if not same(shape_of(v)[1], shape_of(s)[1]):
        t_v = add(
            t_v, strong_mul(sub(tu, product(v, adjoint(inside))), div(s.dtype.type(1), columns(s)))
        )
    return [t_u, *_svdvals_jvp(tangents, inputs, (s,)), adjoint(t_v)]


svd_op, svd_strict_op = in_two_forms(
    "svd",
    _svd_vjp,
    "beside values that coincide or are 0",
    evaluate=lambda a: tuple(singular.svd(a)),
    infer=_svd_infer,
    jvp=_svd_jvp,
    lowering=routine("svd", failure=NO_CONVERGENCE),
    outputs=3,
    doc="Reduced singular value decomposition u, s, vh with (u * s) @ vh = a and descending s.",
)


def svd_stack(a: Any) -> Any:
    """The reduced singular value decompositions of a stack of matrices."""
    return bind(svd_op, [a])


def _svdvals_vjp(ct: Any, a: Any) -> Any:
    u, _, vh = bind(svd_strict_op, [a])
    return product(mul(u, convert(columns(ct), u.dtype)), vh)


def _svdvals_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    u, _, vh = bind(svd_strict_op, [inputs[0]])
    return [real(sum_axes(mul(conj(u), product(tangents[0], adjoint(vh))), (1,)))]


svdvals_op: Op = op(
    "svdvals",
    ("a",),
    evaluate=lambda a: np.linalg.svd(a, compute_uv=False),
    infer=lambda a: (_svd_infer(a)[1],),
    vjp=[_svdvals_vjp],
    jvp=_svdvals_jvp,
    batch=batch_stacks(lambda: svdvals_op),
    lowering=routine("svdvals", failure=NO_CONVERGENCE),
    doc="Singular values, descending.",
)


def svdvals_stack(a: Any) -> Any:
    """Singular values of a stack of matrices."""
    return bind(svdvals_op, [a])


VALUES_ALONE = {svd_op: (1, svdvals_op), svd_strict_op: (1, svdvals_op)}
"""Which result of a decomposition is there without the others, and the operation that gives it."""

OPS = (svd_op, svd_strict_op, svdvals_op)
