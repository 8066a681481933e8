"""Calls on a device: what the plain way does and what the written caller does is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.compiled.test_steps import Case, leaf, ran, swept

X = np.arange(1.0, 5.0)
C = np.array([0.5, 0.25, 2.0, 1.0])


def there(x: Any) -> Any:
    return tg.tensor(x, device="cuda")


def results(x: Any, k: Any, s: Any) -> Any:
    return (x * C * k).sum(), x * s, C * k, 3.0, x[1:] > 2, (x * s).detach()


def trained() -> Case:
    w, steps = there(X).requires_grad_(), there(np.zeros(4))

    def step(x: Any) -> Any:
        w.grad = None
        loss = ((w * x) ** 2).sum()
        loss.backward()
        with tg.no_grad():
            w.sub_(0.01 * w.grad)
            steps.add_(1.0)
        return loss.detach(), w.grad * 1.0, w.detach() * 1.0, steps * 1.0

    return step, lambda: (there(X),)


def drawing() -> Case:
    generator = tg.Generator(3)
    return (lambda x: x + generator.uniform(size=4)), lambda: (there(X),)


def written(x: Any, y: Any) -> Any:
    x.mul_(2.0)
    return x.sum() + y.sum()


class Log:
    def __init__(self) -> None:
        self.count, self.last = 0, there(X)

    def __call__(self, x: Any) -> Any:
        self.count += 1
        self.last = x * self.count
        return self.last + self.count


def logged() -> Case:
    log = Log()
    return (lambda x: (log(x), log.count, log.last * 1.0)), lambda: (there(X),)


CASES: dict[str, Callable[[], Case]] = {
    "a number and a constant": lambda: (results, lambda: (there(X), 1.5, tg.tensor(2.0))),
    "float32": lambda: (results, lambda: (there(X.astype(np.float32)), 2, tg.tensor(2.0))),
    "through the tape": lambda: (results, lambda: (leaf().to("cuda"), 1.5, 2.0)),
    "a leaf there": lambda: (
        results,
        lambda: (there(X).requires_grad_(), np.float32(2), there(3.0)),
    ),
    "a transposed view": lambda: (
        (lambda m: (m @ m.T, m + 1.0)),
        lambda: (there(np.arange(12.0).reshape(3, 4)).T,),
    ),
    "a strided view": lambda: (
        (lambda m: (m.sum(0), m * 2.0)),
        lambda: (there(np.arange(24.0).reshape(4, 6))[:, ::2],),
    ),
    "gradients": lambda: (
        tg.value_and_grad(lambda x: tg.sum(tg.exp(x) * C)),
        lambda: (there(X),),
    ),
    "a captured leaf": lambda: (
        (lambda w: lambda x: (x * w, x * 2.0))(leaf().to("cuda").detach().requires_grad_()),
        lambda: (there(X),),
    ),
    "trains what it reads": trained,
    "draws": drawing,
    "stores around it": logged,
    "writes to an argument": lambda: (written, lambda: (there(X), there(X))),
    "a sweep inside": lambda: (swept, lambda: (there(X),)),
    "no axes, no elements": lambda: (
        (lambda a, b: (a * 2.0, b * 2.0, b.sum())),
        lambda: (there(2.0), there(np.zeros((0, 3)))),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_both_forms(name: str) -> None:
    assert ran(CASES[name](), True) == ran(CASES[name](), False)


def test_sizes_share_one_caller() -> None:
    f = tg.jit(tg.grad(lambda x: (x.sin() * x).sum()))
    for n in (4, 5, 6, 9):
        x = there(np.linspace(0, 1, n))
        y = np.linspace(0, 1, n)
        np.testing.assert_allclose(f(x).numpy(force=True), np.sin(y) + y * np.cos(y))
    assert len(f._callers) == 2


def test_what_lies_elsewhere_is_refused_after_a_call_too() -> None:
    f = tg.jit(lambda x, y: x * y)
    f(there(X), there(X))
    for other in (tg.tensor(X), X):
        with pytest.raises(RuntimeError, match="found at least two devices"):
            f(there(X), other)


def test_a_write_to_memory_that_is_shared() -> None:
    f = tg.jit(written)
    assert f(there(X), there(X)).item() == 30.0
    x, y = there(X), there(np.arange(8.0))
    for _ in range(2):
        with pytest.raises(ValueError, match="x is written to and shares memory"):
            f(x, x[1:])
    assert f(y[:4], y[4:]).item() == 34.0
    assert y.tolist()[:5] == [0.0, 2.0, 4.0, 6.0, 4.0]


def test_failures_are_told() -> None:
    f = tg.jit(lambda t, i: t[i])
    table, place = there(np.arange(5.0)), there(np.array([1, 2]))
    for _ in range(2):
        assert f(table, place).tolist() == [1.0, 2.0]
        with pytest.raises(IndexError, match="7"):
            f(table, there(np.array([1, 7]))).tolist()


STEPS_OF_ANY_SIZE = {
    "an axis without a step": np.lib.stride_tricks.as_strided(np.arange(6.0), (6, 1), (8, 0)),
    "steps past the end": np.lib.stride_tricks.as_strided(np.arange(6.0), (1, 6), (800, 8)),
    "one element": np.lib.stride_tricks.as_strided(np.ones(1), (1, 1), (0, 0)),
    "broadcast": np.broadcast_to(np.arange(3.0), (4, 3)),
    "reversed": np.arange(6.0)[::-1],
    "a column": np.arange(12.0).reshape(6, 2)[:, :1],
    "Fortran order": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "no elements": np.ones((0, 1)),
}


@pytest.mark.parametrize("name", STEPS_OF_ANY_SIZE)
def test_steps_of_any_size(name: str) -> None:
    """Arrays of NumPy and arrays there are copied whatever their strides are."""
    array = STEPS_OF_ANY_SIZE[name]
    assert np.array_equal(there(array).cpu().numpy(), array)
    f = tg.jit(lambda s: s * array)
    for _ in range(2):
        assert np.array_equal(f(there(2.0)).cpu().numpy(), 2 * array)
    x = there(array)
    y = tg.zeros(array.shape, device="cuda")
    for view, other in ((x, y), (x.T, y.T), (x[..., None], y[..., None])):
        other.copy_(view)
        assert np.array_equal(y.cpu().numpy(), array)
        assert np.array_equal(view.clone().cpu().numpy(), view.cpu().numpy())
