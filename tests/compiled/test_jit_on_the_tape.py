"""A jitted function called with Tensors behaves as the function itself: history, gradients, modes,
and what it changes."""

from __future__ import annotations

import copy
import ctypes
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import counted_traces

WAYS: dict[str, Callable[..., Any]] = {"eager": lambda f: f, "jit": tg.jit}
both = pytest.mark.parametrize("way", WAYS)


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a.detach().numpy() if isinstance(a, tg.Tensor) else a, b, rtol=1e-12)


# --- where history ends inside --------------------------------------------------------------------


def under_no_grad(x: Any) -> Any:
    with tg.no_grad():
        a = x * 2
    return a * x


def under_no_grad_later(x: Any) -> Any:
    y = x.exp()
    with tg.no_grad():
        a = y * y
    return a * y


def with_gradient_inside(x: Any) -> Any:
    (g,) = tg.autograd.grad((x**3).sum(), x)
    return g * x


def with_differentiable_gradient_inside(x: Any) -> Any:
    (g,) = tg.autograd.grad((x**3).sum(), x, create_graph=True)
    return g * x


CUTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "no_grad": (under_no_grad, lambda x: 2 * x),
    "no_grad later": (under_no_grad_later, lambda x: np.exp(3 * x)),
    "detach": (lambda x: x.detach() * x, lambda x: x),
    "detach_": (lambda x: (x * 1).detach_() * x, lambda x: x),
    "data": (lambda x: x.data * x, lambda x: x),
    "gradient": (with_gradient_inside, lambda x: 3 * x**2),
    "differentiable gradient": (with_differentiable_gradient_inside, lambda x: 9 * x**2),
}


@pytest.mark.parametrize("case", CUTS)
@both
def test_what_left_the_tape_inside_is_a_constant_outside(way: str, case: str) -> None:
    function, expected = CUTS[case]
    x = leaf(0.5, -1.0, 2.0)
    WAYS[way](function)(x).sum().backward()
    close(x.grad, expected(x.detach().numpy()))


@both
def test_forward_mode_goes_through_no_grad(way: str) -> None:
    x = np.array([1.0, 3.0])
    _, t = tg.jvp(lambda v: WAYS[way](under_no_grad)(v), (tg.tensor(x),), (tg.ones(2),))
    close(t, 4 * x)


@both
def test_results_require_grad_as_in_eager_code(way: str) -> None:
    @WAYS[way]
    def f(x: Any, w: Any) -> Any:
        with tg.no_grad():
            a = x * 2
        return (
            a,
            x * w,
            w * 3,
            (x * w).detach(),
            x > 0,
            x.argmax(),
            x.requires_grad,
            w.requires_grad,
        )

    *results, first, second = f(leaf(1.0, 2.0), tg.ones(2))
    assert [r.requires_grad for r in results] == [False, True, False, False, False, False]
    assert bool(first)
    assert not bool(second)
    assert results[2].grad_fn is None


@both
def test_no_grad_around_a_call(way: str) -> None:
    x = leaf(1.0, 2.0)
    with tg.no_grad():
        y = WAYS[way](lambda v: v * v)(x)
    assert not y.requires_grad
    assert y.grad_fn is None
    assert WAYS[way](lambda v: v * v)(x).requires_grad


# --- what a function does to what it was given ----------------------------------------------------


@both
def test_backward_inside_reaches_the_arguments(way: str) -> None:
    @WAYS[way]
    def f(w: Any, x: Any) -> Any:
        loss = ((w * x) ** 2).sum()
        loss.backward()
        return loss

    w, x = leaf(1.0, 2.0), tg.tensor([3.0, 4.0])
    loss = f(w, x)
    close(w.grad, [18.0, 64.0])
    assert x.grad is None
    assert w.is_leaf
    assert loss.requires_grad
    held = w.grad
    f(w, x)
    assert w.grad is held
    close(held, [36.0, 128.0])
    w.grad = None
    f(w, x)
    close(w.grad, [18.0, 64.0])
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


@both
def test_a_gradient_that_is_taken_away_inside(way: str) -> None:
    outer = leaf(1.0)

    @WAYS[way]
    def f(w: Any) -> Any:
        w.grad = None
        outer.grad = None
        return (w * outer).detach()

    w = leaf(2.0)
    for _ in range(2):
        f(w)
        assert w.grad is None
        assert outer.grad is None
        w.grad, outer.grad = tg.ones(1), tg.ones(1)
    f(w)
    assert w.grad is None
    assert outer.grad is None
    del outer.grad


@both
def test_backward_inside_reaches_what_is_around(way: str) -> None:
    w = leaf(1.0, 2.0)

    @WAYS[way]
    def f(x: Any) -> Any:
        (w * x).sum().backward()
        return x * 1

    for k in range(1, 4):
        f(tg.tensor([3.0, 4.0]))
        close(w.grad, [3.0 * k, 4.0 * k])
    w.grad = None
    f(tg.tensor([5.0, 6.0]))
    close(w.grad, [5.0, 6.0])


@both
def test_backward_inside_goes_on_behind_an_argument_that_is_no_leaf(way: str) -> None:
    a = leaf(1.0, 2.0)
    b = a * 3

    @WAYS[way]
    def f(v: Any) -> None:
        (v * v).sum().backward()

    f(b)
    close(a.grad, [18.0, 36.0])


@both
def test_a_gradient_is_set_and_taken_away(way: str) -> None:
    w, v = leaf(1.0, 2.0), leaf(3.0)

    @WAYS[way]
    def f() -> None:
        w.grad = w.detach() * 2
        v.grad = None

    v.grad = tg.ones(1)
    f()
    close(w.grad, [2.0, 4.0])
    assert v.grad is None


class Momentum:
    """A small optimiser: its state are Tensors that are written to in place."""

    def __init__(self, parameters: list[tg.Tensor]) -> None:
        self.parameters = parameters
        self.buffers = [tg.zeros_like(p) for p in parameters]
        self.count = tg.tensor(0.0)

    def zero_grad(self) -> None:
        for p in self.parameters:
            p.grad = None

    @tg.no_grad()
    def step(self) -> None:
        self.count += 1
        for p, b in zip(self.parameters, self.buffers, strict=True):
            if p.grad is not None:
                b.mul_(0.9).add_(p.grad)
                p.sub_(b / self.count, alpha=0.1)


@both
def test_a_training_step_with_its_optimiser(way: str) -> None:
    rng = np.random.default_rng(0)
    x, y = tg.tensor(rng.normal(size=(20, 3))), tg.tensor(rng.normal(size=20))
    w, b = tg.tensor(np.zeros(3), requires_grad=True), tg.tensor(0.0, requires_grad=True)
    optimiser = Momentum([w, b])

    @WAYS[way]
    def step(x: Any, y: Any) -> Any:
        optimiser.zero_grad()
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        optimiser.step()
        return loss.detach()

    losses = [step(x, y).item() for _ in range(6)]
    p, q, v, u, expected = np.zeros(3), 0.0, np.zeros(3), 0.0, []
    xs, ys = x.numpy(), y.numpy()
    for k in range(6):
        r = xs @ p + q - ys
        expected.append(float(np.mean(r**2)))
        v, u = 0.9 * v + 2 * xs.T @ r / 20, 0.9 * u + 2 * r.mean()
        p, q = p - 0.1 * v / (k + 1), q - 0.1 * u / (k + 1)
    np.testing.assert_allclose(losses, expected, rtol=1e-12)
    close(w, p)
    close(optimiser.buffers[0], v)
    assert optimiser.count.item() == 6.0
    assert w.is_leaf
    assert w.requires_grad
    assert w._version == 6


@both
def test_one_step_is_traced_a_bounded_number_of_times(way: str) -> None:
    w = leaf(1.0, 2.0)

    @WAYS[way]
    def f(x: Any) -> None:
        (w * x).sum().backward()

    with counted_traces() as traces:
        for _ in range(4):
            w.grad = None
            f(tg.ones(2))
            f(tg.ones(2))
    close(w.grad, [2.0, 2.0])
    assert len(traces) <= 2


@both
def test_a_write_to_what_is_around(way: str) -> None:
    counter, view = tg.zeros(3), None
    view = counter[1:]

    @WAYS[way]
    def f(x: Any) -> Any:
        counter.add_(x)
        counter[0] = 7.0
        return counter * 1

    close(f(tg.ones(3)), [7.0, 1.0, 1.0])
    close(f(tg.ones(3)), [7.0, 2.0, 2.0])
    close(view, [2.0, 2.0])
    assert counter._version == 4 or way == "jit"


@both
def test_a_tensor_made_inside_is_no_state(way: str) -> None:
    @WAYS[way]
    def f(x: Any) -> Any:
        total = tg.tensor([0.0, 0.0])
        total.add_(x)
        total[0] += 1
        return total

    for _ in range(3):
        close(f(tg.ones(2)), [2.0, 1.0])


@both
def test_requires_grad_set_inside_is_seen_outside(way: str) -> None:
    x = tg.ones(2)
    y = WAYS[way](lambda v: v.requires_grad_() * 2)(x)
    assert x.requires_grad
    assert y.requires_grad


def test_a_change_behind_a_weak_reference_is_carried_out() -> None:
    held = [tg.zeros(2)]
    hidden = weakref.ref(held[0])
    f = tg.jit(lambda x: hidden().add_(x) * 2)
    for k in (1.0, 2.0):
        close(f(tg.ones(2)), [2 * k, 2 * k])
        close(held[0], [k, k])


def test_a_change_that_cannot_be_carried_out_is_refused() -> None:
    held = [tg.zeros(2)]
    hidden = ctypes.py_object(held[0])
    with pytest.raises(tg.TracegradError, match="neither an argument nor found"):
        tg.jit(lambda x: hidden.value.add_(x))(tg.ones(2))
    close(held[0], [0.0, 0.0])
    with pytest.raises(tg.TracegradError, match="not given"):
        tg.vmap(lambda x: held[0].add_(x))(tg.ones(3, 2))
    close(held[0], [0.0, 0.0])


def test_an_error_while_tracing_leaves_everything_as_it_was() -> None:
    w, c = leaf(1.0, 2.0), tg.zeros(2)

    @tg.jit
    def f(x: Any) -> Any:
        c.add_(x)
        (w * x).sum().backward()
        raise KeyError("no")

    with pytest.raises(KeyError):
        f(tg.ones(2))
    assert w.grad is None
    assert c._version == 0
    close(c, [0.0, 0.0])


def test_the_same_tensor_in_two_places() -> None:
    x = leaf(1.0, 2.0)
    tg.jit(lambda a, b: (a * b * b).sum())(x, x).backward()
    close(x.grad, 3 * np.array([1.0, 2.0]) ** 2)
    y = leaf(1.0, 2.0)
    with pytest.raises(ValueError, match="two places"):
        tg.jit(lambda a, b: (a * b).sum().backward())(y, y)


def test_deepcopies_do_not_share_state() -> None:
    w = leaf(1.0)
    v = copy.deepcopy(w)
    tg.jit(lambda p: (p * 3).sum().backward())(v)
    assert w.grad is None
    close(v.grad, [3.0])


def test_surroundings_that_come_back_are_not_traced_again() -> None:
    w = leaf(2.0)

    @tg.jit
    def f(x: Any) -> Any:
        return x * (0.0 if w.grad is None else 1.0) * w

    with counted_traces() as traces:
        for k in range(6):
            w.grad = None if k % 2 else tg.ones(1)
            close(f(tg.ones(1)), [0.0 if k % 2 else 2.0])
    assert len(traces) == 2


@both
def test_history_ends_inside_of_loops_branches_and_maps(way: str) -> None:
    def step(c: Any, _: Any) -> Any:
        with tg.no_grad():
            a = c * 2
        return a * c, c.detach() * c

    def f(c: Any) -> Any:
        last, each = tg.scan(step, c, tg.zeros(3))
        return last + each.sum() + tg.cond(c > 0, lambda v: v.detach() * v, lambda v: v, c)

    c = tg.tensor(1.5, requires_grad=True)
    WAYS[way](f)(c).backward()
    d = tg.tensor(1.5, requires_grad=True)
    v, total = d, d.detach() * d
    for _ in range(3):
        total = total + v.detach() * v
        v = v.detach() * 2 * v
    (total + v).backward()
    close(c.grad, d.grad.numpy())
    for function, factor in ((lambda v: v.detach() * v, 1.0), (under_no_grad, 2.0)):
        x = leaf(1.0, 2.0)
        WAYS[way](tg.vmap(function))(x).sum().backward()
        close(x.grad, factor * np.array([1.0, 2.0]))


def test_a_value_from_outside_that_is_returned_as_it_is() -> None:
    """It stands on the tape where it stood, also where nothing inside has read it."""
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    v = w * 2.0
    f = tg.jit(lambda x: (v, w, x * 3.0))
    twice, same, third = f(tg.tensor(1.0, requires_grad=True))
    assert (twice.tolist(), same.tolist(), third.item()) == ([2.0, 4.0], [1.0, 2.0], 3.0)
    (twice * same).sum().backward()
    assert w.grad.tolist() == [4.0, 8.0]
    assert not tg.jit(lambda x: w.detach())(1.0).requires_grad
