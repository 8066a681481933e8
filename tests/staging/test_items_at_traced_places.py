"""Items of lists, tuples and dicts that are read at a place which only a run knows: their values
and all derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.test_semantics import check_slopes
from tests.staging.ways import evaluated
from tracegrad.staging import loops

X = np.array([1.45, -0.45, 2.55, 0.3])


def numbers_in_a_list(x: Any) -> Any:
    items, s = [0.5, x[1], 1, x[0] * 2], 0.0
    for i in range(4):
        s += items[i] * x[i]
    return s


def arrays_in_a_tuple(x: Any) -> Any:
    items, s = (x, 2 * x, x * x, x[0] * x), 0.0
    for i in range(4):
        s += np.sum(items[i] ** 2) * (i + 1)
    return s


def of_a_dict(x: Any) -> Any:
    items, s = {3: x, 0: 2 * x, -1: x * x, 7: x[0] * x}, 0.0
    for k in (7, -1, 0, 3):
        s += np.sum(items[k])
    for i in range(-1, 1):
        s += np.sum(items[i] * x) * items[0][i]
    return s


def at_a_number(x: Any) -> Any:
    items, k = [x, 2 * x, x * x, x[0] * x], int(x[2])
    return np.sum(items[k]) * items[k - 1][1] * x[0]


def at_the_largest(x: Any) -> Any:
    items = (x[3], x[0] * x[1], x[2] ** 2, 1.0)
    return items[np.argmax(x)] * x[0]


def in_a_branch(x: Any) -> Any:
    items, s = [x[0] * x[1], np.sin(x[2])], x[3]
    for i in range(4):
        if x[i] > 0:
            s = s * items[i % 2]
    return s


PROGRAMS = [
    numbers_in_a_list, arrays_in_a_tuple, of_a_dict, at_a_number, at_the_largest, in_a_branch,
]  # fmt: skip
WAYS: dict[str, Callable[[Any], Any]] = {
    "jit of grad": tg.grad,
    "grad of jit": lambda f: tg.grad(tg.jit(f, stage=True)),
    "jvp": lambda f: tg.jacfwd(f),
    "vmap": lambda f: lambda x: tg.grad(lambda y: np.sum(tg.vmap(f)(y)))(np.stack([x, x]))[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives(f: Callable[..., Any], way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    np.testing.assert_allclose(evaluated(f, X)[0], f(X.copy()), rtol=1e-12)
    check_slopes(evaluated(WAYS[way](f), X)[0], f, X)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_second_derivatives(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    check_slopes(evaluated(tg.hessian(f), X)[0], tg.grad(f), X, 1e-5)
