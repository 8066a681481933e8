"""What rules of the user's return, and what is said where it does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.array([0.5, 1.5])
LINE = r"rule in test_rules_returned.py:\d+.*"
WAYS: dict[str, Callable[[Any], Any]] = {
    "forward": lambda f: tg.jvp(f, (X,), (np.ones(2),)),
    "reverse": lambda f: tg.vjp(f, X)[1](f(X)),
    "jit": lambda f: tg.jit(lambda x: tg.jvp(f, (x,), (np.ones(2),))[1])(X),
    "vmap": lambda f: tg.vmap(lambda x: tg.jvp(f, (x,), (x,))[1])(X[None]),
    "nested": lambda f: tg.jvp(lambda x: tg.jvp(f, (x,), (x,))[1], (X,), (X,)),
}
PAIR = r"must return a pair \(result, tangent of the result\), it returned "
TREE = "the tangent must be a tree like the value it belongs to"


def by_jvp(result: Callable[[Any], Any], rule: Callable[..., Any]) -> Any:
    f = tg.custom_jvp(result)
    f.defjvp(rule)
    return f


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda y, t: None, PAIR + "None"),
        (lambda y, t: t, PAIR + "an .* of shape"),
        (lambda y, t: (y, t, t), PAIR + "a tuple of length 3"),
        (lambda y, t: (y, (t, t)), TREE),
        (lambda y, t: (y, {"a": t}), TREE),
        (lambda y, t: (y, t[:1]), r"a derivative of shape \(1,\) for a value of shape \(2,\)"),
        (lambda y, t: (y, 0.0), r"a derivative of shape \(\) for a value of shape \(2,\)"),
        (lambda y, t: (y, "a"), "the string 'a' as a derivative"),
        (lambda y, t: (y, 1j * t), "a derivative of complex128 for a value of float64"),
    ],
)
def test_forward_rules(way: str, returned: Callable[..., Any], message: str) -> None:
    f = by_jvp(np.sin, lambda p, t: returned(np.sin(p[0]), t[0]))
    with pytest.raises((TypeError, ValueError), match=LINE + message):
        WAYS[way](f)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "returned",
    [
        lambda t: {"a": t},
        lambda t: [t, t],
        lambda t: {"a": t, "c": t},
        lambda t: {"a": t, "b": (t,)},
    ],
)
def test_trees_of_forward_rules(way: str, returned: Callable[..., Any]) -> None:
    f = by_jvp(lambda x: {"a": x, "b": x}, lambda p, t: (None, returned(t[0])))
    with pytest.raises(TypeError, match=TREE):
        WAYS[way](f)


def test_what_forward_rules_may_leave_out() -> None:
    """None is no derivative; lists stand for tuples; other dtypes are converted."""
    f = by_jvp(lambda x: (x, 2 * x), lambda p, t: [None, [t[0].astype(np.float32), None]])
    np.testing.assert_array_equal(tg.jacobian(f)(X), (np.eye(2), np.zeros((2, 2))))
    assert tg.jvp(f, (X,), (X,))[1][0].dtype == np.float64
    alone = by_jvp(np.sin, lambda p, t: (None, None))
    np.testing.assert_array_equal(tg.jacobian(alone)(X), np.zeros((2, 2)))


@pytest.mark.parametrize("wrap", [lambda f: f, tg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda c: c, "must return a tuple with one cotangent per argument, it returned an "),
        (lambda c: None, "must return a tuple with one cotangent per argument, it returned None"),
        (lambda c: ({"a": c},), "the cotangent of argument 0 must be a tree like the value"),
        (lambda c: ((c, c),), "the cotangent of argument 0 must be a tree like the value"),
        (lambda c: ("a",), "the string 'a' as a derivative"),
    ],
)
def test_reverse_rules(wrap: Any, returned: Callable[..., Any], message: str) -> None:
    f = tg.custom_vjp(np.sin)
    f.defvjp(lambda x: (np.sin(x), None), lambda r, c: returned(c))
    with pytest.raises((TypeError, ValueError), match=LINE + message):
        wrap(tg.grad(lambda x: np.sum(f(x))))(X)
