"""The functions of `native.scalar` on a device: libdevice's where it has them, elsewhere the bodies that the processor runs."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.cuda import libdevice
from numba.cuda.extending import register_jitable

from ..native import bridge, extremes, integral, scalar, special, support
from ..native.bridge import is_complex, is_float, is_real
from . import bodies
from .bridge import implements, primitive

Function = Callable[..., Any]

# What libdevice has, in double and in single precision.
OF_ONE: dict[Function, tuple[Function, Function]] = {
    getattr(scalar, name): (getattr(math, name),) * 2
    for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc", "exp", "expm1", "gamma", "lgamma", "log", "log10",
        "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh",
    )
}  # fmt: skip
OF_ONE |= {
    scalar.cbrt: (libdevice.cbrt, libdevice.cbrtf),
    scalar.erfinv: (libdevice.erfinv, libdevice.erfinvf),
    scalar.exp2: (libdevice.exp2, libdevice.exp2f),
    scalar.ndtri: (libdevice.normcdfinv, libdevice.normcdfinvf),
    scalar.sigmoid: (bodies.sigmoid, bodies.sigmoid),
    scalar.softplus: (bodies.softplus, bodies.softplus),
    support.fabs_float: (libdevice.fabs, libdevice.fabsf),
    support.rint_float: (libdevice.rint, libdevice.rintf),
}
OF_TWO: dict[Function, tuple[Function, Function]] = {
    scalar.atan2: (math.atan2, math.atan2),
    scalar.hypot: (math.hypot, math.hypot),
    scalar.logaddexp: (bodies.logaddexp, bodies.logaddexp),
    scalar.nextafter: (libdevice.nextafter, libdevice.nextafterf),
}
# Whose integer forms are those of the processor.
OF_TWO_FLOATS: dict[Function, tuple[Function, Function]] = {
    integral.floordiv: (bodies.quotient, bodies.quotient),
    integral.fmod: (math.fmod, math.fmod),
    integral.mod: (bodies.remainder, bodies.remainder),
    integral.pow: (math.pow, math.pow),
}
OF_COMPLEX: dict[Function, Function] = {
    getattr(scalar, name): getattr(cmath, name)
    for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "sin", "sinh", "sqrt", "tan", "tanh")
}
OF_COMPLEX |= {scalar.exp2: bodies.complex_exp2, scalar.sigmoid: bodies.complex_sigmoid}
MISSING = (scalar.i0, scalar.i1, scalar.i0e, scalar.i1e)
"""What no library for devices has."""


def _of_one(function: Function) -> bridge.Typer | None:
    double, single = OF_ONE[function]

    def typer(x: Any) -> Any:
        if x == types.float32:
            return lambda x: np.float32(single(x))
        if is_real(x):
            return lambda x: np.float64(double(np.float64(x)))
        if is_complex(x) and function in OF_COMPLEX:
            of_complex, kind = OF_COMPLEX[function], np.complex64 if x == types.complex64 else np.complex128
            return lambda x: kind(of_complex(np.complex128(x)))
        before = bridge.IMPLEMENTATIONS.get(function)
        return before[0](x) if is_complex(x) and before is not None else None

    return typer


def _of_two(function: Function, double: Function, single: Function, all_kinds: bool) -> bridge.Typer:
    def typer(x: Any, y: Any) -> Any:
        if x == types.float32 and y == types.float32:
            return lambda x, y: np.float32(single(x, y))
        if is_real(x) and is_real(y) and (all_kinds or is_float(x) or is_float(y)):
            return lambda x, y: np.float64(double(np.float64(x), np.float64(y)))
        before = bridge.IMPLEMENTATIONS.get(function)
        return before[0](x, y) if before is not None else None

    return typer


def _predicate(real: Function, of_parts: Function, otherwise: bool) -> bridge.Typer:
    def typer(x: Any) -> Any:
        if is_float(x):
            return lambda x: real(x)
        if is_complex(x):
            return lambda x: of_parts(x.real, x.imag)
        return lambda x: otherwise

    return typer


def _abs(x: Any) -> Any:
    if is_complex(x):
        kind = np.float32 if x == types.complex64 else np.float64
        return lambda x: kind(math.hypot(x.real, x.imag))
    return bridge.IMPLEMENTATIONS[scalar.abs_][0](x)


def _sign(x: Any) -> Any:
    if not is_complex(x):
        return bridge.IMPLEMENTATIONS[scalar.sign][0](x)
    kind = np.complex64 if x == types.complex64 else np.complex128

    def of_complex(x: Any) -> Any:
        size = math.hypot(x.real, x.imag)
        return kind(0) if size == 0 else kind(complex(x.real / size, x.imag / size))

    return of_complex


def _single_or_double(function: Function, *before: str) -> bridge.Typer:
    def typer(*kinds: Any) -> Any:
        x = kinds[-1]
        if not is_real(x):
            return None
        t = np.float32 if x == types.float32 else np.float64
        return (lambda n, x: t(function(np.int64(n), np.float64(x)))) if before else (lambda x: t(function(np.float64(x))))

    return (lambda n, x: typer(n, x)) if before else (lambda x: typer(x))


def _missing(function: Function) -> bridge.Typer:
    def typer(x: Any) -> Any:
        raise NotImplementedError(f"{function.__name__} has no form on CUDA devices; move its operand with .cpu()")

    return typer


def register() -> None:
    """Make the functions known to Numba's compiler for devices."""
    for body in vars(bodies).values():
        if getattr(body, "__module__", "") == bodies.__name__:
            register_jitable(body)
    own: dict[Function, bridge.Typer] = {f: _of_one(f) for f in OF_ONE}  # type: ignore[misc]
    own |= {f: _of_two(f, *pair, all_kinds=True) for f, pair in OF_TWO.items()}
    own |= {f: _of_two(f, *pair, all_kinds=False) for f, pair in OF_TWO_FLOATS.items()}
    own |= {
        extremes.greatest: lambda total, value: bodies.greatest,
        extremes.least: lambda total, value: bodies.least,
        scalar.abs_: _abs,
        scalar.digamma: _single_or_double(bodies.digamma),
        scalar.isfinite: _predicate(math.isfinite, bodies.neither, True),
        scalar.isinf: _predicate(math.isinf, bodies.infinite, False),
        scalar.isnan: _predicate(math.isnan, bodies.no_number, False),
        scalar.sign: _sign,
        scalar.trigamma: _single_or_double(bodies.trigamma),
        special._psi: lambda x: bodies.digamma,
        integral._complex_pow: lambda x, y: bodies.complex_power,
    }
    own |= {f: _missing(f) for f in MISSING}
    for function, (typer, lower) in bridge.PRIMITIVES.items():
        if function not in own:
            primitive(function, typer, lower)
    for function, (typer, _) in bridge.IMPLEMENTATIONS.items():
        own.setdefault(function, typer)
    for function, typer in own.items():
        implements(function, typer)
