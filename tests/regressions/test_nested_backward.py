"""Backward passes started inside of backward passes, as deep as a program likes: Python's stack is
not what ends them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.ir.dispatch import SPECIAL, STATE
from tracegrad.tape import deep

pytestmark = pytest.mark.usefixtures("nobody_stays_off")


class Again(tg.autograd.Function):
    """Doubles; its backward differentiates itself again, `n` times."""

    @staticmethod
    def forward(ctx: Any, x: Any, n: int) -> Any:
        ctx.n = n
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        extra = 0.0
        if ctx.n:
            with tg.enable_grad():
                y = x.detach().requires_grad_()
                Again.apply(y, ctx.n - 1).sum().backward()
                extra = y.grad
        return g * 2 + extra, None


def through_hooks(n: int) -> Any:
    x = tg.ones(2, requires_grad=True)
    z = x * 3

    def hook(g: Any) -> Any:
        if n == 0:
            return g
        with tg.enable_grad():
            return g + through_hooks(n - 1).grad / 3

    z.register_hook(hook)
    z.sum().backward()
    return x


@pytest.mark.parametrize("n", [3, 24, 25, 26, 60, 200, 1000])
def test_as_deep_as_it_goes(n: int) -> None:
    threads = threading.active_count()
    x = tg.ones(3, requires_grad=True)
    Again.apply(x, n).sum().backward()
    np.testing.assert_allclose(np.asarray(x.grad), 2.0 * (n + 1))
    np.testing.assert_allclose(np.asarray(through_hooks(n).grad), 3.0 * (n + 1))
    assert threading.active_count() == threads
    assert not SPECIAL


def test_modes_go_along() -> None:
    """A pass in another thread finds the modes of the one that waits for it."""
    seen: list[Any] = []

    def look(n: int) -> None:
        x = tg.ones(2, requires_grad=True)
        z = x * 3

        def hook(g: Any) -> None:
            seen.append(
                (
                    threading.get_ident(),
                    tg.is_grad_enabled(),
                    tg.autograd.is_anomaly_enabled(),
                    STATE.special > 0,
                )
            )
            if n:
                with tg.enable_grad():
                    look(n - 1)

        z.register_hook(hook)
        z.sum().backward()

    with tg.autograd.set_detect_anomaly(True):
        look(60)
    assert len({ident for ident, *_ in seen}) > 1
    assert {tuple(modes) for _, *modes in seen} == {(False, True, True)}
    assert not SPECIAL


@pytest.mark.parametrize("depth", [10, 40])
def test_errors_come_through(depth: int) -> None:
    def fail(n: int) -> None:
        x = tg.ones(2, requires_grad=True)
        z = x * 3

        def hook(g: Any) -> None:
            if n == 0:
                raise ZeroDivisionError("at the bottom")
            with tg.enable_grad():
                fail(n - 1)

        z.register_hook(hook)
        z.sum().backward()

    with pytest.raises(ZeroDivisionError, match="at the bottom"):
        fail(depth)
    assert not SPECIAL
    assert tg.is_grad_enabled()


def test_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep, "MOST", 200)

    def forever(g: Any) -> None:
        with tg.enable_grad():
            z = tg.ones(2, requires_grad=True) * 3
            z.register_hook(forever)
            z.sum().backward()

    z = tg.ones(2, requires_grad=True) * 3
    z.register_hook(forever)
    with pytest.raises(RecursionError, match="more than 200 backward passes are open"):
        z.sum().backward()
    assert not SPECIAL
