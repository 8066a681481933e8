"""Hooks that are registered, removed or changed after a function was compiled in which a backward
pass runs: seen as eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

X = np.array([3.0, 4.0])


def doubled(p: Any) -> None:
    p.grad.mul_(2)


def tripled(p: Any) -> None:
    p.grad.mul_(3)


REGISTER: dict[str, Callable[[Any, int], Any]] = {
    "of a tensor": lambda t, k: t.register_hook(lambda g: g * k),
    "after accumulation": lambda t, k: t.register_post_accumulate_grad_hook(
        doubled if k == 2 else tripled
    ),
    "before its node": lambda t, k: (
        t.expand_as(t).grad_fn.next_functions[0][0].register_prehook(lambda gs: (gs[0] * k,))
    ),
}
CHANGES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "added": lambda t, register, handles: handles.append(register(t, 3)),
    "removed": lambda t, register, handles: handles.pop().remove(),
    "changed": lambda t, register, handles: (
        handles.pop().remove(),
        handles.append(register(t, 3)),
    ),
    "none": lambda t, register, handles: None,
}


def backward(t: Any, x: Any) -> Any:
    t.grad = None
    (t * x).sum().backward()
    return t.grad * 1


def of_a_sum(t: Any, x: Any) -> Any:
    """Whose gradient does not read the tensor."""
    t.grad = None
    (t.sum() * x).sum().backward()
    return t.grad * 1


def asked(t: Any, x: Any) -> Any:
    return tg.autograd.grad((t * t * x).sum(), t)[0]


BODIES = {"backward": backward, "of a sum": of_a_sum, "asked for": asked}


@pytest.mark.parametrize("register", REGISTER)
@pytest.mark.parametrize("around", ["captured", "argument", "of a module"])
def test_what_is_registered_later_is_called(register: str, around: str) -> None:
    for body in BODIES.values():
        for change in CHANGES.values():
            found = []
            for jitted in (False, True):
                t = tg.nn.Parameter(tg.tensor([1.0, 2.0]))
                layer = tg.nn.Module()
                layer.weight = t
                functions = {
                    "captured": lambda x, t=t, body=body: body(t, x),
                    "of a module": lambda x, layer=layer, body=body: body(layer.weight, x),
                    "argument": lambda x, body=body: body(x[0], x[1]),
                }
                f = tg.jit(functions[around]) if jitted else functions[around]
                given = (t, tg.tensor(X)) if around == "argument" else tg.tensor(X)
                handles = [REGISTER[register](t, 2)]
                results = [f(given).numpy(), f(given).numpy()]
                change(t, REGISTER[register], handles)
                results += [f(given).numpy() for _ in range(3)]
                found.append(results)
            np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("kind", ["of a tensor", "after accumulation"])
def test_a_pass_outside_calls_them_once(kind: str) -> None:
    """Of a function in which none runs nothing is traced anew."""
    t = tg.tensor([1.0, 2.0], requires_grad=True)
    called = []
    f = tg.jit(lambda x: (t * x).sum())
    f(tg.tensor(X))

    def hook(g: Any) -> None:
        called.append(1)

    for n in range(3):
        handle = (
            t.register_hook(hook)
            if kind == "of a tensor"
            else t.register_post_accumulate_grad_hook(hook)
        )
        t.grad = None
        f(tg.tensor(X)).backward()
        assert len(called) == n + 1
        handle.remove()
        t.grad = None
        f(tg.tensor(X)).backward()
        assert len(called) == n + 1
        np.testing.assert_array_equal(t.grad, X)
    assert len(f._signatures.entries) == 1
    assert not f._signatures.retraced


def test_entries_come_back() -> None:
    """Taking a hook away finds what was compiled without it."""
    t = tg.tensor([1.0, 2.0], requires_grad=True)
    f = tg.jit(lambda x: backward(t, x))

    def hook(g: Any) -> Any:
        return g * 2

    for _ in range(3):
        np.testing.assert_array_equal(f(tg.tensor(X)), X)
        with t.register_hook(hook):
            np.testing.assert_array_equal(f(tg.tensor(X)), 2 * X)


def test_a_hook_of_the_functions_own_on_an_argument() -> None:
    """Registered inside, it belongs to the pass inside; the one that came along stays."""
    t = tg.tensor([1.0, 2.0], requires_grad=True)

    def f(t: Any, x: Any) -> Any:
        with t.register_hook(lambda g: g + 1):
            return backward(t, x)

    t.register_hook(lambda g: g * 2)
    for run in (f, tg.jit(f)):
        for _ in range(2):
            np.testing.assert_array_equal(run(t, tg.tensor(X)), 2 * X + 1)
