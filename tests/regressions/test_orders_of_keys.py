"""Dicts whose keys come in another order where a loop or branch gives one back: Python goes over
them in that order, compiled code in one that was fixed. Loops keep the order of their first carry,
eagerly too; what Python's own loops and branches make in two orders is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import ConcretizationError

START = {"a": 1.0, "b": 2.0}
STEPS = np.arange(3.0)


def folded(d: dict[str, Any]) -> Any:
    total: Any = 0.0
    for value in d.values():
        total = 2 * total + value
    return total


def turned(d: dict[str, Any]) -> dict[str, Any]:
    s = folded(d)
    return {"b": d["a"] * 1.5 + s, "a": d["b"] - s}


def expected() -> dict[str, Any]:
    d = dict(START)
    for _ in STEPS:
        found = turned(d)
        d = {k: found[k] for k in START}
    return d


LOOPS: dict[str, Callable[[Any], Any]] = {
    "scan": lambda d: tg.scan(lambda c, x: (turned(c), x), d, STEPS)[0],
    "fori_loop": lambda d: tg.fori_loop(0, len(STEPS), lambda i, c: turned(c), d),
    "while_loop": lambda d: tg.while_loop(
        lambda c: c[0] < len(STEPS), lambda c: (c[0] + 1, turned(c[1])), (0, d)
    )[1],
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("jitted", [False, True])
def test_loops_keep_the_order_of_the_first_carry(
    name: str, jitted: bool, kernels_in_python: None
) -> None:
    loop = LOOPS[name]
    found = (tg.jit(loop) if jitted else loop)(dict(START))
    assert list(found) == list(START)
    np.testing.assert_allclose(list(found.values()), list(expected().values()), rtol=1e-14)
    slopes = tg.grad(lambda d: folded(loop(d)))(dict(START))
    again = tg.jacfwd(lambda d: folded(loop(d)))(dict(START))
    np.testing.assert_allclose([slopes[k] for k in START], [again[k] for k in START], rtol=1e-12)


def by_loop(d: dict[str, Any]) -> Any:
    for _ in range(30):
        if d["a"] > -1e30:
            d = turned(d)
    return folded(d)


def by_branch(d: dict[str, Any]) -> Any:
    if d["a"] > 0:
        d = {"b": d["b"], "a": d["a"]}
    return folded(d)


def of_while(d: dict[str, Any]) -> Any:
    while d["b"] < 100:
        d = {"b": d["b"] * 2, "a": d["a"]}
    return folded(d)


@pytest.mark.parametrize("program", [by_loop, by_branch, of_while])
def test_python_loops_and_branches_that_turn_keys_are_refused(
    program: Callable[[Any], Any],
) -> None:
    with pytest.raises(ConcretizationError, match="the keys of a dict come in the order 'b', 'a'"):
        tg.jit(program)(START)


def test_branches_that_give_two_orders_are_refused() -> None:
    def chosen(d: dict[str, Any]) -> Any:
        return tg.cond(d["a"] > 0, turned, lambda d: dict(d), d)

    with pytest.raises(TypeError, match=r"cond: in the result of .* the keys of a dict"):
        tg.jit(chosen)(START)


def test_sums_over_shards_go_over_parameters_in_their_order() -> None:
    total = tg.scale.sum_over(lambda d, x: folded(d) * np.sum(x), [STEPS, STEPS])
    for d in (START, {"b": 2.0, "a": 1.0}):
        assert total(d) == folded(d) * 2 * np.sum(STEPS)
