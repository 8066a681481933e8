"""Derivatives beside integers and booleans that are constants: those beside the same numbers in
float64. Rules that square, negate or add an operand in its own dtype would wrap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

INTEGERS = {
    "?": [True, False, True],
    "i1": [100, -100, 7],
    "u1": [200, 130, 3],
    "i2": [300, -30000, 3],
    "u2": [300, 60000, 9],
    "i4": [100000, -70000, 3],
    "u4": [100000, 4000000000, 2],
    "i8": [5000000000, -4000000001, 3],
    "u8": [5000000000, 12446744073709551615, 3],
}
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "x + b": lambda x, b: x + b,
    "x - b": lambda x, b: x - b,
    "b - x": lambda x, b: b - x,
    "x * b": lambda x, b: x * b,
    "x / b": lambda x, b: x / b,
    "b / x": lambda x, b: b / x,
    "x ** b": lambda x, b: x ** (b % 11),
    "b ** x": lambda x, b: b**x,
    "x % b": lambda x, b: x % b,
    "b % x": lambda x, b: b % x,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "arctan2": np.arctan2,
    "arctan2 turned": lambda x, b: np.arctan2(b, x),
    "logaddexp": np.logaddexp,
    "maximum": np.maximum,
    "clip": lambda x, b: np.clip(x, 0, b),
    "copysign": np.copysign,
    "cross": np.cross,
    "convolve": np.convolve,
    "polyval": np.polyval,
    "trapezoid": lambda x, b: np.trapezoid(x, b),
    "average": lambda x, b: np.average(x, weights=b),
    "solve": lambda x, b: np.linalg.solve(np.diag(x), b),
    "var": lambda x, b: np.var(np.stack([x, b])),
    "xlogy": lambda x, b: tg.xlogy(b, x),
}
X, TANGENT = np.array([2.1, 1.3, 3.2]), np.array([0.7, -0.3, 0.4])


def derivatives(function: Callable[[Any, Any], Any], b: Any) -> list[Any]:
    """A tangent, a gradient and a tangent of the gradient."""

    def gradient(x: Any) -> Any:
        return tg.grad(lambda v: (function(v, b) * 1.0).sum())(x)

    x, t = X, TANGENT
    return [tg.jvp(lambda v: function(v, b), (x,), (t,))[1], *tg.jvp(gradient, (x,), (t,))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_beside_floats(name: str) -> None:
    function = FUNCTIONS[name]
    for kind, numbers in INTEGERS.items():
        b = np.array(numbers).astype(kind)
        try:
            same = np.allclose(function(X, b), function(X, b.astype(float)), equal_nan=True)
        except (TypeError, ValueError):
            continue  # what is no call in NumPy
        if not same:
            continue  # NumPy's integers wrap there
        for found, expected in zip(
            derivatives(function, b), derivatives(function, b.astype(float)), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13, err_msg=kind)


def test_compiled() -> None:
    b = [np.array(INTEGERS[kind]).astype(kind) for kind in ("i1", "u4")]
    found = tg.jit(tg.grad(lambda x: sum(np.arctan2(v, x).sum() for v in b)))(X)
    expected = sum(-v.astype(float) / (v.astype(float) ** 2 + X**2) for v in b)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
