"""Errors that the user's functions with rules of their own raise come out as they are: while
derivatives were taken eagerly, they were AssertionErrors of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def fails(x: Any) -> Any:
    raise ValueError("of the user")


def with_reverse(f: Callable[[Any], Any]) -> Any:
    made = tg.custom_vjp(f)
    made.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * x,))
    return made


def with_forward(f: Callable[[Any], Any]) -> Any:
    made = tg.custom_jvp(f)
    made.defjvp(lambda primals, tangents: (f(primals[0]), tangents[0]))
    return made


CALLS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda c: c(1.0),
    "grad": lambda c: tg.grad(c)(1.0),
    "jvp": lambda c: tg.jvp(c, (1.0,), (1.0,)),
    "vjp of grad": lambda c: tg.vjp(tg.grad(c), 1.0),
    "vmap": lambda c: tg.vmap(c)(np.ones(2)),
    "hessian": lambda c: tg.hessian(c)(1.0),
    "tensor": lambda c: c(tg.tensor(1.0, requires_grad=True)),
    "jit": lambda c: tg.jit(c)(1.0),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [with_reverse, with_forward])
def test_errors_are_the_users(kind: Callable[[Any], Any], call: str) -> None:
    with pytest.raises(ValueError, match="of the user"):
        CALLS[call](kind(fails))


def test_forward_through_a_reverse_rule_inside_of_a_forward_rule() -> None:
    inner = with_reverse(lambda x: x * x)
    outer = with_forward(lambda x: tg.jacfwd(inner)(x) @ np.ones(3))
    with pytest.raises(TypeError, match="has a custom reverse rule only"):
        tg.vjp(outer, np.ones(3))
