"""Jitted functions and their derivatives as C functions, in the forms that others call.

One file holds a family of signatures; each says what it takes of a function and how the arrays of
its kernel are passed (`codegen/c_function.py`). The kernel is the one of the Python call.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from ..compiled.jitted import Jitted
from . import equations, exporting, filters, plain, programming, quadrature, samplers, xla
from .kernels import refuse
from .native_function import NativeFunction as NativeFunction
from .native_function import Status as Status
from .requests import Request, made_of
from .requests import last_status as last_status

_MAKERS: dict[str, Callable[[Request], Any]] = {
    "plain": plain.plain,
    "quad": quadrature.quad,
    **dict.fromkeys(quadrature.FORMS, quadrature.spelled),
    "generic_filter": filters.generic_filter,
    "generic_filter1d": filters.generic_filter1d,
    "geometric_transform": filters.geometric_transform,
    "ipopt": programming.ipyopt,
    "ipopt_c": programming.ipopt_c,
    "nutpie": samplers.nutpie,
    "nutpie_expand": samplers.nutpie_expand,
    "ffi": xla.ffi,
    "lsoda": equations.lsoda,
    "minpack": equations.minpack,
    "sundials": equations.sundials,
}
SIGNATURES = {name: " ".join((maker.__doc__ or "").split()) for name, maker in _MAKERS.items()}
"""The signatures that `cfunc` makes, and what each is."""


def cfunc(function: Jitted[..., Any], args: tuple[Any, ...], signature: str, options: Any) -> Any:
    """What `Jitted.cfunc` returns."""
    maker = _MAKERS.get(signature) if isinstance(signature, str) else None
    if maker is None:
        near = difflib.get_close_matches(str(signature), _MAKERS, 1)
        refuse(
            f"{function.__name__}.cfunc",
            f"there is no signature {signature!r:.60}"
            + (f", did you mean {near[0]!r}?" if near else "")
            + f" There are {', '.join(_MAKERS)}.",
            ValueError,
        )
    made = maker(Request(function, args, signature, dict(options)))
    made_of(function, *getattr(made, "functions", (made,)))
    return made


def export(
    function: Jitted[..., Any],
    folder: Any,
    name: str,
    args: tuple[Any, ...],
    derivatives: Any,
    signatures: Any,
    sizes: str,
    cpu: str,
    libraries: Any,
    options: dict[str, Any],
) -> Any:
    """What `Jitted.export` returns."""
    return exporting.export(
        function, _MAKERS, folder, name, args, derivatives, signatures, sizes, cpu, libraries,
        options,
    )  # fmt: skip


__all__ = ["SIGNATURES", "NativeFunction", "Status"]
