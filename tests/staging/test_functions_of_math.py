"""Functions of `math` of traced numbers: Python's floats and ints, computed in double precision,
which widen no array beside them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import Function, inputs
from tracegrad.ir.evaluate import evaluate
from tracegrad.transforms.weak import explicit

ONE = {
    **dict.fromkeys(("sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan"), 0.625),
    **dict.fromkeys(("asinh", "atanh", "exp", "expm1", "log", "log1p", "log2", "log10"), 0.625),
    **dict.fromkeys(("sqrt", "cbrt", "exp2", "fabs", "degrees", "radians", "erf", "erfc"), 0.625),
    **dict.fromkeys(("acosh", "gamma", "lgamma", "floor", "ceil", "trunc"), 2.625),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), 0.625),
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "atan2": lambda v: math.atan2(v, 2),
    "pow": lambda v: math.pow(v, v),
    "fmod": lambda v: math.fmod(v, 0.25),
    "modf": lambda v: math.modf(-3 * v)[0],
    "whole of modf": lambda v: math.modf(-3 * v)[1],
    "ldexp": lambda v: math.ldexp(v, -3),
    "remainder": lambda v: math.remainder(v, 0.7),
    "isclose": lambda v: math.isclose(v, 0.625),
    "copysign": lambda v: math.copysign(v, -1),
    "hypot": lambda v: math.hypot(v, 2 * v, 1),
    "hypot of one": lambda v: math.hypot(v),
    "log to a base": lambda v: math.log(v, 3),
    "dist": lambda v: math.dist([v, v], [1, 2.0]),
    "fsum": lambda v: math.fsum([v, v, 1]),
    "float": lambda v: float(v),
    "int": lambda v: int(v),
    "bool": lambda v: bool(v),
    "round": lambda v: round(v),
}
FUNCTIONS = {n: (getattr(math, n), x) for n, x in ONE.items() if hasattr(math, n)} | {
    n: (f, 0.625) for n, f in OTHERS.items()
}
STEPS = (
    "isclose",
    "whole of modf",
    "floor",
    "ceil",
    "trunc",
    "int",
    "round",
    "bool",
    "isnan",
    "isinf",
    "isfinite",
)
X = np.array([0.5, -1.25, 3.0], np.float32)
BESIDE: dict[str, Callable[[Any, Any], Any]] = {
    "float32": lambda found, x: found * x,
    "itself": lambda found, x: found,
    "int8": lambda found, x: found * x.astype(np.int8),
    "complex64": lambda found, x: found * x.astype(np.complex64),
    "an int": lambda found, x: found * 3 * x,
    "a bool": lambda found, x: found * True * x,
    "a complex": lambda found, x: found * 2j * x,
}
"""What a result stands beside."""


def of_graph(f: Function, v: Any, stage: Any) -> list[Any]:
    """The results by the graph, in which arrays stand in the place of Python's numbers."""
    jitted: Any = tg.jit(f, stage=stage)
    return evaluate(explicit(jitted.graphs(v)[0]), inputs(jitted, v))


def ways(f: Function, v: Any) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {
        "traced": lambda: of_graph(f, v, "auto"),
        "staged": lambda: of_graph(f, v, True),
        "vmap": lambda: [x[1] for x in tg.vmap(f)(np.stack([v, v]))],
    }
    if v.dtype.kind == "f":
        found |= {
            "vjp": lambda: tg.vjp(f, v)[0],
            "jvp": lambda: tg.jvp(f, (v,), (v,))[0],
            "linearize": lambda: tg.linearize(f, v)[0],
            "jit of vjp": lambda: of_graph(lambda v: tg.vjp(f, v)[0], v, "auto"),
        }
    return found


def check(found: Any, wanted: Any, where: str) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype, where
    tight = wanted.dtype.char in "dDlq?"
    np.testing.assert_allclose(found, wanted, rtol=1e-14 if tight else 3e-7, err_msg=where)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_dtype_and_value_are_those_of_python(name: str) -> None:
    function, at = FUNCTIONS[name]

    def program(v: Any) -> list[Any]:
        found = function(v)
        return [beside(found, X) for beside in BESIDE.values()]

    for v in (np.float32(at), np.float64(at), np.int32(2), np.True_):
        try:
            wanted = program(v)
        except (ValueError, TypeError):  # acos(2), round(np.True_)
            continue
        for way, run in ways(program, v).items():
            for beside, f, w in zip(BESIDE, run(), wanted, strict=True):
                check(f, w, f"{name} of {v!r} beside {beside}, {way}")


@pytest.mark.parametrize("stage", ["auto", True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled(dtype: Any, stage: Any) -> None:
    # NumPy's float32 has no __trunc__.
    known = [FUNCTIONS[name] for name in FUNCTIONS if name != "trunc"]

    def program(v: Any) -> list[Any]:
        return [f(v if at < 1 else v + 2) * X for f, at in known]

    v = dtype(0.625)
    found = tg.jit(program, stage=stage)(v)
    for k, (f, w) in enumerate(zip(found, program(v), strict=True)):
        check(f, w, f"result {k}")


def test_derivatives() -> None:
    """They pass through the number in double precision; the gradient has its argument's dtype."""

    def program(v: Any) -> Any:
        total = 0.0
        for name, (function, at) in FUNCTIONS.items():
            if name not in STEPS:
                total = total + np.sum(function(v if at < 1 else v + 2) * X)
        return total

    h = 1e-6
    v = np.float64(0.625)
    double = X.astype(np.float64)
    wanted = sum(
        (function(v + d + h) - function(v + d - h)) / (2 * h) * np.sum(double)
        for name, (function, at) in FUNCTIONS.items()
        for d in [0 if at < 1 else 2]
        if name not in STEPS
    )
    for dtype in (np.float32, np.float64):
        for gradient in (tg.grad(program), tg.jit(tg.grad(program)), tg.grad(tg.jit(program))):
            found = gradient(dtype(v))
            assert found.dtype == dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_arrays_and_complex_numbers_are_refused_as_python_does() -> None:
    for program in (math.sqrt, math.floor, float, int):
        for v in (np.ones(3), np.complex128(1)):
            with pytest.raises(TypeError, match=r"takes (one|a real) number"):
                tg.jit(lambda v, f=program: f(v), stage=True)(v)
    assert tg.jit(lambda v: math.sqrt(v), stage=True)(np.array([4.0])) == 2.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_no_integer_is_pythons_error(bad: float) -> None:
    for function in (math.floor, math.ceil, math.trunc, int):

        def program(v: Any) -> Any:
            return function(v) * v  # noqa: B023

        try:
            program(bad)
        except (ValueError, OverflowError) as error:
            expected = error
        with pytest.raises(type(expected), match=str(expected)):
            tg.jit(program, stage=True)(bad)
        with pytest.raises(type(expected), match=str(expected)):
            tg.grad(program)(bad)
