"""Items of a batch side by side: loops that each item ends for itself, with the bits that it has by
itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad._codegen import kernel, traversal
from tracegrad.schedule import schedule
from tracegrad.transforms.rewrite import optimize

RNG = np.random.default_rng(5)


def heron(a: Any) -> Any:
    """The square root, by as many steps as that takes."""
    return tg.while_loop(lambda x: abs(x * x - a) > 1e-9 * a, lambda x: (x + a / x) / 2, a)


def secant(c: Any) -> Any:
    """The cube root by secants: where two values are equal, which is how it ends, the next step
    would be 0 / 0."""

    def step(state: Any) -> Any:
        x, y = state
        fx, fy = x**3 - c, y**3 - c
        return y, y - fy * (y - x) / (fy - fx)

    return tg.while_loop(
        lambda s: (abs(s[1] ** 3 - c) > 1e-13) & (s[0] != s[1]), step, (c, 1 + 0 * c)
    )[1]


def power(x: Any) -> Any:
    """A loop of as many steps as the item says, which may be none."""
    n = np.floor(abs(3 * x)).astype(int)
    return tg.fori_loop(0, n, lambda i, s: s * np.sin(x) + 0.1 * i, 1.0 + 0 * x)


def nested(x: Any) -> Any:
    """A loop in a loop; the inner one of an item that has ended goes on for others."""

    def outer(state: Any) -> Any:
        s, k = state
        inner = tg.while_loop(
            lambda t: t[0] > k, lambda t: (t[0] * 0.7, t[1] + t[0] * s), (abs(x) + s, 0.0 * x)
        )
        return 0.5 * s + 0.01 * inner[1], k + 0.3

    return tg.while_loop(lambda state: state[1] < abs(x), outer, (x, 0.1 + 0 * x))[0]


def branching(x: Any) -> Any:
    """Steps that depend on a condition; of the branch that is not taken the logarithm is no
    number."""

    def step(state: Any) -> Any:
        s, n = state
        return tg.cond(s > 1, lambda t: t - np.log(t) - 0.1, lambda t: t * t + 0.3, s), n + 1

    return tg.while_loop(lambda state: (state[0] > 0.5) & (state[1] < 40), step, (x, 0))[0]


def several(x: Any) -> Any:
    """A carry of several elements, some of which a step changes, and one of another dtype."""

    def step(state: Any) -> Any:
        v, n = state
        return np.stack([v[1], v[2] * 0.9, v[0] + x * v[1]]), n + 1

    v, n = tg.while_loop(
        lambda s: (s[0][0] + s[0][1] < 9) & (s[1] < 25), step, (np.stack([x, 1 + 0 * x, x * x]), 0)
    )
    return v[0] * v[1] + v[2] ** 2 + n


def short_loop_inside(x: Any) -> Any:
    """A step with a loop of fixed length over an array of its own."""

    def step(s: Any) -> Any:
        return tg.scan(lambda c, w: (0.8 * c + 0.05 * w * np.sin(c), c), s, np.arange(3.0))[0]

    return tg.while_loop(lambda s: s > 0.4, step, x + 1)


def a_loop_tells_the_next(x: Any) -> Any:
    """The second derivative goes twice along each of two tapes, of other lengths."""
    s = tg.while_loop(lambda s: s > 0.9, lambda s: s * np.sin(x), x)
    return tg.fori_loop(0, np.floor(3 * s).astype(int), lambda i, s: np.sin(s), s)


FUNCTIONS = [heron, secant, power, nested, branching, several, short_loop_inside]
TWICE = [heron, secant, nested, branching, a_loop_tells_the_next]
CASES = [
    (f, what)
    for what in ("value", "gradient", "second", "forward")
    for f in (TWICE if what == "second" else FUNCTIONS)
]


def batch(n: int) -> Any:
    x = np.random.default_rng(n).uniform(0.2, 4, n)
    x[n // 2] = 1.0
    return x


def kernels(f: Callable[..., Any], *args: Any) -> tuple[list[kernel.Statement], Any, list[Any]]:
    """The statements of a kernel, its graph and its inputs."""
    entry = tg.jit(f)._entry(args, {})[0]
    graph = optimize(entry.graph)
    program = schedule(graph, ("C",) * len(graph.inputs))
    return (
        [s for p in program.phases for s in traversal.within(p.body)],
        graph,
        [*args, *entry.traced.captures],
    )


def side_by_side(statements: list[kernel.Statement]) -> bool:
    """Whether all loops that items end for themselves are loops around items, and none is inside of
    one."""
    own = [s for s in statements if isinstance(s, kernel.Loop) and s.own is not None]
    return not own and any(isinstance(s, kernel.Loop) and "item" in s.index for s in statements)


def derivatives(f: Any) -> dict[str, Callable[..., Any]]:
    return {
        "value": f,
        "gradient": tg.grad(f),
        "second": tg.grad(tg.grad(f)),
        "forward": lambda x: tg.jvp(f, (x,), (1.0,)),
    }


def flat(value: Any) -> Any:
    return np.stack(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize(("f", "what"), CASES, ids=lambda v: getattr(v, "__name__", v))
def test_each_item_has_the_bits_that_it_has_alone(f: Any, what: str) -> None:
    one = derivatives(f)[what]
    alone, x = tg.jit(one), batch(70)
    found = tg.jit(tg.vmap(one))(x)
    np.testing.assert_array_equal(flat(found), np.stack([flat(alone(v)) for v in x], axis=-1))
    assert np.all(np.isfinite(flat(found)))
    statements, graph, inputs = kernels(tg.vmap(one), x)
    assert side_by_side(statements)
    with np.errstate(all="ignore"):  # what is thrown away may be anything
        for unjitted, expected in zip(
            run_unjitted(graph, inputs),
            found if isinstance(found, tuple) else (found,),
            strict=True,
        ):
            np.testing.assert_allclose(unjitted, expected, rtol=1e-12, atol=1e-300)


def test_batches_of_every_size() -> None:
    alone, many = tg.jit(tg.grad(heron)), tg.jit(tg.vmap(tg.grad(heron)))
    for n in (0, 1, 2, 9, 32, 63, 64, 65, 95, 96, 97):
        x = RNG.uniform(0.1, 5, n)
        np.testing.assert_array_equal(many(x), np.array([alone(v) for v in x]).reshape(n))


def test_one_item_that_goes_on_for_long() -> None:
    """The others wait, and what is kept of it grows many times."""

    def f(x: Any) -> Any:
        return tg.while_loop(
            lambda s: s[1] < x, lambda s: (s[0] + np.sin(s[0]) / x, s[1] + 1), (0.5 * x, 0)
        )[0]

    x = RNG.uniform(1, 9, 70)
    x[37] = 5000
    alone = tg.jit(tg.grad(f))
    np.testing.assert_array_equal(tg.jit(tg.vmap(tg.grad(f)))(x), np.array([alone(v) for v in x]))


def test_threads_change_no_bit() -> None:
    x = RNG.uniform(0.1, 5, 20_000)
    f = tg.jit(lambda x: tg.value_and_grad(lambda y: np.sum(tg.vmap(heron)(y)))(x))
    before = tg.get_num_threads()
    try:
        tg.set_num_threads(1)
        value, gradient = f(x)
        tg.set_num_threads(2)
        for _ in range(3):
            again = f(x)
            assert again[0] == value
            np.testing.assert_array_equal(again[1], gradient)
    finally:
        tg.set_num_threads(before)


def test_parameters_of_all_items_and_batches_of_batches() -> None:
    def f(a: Any, p: Any) -> Any:
        return tg.while_loop(
            lambda x: abs(x * x - a * p[0]) > 1e-10,
            lambda x: x - (x * x - a * p[0]) / (2 * x) * p[1],
            a,
        )

    a, p = RNG.uniform(0.5, 3, (9, 40)), np.array([1.3, 0.9])

    def total(p: Any) -> Any:
        return np.sum(tg.vmap(tg.vmap(lambda v: f(v, p)))(a))

    alone, slope = tg.jit(f), tg.jit(tg.grad(f, 1))
    expected = sum(slope(v, p) for v in a.ravel())
    np.testing.assert_allclose(tg.jit(tg.grad(total))(p), expected, rtol=1e-9)
    np.testing.assert_array_equal(
        tg.jit(tg.vmap(tg.vmap(lambda v: f(v, p))))(a), [[alone(v, p) for v in row] for row in a]
    )


def test_small_floats_integers_and_flags() -> None:
    def f(x: Any) -> Any:
        def step(state: Any) -> Any:
            v, n, seen = state
            return v * x.dtype.type(0.9), n + n % 3, seen | (n > 40)

        return tg.while_loop(lambda s: (s[0] > 0.1) & (s[1] < 100), step, (x, np.int32(1), False))

    x = RNG.uniform(0.2, 9, 70).astype(np.float32)
    found = tg.jit(tg.vmap(f))(x)
    one = tg.jit(f)
    alone = [one(v) for v in x]
    for k, (column, dtype) in enumerate(zip(found, (np.float32, np.int32, np.bool_), strict=True)):
        assert column.dtype == dtype
        np.testing.assert_array_equal(column, [row[k] for row in alone])


def test_what_ended_items_would_do_is_no_error() -> None:
    """An item that has ended stands behind the end of the table; where one goes on from there, that
    is told."""
    table = np.arange(6.0)

    def f(n: Any, x: Any, table: Any) -> Any:
        return tg.while_loop(
            lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + x * table[s[0]]), (0, x)
        )[1]

    def total(n: Any, x: Any, table: Any) -> Any:
        return np.sum(tg.vmap(f, in_axes=(0, 0, None))(n, x, table) ** 2)

    n, x = np.full(70, 6), RNG.uniform(1, 2, 70)
    n[3], n[5] = 0, 2
    steps = np.array([np.sum(table[:m]) for m in n])
    np.testing.assert_allclose(
        tg.jit(tg.vmap(f, in_axes=(0, 0, None)))(n, x, table), x * (1 + steps), rtol=1e-14
    )
    np.testing.assert_allclose(
        tg.jit(tg.grad(total, 1))(n, x, table), 2 * x * (1 + steps) ** 2, rtol=1e-14
    )
    n[17] = 7
    for g in (total, tg.grad(total, 1)):
        with pytest.raises(IndexError, match="index 6 is out of bounds for axis 0 with size 6"):
            tg.jit(g)(n, x, table)


def test_more_steps_than_allowed() -> None:
    f = tg.jit(
        tg.vmap(lambda x: tg.while_loop(lambda s: s > 1, lambda s: s * 0.5, x, max_steps=10))
    )
    x = RNG.uniform(2, 900, 70)
    np.testing.assert_array_equal(f(x), [v / 2.0 ** np.ceil(np.log2(v)) for v in x])
    x[41] = 1e6
    with pytest.raises(RuntimeError, match="max_steps=10"):
        f(x)


def test_what_does_not_fit_goes_item_by_item() -> None:
    """Complex numbers, systems of equations, places that each item writes elsewhere, arrays that
    fill the registers: right all the same."""

    def rotated(x: Any) -> Any:
        return abs(tg.while_loop(lambda z: abs(z) < 3, lambda z: z * (1.1 + 0.2j), x + 0.1j))

    def solved(x: Any) -> Any:
        m = 3 * np.eye(6) + np.tri(6)
        return np.sum(
            tg.while_loop(
                lambda v: np.max(abs(v)) > 0.1,
                lambda v: np.linalg.solve(m, v),
                np.stack([x, 2 * x] * 3),
            )
        )

    def scattered(x: Any) -> Any:
        def step(state: Any) -> Any:
            v, k = state
            v = v.copy()
            v[k % 3] = v[(k + 1) % 3] * 0.9 + 0.1
            return v, 2 * k + 1

        n = np.floor(5 * x).astype(int)
        return np.sum(
            tg.while_loop(lambda s: s[1] < 900, step, (np.stack([x, 1 + 0 * x, x * x]), n))[0]
        )

    def long(x: Any) -> Any:
        return np.sum(
            tg.while_loop(lambda v: np.sum(v * v) > 1, lambda v: 0.5 * np.sin(v), x * np.ones(200))
        )

    x = batch(70)
    for f in (rotated, solved, scattered, long):
        for g in (f, tg.grad(f)):
            alone = tg.jit(g)
            np.testing.assert_allclose(tg.jit(tg.vmap(g))(x), [alone(v) for v in x], rtol=1e-12)
            assert not side_by_side(kernels(tg.vmap(g), x)[0])
