"""A Python number that is differentiated by raises no dtype, as in NumPy: values and derivatives
have the dtypes of plain NumPy with the same number, in running and in compiled code, in every
transform and wherever the number comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

Function = Callable[[Any], Any]
X = np.array([1.5, 2.0], np.float32)
C = np.array([1 + 1j, 2], np.complex64)


def repeated(a: Any) -> Any:
    for _ in range(3):
        a = a * 0.5 + 1
    return a * X


def in_place(a: Any) -> Any:
    b = a
    b *= 2
    b += 1
    return b * X


def carried(a: Any) -> Any:
    return tg.fori_loop(0, 3, lambda k, c: c * 0.5 + a, a) * X


doubled = tg.custom_vjp(lambda a: a * 2)
doubled.defvjp(lambda a: (a * 2, None), lambda _, ct: (ct * 2,))
OF_FLOATS: dict[str, Function] = {
    "a * x": lambda a: a * X,
    "x * a": lambda a: X * a,
    "np.multiply": lambda a: np.multiply(a, X),
    "a * 2": lambda a: a * 2 * X,
    "a + a": lambda a: (a + a) * X,
    "-a": lambda a: -a * X,
    "+a": lambda a: +a * X,
    "a ** 2": lambda a: a**2 * X,
    "2 ** a": lambda a: 2**a * X,
    "abs": lambda a: abs(a) * X,
    "round": lambda a: round(a, 1) * X,
    "a / 3": lambda a: a / 3 * X,
    "2 / a": lambda a: 2 / a * X,
    "a // 2": lambda a: (a // 2 + a) * X,
    "a % 2": lambda a: a % 2 * X,
    "a ** x": lambda a: a**X,
    "x ** a": lambda a: X**a,
    "x ** 2 // a": lambda a: X**2 // a + a * X,
    "several": lambda a: (3 * a**2 - a / 2 + abs(-a)) * X,
    "a float32": lambda a: np.float32(2) * a * X,
    "a float64": lambda a: np.float64(2) * a * X,
    "integers": lambda a: a * np.arange(2),
    "small integers": lambda a: a * np.arange(2, dtype=np.int8),
    "complex64": lambda a: a * C,
    "where": lambda a: np.where(X > 1.7, a, X),
    "maximum": lambda a: np.maximum(a, X),
    "clip": lambda a: np.clip(X, None, a),
    "arctan2": lambda a: np.arctan2(a, X),
    "sum": lambda a: np.sum(a) * X,
    "sin": lambda a: np.sin(a) * X,
    "stack": lambda a: np.stack([a, 1.0]) * X,
    "stack of float32": lambda a: np.stack([a * X[0], X[1]]),
    "dot": lambda a: np.dot(X, X) * a,
    "interp": lambda a: np.interp(a, X, X) * X,
    "linspace": lambda a: np.linspace(0, a, 2) * X,
    "np.multiply of numbers": lambda a: np.multiply(a, 2.0) * X,
    "np.add of numbers": lambda a: np.add(a, a) * X,
    "np.subtract of numbers": lambda a: np.subtract(1, a) * X,
    "np.negative": lambda a: np.negative(a) * X,
    "np.positive": lambda a: np.positive(a) * X,
    "np.divide of numbers": lambda a: np.divide(a, 3) * X,
    "np.mod of numbers": lambda a: np.mod(a, 2) * X,
    "np.abs": lambda a: np.abs(a) * X,
    "np.square": lambda a: np.square(a) * X,
    "np.power of numbers": lambda a: np.power(a, 2) * X,
    "repeated": repeated,
    "in place": in_place,
    "carried": carried,
    "scanned": lambda a: tg.scan(lambda c, v: (c * 0.5 + a, c), a, X)[0] * X,
    "stacked": lambda a: tg.scan(lambda c, v: (c * 0.5 + a, c), a, X)[1] * X,
    "while": lambda a: tg.while_loop(lambda c: c < 7, lambda c: c * 2, a) * X,
    "cond": lambda a: tg.cond(X[0] > 0, lambda c: c * 2, lambda c: c, a) * X,
    "cond of arrays": lambda a: tg.cond(X[0] > 0, lambda c: c * X, lambda c: X, a),
    "checkpoint": lambda a: tg.checkpoint(lambda a: a * 2)(a) * X,
    "itself": lambda a: a,
}
OF_COMPLEX = (
    "a * x", "x * a", "a * 2", "-a", "a ** 2", "a / 3", "2 / a", "several", "a float32",
    "complex64", "where", "sum", "sin", "repeated", "in place", "itself", "np.multiply of numbers",
)  # fmt: skip


def total(f: Function) -> Function:
    return lambda a: np.sum(np.real(f(a)))


VALUES: dict[str, Callable[[Function], Function]] = {
    "vjp": lambda f: lambda a: tg.vjp(f, a)[0],
    "jvp": lambda f: lambda a: tg.jvp(f, (a,), (1.0,))[0],
    "linearize": lambda f: lambda a: tg.linearize(f, a)[0],
    "checkpoint": lambda f: lambda a: tg.vjp(tg.checkpoint(f), a)[0],
    "vjp of vjp": lambda f: lambda a: tg.vjp(lambda a: tg.vjp(f, a)[0], a)[0],
    "jvp of vjp": lambda f: lambda a: tg.jvp(lambda a: tg.vjp(f, a)[0], (a,), (1.0,))[0],
    "vjp of jvp": lambda f: lambda a: tg.vjp(lambda a: tg.jvp(f, (a,), (1.0,))[0], a)[0],
    "inside vmap": lambda f: lambda a: tg.vmap(lambda k: f(a))(np.arange(2.0))[0],
}
LIKE_VALUES: dict[str, Callable[[Function], Function]] = {
    "tangent": lambda f: lambda a: tg.jvp(f, (a,), (1.0,))[1],
    "pushforward": lambda f: lambda a: tg.linearize(f, a)[1](1.0),
    "jacfwd": lambda f: lambda a: tg.jacfwd(f)(a),
}
LIKE_ARGUMENTS: dict[str, Callable[[Function], Function]] = {
    "grad": lambda f: lambda a: tg.grad(total(f))(a),
    "grad of grad": lambda f: lambda a: tg.grad(total(tg.grad(total(f))))(a),
    "hessian": lambda f: lambda a: tg.hessian(total(f))(a),
    "jvp of grad": lambda f: lambda a: tg.jvp(tg.grad(total(f)), (a,), (1.0,))[1],
    "grad of jvp": lambda f: lambda a: tg.grad(total(lambda a: tg.jvp(f, (a,), (1.0,))[1]))(a),
}


def running(f: Function, a: Any) -> Any:
    return np.asarray(f(a)).dtype


def compiled(f: Function, a: Any) -> Any:
    return tg.jit(f).graphs(a)[0].outputs[0].type.dtype


def compiled_around(f: Function, a: Any) -> Any:
    """As part of a function that is given another number."""
    return tg.jit(lambda _: f(a)).graphs(0)[0].outputs[0].type.dtype


@pytest.mark.parametrize("name", OF_FLOATS)
def test_values_have_numpys_dtypes(name: str) -> None:
    f = OF_FLOATS[name]
    expected = running(f, 2.5)
    for way, make in {**VALUES, **LIKE_VALUES}.items():
        if way == "jacfwd" and expected.kind == "c":
            continue
        for run in (running, compiled, compiled_around):
            assert run(make(f), 2.5) == expected, (way, run.__name__)
    np.testing.assert_allclose(tg.vjp(f, 2.5)[0], f(2.5), rtol=1e-6)


@pytest.mark.parametrize("name", OF_FLOATS)
def test_derivatives_have_the_arguments_dtype(name: str) -> None:
    f = OF_FLOATS[name]
    for way, make in LIKE_ARGUMENTS.items():
        for run in (running, compiled):
            assert run(make(f), 2.5) == np.float64, (way, run.__name__)
    strong = f(np.float64(2.5))
    slope = (total(f)(np.float64(2.5 + 1e-6)) - total(f)(np.float64(2.5 - 1e-6))) / 2e-6
    assert tg.grad(total(f))(2.5) == pytest.approx(slope, rel=1e-5, abs=1e-6)
    assert tg.vjp(f, np.float64(2.5))[0].dtype == strong.dtype


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_complex_numbers(name: str) -> None:
    f, a = OF_FLOATS[name], 2.5 + 0.5j
    expected = running(f, a)
    for way in ("vjp", "jvp", "linearize", "vjp of vjp"):
        for run in (running, compiled):
            assert run(VALUES[way](f), a) == expected, (way, run.__name__)
    for run in (running, compiled):
        assert run(tg.grad(total(f)), a) == np.complex128


def test_a_compiled_function_is_handed_the_number() -> None:
    inner = tg.jit(lambda a: a * X)
    assert tg.vjp(lambda a: inner(a * 2), 2.5)[0].dtype == np.float32
    assert tg.grad(lambda a: np.sum(inner(a * 2)))(2.5) == 7.0
    assert tg.jvp(lambda a: inner(a), (2.5,), (1.0,))[1].dtype == np.float32


def test_rules_of_the_users() -> None:
    for run in (running, compiled):
        assert run(lambda a: tg.vjp(lambda a: doubled(a) * X, a)[0], 2.5) == np.float32
        assert run(tg.grad(lambda a: np.sum(doubled(a) * X)), 2.5) == np.float64


def test_numbers_that_python_would_refuse_are_numpys() -> None:
    with np.errstate(all="ignore"):
        assert tg.grad(lambda a: 1 / a)(0.0) == -np.inf
        assert tg.vjp(lambda a: 1 / a, 0.0)[0] == np.inf
        assert tg.vjp(lambda a: a * 1e308 * 1e308, 2.0)[0] == np.inf
        assert np.isnan(tg.vjp(lambda a: a / a, 0.0)[0])
        assert np.isnan(tg.vjp(lambda a: a % 0.0, 2.0)[0])


def test_results_are_numpys_scalars() -> None:
    for f in (lambda a: a, lambda a: a * 2, lambda a: a + a):
        value, pull = tg.vjp(f, 2.5)
        again, push = tg.linearize(f, 2.5)
        found = [value, *pull(1.0), *tg.jvp(f, (2.5,), (1.0,)), tg.grad(f)(2.5), again, push(1.0)]
        assert {type(x) for x in found} == {np.float64}


def newton(s: Any) -> Any:
    @tg.custom_root(lambda x, a: x**3 + x - a)
    def solve(a: Any) -> Any:
        x = 1.0
        for _ in range(60):
            x = x - (x**3 + x - a) / (3 * x * x + 1)
        return x

    return solve(s)


AROUND: dict[str, Any] = {
    "custom_root": newton,
    "root": lambda s: tg.root(lambda x: x**3 + x - s, 1.0),
    "fori_loop": lambda s: tg.fori_loop(0, 3, lambda i, c: c * s + 0.5, 1.0),
    "while_loop": lambda s: tg.while_loop(lambda x: x < 10.0, lambda x: x * s, 1.0),
    "scan": lambda s: tg.scan(lambda k, x: (k * s + x, k), 0.0, np.ones(3))[0],
    "jit": lambda s: tg.jit(lambda y: y * s)(3.0),
    "vmap": lambda s: tg.vmap(lambda y: y * s)(np.ones(2)).sum(),
    "checkpoint": lambda s: tg.checkpoint(lambda y: np.sin(y) * s)(s),
}


@pytest.mark.parametrize("name", AROUND)
def test_read_around_what_is_traced(name: str) -> None:
    """A number that is differentiated by, read in functions that are traced."""
    f = AROUND[name]
    for way in (tg.grad(f), tg.grad(tg.grad(f)), tg.hessian(f), tg.jit(tg.grad(f))):
        np.testing.assert_allclose(way(1.7), way(np.float64(1.7)), rtol=1e-9)
