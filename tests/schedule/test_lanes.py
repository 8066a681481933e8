"""Batches of loops and loops over items as parallel phases over blocks of lanes: when, with what
memory, and what must not become one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad._codegen import integers, kernel, work
from tracegrad.schedule import build, schedule
from tracegrad.schedule import two_step_reductions as fission
from tracegrad.transforms.rewrite import optimize

RNG = np.random.default_rng(11)
LANES, STEPS = 700, 40


def program(f: Any, *args: Any) -> kernel.Program:
    graph = optimize(tg.jit(f).graphs(*args)[0])
    return schedule(graph, ("C",) * len(graph.inputs))


def blocks(f: Any, *args: Any) -> list[kernel.Phase]:
    """The phases that are gone through by blocks of lanes: loops around loops."""
    return [
        p
        for p in program(f, *args).phases
        if p.kind == "parallel" and any(isinstance(s, kernel.Loop) for s in p.body[0].body)
    ]  # type: ignore[union-attr]


def orbit(x: Any, v: Any, k: Any) -> Any:
    """A spring with a little friction."""

    def step(state: Any, _: Any) -> Any:
        x, v = state
        v = v - 0.1 * (k * np.sin(x) + 0.05 * v)
        return (x + 0.1 * v, v), x

    return tg.scan(step, (x, v), None, length=STEPS)


def orbit_plain(x: Any, v: Any, k: Any) -> Any:
    xs = []
    for _ in range(STEPS):
        xs.append(x)
        v = v - 0.1 * (k * np.sin(x) + 0.05 * v)
        x = x + 0.1 * v
    return (x, v), np.stack(xs)


X, V = RNG.normal(size=(2, LANES))
DATA = RNG.normal(size=(LANES, STEPS))


def test_a_batch_is_one_parallel_phase_whoever_wrote_it() -> None:
    for f in (tg.vmap(orbit, in_axes=(0, 0, None)), orbit):
        (phase,) = blocks(f, X, V, 1.3)
        assert ((STEPS, 256) in [a.shape for a in phase.local]) == (f is not orbit), (
            "what is stacked is a result, transposed in the batch"
        )
        (x, v), xs = tg.jit(f)(X, V, 1.3)
        (px, pv), pxs = orbit_plain(X, V, 1.3)
        np.testing.assert_allclose(x, px, rtol=1e-13)
        np.testing.assert_allclose(v, pv, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(xs if f is orbit else xs.T, pxs, rtol=1e-13, atol=1e-13)


def test_what_a_derivative_reads_is_kept_for_one_block() -> None:
    f = tg.vmap(tg.grad(lambda x, v, k: orbit(x, v, k)[0][0] ** 2, (0, 1, 2)), in_axes=(0, 0, None))
    (phase,) = blocks(f, X, V, 1.3)
    shapes = [a.shape for a in phase.local]
    assert {(STEPS + 1, 256), (256,)} == set(shapes), "states of all steps, and of one"
    assert program(f, X, V, 1.3).arena < STEPS * LANES * 8
    expected = tg.vmap(
        tg.grad(lambda x, v, k: orbit_plain(x, v, k)[0][0] ** 2, (0, 1, 2)), in_axes=(0, 0, None)
    )(X, V, 1.3)
    for a, b in zip(tg.jit(f)(X, V, 1.3), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)
    before = tg.get_num_threads()
    try:
        for threads in (1, 2):
            tg.set_num_threads(threads)
            told = tg.jit(f).memory(X, V, 1.3)
            assert told.temporaries == program(f, X, V, 1.3).arena + threads * sum(
                8 * int(np.prod(shape)) for shape in shapes
            )
            assert told.largest[0][1] == 8 * (STEPS + 1) * 256
    finally:
        tg.set_num_threads(before)
    # Few lanes are no parallel phase.
    assert not blocks(f, X[:40], V[:40], 1.3)


def test_states_that_are_rows() -> None:
    def rows(u: Any, w: Any) -> Any:
        def step(u: Any, _: Any) -> Any:
            x, y, z = u[0], u[1], u[2]
            return u + 0.01 * np.stack([w * (y - x), x * (28.0 - z) - y, x * y - z]), None

        return tg.scan(step, u, None, length=STEPS)[0]

    u = RNG.normal(size=(LANES, 3))
    f = tg.vmap(tg.grad(lambda u, w: np.sum(rows(u, w) ** 2), (0, 1)), in_axes=(0, None))
    (phase,) = blocks(f, u, 10.0)
    assert {a.shape for a in phase.local} == {(STEPS, 3, 128), (3, 128)}, "kept along the lanes"
    for k in (0, 333, LANES - 1):
        for a, b in zip(
            tg.jit(f)(u, 10.0),
            tg.grad(lambda u, w: np.sum(rows(u, w) ** 2), (0, 1))(u[k], 10.0),
            strict=True,
        ):
            np.testing.assert_allclose(a[k], b, rtol=1e-11)


LOSSES: dict[str, Callable[..., Any]] = {
    "squares": lambda x, v, path: np.sum(x**2),
    "a mean of residuals": lambda x, v, path: np.mean((x - DATA[: len(x), 0]) ** 2),
    "a weighted sum of what costs much": lambda x, v, path: np.sum(
        DATA[: len(x), 0] * np.log(np.cosh(v))
    ),
    "several sums": lambda x, v, path: (
        np.sum(x**2) / 3 + np.mean(np.exp(x * v)) + np.sum(path[:, 7])
    ),
    "residuals of all steps": lambda x, v, path: (
        np.sum((path - DATA[: len(x)]) ** 2) + np.sum(v**4)
    ),
    "norms": lambda x, v, path: np.sum(np.sqrt(np.sum(path**2, axis=1))),
    "of a product": lambda x, v, path: DATA[: len(x), 1] @ x,
}


def kept(p: kernel.Program) -> int:
    """What a program needs on one thread, in bytes."""
    assert isinstance(p.arena, int)
    return p.arena + sum(8 * int(np.prod(a.shape)) for phase in p.phases for a in phase.local)


@pytest.mark.parametrize("name", LOSSES)
def test_a_value_beside_the_gradient_of_a_sum(name: str) -> None:
    def loss(x: Any, v: Any, k: Any) -> Any:
        (x, v), path = tg.vmap(orbit, in_axes=(0, 0, None))(x, v, k)
        return LOSSES[name](x, v, path)

    def plain(x: Any, v: Any, k: Any) -> Any:
        (x, v), path = orbit_plain(x, v, k)
        return LOSSES[name](x, v, path.T)

    both = tg.value_and_grad(loss, (0, 1, 2))
    for n in (LANES, 512):
        x, v = X[:n], V[:n]
        assert len(blocks(both, x, v, 1.3)) == 1, "there and back in one phase"
        assert (
            kept(program(both, x, v, 1.3))
            <= kept(program(tg.grad(loss, (0, 1, 2)), x, v, 1.3)) + 4 * 8 * n
        )
        assert (
            kept(program(both, x, v, 1.3))
            < 1.5 * (4 if "steps" in name or "norm" in name else 2) * 8 * STEPS * 256
        ), "what one block needs of all steps"
        value, gradients = tg.jit(both)(x, v, 1.3)
        expected, derivatives = tg.value_and_grad(plain, (0, 1, 2))(x, v, 1.3)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        for a, b in zip(gradients, derivatives, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


def last(x: Any) -> Any:
    return orbit(x, 0.5 * x, 1.3)[0][0]


def plainly(x: Any) -> Any:
    return orbit_plain(x, 0.5 * x, 1.3)[0][0]


def test_values_and_gradients_however_they_are_asked_for() -> None:
    """What else lies between a loop that goes forth and one that goes back."""

    def aux(run: Any) -> Any:
        return tg.value_and_grad(
            lambda x: (np.sum(run(x) ** 2), (run(x), np.mean(run(x)), np.max(run(x) * 2))),
            has_aux=True,
        )

    def product(run: Any) -> Any:
        return lambda x: (
            np.sum(run(x) ** 3),
            tg.jvp(tg.grad(lambda x: np.sum(run(x) ** 3)), (x,), (np.cos(x),)),
        )

    def hidden(run: Any) -> Any:
        return lambda x: tg.value_and_grad(lambda x: (np.sum(run(x) ** 2)) + 0.1 * np.sum(x * x))(
            2.0 * x
        )

    for f in (aux, product, hidden):
        for run in (tg.vmap(last), last, lambda x: tg.map(last, x)):
            assert len(blocks(f(run), X)) == 1 or f is product
            assert kept(program(f(run), X)) < 1.5 * (2 if f is product else 1) * 8 * STEPS * 256
            for a, b in zip(
                tg.tree.flatten(tg.jit(f(run))(X))[0],
                tg.tree.flatten(f(plainly)(X))[0],
                strict=True,
            ):
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


def test_rows_of_which_columns_are_summed() -> None:
    """A sum over lanes alone, of which each lane has several."""
    u = RNG.normal(size=(LANES, 3))

    def run(u: Any) -> Any:
        return tg.scan(lambda u, _: (u + 0.01 * np.sin(u) * u[0], None), u, None, length=STEPS)[0]

    def f(u: Any) -> Any:
        w = tg.vmap(run)(u)
        return np.sum(w * w), np.sum(w, axis=0), np.prod(1 + w / LANES, axis=0)

    both = tg.value_and_grad(lambda u: (f(u)[0], f(u)[1:]), has_aux=True)
    assert len(blocks(both, u)) == 1
    (value, (sums, products)), gradient = tg.jit(both)(u)
    one = tg.value_and_grad(lambda u: (np.sum(run(u) ** 2), run(u)), has_aux=True)
    items = [one(row) for row in u]
    np.testing.assert_allclose(value, sum(i[0][0] for i in items), rtol=1e-12)
    np.testing.assert_allclose(sums, np.sum([i[0][1] for i in items], axis=0), rtol=1e-11)
    np.testing.assert_allclose(
        products, np.prod([1 + i[0][1] / LANES for i in items], axis=0), rtol=1e-11
    )
    np.testing.assert_allclose(gradient, [i[1] for i in items], rtol=1e-11)


def test_totals_do_not_depend_on_threads() -> None:
    x = RNG.normal(size=20_011)
    f = tg.jit(
        tg.value_and_grad(
            lambda x, k: np.sum(tg.vmap(lambda x: orbit(x, x, k)[0][0])(x) ** 2), (0, 1)
        )
    )
    before, found = tg.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            tg.set_num_threads(threads)
            found += [tg.tree.flatten(f(x, 1.3))[0] for _ in range(3)]
    finally:
        tg.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(found[0][0], np.sum(orbit_plain(x, x, 1.3)[0][0] ** 2), rtol=1e-13)


def newton(a: Any) -> Any:
    return tg.while_loop(
        lambda x: abs(x**3 - a) > 1e-12 * a, lambda x: x - (x**3 - a) / (3 * x * x), a
    )


def test_items_that_decide_for_themselves() -> None:
    a = RNG.uniform(0.5, 9.0, LANES)
    f = tg.vmap(newton)
    assert len(blocks(f, a)) == 1
    np.testing.assert_allclose(tg.jit(f)(a), np.cbrt(a), rtol=1e-12)
    g = tg.vmap(tg.grad(newton))
    assert blocks(g, a)
    np.testing.assert_allclose(tg.jit(g)(a), np.cbrt(a) / (3 * a), rtol=1e-9)


def test_items_with_routines_and_memory_of_their_own() -> None:
    m = RNG.normal(size=(LANES, 9, 9)) + 9 * np.eye(9)

    def f(m: Any) -> Any:
        y = tg.scan(lambda y, _: (m @ y / 9 + 1.0, None), np.ones((9, 4)), None, length=3)[0][:, 1]
        return tg.cond(y[0] > 0.1, lambda: np.sort(y), lambda: -y)

    def plain(m: Any) -> Any:
        y = np.ones((9, 4))
        for _ in range(3):
            y = m @ y / 9 + 1.0
        y = y[:, 1]
        return np.sort(y) if y[0] > 0.1 else -y

    mapped = lambda m: tg.map(f, m)  # noqa: E731
    (phase,) = blocks(mapped, m)
    assert phase.local, "each thread has its own temporaries"
    np.testing.assert_allclose(tg.jit(mapped)(m), [plain(x) for x in m], rtol=1e-11)


def across(step: Callable[..., Any], *more: Any) -> Any:
    return lambda x: tg.scan(lambda s, _: (step(s), None), x, None, length=5)[0]


NOT_APART: dict[str, Callable[[Any], Any]] = {
    "neighbours": lambda s: s + 0.1 * (np.roll(s, 1) - s),
    "the mean of all": lambda s: s - 0.3 * np.mean(s),
    "the largest of all": lambda s: np.tanh(s / np.max(s)),
    "running sums": lambda s: 0.1 * np.cumsum(s),
    "backwards": lambda s: 0.5 * s + 0.5 * s[::-1],
    "one lane for all": lambda s: s * 0.9 + s[3],
    "sorted": lambda s: np.sort(s) * 0.9,
    "gathered": lambda s: 0.5 * s[np.arange(LANES) // 2] + 0.25,
    "added at places": lambda s: 0.5 * tg.index_add(s, 0, np.arange(LANES) // 2, s),
    "a product with all": lambda s: np.sin(np.full((3, LANES), 0.01) @ s)[0] + 0.5 * s,
}


@pytest.mark.parametrize("name", NOT_APART)
def test_lanes_that_need_each_other(name: str) -> None:
    step = NOT_APART[name]
    f, s = across(step), X
    for _ in range(5):
        s = step(s)
    np.testing.assert_allclose(tg.jit(f)(X), s, rtol=1e-11, atol=1e-13)
    if name not in ("added at places",):
        assert not blocks(f, X), "each step needs all lanes"


NOT_SPLIT: dict[str, Callable[[Any], Any]] = {
    **{
        name: lambda x, step=step: np.sum(across(step)(x) ** 2)
        for name, step in NOT_APART.items()
        if name != "added at places"
    },
    "a loss that the way back reads": lambda x: np.sqrt(np.mean(last(x) ** 2)),
    "few lanes": lambda x: np.sum(last(x[:200]) ** 2),
    "one loop": lambda x: np.sum(np.sin(x) * last(np.arange(3.0))[0]),
    "no loop": lambda x: np.sum(np.sin(x) ** 2),
}


@pytest.mark.parametrize("name", NOT_SPLIT)
def test_where_nothing_is_gained_sums_stay_as_they_are(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = tg.value_and_grad(NOT_SPLIT[name])
    found = program(f, X)
    monkeypatch.setattr(build, "by_lane", lambda graph: (graph, fission.NOTHING))
    assert program(f, X).phases == found.phases


def test_values_that_all_lanes_share() -> None:
    def f(x: Any, t: Any) -> Any:
        def step(state: Any, w: Any) -> Any:
            x, t, s = state
            return (x * np.cos(t) + s[1] * w, t + 0.1, s * 0.9 + t), t

        return tg.scan(step, (x, t, np.ones(3)), np.arange(6.0))

    (x, t, s), ts = tg.jit(f)(X, 0.2)
    (px, pt, ps), pts = f(X, 0.2)
    np.testing.assert_allclose(x, px, rtol=1e-13)
    np.testing.assert_allclose(t, pt, rtol=1e-14)
    np.testing.assert_allclose(s, ps, rtol=1e-14)
    np.testing.assert_allclose(ts, pts, rtol=1e-14)
    only_x = lambda x: f(x, 0.2)[0][0]  # noqa: E731
    assert len(blocks(only_x, X)) == 1, "each block has the time for itself"
    np.testing.assert_allclose(tg.jit(only_x)(X), px, rtol=1e-13)


def test_much_work_for_all_lanes_is_not_done_by_every_block() -> None:
    m = RNG.normal(size=(50, 50)) / 10

    def f(x: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            x, w = state
            return (x + np.sum(w), np.tanh(m @ w)), None

        return tg.scan(step, (x, np.ones(50)), None, length=4)[0][0]

    assert not blocks(f, X)
    np.testing.assert_allclose(tg.jit(f)(X), f(X), rtol=1e-12)


def test_sizes_that_are_symbols() -> None:
    f = tg.jit(tg.vmap(tg.grad(lambda x, v, k: orbit(x, v, k)[0][0] ** 2), in_axes=(0, 0, None)))
    plain = tg.vmap(tg.grad(lambda x, v, k: orbit_plain(x, v, k)[0][0] ** 2), in_axes=(0, 0, None))
    both = tg.jit(tg.value_and_grad(lambda x: np.sum(tg.vmap(last)(x) ** 2)))
    for n in (LANES, 513, 256, 255, 7, 2, 1):
        np.testing.assert_allclose(
            f(X[:n], V[:n], 1.3), plain(X[:n], V[:n], 1.3), rtol=1e-11, atol=1e-13
        )
        for a, b in zip(
            both(X[:n]), tg.value_and_grad(lambda x: np.sum(plainly(x) ** 2))(X[:n]), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)
    assert both.memory(X[:513]).temporaries < STEPS * 513 * 8 * tg.get_num_threads()


def test_as_python() -> None:
    f = tg.vmap(tg.grad(lambda x, v, k: orbit(x, v, k)[0][0] ** 2, (0, 1)), in_axes=(0, 0, None))
    n = 300
    graph = tg.jit(f).graphs(X[:n], V[:n], 1.3)[0]
    for a, b in zip(
        run_unjitted(graph, [X[:n], V[:n], np.float64(1.3)]),
        tg.jit(f)(X[:n], V[:n], 1.3),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    both = tg.value_and_grad(lambda x: np.sum(last(x) ** 2))
    for a, b in zip(
        run_unjitted(optimize(tg.jit(both).graphs(X[:n])[0]), [X[:n]]), both(X[:n]), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_errors_in_a_block_are_reported() -> None:
    f = tg.jit(
        tg.vmap(lambda a: tg.while_loop(lambda x: x > a, lambda x: x / 2, 100.0, max_steps=8))
    )
    with pytest.raises(RuntimeError, match="still going after max_steps=8"):
        f(np.linspace(0.01, 50.0, LANES))
    np.testing.assert_allclose(f(np.full(LANES, 60.0)), np.full(LANES, 50.0))


@pytest.mark.parametrize(("rows", "columns"), [(2, 7), (3, 7), (2, 40)])
def test_loops_that_end_where_another_one_is(rows: int, columns: int) -> None:
    """What a loop keeps of its state grows from pass to pass; how many lanes there are must be
    known before the first one."""
    x = RNG.normal(size=(rows, columns, 5)) * 0.3

    def scaled(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            y = np.copy(c)
            y[i] *= c[0] * 0.5 + np.sum(x) * 0.05
            return y

        return np.sum(tg.fori_loop(0, 2, step, np.sin(x)) * 2.0)

    for f in (tg.grad(scaled), lambda x: tg.hvp(scaled, (x,), (np.cos(x),))):
        np.testing.assert_allclose(tg.jit(f)(x), f(x), rtol=1e-12, atol=1e-14)


def test_the_work_of_a_routine_in_a_loop() -> None:
    """It may depend on the pass, which nobody knows who divides the work."""
    i, size = integers.symbol("i"), integers.symbol("n")
    call = kernel.Call("library.matmul", ("a", "b", "c"), work=i * size)
    inside = kernel.Loop("i", 0, size, (call,), True)
    phase = kernel.Phase("parallel", (kernel.Loop("lane", 0, size, (inside,)),))
    made = kernel.Program("f", "", (("n", ("a", 0)),), (), (phase,))
    (share,) = work.shares(made)
    assert integers.symbols(share.work) == {"n"}
    assert integers.substitute(share.work, {"n": 10}) == 10 * 10 * (5 * 10)
