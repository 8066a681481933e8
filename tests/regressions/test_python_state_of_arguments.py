"""Python state in containers among the arguments, and numbers that others change."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import compare
from tests.regressions.state_programs import X

# --- containers among the arguments ---------------------------------------------------------------


@dataclasses.dataclass
class State:
    n: int
    m: Any


def count_in_a_dict(x: Any, s: Any) -> Any:
    s["n"] += 1
    return x * s["n"]


def replace_an_array(x: Any, s: Any) -> Any:
    s["m"] = s["m"] * 0.5 + x
    return s["m"] * 1.0


def set_fields(x: Any, s: Any) -> Any:
    s.n += 1
    s.m = s.m + x
    return s.m * s.n


def append_to_a_list(x: Any, s: Any) -> Any:
    s.append(np.sum(x) * len(s))
    return x


def deeper(x: Any, s: Any) -> Any:
    s["a"][0] = s["a"][0] + x
    s["b"] = 7
    return s["a"][0] * 1.0


GIVEN: list[tuple[Callable[..., Any], Callable[[], Any]]] = [
    (count_in_a_dict, lambda: {"n": 0}),
    (replace_an_array, lambda: {"m": np.zeros(2)}),
    (set_fields, lambda: State(0, np.zeros(2))),
    (append_to_a_list, lambda: [1.0]),
    (deeper, lambda: {"a": [np.zeros(2)]}),
]


@pytest.mark.parametrize(
    ("f", "state"), GIVEN, ids=lambda f: f.__name__ if f.__name__ != "<lambda>" else ""
)
def test_arguments_that_hold_state(f: Any, state: Any) -> None:
    given, plain = state(), state()
    compiled = tg.jit(f)
    for _ in range(4):
        compare(compiled(X, given), f(X, plain))
        compare(*[vars(s) if isinstance(s, State) else s for s in (given, plain)])


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2.0), np.float32(2.0)], ids=repr)
@pytest.mark.parametrize(
    "way",
    [tg.jit, tg.grad, lambda f: lambda n: tg.jvp(f, (n,), (n,))[0]],
    ids=["jit", "grad", "jvp"],
)
def test_a_number_is_replaced_and_not_written(number: Any, way: Any) -> None:
    def f(n: Any) -> Any:
        m = n
        m += 1.0
        s = np.sum(n * n)
        t = s
        t *= 2.0
        return n * n + s * t

    if way is tg.grad:
        if not isinstance(number, int):
            np.testing.assert_allclose(way(f)(number), 2 * number + 8 * number**3)
        return
    for _ in range(3):
        np.testing.assert_allclose(tg.jit(f)(number), f(number))
        np.testing.assert_allclose(way(f)(number if way is tg.jit else float(number)), f(number))


def test_an_array_without_axes_is_written() -> None:
    def f(total: Any) -> Any:
        total += 1.0
        return total * 1.0

    total = np.array(1.0)
    compiled = tg.jit(f)
    assert [float(compiled(total)) for _ in range(3)] == [2.0, 3.0, 4.0]
    assert total == 4.0
    assert compiled(np.float64(1.0)) == 2.0


# --- what is read around a function and changed by others -----------------------------------------

SCALE = 2.0


class Reads:
    def __init__(self) -> None:
        self.config = {"a": {"b": {"c": {"d": {"e": {"rate": 1.0}}}}}}
        self.rate = 1.0

    def helper(self, x: Any) -> Any:
        return x * SCALE

    def __call__(self, x: Any) -> Any:
        return self.helper(x) * self.rate * self.config["a"]["b"]["c"]["d"]["e"]["rate"]


@pytest.mark.parametrize(
    "way",
    [
        lambda r: tg.jit(r),
        lambda r: tg.jit(r.__call__),
        lambda r: tg.jit(lambda x: r(x)),
        lambda r: functools.partial(tg.jit(lambda x, r: r(x), static_argnames="r"), r=r),
    ],
    ids=["the object", "its method", "a function around", "a static argument"],
)
def test_numbers_that_others_change_are_read_at_each_call(way: Any) -> None:
    global SCALE
    reads = Reads()
    f = way(reads)
    try:
        assert f(1.0) == 2.0
        SCALE = 3.0
        assert f(1.0) == 3.0
        reads.rate = 2.0
        assert f(1.0) == 6.0
        reads.config["a"]["b"]["c"]["d"]["e"]["rate"] = 5.0
        assert f(1.0) == 30.0
    finally:
        SCALE = 2.0


def test_parameters_that_are_replaced_in_a_jitted_module() -> None:
    net = tg.nn.Linear(2, 1)
    f = tg.jit(net)
    f(tg.ones(2))
    net.weight = tg.nn.Parameter(tg.ones(1, 2))
    net.bias = tg.nn.Parameter(tg.zeros(1))
    compare(f(tg.ones(2)).detach(), tg.tensor([2.0]))


def test_a_number_is_no_key() -> None:
    with pytest.raises(TypeError, match="cannot be hashed"):
        tg.jit(lambda n: {1: 2.0}.get(n, 3.0))(1)
