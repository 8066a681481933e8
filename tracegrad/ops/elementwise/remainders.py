"""Quotients that are rounded, and what remains."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._codegen import integers
from ...dtypes import INT64, is_flag
from ...ir.dispatch import bind
from ...ir.forms import counts_behind, form_of, is_of_length, is_python, told, unknown
from ...ir.lines import program_place
from ...sizes import same
from ...sizes.owners import is_late
from ...types import Int
from ...weak import by_zero
from ..check import check as check_code
from ..check import error_text
from .arithmetic import equal
from .comparison import REAL, trunc
from .derived import convert, is_number
from .logic import logical_and
from .pointwise import pointwise

BY_ZERO = ZeroDivisionError("division by zero")


def may_be_python(x: Any) -> bool:
    """Whether it is one of Python's numbers, or is one where it is made of nothing."""
    return is_python(x) or bool(counts_behind(x))


def check_quotient(x: Any, y: Any, error: Exception = BY_ZERO) -> None:
    """Python's quotients of its numbers fail where the divisor is 0; NumPy's are infinite, NaN or,
    of integers, 0. Of what may be Python's: asked of Python's integers that only a run knows, of
    all that is made of lengths of that kind, and of totals, where both of these are of nothing;
    other numbers divide as NumPy's."""
    zero: Any
    behind = counts_behind(y)
    if behind:
        zero = equal(y, 0)
    elif type(y) is int or is_number(y):
        form = form_of(y)
        if told("<", form) or told("<", -form):
            return
        if unknown(form) or is_late(form):
            zero = equal(y, 0)
        elif same(form, 0):
            zero = np.bool_(True)  # where this is reached
        else:
            return  # sizes, and a fact of the arguments
    elif type(y) is not float and is_of_length(y):
        zero = equal(y, 0)
    else:
        return
    counts = {id(count): count for count in (*counts_behind(x), *behind)}
    for count in counts.values():
        zero = logical_and(zero, equal(count, 0))
    check_code(convert(zero, INT64), (error_text(error, *program_place()),))


def _quotients(low: Int | None, high: Int | None, divisor: int) -> tuple[Int, Int] | None:
    if low is None or high is None:
        return None
    return integers.floordiv(low, divisor), integers.floordiv(high, divisor)


def _checked(x: Any, y: Any) -> Any:
    """Of Python's numbers a quotient or remainder fails where the divisor is 0."""
    if may_be_python(x) and may_be_python(y):
        whole = all(type(z) is int or is_number(z) for z in (x, y))
        check_quotient(x, y, by_zero() if whole else BY_ZERO)
    return NotImplemented


floor_divide_op = pointwise(
    "floor_divide",
    ("x", "y"),
    numpy=np.floor_divide,
    code="floordiv({x}, {y})",
    composed=_checked,
    between=_quotients,
    divided=integers.floordiv,
    partials=(0, 0),
    result="promote",
    kinds=REAL,
    weak=True,
    doc="Quotient rounded down.",
)
mod_op = pointwise(
    "mod",
    ("x", "y"),
    numpy=np.remainder,
    code="mod({x}, {y})",
    composed=_checked,
    between=lambda low, high, divisor: (0, divisor - 1),
    divided=integers.mod,
    partials=(1, lambda x, y: -floor_divide(x, y)),
    result="promote",
    kinds=REAL,
    domain="singular",
    weak=True,
    doc="Remainder with the sign of y.",
)
fmod_op = pointwise(
    "fmod",
    ("x", "y"),
    numpy=np.fmod,
    code="fmod({x}, {y})",
    partials=(1, lambda x, y: -trunc(x / y)),
    result="promote",
    kinds=REAL,
    domain="singular",
    doc="Remainder with the sign of x.",
)


def _counted(x: Any, y: Any) -> Any:
    """`x`, as int8 where both operands are booleans: NumPy divides them so."""
    return convert(x, np.int8) if is_flag(x) and is_flag(y) else x


def floor_divide(x: Any, y: Any) -> Any:
    """`x // y`: the quotient rounded down; not differentiable.

    >>> import tracegrad as tg
    >>> int(tg.floor_divide(-7, 2))
    -4
    """
    return bind(floor_divide_op, [_counted(x, y), y])


def mod(x: Any, y: Any) -> Any:
    """`x % y`, with the sign of `y`.

    >>> import tracegrad as tg
    >>> int(tg.mod(-7, 3))
    2
    """
    return bind(mod_op, [_counted(x, y), y])


def fmod(x: Any, y: Any) -> Any:
    """The remainder with the sign of `x`, as in C.

    >>> import tracegrad as tg
    >>> int(tg.fmod(-7, 3))
    -1
    """
    return bind(fmod_op, [_counted(x, y), y])


def divmod_(x: Any, y: Any) -> tuple[Any, Any]:
    """`(x // y, x % y)`.

    >>> import tracegrad as tg
    >>> [int(v) for v in tg.divmod(7, 3)]
    [2, 1]
    """
    return floor_divide(x, y), mod(x, y)


remainder, divmod = mod, divmod_

OPS = (floor_divide_op, mod_op, fmod_op)
