"""Powers with integers as exponents, which may turn out to be negative: to NumPy's integers that is
an error, of Python's it makes a float."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import is_flag
from ..ir.dispatch import STATE, Value
from ..ir.forms import form_of, never_negative, proven, smallest
from ..ir.graph import Var
from ..ir.lines import program_place
from ..sizes import SYMBOLIC
from .check import check, error_text
from .define import shape_of
from .elementwise import powers
from .elementwise.arithmetic import less, where
from .elementwise.derived import convert
from .totals.reductions import any as any_of

_OF_NUMPY = "Integers to negative integer powers are not allowed."
_OF_PYTHON = (
    "An integer to a negative power is a float, and whether it is one has to be known while the "
    "function is traced. Write float(x) ** n."
)


def power(x: Any, y: Any) -> Any:
    """`x ** y` with broadcasting; integer arrays allow no negative integer exponent (ValueError).

    A Python number as exponent is known when the function is traced, and small integers become
    multiplications.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.power(np.array([1.0, 2.0, 3.0]), 2)
    array([1., 4., 9.])
    """
    if STATE.traces and _is_whole(x) and _is_whole(y, "i"):
        _refuse_negative(y, _OF_NUMPY)
    return powers.power(x, y)


pow = power


def power_of_numbers(x: Any, y: Any) -> Any:
    """`x ** y` of Python's numbers, as Python's operator gives it."""
    if _is_whole(x) and _is_whole(y, "i"):
        if _may_be_negative(y):
            x = convert(x, np.float64) if isinstance(x, (Value, *SYMBOLIC)) else float(x)
        elif STATE.traces:
            _refuse_negative(y, _OF_PYTHON)
    return powers.power(x, y)


def _is_whole(x: Any, kinds: str = "biu") -> bool:
    """Whether it is an integer, or an array of integers, of one of these kinds."""
    dtype = getattr(x, "dtype", None)
    if dtype is not None:
        return bool(dtype.kind in kinds)
    return isinstance(x, (int, *SYMBOLIC)) and ("b" in kinds or not is_flag(x))


def _is_known(y: Any) -> bool:
    return isinstance(y, (int, np.generic, np.ndarray)) or (
        isinstance(y, Value) and not isinstance(y._data, Var)
    )


def _may_be_negative(y: Any) -> bool:
    """Whether one exponent is known to be negative at some time, or is written as the negative of
    something: as `-k` of a counter."""
    if _is_known(y):
        return bool((y._data if isinstance(y, Value) else y) < 0)
    if shape_of(y):
        return False
    form = form_of(y)
    least = smallest(form)
    if isinstance(least, int):
        return least < 0
    if never_negative(form):
        return False
    assert not isinstance(form, int)
    return bool(proven("<=", form)) or all(c < 0 for _, c in form.terms)


def _refuse_negative(y: Any, text: str) -> None:
    """Let the program fail where an exponent is negative, unless it is known that none is."""
    if isinstance(y, (int, np.generic, np.ndarray)):
        if np.any(np.asarray(y) < 0):
            raise ValueError(text)
        return
    if not shape_of(y) and never_negative(form_of(y)):
        return
    below = less(y, 0)
    below = any_of(below) if shape_of(y) else below
    code = where(below, np.int64(1), np.int64(0))
    check(code, (error_text(ValueError(text), *program_place()),))


__all__ = ["pow", "power", "power_of_numbers"]
