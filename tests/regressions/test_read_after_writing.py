"""NumPy's functions that write one part and then read the next give what they have just written
where both lie in the same memory. Here all is read first: where that makes a difference the call is
refused, and where it makes none it is NumPy's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.random.default_rng(0).normal(size=(3, 3))


def written_by(statement: str) -> Callable[[Any], Any]:
    """A function of a matrix that copies it to `y`, and writes into that by the statement."""
    names: dict[str, Any] = {"np": np}
    exec(f"def f(x):\n    y = x * 1.0\n    {statement}\n    return y", names)
    return names["f"]  # type: ignore[no-any-return]


WAYS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "eager": lambda f: lambda x: tg.vjp(f, x)[0],
    "compiled": tg.jit,
    "many": lambda f: lambda x: tg.vmap(f)(np.stack([x, x]))[1],
    "compiled tangent": lambda f: tg.jit(lambda x: tg.jvp(f, (x,), (x,))[1]),
}

REFUSED = {
    "np.concatenate([y[1:], y[:1]], out=y)": "np.concatenate",
    "np.concatenate([y[:, 1:], y[:, :1]], axis=1, out=y)": "np.concatenate",
    "np.concatenate([y[:, 1:], y[:, :1]], 1, y)": "np.concatenate",
    "np.stack([y[1], y[2], y[0]], out=y)": "np.stack",
    "np.ptp(y, axis=0, out=y[1])": "np.ptp",
    "np.fill_diagonal(y, y.diagonal()[::-1])": "np.fill_diagonal",
    "np.place(y, y > 0, y.T)": "np.place",
    "y.flat = y.T": "an assignment to x.flat",
    "y.flat[1:] = y.reshape(-1)[:-1]": "an assignment to x.flat",
    "y.T.flat[[3, 6, 1]] = y[0, ::-1]": "an assignment to x.flat",
    "np.modf(x, out=(y, y[::-1]))": "np.modf",
}
TAKEN = [
    "np.concatenate([y[:1], y[:2].copy()], out=y)",
    "np.concatenate([y[:2], x[:1]], out=y)",
    "np.concatenate([y[1:], y[2:]], out=y)",
    "np.concatenate([[y[1], y[0]], y[2:]], out=y)",
    "np.ptp(y.copy(), axis=0, out=y[1])",
    "np.fill_diagonal(y, y[0])",
    "np.fill_diagonal(y[1:], y[0])",
    "np.place(y, y > 0, x.T)",
    "y.flat = y",
    "y.flat[:-1] = y.reshape(-1)[1:]",
    "y.flat[3:6] = y[0]",
    "y.flat[1:] = y[0, :1]",
    "np.divmod(x, 2.0, out=(y[:], x * 0.0))",
    "y += y.T",
    "y[1:] = y[:-1]",
    "np.put(y, [0, 4, 8], y[0])",
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("statement", REFUSED)
def test_what_numpy_would_read_after_writing_is_refused(statement: str, way: str) -> None:
    with pytest.raises(
        tg.errors.UnsupportedFunctionError, match=re.escape(REFUSED[statement]) + ".*memory"
    ):
        WAYS[way](written_by(statement))(X)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("statement", TAKEN)
def test_what_makes_no_difference_is_numpys(statement: str, way: str) -> None:
    f = written_by(statement)
    found = WAYS[way](f)(X)
    if way == "compiled tangent":
        h = 1e-6
        want = (f(X + h * X) - f(X - h * X)) / (2 * h)
        np.testing.assert_allclose(found, want, rtol=1e-7, atol=1e-9)
    else:
        np.testing.assert_array_equal(found, f(X))


def test_elements_in_the_order_in_which_they_lie() -> None:
    """Axes along which nothing moves stay where they stand: their elements came first."""
    for shape in ((3, 3, 3), (2, 1, 3, 3)):
        for axes in (None, (1, 0, 2), (2, 1, 0)):

            def spread(x: Any, shape: Any = shape, axes: Any = axes) -> Any:
                y = np.broadcast_to(x, shape)
                return np.transpose(y, None if len(shape) > 3 else axes).ravel("K")

            for x in (X, X.T, X[::-1]):
                np.testing.assert_array_equal(tg.vjp(spread, x)[0], spread(x))


@pytest.mark.parametrize("way", ["eager", "compiled", "many"])
def test_memory_that_is_shared_is_said_to_be(way: str) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        pairs = [(y, y[1]), (y[0], y[2]), (y[:2], y[1:]), (y, x), (y.T, y), (y, y.copy())]
        return x[0] * 0 + sum(2**k * np.shares_memory(*p) for k, p in enumerate(pairs))

    np.testing.assert_array_equal(WAYS[way](f)(X), f(X))


def into_a_tuple(x: Any) -> Any:
    y = np.zeros_like(x)
    if np.sum(x) > 0:
        x = x * 2.0
    np.add(x, 1.5, out=(y,))
    return y * 3.0


def into_two(x: Any) -> Any:
    y, z = np.zeros_like(x), np.zeros_like(x)
    if np.sum(x) > 0:
        x = x * 2.0
    np.divmod(x, 1.5, out=(y, z))
    return y + z * x


@pytest.mark.parametrize("way", ["eager", "compiled", "many"])
@pytest.mark.parametrize("f", [into_a_tuple, into_two])
def test_results_go_where_a_tuple_says(f: Any, way: str) -> None:
    """Also beside branches: the tuple became one new array, which was written instead."""
    for x in (X, np.abs(X)):
        np.testing.assert_array_equal(WAYS[way](f)(x), f(x))
