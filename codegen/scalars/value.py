"""What is known of one function of numbers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from ..records import Record

Body = Callable[..., Any]


class Scalar(Record):
    """A function of numbers that generated code may call by its name.

    name      its name in generated code
    python    the function on NumPy's scalars; results have NumPy's dtype for operands of one dtype
    native    how it is compiled for processors:
                "body"        as its Python body is written, with functions of `math` and NumPy
                "vector"      the instructions that a family of `codegen.native.math` has under this
                              name, in float32 where all operands are float32, else in float64;
                              loops over them vectorise
                "scipy NAME"  SciPy's compiled function of that name
                "complex"     of complex numbers alone, as the body `complex` is written
                another word  the module of `codegen.native` that defines the function, with a form
                              for each kind of operands; `python` is then left out
    complex   of a "vector" or "complex" function: the body for one complex128, compiled as it is
              written
    device    what is called on CUDA devices if not the native form, in double and in single
              precision: "module.function" of `math`, `libdevice` or `bodies` beside this; with
              "double " in front in double precision only
    complex_device  the same for one complex128, of `cmath` or `bodies`
    integers  whether the device's function is also that of integers, as floats
    cost      how many additions it takes the time of, measured in vectorised loops
    ulp       the largest error in units of the last place, in float64 and in float32
    """

    name: str
    python: Body | None = None
    native: str = "body"
    complex: Body | None = None
    device: str | tuple[str, str] = ""
    complex_device: str = ""
    integers: bool = True
    cost: int = 1
    ulp: tuple[float, float] | None = None


SCALARS: dict[str, Scalar] = {}
"""All of them by name."""
_OUTSIDE: dict[str, str] = {}
"""The texts of bodies that stand outside of this package: kernels on disk are known by them too."""
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\(")


def add(scalar: Scalar) -> Scalar:
    """Make a function known; ValueError where another one has its name."""
    if SCALARS.setdefault(scalar.name, scalar) is not scalar:
        raise ValueError(f"there is a scalar function {scalar.name!r} already")
    body = scalar.python
    if scalar.native == "body" and body is not None and not body.__module__.startswith(__package__):
        _OUTSIDE[scalar.name] = inspect.getsource(body)
    return scalar


def called(code: str) -> list[Scalar]:
    """The functions that a template or text of generated code calls, once for each call."""
    return [SCALARS[name] for name in _CALLED.findall(code) if name in SCALARS]


def cost_of(code: str) -> int:
    """What the functions that a template calls cost together; at least 1."""
    return max(1, sum(s.cost for s in called(code)))


def host_only(text: str) -> list[str]:
    """The functions that a text calls which devices do not have."""
    return [s.name for s in called(text) if not s.device and _on_host(s.native)]


def _on_host(native: str) -> bool:
    return native.startswith("scipy ") or native in ("complex", "guarded", "lambert", "several")


def check(code: str, who: str) -> None:
    """ValueError where the template of an operation calls a function that is not there."""
    for name in _CALLED.findall(code):
        if name not in SCALARS:
            raise ValueError(
                f"the code of {who} calls {name!r}, which is no scalar function: "
                "add it to a family of codegen/scalars first"
            )


def outside(text: str) -> str:
    """The bodies from outside of this package that a kernel's text calls."""
    return "".join(_OUTSIDE[s.name] for s in called(text) if s.name in _OUTSIDE) if _OUTSIDE else ""
