"""checkpoint: the gradients of the function itself, less memory, and clear errors where the
function does something else the second time."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a.detach().numpy(), b, rtol=1e-12)


def counted(function: Callable[..., Any]) -> tuple[Callable[..., Any], list[int]]:
    calls: list[int] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        return function(*args, **kwargs)

    return call, calls


def test_gradients_are_those_of_the_function() -> None:
    w = leaf(0.5, 2.0)
    f, calls = counted(lambda v, k=1: ((v * w).sin() * k, v.sum(), 3))
    x = leaf(1.0, -1.0)
    y, total, n = checkpoint(f, x, use_reentrant=False, k=2)
    assert (n, len(calls)) == (3, 1)
    assert y.grad_fn.name() == "MulBackward0"
    (y.sum() + total).backward()
    assert len(calls) == 2
    v, u = np.array([1.0, -1.0]), np.array([0.5, 2.0])
    close(x.grad, 2 * u * np.cos(v * u) + 1)
    close(w.grad, 2 * v * np.cos(v * u))


def test_a_second_pass() -> None:
    f, calls = counted(lambda v: v.sin().exp())
    x = leaf(0.5)
    y = checkpoint(f, x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert len(calls) == 3
    close(x.grad, 2 * np.exp(np.sin([0.5])) * np.cos([0.5]))
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_higher_orders() -> None:
    x = leaf(0.5, 1.0)
    y = checkpoint(lambda v: (v.exp() * v).sum(), x)
    (g,) = tg.autograd.grad(y, x, create_graph=True)
    (h,) = tg.autograd.grad(g.sum(), x, create_graph=True)
    v = np.array([0.5, 1.0])
    close(g, np.exp(v) * (v + 1))
    close(h, np.exp(v) * (v + 2))
    close(tg.autograd.grad(h.sum(), x)[0], np.exp(v) * (v + 3))


def test_random_numbers_are_drawn_again() -> None:
    def dropout(v: Any) -> Any:
        return v.exp() * (tg.rand(50) < 0.5)

    x = tg.zeros(50, requires_grad=True)
    tg.manual_seed(3)
    y = checkpoint(dropout, x)
    after = tg.rand(1).item()
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())
    tg.manual_seed(3)
    tg.rand(50)
    assert tg.rand(1).item() == after
    # The second run did not move the generator.
    tg.manual_seed(3)
    tg.rand(50)
    tg.rand(1)
    expected = tg.rand(1).item()
    tg.manual_seed(3)
    y = checkpoint(dropout, x)
    tg.rand(1)
    y.sum().backward()
    assert tg.rand(1).item() == expected


def test_a_deep_chain_takes_the_memory_of_one_stretch() -> None:
    """Counted in arrays that are alive: 10 stretches of 10 operations."""
    alive: list[weakref.ref[Any]] = []

    class Exp(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, v: Any) -> Any:
            y = v.sin()
            alive.append(weakref.ref(y._data))
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            most.append(sum(r() is not None for r in alive))
            return g * ctx.saved_tensors[0]

    def run(wrap: Callable[..., Any]) -> Any:
        x = tg.ones(3, requires_grad=True)
        y = x
        for _ in range(10):
            y = wrap(stretch, y)
        gc.collect()
        kept = sum(r() is not None for r in alive)
        y.sum().backward()
        return kept, max(most), x.grad.numpy()

    def stretch(v: Any) -> Any:
        for _ in range(10):
            v = Exp.apply(v)
        return v

    most: list[int] = []
    kept, peak, expected = run(lambda f, v: f(v))
    assert kept >= 100
    alive.clear()
    most.clear()
    kept, peak, found = run(checkpoint)
    assert kept <= 12
    assert peak <= 32
    np.testing.assert_array_equal(found, expected)


def test_what_is_kept_goes_with_the_graph() -> None:
    x = leaf(1.0)
    data = np.ones(3)
    held = tg.as_tensor(data.copy())
    reference = weakref.ref(held)
    y = checkpoint(lambda a, b: (a * b).exp().sum(), x, held)
    del held
    assert reference() is not None
    y.backward()
    gc.collect()
    assert reference() is None


def test_the_second_run_stops_early() -> None:
    done: list[str] = []

    def f(v: Any) -> Any:
        y = v.sin()
        done.append("sin")
        z = y + 1
        done.append("add")
        return z

    for early, expected in ((True, ["sin", "add"]), (False, ["sin", "add", "sin", "add"])):
        done.clear()
        checkpoint(f, leaf(1.0), early_stop=early).sum().backward()
        assert done == expected
        done.clear()
        with set_checkpoint_early_stop(early):
            checkpoint(f, leaf(1.0), early_stop=not early).sum().backward()
        assert done == expected


def test_a_function_that_changes_is_found_out() -> None:
    calls: list[int] = []

    def smaller(v: Any) -> Any:
        calls.append(1)
        return (v if len(calls) == 1 else v[:1]).sin().exp().sum()

    y = checkpoint(smaller, leaf(1.0, 2.0))
    with pytest.raises(
        CheckpointError, match=r"(?s)different metadata.*position 0.*\(2,\).*\(1,\)"
    ):
        y.backward()
    calls.clear()

    def other(v: Any) -> Any:
        calls.append(1)
        return v.sin().exp().sum() if len(calls) == 1 else v.sum()

    y = checkpoint(other, leaf(1.0, 2.0))
    with pytest.raises(CheckpointError, match="different number of tensors was saved"):
        y.backward()
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(other, leaf(1.0), determinism_check="foo")


def test_contexts() -> None:
    seen: list[str] = []

    @contextlib.contextmanager
    def noting(word: str) -> Iterator[None]:
        seen.append(word)
        yield

    y = checkpoint(
        lambda v: v.exp().sum(), leaf(1.0), context_fn=lambda: (noting("first"), noting("second"))
    )
    assert seen == ["first"]
    y.backward()
    assert seen == ["first", "second"]


def test_nothing_happens_where_nothing_is_recorded() -> None:
    f, calls = counted(lambda v: v.exp())
    with tg.no_grad():
        assert not checkpoint(f, leaf(1.0)).requires_grad
    assert not checkpoint(f, tg.ones(1)).requires_grad
    assert len(calls) == 2


def test_errors_of_the_function_pass() -> None:
    def bad(v: Any) -> Any:
        raise KeyError("no")

    with pytest.raises(KeyError):
        checkpoint(bad, leaf(1.0))
    x = leaf(1.0)
    x.exp().sum().backward()
    close(x.grad, np.exp([1.0]))


def test_inside_and_around_compiled_functions() -> None:
    x = leaf(0.5, 1.0)
    compiled = tg.jit(lambda v: v.sin().exp() * v)
    expected = np.exp(np.sin([0.5, 1.0])) * (1 + np.array([0.5, 1.0]) * np.cos([0.5, 1.0]))
    checkpoint(lambda v: compiled(v) * 1, x).sum().backward()
    close(x.grad, expected)
    x.grad = None
    tg.jit(lambda v: checkpoint(lambda u: u.sin().exp() * u, v))(x).sum().backward()
    close(x.grad, expected)
    f = tg.jit(tg.grad(lambda v: np.sum(checkpoint(lambda u: np.exp(np.sin(u)) * u, v))))
    np.testing.assert_allclose(f(np.array([0.5, 1.0])), expected)


def test_checkpoint_within_checkpoint() -> None:
    x = leaf(0.5)
    checkpoint(lambda v: checkpoint(lambda u: u.sin().exp(), v * 2) * v.cos(), x).sum().backward()
    v = 0.5
    inner, slope = np.exp(np.sin(2 * v)), 2 * np.cos(2 * v) * np.exp(np.sin(2 * v))
    close(x.grad, [slope * np.cos(v) - inner * np.sin(v)])


def test_sequential() -> None:
    x = leaf(0.3)
    functions = [tg.sin, tg.exp, tg.cos, tg.sin, tg.exp]
    y = checkpoint_sequential(functions, 2, x)
    y.sum().backward()
    z = leaf(0.3)
    t = z
    for f in functions:
        t = f(t)
    t.sum().backward()
    close(x.grad, z.grad.numpy())
    with pytest.raises(ValueError, match="segments"):
        checkpoint_sequential(functions, 6, x)
