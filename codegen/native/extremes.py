"""The largest and smallest of running floats, in a form that LLVM recognises as a reduction and
vectorises."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from .bridge import primitive


def greatest(total: Any, value: Any) -> Any:
    """The larger of two floats; NaN if either is."""
    return np.maximum(total, value)


def least(total: Any, value: Any) -> Any:
    """The smaller of two floats; NaN if either is."""
    return np.minimum(total, value)


def _lower(name: str, function: Any) -> None:
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = args[0].type
        callee = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind, kind]))
        # Without the order of -0.0 and 0.0, which NumPy does not promise either, this is two
        # instructions.
        return builder.call(callee, list(args), fastmath=("nsz",))

    primitive(
        function,
        lambda total, value: (
            signature(total, total, total) if isinstance(total, types.Float) else None
        ),
    )(lower)


_lower("llvm.maximum", greatest)
_lower("llvm.minimum", least)
