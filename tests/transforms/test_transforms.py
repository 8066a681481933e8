"""The composition matrix: {grad, jvp, vmap, jit} in pairs and triples give the same answers;
derivatives of trees; errors of the API."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import assert_same
from tracegrad.errors import ShapeError

pytestmark = pytest.mark.usefixtures("kernels_in_python")


def f(x: Any) -> Any:
    return np.sum(np.sin(x) * x * x) + np.sum(x[1:] * x[:-1] ** 3)


def numeric_gradient(function: Callable[[Any], Any], x: Any, h: float = 1e-4) -> Any:
    """Fourth-order central differences of a function of a vector; the result's leading axis is
    x's."""
    columns = []
    for k in range(x.size):
        e = np.zeros(x.size)
        e[k] = h
        columns.append(
            (
                8 * (np.asarray(function(x + e)) - function(x - e))
                - (np.asarray(function(x + 2 * e)) - function(x - 2 * e))
            )
            / (12 * h)
        )
    return np.stack(columns)


X = np.array([0.3, -1.2, 0.7, 2.0])
V = np.array([1.0, 0.5, -2.0, 0.25])
GRADIENT = numeric_gradient(f, X)
HESSIAN = numeric_gradient(lambda x: numeric_gradient(f, x), X, 1e-3)

JIT: dict[str, Callable[..., Any]] = {"eager": lambda g: g, "jit": tg.jit}


@pytest.mark.parametrize("outer", JIT)
@pytest.mark.parametrize("inner", JIT)
class TestPairs:
    def test_grad(self, inner: str, outer: str) -> None:
        np.testing.assert_allclose(JIT[outer](tg.grad(JIT[inner](f)))(X), GRADIENT, rtol=1e-8)

    def test_jvp(self, inner: str, outer: str) -> None:
        g = JIT[inner](f)
        value, tangent = JIT[outer](lambda x, v: tg.jvp(g, (x,), (v,)))(X, V)
        np.testing.assert_allclose(value, f(X), rtol=1e-12)
        np.testing.assert_allclose(tangent, GRADIENT @ V, rtol=1e-8)

    def test_vmap(self, inner: str, outer: str) -> None:
        batch = np.stack([X, V, X * V])
        np.testing.assert_allclose(
            JIT[outer](tg.vmap(JIT[inner](f)))(batch), [f(b) for b in batch], rtol=1e-12
        )

    def test_hessian(self, inner: str, outer: str) -> None:
        hessian = JIT[outer](tg.hessian(JIT[inner](f)))(X)
        np.testing.assert_allclose(hessian, HESSIAN, rtol=1e-5, atol=1e-6)
        assert np.abs(hessian).max() > 1

    def test_jvp_of_grad(self, inner: str, outer: str) -> None:
        g = tg.grad(JIT[inner](f))
        found = JIT[outer](lambda x, v: tg.jvp(g, (x,), (v,))[1])(X, V)
        np.testing.assert_allclose(found, HESSIAN @ V, rtol=1e-5)

    def test_grad_of_jvp(self, inner: str, outer: str) -> None:
        g = JIT[inner](f)
        found = JIT[outer](tg.grad(lambda x: tg.jvp(g, (x,), (V,))[1]))(X)
        np.testing.assert_allclose(found, HESSIAN @ V, rtol=1e-5)

    def test_grad_of_grad(self, inner: str, outer: str) -> None:
        g = tg.grad(JIT[inner](f))
        found = JIT[outer](tg.grad(lambda x: np.sum(g(x) * V)))(X)
        np.testing.assert_allclose(found, HESSIAN @ V, rtol=1e-5)

    def test_jvp_of_jvp(self, inner: str, outer: str) -> None:
        g = JIT[inner](f)
        found = JIT[outer](lambda x: tg.jvp(lambda y: tg.jvp(g, (y,), (V,))[1], (x,), (V,))[1])(X)
        np.testing.assert_allclose(found, V @ HESSIAN @ V, rtol=1e-5)

    def test_vmap_of_grad(self, inner: str, outer: str) -> None:
        batch = np.stack([X, V])
        found = JIT[outer](tg.vmap(tg.grad(JIT[inner](f))))(batch)
        np.testing.assert_allclose(found, [tg.grad(f)(b) for b in batch], rtol=1e-12)

    def test_grad_of_vmap(self, inner: str, outer: str) -> None:
        batch = np.stack([X, V])
        found = JIT[outer](tg.grad(lambda b: np.sum(tg.vmap(JIT[inner](f))(b) ** 2)))(batch)
        np.testing.assert_allclose(found, [2 * f(b) * tg.grad(f)(b) for b in batch], rtol=1e-10)

    def test_vmap_of_jvp_and_jvp_of_vmap(self, inner: str, outer: str) -> None:
        batch, directions, g = np.stack([X, V]), np.stack([V, X]), JIT[inner](f)
        expected = [tg.grad(f)(b) @ d for b, d in zip(batch, directions, strict=True)]
        first = JIT[outer](tg.vmap(lambda x, v: tg.jvp(g, (x,), (v,))[1]))(batch, directions)
        second = JIT[outer](lambda b, d: tg.jvp(tg.vmap(g), (b,), (d,))[1])(batch, directions)
        np.testing.assert_allclose(first, expected, rtol=1e-10)
        np.testing.assert_allclose(second, expected, rtol=1e-10)

    def test_vmap_of_vmap(self, inner: str, outer: str) -> None:
        pairs = JIT[outer](
            tg.vmap(
                tg.vmap(JIT[inner](lambda a, b: a * b + a), in_axes=(None, 0)), in_axes=(0, None)
            )
        )(X, V)
        np.testing.assert_allclose(pairs, X[:, None] * V + X[:, None])

    def test_vmap_of_hessian(self, inner: str, outer: str) -> None:
        batch = np.stack([X, V])
        found = JIT[outer](tg.vmap(tg.hessian(JIT[inner](f))))(batch)
        np.testing.assert_allclose(found, [tg.hessian(f)(b) for b in batch], rtol=1e-10)

    def test_third_order(self, inner: str, outer: str) -> None:
        def g(x: Any) -> Any:
            return np.sin(x) * x**3

        third = JIT[outer](tg.grad(tg.grad(tg.grad(JIT[inner](g)))))(0.7)
        x = 0.7
        expected = -np.cos(x) * x**3 - 9 * x**2 * np.sin(x) + 18 * x * np.cos(x) + 6 * np.sin(x)
        np.testing.assert_allclose(third, expected, rtol=1e-12)


@pytest.mark.parametrize(("a", "b", "c"), list(itertools.permutations(["grad", "vmap", "jit"], 3)))
def test_triples(a: str, b: str, c: str) -> None:
    """Every order of grad, vmap and jit over a function of a scalar."""
    batch = np.linspace(0.1, 2.0, 5)
    inside_out = [c, b, a]
    expected = np.cos(batch) * batch + np.sin(batch)

    def function(x: Any) -> Any:
        return np.sin(x) * x

    g: Callable[..., Any] = function
    for name in inside_out:
        if name == "grad":
            # Over a batch the gradient is of the sum.
            g = tg.grad(lambda x, g=g: np.sum(g(x)))
        else:
            g = {"vmap": tg.vmap, "jit": tg.jit}[name](g)
    np.testing.assert_allclose(g(batch), expected, rtol=1e-12)


def test_no_perturbation_confusion() -> None:
    """d/dx (x * d/dy (x + y)) = 1 at every nesting of modes; the classic trap."""
    for inner in (lambda g, y: tg.grad(g)(y), lambda g, y: tg.jvp(g, (y,), (1.0,))[1]):
        for outer in (lambda g, x: tg.grad(g)(x), lambda g, x: tg.jvp(g, (x,), (1.0,))[1]):
            assert outer(lambda x, inner=inner: x * inner(lambda y: x + y, 1.0), 1.0) == 1.0
            # The same value is the inner point: d/dx (d/dy (x*y) at y=x) = 1.
            assert outer(lambda x, inner=inner: inner(lambda y: x * y, x), 2.0) == 1.0


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class Model:
    w: Any
    b: Any


@pytest.mark.parametrize("wrap", JIT)
def test_trees(wrap: str) -> None:
    def loss(p: Any) -> Any:
        return (
            np.sum(p["model"].w ** 2)
            + p["pair"].left * p["pair"].right
            + p["list"][0] * 2
            + p["model"].b
        )

    point = {"model": Model(np.ones(2), 3.0), "pair": Pair(2.0, 5.0), "list": [1.0]}
    found = JIT[wrap](tg.grad(loss))(point)
    np.testing.assert_allclose(found["model"].w, [2.0, 2.0])
    assert (found["model"].b, found["pair"], found["list"]) == (1.0, Pair(5.0, 2.0), [2.0])


def test_argnums_and_aux() -> None:
    def g(a: Any, b: Any, *, scale: float = 1.0) -> Any:
        return np.sum(a * b) * scale, {"a": a}

    (value, aux), (da, db) = tg.value_and_grad(g, argnums=(0, 1), has_aux=True)(
        np.ones(2), np.full(2, 3.0), scale=2.0
    )
    assert value == 12.0
    assert_same((da, db), (np.full(2, 6.0), np.full(2, 2.0)))
    assert type(aux["a"]) is np.ndarray
    da, _ = tg.grad(g, argnums=-2, has_aux=True)(np.ones(2), np.full(2, 3.0))
    assert_same(da, np.full(2, 3.0))


def test_gradients_are_the_callers_own() -> None:
    x = np.ones(3)
    for g in (tg.grad(np.sum), tg.jit(tg.grad(np.sum))):
        found = g(x)
        found[0] = 7.0
        assert x[0] == 1.0
        assert found.flags.writeable


INNER: dict[str, Callable[..., Any]] = {
    "grad": lambda g, x: tg.grad(g)(x),
    "value_and_grad": lambda g, x: tg.value_and_grad(g)(x)[1],
    "vjp": lambda g, x: tg.vjp(g, x)[1](1.0)[0],
    "jacobian": lambda g, x: tg.jacobian(lambda x: g(x)[None], mode="reverse")(x)[0],
}


@pytest.mark.parametrize("name", INNER)
def test_derivatives_of_derivatives_by_something_else_are_plain_values(name: str) -> None:
    """The argument of an inner derivative is nothing that the result of the outer one would be
    tracked for."""

    def squared(s: Any) -> Any:
        return np.sum(INNER[name](lambda x: np.sum(np.sin(x * s)), X) ** 2)

    s = 0.3
    expected = np.sum(2 * s * np.cos(X * s) * (np.cos(X * s) - X * s * np.sin(X * s)))
    value, found = tg.value_and_grad(squared)(s)
    assert type(value) is type(found) is np.float64
    np.testing.assert_allclose(found, expected)
    of_all = tg.jacobian(lambda s: INNER[name](lambda x: np.sum(np.sin(x * s)), X), mode="reverse")(
        s
    )
    assert type(of_all) is np.ndarray
    np.testing.assert_allclose(of_all, np.cos(X * s) - X * s * np.sin(X * s))
    pulled = tg.vjp(squared, s)[1](1.0)[0]
    assert type(pulled) is np.float64
    # And what encloses it all still gets its part.
    third = tg.grad(lambda t: tg.grad(squared)(s * t) * t)(1.0)
    np.testing.assert_allclose(third, tg.jit(tg.grad(lambda t: tg.grad(squared)(s * t) * t))(1.0))
    w = tg.tensor(s, requires_grad=True)
    tg.grad(squared)(w).backward()
    assert w.grad is not None
    np.testing.assert_allclose(w.grad.numpy(), tg.hessian(squared)(s))


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("wrap", JIT)
def test_jacobian(mode: str, chunk_size: int | None, wrap: str) -> None:
    def g(x: Any) -> Any:
        return np.stack([x[0] * x[1], np.sin(x[2]), x[0] ** 2, x[1] + x[2], np.exp(x[0])])

    x = np.array([0.5, 1.5, 2.5])
    expected = np.array(
        [[1.5, 0.5, 0], [0, 0, np.cos(2.5)], [1, 0, 0], [0, 1, 1], [np.exp(0.5), 0, 0]]
    )
    found = JIT[wrap](tg.jacobian(g, mode=mode, chunk_size=chunk_size))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_jacobian_of_matrices_and_scalars() -> None:
    a = np.arange(6.0).reshape(2, 3)
    found = tg.jacobian(lambda x: x.T * 2)(a)
    assert found.shape == (3, 2, 2, 3)
    np.testing.assert_allclose(np.einsum("ijkl,kl->ij", found, a), a.T * 2)
    assert tg.jacobian(lambda x: x * x)(3.0) == 6.0
    assert_same(tg.jacobian(lambda x: np.float64(3.0))(np.ones(2)), np.zeros(2))


def test_jacobian_with_control_flow_on_values() -> None:
    def g(x: Any) -> Any:
        return np.stack([x[0] ** 2, x[1]]) if x[0] > 0 else x[:2]

    np.testing.assert_allclose(
        tg.jacobian(g, mode="reverse")(np.array([2.0, 3.0])), [[4, 0], [0, 1]]
    )
    np.testing.assert_allclose(
        tg.jacobian(g, mode="forward")(np.array([2.0, 3.0])), [[4, 0], [0, 1]]
    )


def test_vjp_pullback_many_times() -> None:
    y, pullback = tg.vjp(lambda a, b: a * b, X, V)
    np.testing.assert_allclose(y, X * V)
    for scale in (1.0, 2.0):
        da, db = pullback(np.full(4, scale))
        np.testing.assert_allclose(da, scale * V)
        np.testing.assert_allclose(db, scale * X)


def test_linearize_and_hvp() -> None:
    value, push = tg.linearize(f, X)
    assert value == f(X)
    np.testing.assert_allclose(push(V), GRADIENT @ V, rtol=1e-8)
    np.testing.assert_allclose(tg.hvp(f, (X,), (V,)), HESSIAN @ V, rtol=1e-5)
    np.testing.assert_allclose(tg.hvp(tg.jit(f), (X,), (V,)), HESSIAN @ V, rtol=1e-5)


def test_linearize_runs_the_function_once() -> None:
    calls = []

    def branching(x: Any, y: Any) -> Any:
        calls.append(1)
        z = np.sin(x) * y if x[0] > -1e9 else x
        return {"a": np.sum(z * z), "b": z[1:], "c": np.argmax(z), "d": 3.0}

    value, push = tg.linearize(branching, X, V)
    for t in (V, 2 * X):
        found, expected = push(t, X), tg.jvp(branching, (X, V), (t, X))[1]
        for key, e in expected.items():
            np.testing.assert_allclose(found[key], e)
    assert len(calls) == 3
    np.testing.assert_allclose(value["a"], np.sum((np.sin(X) * V) ** 2))
    with pytest.raises(ShapeError, match="tangent of shape"):
        push(V[:2], X)
    # Derivatives of the pushforward with respect to the point, in both modes and compiled.
    second = tg.hvp(f, (X,), (V,))
    slope = lambda x: tg.linearize(f, x)[1](V)  # noqa: E731
    np.testing.assert_allclose(tg.grad(slope)(X), second, rtol=1e-9)
    np.testing.assert_allclose(tg.jvp(slope, (X,), (X,))[1], second @ X, rtol=1e-9)
    np.testing.assert_allclose(tg.jit(slope)(X), slope(X), rtol=1e-9)
    np.testing.assert_allclose(tg.vmap(tg.linearize(np.sin, X)[1])(np.eye(4)), np.diag(np.cos(X)))
    leaked: list[Any] = []
    tg.linearize(lambda x: leaked.extend(x._tangents.values()) or x, X)
    with pytest.raises(RuntimeError, match="is used after the function"):
        leaked[0] * 2.0


def test_custom_rules() -> None:
    @tg.custom_vjp
    def half(x: Any) -> Any:
        return np.sum(x**2)

    half.defvjp(lambda x: (np.sum(x**2), x), lambda x, ct: (ct * x,))
    for wrap in (lambda g: g, tg.jit):
        np.testing.assert_allclose(wrap(tg.grad(half))(X), X)
        np.testing.assert_allclose(wrap(tg.jacobian(tg.grad(half), mode="reverse"))(X), np.eye(4))
    with pytest.raises(TypeError, match="custom_jvp"):
        tg.jvp(half, (X,), (V,))

    @tg.custom_jvp
    def twice(x: Any) -> Any:
        return np.sin(x)

    twice.defjvp(
        lambda primals, tangents: (twice(*primals), 2.0 * np.cos(primals[0]) * tangents[0])
    )
    for wrap in (lambda g: g, tg.jit):
        assert np.isclose(wrap(tg.grad(twice))(0.3), 2 * np.cos(0.3))
        assert np.isclose(wrap(lambda x: tg.jvp(twice, (x,), (1.0,))[1])(0.3), 2 * np.cos(0.3))
        assert np.isclose(wrap(tg.grad(tg.grad(twice)))(0.3), -2 * np.sin(0.3))


@pytest.mark.parametrize("wrap", JIT)
def test_stop_gradient(wrap: str) -> None:
    assert JIT[wrap](tg.grad(lambda x: x * tg.stop_gradient(x)))(3.0) == 3.0


@pytest.mark.parametrize("wrap", JIT)
def test_scan(wrap: str) -> None:
    def total(x0: Any, a: Any) -> Any:
        last, path = tg.scan(lambda s, k: (s * a + k, s**2), x0, np.arange(3.0))
        return last + np.sum(path)

    def plain(x0: float, a: float) -> float:
        s, acc = x0, 0.0
        for k in range(3):
            acc += s**2
            s = s * a + k
        return s + acc

    g = JIT[wrap]
    assert np.isclose(g(total)(0.5, 1.5), plain(0.5, 1.5))
    h = 1e-6
    found = g(tg.grad(total, argnums=(0, 1)))(0.5, 1.5)
    np.testing.assert_allclose(
        found[0], (plain(0.5 + h, 1.5) - plain(0.5 - h, 1.5)) / (2 * h), rtol=1e-7
    )
    np.testing.assert_allclose(
        found[1], (plain(0.5, 1.5 + h) - plain(0.5, 1.5 - h)) / (2 * h), rtol=1e-7
    )
    np.testing.assert_allclose(
        g(lambda x, a: tg.jvp(lambda b: total(x, b), (a,), (1.0,))[1])(0.5, 1.5),
        found[1],
        rtol=1e-12,
    )
    second = g(tg.grad(tg.grad(total, argnums=1), argnums=1))(0.5, 1.5)
    np.testing.assert_allclose(
        second,
        (plain(0.5, 1.5 + 1e-4) - 2 * plain(0.5, 1.5) + plain(0.5, 1.5 - 1e-4)) / 1e-8,
        rtol=1e-5,
    )
    batch = np.array([0.5, 0.7])
    np.testing.assert_allclose(
        g(tg.vmap(total, in_axes=(0, None)))(batch, 1.5), [plain(b, 1.5) for b in batch], rtol=1e-12
    )


class TestErrors:
    def test_gradient_of_a_vector(self) -> None:
        with pytest.raises(ValueError, match=r"scalar.*shape \(4,\).*jacobian"):
            tg.grad(np.sin)(X)

    def test_integer_input(self) -> None:
        with pytest.raises(TypeError, match=r"floating-point.*int64.*astype"):
            tg.grad(np.sum)(np.arange(3))

    def test_complex_result(self) -> None:
        with pytest.raises(TypeError, match=r"complex128.*np\.real"):
            tg.grad(lambda x: np.sum(x * 1j))(X)

    def test_wrong_argnums(self) -> None:
        with pytest.raises(TypeError, match="argnums names argument 3"):
            tg.grad(f, argnums=3)(X)

    def test_tangent_shape(self) -> None:
        with pytest.raises(ValueError, match=r"tangent of shape \(3,\).*primal of shape \(4,\)"):
            tg.jvp(f, (X,), (np.ones(3),))

    def test_vmap_sizes(self) -> None:
        with pytest.raises(ValueError, match="differ in size: 4 and 3"):
            tg.vmap(np.add)(X, np.ones(3))

    def test_unknown_type(self) -> None:
        with pytest.raises(TypeError, match=r"set.*static_argnames"):
            tg.jit(lambda x: x)({1, 2})


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jvp_of_a_jacobian(mode: str) -> None:
    """Saved values that are dual keep their tangents in a batched sweep."""
    for function in (lambda y: y**3, tg.jit(lambda y: y**3)):
        _, tangent = tg.jvp(
            tg.jacobian(function, mode=mode), (np.array([1.0, 2.0]),), (np.ones(2),)
        )
        assert np.array_equal(tangent, [[6, 0], [0, 12]])
