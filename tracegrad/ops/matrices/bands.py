"""Systems of matrices given by their diagonals, their products, and the diagonals of outer
products: the primitives, with their rules.

A matrix with so many diagonals below (`lower`) and above (`upper`) the main one is
`ab[s, upper + i - j, j] = a[s, i, j]`. Each rule is another of these operations, so that no
derivative is larger than the diagonals; what else is in `ab` is not read, and has no derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._codegen import bands
from ..._codegen import lowering as lower
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import same
from ...types import ArrayType, Int
from ..arrays.shape import front, reshape, transpose
from ..define import shape_of
from ..elementwise.arithmetic import neg, sub
from ..elementwise.derived import add, conj
from .stacks import SINGULAR, Values, batch_stacks, floating, routine

NOT_DEFINITE = "Singular or not positive definite matrix"
BY_PIVOTS, BY_DEFINITENESS = (
    routine("band_solve", "lower", "upper", "trans", "definite", failure=failure)
    for failure in (SINGULAR, NOT_DEFINITE)
)


def _fitting(name: str, ab: Any, x: Any, count: int) -> Types:
    """The type of a vector or matrix that goes with these diagonals."""
    kind, right = floating(name, ab.type), x.type
    if (
        kind.ndim != 3
        or right.ndim != 3
        or not same(kind.shape[1], count)
        or not (same(right.shape[0], kind.shape[0]) and same(right.shape[1], kind.shape[2]))
        or right.dtype != kind.dtype
    ):
        raise ShapeError(
            f"{name}: {count} diagonals {kind} and {right} do not fit: sizes, numbers of rows and "
            "dtypes must agree"
        )
    return (right,)


def _turn(trans: int) -> int:
    """What is the adjoint, after the conjugation of both sides for a transposition."""
    return 2 if trans == 0 else 0


def _one_matrix(
    apply: Any, values: Values, axes: Sequence[int | None], params: dict[str, Any], size: Int
) -> Any:
    """One matrix for all: what is mapped becomes further columns."""
    right = front(values[1], axes[1] or 0)
    _, b, n, k = shape_of(right)
    wide = reshape(transpose(right, (1, 2, 0, 3)), (b, n, size * k))
    out = apply(values[0], wide, **params)
    return [transpose(reshape(out, (b, n, size, k)), (2, 0, 1, 3))], [0]


# --- systems --------------------------------------------------------------------------------------


def _solve_evaluate(ab: Any, b: Any, **params: Any) -> Any:
    out = np.empty(b.shape, b.dtype)
    if not bands.solve(ab, b, out, **params):
        raise np.linalg.LinAlgError(NOT_DEFINITE if params["definite"] else SINGULAR)
    return out


def _solve_vjp(
    cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool], *, lower: int, upper: int,
    trans: int, definite: bool,
) -> list[Any]:  # fmt: skip
    ab, x = inputs[0], outs[0]
    if trans == 1:
        ct_b = conj(solve_stack(ab, conj(cts[0]), lower, upper, 0, definite))
    else:
        ct_b = solve_stack(ab, cts[0], lower, upper, _turn(trans), definite)
    if not wanted[0]:
        return [None, ct_b]
    pair = ((ct_b, conj(x)), (conj(x), ct_b), (x, conj(ct_b)))[trans]
    return [neg(entries(*pair, lower, upper)), ct_b if wanted[1] else None]


def _solve_jvp(
    tangents: Values, inputs: Values, outs: Values, *, lower: int, upper: int, trans: int,
    definite: bool,
) -> list[Any]:  # fmt: skip
    t_ab, right = tangents
    if t_ab is not None:
        change = product(t_ab, outs[0], lower, upper, trans)
        right = neg(change) if right is None else sub(right, change)
    return [solve_stack(inputs[0], right, lower, upper, trans, definite)]


def _solve_batch(
    values: Values, axes: Sequence[int | None], size: Int, **params: Any
) -> tuple[list[Any], list[int]]:
    if axes[0] is None:
        return _one_matrix(solve_stack, values, axes, params, size)  # type: ignore[no-any-return]
    return batch_stacks(lambda: solve_op)(values, axes, size, **params)  # type: ignore[no-any-return]


solve_op: Op = op(
    "band_solve",
    ("ab", "b"),
    evaluate=_solve_evaluate,
    infer=lambda ab, b, *, lower, upper, **how: _fitting("band_solve", ab, b, lower + upper + 1),
    vjp=_solve_vjp,
    types_only=("b",),
    jvp=_solve_jvp,
    batch=_solve_batch,
    lowering=lower.Library(
        lambda inputs, outputs, params: (BY_DEFINITENESS if params["definite"] else BY_PIVOTS).call(
            inputs, outputs, params
        )
    ),
    doc=(
        "x with op(a) @ x = b for a matrix given by its diagonals, by LU factorization with row "
        "exchanges; without them where it is Hermitian and positive definite, as `definite` says."
    ),
)


def solve_stack(
    ab: Any, b: Any, lower: int, upper: int, trans: int = 0, definite: bool = False
) -> Any:
    """x with op(a) @ x = b for stacks (s, lower + upper + 1, n) and (s, n, k); op is nothing,
    transposition or the adjoint for trans = 0, 1, 2. Of a definite matrix all diagonals are read,
    and have derivatives."""
    params = {"lower": lower, "upper": upper, "trans": trans, "definite": definite}
    return bind(solve_op, [ab, b], params)


# --- products -------------------------------------------------------------------------------------


def _product_evaluate(ab: Any, x: Any, **params: int) -> Any:
    out = np.empty(x.shape, x.dtype)
    bands.product(ab, x, out, **params)
    return out


def _product_vjp(
    cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool], *, lower: int, upper: int,
    trans: int,
) -> list[Any]:  # fmt: skip
    (ab, x), ct, found = inputs, cts[0], [None, None]
    if wanted[0]:
        pair = ((ct, conj(x)), (conj(x), ct), (x, conj(ct)))[trans]
        found[0] = entries(*pair, lower, upper)
    if wanted[1] and trans == 1:
        found[1] = conj(product(ab, conj(ct), lower, upper))
    elif wanted[1]:
        found[1] = product(ab, ct, lower, upper, _turn(trans))
    return found


def _product_jvp(tangents: Values, inputs: Values, outs: Values, **params: int) -> list[Any]:
    terms = [] if tangents[0] is None else [product(tangents[0], inputs[1], **params)]
    terms += [] if tangents[1] is None else [product(inputs[0], tangents[1], **params)]
    return [terms[0] if len(terms) == 1 else add(*terms)]


def _product_batch(
    values: Values, axes: Sequence[int | None], size: Int, **params: int
) -> tuple[list[Any], list[int]]:
    if axes[0] is None:
        return _one_matrix(product, values, axes, params, size)  # type: ignore[no-any-return]
    return batch_stacks(lambda: product_op)(values, axes, size, **params)  # type: ignore[no-any-return]


product_op: Op = op(
    "band_product",
    ("ab", "x"),
    evaluate=_product_evaluate,
    infer=lambda ab, x, *, lower, upper, trans: _fitting("band_product", ab, x, lower + upper + 1),
    vjp=_product_vjp,
    jvp=_product_jvp,
    batch=_product_batch,
    lowering=routine("band_product", "lower", "upper", "trans"),
    doc="op(a) @ x for a matrix given by its diagonals.",
)


def product(ab: Any, x: Any, lower: int, upper: int, trans: int = 0) -> Any:
    """op(a) @ x for stacks."""
    return bind(product_op, [ab, x], {"lower": lower, "upper": upper, "trans": trans})


# --- the diagonals of outer products --------------------------------------------------------------


def _entries_evaluate(y: Any, x: Any, *, lower: int, upper: int) -> Any:
    out = np.empty((len(x), lower + upper + 1, x.shape[1]), x.dtype)
    bands.entries(y, x, out, lower, upper)
    return out


def _entries_infer(y: Any, x: Any, *, lower: int, upper: int) -> Types:
    kind = floating("band_entries", y.type)
    if kind != x.type or kind.ndim != 3:
        raise ShapeError(f"band_entries: {kind} and {x.type} must be stacks of one type")
    return (ArrayType(kind.dtype, (kind.shape[0], lower + upper + 1, kind.shape[1])),)


def _entries_vjp(
    cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool], **of: int
) -> list[Any]:
    return [
        product(cts[0], conj(inputs[1]), **of) if wanted[0] else None,
        product(cts[0], conj(inputs[0]), **of, trans=1) if wanted[1] else None,
    ]


def _entries_jvp(tangents: Values, inputs: Values, outs: Values, **of: int) -> list[Any]:
    terms = [] if tangents[0] is None else [entries(tangents[0], inputs[1], **of)]
    terms += [] if tangents[1] is None else [entries(inputs[0], tangents[1], **of)]
    return [terms[0] if len(terms) == 1 else add(*terms)]


entries_op: Op = op(
    "band_entries",
    ("y", "x"),
    evaluate=_entries_evaluate,
    infer=_entries_infer,
    vjp=_entries_vjp,
    jvp=_entries_jvp,
    batch=batch_stacks(lambda: entries_op),
    lowering=routine("band_entries", "lower", "upper"),
    doc="The diagonals of y @ x.T, zero where they have no element.",
)


def entries(y: Any, x: Any, lower: int, upper: int) -> Any:
    """The diagonals of y @ x.T for stacks (s, n, k)."""
    return bind(entries_op, [y, x], {"lower": lower, "upper": upper})


OPS = (solve_op, product_op, entries_op)
