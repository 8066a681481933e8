"""Jitted functions that call themselves, each other, and functions that were compiled for any size:
values and derivatives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import TracegradError


def tree(again: Callable[[Any], Any], x: Any) -> Any:
    n = x.shape[0]
    return x[0] ** 2 if n == 1 else again(x[: n // 2]) * 0.5 + np.sin(again(x[n // 2 :]))


def odd_and_even(again: Callable[[Any], Any], x: Any) -> Any:
    """Like Cooley and Tukey's transform, with real factors."""
    n = x.shape[0]
    if n < 2 or n % 2:
        return x * x
    even, odd = again(x[::2]), again(x[1::2])
    turned = odd * np.cos(np.arange(n // 2) / n)
    return np.concatenate([even + turned, even - turned])


def one_less(again: Callable[[Any], Any], x: Any) -> Any:
    return np.sum(x * x) if x.shape[0] < 3 else again(x[1:] * x[:-1]) + x[0]


def matrix(again: Callable[[Any], Any], x: Any) -> Any:
    """Determinants by minors."""
    n = x.shape[0]
    if n == 1:
        return x[0, 0]
    rest = [again(x[1:, [j for j in range(n) if j != k]]) for k in range(n)]
    return sum((-1) ** k * x[0, k] * m for k, m in enumerate(rest))


RECURSIONS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "tree": (tree, [8, 4, 5, 1, 7]),
    "odd and even": (odd_and_even, [8, 4, 1, 6]),
    "one less": (one_less, [6, 3, 4, 9, 1, 2]),
    "matrix": (matrix, [(2, 2), (3, 3), (1, 1)]),
}


def both(definition: Callable[..., Any]) -> tuple[Any, Any]:
    """The recursion as a jitted function that calls itself, and as plain Python."""
    compiled: Any = tg.jit(lambda x: definition(compiled, x))

    def plain(x: Any) -> Any:
        return definition(plain, x)

    return compiled, plain


@pytest.mark.parametrize("name", RECURSIONS)
def test_values_and_derivatives(name: str) -> None:
    """In an order of sizes in which each meets what was traced for others."""
    definition, sizes = RECURSIONS[name]
    compiled, plain = both(definition)
    rng = np.random.default_rng(3)
    for size in sizes:
        x = rng.uniform(0.5, 1.5, size)
        np.testing.assert_allclose(compiled(x), plain(x), rtol=1e-12)
        f, g = (lambda y: np.sum(compiled(y))), (lambda y: np.sum(plain(y)))
        np.testing.assert_allclose(tg.grad(f)(x), tg.grad(g)(x), rtol=1e-10)
        t = tg.tensor(x, requires_grad=True)
        np.sum(compiled(t)).backward()
        np.testing.assert_allclose(np.asarray(t.grad), tg.grad(g)(x), rtol=1e-10)
    np.testing.assert_allclose(tg.hessian(f)(x), tg.hessian(g)(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(tg.jit(tg.grad(f))(x), tg.grad(g)(x), rtol=1e-10)
    batch = np.stack([x, 0.9 * x])
    np.testing.assert_allclose(
        tg.vmap(compiled)(batch), np.stack([plain(row) for row in batch]), rtol=1e-12
    )


@pytest.mark.parametrize("outer", ["jit", "grad", "vmap", "jit of grad", "scan"])
def test_a_function_for_any_size_inside_of_others(outer: str) -> None:
    """What was compiled with symbols for sizes is called where sizes are numbers, or symbols of
    another function."""
    inner = tg.jit(lambda x: np.sum(x * x[::-1]) + x.shape[0])
    for n in (3, 4, 5):
        inner(np.ones(n))

    def plain(x: Any) -> Any:
        return np.sum(x * x[::-1]) + x.shape[0]

    def use(f: Any) -> Any:
        def two(x: Any) -> Any:
            return f(x[:2]) + f(x[1:]) * np.sin(x[0])

        return {
            "jit": tg.jit(two),
            "grad": tg.grad(two),
            "vmap": lambda x: tg.vmap(two)(np.stack([x, x + 1])),
            "jit of grad": tg.jit(tg.grad(two)),
            "scan": lambda x: tg.scan(lambda c, s: (c + f(x[: x.shape[0] - 1]) * s, c), 0.0, x)[0],
        }[outer]

    mine, reference = use(inner), use(plain)
    for n in (6, 7, 9, 4, 6):
        x = np.linspace(0.3, 1.0, n)
        np.testing.assert_allclose(mine(x), reference(x), rtol=1e-12)


def two_that_call_each_other() -> tuple[Any, Any]:
    first: Any = tg.jit(lambda x: x[0] if x.shape[0] < 2 else np.sin(second(x[1:])) + x[0])
    second: Any = tg.jit(lambda x: x[0] if x.shape[0] < 2 else np.cos(first(x[1:])) * x[0])
    return first, second


def test_two_functions_that_call_each_other_in_two_threads() -> None:
    """A lock for each would let them wait for each other."""
    for _ in range(5):
        first, second = two_that_call_each_other()
        x, found, start = np.linspace(0.1, 1.0, 5), {}, threading.Barrier(2)

        def work(f: Any, x: Any = x, found: dict[int, Any] = found, start: Any = start) -> None:
            start.wait(60)
            found[id(f)] = f(x)

        workers = [threading.Thread(target=work, args=(f,), daemon=True) for f in (first, second)]
        for t in workers:
            t.start()
        for t in workers:
            t.join(60)
        assert not any(t.is_alive() for t in workers)
        a = x[0]
        assert set(found) == {id(first), id(second)}
        assert np.isfinite(a + found[id(first)] + found[id(second)])


@pytest.mark.parametrize("depth", ["same", "tuple", "symbols"])
def test_recursion_without_end_is_refused(depth: str) -> None:
    f: Any = tg.jit(lambda x: f(x + 1) if depth != "tuple" else f((x[0] + 1,)))
    x = np.ones(3)
    for n in (3, 4) if depth == "symbols" else (3,):
        x = np.ones(n)
        with pytest.raises(TracegradError, match="calls itself again and again"):
            f((x,) if depth == "tuple" else x)
    assert tg.jit(lambda x: x + 1)(1.0) == 2.0


def test_recursion_that_is_too_deep_is_refused() -> None:
    f: Any = tg.jit(lambda x: x[0] if x.shape[0] == 1 else f(x[1:]))
    with pytest.raises(TracegradError, match="too deeply"):
        f(np.ones(2000))
    np.testing.assert_allclose(f(np.arange(6.0)), 5.0)


def test_recursion_that_python_state_ends() -> None:
    """The same types again, and an end that another call would not have: a number that decides and
    changes is refused."""
    left = [4]

    def down(x: Any) -> Any:
        left[0] -= 1
        return x if left[0] == 0 else np.sin(f(x))

    f: Any = tg.jit(down)
    with pytest.raises(
        TracegradError, match=r"changes left\[0\] at each call, and asks for what it is now"
    ):
        f(0.7)
    assert left == [4]


def test_as_many_sizes_as_there_are_entries() -> None:
    """A function that pins its size has an entry for each, of which a bounded number is kept."""
    f = tg.jit(lambda x: x * len(range(x.shape[0])))
    for n in range(2, 150):
        assert f.graphs(np.ones(n))[0]
    assert max(map(len, f._signatures.symbolic.values()), default=0) <= 64
    np.testing.assert_allclose(f(np.ones(3)), 3 * np.ones(3))
