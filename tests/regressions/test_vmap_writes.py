"""What a function writes into its arguments under `vmap` is written into the given ones, as calls
on the slices in a loop would. Once it was dropped without a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

Function = Callable[..., Any]
X = np.arange(1.0, 13.0).reshape(3, 4)


def elements(x: Any) -> Any:
    s = x[0] * 2.0
    x[0] = 7.0
    x[1] += s
    return x * 2.0


def views(x: Any) -> Any:
    v = x[::2]
    v *= x[1:2]
    x[-1] = v[0]
    return v


def all_of_it(x: Any) -> Any:
    x[...] = np.cumsum(x)
    return x


def nothing_given(x: Any) -> Any:
    x += 1.0
    return x[0] * 0.0


def reversed_view(x: Any) -> Any:
    x[1] = 0.0
    return x[::-1]


FUNCTIONS = [elements, views, all_of_it, nothing_given, reversed_view]
WAYS: dict[str, Callable[[Function, Any], Function]] = {
    "vmap": lambda f, axis: tg.vmap(f, axis),
    "jit of vmap": lambda f, axis: tg.jit(tg.vmap(f, axis)),
    "vmap of jit": lambda f, axis: tg.vmap(tg.jit(f), axis),
    "vmap in vmap": lambda f, axis: (
        lambda x: (
            tg.vmap(tg.vmap(f, axis))(x[None])[0]
            if isinstance(x, np.ndarray)
            else tg.vmap(f, axis)(x)
        )
    ),
}


def in_a_loop(f: Function, x: Any, axis: int) -> Any:
    return np.stack([f(np.take(x, k, axis)) for k in range(x.shape[axis])])


def written_in_a_loop(f: Function, x: Any, axis: int) -> Any:
    y = x.copy()
    for part in np.moveaxis(y, axis, 0):
        f(part)
    return y


@pytest.mark.parametrize("kind", ["array", "tensor", "strided"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_writes_reach_the_argument(function: Function, way: str, axis: int, kind: str) -> None:
    x: Any = X.copy()
    if kind == "strided":
        x = np.repeat(X, 2, 1)[:, ::2]
    if kind == "tensor":
        x = tg.tensor(X)
    found = WAYS[way](function, axis)(x)
    assert np.array_equal(found, in_a_loop(function, X, axis))
    assert np.array_equal(x, written_in_a_loop(function, X, axis))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_and_the_derivative(function: Function, compiled: bool) -> None:
    """Of the result and of what was written: an argument under a derivative is a value of its
    own."""

    def loss(x: Any) -> Any:
        y = x * 1.0
        result = tg.vmap(function)(y)
        return np.sum(np.sin(result)) + np.sum(y * y)

    def looped(x: Any) -> Any:
        y = x * 1.0
        parts = [y[k] for k in range(3)]
        results = [function(p) for p in parts]
        return sum(np.sum(np.sin(r)) for r in results) + np.sum(y * y)

    here = tg.jit(tg.grad(loss)) if compiled else tg.grad(loss)
    np.testing.assert_allclose(here(X), tg.grad(looped)(X), rtol=1e-12)
    direction = np.cos(X)
    tangent = tg.jvp(tg.jit(loss) if compiled else loss, (X,), (direction,))[1]
    np.testing.assert_allclose(tangent, tg.jvp(looped, (X,), (direction,))[1], rtol=1e-12)


def test_history_of_a_tensor() -> None:
    leaf = tg.tensor(X, requires_grad=True)
    x = leaf * 1.0
    result = tg.vmap(elements)(x)
    (x.sum() + result.sum()).backward()
    assert leaf.grad.tolist() == [[6, 3, 3, 3]] * 3


def test_an_argument_that_is_not_mapped() -> None:
    def same_for_all(x: Any, y: Any) -> Any:
        y[0] = 3.0
        return x * y

    def each_its_own(x: Any, y: Any) -> Any:
        y[0] = x[0]
        return x * y

    y = np.ones(4)
    assert np.array_equal(tg.vmap(same_for_all, (0, None))(X, y), X * [3, 1, 1, 1])
    assert y.tolist() == [3, 1, 1, 1]
    with pytest.raises(tg.TracegradError, match=r"not mapped, each item something else"):
        tg.vmap(each_its_own, (0, None))(X, y)
    assert y.tolist() == [3, 1, 1, 1]


def test_what_cannot_be_written() -> None:
    fixed = X.copy()
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        tg.vmap(elements)(fixed)
