"""Items of lists and deques that one branch in a loop moves, and another does not."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.45, -0.45, 2.55, 0.3])


def in_its_place(x: Any) -> Any:
    q = deque([x[0] + 1.5])
    for _ in range(3):
        v = q.popleft()
        q.appendleft(v * x[1])
    return q[-1]


def behind_another(x: Any) -> Any:
    q = deque([x[0] + 1.5, x[1]])
    for _ in range(5):
        v = q.popleft()
        q.appendleft(v * x[1])
    return q.pop() + 10.0 * q[0]


def in_front_of_some(x: Any) -> Any:
    a = [x[0], x[1]]
    for k in range(4):
        if x[k] > 0:
            a.insert(0, x[k] * a[-1])
        else:
            a[0] = a[0] * x[k]
    return a[-1] + 3.0 * a[0] + 100.0 * len(a)


def moved_up_or_not(x: Any) -> Any:
    a = [x[0]]
    for k in range(4):
        if x[k] < 0:
            a.append(x[k])
            for j in range(len(a) - 1, 0, -1):
                a[j] = a[j - 1] * x[j]
            a[0] = x[k]
    return a[-1] + 100.0 * len(a)


@pytest.mark.parametrize(
    "f", [in_its_place, behind_another, in_front_of_some, moved_up_or_not], ids=lambda f: f.__name__
)
def test_items_that_only_some_branches_move(f: Any) -> None:
    """Whose loop writes to the list, which a branch without it does not."""
    for x in (X, -X, X[::-1]):
        for stage in (True, "auto"):
            value, slope = tg.jit(tg.value_and_grad(f), stage=stage)(x)
            assert np.isclose(value, f(x))
            assert np.allclose(slope, tg.grad(f)(x))
