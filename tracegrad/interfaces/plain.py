"""The plain form: arguments, then results; the status is returned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._codegen import c_function as c
from .._codegen import integers
from .kernels import CArray, TracedKernel, identifier
from .native_function import NativeFunction
from .requests import Request

_NUMBERS: dict[str, tuple[c.Kind, str]] = {
    "float64": ("float64", "double"),
    "float32": ("float32", "float"),
    "int64": ("int64", "long long"),
    "int32": ("int32", "int"),
}
_ELEMENTS = {
    **{name: word for name, (_, word) in _NUMBERS.items()},
    "bool": "unsigned char", "uint8": "unsigned char", "int8": "signed char",
    "int16": "short", "uint16": "unsigned short", "uint32": "unsigned int",
    "uint64": "unsigned long long", "complex64": "float _Complex",
    "complex128": "double _Complex",
}  # fmt: skip


def plain(request: Request) -> NativeFunction:
    """`int f(arguments..., results...)`: numbers by value, arrays and results by address; option
    `finite`: a NaN among the results is a failure (by default a result as any, as in Python)."""
    request.no_options("finite")
    kernel = request.kernel()
    finite = bool(request.options.get("finite", False))
    return request.make(replace(described(kernel, request.name), finite=finite), kernel)


def described(kernel: TracedKernel, name: str, leading: tuple[str, ...] = ()) -> c.CFunction:
    """The plain C function of a kernel; `leading` are symbols of sizes, which come first."""
    parameters = [c.CParameter(n, "int64", f"long long {n}") for n in leading]
    taken = set(leading)
    places: list[c.Place] = []
    for leaf, array in zip(kernel.leaves, kernel.given, strict=True):
        parameter = argument(leaf, array, fresh(array.name, taken))
        parameters.append(parameter)
        by_address = parameter.kind == "pointer"
        places.append((c.At if by_address else c.ByValue)(parameter.name))
    results: list[c.Place] = []
    for array in kernel.form.outputs:
        parameter = pointer(array, fresh(array.name, taken), False)
        parameters.append(parameter)
        results.append(c.At(parameter.name))
    return c.CFunction(
        name,
        tuple(parameters),
        "status",
        kernel.places(places),
        tuple(results),
        tuple([(n, integers.symbol(n)) for n in leading]),
        finite=False,
    )


def fresh(name: str, taken: set[str]) -> str:
    """A C name that no other parameter has."""
    made, k = identifier(name), 1
    while made in taken:
        k += 1
        made = f"{identifier(name)}_{k}"
    taken.add(made)
    return made


def argument(leaf: Any, array: CArray, name: str) -> c.CParameter:
    """A number by value, an array by address."""
    number = not isinstance(leaf, np.ndarray) and array.shape == ()
    if number and array.dtype.name in _NUMBERS:
        kind, word = _NUMBERS[array.dtype.name]
        return c.CParameter(name, kind, f"{word} {name}")
    return pointer(array, name, True)


def pointer(array: CArray, name: str, constant: bool) -> c.CParameter:
    word = _ELEMENTS[array.dtype.name]
    return c.CParameter(name, "pointer", f"{'const ' if constant else ''}{word} *{name}")


__all__ = ["described", "fresh", "plain", "pointer"]
