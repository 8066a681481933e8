"""Arguments that are given up: results take their memory where that is right, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad._codegen import inplace, integers, kernel

RNG = np.random.default_rng(5)
DATA, TARGET = RNG.normal(size=(50, 8)), RNG.normal(size=50)


def loss(w: Any) -> Any:
    return np.sum((DATA @ w - TARGET) ** 2)


def descend(w: Any) -> Any:
    return w - 0.001 * tg.grad(loss)(w)


def adam(w: Any, m: Any, v: Any, t: Any) -> Any:
    g = tg.grad(loss)(w)
    m = 0.9 * m + 0.1 * g
    v = 0.99 * v + 0.01 * g * g
    return w - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8), m, v


def in_place(function: Any, *arguments: Any, donate: Any = 0) -> bool:
    """Whether the result lies in the first argument; its values are checked, for both calls of a
    signature."""
    f = tg.jit(function, donate_argnums=donate)
    places = set()
    for _ in range(3):
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        want = function(*arguments)
        found = f(*given)
        np.testing.assert_allclose(found, want, rtol=1e-12)
        places.add(bool(np.shares_memory(found, given[0])))
    assert len(places) == 1
    return places.pop()


X = RNG.normal(size=(30, 20))
BIG = RNG.normal(size=30_000)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda x: x + 1, (X,)),
        (lambda x: np.exp(x) * x - x**3, (X,)),
        (lambda x, y: x * y + y, (X, X + 1)),
        (lambda x: x / np.sum(x**2), (X,)),
        (lambda x: np.sin(x), (BIG,)),
        (lambda x: x - np.mean(x, axis=0), (X,)),
        (descend, (np.ones(8),)),
        (lambda x, s: x * s, (X, 2.0)),
        (lambda x: x * 2 + 1, (X[:, :3].copy(),)),
        (lambda x: x * 2 + 1j, (X * 1j,)),
        (lambda x: np.linalg.inv(x + 10 * np.eye(20)), (X[:20].copy(),)),
        (lambda x: np.cumsum(x), (BIG,)),
    ],
)
def test_where_it_is_right(function: Any, arguments: tuple[Any, ...]) -> None:
    assert in_place(function, *arguments)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda x: x[::-1] + 1, (X,)),
        (lambda x: x[::-1] + x, (X,)),
        (lambda x: x + x.T, (X[:20].copy(),)),
        (lambda x: x @ x, (X[:20].copy(),)),
        (lambda x: np.sort(x, axis=0), (X,)),
        (lambda x: x[1:] - x[:-1], (BIG,)),
        (lambda x: np.concatenate([x[1:], x[:1]]), (BIG,)),
        (lambda x: tg.take(x, np.arange(29, -1, -1), axis=0), (X,)),
        (lambda x: x.astype(np.float32), (X,)),
        (lambda x: np.concatenate([x[:1], x[1:] - x[:-1]]), (BIG,)),
    ],
)
def test_where_it_would_be_wrong(function: Any, arguments: tuple[Any, ...]) -> None:
    """Elements that are read after others were written: the values are checked either way."""
    assert not in_place(function, *arguments)


def test_one_argument_serves_one_result() -> None:
    x = X.copy()
    a, b = tg.jit(lambda x: (x + 1, x * 2), donate_argnums=0)(x)
    np.testing.assert_array_equal(a, X + 1)
    np.testing.assert_array_equal(b, X * 2)
    assert not np.shares_memory(a, b)


def test_the_sum_beside_it() -> None:
    x = BIG.copy()
    y, total = tg.jit(lambda x: (x * 2, np.sum(x)), donate_argnums=0)(x)
    np.testing.assert_array_equal(y, BIG * 2)
    np.testing.assert_allclose(total, np.sum(BIG))


def test_a_training_loop_allocates_nothing() -> None:
    f, plain = tg.jit(adam, donate_argnums=(0, 1, 2)), tg.jit(adam)
    state: list[Any] = [np.zeros(8), np.zeros(8), np.zeros(8)]
    other: list[Any] = [s.copy() for s in state]
    places = {s.ctypes.data for s in state}
    for t in range(1, 6):
        state = list(f(*state, float(t)))
        other = list(plain(*other, float(t)))
        for a, b in zip(state, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13)
    assert {s.ctypes.data for s in state} == places


def test_large_results_may_be_given_up_again() -> None:
    """Their memory comes from a pool, of which they are views."""
    f = tg.jit(lambda x: x * 0.5, donate_argnums=0)
    x = tg.jit(lambda n: np.broadcast_to(n, (300_000,)) * 1.0)(8.0)
    place = x.ctypes.data
    for _ in range(3):
        x = f(x)
    assert x.ctypes.data == place
    assert np.all(x == 1.0)


def test_trees_and_keywords() -> None:
    f = tg.jit(lambda p, x: {"w": p["w"] + x, "b": p["b"] * 2}, donate_argnums=0)
    for call in (lambda p: f(p, 1.0), lambda p: f(x=1.0, p=p), lambda p: f(p, x=1.0)):
        for _ in range(2):
            p = {"w": np.ones(4), "b": np.ones(3)}
            found = call(p)
            assert found["w"] is p["w"]
            assert found["b"] is p["b"]
            np.testing.assert_array_equal(found["w"], np.full(4, 2.0))


def test_other_arguments_stay() -> None:
    x, y = X.copy(), X.copy()
    tg.jit(lambda x, y: x + y, donate_argnums=(1,))(x, y)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, 2 * X)


def test_sizes_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracegrad.runtime import threads

    for name in ("CALL", "PHASE", "PIECE", "HELPER"):
        monkeypatch.setattr(threads, name, 1)
    before = tg.get_num_threads()
    tg.set_num_threads(3)
    try:
        f = tg.jit(lambda x: np.sin(x) / np.sum(x**2), donate_argnums=0)
        for n in (20_000, 20_001, 30_000):
            x = RNG.normal(size=n)
            want = np.sin(x) / np.sum(x**2)
            found = f(x)
            assert found is x
            np.testing.assert_allclose(found, want, rtol=1e-12)
    finally:
        tg.set_num_threads(before)


def test_what_cannot_be_given_up() -> None:
    f = tg.jit(lambda x, y: x + y, donate_argnums=0)
    for _ in range(2):
        with pytest.raises(ValueError, match="x is a view"):
            f(X[:5], X[:5].copy())
        frozen = X.copy()
        frozen.flags.writeable = False
        with pytest.raises(ValueError, match="x is read-only"):
            f(frozen, X)
        x = X.copy()
        with pytest.raises(ValueError, match="x shares memory with another"):
            f(x, x)
        with pytest.raises(ValueError, match="x shares memory with another"):
            f(x, x[::-1])
        assert f(x, X) is x
    with pytest.raises(ValueError, match="requires grad"):
        f(tg.tensor(X, requires_grad=True), X)
    tensor = tg.tensor(X)
    np.testing.assert_array_equal(f(tensor, X).numpy(), 2 * X)
    np.testing.assert_array_equal(tensor.numpy(), X)


def test_a_captured_array_is_no_argument() -> None:
    w = np.ones(4)
    f = tg.jit(lambda x: x + w, donate_argnums=0)
    assert f(np.ones(4))[0] == 2.0
    with pytest.raises(ValueError, match="captured"):
        f(w)


def test_options() -> None:
    with pytest.raises(TypeError, match="donate_argnums"):
        tg.jit(lambda x: x, donate_argnums=1)
    with pytest.raises(TypeError, match="both static and donated"):
        tg.jit(lambda x: x, donate_argnums=0, static_argnums=0)

    class Model:
        @tg.jit(donate_argnums=1)
        def step(self, x: Any) -> Any:
            return x + 1

    x = X.copy()
    assert Model().step(x) is x


def test_an_element_written_twice_is_not_read_in_between() -> None:
    i, f64 = integers.symbol("i"), np.dtype(float)
    first = kernel.Store("out", (i,), kernel.Literal(0.0, f64))
    read = kernel.Let("t", kernel.Load("x", (i,), f64))
    second = kernel.Store("out", (i,), kernel.Name("t", f64))

    def donated(*body: kernel.Statement) -> dict[int, int]:
        buffers = (kernel.Buffer("x", f64, (8,), "in"), kernel.Buffer("out", f64, (8,), "out"))
        phase = kernel.Phase("serial", (kernel.Loop("i", 0, 8, body),))
        return inplace.reuse(kernel.Program("k", "", (), buffers, (phase,), (), 0), (0,))[1]

    assert donated(read, first, second) == {0: 0}
    assert donated(first, read, second) == {}
