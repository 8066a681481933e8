"""The few places where Numba's extension interface is touched, with types."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba.core import types
from numba.extending import lower_builtin, overload, register_jitable, type_callable

Function = TypeVar("Function", bound=Callable[..., Any])
Typer = Callable[..., Any]
Lower = Callable[[Any, Any, Any, Any], Any]

JIT_OPTIONS: dict[str, Any] = {"error_model": "numpy", "forceinline": True}
"""For small bodies that must melt into the caller's loop."""

CALL_OPTIONS: dict[str, Any] = {"error_model": "numpy"}

PRIMITIVES: dict[Callable[..., Any], tuple[Typer, Lower]] = {}
IMPLEMENTATIONS: dict[Callable[..., Any], tuple[Typer, bool]] = {}
"""The typer of each function that `implements` was told of, and whether its bodies are inlined."""
AS_WRITTEN: dict[Callable[..., Any], bool] = {}
"""Functions whose own body is the native one, for any types, and whether it is inlined."""


def primitive(function: Callable[..., Any], typer: Typer) -> Callable[[Lower], Lower]:
    """Give a Python function a native form written in LLVM terms; `typer(argument types)` returns a
    signature or None.

    Unlike Numba's `intrinsic` the function stays callable from Python, and nothing is compiled for
    it on its own.
    """
    type_callable(function)(lambda context: typer)

    def register(lower: Lower) -> Lower:
        lower_builtin(function, types.VarArg(types.Any))(lower)
        PRIMITIVES[function] = typer, lower
        return lower

    return register


def implements(function: Callable[..., Any], inline: bool = True) -> Callable[[Typer], Typer]:
    """Give a Python function a native form written in Python; `typer(argument types)` returns the
    body to compile, or None."""

    def register(typer: Typer) -> Typer:
        overload(function, jit_options=JIT_OPTIONS if inline else CALL_OPTIONS, strict=False)(typer)
        IMPLEMENTATIONS[function] = typer, inline
        return typer

    return register


def inlined(function: Function) -> Function:
    """A function of scalars whose body is compiled into its callers."""
    AS_WRITTEN[function] = True
    made: Function = register_jitable(**JIT_OPTIONS)(function)
    return made


def compiled(function: Function) -> Function:
    """A function whose body is compiled as it is written."""
    AS_WRITTEN[function] = False
    made: Function = register_jitable(**CALL_OPTIONS)(function)
    return made


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def is_float(t: Any) -> bool:
    return isinstance(t, types.Float)


def is_complex(t: Any) -> bool:
    return isinstance(t, types.Complex)


def is_integer(t: Any) -> bool:
    return isinstance(t, types.Integer)


def is_bool(t: Any) -> bool:
    return isinstance(t, types.Boolean)


def is_real(t: Any) -> bool:
    return isinstance(t, (types.Float, types.Integer, types.Boolean))


def scalar_type(kind: Any) -> Any:
    """NumPy's scalar class of a Numba scalar type."""
    return np.bool_ if is_bool(kind) else getattr(np, str(types.unliteral(kind)))
