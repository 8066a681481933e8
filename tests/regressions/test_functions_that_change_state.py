"""Whatever is made of a function that changes what is around it: where it is not called as Python
calls it, that is refused in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import TracegradError

X = np.array([1.0, 2.0, 3.0])


class Counter:
    n = 0.0


def counting(_: Any) -> Callable[[Any], Any]:
    counter = Counter()

    def function(x: Any) -> Any:
        counter.n = counter.n + 1.0
        return np.sum(x * x) * counter.n

    return function


def logging(log: list[float]) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        log.append(1.0)
        return np.sum(x * x)

    return function


def training(_: Any) -> Callable[[Any], Any]:
    weights = tg.tensor([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        weights.add_(1.0)
        return np.sum(x * x)

    return function


def drawing(_: Any) -> Callable[[Any], Any]:
    return lambda x: np.sum(x * tg.rand(3))


KINDS = (counting, logging, training, drawing)
MADE: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "sparse_jacobian": lambda f: tg.sparse_jacobian(lambda x: f(x) * x)(X),
    "its structure": lambda f: tg.sparse_jacobian(lambda x: f(x) * x).structure(X),
    "its values": lambda f: tg.sparse_jacobian(lambda x: f(x) * x).values(X),
    "by columns": lambda f: tg.sparse_jacobian(lambda x: f(x) * x, method="columns")(X),
    "of a jitted one": lambda f: tg.sparse_jacobian(tg.jit(lambda x: f(x) * x))(X),
    "sparse_hessian": lambda f: tg.sparse_hessian(f)(X),
    "sparsity": lambda f: tg.sparsity(f)(X),
    "hessian_of_lagrangian": lambda f: tg.hessian_of_lagrangian(f, lambda x: x)(X, X, 1.0),
    "njit": lambda f: tg.jit(f).njit(X, captures="freeze"),
    "njit with arguments": lambda f: tg.jit(f).njit(X, captures="arguments"),
    "cfunc": lambda f: tg.jit(f).cfunc(X),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("kind", KINDS)
def test_is_refused(kind: Callable[[Any], Callable[[Any], Any]], made: str) -> None:
    log: list[float] = []
    with pytest.raises(TracegradError, match="changes what is around it"):
        MADE[made](kind(log))
    assert not log


def test_one_that_begins_to_change() -> None:
    counter, on = Counter(), [False]

    def function(x: Any) -> Any:
        if on[0]:
            counter.n = counter.n + 1.0
        return x * x

    jacobian = tg.sparse_jacobian(function)
    np.testing.assert_array_equal(jacobian(X).toarray(), np.diag(2 * X))
    on[0] = True
    with pytest.raises(TracegradError, match="changes what is around it"):
        jacobian(X)
    assert counter.n == 0.0
