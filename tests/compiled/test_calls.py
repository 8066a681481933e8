"""The short way of a call: every kind of signature goes it, and whatever is not as before leaves
it."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
from collections import OrderedDict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import assert_same
from tracegrad.compiled.jitted import Jitted

Pair = namedtuple("Pair", "a b")  # noqa: PYI024
X = np.arange(1.0, 5.0)
SCALE = 2.0


@dataclasses.dataclass
class Weights:
    w: Any
    b: Any


def offset_of(model: Any) -> float:
    return float(model.offset.sum())


def scaled(x: Any) -> Any:
    return x * SCALE


def tanh_layers(layers: Any, x: Any) -> Any:
    for w, b in layers:
        x = np.tanh(w @ x + b)
    return np.sum(x)


def write(x: Any) -> Any:
    x[0] = x[1] * 2.0
    return np.sum(x)


def long_ways(f: Jitted, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls that go the long way from now on."""
    seen: list[Any] = []
    original = Jitted._call

    def counted(self: Jitted, args: Any, kwargs: Any) -> Any:
        if self is f:
            seen.append(args)
        return original(self, args, kwargs)

    monkeypatch.setattr(Jitted, "_call", counted)
    return seen


WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0])
LAYERS = [(np.eye(4), np.zeros(4)), (np.ones((4, 4)), np.ones(4))]
SIGNATURES: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], dict[str, Any]]] = {
    "array": (tg.value_and_grad(lambda x: np.sum(np.sin(x) ** 2)), (X,), {}, {}),
    "two arrays": (lambda x, y: x * y, (X, X), {}, {}),
    "number": (lambda x, s: x * s, (X, 2.5), {}, {}),
    "numpy number": (lambda x, s: x * s, (X, np.float32(2.5)), {}, {}),
    "numbers only": (lambda a, b: a * b + 1, (3, 4), {}, {}),
    "capture": (lambda x: np.sum(WEIGHTS * x), (X,), {}, {}),
    "helper": (lambda x: scaled(x) + WEIGHTS, (X,), {}, {}),
    "dict": (
        tg.grad(lambda p, x: np.sum(np.tanh(p["w"] * x + p["b"]))),
        ({"w": X, "b": X[::-1].copy()}, X),
        {},
        {},
    ),
    "list of tuples": (tg.value_and_grad(tanh_layers), (LAYERS, X), {}, {}),
    "namedtuple": (lambda p: Pair(p.a + 1, (p.b, None)), (Pair(X, 2.0),), {}, {}),
    "dataclass": (lambda p, x: p.w * x + p.b, (Weights(X, 1.0), X), {}, {}),
    "none": (lambda x, y: x if y is None else x + y, (X, None), {}, {}),
    "keyword": (lambda x, *, k=1.0: x * k, (X,), {"k": X}, {}),
    "static": (lambda x, n: x * n, (X, 3), {}, {"static_argnames": "n"}),
    "static keyword": (lambda x, n: x * n, (X,), {"n": 3}, {"static_argnames": "n"}),
    "write": (write, (X.copy(),), {}, {}),
    "strided": (lambda x: x + 1.0, (np.arange(12.0)[::3],), {}, {}),
    "no argument": (lambda: WEIGHTS * 2.0, (), {}, {}),
    "no result": (lambda x: None, (X,), {}, {}),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_short_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, args, kwargs, options = SIGNATURES[name]
    f = tg.jit(function, **options)

    def fresh() -> tuple[Any, ...]:
        return tuple(a.copy() if name == "write" and isinstance(a, np.ndarray) else a for a in args)

    expected = f(*fresh(), **kwargs)
    seen = long_ways(f, monkeypatch)
    for _ in range(3):
        given = fresh()
        found = f(*given, **kwargs)
        assert type(found) is type(expected)
        for want, have in zip(tg.tree.flatten(expected)[0], tg.tree.flatten(found)[0], strict=True):
            assert type(want) is type(have)
            assert_same(have, want, 0.0)
        if name == "write":
            assert given[0][0] == 2 * given[0][1]
    assert not seen


def test_sizes_share_one_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tg.jit(tg.grad(lambda x, y: np.sum(np.sin(x) * y)))
    for n in (4, 5):
        f(np.ones(n), np.ones(n))
    seen = long_ways(f, monkeypatch)
    for n in range(4, 60):
        x = np.linspace(0, 1, n)
        np.testing.assert_allclose(f(x, x), np.cos(x) * x)
    assert not seen
    with pytest.raises(ValueError, match="broadcast"):
        f(np.ones(7), np.ones(8))
    np.testing.assert_allclose(f(np.ones(1), np.ones(1)), np.cos([1.0]))


def test_guards_are_kept() -> None:
    f = tg.jit(lambda x: x * 2.0 if x.shape[0] > 10 else x * 3.0)
    for n in (4, 5, 12, 13, 6, 14, 7, 10, 11):
        np.testing.assert_array_equal(f(np.ones(n)), np.full(n, 2.0 if n > 10 else 3.0))


def test_other_arguments_of_the_same_shape() -> None:
    def g(x: Any) -> Any:
        return x * 2

    f = tg.jit(g)
    tensor = tg.tensor(X)
    others: list[Any] = [
        X,
        X.astype(np.float32),
        X.astype(">f8"),
        X.astype(int),
        X + 1j,
        np.arange(8.0)[::2],
        X > 2,
        X[None],
        3,
        3.0,
        True,
        tensor,
    ]
    for _ in range(3):
        for x in others:
            assert_same(f(x), g(x) if x is not True else np.int64(2), 0.0)
    assert isinstance(f(tensor), tg.Tensor)


def test_structures_are_told_apart() -> None:
    f = tg.jit(lambda p: sum(tg.tree.flatten(p)[0], 0.0))
    trees: list[Any] = [
        (X, X),
        [X, X],
        {"a": X, "b": X},
        {"a": X},
        {"a": X, "c": X + 1},
        Pair(X, X),
        Weights(X, X),
        (X, (X, X)),
        (X, None),
        OrderedDict(a=X, b=X),
        X,
    ]
    for _ in range(2):
        for tree in trees:
            np.testing.assert_array_equal(f(tree), sum(tg.tree.flatten(tree)[0], 0.0))


def test_a_missing_or_surplus_argument_is_an_error() -> None:
    f = tg.jit(lambda x, y: x + y)
    f(X, X)
    for args, kwargs in (((X,), {}), ((X, X, X), {}), ((X, X), {"z": X})):
        with pytest.raises(TypeError):
            f(*args, **kwargs)
    np.testing.assert_array_equal(f(X, y=X), 2 * X)


def test_surroundings_change() -> None:
    global SCALE, WEIGHTS
    f = tg.jit(lambda x: scaled(x) * WEIGHTS)
    before = SCALE, WEIGHTS
    try:
        for scale in (2.0, 3.0, np.float64(3.0), 2, True):
            SCALE = scale
            for weights in (
                before[1],
                before[1] + 1,
                before[1].astype(np.float32),
                np.ones((2, 4)),
                np.arange(8.0)[::2],
                2.0,
            ):
                WEIGHTS = weights
                for _ in range(2):
                    assert_same(f(X), X * SCALE * WEIGHTS, 1e-6)
    finally:
        SCALE, WEIGHTS = before


def test_an_array_reshaped_in_place() -> None:
    w = np.arange(4.0)
    f = tg.jit(lambda x: np.sum(w * x))
    f(2.0)
    f(2.0)
    w.resize((2, 3), refcheck=False)
    assert f(2.0) == 2 * np.sum(w)


@pytest.mark.parametrize("first", [[True, True, False, False], [True, False, True, False]])
def test_a_mask_that_changes(first: list[bool]) -> None:
    """The positions of a mask are fixed while tracing, also where the mask is captured as an
    array."""
    mask = np.array(first)

    def g(x: Any) -> Any:
        return np.sum(x[mask]) + np.sum(np.where(mask, x, 0.0) ** 2)

    f = tg.jit(g)
    for change in (first, first, [True, True, True, False], [False, False, False, True], first):
        mask[:] = change
        assert f(X) == g(X)


def test_a_size_computed_from_a_captured_array() -> None:
    counts = np.array([1.0, 1.0, 0.0, 0.0])

    def g(x: Any) -> Any:
        return np.sum(x[: int(counts.sum())]) + np.sum(counts * x)

    f = tg.jit(g)
    for value in ([1, 1, 0, 0], [1, 1, 1, 0], [0.5, 0.5, 0, 0], [1, 1, 1, 1]):
        counts[:] = value
        assert f(X) == g(X)


def test_integers_that_change_without_effect() -> None:
    """Of an integer array one harmless change proves nothing."""
    counts = np.array([1, 1, 0, 0])

    def g(x: Any) -> Any:
        return np.sum(x[: int(counts.sum())]) + np.sum(counts * x)

    f = tg.jit(g)
    for value in ([1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 0]):
        counts[:] = value
        assert f(X) == g(X)


def test_arrays_beside_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attribute that no code names cannot matter; one that a method names does."""

    class Model:
        def __init__(self) -> None:
            self.w, self.data, self.offset = np.ones(4), np.zeros(1000), np.ones(3)

        def shift(self) -> float:
            return offset_of(self)

        @tg.jit
        def loss(self, x: Any) -> Any:
            return np.sum(self.w * x) + self.shift()

    m = Model()
    assert m.loss(X) == 13.0
    seen = long_ways(m.loss, monkeypatch)
    m.data[:] = 1.0
    assert m.loss(X) == 13.0
    assert not seen
    m.offset[:] = 2.0
    assert m.loss(X) == 16.0
    assert seen


def test_the_grad_mode_is_seen() -> None:
    f = tg.jit(lambda x: x * 2 if tg.is_grad_enabled() else x * 3)
    for _ in range(2):
        assert f(X)[0] == 2.0
        with tg.no_grad():
            assert f(X)[0] == 3.0


def test_method_through_its_class() -> None:
    class Model:
        def __init__(self, w: float) -> None:
            self.w = w

        @tg.jit
        def loss(self, x: Any) -> Any:
            return np.sum(self.w * x)

    a, b = Model(1.0), Model(2.0)
    for _ in range(2):
        assert Model.loss(a, X) == 10.0
        assert Model.loss(b, x=X) == 20.0
    assert a.loss(X) == 10.0


def test_a_write_to_memory_that_is_shared() -> None:
    def g(p: Any, q: Any) -> Any:
        p[0] = 9.0
        return p + q

    f = tg.jit(g)
    f(X.copy(), X)
    y = X.copy()
    with pytest.raises(ValueError, match="p is written to and shares memory"):
        f(y, y)
    z = np.arange(8.0)
    np.testing.assert_array_equal(f(z[:4], z[4:]), [13.0, 6.0, 8.0, 10.0])
    assert z[0] == 9.0


def test_random_draws_go_on() -> None:
    rng = tg.Generator(3)
    f = tg.jit(lambda x: x + rng.uniform(size=4))
    draws = [f(np.zeros(4)) for _ in range(4)]
    again = tg.Generator(3)
    for found in draws:
        np.testing.assert_array_equal(found, again.uniform(size=4))


def test_failures_on_the_short_way() -> None:
    table = np.arange(5.0)
    f = tg.jit(lambda t, i: tg.take(t, i))
    assert f(table, 3) == 3.0
    for _ in range(2):
        with pytest.raises(IndexError, match="7"):
            f(table, 7)
        assert f(table, 4) == 4.0
    with pytest.raises(OverflowError):
        f(table, 1 << 70)


def test_results_are_new_each_time() -> None:
    f = tg.jit(lambda x: (np.sum(x), x + 1))
    first = f(X)
    second = f(2 * X)
    assert first[0] == 10.0
    np.testing.assert_array_equal(first[1], X + 1)
    assert not np.shares_memory(first[1], second[1])


def test_from_several_threads() -> None:
    """The places for numbers are one call's own."""
    f = tg.jit(lambda x, s: (np.sum(x) * s, s + 1.0))
    f(X, 1.0)
    wrong: list[float] = []

    def work(s: float) -> None:
        wrong.extend(s for _ in range(500) if f(X, s) != (10.0 * s, s + 1.0))

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_many_signatures() -> None:
    """More shapes than there are callers: all stay right."""
    f = tg.jit(lambda x: x.reshape(-1) * 2, static_argnames=())
    shapes = (
        [tuple([1] * k + [2]) for k in range(5)]
        + [(1, n) for n in range(2, 45)]
        + [(n, 1) for n in range(2, 6)]
    )
    for _ in range(2):
        for shape in shapes:
            np.testing.assert_array_equal(f(np.ones(shape)), np.full(np.prod(shape), 2.0))


def test_signatures_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tracegrad.compiled.signatures"], "MOST_ENTRIES", 4)
    f = tg.jit(lambda x: sum((x[k] for k in range(x.shape[0])), 0.0))
    for n in (2, 3, 4, 5, 6, 7, 8, 2, 8, 3):
        assert f(np.ones(n)) == n
        assert len(f._signatures.entries) <= 4


UNJITTED = """
import numpy as np, tracegrad as tg
f = tg.jit(lambda x: x * 2)
x = np.arange(6.0)
others = x.astype(np.float32), x.astype(int), x[::-1], x.astype(">f8"), np.arange(12.0)[::2]
for y in (x, x, *others):
    found = f(y)
    assert np.array_equal(found, y * 2), (found, y)
    assert found.dtype == (y * 2).dtype
print("done")
"""


def test_without_native_code(tmp_path: Any) -> None:
    """Where Numba is told not to compile, nothing checks types behind the callers."""
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "TRACEGRAD_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(tg.__file__).parent.parent),
    }
    found = subprocess.run(
        [sys.executable, "-c", UNJITTED],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.stdout.strip() == "done", found.stderr
