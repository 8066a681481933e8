"""What a compiled graph has in place of systems, inverses and determinants of one matrix: its LU
factors, once, and what is done with them.

Only `transforms.factors` makes them, after derivatives have been taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._codegen import loading, substitution
from ...dtypes import INT64
from ...ir.op import Op, Types, op
from ...types import ArrayType
from .stacks import SINGULAR, batch_stacks, routine, square_stack


def _factors_evaluate(a: Any) -> tuple[Any, Any]:
    factors, exchanges = np.empty_like(a), np.empty(a.shape[:2], np.int64)
    if not a.size:
        return factors, exchanges
    getrf: Any = loading.imported("scipy.linalg.lapack").get_lapack_funcs("getrf", (a,))
    for k, m in enumerate(a):
        factors[k], exchanges[k], _ = getrf(m)
    return factors, exchanges


def _factors_infer(a: Any) -> Types:
    kind = square_stack("lu_factors", a)
    return kind, ArrayType(INT64, kind.shape[:2])


lu_factors_op: Op = op(
    "lu_factors",
    ("a",),
    evaluate=_factors_evaluate,
    infer=_factors_infer,
    batch=batch_stacks(lambda: lu_factors_op),
    lowering=routine("lu_factors"),
    outputs=2,
    doc=(
        "Both LU factors of real matrices in one, without the ones on the diagonal, and with "
        "which row each row was exchanged."
    ),
)


def _solve_evaluate(factors: Any, exchanges: Any, b: Any, *, turned: bool) -> Any:
    out = np.empty_like(b)
    for k, m in enumerate(factors):
        if not np.diagonal(m).all():
            raise np.linalg.LinAlgError(SINGULAR)
        out[k] = substitution.by_factors(m, exchanges[k], b[k], turned)
    return out


factored_solve_op: Op = op(
    "factored_solve",
    ("factors", "exchanges", "b"),
    evaluate=_solve_evaluate,
    infer=lambda factors, exchanges, b, *, turned: (b.type,),
    batch=batch_stacks(lambda: factored_solve_op),
    lowering=routine("factored_solve", "turned", failure=SINGULAR),
    doc="x with a @ x = b, or a.T @ x = b, by the LU factors of a.",
)


def _inv_evaluate(factors: Any, exchanges: Any) -> Any:
    unit = np.broadcast_to(np.eye(factors.shape[-1], dtype=factors.dtype), factors.shape)
    return _solve_evaluate(factors, exchanges, unit, turned=False)


factored_inv_op: Op = op(
    "factored_inv",
    ("factors", "exchanges"),
    evaluate=_inv_evaluate,
    infer=lambda factors, exchanges: (factors.type,),
    batch=batch_stacks(lambda: factored_inv_op),
    lowering=routine("factored_inv", failure=SINGULAR),
    doc="The inverse of a matrix by its LU factors.",
)


def _slogdet_evaluate(factors: Any, exchanges: Any) -> tuple[Any, Any]:
    diagonal = np.diagonal(factors, 0, 1, 2)
    odd = np.count_nonzero(exchanges != np.arange(exchanges.shape[1]), axis=1) % 2
    with np.errstate(divide="ignore"):
        size = np.sum(np.log(np.abs(diagonal)), axis=1, dtype=factors.dtype)
    return np.prod(np.sign(diagonal), axis=1) * (1 - 2 * odd).astype(factors.dtype), size


def _slogdet_infer(factors: Any, exchanges: Any) -> Types:
    kind = ArrayType(factors.type.dtype, factors.type.shape[:1])
    return kind, kind


factored_slogdet_op: Op = op(
    "factored_slogdet",
    ("factors", "exchanges"),
    evaluate=_slogdet_evaluate,
    infer=_slogdet_infer,
    batch=batch_stacks(lambda: factored_slogdet_op),
    lowering=routine("factored_slogdet"),
    outputs=2,
    doc="Sign and logarithm of the size of a determinant by LU factors.",
)

OPS = (lu_factors_op, factored_solve_op, factored_inv_op, factored_slogdet_op)
