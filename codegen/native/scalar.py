"""The functions that generated code calls, each made from its value in `codegen.scalars` when it is
first asked for.

In Python each is NumPy's (or SciPy's) function; compiled, most are those of `vector_math`, and the
others the C library's or SciPy's. Mixed dtypes are cast by the caller.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from ..disk.sources import generated
from ..scalars import SCALARS, Scalar
from .bridge import implements, inlined, is_complex, is_real, parameters
from .math.vector_math import written
from .symbols import SPECIAL, external, symbol

MADE: dict[str, Callable[..., Any]] = {}


def __getattr__(name: str) -> Any:
    if name not in SCALARS:
        raise AttributeError(f"there is no scalar function {name!r}")
    if name not in MADE:
        MADE[name] = _made(SCALARS[name])
    return MADE[name]


def every() -> dict[str, Callable[..., Any]]:
    """All of them by name."""
    return {name: __getattr__(name) for name in SCALARS}


def _made(scalar: Scalar) -> Callable[..., Any]:
    kind, _, routine = scalar.native.partition(" ")
    if kind not in ("body", "vector", "scipy", "complex"):
        defined: Callable[..., Any] = getattr(
            importlib.import_module(f".{kind}", __package__), scalar.name
        )
        return defined
    body = scalar.python
    assert body is not None, scalar
    if kind == "body":
        return inlined(body)
    function = _named(scalar.name, body)
    if kind == "vector":
        written(function, scalar.name)
    if scalar.complex is not None:
        _of_complex(function, scalar.complex)
    if kind == "scipy":
        _of_scipy(function, routine)
    return function


def _named(name: str, python: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers by itself, for Numba to know it by."""
    count = python.nin if isinstance(python, np.ufunc) else len(parameters(python))
    operands = ", ".join("xyzw"[:count])
    function: Callable[..., Any] = generated(
        f"def f({operands}):\n    return python({operands})\n", "f", {"python": python}
    )
    function.__name__ = function.__qualname__ = name
    return function


def _of_complex(function: Callable[..., Any], body: Callable[..., Any]) -> None:
    if not isinstance(body, np.ufunc):
        implements(body, inline=False)(lambda x: body)

    @implements(function)
    def typer(x: Any) -> Any:
        kind = np.complex64 if x == types.complex64 else np.complex128
        return (lambda x: kind(body(x))) if is_complex(x) else None


def _of_scipy(function: Callable[..., Any], routine: str) -> None:
    """SciPy's compiled function over doubles, called by name, single precision through double."""
    count = len(parameters(function))
    signature = types.float64(*[types.float64] * count, types.intc)
    named = "xyzw"[:count]
    wide = ", ".join(f"np.float64({x})" for x in named)

    def typer(*kinds: Any) -> Any:
        if not all(map(is_real, kinds)):
            return None
        # Looked up here, at the first compile that needs it: importing SciPy's module takes a
        # while.
        scope = {"call": external(symbol(SPECIAL, routine), signature), "np": np}
        single = all(k == types.float32 for k in kinds)
        text = f"np.float32(call({wide}, 0))" if single else f"call({wide}, 0)"
        return generated(f"def f({', '.join(named)}):\n    return {text}\n", "f", scope)

    operands = ", ".join(named)
    implements(function)(eval(f"lambda {operands}: typer({operands})", {"typer": typer}))
