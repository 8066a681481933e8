"""Python state that is changed inside of transforms, rules, hooks and bodies: four compiled calls
are four eager ones, or there is an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([1.0, 2.0])
Way = Callable[[Callable[..., Any]], Callable[..., Any]]
Made = Callable[[Way], Callable[[Any], Any]]
"""Builds a function of an array; what is compiled is given to `way`."""


class Holder:
    """The state."""

    def __init__(self) -> None:
        self.n = 0
        self.r = 1.0
        self.log: list[Any] = []

    def count(self) -> int:
        self.n += 1
        self.r = self.r * 0.5 + 0.25
        return self.n


def plain(x: Any) -> Any:
    leaves = x if isinstance(x, (tuple, list)) else [x]
    return np.concatenate([np.ravel(y.detach() if isinstance(y, tg.Tensor) else y) for y in leaves])


def calls(made: Callable[[Holder], Made], way: Way) -> list[Any]:
    held = Holder()
    f = made(held)(way)
    return [(plain(f(X)), held.n, held.r, [*held.log]) for _ in range(4)]


# --- transforms of a function that counts its calls -----------------------------------------------


def scalar(held: Holder) -> Callable[[Any], Any]:
    return lambda x: np.sum(x**3) * held.count() * held.r


def vector(held: Holder) -> Callable[[Any], Any]:
    return lambda x: x**3 * held.count() * held.r


def logged(held: Holder) -> Callable[[Any], Any]:
    return lambda x: (held.log.append(1.5), x * held.count())[1]


def batch(f: Any) -> Any:
    return lambda x: tg.vmap(f)(np.stack([x, x + 1]))


TRANSFORMS: dict[str, tuple[Any, Any]] = {
    "grad": (scalar, tg.grad),
    "value_and_grad": (scalar, tg.value_and_grad),
    "hessian": (scalar, tg.hessian),
    "jacrev": (vector, tg.jacrev),
    "jacfwd": (vector, tg.jacfwd),
    "jacobian": (vector, tg.jacobian),
    "hvp": (scalar, lambda f: lambda x: tg.hvp(f, x, x)),
    "vjp": (scalar, lambda f: lambda x: tg.vjp(f, x)[1](1.0)[0]),
    "jvp": (vector, lambda f: lambda x: tg.jvp(f, (x,), (x,))),
    "grad of grad": (scalar, lambda f: tg.grad(lambda x: np.sum(tg.grad(f)(x)))),
    "vmap": (vector, batch),
    "vmap of grad": (scalar, lambda f: batch(tg.grad(f))),
    "grad of vmap": (scalar, lambda f: tg.grad(lambda x: np.sum(batch(f)(x)))),
    "vmap of vmap": (vector, lambda f: lambda x: tg.vmap(tg.vmap(f))(np.ones((2, 3, 2)))),
    "vmap of hessian": (scalar, lambda f: batch(tg.hessian(f))),
    "vmap that appends": (logged, batch),
    "jit in vmap": (vector, lambda f: batch(tg.jit(f))),
    "jit in hessian": (scalar, lambda f: tg.hessian(tg.jit(f))),
}


@pytest.mark.parametrize("inside", [False, True], ids=["jit of it", "of jit"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_a_function_that_counts(name: str, inside: bool) -> None:
    make, transform = TRANSFORMS[name]
    expected = calls(lambda held: lambda way: transform(make(held)), lambda f: f)
    found = calls(
        lambda held: (
            lambda way: transform(way(make(held))) if inside else way(transform(make(held)))
        ),
        tg.jit,
    )
    assert expected[-1][1] >= 4
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_equal(a[1:], b[1:])
        np.testing.assert_allclose(a[0], b[0], rtol=1e-12)


# --- rules and hooks ------------------------------------------------------------------------------


def custom_vjp(held: Holder, in_forward: bool = False) -> Any:
    def forward(x: Any) -> Any:
        return np.sum(x * x) * (held.count() if in_forward else 1), x

    @tg.custom_vjp
    def g(x: Any) -> Any:
        return np.sum(x * x)

    g.defvjp(forward, lambda x, ct: (ct * 2 * x * (1 if in_forward else held.count()),))
    return g


def custom_jvp(held: Holder) -> Any:
    @tg.custom_jvp
    def g(x: Any) -> Any:
        return np.sum(x * x)

    g.defjvp(
        lambda primals, tangents: (
            np.sum(primals[0] ** 2),
            np.sum(2 * primals[0] * tangents[0]) * held.count(),
        )
    )
    return g


def function(held: Holder, in_forward: bool = False) -> Any:
    class F(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * (2 * held.count() if in_forward else 2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * (3 if in_forward else held.count())

    return lambda x: F.apply(x).sum()


def of_a_leaf(f: Any) -> Any:
    """The gradient by `backward` inside."""

    def gradient(x: Any) -> Any:
        leaf = tg.as_tensor(x).detach().clone().requires_grad_()
        f(leaf).backward()
        return leaf.grad

    return gradient


def hook(held: Holder, where: str) -> Made:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    if where == "outside":
        w.register_hook(lambda g: g * held.count())
    if where == "accumulated":
        w.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", p.grad * held.count()))
    net = tg.nn.Linear(2, 2)
    with tg.no_grad():
        for p in net.parameters():
            p.fill_(0.5)
    net.register_forward_hook(lambda m, i, o: o * held.count())

    def f(x: Any) -> Any:
        w.grad = None
        y = w * 2
        if where == "inside":
            y.register_hook(lambda g: g * held.count())
        (y * tg.as_tensor(x)).sum().backward()
        return w.grad.clone(), net(tg.ones(2)).detach() if where == "module" else 0.0

    return lambda way: way(f)


RULES: dict[str, Callable[[Holder], Made]] = {
    "custom_vjp": lambda h: lambda way: way(tg.grad(custom_vjp(h))),
    "custom_vjp, forward": lambda h: lambda way: way(tg.value_and_grad(custom_vjp(h, True))),
    "custom_vjp of jit": lambda h: lambda way: tg.grad(way(custom_vjp(h))),
    "custom_jvp": lambda h: lambda way: way(lambda x: tg.jvp(custom_jvp(h), (x,), (x,))),
    "custom_jvp, reverse": lambda h: lambda way: way(tg.value_and_grad(custom_jvp(h))),
    "Function.backward": lambda h: lambda way: way(of_a_leaf(function(h))),
    "Function.forward": lambda h: lambda way: way(of_a_leaf(function(h, True))),
    "Function and grad": lambda h: lambda way: way(tg.grad(function(h))),
    "a hook made inside": lambda h: hook(h, "inside"),
    "a hook made outside": lambda h: hook(h, "outside"),
    "a hook of an accumulated gradient": lambda h: hook(h, "accumulated"),
    "a hook of a module": lambda h: hook(h, "module"),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_and_hooks_that_count(name: str) -> None:
    expected, found = calls(RULES[name], lambda f: f), calls(RULES[name], tg.jit)
    assert expected[-1][1] == 4
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_equal(a[1:], b[1:])
        np.testing.assert_allclose(a[0], b[0], rtol=1e-12)


def test_what_rules_read_is_read_at_each_call() -> None:
    held = Holder()

    @tg.custom_vjp
    def g(x: Any) -> Any:
        return np.sum(x * x)

    g.defvjp(lambda x: (np.sum(x * x), x), lambda x, ct: (ct * 2 * x * held.r,))
    f = tg.jit(tg.grad(g))
    assert f(X)[0] == 2.0
    held.r = 5.0
    assert f(X)[0] == 10.0
    g.defvjp(g.forward, lambda x, ct: (ct * 7.0 * x,))
    assert f(X)[0] == 7.0


# --- refused --------------------------------------------------------------------------------------


def doubled(g: Any) -> Any:
    return lambda x: g(x) * 2.0


def summed(g: Any) -> Any:
    return lambda x: tg.scan(lambda c, y: (c + g(y), None), 0.0, x)[0]


BODY, AGAIN, RULE = (
    "which is traced once",
    "which the backward pass runs again",
    "in a derivative that the user gives",
)
REFUSED: dict[str, tuple[Callable[[Holder], Made], str]] = {
    "fori_loop": (
        lambda h: lambda way: way(lambda x: tg.fori_loop(0, 3, lambda i, s: s * h.count(), x)),
        BODY,
    ),
    "scan": (
        lambda h: (
            lambda way: way(lambda x: tg.scan(lambda c, y: (c + y * h.count(), c), 0.0, x)[0])
        ),
        BODY,
    ),
    "while_loop": (
        lambda h: (
            lambda way: way(
                lambda x: tg.while_loop(lambda s: np.sum(s) < 50, lambda s: s * (1 + h.count()), x)
            )
        ),
        BODY,
    ),
    "cond": (
        lambda h: (
            lambda way: way(
                lambda x: tg.cond(np.sum(x) > 0, lambda y: y * h.count(), lambda y: y, x)
            )
        ),
        BODY,
    ),
    "scan in vmap": (
        lambda h: (
            lambda way: way(
                batch(lambda x: tg.scan(lambda c, y: (c + y * h.count(), c), 0.0, x)[0])
            )
        ),
        BODY,
    ),
    "checkpoint": (
        lambda h: (
            lambda way: way(
                tg.grad(lambda x: np.sum(tg.checkpoint(lambda y: np.sin(y) * h.count())(x)))
            )
        ),
        AGAIN,
    ),
    "checkpoint, value": (
        lambda h: lambda way: way(tg.checkpoint(lambda y: np.sin(y) * h.count())),
        AGAIN,
    ),
    "utils.checkpoint": (
        lambda h: (
            lambda way: way(
                lambda x: tg.utils.checkpoint.checkpoint(
                    lambda y: np.sin(y) * h.count(), x, use_reentrant=False
                )
            )
        ),
        AGAIN,
    ),
    "linearize": (
        lambda h: lambda way: way(lambda x: tg.linearize(vector(h), x)[1](x)),
        "run.* once for the result and once for the",
    ),
    "backward of jit, Function": (lambda h: lambda way: of_a_leaf(way(function(h))), RULE),
    "backward of jit, custom_vjp": (
        lambda h: lambda way: of_a_leaf(way(doubled(custom_vjp(h)))),
        RULE,
    ),
    "rule in a loop": (
        lambda h: lambda way: way(tg.grad(summed(custom_vjp(h)))),
        RULE,
    ),
    "a result of the batch": (
        lambda h: lambda way: way(batch(lambda x: (setattr(h, "r", np.sum(x)), x)[1])),
        "a traced value .*, made by sum",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bodies_that_count_are_refused_with_the_line(name: str) -> None:
    made, why = REFUSED[name]
    eager = Holder()
    if name != "a result of the batch":
        made(eager)(lambda f: f)(X)
        assert eager.n > 0
    held = Holder()
    f = made(held)(tg.jit)
    for _ in range(2):
        with pytest.raises(tg.TracegradError, match=why) as found:
            f(X)
        assert re.match(r"test_state_in_transforms\.py:\d+: ", str(found.value))
        assert (held.n, held.r) == (0, 1.0)


def test_eagerly_rules_may_count() -> None:
    held = Holder()
    for k in range(3):
        assert tg.vmap(tg.grad(custom_vjp(held)))(np.ones((2, 2)))[0, 0] == 2.0 * (k + 1)


def test_jit_of_a_custom_function_keeps_its_rule() -> None:
    held = Holder()
    g = custom_vjp(held)
    g.defvjp(lambda x: (np.sum(x * x), x), lambda x, ct: (ct * 5.0 * x,))
    assert tg.jit(g).function is g
    for f in (
        tg.grad(tg.jit(g)),
        tg.jit(tg.grad(g)),
        tg.jit(tg.grad(tg.jit(g))),
        tg.grad(tg.custom_vjp(g).function),
    ):
        assert f(X)[1] == 10.0
    h = tg.custom_vjp(tg.jit(g))
    h.defvjp(lambda x: (h.function(x), x), lambda x, ct: (ct * 7.0 * x,))
    assert tg.grad(h)(X)[1] == 14.0


def test_a_number_that_a_jitted_function_inside_reads() -> None:
    held = Holder()
    reads = tg.jit(lambda x: x * held.n)

    def f(x: Any) -> Any:
        before = reads(x)
        held.n += 1
        return before + 10 * reads(x) + tg.vmap(reads)(x[None])[0]

    compiled = tg.jit(f)
    for k in range(4):
        assert compiled(X)[0] == k + 11 * (k + 1)
        assert held.n == k + 1
    assert reads(X)[0] == 4.0
