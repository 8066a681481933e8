"""Parameters that may be infinite, in formulas that have a limit there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import equal, greater, less, neg, where
from .derived import mul
from .elementary import absolute

INFINITY = float("inf")


def largest(parameter: Any) -> Any:
    """An infinite parameter as a number so large that quotients with it are at their limit, and
    have the slopes of it."""
    kind = getattr(parameter, "dtype", None)
    if kind is None:
        return min(parameter, math.sqrt(np.finfo(np.float64).max))
    if kind.kind != "f":
        return parameter
    infinite = equal(parameter, INFINITY)
    return where(infinite, kind.type(math.sqrt(np.finfo(kind).max)), parameter)


def times(parameter: Any, x: Any) -> Any:
    """parameter * x: where the parameter is infinite, 0 at x = 0, and beside of it infinity, which
    has no slope by x."""
    infinite = equal(absolute(parameter), INFINITY)
    side = where(greater(x, 0), parameter, where(less(x, 0), neg(parameter), mul(x, 0.0)))
    return where(infinite, side, mul(where(infinite, 1.0, parameter), x))
