"""NumPy arrays that a function uses and then writes to: what was traced before must not see what is
written after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import TracegradError

X = np.array([2.0, 3.0])


def assigned(x: Any, b: Any, key: Any = slice(None)) -> Any:
    y = x * 1.0
    y[key] = b
    return y * x


USES: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda x, b: x * b,
    "sum": lambda x, b: x + b,
    "matrix product": lambda x, b: x @ b,
    "outer": lambda x, b: np.outer(b, x),
    "power": lambda x, b: x**b,
    "index": lambda x, b: x[b.astype(int) - 1] * b,
}


def reuses(use: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A function with one buffer for two things."""

    def function(x: Any) -> Any:
        buffer = np.array([1.0, 2.0])
        first = np.sum(use(x, buffer))
        buffer[0] = 9.0
        return first

    return function


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "call",
    [
        lambda f: tg.jit(f)(X),
        lambda f: tg.jit(tg.grad(f))(X),
        lambda f: tg.grad(tg.jit(f))(X),
        lambda f: tg.vmap(f)(X[None]),
        lambda f: tg.jit(lambda x: tg.scan(lambda c, v: (f(c) * c, v), x, np.zeros(2))[0])(X),
        lambda f: tg.jit(lambda x: tg.cond(x[0] > 0.0, f, np.sum, x))(X),
    ],
)
def test_a_buffer_written_after_its_use_is_refused_in_traces(
    use: str, call: Callable[..., Any]
) -> None:
    with pytest.raises(
        TracegradError,
        match=r"test_buffers.py:\d+: an array of shape \(2,\) is used here, and written to later",
    ):
        call(reuses(USES[use]))


def test_a_buffer_with_nan_that_stays_is_no_other() -> None:
    def function(x: Any) -> Any:
        buffer = np.array([np.nan, 2.0])
        return np.nansum(x * buffer) + np.nansum(buffer * x)

    assert tg.jit(function)(X) == 12.0


@pytest.mark.parametrize("key", [slice(None), ..., (), slice(0, 2), slice(None, None, 1)])
@pytest.mark.parametrize(
    "call", [tg.grad, lambda f: tg.jit(tg.grad(f)), lambda f: tg.grad(tg.jit(f))]
)
def test_what_was_assigned_is_not_the_buffer(call: Callable[..., Any], key: Any) -> None:
    def function(x: Any) -> Any:
        buffer = np.array([1.0, 2.0])
        y = x * 1.0
        y[key] = buffer
        buffer[0] = 9.0
        return np.sum(y * x)

    assert np.array_equal(call(function)(X), [1.0, 2.0])


def test_a_buffer_for_each_step() -> None:
    def function(x: Any) -> Any:
        h, buffer = x * 0.0, np.zeros(2)
        for k in range(1, 4):
            buffer[:] = k
            h[:] = buffer
            x = x * h + 1.0
        return np.sum(x)

    assert np.array_equal(tg.jit(tg.grad(function))(X), [6.0, 6.0])
