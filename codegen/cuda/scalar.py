"""The functions of `native.scalar` on a device: libdevice's where it has them, elsewhere the bodies that the processor runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.core.typing import signature
from numba.cuda.extending import overload

from ..native import bridge, extremes, scalar
from ..native.bridge import is_real
from ..native.symbolic import Value
from ..native.vector_math import FUNCTIONS
from .bridge import primitive

UNARY: dict[str, Callable[..., Any]] = {
    name: getattr(math, name)
    for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc", "exp", "expm1", "log", "log10", "log1p", "log2",
        "sin", "sinh", "sqrt", "tan", "tanh",
    )
}  # fmt: skip
"""What libdevice has under the names of the math module."""


def _greatest(total: Any, value: Any) -> Any:
    return total if total >= value or total != total else value


def _least(total: Any, value: Any) -> Any:
    return total if total <= value or total != total else value


def _from_libdevice(name: str) -> bridge.Typer:
    function = UNARY[name]

    def typer(x: Any) -> Any:
        if not is_real(x):
            return None
        kind = np.float32 if x == types.float32 else np.float64
        return lambda x: kind(function(kind(x)))

    return typer


def _as_text(name: str) -> tuple[bridge.Typer, bridge.Lower]:
    """A function of `vector_math`, whose text holds on any processor."""

    def result(*kinds: Any) -> Any:
        if not all(map(is_real, kinds)):
            return None
        return signature(types.float32 if all(k == types.float32 for k in kinds) else types.float64, *kinds)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = sig.return_type
        values = [Value(builder, context.cast(builder, x, t, kind)) for x, t in zip(args, sig.args, strict=True)]
        return FUNCTIONS[str(kind)][name](*values).ir

    one = len(bridge.parameters(getattr(scalar, name))) == 1
    return (lambda x: result(x)) if one else (lambda x, y: result(x, y)), lower


def register() -> None:
    """Make the functions known to Numba's compiler for devices."""
    for function, (typer, lower) in bridge.PRIMITIVES.items():
        name = function.__name__
        if name in UNARY:
            overload(function, strict=False)(_from_libdevice(name))
        elif getattr(scalar, name, None) is function and name in FUNCTIONS["float64"]:
            primitive(function, *_as_text(name))
        elif function not in (extremes.greatest, extremes.least):
            primitive(function, typer, lower)
    overload(extremes.greatest, strict=False)(lambda total, value: _greatest)
    overload(extremes.least, strict=False)(lambda total, value: _least)
    for function, (typer, _) in bridge.IMPLEMENTATIONS.items():
        overload(function, strict=False)(typer)
