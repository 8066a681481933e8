"""Eigenvalues of stacks of matrices, Hermitian and general ones: the primitives, with their rules.

What `spectral` says of coinciding values holds for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dtypes import complex_of, real_of
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...types import ArrayType
from ..arrays.creation import arange
from ..arrays.shape import broadcast_to, sum_axes
from ..define import shape_of
from ..elementwise.arithmetic import equal, less_equal, sub, where
from ..elementwise.derived import add, conj, convert, mul, real, strong_mul
from ..elementwise.elementary import absolute
from ..places.along import take_along_axis
from ..totals.reductions import all as all_
from ..totals.reductions import amin, argmin
from .products import adjoint, product
from .spectral import Product, hermitian, in_two_forms, off_diagonal_inverse
from .stacks import (
    Values,
    batch_stacks,
    columns,
    diagonal_of,
    on_diagonal,
    routine,
    rows,
    square_stack,
)
from .systems import solve_stack

NOT_CONVERGED = "Eigenvalues did not converge"

# --- eigenvalues of Hermitian matrices ------------------------------------------------------------


def _eigh_infer(a: Any) -> Types:
    kind = square_stack("eigh", a)
    return ArrayType(real_of(kind.dtype), kind.shape[:2]), kind


def _eigh_vjp(times: Product) -> Callable[..., Any]:
    def rule(ct0: Any, ct1: Any, out0: Any, out1: Any) -> Any:
        gaps = off_diagonal_inverse(sub(columns(out0), rows(out0)))
        inside = times(product(adjoint(out1), ct1), gaps)
        inside = add(on_diagonal(convert(ct0, out1.dtype)), inside)
        return hermitian(product(out1, product(inside, adjoint(out1))))

    return rule


def _eigh_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    w, v = outs
    inside = product(adjoint(v), product(hermitian(tangents[0]), v))
    gaps = off_diagonal_inverse(sub(columns(w), rows(w)))
    return [*_eigvalsh_jvp(tangents, inputs, (w,)), product(v, strong_mul(inside, gaps))]


eigh_op, eigh_strict_op = in_two_forms(
    "eigh",
    _eigh_vjp,
    "beside coinciding eigenvalues",
    evaluate=lambda a: tuple(np.linalg.eigh(a)),
    infer=_eigh_infer,
    jvp=_eigh_jvp,
    lowering=routine("eigh", failure=NOT_CONVERGED),
    outputs=2,
    doc=(
        "Eigenvalues, ascending, and orthonormal eigenvectors of Hermitian matrices, "
        "of which only the lower triangle is read."
    ),
)


def eigh_stack(a: Any) -> Any:
    """Eigenvalues and eigenvectors of a stack of Hermitian matrices."""
    return bind(eigh_op, [a])


def _eigvalsh_vjp(ct: Any, a: Any) -> Any:
    _, v = bind(eigh_strict_op, [a])
    return product(mul(v, convert(columns(ct), v.dtype)), adjoint(v))


def _eigvalsh_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    _, v = bind(eigh_strict_op, [inputs[0]])
    return [real(sum_axes(mul(conj(v), product(hermitian(tangents[0]), v)), (1,)))]


eigvalsh_op: Op = op(
    "eigvalsh",
    ("a",),
    evaluate=lambda a: np.linalg.eigvalsh(a),
    infer=lambda a: (_eigh_infer(a)[0],),
    vjp=[_eigvalsh_vjp],
    jvp=_eigvalsh_jvp,
    batch=batch_stacks(lambda: eigvalsh_op),
    lowering=routine("eigvalsh", failure=NOT_CONVERGED),
    doc="Eigenvalues, ascending, of Hermitian matrices, of which only the lower triangle is read.",
)


def eigvalsh_stack(a: Any) -> Any:
    """Eigenvalues of a stack of Hermitian matrices."""
    return bind(eigvalsh_op, [a])


# --- eigenvalues of general matrices --------------------------------------------------------------


def _eig_infer(a: Any) -> Types:
    kind = square_stack("eig", a)
    dtype = complex_of(kind.dtype)
    return ArrayType(dtype, kind.shape[:2]), ArrayType(dtype, kind.shape)


def _eig_evaluate(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    return w.astype(complex_of(a.dtype)), v.astype(complex_of(a.dtype))


def _gaps(w: Any) -> Any:
    """1 / (w_j - w_i) off the diagonal."""
    return off_diagonal_inverse(sub(columns(w), rows(w)))


def _eig_vjp(times: Product) -> Callable[..., Any]:
    def rule(ct0: Any, ct1: Any, out0: Any, out1: Any, *, like: Any) -> Any:
        # What turns a vector along itself changes its length or phase, which are fixed.
        inside = product(adjoint(out1), ct1)
        along = mul(product(adjoint(out1), out1), columns(diagonal_of(inside)))
        driven = times(sub(inside, along), conj(_gaps(out0)))
        return _of_values(add(on_diagonal(ct0), driven), out1, like.dtype)

    return rule


def _of_values(middle: Any, v: Any, dtype: Any) -> Any:
    return convert(solve_stack(adjoint(v), product(middle, adjoint(v))), dtype)


def _eig_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    w, v = outs
    inside = solve_stack(v, product(convert(tangents[0], v.dtype), v))
    turned = strong_mul(inside, _gaps(w))
    change = product(v, turned)
    along = diagonal_of(product(adjoint(v), change))
    return [diagonal_of(inside), sub(change, mul(v, columns(along)))]


eig_op, eig_strict_op = in_two_forms(
    "eig",
    _eig_vjp,
    "beside coinciding eigenvalues",
    evaluate=_eig_evaluate,
    infer=_eig_infer,
    jvp=_eig_jvp,
    lowering=routine("eig", failure=NOT_CONVERGED),
    outputs=2,
    doc="Eigenvalues and eigenvectors of length 1 of general matrices, as complex numbers.",
)


def _vectors_of(a: Any, w: Any) -> Any:
    """The eigenvectors in the order of these eigenvalues: without vectors rounding is another, and
    so may be the order in which LAPACK finds them. Each takes the vector of the nearest one, its
    own place first; where that is no order, places count."""
    found, v = bind(eig_strict_op, [a])
    b, n = shape_of(w)
    far = absolute(sub(rows(w), columns(found)))
    places = broadcast_to(arange(n), (b, n))
    at = where(less_equal(diagonal_of(far), amin(far, -1)), places, argmin(far, -1))
    once = equal(sum_axes(equal(rows(at), columns(places)), (1,)), 1)
    at = where(all_(once, -1, keepdims=True), at, places)
    return take_along_axis(v, broadcast_to(columns(at), shape_of(v)), -1)


def _eigvals_vjp(cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool]) -> list[Any]:
    v = _vectors_of(inputs[0], outs[0])
    return [_of_values(on_diagonal(cts[0]), v, inputs[0].dtype)]


def _eigvals_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    v = _vectors_of(inputs[0], outs[0])
    return [diagonal_of(solve_stack(v, product(convert(tangents[0], v.dtype), v)))]


eigvals_op: Op = op(
    "eigvals",
    ("a",),
    evaluate=lambda a: np.linalg.eigvals(a).astype(complex_of(a.dtype)),
    infer=lambda a: (_eig_infer(a)[0],),
    vjp=_eigvals_vjp,
    jvp=_eigvals_jvp,
    batch=batch_stacks(lambda: eigvals_op),
    lowering=routine("eigvals", failure=NOT_CONVERGED),
    doc="Eigenvalues of general matrices, as complex numbers.",
)


def eigvals_stack(a: Any) -> Any:
    """Eigenvalues of a stack of matrices."""
    return bind(eigvals_op, [a])


def eig_stack(a: Any) -> Any:
    """Eigenvalues and eigenvectors of a stack of matrices."""
    return bind(eig_op, [a])


HERMITIAN_ALONE = {eigh_op: (0, eigvalsh_op), eigh_strict_op: (0, eigvalsh_op)}
"""Which result of a decomposition is there without the others, and the operation that gives it."""

GENERAL_ALONE = {eig_op: (0, eigvals_op), eig_strict_op: (0, eigvals_op)}
"""The same; values alone may come in another order."""

OPS = (eigh_op, eigh_strict_op, eigvalsh_op, eig_op, eig_strict_op, eigvals_op)
