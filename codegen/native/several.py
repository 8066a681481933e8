"""One result each of SciPy's compiled functions that have several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature

from .bridge import implements, is_real, primitive
from .foreign import typer_of
from .symbols import SPECIAL, register, symbol

RESULTS: dict[str, tuple[str, int, int, int]] = {
    "sine_integral": ("sici", 1, 2, 0),
    "cosine_integral": ("sici", 1, 2, 1),
    "sinh_integral": ("shichi", 1, 2, 0),
    "cosh_integral": ("shichi", 1, 2, 1),
    "fresnel_sine": ("fresnel", 1, 2, 0),
    "fresnel_cosine": ("fresnel", 1, 2, 1),
    "airy_ai": ("airy", 1, 4, 0),
    "airy_aip": ("airy", 1, 4, 1),
    "airy_bi": ("airy", 1, 4, 2),
    "airy_bip": ("airy", 1, 4, 3),
    "airye_ai": ("airye", 1, 4, 0),
    "airye_aip": ("airye", 1, 4, 1),
    "airye_bi": ("airye", 1, 4, 2),
    "airye_bip": ("airye", 1, 4, 3),
    "elliptic_amplitude": ("ellipj", 2, 4, 3),
    "integral_i0": ("iti0k0", 1, 2, 0),
    "integral_k0": ("iti0k0", 1, 2, 1),
    "integral_j0": ("itj0y0", 1, 2, 0),
    "integral_y0": ("itj0y0", 1, 2, 1),
    "integral_i0_over": ("it2i0k0", 1, 2, 0),
    "integral_k0_over": ("it2i0k0", 1, 2, 1),
    "integral_j0_over": ("it2j0y0", 1, 2, 0),
    "integral_y0_over": ("it2j0y0", 1, 2, 1),
    "weber_w": ("pbwa", 2, 2, 0),
    "weber_wp": ("pbwa", 2, 2, 1),
}
"""By name: SciPy's function, how many operands and results it has, and which result it is."""


def _kind(*operands: Any) -> type:
    single = all(x == types.float32 or isinstance(x, np.float32) for x in operands)
    return np.float32 if single else np.float64


def _in_python(name: str, count: int, which: int) -> Callable[..., Any]:
    def one(*operands: Any) -> Any:
        return _kind(*operands)(getattr(scipy.special, name)(*operands)[which])

    operands = ", ".join("xy"[:count])
    made: Callable[..., Any] = eval(f"lambda {operands}: one({operands})", {"one": one})
    return made


def _raw(name: str, count: int, results: int, which: int) -> Callable[..., Any]:
    """The result of that number, of float64 operands, as a function for compiled code."""

    routine = symbol(SPECIAL, name)
    register(routine)

    def one(*operands: Any) -> Any:
        raise TypeError("compiled code only")

    def typer(*operands: Any) -> Any:
        return signature(types.float64, *[types.float64] * count)

    @primitive(one, typer_of(typer, count))
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        # The others go to places that nobody reads.
        places = [cgutils.alloca_once(builder, ir.DoubleType()) for _ in range(results)]
        kinds = [*[ir.DoubleType()] * count, *[ir.DoubleType().as_pointer()] * results]
        called = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), kinds), routine
        )
        builder.call(called, [*args, *places])
        return builder.load(places[which])

    return one


def _compiled(
    function: Callable[..., Any], name: str, count: int, results: int, which: int
) -> None:
    raw = _raw(name, count, results, which)

    def typed(*operands: Any) -> Any:
        if not all(map(is_real, operands)):
            return None
        kind = _kind(*operands)
        if count == 2:
            return lambda x, y: kind(raw(np.float64(x), np.float64(y)))
        return lambda x: kind(raw(np.float64(x)))

    def of_one(x: Any) -> Any:
        return typed(x)

    def of_two(x: Any, y: Any) -> Any:
        return typed(x, y)

    implements(function, inline=False)(of_one if count == 1 else of_two)


for _name, (_function, _count, _results, _which) in RESULTS.items():
    globals()[_name] = _in_python(_function, _count, _which)
    _compiled(globals()[_name], _function, _count, _results, _which)
