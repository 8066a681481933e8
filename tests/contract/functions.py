"""Functions with rules of their own, and ways to run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import Function

grad = tg.autograd.grad


WAYS: dict[str, Callable[..., Any]] = {"eager": lambda f: f, "jit": tg.jit}


both = pytest.mark.parametrize("way", WAYS)


def close(a: Any, b: Any) -> None:
    a, b = (v.detach().numpy() if isinstance(v, tg.Tensor) else np.asarray(v) for v in (a, b))
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=1e-12)


def made(
    forward: Callable[..., Any],
    backward: Callable[..., Any] | None = None,
    name: str = "X",
    **more: Any,
) -> Any:
    """A Function of these methods."""
    methods: dict[str, Any] = {"forward": staticmethod(forward)}
    if backward is not None:
        methods["backward"] = staticmethod(backward)
    methods |= {k: staticmethod(v) if callable(v) else v for k, v in more.items()}
    return type(name, (Function,), methods)


class Exp(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = np.exp(x)
        ctx.save_for_backward(y)
        ctx.save_for_forward(y)
        ctx.tag = "hi"
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g * y

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        (y,) = ctx.saved_tensors
        return t * y


class Scale(Function):
    """With `setup_context`; the factor 3 of the gradient shows that the user's rule was used."""

    @staticmethod
    def forward(x: Any, k: Any = 2) -> Any:
        return x * k

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.k * 3, None
