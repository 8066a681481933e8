"""Python's integers of numbers that are rounded, with its exceptions for those that have none."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import INT64
from ...ir.lines import program_place
from ..check import check, error_text
from .arithmetic import where
from .derived import convert
from .logic import isinf, isnan, logical_and

NAN = "cannot convert float NaN to integer"
INFINITE = "cannot convert float infinity to integer"
BEYOND = "cannot convert a float beyond 2**63 to integer: compiled code computes with int64"


def within(rounded: Any) -> Any:
    """Whether int64 holds a number that was rounded."""
    double = convert(rounded, np.dtype(np.float64))
    return logical_and(double >= -(2.0**63), double < 2.0**63)


def whole(rounded: Any) -> Any:
    """`math.floor(x)` and the like in a trace, of the number rounded as a float."""
    code = where(isnan(rounded), 1, where(isinf(rounded), 2, where(within(rounded), 0, 3)))
    place = program_place()
    errors = ValueError(NAN), OverflowError(INFINITE), OverflowError(BEYOND)
    check(convert(code, INT64), tuple([error_text(e, *place) for e in errors]))
    return convert(where(code == 0, rounded, 0.0), INT64)


__all__ = ["BEYOND", "INFINITE", "NAN", "whole", "within"]
