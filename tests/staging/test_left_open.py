"""An interrupt leaves no session open that the next call would take for its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.staging import session

X = np.array([1.0, -2.0, 3.0])


def program(x: Any) -> Any:
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] ** 2 if x[i] > 0 else -x[i]
    return np.sum(y)


WAYS: dict[str, Callable[[], Any]] = {
    "eager": lambda: tg.grad(lambda x: program(x))(X),
    "jit": lambda: tg.jit(lambda x: program(x)).graphs(X),
    "vmap": lambda: tg.vmap(lambda x: np.sin(x) * 2)(X),
}


def interrupted(run: Callable[[], Any], event: str, number: int) -> str:
    """`run()`, with KeyboardInterrupt at the event of this number in session.py: in which function
    that was; nothing where there are no more."""
    left, where = [number], [""]

    def look(frame: Any, now: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.endswith("session.py"):
            return None
        if now == event:
            left[0] -= 1
            if left[0] < 0:
                where[0] = frame.f_code.co_name
                sys.settrace(None)
                raise KeyboardInterrupt
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        run()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return where[0]


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_closes(way: str) -> None:
    """Ctrl-C arrives, above all, where Python enters a function."""
    number = 0
    while where := interrupted(WAYS[way], "call", number):
        assert session.current() is None, where
        assert not session.LEARNT, where
        number += 1
    assert number > 3


def test_what_is_raised_at_any_line() -> None:
    """As debuggers do that are told to quit: also where a session is being closed."""
    number, left_open = 0, 0
    while interrupted(WAYS["eager"], "line", number):
        left_open += session.current() is not None
        found = tg.grad(program)(X)
        assert np.array_equal(found, [2, -1, 6]), number
        assert session.current() is None
        number += 1
    assert left_open
