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


def test_recursion_of_unknown_depth_is_refused() -> None:
    np.testing.assert_allclose(tg.grad(deep)(X), [0, 16])
    with pytest.raises(TracegradError, match="deep calls itself or others too deeply"):
        tg.jit(deep)(X)
