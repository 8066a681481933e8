"""A function called inside of a trace writes to an argument: where another argument shows the same
elements it would read what was there before, so the call is refused, as it is outside of a trace;
where nothing is shared it does what eager code does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def body(a: Any, b: Any) -> Any:
    a[0] = 7.0
    a *= 2.0
    return b * 1.0


CALLS: dict[str, Callable[..., Any]] = {
    "jit": lambda: tg.jit(body),
    "checkpoint": lambda: tg.checkpoint(body),
    "checkpoint in jit": lambda: tg.jit(lambda a, b: tg.checkpoint(body)(a, b)),
}
SHARED: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "itself": lambda u: (u, u),
    "a value and its view": lambda u: (u, u[1:3]),
    "a view and its base": lambda u: (u[1:3], u),
    "two views that meet": lambda u: (u[:4], u[3:]),
    "a view of a view": lambda u: (u[1:][1:], u[:4][:3]),
    "a transposed view": lambda u: (u.reshape(2, 3).T, u.reshape(3, 2)),
}
APART: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "two views": lambda u: (u[:3], u[3:]),
    "every second": lambda u: (u[::2], u[1::2]),
    "rows": lambda u: (u.reshape(2, 3)[0], u.reshape(2, 3)[1]),
    "a copy": lambda u: (u, u * 1.0),
}
FACES: dict[str, Callable[[], Any]] = {
    "array": lambda: np.arange(6.0),
    "tensor": lambda: tg.tensor(np.arange(6.0)),
    "leaf": lambda: tg.tensor(np.arange(6.0), requires_grad=True),
}


def values_of(x: Any) -> Any:
    return x.detach().numpy() if isinstance(x, tg.Tensor) else x


def around(call: Callable[..., Any], pair: Callable[[Any], tuple[Any, Any]]) -> Callable[..., Any]:
    def outer(x: Any) -> Any:
        u = x * 1.0
        result = call(*pair(u))
        return result, u * 1.0

    return outer


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("pair", SHARED)
@pytest.mark.parametrize("call", CALLS)
def test_shared_elements_are_refused(call: str, pair: str, face: str) -> None:
    with pytest.raises(ValueError, match="written to and shares memory"):
        tg.jit(around(CALLS[call](), SHARED[pair]))(FACES[face]())


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("pair", APART)
@pytest.mark.parametrize("call", CALLS)
def test_elements_apart_are_written_to(call: str, pair: str, face: str) -> None:
    expected = around(body, APART[pair])(FACES[face]())
    found = tg.jit(around(CALLS[call](), APART[pair]))(FACES[face]())
    for mine, own in zip(found, expected, strict=True):
        assert type(mine) is type(own)
        assert np.array_equal(values_of(mine), values_of(own))


@pytest.mark.parametrize("call", CALLS)
def test_for_all_sizes(call: str) -> None:
    """A part of a value of symbolic size may be any part."""
    whole = tg.jit(around(CALLS[call](), lambda u: (u, u * 1.0)))
    shared = tg.jit(around(CALLS[call](), lambda u: (u[:2], u)))
    for n in (4, 5, 6, 7):
        result, u = whole(np.arange(float(n)))
        assert np.array_equal(u, [14.0, *(2.0 * np.arange(1.0, n))])
        assert np.array_equal(result, np.arange(float(n)))
        with pytest.raises(ValueError, match="written to and shares memory"):
            shared(np.arange(float(n)))
