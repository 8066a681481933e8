"""What operations on stacks of matrices share.

The primitives of linear algebra take stacks (b, n, m) with one leading axis; the functions of
linalg.py bring other ranks to that form. In their rules `adjoint` is the conjugate transpose, and
the inner product of matrices is Re tr(X^H Y).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._codegen import kernel
from ..._codegen import lowering as lower
from ...dtypes import FLOAT64, promote
from ...errors import DTypeError, ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types
from ...sizes import numel, same
from ...types import ArrayType, Int, show
from ..arrays.creation import eye
from ..arrays.shape import broadcast_to, front, reshape, sum_axes
from ..define import shape_of
from ..elementwise.arithmetic import where
from ..elementwise.derived import convert
from .products import operand

Values = Sequence[Any]


SMALL = 8
"""Stacks of real matrices of at most this size, with at most as many right-hand sides, are worked
off many at a time in registers."""
IN_REGISTERS = ("cholesky", "det", "inv", "solve", "triangular_solve")


IN_BLOCKS = (
    "eigh", "eigvalsh", "cholesky", "triangular_solve", "inv", "qr", "det", "slogdet", "solve",
    "svdvals",
)  # fmt: skip
BLOCKED = 24
"""Real matrices of at least so many rows, and of numbers of rows that are not known, are worked off
by own routines in blocks; below, LAPACK takes no longer."""


def is_large(dtype: Any, n: Int) -> bool:
    """Whether own routines in blocks work off matrices of n rows."""
    return bool(dtype.kind == "f") and not (isinstance(n, int) and n < BLOCKED)


def routine(name: str, *parameters: str, failure: str = "") -> lower.Library:
    """A library routine that receives these parameters behind its inputs and outputs, then where to
    record its failure."""
    status = ("status", f"code:{failure}") if failure else ()

    def call(inputs: Any, outputs: Any, params: dict[str, Any]) -> tuple[str, tuple[Any, ...]]:
        given = [params[p] for p in parameters]
        sizes = [s for kind in inputs for s in kind.shape[1:]]
        small = (
            name in IN_REGISTERS
            and inputs[0].dtype.kind == "f"
            and all(isinstance(s, int) and 0 < s <= SMALL for s in sizes)
        )
        large = name in IN_BLOCKS and is_large(inputs[0].dtype, inputs[0].shape[-1])
        return f"small_{name}" if small else f"blocked_{name}" if large else name, (
            *[kernel.Literal(v, FLOAT64) if isinstance(v, float) else v for v in given],
            *status,
        )

    return lower.Library(call)


SINGULAR = "Singular matrix"
NO_CONVERGENCE = "SVD did not converge"


def square_stack(name: str, x: Any) -> ArrayType:
    """The type of a stack of square matrices, or an error that says what the operand is instead."""
    kind: ArrayType = x.type
    if kind.ndim != 3 or not same(kind.shape[1], kind.shape[2]):
        raise ShapeError(f"{name}: needs square matrices, not an array of shape {show(kind.shape)}")
    return floating(name, kind)


def floating(name: str, kind: ArrayType) -> ArrayType:
    """The type itself, where LAPACK computes in its dtype."""
    if kind.dtype.kind not in "fc":
        raise DTypeError(
            f"{name}: needs real or complex floating point numbers, not {kind.dtype}; "
            "convert with .astype(float)"
        )
    return kind


def right_hand_sides(name: str, a: Any, b: Any) -> Types:
    """The type of the solution of a system: that of its right-hand sides."""
    kind, right = square_stack(name, a), b.type
    if (
        right.ndim != 3
        or not (same(right.shape[0], kind.shape[0]) and same(right.shape[1], kind.shape[2]))
        or right.dtype != kind.dtype
    ):
        raise ShapeError(
            f"{name}: matrices {kind} and right-hand sides {right} do not fit: "
            "sizes, numbers of rows and dtypes must agree"
        )
    return (right,)


def batch_stacks(primitive: Callable[[], Op]) -> Any:
    """The batching rule of an operation on stacks: the new axis is merged with the stack's own."""

    def rule(
        values: Values, axes: Sequence[int | None], size: Int, **params: Any
    ) -> tuple[list[Any], list[int]]:
        full = [
            broadcast_to(v, (size, *shape_of(v))) if a is None else front(v, a)
            for v, a in zip(values, axes, strict=True)
        ]
        inside = shape_of(full[0])[1]
        result = bind(
            primitive(), [reshape(v, (size * inside, *shape_of(v)[2:])) for v in full], params
        )
        outs = result if isinstance(result, tuple) else (result,)
        return [reshape(o, (size, inside, *shape_of(o)[1:])) for o in outs], [0] * len(outs)

    return rule


def columns(v: Any) -> Any:
    """A stack of vectors (b, n) that scales the columns of matrices."""
    b, n = shape_of(v)
    return reshape(v, (b, 1, n))


def rows(v: Any) -> Any:
    """A stack of vectors (b, n) that scales the rows of matrices."""
    b, n = shape_of(v)
    return reshape(v, (b, n, 1))


def on_diagonal(v: Any) -> Any:
    """Diagonal matrices of a stack of vectors."""
    return where(eye(shape_of(v)[-1], dtype=bool), columns(v), 0)


def diagonal_of(x: Any) -> Any:
    """The diagonals of a stack of square matrices."""
    return sum_axes(where(eye(shape_of(x)[-1], dtype=bool), x, 0), (1,))


# --- to stacks and back ---------------------------------------------------------------------------


def in_lapack_dtype(*xs: Any) -> list[Any]:
    """The operands in the dtype that LAPACK computes in."""
    arrays = [operand(x) for x in xs]
    dtype = promote(*[x.dtype if x.dtype.kind in "fc" else FLOAT64 for x in arrays])
    return [convert(x, dtype) for x in arrays]


def as_matrix(name: str, x: Any, square: bool = False) -> Any:
    (x,) = in_lapack_dtype(x)
    return check_matrix(name, x, square)


def check_matrix(name: str, x: Any, square: bool) -> Any:
    shape = shape_of(x)
    if len(shape) < 2:
        raise ShapeError(
            f"{name}: needs a matrix or a stack of matrices, not an array of shape {show(shape)}"
        )
    if square and not same(shape[-1], shape[-2]):
        raise ShapeError(
            f"{name}: needs square matrices, not shape {show(shape)}: "
            "the last two sizes must be equal"
        )
    return x


def as_stack(x: Any) -> Any:
    """One leading axis for all matrices."""
    shape = shape_of(x)
    return reshape(x, (numel(shape[:-2]), *shape[-2:]))


def from_stack(result: Any, batch: Sequence[Int]) -> Any:
    return reshape(result, (*batch, *shape_of(result)[1:]))
