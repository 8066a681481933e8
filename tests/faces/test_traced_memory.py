"""Whether a reshape of what a trace made is a view, to be written through, is what it is in NumPy,
whose functions keep the order in which their operands lie."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import differences
from tracegrad.faces.traced_memory import kept

X = np.linspace(-0.9, 1.3, 24).reshape(2, 3, 4) ** 3


def added(g: Any, x: Any) -> Any:
    g += x
    return g


def written(g: Any, x: Any) -> Any:
    g[...] = x
    return g


MADE: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: 2 * x.T,
    "two axes": lambda x: np.sin(x.swapaxes(0, 1)),
    "back again": lambda x: (2 * x.T).T,
    "of two": lambda x: x.transpose(2, 0, 1) * (x + 1).transpose(2, 0, 1),
    "of two that disagree": lambda x: x.transpose(1, 0, 2) + x.reshape(3, 2, 4),
    "of rows": lambda x: x.transpose(2, 1, 0) * x[0, 0, :, None, None],
    "of a number": lambda x: x[0, 0, 0] * x.T,
    "cut": lambda x: np.exp(x.T[1:, ::2]),
    "backwards": lambda x: -x[::-1].T,
    "chosen": lambda x: np.where(x.T > 0, x.T, 0.5 * x.T),
    "three in a row": lambda x: np.tanh(np.cos(1 + x.T)),
    "copied": lambda x: (2 * x.T).copy(),
    "copied, columns first": lambda x: (2 * x).copy(order="F"),
    "copied as it is": lambda x: (2 * x.T).copy(order="K"),
    "diagonals": lambda x: 3 * x[:, :2, :2].diagonal(),
    "a product": lambda x: x[0].T @ x[1],
    "reshaped": lambda x: 2 * x.T.reshape(4, 6),
    "added to": lambda x: added(2 * x.T, x.reshape(4, 3, 2)),
    "written to": lambda x: written(2 * x.T, x.reshape(4, 3, 2)[::-1]),
    "an axis of one": lambda x: 2 * x[:1].transpose(1, 0, 2),
}
SHOWN: dict[str, Callable[[Any], Any]] = {
    "ravel": lambda g: g.ravel(),
    "reshape": lambda g: np.reshape(g, (-1, g.shape[-1])).reshape(-1),
    "of the transpose": lambda g: g.T.reshape(-1),
    "last axes": lambda g: g[0].reshape(-1),
}


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("made", MADE)
def test_writes_meet_as_in_numpy(made: str, shown: str) -> None:
    def f(x: Any) -> Any:
        g = MADE[made](x)
        r = SHOWN[shown](g)
        r[1] = x[0, 0, 1]
        g += 0.25 * x[0, 0, 2]
        s = SHOWN[shown](g)  # g lies as before it was written to
        s[0] *= 3.0
        h = 0.5 * g  # lies as g
        SHOWN[shown](h)[-1] = 1.5
        weights = np.arange(1.0, g.size + 1)
        return (
            np.sum(np.sin(g).reshape(-1) * weights)
            + np.sum(r * r)
            + np.sum(s)
            + h.T.reshape(-1)[:3] @ weights[:3]
        )

    value = f(X.copy())
    np.testing.assert_allclose(tg.vmap(f)(X[None])[0], value, rtol=1e-12)
    found, gradient = tg.value_and_grad(f)(X)
    np.testing.assert_allclose(found, value, rtol=1e-12)
    traced = tg.vmap(tg.grad(f))(X[None])[0]
    np.testing.assert_allclose(traced, gradient, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("made", ["transposed", "of rows", "copied, columns first"])
def test_compiled(made: str) -> None:
    def f(x: Any) -> Any:
        g = MADE[made](x)
        r = g.ravel()
        r[1] = x[0, 0, 1]
        return np.sum(g**2) + np.sum(r)

    value, gradient = tg.jit(tg.value_and_grad(f))(X)
    np.testing.assert_allclose(value, f(X.copy()), rtol=1e-12)
    np.testing.assert_allclose(gradient, tg.grad(f)(X), rtol=1e-12)


def test_the_order_of_axes_is_that_of_numpy() -> None:
    choose = random.Random(0)

    def operand(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        axes = choose.sample(range(len(shape)), len(shape))
        x = np.zeros([shape[a] * choose.choice([1, 1, 2]) for a in axes])
        x = x[tuple(slice(None, None, n // shape[a]) for a, n in zip(axes, x.shape, strict=True))]
        x = x.transpose(np.argsort(axes))
        if choose.random() < 0.3:
            x = x[::-1]
        axis = choose.randrange(len(shape))
        one = x[(slice(None),) * axis + (slice(1),)]
        return np.broadcast_to(one, shape) if choose.random() < 0.3 else x

    for _ in range(2_000):
        shape = tuple(choose.choice([1, 2, 3, 5]) for _ in range(choose.randint(2, 4)))
        x, y = operand(shape), operand(shape)
        order = kept([(shape, tuple(s // 8 for s in z.strides)) for z in (x, y)])
        strides, step = [0] * len(shape), 8
        for axis in reversed(order):
            strides[axis], step = step, step * shape[axis]
        there = [k for k, n in enumerate(shape) if n > 1]
        assert [np.add(x, y).strides[k] for k in there] == [strides[k] for k in there]
