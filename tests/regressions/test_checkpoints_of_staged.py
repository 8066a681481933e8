"""`tg.checkpoint` of functions that are staged: an attempt that is given up saves nothing, and what
such a function checks is checked in both runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.staging import session

X = np.array([0.3, 1.6, 0.33, -1.3, 0.9, 0.45, -0.54])


def branches(x: Any) -> Any:
    s = 0.0
    for v in x:
        if v > 0:
            s = s * 0.5 + v**2
        else:
            s -= v
    return np.sin(s)


def lists(x: Any) -> Any:
    a = np.array([np.sin(v) for v in x if v > -0.6])
    return np.dot(a, a) + np.max(a)


def masks(x: Any) -> Any:
    y = np.zeros(len(x))
    y[x > 0] = np.log(x[x > 0])
    a = y[:-1] @ y[1:]
    return a * np.max(x[x < 1])


def refusing(x: Any) -> Any:
    if np.sum(x) < 0:
        raise ValueError("below zero")
    return np.sum(np.exp(x) * x)


PROGRAMS = [branches, lists, masks, refusing]
WITHIN: dict[str, Callable[[Any], Any]] = {
    "itself": lambda f: f,
    "grad": tg.grad,
    "jacrev": tg.jacrev,
    "hessian": tg.hessian,
    "vjp": lambda f: lambda x: tg.vjp(f, x)[1](1.0)[0],
    "jvp": lambda f: lambda x: tg.jvp(f, (x,), (x,))[1],
}


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize("f", PROGRAMS)
def test_attempts_that_are_given_up_save_nothing(
    f: Any, within: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = WITHIN[within](f)
    for outer in (lambda g: g, tg.jacrev):
        # Nothing is known of the function when it is called first.
        monkeypatch.setattr(session, "_KNOWN", {})
        for again in range(2):
            found = outer(tg.checkpoint(inner))(X)
            np.testing.assert_allclose(found, outer(inner)(X), rtol=1e-12, err_msg=f"{again}")


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("f", PROGRAMS)
def test_pullbacks_that_are_called_later(f: Any, depth: int) -> None:
    """The second run knows what the first one did, though the call that learnt it has ended."""
    g = f
    for _ in range(depth):
        g = tg.checkpoint(g)
    np.testing.assert_allclose(tg.vjp(g, X)[1](1.0)[0], tg.grad(f)(X), rtol=1e-12)

    def step(x: Any, _: Any) -> Any:
        return x + 0.01 * f(x), None

    def steps(x: Any, each: int | None) -> Any:
        return tg.scan(step, x, None, length=2, checkpoint=each)[0]

    if depth == 1:
        found = tg.vjp(lambda x: steps(x, 1), X)[1](X)[0]
        expected = tg.vjp(lambda x: steps(x, None), X)[1](X)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("f", [masks, refusing])
def test_checks_of_the_second_run(f: Any, shape: tuple[int, ...]) -> None:
    """The adjoint of a checkpointed call has its effects, and belongs to the backward graph."""
    g = tg.jit(tg.checkpoint(lambda x: np.reshape(f(x), shape)))
    found = tg.grad(lambda x: np.sum(np.sin(g(x))))(X)
    np.testing.assert_allclose(found, tg.grad(lambda x: np.sin(f(x)))(X), rtol=1e-12)
    with pytest.raises(ValueError, match=r"below zero|zero-size"):
        tg.grad(lambda x: np.sum(g(x)))(-X if f is refusing else X + 9)


def test_a_failed_attempt_that_the_function_catches() -> None:
    """What was saved for it is not taken for what was saved later."""

    def failing(x: Any) -> Any:
        s = np.sum(np.sin(x) * np.cos(x))
        raise LookupError(s.shape)

    def f(x: Any) -> Any:
        with contextlib.suppress(LookupError):
            tg.grad(failing)(x)
        return np.sum(np.exp(x) * x)

    x = X[:3]
    np.testing.assert_allclose(tg.grad(tg.checkpoint(f))(x), np.exp(x) * (1 + x), rtol=1e-12)
