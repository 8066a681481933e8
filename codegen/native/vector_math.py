"""All functions that are written so that loops over them vectorise, by dtype and name, and how exact each is."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.typing import signature

from . import arcs, circular, error_function, exponentials, gamma_functions, hyperbolic, roots
from .bridge import is_float, is_real, parameters, primitive
from .formats import FORMATS, Function, Table
from .symbolic import Value

EFFORT = ('"prefer-vector-width"="512"', "alignstack(64)")
"""What a function that computes much is compiled with: the widest registers, and a stack where none of them lies across cache lines.

Kernels take the widest registers anyhow (`unit.py`); functions of the user's that call no such function are untouched.
"""

FAMILIES = (exponentials, hyperbolic, circular, arcs, roots, error_function, gamma_functions)
FUNCTIONS: Table = {f.name: {name: body for family in FAMILIES for name, body in family.FUNCTIONS[f.name].items()} for f in FORMATS}

BOUNDS = {
    "acos": (1.3, 1.3), "acosh": (2.9, 2.8), "asin": (2.5, 2.7), "asinh": (2.1, 2.0), "atan": (3.0, 2.0), "atan2": (2.9, 2.0),
    "atanh": (2.3, 2.2), "cbrt": (0.6, 0.6), "cos": (0.9, 0.9), "cosh": (1.6, 1.6), "erf": (2.0, 2.0), "erfc": (3.6, 3.6),
    "exp": (1.0, 1.0), "exp2": (1.2, 1.2), "expm1": (2.0, 1.7), "hypot": (1.1, 1.1), "log": (0.9, 0.9), "log10": (0.8, 0.8),
    "log1p": (1.0, 1.0), "log2": (0.9, 0.9), "logaddexp": (2.0, 2.0), "pow": (1.3, 1.3), "sigmoid": (2.6, 2.6), "sin": (0.9, 0.9),
    "sinh": (2.6, 2.5), "softplus": (1.9, 1.9), "sqrt": (0.5, 0.5), "tan": (2.4, 2.4), "tanh": (2.8, 2.8),
    "trigamma": (4.0, 4.0),
}  # fmt: skip
"""The largest error in units of the last place, in float64 and in float32; that of `logaddexp` in those of the larger operand."""


def written(function: Function, name: str, integers: bool = True) -> None:
    """Give a function of real numbers its native form: the instructions of `name`, where it is called.

    Computed in float32 if all arguments are float32, else in float64, as NumPy does. Without `integers` the native form is for arguments
    of which one is a float.
    """

    def result(*kinds: Any) -> Any:
        if not all(is_real(k) for k in kinds) or not (integers or any(is_float(k) for k in kinds)):
            return None
        return signature(types.float32 if all(k == types.float32 for k in kinds) else types.float64, *kinds)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = sig.return_type
        for text in EFFORT:
            # llvmlite knows no such attributes; its attribute set prints whatever text it holds.
            set.add(builder.function.attributes, text)
        values = [Value(builder, context.cast(builder, x, t, kind)) for x, t in zip(args, sig.args, strict=True)]
        return FUNCTIONS[str(kind)][name](*values).ir

    # Numba reads the number of arguments off the typing function.
    one_or_two = (lambda x: result(x)) if len(parameters(function)) == 1 else (lambda x, y: result(x, y))
    primitive(function, one_or_two)(lower)
