"""What eager calls of a function learnt is used by its later calls, each in its own session."""

from __future__ import annotations

import gc
import itertools
import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.staging import functions, session

X = np.linspace(0.2, 1.4, 7)


def numbers(x: Any) -> Any:
    """Python's `math` on values that have a derivative: it has to be staged, eagerly too."""
    total = 0.0
    for k in range(7):
        total = total + math.sin(x[k]) * float(x[k - 1])
    return total * np.sum(x)


TRANSFORMS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "grad": lambda f: tg.grad(f)(X),
    "hessian": lambda f: tg.hessian(f)(X),
    "jacfwd": lambda f: tg.jacfwd(f)(X),
    "vmap of grad": lambda f: tg.vmap(tg.grad(f))(np.stack([X, X])),
    "hvp": lambda f: tg.hvp(f, X, X),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_nothing_is_kept_of_later_calls(name: str) -> None:
    """Neither of the function that was staged, nor of others that went the same way through ours
    (a session that was shared took each function in)."""
    transform = TRANSFORMS[name]
    transform(numbers)

    def objects() -> int:
        for _ in range(20):
            transform(lambda x: np.sum(x * x))
        for _ in range(3):
            transform(numbers)
        gc.collect()
        return len(gc.get_objects())

    objects()
    found = [objects() for _ in range(3)]
    assert min(b - a for a, b in itertools.pairwise(found)) < 40
    assert all(s.given == () for s in session._KNOWN.values())


def test_a_function_is_rewritten_once() -> None:
    """Not at each call in a loop of eager code, which took a hundred times the time of the step."""
    functions._version.cache_clear()

    def flow(y: Any) -> Any:
        return np.array([y[1], -math.sin(y[0])])

    def steps(y: Any) -> Any:
        for _ in range(20):
            y = y + 0.01 * flow(y)
        return y[0]

    assert tg.grad(steps)(X[:2]).shape == (2,)
    assert functions._version.cache_info().misses == 2


def test_it_is_known_by_the_functions_of_users() -> None:
    session._KNOWN.clear()
    for transform in TRANSFORMS.values():
        transform(numbers)
    assert session._KNOWN.keys() == {numbers.__code__}


def test_threads_that_share_what_is_known() -> None:
    expected = tg.grad(numbers)(X)
    wrong: list[Any] = []

    def run() -> None:
        try:
            for _ in range(8):
                found = tg.grad(numbers)(X)
                if not np.array_equal(found, expected):
                    wrong.append(found)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
