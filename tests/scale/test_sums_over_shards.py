"""`tg.scale.sum_over`: values and derivatives equal those of the unsharded function, and their bits
are the same for any number of workers and any order of arrival."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.shard_functions import logistic, lowest, per_row, rows, statistics
from tracegrad.scale import choosing, reports, session, sums, worker
from tracegrad.scale.engines.local import Serial, Threads
from tracegrad.scale.engines.processes import Processes
from tracegrad.scale.session import ShardedFunction, ranges
from tracegrad.scale.sources import openers_of
from tracegrad.scale.worker import work

SHARDS = rows()
THETA = np.array([0.3, -0.2, 0.5])
V = np.array([1.0, -2.0, 0.5])


class Shuffled(Serial):
    """Any number of workers, which do their tasks in another order each time."""

    name = "shuffled"

    def __init__(self, count: int) -> None:
        self.count, self.rng = count, np.random.default_rng(count)

    def workers(self) -> int:
        return self.count

    def run(self, tasks: Sequence[Any], limit: Any, running: Any) -> Any:
        answers: list[Any] = [None] * len(tasks)
        for k in self.rng.permutation(len(tasks)):
            answers[k] = work(tasks[k])
        return answers


@pytest.fixture(scope="module")
def processes() -> Iterator[Any]:
    engine = Processes(2)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def engines(processes: Any) -> Iterator[dict[str, Any]]:
    threads = Threads(3)
    yield {
        **{f"{n} workers": Shuffled(n) for n in (1, 2, 3, 7, 50)},
        "threads": threads,
        "processes": processes,
    }
    threads.close()


def total_on(engine: Any, function: Any, shards: Any = SHARDS, reduce: Any = "sum") -> Any:
    openers = openers_of(shards)
    return sums.Total(ShardedFunction(function, openers, engine, 1 << 30, 60.0, "sum_over"), reduce)


def whole(function: Any, shards: Any = SHARDS) -> Any:
    def unsharded(theta: Any) -> Any:
        parts = [tg.tree.flatten(function(theta, s)) for s in shards]
        leaves = [sum(p[1:], p[0]) for p in zip(*[p[0] for p in parts], strict=True)]
        return tg.tree.unflatten(parts[0][1], leaves)

    return unsharded


def results(f: Any) -> list[Any]:
    """Value and derivatives of many kinds of a number."""
    value, gradient = tg.value_and_grad(f)(THETA)
    return [
        f(THETA),
        value,
        gradient,
        *tg.jvp(f, (THETA,), (V,)),
        tg.hvp(f, THETA, V),
    ]


def test_the_order_of_elements_changes_no_bits() -> None:
    """What travels arrives in C order: so it is everywhere, for parameters and shards of the
    driver's."""
    x = np.random.default_rng(0).normal(size=(50, 7))
    arrays = np.asfortranarray(x), x[:, ::-1]

    def squares(t: Any, s: Any) -> Any:
        return np.sum(np.tanh(t * s) * s)

    def found(t: Any, s: Any) -> bytes:
        value, gradient = tg.value_and_grad(tg.scale.sum_over(squares, [s]))(t)
        return bytes(value.tobytes() + gradient.tobytes())

    for a in arrays:
        c = a.copy(order="C")
        assert found(a, c) == found(c, a) == found(c, c)


def test_the_same_bits_on_every_engine(engines: dict[str, Any]) -> None:
    """Of a number, its derivatives and its Hessian."""
    wanted = results(whole(logistic))
    first = None
    for name, engine in engines.items():
        found = results(total_on(engine, logistic))
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        texts = [np.asarray(x).tobytes() for x in found]
        first = first or texts
        assert texts == first, name


class Strangers(Serial):
    """Workers that have done nothing before: each task goes to a new one."""

    name = "strangers"
    local = False

    def __init__(self, count: int) -> None:
        self.count = count

    def workers(self) -> int:
        return self.count

    def run(self, tasks: Sequence[Any], limit: Any, running: Any) -> Any:
        answers = []
        for task in tasks:
            worker.SESSIONS.clear()
            answers.append(work(task))
        return answers


@pytest.mark.parametrize("order", ["C", "F"])
def test_bits_do_not_depend_on_what_a_worker_did_before(monkeypatch: Any, order: Any) -> None:
    """Shards come again in the size of the first, for which there is code of its own: a worker that
    begins with others runs that code, too."""
    shards = rows(sizes=(4, 5, 7, 4, 1, 4))
    shards = [{"x": np.asarray(s["x"], order=order), "y": s["y"]} for s in shards]
    monkeypatch.setattr(worker, "SESSIONS", type(worker.SESSIONS)())
    totals = [total_on(e, mixed, shards) for e in (Serial(), Strangers(3))]
    for n in (3, 4):
        theta = np.linspace(-0.3, 0.4, n)
        found = [tg.value_and_grad(t)(theta) for t in totals]
        texts = {v.tobytes() + g.tobytes() for v, g in found}
        assert len(texts) == 1, n


def mixed(theta: Any, shard: Any) -> Any:
    """Products whose bits depend on the code that is chosen for them, of parameters of any size."""
    return logistic(theta[:3], shard) * np.sum(np.cos(theta))


def test_more_sizes_than_workers_are_told_of(monkeypatch: Any) -> None:
    """They run code for all sizes, or of their own; not what others left."""
    monkeypatch.setattr(session, "MOST_SIGNATURES", 2)
    monkeypatch.setattr(worker, "SESSIONS", type(worker.SESSIONS)())
    shards = rows(sizes=(4, 1, 5, 4, 7, 1))
    found = [
        tg.value_and_grad(total_on(e, logistic, shards))(THETA) for e in (Serial(), Strangers(3))
    ]
    assert len({v.tobytes() + g.tobytes() for v, g in found}) == 1


def test_hessians() -> None:
    f = total_on(Shuffled(3), logistic)
    np.testing.assert_allclose(tg.hessian(f)(THETA), tg.hessian(whole(logistic))(THETA), rtol=1e-12)
    batch = np.stack([THETA, V, -V])
    np.testing.assert_allclose(tg.vmap(f)(batch), [f(t) for t in batch], rtol=1e-14)
    twice, plain = (
        tg.grad(lambda t, h=h: np.sum(tg.grad(h)(t) ** 2)) for h in (f, whole(logistic))
    )
    np.testing.assert_allclose(twice(THETA), plain(THETA), rtol=1e-12)


def nonlinear(found: Any) -> Any:
    """Of sums of statistics."""
    m = found["moments"]
    return m[0] ** 2 / m[1] + np.log(found["rows"] + m[1])


TREE = {"w": THETA, "b": np.float64(0.1)}


def test_nonlinear_functions_of_sums(engines: dict[str, Any]) -> None:
    expected = whole(statistics)
    value, gradient = tg.value_and_grad(lambda t: nonlinear(expected(t)))(TREE)
    texts = set()
    for engine in (engines["2 workers"], engines["7 workers"], engines["processes"]):
        total = total_on(engine, statistics)
        assert total(TREE)["rows"] == sum(s["y"].size for s in SHARDS)
        found = tg.value_and_grad(lambda t, total=total: nonlinear(total(t)))(TREE)
        np.testing.assert_allclose(found[0], value, rtol=1e-13)
        np.testing.assert_allclose(found[1]["w"], gradient["w"], rtol=1e-12)
        np.testing.assert_allclose(found[1]["b"], gradient["b"], rtol=1e-12)
        texts.add((found[0].tobytes(), found[1]["w"].tobytes(), found[1]["b"].tobytes()))
    assert len(texts) == 1
    total = total_on(engines["3 workers"], statistics)
    blocks = tg.jacobian(lambda t: total(t)["moments"])(TREE)
    expected_blocks = tg.jacobian(lambda t: expected(t)["moments"])(TREE)
    np.testing.assert_allclose(blocks["w"], expected_blocks["w"], rtol=1e-12)
    np.testing.assert_allclose(blocks["b"], expected_blocks["b"], rtol=1e-12)


def test_inside_of_jit(engines: dict[str, Any]) -> None:
    """The surrounding function is compiled, in parts around the evaluation; value and gradient come
    from one."""
    total = total_on(engines["2 workers"], logistic)
    plain = whole(logistic)

    def loss(f: Any) -> Any:
        return lambda t, scale: np.log(f(t * scale) + 1.0) * scale

    fast = tg.jit(loss(total))
    np.testing.assert_allclose(fast(THETA, 2.0), loss(plain)(THETA, 2.0), rtol=1e-13)
    np.testing.assert_allclose(fast(V, 0.5), loss(plain)(V, 0.5), rtol=1e-13)
    both = tg.jit(tg.value_and_grad(loss(total)))
    both(THETA, 2.0)
    reports.LOG.clear()
    value, gradient = both(THETA, 2.0)
    assert [e.kind for e in tg.scale.report()] == ["value and gradient"]
    expected = tg.value_and_grad(loss(plain))(THETA, 2.0)
    np.testing.assert_allclose(value, expected[0], rtol=1e-13)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12)
    hessian = tg.jit(tg.hessian(total))(THETA)
    np.testing.assert_allclose(hessian, tg.hessian(plain)(THETA), rtol=1e-12)
    # On the tape, and of another size of another argument.
    g = tg.jit(lambda t, x: total(t) * np.sum(x))
    np.testing.assert_allclose(g(THETA, np.ones(4)), 4 * plain(THETA), rtol=1e-13)
    np.testing.assert_allclose(g(THETA, np.ones(9)), 9 * plain(THETA), rtol=1e-13)
    np.testing.assert_allclose(tg.grad(g)(THETA, np.ones(5)), 5 * tg.grad(plain)(THETA), rtol=1e-12)


def test_inside_of_loops_and_branches() -> None:
    """Of compiled functions: they are interpreted, with derivatives and for any size."""
    total, plain = total_on(Shuffled(2), logistic), whole(logistic)

    def descended(f: Any) -> Any:
        def step(state: Any, rate: Any) -> Any:
            t, u = state
            slower = tg.cond(rate > 0.15, lambda x: 0.5 * f(x), lambda x: f(x), t)
            return (t - rate * tg.grad(f)(t), u * slower), f(t)

        def loss(t: Any, u: Any) -> Any:
            (t, u), values = tg.scan(step, (t, u), np.array([0.1, 0.2]))
            return np.sum(values) + np.sum(u)

        return loss

    fast = tg.jit(descended(total))
    for u in (np.ones(2), np.arange(3.0), np.ones(5)):
        np.testing.assert_allclose(fast(THETA, u), descended(plain)(THETA, u), rtol=1e-12)
    found = tg.jit(tg.grad(descended(total)))(THETA, np.ones(2))
    expected = tg.grad(descended(plain))(THETA, np.ones(2))
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("method", ["newton", "bfgs"])
def test_minimize(method: str) -> None:
    """Eagerly, jitted, and differentiated as what its equations make it."""
    total, plain = total_on(Shuffled(2), logistic), whole(logistic)

    def best(f: Any) -> Any:
        return lambda a: tg.minimize(
            lambda t: f(t) + a * np.sum(t**2), np.zeros(3), method=method, tol=1e-10
        )

    expected = best(plain)(0.5)
    np.testing.assert_allclose(best(total)(0.5), expected, atol=1e-9)
    np.testing.assert_allclose(tg.grad(total)(expected) + expected, 0.0, atol=1e-8)
    np.testing.assert_allclose(tg.jit(best(total))(0.5), expected, atol=1e-9)
    if method == "newton":
        # Of a root of g(t) + 2 a t the derivative is -(H + 2 a)^-1 2 t.
        slopes = np.linalg.solve(tg.hessian(plain)(expected) + np.eye(3), -2.0 * expected)
        np.testing.assert_allclose(tg.jacobian(best(total))(0.5), slopes, rtol=1e-7)
        found = tg.jit(tg.grad(lambda a: np.sum(best(total)(a) ** 2)))(0.5)
        np.testing.assert_allclose(found, 2.0 * expected @ slopes, rtol=1e-7)


def test_changes_of_what_is_read_inside_of_jit() -> None:
    """Where the function of a shard comes to give another shape, the code behind it is another."""
    count, weight = [2], np.ones(1)
    total = tg.scale.sum_over(lambda t, s: t[: count[0]] * weight[0], SHARDS[:2])
    fast = tg.jit(lambda t: np.sum(total(t) ** 2))
    assert fast(np.ones(4)) == 8.0
    weight[0] = 3.0
    assert fast(np.ones(4)) == 72.0
    for n in (3, 1):
        count[0] = n
        assert fast(np.ones(4)) == 36.0 * n


def test_scipy_and_torch_faces() -> None:
    from scipy.optimize import minimize

    total = total_on(Shuffled(2), logistic)
    ridge = lambda t: total(t) + 0.5 * np.sum(t**2)  # noqa: E731
    fit = minimize(tg.value_and_grad(ridge), np.zeros(3), jac=True, method="BFGS")
    np.testing.assert_allclose(tg.grad(ridge)(fit.x), 0.0, atol=1e-4)
    t = tg.tensor(THETA, requires_grad=True)
    (total(t) * 2.0).backward()
    np.testing.assert_allclose(t.grad.numpy(), 2 * tg.grad(total)(THETA), rtol=1e-14)


REDUCED = {
    "mean": lambda t, f: sum(f(t, s) for s in SHARDS) / len(SHARDS),
    "stack": lambda t, f: np.stack([f(t, s) for s in SHARDS]),
}


@pytest.mark.parametrize("reduce", REDUCED)
def test_reductions(reduce: str) -> None:
    found = total_on(Shuffled(4), logistic, reduce=reduce)
    expected = REDUCED[reduce]
    np.testing.assert_allclose(found(THETA), expected(THETA, logistic), rtol=1e-13)
    a = tg.jacobian(found)(THETA)
    b = tg.jacobian(lambda t: expected(t, logistic))(THETA)
    np.testing.assert_allclose(a, b, rtol=1e-12)


def test_logsumexp_of_shards() -> None:
    """Where exp of a single one overflows or vanishes."""
    total = total_on(Shuffled(3), lowest, reduce="logsumexp")
    expected = lambda t: tg.special.logsumexp(np.stack([lowest(t, s) for s in SHARDS]))  # noqa: E731
    for theta in (THETA, 10.0 * THETA):
        np.testing.assert_allclose(total(theta), expected(theta), rtol=1e-13)
        np.testing.assert_allclose(tg.grad(total)(theta), tg.grad(expected)(theta), rtol=1e-11)
    h = tg.hessian(total)(THETA)
    np.testing.assert_allclose(h, tg.hessian(expected)(THETA), rtol=1e-9, atol=1e-9)


def test_concatenated_results(engines: dict[str, Any]) -> None:
    """Of uneven lengths, with derivatives in both modes, of second order too."""

    def expected(t: Any) -> Any:
        return np.concatenate([per_row(t, s) for s in SHARDS])

    n = sum(s["x"].shape[0] for s in SHARDS)
    weights = np.random.default_rng(3).normal(size=(n, 3))
    for engine in (engines["3 workers"],):
        total = total_on(engine, per_row, reduce="concatenate")
        np.testing.assert_allclose(total(THETA), expected(THETA), rtol=1e-14)
        f, g = (lambda t, h=h: np.sum(weights * h(t) ** 3) for h in (total, expected))
        np.testing.assert_allclose(tg.grad(f)(THETA), tg.grad(g)(THETA), rtol=1e-12)
        np.testing.assert_allclose(tg.hvp(f, THETA, V), tg.hvp(g, THETA, V), rtol=1e-12)
        np.testing.assert_allclose(
            tg.jvp(total, (THETA,), (V,))[1], tg.jvp(expected, (THETA,), (V,))[1], rtol=1e-13
        )
    total = total_on(engines["3 workers"], per_row, reduce="concatenate")
    for mode in ("forward", "reverse"):
        found = tg.jacobian(total, mode=mode)(THETA)
        np.testing.assert_allclose(found, tg.jacobian(expected)(THETA), rtol=1e-12)
    found = tg.jit(tg.grad(lambda t: np.sum(weights * total(t) ** 3)))(THETA)
    np.testing.assert_allclose(
        found, tg.grad(lambda t: np.sum(weights * expected(t) ** 3))(THETA), rtol=1e-12
    )


def test_a_function_of_the_stacked_results() -> None:
    spread = total_on(Shuffled(3), logistic, reduce=lambda parts: np.max(parts) - np.min(parts))
    parts = [logistic(THETA, s) for s in SHARDS]
    assert spread(THETA) == pytest.approx(max(parts) - min(parts), rel=1e-13)


def test_dtypes_numbers_and_several_arguments() -> None:
    """float32 stays float32 beside Python's numbers; truths are counted; complex numbers."""
    single = rows(np.float32)
    f = tg.scale.sum_over(lambda a, b, s: np.sum(s["x"] * a) * b, single)
    assert f(np.float32(2.0), 1.5).dtype == np.float32
    assert f(np.float64(2.0), 1.5).dtype == np.float64
    a, b = tg.grad(f, argnums=(0, 1))(np.float32(2.0), 1.5)
    x = np.concatenate([s["x"] for s in single])
    np.testing.assert_allclose(a, 1.5 * x.sum(), rtol=1e-5)
    np.testing.assert_allclose(b, 2.0 * x.sum(), rtol=1e-5)
    count = tg.scale.sum_over(lambda t, s: np.any(s["x"] > t), SHARDS)
    assert count(0.0) == sum(bool(np.any(s["x"] > 0.0)) for s in SHARDS)
    few = [
        np.array([100, 60], np.uint8),
        np.array([90, 200], np.uint8),
        np.array([80, 3], np.uint8),
    ]
    small = tg.scale.sum_over(lambda t, s: s, few)(0.0)
    assert (small.dtype, small.tolist()) == (np.uint64, [270, 263])
    total = tg.scale.sum_over(lambda t, s: s, lambda: iter([x.astype(np.int8) for x in few]))
    assert (total(0.0).dtype, total(0.0).tolist()) == (np.int64, [270, 7])
    mask = tg.scale.sum_over(lambda t, s: s > t, few, reduce="concatenate")(85.0)
    assert (mask.dtype, mask.tolist()) == (np.bool_, [True, False, True, True, False, False])
    z = np.array([1.0 + 2.0j, -1.0j, 0.5])
    square = lambda t, s: np.sum(np.abs(s["x"] @ t) ** 2)  # noqa: E731
    found = tg.grad(tg.scale.sum_over(square, SHARDS))(z)
    expected = tg.grad(lambda t: sum(square(t, s) for s in SHARDS))(z)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    wave = tg.scale.sum_over(lambda t, s: np.sum(np.exp(1j * s["x"] @ t)), SHARDS)
    g = tg.grad(lambda t: np.abs(wave(t)) ** 2)(THETA)
    x = np.concatenate([s["x"] for s in SHARDS])
    expected = tg.grad(lambda t: np.abs(np.sum(np.exp(1j * x @ t))) ** 2)(THETA)
    np.testing.assert_allclose(g, expected, rtol=1e-11)


def test_missing_values_and_empty_shards() -> None:
    """An empty shard is one; NaN is what the function makes of it."""
    shards = [np.array([1.0, np.nan]), np.zeros(0), np.array([3.0])]
    known = tg.scale.sum_over(lambda t, x: np.sum(t * np.where(np.isnan(x), 0.0, x)), shards)
    assert known(2.0) == 8.0
    assert tg.grad(known)(2.0) == 4.0
    assert np.isnan(tg.scale.sum_over(lambda t, x: np.sum(t * x), shards)(2.0))
    mean = tg.scale.sum_over(lambda t, x: (np.sum(t * x), x.size), shards[1:])
    assert mean(2.0) == (6.0, 1)


def test_what_the_function_reads_around_it_is_what_it_is_now(processes: Any) -> None:
    weight = np.array([1.0, 1.0, 1.0])
    power = [2]
    for engine in (Serial(), processes):
        weight[:], power[0] = 1.0, 2
        total = total_on(engine, lambda t, s: np.sum((s["x"] * weight) @ t) ** power[0])
        first = total(THETA)
        weight[:] = 2.0
        np.testing.assert_allclose(total(THETA), 4.0 * first, rtol=1e-13)
        power[0] = 1
        expected = sum(np.sum((s["x"] * weight) @ THETA) for s in SHARDS)
        np.testing.assert_allclose(total(THETA), expected, rtol=1e-12)
        np.testing.assert_allclose(
            tg.grad(total)(THETA), 2 * sum(s["x"].sum(axis=0) for s in SHARDS), rtol=1e-12
        )


def test_what_would_travel_as_a_constant_is_refused() -> None:
    x = SHARDS[:2]

    def outer(a: Any) -> Any:
        return tg.scale.sum_over(lambda t, s: np.sum(s["x"] @ t) * a, x)(THETA)

    for call in (lambda: tg.grad(outer)(2.0), lambda: tg.jit(outer)(2.0)):
        with pytest.raises(tg.TracegradError):
            call()
    w = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.raises(tg.TracegradError, match="Make it an argument"):
        tg.scale.sum_over(lambda t, s: tg.sum(tg.tensor(s["x"]) @ w) * t, x)(2.0)
    seen: list[Any] = []
    with pytest.raises(tg.TracegradError, match="changes something"):
        tg.scale.sum_over(lambda t, s: (seen.append(t), np.sum(s["x"]) * t)[1], x)(2.0)


def test_ranges_are_even_and_whole() -> None:
    for count, workers in itertools.product((1, 2, 5, 16, 97), (1, 2, 3, 7, 200)):
        found = ranges(count, workers)
        assert found[0][0] == 0
        assert found[-1][1] == count
        assert all(a[1] == b[0] for a, b in itertools.pairwise(found))
        assert {b - a for a, b in found} <= {count // len(found), count // len(found) + 1}


def test_names_of_engines_are_made_once() -> None:
    a = choosing.engine_for("sum_over", "threads", None, 2)
    assert choosing.engine_for("sum_over", "threads", None, 2) is a
    assert tg.scale.sum_over(logistic, SHARDS, backend="threads", workers=2)(THETA) == total_on(
        Serial(), logistic
    )(THETA)
