"""The functions of numbers that generated code may call, each of them one value, in families.

A `Scalar` says what the function means (its Python body), how it is compiled for processors and for
devices, what it costs and how exact it is. `codegen.native.scalar` makes the functions themselves
when generated code imports them, and `codegen.cuda.scalar` their forms on devices; nothing here
loads Numba.
"""

from __future__ import annotations

from . import (
    arithmetic,
    comparison,
    elementary,
    error_functions,
    random,
    rare,
    special,
    trigonometric,
)  # fmt: skip
from .value import SCALARS, Scalar, add, called, check, cost_of, host_only

for _family in (
    elementary, trigonometric, error_functions, special, rare, arithmetic, comparison, random,
):  # fmt: skip
    for _scalar in _family.SCALARS:
        add(_scalar)

__all__ = ["SCALARS", "Scalar", "add", "called", "check", "cost_of", "host_only"]
