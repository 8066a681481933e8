"""Python state that a compiled function changes is carried out at each call, as plain Python does
it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tracegrad as tg
from tests.checks import compare, counted_traces
from tests.regressions.state_programs import (
    CARRIED_OUT,
    Made,
    X,
    attribute,
)


@pytest.mark.parametrize("made", CARRIED_OUT, ids=lambda f: f.__name__)
def test_four_calls_are_those_of_plain_python(made: Callable[[], Made]) -> None:
    f, look = made()
    expected = [(f(X), repr(look())) for _ in range(4)]
    state = look()
    f, look = made()
    compiled = tg.jit(f)
    for value, shown in expected:
        compare(compiled(X), value)
        if "array" not in shown:
            assert repr(look()) == shown
    compare(look(), state)


def test_calls_with_state_are_compiled_once_and_take_the_short_way() -> None:
    f, look = attribute()
    compiled = tg.jit(f)
    compiled(X)
    with counted_traces() as traces:
        for _ in range(5):
            compiled(X)
    assert traces == []
    assert len(compiled._callers) == 1
    assert look() == 6


def test_state_that_decides_a_branch() -> None:
    """What a call counts may decide what it does."""

    class Held:
        n = 0

    def made() -> tuple[Any, Any]:
        held = Held()

        def f(x: Any) -> Any:
            held.n += 1
            return x if held.n % 2 else -x

        return f, held

    plain, there = made()
    function, held = made()
    for way in (tg.jit(function), tg.jit(tg.grad(function))):
        expected = [plain(1.0) for _ in range(4)]
        assert [float(way(1.0)) for _ in range(4)] == expected
        assert held.n == there.n
