"""Indices into arrays of which an axis has no elements: compiled code and derivatives raise where
NumPy does, also where there is no element that they would read, and give what NumPy gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")
SHAPES = ((3,), (0,), (0, 3), (2, 0))
INDICES = (0, -1, 7, np.array([], int), np.array([-4, 0]), np.zeros((2, 0), int))


def _stored(x: Any, i: Any) -> Any:
    y = x.copy()
    y[i] = x.sum()
    return y


def _added(x: Any, i: Any) -> Any:
    y = x.copy()
    np.add.at(y, i, 2.0)
    return y


def _put(x: Any, i: Any) -> Any:
    y = x.copy()
    np.put(y, i, [], mode="wrap")
    return y


def _put_along(x: Any, i: Any) -> Any:
    y = x.copy()
    np.put_along_axis(y, i, x.sum(), 0)
    return y


READ: dict[str, Callable[[Any, Any], Any]] = {
    "x[i]": lambda x, i: x[i],
    "x[:, i]": lambda x, i: x[:, i],
    "x[i, 1:]": lambda x, i: x[i, 1:],
    "take": lambda x, i: np.take(x, i),
    "take axis 0": lambda x, i: np.take(x, i, axis=0),
    "take last": lambda x, i: x.take(i, axis=-1),
    "wrap": lambda x, i: np.take(x, i, axis=0, mode="wrap"),
    "clip": lambda x, i: np.take(x, i, axis=0, mode="clip"),
    "item": lambda x, i: x.item(i),
    "stored": _stored,
    "added": _added,
    "put": _put,
    "put_along_axis": _put_along,
}


def _outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        found = np.asarray(f(*args))
    except (IndexError, TypeError, AttributeError, ValueError):
        return "refused"
    return found.shape, found.tolist()


@pytest.mark.parametrize("name", READ)
def test_as_numpy(name: str) -> None:
    f = READ[name]
    ways: dict[str, Callable[..., Any]] = {
        "compiled": tg.jit(f),
        "batched": lambda x, i: tg.vmap(f)(np.stack([x, x]), np.stack([i, i]))[1],
        "forwards": lambda x, i: tg.jvp(lambda x: f(x, i), (x,), (x,))[0],
    }
    for shape in SHAPES:
        x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        for i in INDICES:
            expected = _outcome(f, x, i)
            for way, g in ways.items():
                assert _outcome(g, x, i) == expected, (way, shape, i)


def test_gradient_of_nothing_taken() -> None:
    """NumPy asks of no index where the axes in front have no elements."""

    def f(x: Any) -> Any:
        return np.sum(np.take(x, [7], axis=1))

    assert (
        tg.grad(f)(np.zeros((0, 3))).shape == tg.jit(tg.grad(f))(np.zeros((0, 3))).shape == (0, 3)
    )


def test_nothing_taken_is_an_array_of_its_own() -> None:
    def f(x: Any) -> Any:
        y = np.take(x, np.zeros(0, int), axis=0)
        y += 1.0
        return np.sum(y) + np.sum(x)

    for shape in ((0, 3), (3, 0)):
        x = np.zeros(shape, np.float32)
        for way in (tg.jit(f), lambda x: tg.value_and_grad(f)(x)[0]):
            assert way(x) == f(x)
    x = tg.Tensor(np.zeros((0, 3)), requires_grad=True)
    taken = tg.take(x, np.zeros(0, int), 0)
    assert isinstance(taken, tg.Tensor)
    assert (taken.requires_grad, taken.shape) == (True, (0, 3))


def test_raised_where_the_program_comes_to_it() -> None:
    def f(x: Any, c: Any) -> Any:
        total = 0.0
        if c > 0:
            total = total + np.sum(np.take(x, [0]))
        return total

    compiled = tg.jit(f)
    assert compiled(np.zeros(0), -1.0) == 0.0
    with pytest.raises(IndexError):
        compiled(np.zeros(0), 1.0)


def _by_mask(x: Any) -> Any:
    chosen = x[x * x > 0.2]
    half = chosen.size // 2
    return x + np.sum(np.concatenate([chosen[half:] ** 2, np.sin(chosen[:half])]))


def _by_places(x: Any) -> Any:
    (i,) = np.nonzero(x.ravel() > 0)
    several = [np.take(x.ravel(), i, mode=mode) for mode in ("raise", "wrap", "clip")]
    return x * np.sum(np.stack(several))


def _written(x: Any) -> Any:
    y = x.copy()
    y[x > 0] = np.sin(x[x > 0])
    return y


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
@pytest.mark.parametrize("function", [_by_mask, _by_places, _written])
def test_as_many_as_a_run_finds_of_nothing_are_nothing(
    function: Callable[[Any], Any], shape: tuple[int, ...]
) -> None:
    """How many elements are taken is not known, that none can be is: once refused."""
    x = np.ones(shape)
    for call in (tg.jit(function), tg.jit(tg.jacfwd(function)), tg.jacrev(tg.jit(function))):
        assert np.asarray(call(x)).shape[: x.ndim] == shape
    np.testing.assert_array_equal(tg.jit(function)(x), function(x))
