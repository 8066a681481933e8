"""A session that an interrupt kept from being closed does not reach the next call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.staging import session


def program(x: Any) -> Any:
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] ** 2 if x[i] > 0 else -x[i]
    return np.sum(y)


@pytest.mark.parametrize("way", ["eager", "jit"])
def test_an_interrupt_while_closing(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(session, "_close", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tg.grad(np.sin)(1.0)
    assert session.current() is not None
    f = tg.grad(program) if way == "eager" else tg.jit(tg.grad(program))
    assert np.array_equal(f(np.array([1.0, -2.0, 3.0])), [2, -1, 6])
    assert session.current() is None
