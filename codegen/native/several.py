"""One result each of SciPy's compiled functions that have several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numba.core import types

from .bridge import implements, is_real
from .symbols import SPECIAL, external, symbol

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


def _compiled(function: Callable[..., Any], name: str, count: int, results: int, which: int) -> Any:
    place = types.CPointer(types.float64)
    signature = types.void(*[types.float64] * count, *[place] * results)

    def called(operands: Any) -> Any:
        if not all(map(is_real, operands)):
            return None
        call, kind = external(symbol(SPECIAL, name), signature), _kind(*operands)
        return call, kind

    if count == 2:

        @implements(function, inline=False)
        def of_two(x: Any, y: Any) -> Any:
            found = called((x, y))
            if found is None:
                return None
            call, kind = found

            def body(x: Any, y: Any) -> Any:
                o = np.empty(4)
                call(np.float64(x), np.float64(y), o.ctypes, o[1:].ctypes, o[2:].ctypes,
                     o[3:].ctypes)  # fmt: skip
                return kind(o[which])

            return body

        return of_two

    @implements(function, inline=False)
    def of_one(x: Any) -> Any:
        found = called((x,))
        if found is None:
            return None
        call, kind = found

        def to_two(x: Any) -> Any:
            o = np.empty(2)
            call(np.float64(x), o.ctypes, o[1:].ctypes)
            return kind(o[which])

        def to_four(x: Any) -> Any:
            o = np.empty(4)
            call(np.float64(x), o.ctypes, o[1:].ctypes, o[2:].ctypes, o[3:].ctypes)
            return kind(o[which])

        return to_two if results == 2 else to_four

    return of_one


for _name, (_function, _count, _results, _which) in RESULTS.items():
    globals()[_name] = _in_python(_function, _count, _which)
    _compiled(globals()[_name], _function, _count, _results, _which)
