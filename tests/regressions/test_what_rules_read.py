"""Derivatives by what only the rule of a custom function reads: its value does not depend on it,
its derivative does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

X, B, WEIGHTS = np.array([0.3, 0.7]), np.array([1.5, 2.5]), np.array([1.0, 2.0])


def by_jvp(b: Any) -> Callable[[Any], Any]:
    @tg.custom_jvp
    def r(x: Any) -> Any:
        return np.sin(x)

    r.defjvp(lambda p, t: (np.sin(p[0]), np.cos(p[0]) * b * t[0]))
    return r


def by_vjp(b: Any) -> Callable[[Any], Any]:
    r = tg.custom_vjp(lambda x: np.sin(x))
    r.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(x) * b,))
    return r


def by_function(b: Any) -> Callable[[Any], Any]:
    class Sine(tg.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return np.sin(x)

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            (x,) = ctx.saved_tensors
            return ct * np.cos(x) * b

    return Sine.apply


KINDS = {"custom_jvp": by_jvp, "custom_vjp": by_vjp, "Function": by_function}
# What is made of the rule's function, and the derivative of its sum by x where the rule multiplies
# with b.
USES: dict[str, tuple[Callable[[Any], Callable[[Any], Any]], Callable[[Any, Any], Any]]] = {
    "alone": (lambda r: r, lambda x, b: np.cos(x) * b),
    "of a product": (lambda r: lambda x: r(2 * x), lambda x, b: 2 * np.cos(2 * x) * b),
    "in a product": (lambda r: lambda x: x * r(x), lambda x, b: np.sin(x) + x * np.cos(x) * b),
    "twice": (lambda r: lambda x: r(r(x)), lambda x, b: np.cos(np.sin(x)) * b * np.cos(x) * b),
}
# The derivative of the function of x, taken inside.
INNER: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "grad": lambda f: tg.grad(lambda x: np.sum(f(x)))(X),
    "value_and_grad": lambda f: tg.value_and_grad(lambda x: np.sum(f(x)))(X)[1],
    "vjp": lambda f: tg.vjp(f, X)[1](np.ones(2))[0],
    "jacrev": lambda f: np.sum(tg.jacrev(f)(X), axis=0),
    "vmap of grad": lambda f: tg.vmap(tg.grad(f))(X),
}
OUTER: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "grad": lambda g: tg.grad(g)(B),
    "jit grad": lambda g: tg.jit(tg.grad(g))(B),
    "grad jit": lambda g: tg.grad(tg.jit(g))(B),
    "vjp": lambda g: tg.vjp(g, B)[1](1.0)[0],
    "jvp": lambda g: np.array([tg.jvp(g, (B,), (e,))[1] for e in np.eye(2)]),
    "backward": lambda g: backward(g),
}


def backward(g: Callable[[Any], Any]) -> Any:
    b = tg.tensor(B, requires_grad=True)
    g(b).backward()
    return b.grad


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_by_what_a_rule_reads(kind: str, inner: str, outer: str) -> None:
    for name, (use, derivative) in USES.items():

        def g(b: Any, use: Any = use) -> Any:
            # Of the batch each item sees one number, so the rule multiplies with the sum of b.
            read = np.sum(b) if inner == "vmap of grad" else b
            return np.sum(INNER[inner](use(KINDS[kind](read))) * WEIGHTS)

        def expected(b: Any, derivative: Any = derivative) -> Any:
            return np.sum(derivative(X, np.sum(b) if inner == "vmap of grad" else b) * WEIGHTS)

        np.testing.assert_allclose(
            np.asarray(OUTER[outer](g)), tg.grad(expected)(B), rtol=1e-12, err_msg=name
        )


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_more_is_recorded_where_rules_read_nothing_tracked(kind: str) -> None:
    """Rules may use what takes plain arrays only, and results are no one's."""
    seen = []

    def plainly(x: Any) -> Any:
        seen.append(type(x))
        return x

    found = tg.grad(lambda x: np.sum(KINDS[kind](B)(x)))(X)
    assert type(found) is np.ndarray
    if kind == "custom_vjp":
        r = tg.custom_vjp(lambda x: np.sin(x))
        r.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(plainly(x)),))
        assert type(tg.vjp(r, X)[1](np.ones(2))[0]) is np.ndarray
        assert seen == [np.ndarray]
    y, pull = tg.vjp(KINDS[kind](B), X)
    assert type(y) is type(pull(np.ones(2))[0]) is np.ndarray


@pytest.mark.parametrize("kind", KINDS)
def test_rules_that_read_a_parameter(kind: str) -> None:
    """The gradient of a penalty on a gradient reaches the parameter; without one, as in torch,
    nothing does."""
    w = tg.tensor(B, requires_grad=True)
    found = tg.grad(lambda x: np.sum(KINDS[kind](w)(x)))(X)
    np.sum(found**2).backward()
    np.testing.assert_allclose(w.grad, 2 * np.cos(X) ** 2 * B)
    x = tg.tensor(X, requires_grad=True)
    w.grad = None
    np.sum(KINDS[kind](w)(x)).backward()
    np.testing.assert_allclose(x.grad, np.cos(X) * B)
    assert w.grad is None
    assert not x.grad.requires_grad


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit], ids=["eager", "jit"])
def test_second_derivatives_with_a_rule_that_reads(kind: str, wrap: Any) -> None:
    def g(b: Any) -> Any:
        first = tg.grad(lambda x: np.sum(KINDS[kind](b)(x * x)))
        return np.sum(tg.grad(lambda x: np.sum(first(x) ** 2))(X))

    def expected(b: Any) -> Any:
        # The rule's derivative is cos(x) b, which is differentiated as it stands.
        first = lambda x: 2 * x * np.cos(x * x) * b  # noqa: E731
        return np.sum(tg.grad(lambda x: np.sum(first(x) ** 2))(X))

    np.testing.assert_allclose(wrap(tg.grad(g))(B), tg.grad(expected)(B), rtol=1e-12)


# --- how often ------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["grad", "value_and_grad", "vjp", "jacrev"])
@pytest.mark.parametrize("reads", [False, True])
def test_rules_and_hooks_are_called_once(way: str, reads: bool) -> None:
    """As often as torch calls them, whether a rule reads something tracked or not; what is on both
    sides of it is right."""
    calls = {"rule": 0, "hook": 0, "before": 0}
    w = tg.tensor([2.0, 3.0], requires_grad=True)

    class Scaled(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            calls["rule"] += 1
            return g * ctx.saved_tensors[0] * (w if reads else 2.0)

    def counted(name: str, value: Any) -> Any:
        value.register_hook(lambda g: calls.update({name: calls[name] + 1}))
        return value

    def f(x: Any) -> Any:
        inner = counted("before", x.sin() * 1.0)
        y = counted("hook", Scaled.apply(inner))
        return (y * y * inner + inner).sum()

    ways: dict[str, Callable[[Any], Any]] = {
        "grad": tg.grad(f),
        "value_and_grad": lambda x: tg.value_and_grad(f)(x)[1],
        "vjp": lambda x: tg.vjp(f, x)[1](tg.tensor(1.0))[0],
        "jacrev": tg.jacrev(f),
    }
    x = np.array([0.3, 0.7])
    found = ways[way](tg.tensor(x))
    if way != "jacrev":
        assert calls == {"rule": 1, "hook": 1, "before": 1}

    def exact(w: Any) -> Any:
        s = np.sin(x)
        return (2 * s**3 * s * (w if reads else 2.0) + s**4 + 1) * np.cos(x)

    np.testing.assert_allclose(found.detach().numpy(), exact(w.detach().numpy()), rtol=1e-12)
    assert found.requires_grad is reads
    if reads:
        by_w = tg.autograd.grad(found.sum(), w)[0]
        np.testing.assert_allclose(by_w.numpy(), 2 * np.sin(x) ** 4 * np.cos(x), rtol=1e-12)
