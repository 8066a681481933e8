"""Traced values that are kept somewhere and used after the function that made them was traced: an
error that says where they come from."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.arange(4.0)
KEPT: list[Any] = []
HIDDEN = logging.getLogger("tests.escapes")
"""Where `jit` does not look for what a function changes."""


def in_loop(y: Any) -> Any:
    return tg.fori_loop(0, 3, lambda i, s: KEPT.append(s * 2.0) or s + i, y)


def in_scan(y: Any) -> Any:
    return tg.scan(lambda s, x: (s + x, KEPT.append(np.multiply(s, x))), y, X)[0]


def in_while(y: Any) -> Any:
    return tg.while_loop(lambda s: s < 3.0, lambda s: KEPT.append(s * 2.0) or s + 1.0, y)


def in_branch(y: Any) -> Any:
    return tg.cond(y > 0, lambda z: KEPT.append(z * 2.0) or z, lambda z: z, y)


def in_inner_jit(y: Any) -> Any:
    result = tg.jit(lambda z: setattr(HIDDEN, "value", z * 2.0) or z)(y)
    KEPT.append(HIDDEN.value)  # type: ignore[attr-defined]
    return result


def in_vmap(y: Any) -> Any:
    return tg.vmap(lambda x: KEPT.append(x * 2.0) or y + x)(X)[0]


USES: dict[str, Callable[[Any, Any], Any]] = {
    "operator": lambda v, r: v + r,
    "reflected": lambda v, r: 1.0 - v,
    "function": lambda v, r: np.sin(v),
    "condition": lambda v, r: r if v > 0 else -r,
    "truth": lambda v, r: bool(v),
    "number": lambda v, r: float(v) + r,
    "array": lambda v, r: np.asarray(v),
    "item": lambda v, r: v.item(),
    "result": lambda v, r: v if isinstance(r, tg.Array) else v * 1.0,
    "closure": lambda v, r: tg.jit(lambda x: x * v)(2.0),
    "argument": lambda v, r: tg.jit(lambda x: x * 2.0)(v),
    "index": lambda v, r: tg.getitem(X, v.astype(int)),
    "carry": lambda v, r: tg.jit(lambda: tg.fori_loop(0, 2, lambda i, s: s + 1.0, v))(),
    "derivative": lambda v, r: tg.grad(lambda x: x * x)(v),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("place", [in_loop, in_scan, in_while, in_branch, in_inner_jit, in_vmap])
def test_says_where_it_was_made(place: Callable[[Any], Any], use: str) -> None:
    def inside(y: Any) -> Any:
        KEPT.clear()
        result = place(y)
        return USES[use](KEPT[-1], result)

    def outside(y: Any) -> Any:
        KEPT.clear()
        result = tg.jit(place)(y)
        return USES[use](KEPT[-1], result)

    line = place.__code__.co_firstlineno + 1
    for f in (tg.jit(inside), outside):
        with pytest.raises(
            tg.EscapedValueError,
            match=rf"test_escapes.py:\d+: .* made by mul at test_escapes.py:{line} in .* Return it",
        ):
            f(1.0)


def test_arguments_and_captured_values() -> None:
    def f(y: Any) -> Any:
        KEPT.clear()
        tg.fori_loop(0, 3, lambda i, s: setattr(HIDDEN, "value", i) or s, y)
        KEPT.append(HIDDEN.value)  # type: ignore[attr-defined]
        return tg.getitem(X, KEPT[0])

    with pytest.raises(tg.EscapedValueError, match=r"i64\[\]\), an argument of"):
        tg.jit(f)(1.0)
    with pytest.raises(tg.EscapedValueError, match="an argument of"):
        tg.jit(lambda y: tg.getitem(X, slice(HIDDEN.value, 3)))(1.0)


def test_after_an_error() -> None:
    """A trace that ended with an error has ended."""

    def f(y: Any) -> Any:
        HIDDEN.value = y * 2.0  # type: ignore[attr-defined]
        KEPT.append(y)
        raise KeyError("of the user")

    KEPT.clear()
    with pytest.raises(KeyError):
        tg.jit(f)(1.0)
    assert KEPT == []
    with pytest.raises(tg.EscapedValueError, match=r"made by mul at test_escapes.py"):
        HIDDEN.value + 1.0  # type: ignore[attr-defined]


def test_values_of_derivatives_stay_values() -> None:
    """Eager derivatives work on numbers, which may be looked at afterwards; inside of an enclosing
    derivative they count."""

    def f(x: Any) -> Any:
        KEPT.append(x * 2.0)
        return np.sum(x)

    tg.grad(f)(X)
    np.testing.assert_array_equal(KEPT[-1]._data, X * 2)
    tg.jvp(f, (X,), (X,))
    np.testing.assert_array_equal(KEPT[-1]._data, X * 2)
    outer = tg.grad(lambda a: (tg.grad(lambda b: f(a * b))(X), np.sum(KEPT[-1] * a))[1])(X)
    np.testing.assert_array_equal(outer, 4 * X * X)


class Kept(logging.Handler):
    """A handler that keeps what was logged, as those of test runners do."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def test_left_over_values_around_another_function() -> None:
    """What a trace left in a log that another function can reach is nothing to that one, at no
    call."""
    handler, root = Kept(), logging.getLogger()

    def failing(y: Any) -> Any:
        HIDDEN.value = y * 2.0  # type: ignore[attr-defined]
        raise KeyError("of the user")

    with pytest.raises(KeyError):
        tg.jit(failing)(1.0)
    handler.records.append(logging.LogRecord("a", 20, "b", 1, "at %s", (HIDDEN.value,), None))
    root.addHandler(handler)
    f = tg.jit(lambda x: x * (logging.getLogger("of the test").info("at %s", "once") or 2.0))
    try:
        for k in range(4):
            np.testing.assert_array_equal(f(np.full(3, float(k))), np.full(3, 2.0 * k))
    finally:
        root.removeHandler(handler)
