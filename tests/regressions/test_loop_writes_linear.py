"""A loop that reads and writes an array at places that depend on the step: right to the second
derivative, at a cost linear in the steps.

Cost is what the scheduled program would do, counted in additions, and the memory it plans, at two
lengths: no clock is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen import work

import tracegrad as tg
from tracegrad.schedule import schedule

pytestmark = pytest.mark.usefixtures("kernels_in_python")

Function = Callable[[Any], Any]


def put(h: Any, at: Any, value: Any) -> Any:
    h = h.copy()
    h[at] = value
    return h


def one_back(x: Any) -> Any:
    return tg.fori_loop(
        1, x.shape[0], lambda t, h: put(h, t, np.tanh(0.9 * h[t - 1] + x[t])), x * 1.0
    )


def two_back(x: Any) -> Any:
    return tg.fori_loop(
        2, x.shape[0], lambda t, h: put(h, t, np.sin(h[t - 1]) * np.cos(h[t - 2]) + x[t]), x * 1.0
    )


def backwards(x: Any) -> Any:
    n = x.shape[0]
    return tg.fori_loop(
        0, n - 1, lambda t, h: put(h, n - 2 - t, np.tanh(h[n - 1 - t] * x[n - 2 - t])), x * 1.0
    )


def rows(x: Any) -> Any:
    a = np.array([[0.5, 0.2, 0.1], [-0.3, 0.4, 0.0], [0.1, 0.1, 0.3]])
    h = np.zeros((x.shape[0], 3)) + np.expand_dims(x, 1)
    return tg.fori_loop(1, x.shape[0], lambda t, h: put(h, t, np.tanh(a @ h[t - 1] + x[t])), h)


def slices(x: Any) -> Any:
    def step(t: Any, h: Any) -> Any:
        here, before = slice(4 * t, 4 * t + 4), slice(4 * t - 4, 4 * t)
        return put(h, here, 0.9 * np.tanh(h[before]) + x[here])

    return tg.fori_loop(1, x.shape[0] // 4, step, x * 1.0)


def added(x: Any) -> Any:
    def step(t: Any, h: Any) -> Any:
        h = h.copy()
        h[t] += np.sin(h[t - 1]) * x[t]
        return h

    return tg.fori_loop(1, x.shape[0], step, x * 1.0)


def read_again(x: Any) -> Any:
    """What has been written is read in the same step."""

    def step(t: Any, carry: Any) -> Any:
        h, total = carry
        h = put(h, t, np.tanh(h[t - 1]) + x[t])
        return h, total + h[t] * h[t - 1]

    h, total = tg.fori_loop(1, x.shape[0], step, (x * 1.0, 0.0))
    return h * total


def each_other(x: Any) -> Any:
    """Two arrays, each of which is made of the other's old elements."""

    def step(t: Any, carry: Any) -> Any:
        h, g = carry
        return put(h, t, np.tanh(g[t - 1]) + x[t]), put(g, t, np.sin(h[t - 1]))

    h, g = tg.fori_loop(1, x.shape[0], step, (x * 1.0, x * 0.5))
    return h * g


def exchanged(x: Any) -> Any:
    """Two writes, the second of what the first has overwritten."""

    def step(t: Any, h: Any) -> Any:
        a, b = h[t - 1], h[t]
        return put(put(h, t - 1, 0.9 * b), t, np.sin(a))

    return tg.fori_loop(1, x.shape[0], step, x * 1.0)


def counted(x: Any) -> Any:
    """A while loop."""
    n = x.shape[0]

    def step(carry: Any) -> Any:
        t, h = carry
        return t + 1, put(h, t, np.tanh(0.9 * h[t - 1] + x[t]))

    return tg.while_loop(lambda c: c[0] < n, step, (1, x * 1.0))[1]


def stacked(x: Any) -> Any:
    """Elements of the carry as results of each step as well."""

    def step(carry: Any, v: Any) -> Any:
        t, h = carry
        return (t + 1, put(h, t, np.tanh(0.9 * h[t - 1] + v))), h[t - 1] * v

    (_, h), y = tg.scan(step, (1, x * 1.0), x[1:])
    return h * np.sum(y)


def inner(x: Any) -> Any:
    """A loop within the loop writes."""

    def step(t: Any, h: Any) -> Any:
        return tg.fori_loop(
            0,
            4,
            lambda k, h: put(
                h, 4 * t + k, np.tanh(0.9 * h[4 * t + k - 1]) + 0.1 * h[4 * t - 4 + k]
            ),
            h,
        )

    return tg.fori_loop(1, x.shape[0] // 4, step, x * 1.0)


def chosen(x: Any) -> Any:
    """A branch writes, the other one elsewhere."""

    def step(t: Any, h: Any) -> Any:
        return tg.cond(
            h[t - 1] > 0,
            lambda h: put(h, t, np.sin(h[t - 1]) + x[t]),
            lambda h: put(h, t - 1, h[t] * 0.5),
            h,
        )

    return tg.fori_loop(1, x.shape[0], step, x * 1.0)


def perhaps(x: Any) -> Any:
    """A branch writes, the other one does not."""

    def step(t: Any, h: Any) -> Any:
        return tg.cond(h[t - 1] > 0, lambda h: put(h, t, np.sin(h[t - 1]) + x[t]), lambda h: h, h)

    return tg.fori_loop(1, x.shape[0], step, x * 1.0)


def inner_constants(x: Any) -> Any:
    """A loop within the loop reads elements of an array from outside: their gradients are added
    where the total is."""

    def step(t: Any, h: Any) -> Any:
        return tg.fori_loop(
            0,
            4,
            lambda k, h: put(h, 4 * t + k, np.tanh(0.9 * h[4 * t + k - 1] * x[4 * t + k]) + x[t]),
            h,
        )

    return tg.fori_loop(1, x.shape[0] // 4, step, x * 1.0)


LINEAR: list[Function] = [
    one_back,
    two_back,
    backwards,
    rows,
    slices,
    added,
    read_again,
    each_other,
    exchanged,
    counted,
    stacked,
    inner,
    inner_constants,
    chosen,
    perhaps,
]


def all_of_it(x: Any) -> Any:
    """One branch changes every element, from its neighbour."""

    def step(t: Any, h: Any) -> Any:
        return tg.cond(
            h[t - 1] > 1, lambda h: np.roll(h, 1) * 0.5, lambda h: put(h, t, h[t - 1] + x[t]), h
        )

    return tg.fori_loop(1, x.shape[0], step, x * 1.0)


def rolled(x: Any) -> Any:
    """What is written reads all of the old array: it cannot be written in place without a copy."""
    n = x.shape[0]
    return tg.fori_loop(
        1, n, lambda t, h: put(h, slice(0, n), np.tanh(np.roll(h, 1)) + 0.1 * h[t]), x * 1.0
    )


def whole_and_part(x: Any) -> Any:
    """The old array is summed after part of the new one is known."""
    return tg.fori_loop(
        1,
        x.shape[0],
        lambda t, h: put(put(h, t, h[t - 1] * 0.5), t - 1, np.sum(np.sin(h)) * 0.1),
        x * 1.0,
    )


def places(x: Any) -> Any:
    """The places themselves are read from the array that is written."""
    n = x.shape[0]

    def step(t: Any, k: Any) -> Any:
        k = k.copy()
        k[k[:3]] = k[1:4]
        k[t] = k[k[t - 1]]
        return k

    return x * tg.fori_loop(1, n, step, (np.arange(n) * 5) % n)


def two_carries_one_array(x: Any) -> Any:
    """Both carries begin as the same array."""

    def step(t: Any, c: Any) -> Any:
        a, b = c
        return put(a, t, b[t - 1] + a[t - 1]), put(b, t, a[t] * np.sin(x[t]))

    y = x * 1.0
    a, b = tg.fori_loop(1, x.shape[0], step, (y, y))
    return a * b


def kept_between(x: Any) -> Any:
    """What is there between two writes is a result of each step."""

    def step(c: Any, v: Any) -> Any:
        t, h = c
        first = put(h, t, np.tanh(h[t - 1]) + v)
        return (t + 1, put(first, t - 1, first[t] * 0.5)), first

    (_, h), y = tg.scan(step, (1, x * 1.0), x[1:])
    return h + np.sum(np.sin(y), axis=0)


def kept_before(x: Any) -> Any:
    """The old array is a result of each step, and so is the new one."""

    def step(c: Any, v: Any) -> Any:
        t, h = c
        new = put(h, t, np.tanh(h[t - 1]) + v)
        return (t + 1, new), (h, new)

    (_, h), (old, new) = tg.scan(step, (1, x * 1.0), x[1:])
    return h + np.sum(old * np.cos(new), axis=0)


def as_far_as(x: Any) -> Any:
    """Triangular loops: the inner ones have lengths that depend on the step."""
    n = x.shape[0]

    def step(k: Any, h: Any) -> Any:
        def inner(i: Any, h: Any) -> Any:
            h = put(h, i, h[i] * np.cos(h[k]))
            return tg.fori_loop(
                i + 1, tg.minimum(i + 3, n), lambda j, h: put(h, j, h[j] + 0.1 * h[i] * h[k]), h
            )

        return tg.fori_loop(k + 1, n, inner, h)

    return tg.fori_loop(0, 3, step, x * 1.0)


def changed_places(x: Any) -> Any:
    """The carries change places as well."""

    def step(t: Any, c: Any) -> Any:
        a, b = c
        return put(b, t, a[t - 1]), put(a, t, np.sin(b[t]))

    a, b = tg.fori_loop(1, x.shape[0], step, (x * 1.0, x * 0.5))
    return a * b + a


ANY: list[Function] = [
    *LINEAR,
    all_of_it,
    rolled,
    whole_and_part,
    places,
    two_carries_one_array,
    changed_places,
    kept_between,
    kept_before,
    as_far_as,
]
X = np.random.default_rng(0).normal(size=16)
V = np.cos(np.arange(16.0))


def loss(function: Function) -> Function:
    return lambda x: 0.1 * np.sum(function(x) ** 2)


@pytest.mark.parametrize("function", ANY, ids=lambda f: f.__name__)
def test_value_gradient_and_second_derivative(function: Function) -> None:
    f = loss(function)
    gradient = tg.grad(f)(X)
    step = 1e-6
    differences = [(f(X + step * e) - f(X - step * e)) / (2 * step) for e in np.eye(len(X))]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(tg.jit(function)(X), function(X), rtol=1e-13, atol=1e-15)
    found = tg.jit(tg.value_and_grad(f))(X)
    np.testing.assert_allclose(found[0], f(X), rtol=1e-13)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-11, atol=1e-13)
    second = (tg.grad(f)(X + step * V) - tg.grad(f)(X - step * V)) / (2 * step)
    product = tg.jit(
        lambda x: (tg.hvp(f, (x,), (V,)), tg.grad(lambda y: np.sum(tg.grad(f)(y) * V))(x))
    )(X)
    for way in product:
        np.testing.assert_allclose(way, second, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("function", ANY, ids=lambda f: f.__name__)
def test_of_a_batch(function: Function) -> None:
    xs = np.stack([X, 0.7 * X, X[::-1]])
    found = tg.jit(tg.vmap(tg.grad(loss(function))))(xs)
    np.testing.assert_allclose(
        found, [tg.grad(loss(function))(x) for x in xs], rtol=1e-11, atol=1e-13
    )


def cost(function: Function, n: int) -> tuple[int, int]:
    """Additions, and bytes of temporaries."""
    jitted, x = tg.jit(function), np.full(n, 0.5)
    executable, values = jitted._executable((x,), {})
    program = schedule(executable.graph, ("C",) * len(values))
    done = sum(work._body(p.body, {}, set()) for p in program.phases)
    return done, jitted.memory(x).temporaries


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("function", LINEAR, ids=lambda f: f.__name__)
def test_the_cost_is_linear(function: Function) -> None:
    f = loss(function)
    both: dict[str, Function] = {
        "function": function,
        "gradient": tg.value_and_grad(f),
        "second derivative": lambda x: tg.hvp(f, (x,), (x,)),
    }
    for name, of in both.items():
        (little, _), (much, memory) = cost(of, 10_000), cost(of, 100_000)
        assert much <= 12 * little, f"{name}: {little} additions became {much}"
        assert memory <= 300 * 100_000, f"{name}: {memory} bytes"
