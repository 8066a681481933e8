"""Loops: what their adjoints keep, what two of them share, and random bodies against plain Python
and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracegrad as tg
from tracegrad.ir.graph import Graph
from tracegrad.ir.parser import parse_graph
from tracegrad.registry import OPS_BY_NAME

WRAP = {"eager": lambda f: f, "jit": tg.jit}


def scans(graph: Graph) -> list[Any]:
    return [n for n in graph.nodes if n.op.name == "scan"]


def kept(graph: Graph) -> list[tuple[int, ...]]:
    """The shapes that the forward loop stacks."""
    node = scans(graph)[0]
    return [v.type.shape for v in node.outputs[node.params["carries"] :]]


class TestWhatIsKept:
    X = np.linspace(0.1, 0.9, 7)

    def test_nothing_for_a_linear_body(self) -> None:
        f = tg.jit(
            tg.grad(lambda s: np.sum(tg.scan(lambda c, x: (2.0 * c + x, None), s, self.X)[0]))
        )
        graph = f.graphs(np.ones(3))[1]
        assert len(scans(graph)) == 1, (
            "the value is not asked for, and the adjoint needs no forward loop"
        )
        np.testing.assert_allclose(f(np.ones(3)), np.full(3, 2.0**7))

    def test_the_carry_where_the_body_is_cheap(self) -> None:
        f = tg.jit(
            tg.value_and_grad(
                lambda s: np.sum(tg.scan(lambda c, x: (np.sin(c) * x, None), s, self.X)[0])
            )
        )
        graph = f.graphs(np.ones(3))[1]
        assert len(scans(graph)) == 2, "the loop of the value is the forward loop of the adjoint"
        assert kept(graph) == [(7, 3)]

    def test_slices_are_not_kept_again(self) -> None:
        f = tg.jit(tg.grad(lambda w: tg.scan(lambda c, x: (c + w * x, None), 0.0, self.X)[0]))
        assert kept(f.graphs(0.5)[1]) == []
        np.testing.assert_allclose(f(0.5), np.sum(self.X))

    def test_results_that_nobody_reads_are_not_computed(self) -> None:
        f = tg.jit(
            lambda s: tg.scan(
                lambda c, x: ((c[0] + x, np.sin(c[1]), c[2]), (c[0], c[1])), (s, s, s), self.X
            )[1][0]
        )
        node = scans(f.graphs(0.5)[1])[0]
        assert node.params["carries"] == 1
        assert len(node.outputs) == 2


def rk4(f: Any, u: Any, dt: float) -> Any:
    k1 = f(u)
    k2 = f(u + dt / 2 * k1)
    k3 = f(u + dt / 2 * k2)
    return u + dt / 6 * (k1 + 2 * k2 + 2 * k3 + f(u + dt * k3))


def lorenz(u: Any, p: Any) -> Any:
    x, y, z = u[0], u[1], u[2]
    return np.stack([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])


@pytest.mark.usefixtures("kernels_in_python")
def test_every_order_and_mode_of_an_ordinary_differential_equation() -> None:
    def loss(u: Any, p: Any) -> Any:
        return np.sum(
            tg.scan(lambda v, _: (rk4(lambda w: lorenz(w, p), v, 0.01), None), u, None, length=12)[
                0
            ]
            ** 2
        )

    def plain(u: Any, p: Any) -> Any:
        for _ in range(12):
            u = rk4(lambda w: lorenz(w, p), u, 0.01)
        return np.sum(u**2)

    u, p = np.array([1.0, 1.2, 0.8]), np.array([10.0, 28.0, 8 / 3])
    np.testing.assert_allclose(loss(u, p), plain(u, p), rtol=1e-14)
    expected = tg.hessian(plain, 1)(u, p)
    for g in (
        tg.hessian(loss, 1),
        tg.jit(tg.hessian(loss, 1)),
        tg.jit(tg.jacobian(tg.grad(loss, 1), 1, mode="reverse")),
    ):
        np.testing.assert_allclose(g(u, p), expected, rtol=1e-11)
    np.testing.assert_allclose(tg.jit(tg.grad(loss, 1))(u, p), tg.grad(plain, 1)(u, p), rtol=1e-12)
    batch = np.stack([u, u + 0.1])
    np.testing.assert_allclose(
        tg.jit(tg.vmap(tg.grad(loss, 1), in_axes=(0, None)))(batch, p),
        [tg.grad(plain, 1)(v, p) for v in batch],
        rtol=1e-12,
    )


UNARY = (
    np.sin,
    np.tanh,
    lambda v: v * v,
    lambda v: 0.5 * v,
    lambda v: -v,
    lambda v: np.sqrt(1 + v * v),
    np.cumsum,
)
BINARY = (np.add, np.subtract, np.multiply, lambda a, b: a / (2 + b * b), np.maximum)


@st.composite
def bodies(draw: Any) -> Any:
    """A straight-line body over two carries, a constant and a slice."""
    steps = draw(
        st.lists(
            st.tuples(
                st.integers(0, len(UNARY) + len(BINARY) - 1), st.integers(0, 99), st.integers(0, 99)
            ),
            min_size=2,
            max_size=7,
        )
    )
    last = draw(st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)))

    def body(w: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            values = [*carry, w, x]
            for kind, a, b in steps:
                first, second = values[a % len(values)], values[b % len(values)]
                values.append(
                    UNARY[kind](first)
                    if kind < len(UNARY)
                    else BINARY[kind - len(UNARY)](first, second)
                )
            p, q, y = (values[k % len(values)] for k in last)
            return (0.6 * p + 0.1 * carry[0], 0.6 * q), y

        return step

    return body


@pytest.mark.usefixtures("kernels_in_python")
@settings(max_examples=6, deadline=None)
@given(body=bodies(), length=st.integers(0, 4), reverse=st.booleans())
def test_random_bodies(body: Any, length: int, reverse: bool) -> None:
    rng = np.random.default_rng(length)
    start, w, xs = (
        rng.uniform(-1, 1, (2, 3)),
        rng.uniform(-1, 1, 3),
        rng.uniform(-1, 1, (length, 3)),
    )
    weights = rng.uniform(-1, 1, (length, 3))

    def looped(start: Any, w: Any, xs: Any) -> Any:
        (a, b), ys = tg.scan(body(w), (start[0], start[1]), xs, reverse=reverse)
        return np.sum(a * b) + np.sum(np.sin(a)) + np.sum(ys * weights)

    def plain(start: Any, w: Any, xs: Any) -> Any:
        carry, total, step = (start[0], start[1]), 0.0, body(w)
        for i in range(length)[:: -1 if reverse else 1]:
            carry, y = step(carry, xs[i])
            total = total + np.sum(y * weights[i])
        return np.sum(carry[0] * carry[1]) + np.sum(np.sin(carry[0])) + total

    def close(found: Any, expected: Any) -> None:
        for f, e in zip(found, expected, strict=True):
            np.testing.assert_allclose(f, e, rtol=1e-9, atol=1e-11)

    args = start, w, xs
    value, gradient = tg.value_and_grad(plain, argnums=(0, 1, 2))(*args)
    found_value, found = tg.jit(tg.value_and_grad(looped, argnums=(0, 1, 2)))(*args)
    np.testing.assert_allclose(found_value, value, rtol=1e-12, atol=1e-13)
    close(found, gradient)
    direction = tuple(rng.uniform(-1, 1, a.shape) for a in args)
    second = tg.jvp(lambda *a: tg.grad(plain, argnums=(0, 1, 2))(*a), args, direction)[1]
    close(
        tg.jit(
            lambda *a: tg.jvp(lambda *b: tg.grad(looped, argnums=(0, 1, 2))(*b), a, direction)[1]
        )(*args),
        second,
    )
    backward = tg.jit(
        tg.grad(
            lambda *a: sum(
                np.sum(g * d)
                for g, d in zip(tg.grad(looped, argnums=(0, 1, 2))(*a), direction, strict=True)
            ),
            argnums=(0, 1, 2),
        )
    )
    close(backward(*args), second)


def test_printed_and_parsed() -> None:
    f = tg.jit(
        tg.value_and_grad(
            lambda s, w: np.sum(tg.scan(lambda c, x: (np.sin(c) * w, c * x), s, np.arange(4.0))[1])
        )
    )
    text = str(f.graphs(np.ones(3), 2.0)[1])
    assert str(parse_graph(text, OPS_BY_NAME)) == text


@pytest.mark.parametrize("wrap", WRAP)
def test_a_body_that_writes_into_its_carry(wrap: str) -> None:
    def f(start: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            c[0] = c[1] * x
            c[1] += x
            return c, c[0]

        last, path = tg.scan(step, start, np.arange(1.0, 4.0))
        return np.sum(last) + np.sum(path**2)

    def plain(a: float, b: float) -> float:
        total = 0.0
        for x in (1.0, 2.0, 3.0):
            a = b * x
            b += x
            total += a * a
        return total + a + b

    start = np.array([0.3, 0.7])
    g = WRAP[wrap](tg.value_and_grad(f))
    value, gradient = g(start)
    np.testing.assert_allclose(value, plain(0.3, 0.7))
    h = 1e-6
    np.testing.assert_allclose(
        gradient,
        [0.0, (plain(0.3, 0.7 + h) - plain(0.3, 0.7 - h)) / (2 * h)],
        rtol=1e-7,
        atol=1e-12,
    )
    np.testing.assert_array_equal(start, [0.3, 0.7])


@tg.custom_vjp
def halved(x: Any) -> Any:
    return x


halved.defvjp(lambda x: (x, x), lambda x, ct: (0.5 * x * ct,))


@pytest.mark.parametrize(
    "inner",
    [
        lambda c: c * tg.stop_gradient(c),
        lambda c: np.sin(halved(c)),
        lambda c: c**3 - np.maximum(c, 0.1),
    ],
)
def test_rules_of_the_user_hold_in_loops_at_every_order(inner: Any) -> None:
    def looped(s: Any) -> Any:
        return np.sum(tg.scan(lambda c, x: (inner(c) + x, c * x), s, np.array([0.1, 0.3]))[1])

    def plain(s: Any) -> Any:
        return np.sum(0.1 * s + 0.3 * (inner(s) + 0.1))

    s = np.array([0.4, 0.7])
    np.testing.assert_allclose(tg.jit(tg.grad(looped))(s), tg.grad(plain)(s), rtol=1e-13)
    second = tg.jacobian(tg.grad(plain), mode="reverse")(s)
    np.testing.assert_allclose(
        tg.jit(tg.jacobian(tg.grad(looped), mode="reverse"))(s), second, rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("shape", [(7, 2), (2, 2), (5, 3)])
def test_a_step_that_reads_its_carry_in_another_shape(shape: tuple[int, int]) -> None:
    """`np.roll` reads the flat array: the new carry must not be written over the old one while that
    is read."""
    x = np.random.default_rng(0).normal(size=(3, *shape))

    def f(x: Any) -> Any:
        return tg.scan(lambda c, v: (np.roll(c, 1) * 0.5 + v, None), x[0], x)[0]

    np.testing.assert_array_equal(tg.jit(f)(x), f(x))
