"""Eigenvalues and eigenvectors of symmetric tridiagonal matrices: the primitives, with their rules,
and SciPy's functions.

A stack of matrices is given by its diagonals d (b, n) and what is beside them, e (b, n - 1). What
`spectral` says of coinciding values holds here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._codegen import loading
from ...checks import describe
from ...dtypes import FLOAT64, promote
from ...errors import DTypeError, ShapeError, UnsupportedFunctionError
from ...ir.dispatch import bind
from ...ir.lines import user_line
from ...ir.op import Op, Types, op
from ...sizes import same
from ...types import ArrayType, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import zeros
from ..arrays.shape import reshape, sum_axes
from ..arrays.slices import cut
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import sub
from ..elementwise.derived import add, convert, mul, strong_mul
from .factorizations import EighResult
from .products import adjoint, product
from .spectral import Product, in_two_forms, off_diagonal_inverse
from .stacks import Values, batch_stacks, columns, floating, routine, rows

NOT_CONVERGED = "Eigenvalues did not converge"


def _infer(d: Any, e: Any) -> Types:
    kind, beside = floating("tridiagonal_eigh", d.type), e.type
    fits = kind.ndim == 2 and beside.ndim == 2 and same(kind.shape[0], beside.shape[0])
    if not fits or beside.dtype != kind.dtype or not same(beside.shape[1] + 1, kind.shape[1]):
        raise ShapeError(f"tridiagonal_eigh: {kind} and {beside} do not fit")
    b, n = kind.shape
    return kind, ArrayType(kind.dtype, (b, n, n))


def _evaluate(d: Any, e: Any, vectors: bool = True) -> Any:
    b, n = d.shape
    stevd: Any = loading.imported("scipy.linalg.lapack").get_lapack_funcs("stevd", (d, e))
    w, v = np.full(d.shape, np.nan, d.dtype), np.full((b, n, n), np.nan, d.dtype)
    for q in range(b):
        if not (np.isfinite(d[q]).all() and np.isfinite(e[q]).all()):
            continue
        if n == 1:
            w[q], v[q] = d[q], 1
            continue
        values, found, info = stevd(d[q], e[q], compute_v=vectors)
        if info:
            raise np.linalg.LinAlgError(NOT_CONVERGED)
        w[q] = values
        if vectors:
            v[q] = found
    return (w, v) if vectors else w


def _times(d: Any, e: Any, v: Any) -> Any:
    """The products of the matrices with vectors that are columns."""
    n = shape_of(v)[1]
    none = zeros((shape_of(v)[0], 1, shape_of(v)[2]), v.dtype)
    above = mul(rows(e), cut(v, 1, 1, n - 1))
    below = mul(rows(e), cut(v, 1, 0, n - 1))
    beside = add(concatenate([above, none], 1), concatenate([none, below], 1))
    return add(mul(rows(d), v), beside)


def _of_outer(x: Any, v: Any) -> list[Any]:
    """What x v^T says of the diagonal, and of the elements beside it, which are equal."""
    n = shape_of(v)[1]
    (x0, x1), (v0, v1) = ((cut(y, 1, 0, n - 1), cut(y, 1, 1, n - 1)) for y in (x, v))
    beside = add(sum_axes(mul(x1, v0), (2,)), sum_axes(mul(x0, v1), (2,)))
    return [sum_axes(mul(x, v), (2,)), beside]


def _vjp(times: Product) -> Callable[..., Any]:
    def rule(cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool]) -> list[Any]:
        (ct_w, ct_v), (w, v) = cts, outs
        found: Any = mul(v, columns(ct_w)) if ct_w is not None else None
        if ct_v is not None:
            gaps = off_diagonal_inverse(sub(columns(w), rows(w)))
            turned = product(v, times(product(adjoint(v), ct_v), gaps))
            found = turned if found is None else add(found, turned)
        return _of_outer(found, v)

    return rule


def _changed(tangents: Values, inputs: Values, v: Any) -> Any:
    of_d, of_e = (
        zeros(shape_of(x), x.dtype) if t is None else t
        for t, x in zip(tangents, inputs, strict=True)
    )
    return _times(of_d, of_e, v)


def _jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    w, v = outs
    inside = product(adjoint(v), _changed(tangents, inputs, v))
    gaps = off_diagonal_inverse(sub(columns(w), rows(w)))
    return [*_values_jvp(tangents, inputs, (w,)), product(v, strong_mul(inside, gaps))]


vectors_op, vectors_strict_op = in_two_forms(
    "tridiagonal_eigh",
    _vjp,
    "beside coinciding eigenvalues",
    inputs=("d", "e"),
    evaluate=_evaluate,
    infer=_infer,
    jvp=_jvp,
    lowering=routine("tridiagonal_eigh", failure=NOT_CONVERGED),
    outputs=2,
    doc=(
        "Eigenvalues, ascending, and orthonormal eigenvectors of symmetric tridiagonal matrices, "
        "given by their diagonals."
    ),
)


def _values_vjp(cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool]) -> list[Any]:
    _, v = bind(vectors_strict_op, list(inputs))
    return _of_outer(mul(v, columns(cts[0])), v)


def _values_jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    _, v = bind(vectors_strict_op, list(inputs))
    return [sum_axes(mul(v, _changed(tangents, inputs, v)), (1,))]


values_op: Op = op(
    "tridiagonal_eigvalsh",
    ("d", "e"),
    evaluate=lambda d, e: _evaluate(d, e, False),
    infer=lambda d, e: (_infer(d, e)[0],),
    vjp=_values_vjp,
    jvp=_values_jvp,
    batch=batch_stacks(lambda: values_op),
    lowering=routine("tridiagonal_eigvalsh", failure=NOT_CONVERGED),
    doc="Eigenvalues, ascending, of symmetric tridiagonal matrices given by their diagonals.",
)


def _diagonals(name: str, d: Any, e: Any) -> tuple[Any, Any]:
    d, e = as_array(d), as_array(e)
    if "c" in (d.dtype.kind, e.dtype.kind):
        raise DTypeError(f"{name}: d and e must be real; take eigh of the whole matrix")
    if ndim_of(d) != 1 or ndim_of(e) != 1 or not same(shape_of(e)[0] + 1, shape_of(d)[0]):
        raise ShapeError(
            f"{name}: d and e must be vectors, e with one element less, not of shapes "
            f"{show(shape_of(d))} and {show(shape_of(e))}"
        )
    dtype = promote(*[v.dtype if v.dtype.kind == "f" else FLOAT64 for v in (d, e)])
    d, e = (reshape(convert(v, dtype), (1, *shape_of(v))) for v in (d, e))
    return d, e


def places_selected(name: str, n: Any, select: Any, select_range: Any) -> slice | None:
    if select in ("a", 0):
        return None
    if select not in ("i", 2) or not isinstance(n, int):
        raise UnsupportedFunctionError(
            f"{user_line()}: linalg.{name} with select={select!r} is not supported; take all of "
            "them, or those of some places by select='i'"
        )
    try:
        low, high = (operator.index(k) for k in select_range)
    except (TypeError, ValueError):
        low, high = 0, -1
    if not 0 <= low <= high < n:
        raise ValueError(
            f"{name}: select_range is {describe(select_range)}; for select='i' it must be two "
            f"places from 0 to {n - 1}, the first and the last one"
        )
    return slice(low, high + 1)


def eigh_tridiagonal(
    d: Any, e: Any, eigvals_only: bool = False, select: str = "a", select_range: Any = None,
    check_finite: bool = True, tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """Eigenvalues, ascending, and eigenvectors of the symmetric matrix of the diagonal d and the
    ones beside it, e; select="i" gives those from place `select_range[0]` to `select_range[1]`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.eigh_tridiagonal(np.array([2.0, 2.0]), np.array([1.0]))[0].round(12)
    array([1., 3.])
    """
    d, e = _diagonals("eigh_tridiagonal", d, e)
    n = shape_of(d)[1]
    part = places_selected("eigh_tridiagonal", n, select, select_range)
    if eigvals_only:
        w = reshape(bind(values_op, [d, e]), (n,))
        return w if part is None else w[part]
    w, v = (reshape(x, shape_of(x)[1:]) for x in bind(vectors_op, [d, e]))
    return tuple(EighResult(w, v) if part is None else (w[part], v[:, part]))


def eigvalsh_tridiagonal(
    d: Any, e: Any, select: str = "a", select_range: Any = None, check_finite: bool = True,
    tol: float = 0.0, lapack_driver: str = "auto",
) -> Any:  # fmt: skip
    """The eigenvalues of `eigh_tridiagonal`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.linalg.eigvalsh_tridiagonal(np.array([2.0, 2.0]), np.array([1.0])).round(12)
    array([1., 3.])
    """
    d, e = _diagonals("eigvalsh_tridiagonal", d, e)
    w = reshape(bind(values_op, [d, e]), shape_of(d)[1:])
    part = places_selected("eigvalsh_tridiagonal", shape_of(d)[1], select, select_range)
    return w if part is None else w[part]


VALUES_ALONE = {vectors_op: (0, values_op), vectors_strict_op: (0, values_op)}
"""As `spectral.VALUES_ALONE`."""

OPS = (vectors_op, vectors_strict_op, values_op)

__all__ = ["eigh_tridiagonal", "eigvalsh_tridiagonal"]
