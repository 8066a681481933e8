"""Generators and recursion of unknown depth are refused; what Python knows is Python's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import ConcretizationError, TracegradError

X = np.array([1.0, 2.0])


def positive(x: Any) -> Iterator[Any]:
    for v in x:
        if v > 0:
            yield v


def doubled(x: Any) -> Iterator[Any]:
    for k in range(len(x)):
        yield x[k] * 2


def over_a_choice(x: Any) -> Any:
    s = 0.0
    for v in positive(x):
        s += v
    return s


def over_all(x: Any) -> Any:
    s = 0.0
    for v in doubled(x):
        s += v**2
    return s


def deep(x: Any) -> Any:
    if x[0] > 10:
        return x[1]
    return deep(x * 2)


def test_a_generator_with_a_condition_is_refused_by_name_and_line() -> None:
    assert tg.grad(over_a_choice)(X) is not None
    with pytest.raises(ConcretizationError, match=r"^test_generators_and_recursion.py:\d+: ") as e:
        tg.jit(over_a_choice)(X)
    assert "it is a generator" in " ".join(e.value.__notes__)


def test_a_generator_without_conditions_is_python() -> None:
    assert tg.jit(over_all)(X) == over_all(X)
    np.testing.assert_allclose(tg.grad(over_all)(X), 8 * X)


def halves(f: Any, a: Any, b: Any) -> Any:
    m = (a + b) / 2
    if abs(f(a) - f(b)) < 0.1:
        return (b - a) * f(m)
    return halves(f, a, m) + halves(f, m, b)


def below_another(x: Any) -> Any:
    return halves(lambda t: np.exp(-x[0] * t), 0.0, x[1])


def test_the_function_that_calls_itself_is_named_with_what_to_write() -> None:
    message = r"test_generators_and_recursion.py:\d+: halves calls itself .*stack = \[first\]"
    with pytest.raises(TracegradError, match=message):
        tg.jit(below_another)(X)


def test_recursion_of_unknown_depth_is_refused() -> None:
    np.testing.assert_allclose(tg.grad(deep)(X), [0, 16])
    with pytest.raises(TracegradError, match="deep calls itself or others too deeply"):
        tg.jit(deep)(X)
