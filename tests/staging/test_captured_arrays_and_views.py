"""Plain arrays around a loop, and views of them: the loop reads them, and they are as writable
after it as before, in whatever order they are met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def views(kind: str) -> tuple[Any, Any]:
    base = np.arange(6.0)
    if kind == "base first":
        return base, base[:3]
    if kind == "view first":
        return base[:3], base
    if kind == "two views":
        return base[1:], base[::-1]
    if kind == "view of a view":
        part = base[1:]
        return part[1:], part
    if kind == "read-only base":
        part = base[:3]
        base.flags.writeable = False
        return part, base
    base.flags.writeable = False
    return base, base[:3]


KINDS = (
    "base first", "view first", "two views", "view of a view", "read-only base", "read-only both",
)  # fmt: skip


def reading(a: Any, b: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        s = x * 1.0
        while np.sum(s) < 10:
            s = s + a.sum() + b[0]
        return np.sum(s)

    return f


def writing(a: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        s = x * 1.0
        while np.sum(s) < 10:
            a[0] = 5.0
            s = s + 1.0
        return np.sum(s)

    return f


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", [tg.jit, lambda f: tg.jit(tg.grad(f)), tg.vmap])
def test_arrays_are_as_writable_as_before(kind: str, way: Callable[..., Any]) -> None:
    a, b = views(kind)
    before = a.flags.writeable, b.flags.writeable
    f, x = reading(a, b), np.ones(2)
    found = way(f)(x if way is not tg.vmap else np.stack([x, x]))
    assert (a.flags.writeable, b.flags.writeable) == before
    if way is tg.jit:
        assert found == f(x)


@pytest.mark.parametrize("kind", KINDS)
def test_a_write_is_never_lost_without_a_word(kind: str) -> None:
    """It is refused, or it happens; the array is what it was where it is refused."""
    a, b = views(kind)
    before, was = a.flags.writeable, a.copy()
    if not before:
        with pytest.raises((ValueError, tg.errors.TracegradError)):
            tg.jit(writing(a))(np.ones(2))
        np.testing.assert_array_equal(a, was)
        return
    try:
        tg.jit(writing(a))(np.ones(2))
    except tg.errors.TracegradError:
        np.testing.assert_array_equal(a, was)
    else:
        assert a[0] == 5.0
    assert a.flags.writeable
    assert b.flags.writeable == (kind != "read-only base")
