"""Numbers of classes of the user's (an IntEnum, a subclass of float) beside traced and boxed arrays
are what NumPy takes them for."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


class Level(enum.IntEnum):
    HIGH = 2


class Metres(float):
    """A float with a name."""


class Count(int):
    """An integer with a name."""


class Phase(complex):
    """A complex number with a name."""


X = np.linspace(0.1, 1.0, 3)
USES: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda x, v: x * v,
    "quotient": lambda x, v: v / x,
    "power": lambda x, v: x**v,
    "where": lambda x, v: np.where(x > 0.5, x, v),
    "maximum": lambda x, v: np.maximum(x, v),
    "clip": lambda x, v: np.clip(x, 0, v),
    "narrow": lambda x, v: x.astype(np.float32) * v,
    "equal": lambda x, v: (x == v) + 0.0,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("value", [Level.HIGH, Metres(1.5), Count(2), Phase(1 + 2j)], ids=repr)
def test_as_numpy_takes_them(use: str, value: Any) -> None:
    if use in ("maximum", "clip") and isinstance(value, complex):
        pytest.skip("complex numbers have no order here")
    want = USES[use](X, value)
    for found in (
        tg.vjp(lambda x: USES[use](x, value), X)[0],
        tg.vmap(lambda x: USES[use](x, value))(X[None])[0],
    ):
        assert found.dtype == want.dtype
        np.testing.assert_allclose(found, want, rtol=1e-6)
