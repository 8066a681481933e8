"""Where a program goes on with a number of a narrow dtype or with one of Python's, as a branch has
it, no value is changed by the dtype that holds both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import evaluated
from tracegrad.staging import loops

X = np.array([1.45, -0.45, 2.55])
SMALL = np.array([3, 200, 7], np.uint8)
SIGNED = np.array([3, 100, -7], np.int8)
SINGLE = np.array([2.5, -1.5, 0.25], np.float32)


def chosen(x: Any) -> Any:
    v = SMALL[1] if x[0] > 0 else -1
    return x[0] * v


def bound_in_one_branch(x: Any) -> Any:
    v = -1
    if x[0] > 0:
        v = SMALL[1]
    return x[0] * v


def the_best(x: Any) -> Any:
    best = -1
    for i in range(3):
        if x[i] > 0.5:
            best = SMALL[i]
    return best + x[0]


def extremes(x: Any) -> Any:
    s = 0.0
    for i in range(3):
        s += max(SMALL[i], -1) * x[i] + min(SMALL[i], -1, i) + max(5, -2, SMALL[i], 300)
        s += max(SIGNED[i], i * 100) * x[0] + min(i - 200, SIGNED[i])
    return s


def the_number_of_a_loop(x: Any) -> Any:
    best = SIGNED[0]
    for i in range(3):
        if x[i] < 5:
            best = 1000 * i
    return best + x[0]


def counted(x: Any) -> Any:
    k = -2
    while x[0] + k < 1:
        k = k + 1 if k < 0 else SMALL[0]
    return k * x[0]


def either(x: Any) -> Any:
    s = 0.0
    for i in range(3):
        t = (SMALL[i] - SMALL[0]) or -5
        s += t * x[i] + (SMALL[i] and 3)
    return s


def returned(x: Any) -> Any:
    def one(v: Any) -> Any:
        if v > 1:
            return np.uint8(7)
        return -1

    s = 0.0
    for i in range(3):
        s += one(x[i]) * x[0]
    return s


def large(x: Any) -> Any:
    s = 0.0
    for i in range(3):
        t = SINGLE[0] if x[i] > 1 else 1e300
        s += t * x[0]
    return s


def that_fit(x: Any) -> Any:
    """These keep the narrow dtype, and its sums wrap around."""
    t = SMALL[1] if x[0] > 0 else 100
    u = SIGNED[1] if x[0] > 0 else np.int8(7)
    return (t + SMALL[1]) * x[0] + (u + np.int8(100))


def of_ours(x: Any) -> Any:
    s = tg.cond(x[0] > 0, lambda: SMALL[1], lambda: -1) * x[0]
    for i in range(3):
        s += tg.switch(i, [lambda: 5, lambda: -2, lambda: SMALL[1]]) * x[i]
        s += tg.cond(x[i] > 0, lambda: SMALL[1], lambda i=i: i - 5) * x[i]
    return s


PROGRAMS = [
    of_ours,
    chosen, bound_in_one_branch, the_best, extremes, the_number_of_a_loop, counted, either,
    returned, large, that_fit,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_no_value_changes(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    for x in (X, -X):
        np.testing.assert_allclose(evaluated(f, x)[0], f(x.copy()), rtol=1e-12)
