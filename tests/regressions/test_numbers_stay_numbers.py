"""What Python's operators give of Python's numbers raises no dtype in a trace either: every
operator and rounding, both ways round, with every kind of number beside arrays that are
narrower."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

Function = Callable[[Any, Any], Any]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "divmod": lambda a, b: divmod(a, b)[1],
}
OF_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "abs": abs,
    "-": operator.neg,
    "+": operator.pos,
    "round": round,
    "round to 1": lambda s: round(s, 1),
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "** 2": lambda s: s**2,
    "** 0.5": lambda s: s**0.5,
    "** 7.5": lambda s: s**7.5,
    "2 **": lambda s: 2**s,
    "s ** s": lambda s: s**s,
    "/ 3": lambda s: s / 3,
    "3 -": lambda s: 3 - s,
    "// 2": lambda s: s // 2,
    "% 2": lambda s: s % 2,
    "divmod by 2": lambda s: divmod(s, 2)[0],
    "several": lambda s: abs(round(s**2 - 3)) ** 2 // 2,
}
NUMBERS = {"int": 3, "float": 2.5, "bool": True}
ARRAYS = {
    "float32": np.array([1.5, 2.0], np.float32),
    "int8": np.array([1, 2], np.int8),
    "complex64": np.array([1 + 1j, 2], np.complex64),
}
WAYS: dict[str, Callable[[Function], Function]] = {
    "jit": lambda f: f,
    "jit of jvp": lambda f: lambda s, x: tg.jvp(lambda s: f(s, x), (s,), (1.0,))[0],
    "jit of vjp": lambda f: lambda s, x: tg.vjp(lambda s: f(s, x), s)[0],
    "jit of vmap": lambda f: lambda s, x: tg.vmap(lambda x: f(s, x))(x[None])[0],
}


def check(f: Function, s: Any, x: Any) -> None:
    """NumPy's dtype by each way, without compiling."""
    try:
        expected = f(s, x).dtype
    except TypeError:
        for way in WAYS.values():
            with pytest.raises(TypeError):
                tg.jit(way(f)).graphs(s, x)
        return
    for name, way in WAYS.items():
        if "of vjp" in name or "of jvp" in name:
            if type(s) is not float:
                continue
        graph = tg.jit(way(f)).graphs(s, x)[0]
        assert graph.outputs[0].type.dtype == expected, name


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_beside_an_array(name: str, kind: str, array: str) -> None:
    apply, s, x = OPERATORS[name], NUMBERS[kind], ARRAYS[array]
    check(apply, s, x)
    check(lambda s, x: apply(x, s), s, x)


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_functions_of_numbers(name: str, kind: str, array: str) -> None:
    if kind == "bool" and name == "round to 1":
        pytest.skip("a bool rounded to a decimal is a float here, which is an integer in Python")
    apply = OF_NUMBERS[name]
    check(lambda s, x: apply(s) * x, NUMBERS[kind], ARRAYS[array])


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_their_values_and_derivatives(name: str) -> None:
    apply, x = OF_NUMBERS[name], ARRAYS["float32"]

    def f(s: Any) -> Any:
        return np.sum(apply(s) * x)

    assert float(tg.jit(f)(2.72)) == pytest.approx(float(f(2.72)), rel=1e-6)
    assert float(tg.jit(tg.grad(f))(2.72)) == pytest.approx(
        float(f(2.72 + 1e-3) - f(2.72 - 1e-3)) / 2e-3, rel=1e-2, abs=1e-2
    )


def test_numpy_s_functions_give_an_array_s_number() -> None:
    x = ARRAYS["float32"]
    for function in (np.abs, np.square, np.sin, lambda s: np.power(s, 2)):
        graph = tg.jit(lambda s, x, g=function: g(s) * x).graphs(2.5, x)[0]
        assert graph.outputs[0].type.dtype == (function(2.5) * x).dtype == np.float64
