"""An index array that is known while a function is traced is checked there, as NumPy checks it:
also where nobody uses what is read, or the write is overwritten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

OUTSIDE = np.array([0, 9])
BELOW = np.array([0, -6])
X = np.arange(5.0)


def overwritten(write: Callable[[Any], object]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        z = x * 1.0
        write(z)
        z[...] = 3.0
        return z.sum()

    return f


def unused(read: Callable[[Any], object]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        read(x)
        return x.sum()

    return f


def store(z: Any) -> None:
    z[OUTSIDE] = 2.0


def increase(z: Any) -> None:
    z[[0, 9]] += 2.0


FUNCTIONS = {
    "array": unused(lambda x: x[OUTSIDE]),
    "below": unused(lambda x: x[BELOW]),
    "list": unused(lambda x: x[[0, 9]]),
    "two": unused(lambda x: x[:, None][OUTSIDE, np.array([0, 0])]),
    "take": unused(lambda x: np.take(x, OUTSIDE)),
    "take_along_axis": unused(lambda x: np.take_along_axis(x, OUTSIDE, 0)),
    "compress": unused(lambda x: np.compress([True] * 6, x)),
    "store": overwritten(store),
    "increase": overwritten(increase),
    "put": overwritten(lambda z: np.put(z, OUTSIDE, 1.0)),
    "put_along_axis": overwritten(lambda z: np.put_along_axis(z, OUTSIDE, 1.0, 0)),
    "add.at": overwritten(lambda z: np.add.at(z, OUTSIDE, 1.0)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_outside(name: str) -> None:
    f = FUNCTIONS[name]
    calls: list[tuple[Any, Any]] = [(f, X), (tg.jit(f), X), (tg.jit(tg.grad(f)), X)]
    for call, x in [*calls, (tg.jit(tg.vmap(f)), np.stack([X, X]))]:
        with pytest.raises(IndexError, match=r"index (9|-6|5) is out of bounds"):
            call(x)


def test_each_size_anew() -> None:
    f = tg.jit(unused(lambda x: x[OUTSIDE]))
    for n in (12, 13, 10):
        assert f(np.ones(n)) == n
    for n in (5, 9, 0):
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            f(np.ones(n))


def test_of_a_length_that_only_a_run_knows() -> None:
    @tg.jit
    def f(x: Any) -> Any:
        chosen = x[x > 0.0]
        chosen[np.array([2, -3])]
        return chosen.sum()

    for n in (3, 4, 9):
        assert f(np.ones(n)) == n
    for x in (np.ones(2), np.zeros(0), np.array([1.0, -1.0, 1.0, -1.0])):
        with pytest.raises(IndexError, match=r"index (2|-3) is out of bounds for axis 0"):
            f(x)


def test_a_place_made_of_a_size_is_of_every_size() -> None:
    """The last column, which a loop's index names an element of, is no number of one graph."""

    def corners(x: Any) -> Any:
        last, total = len(x) - 1, 0.0
        for i in range(len(x)):
            total = total + x[i, last] * x[last, i]
        return total

    f: Any = tg.jit(corners)
    sizes = (4, 7, 9, 12)
    for n in sizes:
        x = np.arange(float(n * n)).reshape(n, n)
        np.testing.assert_allclose(f(x), corners(x), rtol=1e-13)
    assert len({id(e) for e in f._signatures.entries.values()}) == 2


def test_in_a_branch_only_where_it_is_taken() -> None:
    @tg.jit
    def f(x: Any) -> Any:
        if x[0] > 0:
            x[OUTSIDE]
        return x.sum()

    assert f(-X - 1.0) == -15.0
    with pytest.raises(IndexError, match="out of bounds"):
        f(X + 1.0)


def test_inside() -> None:
    f = tg.jit(lambda x: x[np.array([4, -5])].sum() + x[np.zeros((0, 2), int)].sum())
    assert f(X) == 4.0
