"""The functions of numbers on a device: what their values in `codegen.scalars` name, elsewhere the
bodies that the processor runs."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.cuda import libdevice
from numba.cuda.extending import register_jitable

from ..native import bridge, extremes, integral, numbers, scalar, special, support
from ..native.bridge import is_complex, is_float, is_real
from ..scalars import SCALARS, Scalar, bodies, elementary
from .bridge import implements, primitive

Function = Callable[..., Any]

LIBRARIES = {"math": math, "cmath": cmath, "libdevice": libdevice, "bodies": bodies}


def _found(name: str) -> Function:
    module, _, function = name.partition(".")
    found: Function = getattr(LIBRARIES[module], function)
    return found


def _of_scalar(scalar: Scalar, function: Function) -> bridge.Typer:
    """What is called in place of a function of one or two numbers whose value names something of a
    library for devices."""
    in_double = isinstance(scalar.device, str) and scalar.device.startswith("double ")
    names = (scalar.device,) * 2 if isinstance(scalar.device, str) else scalar.device
    double, single = [_found(name.removeprefix("double ")) for name in names]
    of_complex = _found(scalar.complex_device) if scalar.complex_device else None

    def one(x: Any) -> Any:
        if x == types.float32:
            return (
                (lambda x: np.float32(double(np.float64(x))))
                if in_double
                else (lambda x: np.float32(single(x)))
            )
        if is_real(x):
            return lambda x: np.float64(double(np.float64(x)))
        if is_complex(x) and of_complex is not None:
            kind = np.complex64 if x == types.complex64 else np.complex128
            return lambda x: kind(of_complex(np.complex128(x)))
        before = bridge.IMPLEMENTATIONS.get(function)
        return before[0](x) if is_complex(x) and before is not None else None

    def two(x: Any, y: Any) -> Any:
        if x == types.float32 and y == types.float32:
            return lambda x, y: np.float32(single(x, y))
        if is_real(x) and is_real(y) and (scalar.integers or is_float(x) or is_float(y)):
            return lambda x, y: np.float64(double(np.float64(x), np.float64(y)))
        before = bridge.IMPLEMENTATIONS.get(function)
        return before[0](x, y) if before is not None else None

    return one if len(bridge.parameters(function)) == 1 else two


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
    return bridge.IMPLEMENTATIONS[numbers.abs_][0](x)


def _sign(x: Any) -> Any:
    if not is_complex(x):
        return bridge.IMPLEMENTATIONS[numbers.sign][0](x)
    kind = np.complex64 if x == types.complex64 else np.complex128

    def of_complex(x: Any) -> Any:
        size = math.hypot(x.real, x.imag)
        return kind(0) if size == 0 else kind(complex(x.real / size, x.imag / size))

    return of_complex


def register() -> None:
    """Make the functions known to Numba's compiler for devices."""
    for body in vars(bodies).values():
        if getattr(body, "__module__", "") in (bodies.__name__, elementary.__name__):
            register_jitable(body)
    functions = scalar.every()
    own = {
        functions[s.name]: _of_scalar(s, functions[s.name]) for s in SCALARS.values() if s.device
    }
    own |= {
        extremes.greatest: lambda total, value: bodies.greatest,
        extremes.least: lambda total, value: bodies.least,
        numbers.abs_: _abs,
        numbers.isfinite: _predicate(math.isfinite, bodies.neither, True),
        numbers.isinf: _predicate(math.isinf, bodies.infinite, False),
        numbers.isnan: _predicate(math.isnan, bodies.no_number, False),
        numbers.sign: _sign,
        special._psi: lambda x: bodies.digamma,
        integral._complex_pow: lambda x, y: bodies.complex_power,
        support.fabs_float: _of_scalar(
            Scalar("fabs", device=("libdevice.fabs", "libdevice.fabsf")), support.fabs_float
        ),
        support.trunc_float: _of_scalar(
            Scalar("trunc", device=("libdevice.trunc", "libdevice.truncf")), support.trunc_float
        ),
        support.rint_float: _of_scalar(
            Scalar("rint", device=("libdevice.rint", "libdevice.rintf")), support.rint_float
        ),
    }
    for function in bridge.AS_WRITTEN:
        register_jitable(function)
    for function, (typer, lower) in bridge.PRIMITIVES.items():
        if function not in own:
            primitive(function, typer, lower)
    for function, (typer, _) in bridge.IMPLEMENTATIONS.items():
        own.setdefault(function, typer)
    for function, typer in own.items():
        implements(function, typer)
