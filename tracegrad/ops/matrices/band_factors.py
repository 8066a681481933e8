"""Cholesky factors of matrices given by their diagonals: the primitives, with their rules.

Operands are stacks (s, planes, k + 1, n). A matrix with planes depends on small numbers of which no
square counts; plane `t` more is the derivative along another one of them
(`codegen.native.band_factors`). So the derivative of either operation, in either direction, is one
of the two with twice as many planes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._codegen import bands
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import same
from ..arrays.concatenation import concatenate
from ..arrays.creation import zeros
from ..arrays.slices import cut
from ..define import shape_of
from .bands import NOT_DEFINITE
from .stacks import Values, batch_stacks, floating, routine


def _along(x: Any, change: Any) -> Any:
    """x with the planes of a change along another small number."""
    change = zeros(shape_of(x), x.dtype) if change is None else change
    return concatenate([zeros(shape_of(change), change.dtype) if x is None else x, change], 1)


def _plain(x: Any) -> Any:
    """The planes without the last small number."""
    return cut(x, 1, 0, int(shape_of(x)[1]) // 2)


def _change(x: Any) -> Any:
    """The planes with it."""
    half = int(shape_of(x)[1]) // 2
    return cut(x, 1, half, half)


def _made(name: str, inputs: tuple[str, ...], **rules: Any) -> Op:
    """One of the two, which `codegen.bands` has under this name without the first word."""
    run: Callable[..., bool] = getattr(bands, name.removeprefix("band_"))

    def evaluate(*operands: Any, lower: bool) -> Any:
        out = np.empty(operands[0].shape, operands[0].dtype)
        if not run(*operands, out, lower):
            raise np.linalg.LinAlgError(NOT_DEFINITE)
        return out

    def infer(*operands: Any, lower: bool) -> Types:
        kinds = [floating(name, x.type) for x in operands]
        if any(
            k.ndim != 4 or k.dtype != kinds[0].dtype or not all(map(same, k.shape, kinds[0].shape))
            for k in kinds
        ):
            raise ShapeError(f"{name}: {' and '.join(map(str, kinds))} must be stacks of one type")
        return (kinds[0],)

    batch = batch_stacks(lambda: one)
    lowering = routine(name, "lower", failure=NOT_DEFINITE)
    one = op(name, inputs, evaluate=evaluate, infer=infer, batch=batch, lowering=lowering, **rules)
    return one


def _cholesky_vjp(
    cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool], *, lower: bool
) -> list[Any]:
    return [adjoint(inputs[0], cts[0], lower)]


def _cholesky_jvp(tangents: Values, inputs: Values, outs: Values, *, lower: bool) -> list[Any]:
    return [_change(factor(_along(inputs[0], tangents[0]), lower))]


cholesky_op = _made(
    "band_cholesky",
    ("ab",),
    vjp=_cholesky_vjp,
    jvp=_cholesky_jvp,
    doc=(
        "The triangular factors of Hermitian positive definite matrices given by the diagonals of "
        "one triangle, in the same form; zero where they have no element."
    ),
)


def factor(ab: Any, lower: bool) -> Any:
    """The factors of a stack (s, planes, k + 1, n)."""
    return bind(cholesky_op, [ab], {"lower": lower})


def _adjoint_vjp(
    cts: Values, inputs: Values, outs: Values, wanted: Sequence[bool], *, lower: bool
) -> list[Any]:
    ct, along = inputs[1], _along(inputs[0], cts[0])
    # It is the gradient of <ct, factor(ab)>: what multiplies cts is <ct, the change of the factor>.
    return [
        _plain(adjoint(along, _along(None, ct), lower)) if wanted[0] else None,
        _change(factor(along, lower)) if wanted[1] else None,
    ]


def _adjoint_jvp(tangents: Values, inputs: Values, outs: Values, *, lower: bool) -> list[Any]:
    (ab, ct), (of_ab, of_ct) = inputs, tangents
    if of_ab is None:
        return [adjoint(ab, of_ct, lower)]
    return [_plain(adjoint(_along(ab, of_ab), _along(of_ct, ct), lower))]


adjoint_op = _made(
    "band_cholesky_adjoint",
    ("ab", "ct"),
    vjp=_adjoint_vjp,
    jvp=_adjoint_jvp,
    doc="The cotangents of the diagonals of matrices for those of their Cholesky factors.",
)


def adjoint(ab: Any, ct: Any, lower: bool) -> Any:
    """The cotangents of a stack (s, planes, k + 1, n)."""
    return bind(adjoint_op, [ab, ct], {"lower": lower})


OPS = (cholesky_op, adjoint_op)
