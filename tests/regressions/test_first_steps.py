"""What newcomers run into is refused with words that help: each message names what to write
instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
import scipy.signal
import scipy.spatial

import tracegrad as tg

slope = tg.grad(tg.jit(lambda q: np.sum(q**2))).njit(np.ones(2))


@numba.njit
def descended(q: Any) -> Any:
    for _ in range(3):
        q = q - 0.1 * slope(q)
    return np.sum(q)


def grown(p: Any) -> Any:
    x, out = 1.0, []
    while x > 0.1:
        x = x * p
        out.append(x)
    return np.array(out)


def turned(y: Any, t: Any) -> Any:
    return np.stack([y[1], -y[0]])


T = np.arange(3.0)
PAIR = np.ones(2)
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "two results": (
        lambda: tg.value_and_grad(lambda x: (x, x))(1.0),
        "returned a tuple of 2, not one number.*has_aux=True",
    ),
    "two results, compiled": (
        lambda: tg.grad(tg.jit(lambda x: [x]))(1.0),
        "returned a list of 1.*has_aux=True",
    ),
    "a state in a list": (
        lambda: tg.odeint(turned, [2.0, 0.0], T),
        r"test_first_steps.py:\d+: .*a list with shapes.*an array of shape \(2,\).*np.array\(y0\)",
    ),
    "a slope in a list": (
        lambda: tg.odeint(lambda y, t: [y[1], -y[0]], PAIR, T),
        r"y0, an array of shape \(2,\); it returned a list.*np.stack",
    ),
    "a slope of another shape": (
        lambda: tg.odeint(lambda y, t: np.ones(3), PAIR, T),
        r"an array of shape \(2,\); it returned an array of shape \(3,\)$",
    ),
    "a column": (lambda: tg.jit(lambda d: d["t"])(PAIR), "not str. Of a Series or DataFrame"),
    "what njit made": (
        lambda: tg.grad(lambda q: descended(q))(PAIR),
        r"^test_first_steps.py:.*What f.njit\(...\) made .* call f itself",
    ),
    "what njit made, compiled": (
        lambda: tg.jit(tg.grad(descended))(PAIR),
        r"^test_first_steps.py:.*What f.njit\(...\) made .* call f itself",
    ),
    "a list of a late length": (lambda: tg.jit(grown)(0.5), r"out = np.zeros\(k\)"),
    "a module in a module": (
        lambda: tg.grad(lambda x: np.sum(scipy.spatial.distance.pdist(x)))(np.eye(2)),
        "scipy.spatial.distance.pdist works on plain",
    ),
    "a window": (
        lambda: tg.jit(lambda b: scipy.signal.windows.kaiser(4, b))(1.0),
        "scipy.signal.windows.kaiser works on plain",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_messages_help(name: str) -> None:
    call, words = REFUSED[name]
    with pytest.raises((tg.TracegradError, TypeError, IndexError), match=words):
        call()


@pytest.mark.parametrize("file", ["<stdin>", "<string>"])
def test_conditions_without_text(file: str) -> None:
    space: dict[str, Any] = {}
    exec(compile("def f(x):\n    return x if x > 0 else -x", file, "exec"), space)
    with pytest.raises(tg.ConcretizationError, match="needs the value") as caught:
        tg.jit(space["f"])(1.0)
    # The innermost line with a file is this one, where the code has none.
    told = "in a file or a notebook" in str(caught.value)
    assert told == (file == "<stdin>")


def test_the_advice_works() -> None:
    with_array = tg.odeint(turned, np.array([2.0, 0.0]), T)
    tree = tg.odeint(lambda y, t: [y[1], -y[0]], [2.0, 0.0], T)
    assert np.array_equal(with_array, np.stack(tree, 1))

    @tg.jit
    def counted(p: Any) -> Any:
        x, out, n = 1.0, np.zeros(20), 0
        while x > 0.1:
            x = x * p
            out[n] = x
            n += 1
        return out, n

    out, n = counted(0.5)
    assert np.array_equal(out[:n], grown(0.5))
