"""Deques on traced values in functions that are as they were written: a function without loops and
branches is handed one, and asks it as Python's. (Equal deques were told apart.)"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")
A = np.array([3.0, 1.0, 2.0, 5.0])


def _span(d: Any) -> Any:
    return d[-1] - d[0]


def _stored(d: Any) -> Any:
    d[1] = d[0] * 10.0
    return d[1] + d[-2]


def _beyond(d: Any) -> Any:
    return d[-9]


def _outcome(f: Callable[..., Any], a: Any) -> Any:
    try:
        return float(f(a.copy()))
    except IndexError as error:
        return str(error)


@pytest.mark.parametrize("read", [_span, _stored, _beyond])
def test_read_by_a_function(read: Callable[[Any], Any]) -> None:
    def f(a: Any) -> Any:
        d = deque([a[0], a[1]])
        if a[0] > 1:
            d.append(a[2])
        else:
            d.append(a[3])
        return read(d)

    for a in (A, -A):
        assert _outcome(tg.jit(f), a) == _outcome(f, a)


@pytest.mark.parametrize("read", [_span, _stored, _beyond])
def test_of_a_length_that_only_a_run_knows(read: Callable[[Any], Any]) -> None:
    def f(a: Any) -> Any:
        d = deque([a[0]])
        for v in a:
            if v > 1.5:
                d.append(v)
        return read(d)

    assert _outcome(tg.jit(f), A) == _outcome(f, A)


@pytest.mark.parametrize("read", [_span, _stored, _beyond])
def test_of_a_length_that_is_known(read: Callable[[Any], Any]) -> None:
    def f(a: Any) -> Any:
        d, total = deque([a[1]]), 0.0
        for v in a:
            d.append(v * 2.0)
            if v > 1.5:
                total += d[-1]
        return read(d) + total

    compiled = tg.jit(f, stage=True)
    for a in (A, -A):
        assert _outcome(compiled, a) == _outcome(f, a)


def test_equal_deques_are_never_two() -> None:
    def f(a: Any) -> Any:
        d, e = deque([a[0]]), deque([a[0]])
        if a[0] > 1:
            d.append(a[1])
            e.append(a[1])
        return 1.0 if d == e else 2.0

    with pytest.raises(tg.ConcretizationError, match="known only when the function runs"):
        tg.jit(f)(A)
