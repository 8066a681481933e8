"""cond and switch: values, derivatives of both modes and orders, batches, errors, and that what is
not taken is not computed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad.ir.parser import parse_graph
from tracegrad.registry import OPS_BY_NAME
from tracegrad.transforms.rewrite import optimize

WRAP = {"eager": lambda f: f, "jit": tg.jit}
X = np.array([0.3, -1.2, 2.0])
W = np.array([1.0, -0.5, 0.25])


def roots(x: Any) -> Any:
    return tg.cond(x > 0, np.sqrt, np.zeros_like, x)


@pytest.mark.parametrize("wrap", WRAP)
class TestCond:
    def test_values_and_derivatives(self, wrap: str) -> None:
        f = WRAP[wrap](roots)
        assert f(4.0) == 2.0
        assert f(-4.0) == 0.0
        assert tg.grad(f)(4.0) == 0.25
        assert tg.grad(tg.grad(f))(4.0) == -1 / 32
        assert tg.hessian(f)(4.0) == -1 / 32
        assert tg.jvp(f, (4.0,), (2.0,)) == (2.0, 0.5)

    def test_what_is_not_taken_never_reaches_a_gradient(self, wrap: str) -> None:
        f = WRAP[wrap](roots)
        assert tg.grad(f)(-1.0) == 0.0
        assert tg.grad(f)(0.0) == 0.0
        g = WRAP[wrap](
            lambda x: tg.cond(
                np.sum(x) > 0, lambda v: np.sum(v * 2.0), lambda v: np.sum(np.log(v) / v), x
            )
        )
        np.testing.assert_array_equal(tg.grad(g)(np.array([0.0, 1.0])), [2.0, 2.0])
        np.testing.assert_array_equal(tg.hessian(g)(np.array([0.0, 1.0])), np.zeros((2, 2)))

    def test_batched_predicate(self, wrap: str) -> None:
        f = WRAP[wrap](tg.vmap(roots))
        batch = np.array([4.0, -1.0, 9.0])
        np.testing.assert_array_equal(f(batch), [2.0, 0.0, 3.0])
        np.testing.assert_allclose(tg.jacobian(f)(batch), np.diag([0.25, 0.0, 1 / 6]))
        np.testing.assert_allclose(
            WRAP[wrap](tg.vmap(tg.grad(tg.grad(roots))))(batch), [-1 / 32, 0.0, -1 / 108]
        )

    def test_batched_operand_only(self, wrap: str) -> None:
        f = WRAP[wrap](
            tg.vmap(
                lambda p, v: tg.cond(p, lambda u: u * X[0], lambda u: X[1] + 0 * u, v),
                in_axes=(None, 0),
            )
        )
        np.testing.assert_allclose(f(True, X), X * X[0])
        np.testing.assert_allclose(f(False, X), np.full(3, X[1]))

    def test_trees_and_closures(self, wrap: str) -> None:
        def f(p: Any, a: Any, w: Any) -> Any:
            r = tg.cond(
                p,
                lambda t: {"s": t["u"] * w, "k": (1,)},
                lambda t: {"s": t["u"] - w, "k": (2.5,)},
                {"u": a},
            )
            return np.sum(r["s"] ** 2) + r["k"][0]

        g = WRAP[wrap](tg.value_and_grad(f, argnums=(1, 2)))
        value, (da, dw) = g(True, X, 2.0)
        np.testing.assert_allclose(value, np.sum((2 * X) ** 2) + 1)
        np.testing.assert_allclose(da, 8 * X)
        np.testing.assert_allclose(dw, 4 * np.sum(X**2))
        value, (da, dw) = g(False, X, 2.0)
        np.testing.assert_allclose(value, np.sum((X - 2) ** 2) + 2.5)
        np.testing.assert_allclose(dw, -2 * np.sum(X - 2))

    def test_tensors_on_the_tape(self, wrap: str) -> None:
        w = tg.tensor([1.0, 2.0], requires_grad=True)
        f = WRAP[wrap](lambda v: tg.cond(v.sum() > 0, lambda u: u * w, lambda u: u - w, v))
        f(tg.tensor([3.0, 4.0])).sum().backward()
        assert w.grad.tolist() == [3.0, 4.0]
        f(tg.tensor([-3.0, -4.0])).sum().backward()
        assert w.grad.tolist() == [2.0, 3.0]

    def test_nested(self, wrap: str) -> None:
        def sign(x: Any) -> Any:
            return tg.cond(
                x > 0,
                lambda v: v,
                lambda v: tg.cond(v < -1, lambda u: -u * u, lambda u: 3.0 * u, v),
                x,
            )

        f = WRAP[wrap](sign)
        assert [float(f(v)) for v in (2.0, -2.0, -0.5)] == [2.0, -4.0, -1.5]
        assert [float(tg.grad(f)(v)) for v in (2.0, -2.0, -0.5)] == [1.0, 4.0, 3.0]
        assert [float(tg.grad(tg.grad(f))(v)) for v in (2.0, -2.0, -0.5)] == [0.0, -2.0, 0.0]

    def test_inside_scan(self, wrap: str) -> None:
        def total(a: Any) -> Any:
            return tg.scan(
                lambda s, x: (tg.cond(x > 0, lambda u: u * a, lambda u: u + a, s), None), 1.0, X
            )[0]

        f = WRAP[wrap](total)
        a = 0.7
        assert np.isclose(f(a), (1.0 * a + a) * a)
        assert np.isclose(tg.grad(f)(a), 4 * a)
        assert np.isclose(tg.grad(tg.grad(f))(a), 4.0)


@pytest.mark.parametrize("wrap", WRAP)
def test_switch(wrap: str) -> None:
    def f(k: Any, x: Any) -> Any:
        return tg.switch(
            k, [lambda v: np.sum(v * X), lambda v: 2.0, lambda v: np.sum(np.sin(v) ** 2)], x
        )

    g = WRAP[wrap](f)
    plain = [np.sum(X * X), 2.0, np.sum(np.sin(X) ** 2)]
    gradients = [X, np.zeros(3), np.sin(2 * X)]
    for k in range(3):
        np.testing.assert_allclose(g(k, X), plain[k])
        np.testing.assert_allclose(WRAP[wrap](tg.grad(f, 1))(k, X), gradients[k])
        np.testing.assert_allclose(g(np.int32(k), X), plain[k])
    np.testing.assert_allclose(tg.hessian(g, 1)(2, X), np.diag(2 * np.cos(2 * X)), atol=1e-15)
    np.testing.assert_allclose(WRAP[wrap](tg.vmap(f, in_axes=(0, None)))(np.arange(3), X), plain)
    np.testing.assert_allclose(
        WRAP[wrap](tg.vmap(tg.grad(f, 1), in_axes=(0, None)))(np.arange(3), X), gradients
    )
    for k in (3, -1):
        with pytest.raises(IndexError, match=rf"index {k} is out of range for 3 branches"):
            g(k, X)


def test_only_the_branch_taken_runs() -> None:
    calls: list[str] = []

    def seen(name: str) -> Any:
        return lambda x: calls.append(name) or x

    tg.cond(True, seen("yes"), seen("no"), 1.0)
    tg.cond(np.False_, seen("yes"), seen("no"), 1.0)
    tg.switch(1, [seen("zero"), seen("one")], 1.0)
    assert calls == ["yes", "no", "one"]


def seven(v: Any) -> Any:
    """7, for all that is known when a function is traced."""
    return (np.sum(v) * 0 + 7).astype(np.int64)


WRONG: dict[str, Callable[[Any], Any]] = {
    "0 / 0": lambda v: np.sum(v / (v - v)),
    "roots and powers": lambda v: np.sum(np.sqrt(v - v) + np.log(v - v) + (v - v) ** -1.0),
    "integers by 0": lambda v: (
        np.sum(v) * (seven(v) // (seven(v) - 7)) * (seven(v) % (seven(v) - 7))
    ),
    "an index": lambda v: tg.getitem(v, seven(v)),
    "indices": lambda v: np.sum(tg.take(v, seven(v) + np.arange(2))),
    "a singular system": lambda v: np.sum(np.linalg.solve(np.outer(v, v) * 0, v)),
    "a factorisation": lambda v: np.sum(np.linalg.cholesky(np.outer(v, v) * 0 - np.eye(3))),
    "steps": lambda v: np.sum(
        tg.while_loop(lambda c: np.sum(c) < 9, lambda c: c * 0, v, max_steps=3)
    ),
    "a branch": lambda v: np.sum(tg.switch(seven(v), [np.sin, np.cos], v)),
    "a loop": lambda v: tg.fori_loop(0, 4, lambda i, c: c * tg.getitem(v, i), np.sum(v)),
}
PLACES: list[Callable[[Any, Any, Any], Any]] = [
    lambda x, right, wrong: tg.cond(np.max(x) > 1, right, wrong, x),
    lambda x, right, wrong: tg.cond(np.max(x) < 1, lambda: wrong(x), lambda: right(x)),
    lambda x, right, wrong: tg.switch(np.sum(x > 0) - 1, [wrong, right, wrong], x),
    lambda x, right, wrong: tg.cond(
        x[0] > 0, lambda: tg.cond(x[1] > 0, wrong, right, x), lambda: wrong(x)
    ),
    lambda x, right, wrong: tg.scan(
        lambda c, v: (c + tg.cond(v > -5, right, wrong, x) / 3, None), 0.0, x
    )[0],
    lambda x, right, wrong: (
        right(x)
        + 0 * tg.while_loop(lambda c: c[0] > 9, lambda c: (c[0], c[1] * wrong(x)), (x[0], x[1]))[1]
    ),
    lambda x, right, wrong: (
        right(x) + 0 * tg.fori_loop(3, np.sum(x > 0), lambda i, c: c * wrong(x), x[1])
    ),
]


@pytest.mark.parametrize("name", WRONG)
def test_what_fails_or_is_no_number_where_it_is_not_taken(name: str) -> None:
    """Nothing of it: no error, no warning, no NaN in derivatives of any order and mode; in a batch
    at every other of the places, of which the next wrong thing has the others."""

    def right(v: Any) -> Any:
        return np.sum(np.sin(v) * v)

    def each(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def of(x: Any) -> Any:
            value, gradient = tg.value_and_grad(f)(x)
            return (
                value,
                gradient,
                tg.jvp(tg.grad(f), (x,), (W,))[1],
                tg.grad(lambda y: tg.grad(f)(y) @ W)(x),
            )

        return of

    def same(found: Any, wanted: Any) -> None:
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)

    def at(places: Sequence[Any]) -> Callable[[Any], Any]:
        return each(lambda x: sum(place(x, right, WRONG[name]) for place in places))

    def known(places: Sequence[Any]) -> Callable[[Any], Any]:
        return each(lambda x: len(places) * right(x))

    other = PLACES[[*WRONG].index(name) % 2 :: 2]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = known(PLACES)(X)
        batch = [
            np.stack(pair) for pair in zip(known(other)(X), known(other)(X * 1.5), strict=True)
        ]
        for function, x, wanted in (
            (at(PLACES), X, expected),
            (tg.vmap(at(other)), np.stack([X, X * 1.5]), batch),
        ):
            entry = tg.jit(function)._entry((x,), {})[0]
            same(function(x), wanted)
            same(run_unjitted(optimize(entry.graph), [x, *entry.traced.captures]), wanted)
        same(
            tg.jit(
                tg.value_and_grad(lambda x: sum(PLACES[k](x, right, WRONG[name]) for k in (0, 4)))
            )(X),
            [2 * e / len(PLACES) for e in expected[:2]],
        )


def test_printed_and_parsed() -> None:
    f = tg.jit(tg.grad(lambda k, x: tg.switch(k, [np.sin, np.cos, np.exp], x), 1))
    graph = f.graphs(1, 0.5)[1]
    text = str(graph)
    again = parse_graph(text, OPS_BY_NAME)
    assert str(again) == text
    for k, expected in enumerate((np.cos(0.5), -np.sin(0.5), np.exp(0.5))):
        np.testing.assert_allclose(run_unjitted(again, [k, 0.5])[0], expected)


class TestErrors:
    def test_results_that_differ(self) -> None:
        with pytest.raises(
            TypeError,
            match=(
                r"test_branches\.py:\d+: cond: the result itself is f64\[2\] from if_false "
                r"and f64\[3\] from if_true"
            ),
        ):
            tg.jit(lambda x: tg.cond(x[0] > 0, lambda v: v, lambda v: v[:2], x))(X)
        with pytest.raises(
            TypeError, match=r"cond: the result \['a'\] is f32\[\] from if_false and f64\[3\]"
        ):
            tg.jit(
                lambda x: tg.cond(x[0] > 0, lambda v: {"a": v}, lambda v: {"a": np.float32(1)}, x)
            )(X)
        with pytest.raises(TypeError, match="the structures must agree"):
            tg.jit(lambda x: tg.cond(x[0] > 0, lambda v: (v, v), lambda v: v, x))(X)

    def test_the_predicate(self) -> None:
        with pytest.raises(
            tg.ShapeError, match=r"predicate must be one value, it has shape \(3,\); use tg\.where"
        ):
            tg.jit(lambda x: tg.cond(x > 0, np.sin, np.cos, x))(X)
        with pytest.raises(tg.ShapeError, match="must be one value"):
            tg.cond(X > 0, np.sin, np.cos, X)
        with pytest.raises(TypeError, match="must be an integer, not of dtype float64"):
            tg.switch(1.0, [np.sin, np.cos], 1.0)
        with pytest.raises(ValueError, match="at least one branch"):
            tg.switch(0, [])

    def test_random_numbers(self) -> None:
        with pytest.raises(tg.TracegradError, match="a branch draws random numbers"):
            tg.jit(lambda x: tg.cond(x > 0, lambda v: v * tg.rand(()), lambda v: v, x))(1.0)
