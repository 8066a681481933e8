"""All functions that are written so that loops over them vectorise, by dtype and name;
`codegen.scalars` says how exact each is."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.typing import signature

from ...translation.symbolic import LlvmScalar
from ..bridge import is_float, is_real, parameters, primitive
from . import arcs, circular, error_function, exponentials, gamma_functions, hyperbolic, roots
from .formats import FORMATS, Function, Table

EFFORT = ('"prefer-vector-width"="512"', "alignstack(64)")
"""What a function that computes much is compiled with: the widest registers, and a stack where none
of them lies across cache lines.

Kernels take the widest registers anyhow (`unit.py`); functions of the user's that call no such
function are untouched.
"""

FAMILIES = (exponentials, hyperbolic, circular, arcs, roots, error_function, gamma_functions)
FUNCTIONS: Table = {
    f.name: {name: body for family in FAMILIES for name, body in family.FUNCTIONS[f.name].items()}
    for f in FORMATS
}


def written(function: Function, name: str, integers: bool = True) -> None:
    """Give a function of real numbers its native form: the instructions of `name`, where it is
    called.

    Computed in float32 if all arguments are float32, else in float64, as NumPy does. Without
    `integers` the native form is for arguments of which one is a float.
    """

    def result(*kinds: Any) -> Any:
        if not all(is_real(k) for k in kinds) or not (integers or any(is_float(k) for k in kinds)):
            return None
        return signature(
            types.float32 if all(k == types.float32 for k in kinds) else types.float64, *kinds
        )

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = sig.return_type
        for text in EFFORT:
            # llvmlite knows no such attributes; its attribute set prints whatever text it holds.
            set.add(builder.function.attributes, text)
        values = [
            LlvmScalar(builder, context.cast(builder, x, t, kind))
            for x, t in zip(args, sig.args, strict=True)
        ]
        return FUNCTIONS[str(kind)][name](*values).ir

    # Numba reads the number of arguments off the typing function.
    one_or_two = (
        (lambda x: result(x)) if len(parameters(function)) == 1 else (lambda x, y: result(x, y))
    )
    primitive(function, one_or_two)(lower)
