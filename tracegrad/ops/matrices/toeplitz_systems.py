"""Systems of Toeplitz matrices: the primitive, with its rules, and SciPy's function.

A stack of matrices is given by their diagonals (s, 2 n - 1), `a[:, n - 1 - i + j] = t[:, i, j]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._codegen import loading
from ...dtypes import FLOAT64, promote
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import same
from ...types import show
from ..arrays.concatenation import concatenate
from ..arrays.creation import zeros
from ..arrays.shape import moveaxis, reshape, sum_axes
from ..arrays.slices import cut, flip
from ..arrays.windows import windows
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import neg, sub
from ..elementwise.derived import conj, convert
from .products import product
from .scipy_names import toeplitz
from .stacks import SINGULAR, Values, batch_stacks, floating, routine
from .systems import solve_stack

ROUNDINGS = 16
"""As `codegen.native.levinson` has it."""


def _evaluate(a: Any, b: Any) -> Any:
    n = b.shape[1]
    out = np.empty(b.shape, np.result_type(a, b))
    levinson = loading.imported("scipy.linalg").solve_toeplitz
    places = n - 1 - np.arange(n)[:, None] + np.arange(n)
    eps = np.finfo(a.dtype).eps
    for values, right, x in zip(a, b, out, strict=True):
        if not right.size:
            continue
        whole = values[places]
        try:
            pair = values[n - 1 :: -1], values[n - 1 :]
            x[...] = levinson(pair, right, check_finite=False)
        except np.linalg.LinAlgError:
            x[...] = np.nan
        missed = np.abs(whole @ x - right).max(0)
        sizes = np.abs(values).sum() * np.abs(x).max(0) + np.abs(right).max(0)
        if not (missed <= ROUNDINGS * eps * sizes).all():
            x[...] = np.linalg.solve(whole, right)
    return out


def _infer(a: Any, b: Any) -> Types:
    kind, right = floating("toeplitz_solve", a.type), b.type
    fits = kind.ndim == 2 and right.ndim == 3 and same(kind.shape[0], right.shape[0])
    if not fits or right.dtype != kind.dtype or not same(kind.shape[1], 2 * right.shape[1] - 1):
        raise ShapeError(
            f"toeplitz_solve: diagonals {kind} and right-hand sides {right} do not fit"
        )
    return (right,)


def _product(a: Any, x: Any) -> Any:
    """t @ x."""
    return product(flip(windows(a, 1, int(shape_of(x)[1])), 1), x)


def _entries(y: Any, x: Any) -> Any:
    """The sums over the diagonals of y @ x.T."""
    s, n, k = shape_of(x)
    y, x = (reshape(moveaxis(v, 2, 1), (s * k, n)) for v in (y, x))
    none = zeros((s * k, n - 1), y.dtype)
    around = windows(concatenate([none, flip(y, 1), none], 1), 1, n)
    found = product(moveaxis(around, 2, 1), reshape(flip(x, 1), (s * k, n, 1)))
    return sum_axes(reshape(found, (s, k, 2 * n - 1)), (1,))


def _vjp(cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool]) -> list[Any]:
    ct_b = bind(solve_op, [conj(flip(inputs[0], 1)), cts[0]])
    return [neg(_entries(ct_b, conj(outs[0]))) if wanted[0] else None, ct_b]


def _jvp(tangents: Values, inputs: Values, outs: Values) -> list[Any]:
    of_a, right = tangents
    if of_a is not None:
        change = _product(of_a, outs[0])
        right = neg(change) if right is None else sub(right, change)
    return [bind(solve_op, [inputs[0], right])]


solve_op: Op = op(
    "toeplitz_solve",
    ("a", "b"),
    evaluate=_evaluate,
    infer=_infer,
    vjp=_vjp,
    jvp=_jvp,
    batch=batch_stacks(lambda: solve_op),
    lowering=routine("toeplitz_solve", failure=SINGULAR),
    doc=(
        "x with t @ x = b for Toeplitz matrices given by their diagonals, by Levinson's recursion; "
        "by elimination where that loses digits."
    ),
)


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """x with toeplitz(c, r) @ x = b, in a time as n * n; where the recursion of that time loses
    digits, which SciPy's result has then lost, by elimination. LinAlgError where the matrix is
    singular.

    >>> import tracegrad as tg
    >>> tg.linalg.solve_toeplitz([2.0, 0.0], [2.0, 4.0])
    array([1., 2.])
    """
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    c, b = as_array(c), as_array(b)
    r = conj(c) if r is None else as_array(r)
    n = shape_of(c)[0] if ndim_of(c) == 1 else 0
    sizes = [n, *shape_of(r)[:1], *shape_of(b)[:1]]
    if ndim_of(r) != 1 or ndim_of(b) not in (1, 2) or not all(same(n, m) for m in sizes) or n == 0:
        raise ShapeError(
            "solve_toeplitz: the first column, the first row and the right-hand sides must be of "
            f"as many elements, not of shapes {show(shape_of(c))}, {show(shape_of(r))} and "
            f"{show(shape_of(b))}"
        )
    dtype = promote(*[v.dtype if v.dtype.kind in "fc" else FLOAT64 for v in (c, r, b)])
    c, r, b = (convert(v, dtype) for v in (c, r, b))
    if not isinstance(n, int):
        whole = toeplitz(c, r)
        right = b if ndim_of(b) == 2 else reshape(b, (n, 1))
        found = solve_stack(reshape(whole, (1, n, n)), reshape(right, (1, *shape_of(right))))
        return reshape(found, shape_of(b))
    a = concatenate([flip(c, 0), cut(r, 0, 1, n - 1)])
    found = bind(solve_op, [reshape(a, (1, -1)), reshape(b, (1, n, -1))])
    return reshape(found, shape_of(b))


OPS = (solve_op,)

__all__ = ["solve_toeplitz"]
