"""Functions and classes that variables, lists, dicts, attributes and closures hold are asked for at
each call, whoever wrote them: once NumPy's, `math`'s and Python's own stayed what they had been at
the first call."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

X = np.array([0.5, 1.5])


class Doubled:
    def __call__(self, x: Any) -> Any:
        return 2 * x


class Negated:
    def __call__(self, x: Any) -> Any:
        return -x


def sine(x: Any) -> Any:
    return np.sin(x)


def cosine(x: Any) -> Any:
    return np.cos(x)


PAIRS: dict[str, tuple[Any, Any]] = {
    "ufuncs": (np.sin, np.cos),
    "functions of arrays": (np.cumsum, np.flip),
    "functions of math": (math.sin, math.cos),
    "built-in functions": (len, sum),
    "functions": (sine, cosine),
    "jitted functions": (tg.jit(sine), tg.jit(cosine)),
    "operations": (tg.sin, tg.cos),
    "objects": (Doubled(), Negated()),
    "classes": (Doubled, Negated),
}
VARIABLE: Any = None


def applied(function: Any, x: Any) -> Any:
    if function in (math.sin, math.cos):
        return x * function(1.0)
    if function in (len, sum):
        return x * function((1.0, 2.0))
    return function()(x) if isinstance(function, type) else function(x)


class Holder:
    held: Any = None


def as_variable() -> tuple[Callable[[Any], None], Callable[[Any], Any]]:
    def put(value: Any) -> None:
        globals()["VARIABLE"] = value

    return put, lambda x: applied(VARIABLE, x)


def in_a_list() -> tuple[Callable[[Any], None], Callable[[Any], Any]]:
    held = [None]
    return lambda value: held.__setitem__(0, value), lambda x: applied(held[0], x)


def in_a_dict() -> tuple[Callable[[Any], None], Callable[[Any], Any]]:
    held = {"f": None}
    return lambda value: held.__setitem__("f", value), lambda x: applied(held["f"], x)


def as_an_attribute() -> tuple[Callable[[Any], None], Callable[[Any], Any]]:
    holder = Holder()
    return lambda value: setattr(holder, "held", value), lambda x: applied(holder.held, x)


def of_a_closure() -> tuple[Callable[[Any], None], Callable[[Any], Any]]:
    held: Any = None

    def put(value: Any) -> None:
        nonlocal held
        held = value

    return put, lambda x: applied(held, x)


@pytest.mark.parametrize("way", ["jit", "jit of grad", "jit of vmap"])
@pytest.mark.parametrize(
    "place",
    [as_variable, in_a_list, in_a_dict, as_an_attribute, of_a_closure],
    ids=lambda p: p.__name__,
)
@pytest.mark.parametrize("kind", PAIRS)
def test_another_function_is_noticed(kind: str, place: Any, way: str) -> None:
    put, f = place()
    derived: dict[str, Callable[[Any], Any]] = {
        "jit": f,
        "jit of grad": tg.grad(lambda x: np.sum(f(x) * x)),
        "jit of vmap": lambda x: tg.vmap(f)(np.stack([x, x])),
    }
    compiled = tg.jit(derived[way])
    for value in (*PAIRS[kind], PAIRS[kind][0]):
        put(value)
        np.testing.assert_allclose(compiled(X), derived[way](X), rtol=1e-14)
