"""Random numbers under `vmap`: one trace draws once, so that all items would get the same numbers;
that is said, or refused. Once it was not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

Function = Callable[..., Any]
WAYS: dict[str, Callable[..., Function]] = {
    "vmap": lambda f, **how: tg.vmap(f, **how),
    "jit of vmap": lambda f, **how: tg.jit(tg.vmap(f, **how)),
    "vmap of jit": lambda f, **how: tg.vmap(tg.jit(f), **how),
    "vmap of grad": lambda f, **how: tg.vmap(tg.grad(lambda x: np.sum(x * f(x))), **how),
    "vmap in vmap": lambda f, **how: lambda x: tg.vmap(tg.vmap(f, **how), **how)(x[None])[0],
}


@pytest.mark.parametrize("way", WAYS)
def test_draws_are_refused_or_the_same(way: str) -> None:
    generator = tg.Generator(3)

    def f(x: Any) -> Any:
        return x + generator.random(2)

    x = np.zeros((3, 2))
    with pytest.raises(tg.TracegradError, match=r"test_vmap_draws.py:\d+: vmap: .* draws random"):
        WAYS[way](f)(x)
    assert generator.random() == tg.Generator(3).random()  # nothing was drawn
    found = WAYS[way](f, randomness="same")(x)
    assert np.ptp(found, axis=0).max() == 0
    assert len(np.unique(found)) == 2


@pytest.mark.parametrize("derive", [tg.jacfwd, tg.jacrev, tg.jacobian])
def test_jacobians_are_of_one_run(derive: Any) -> None:
    drawn = tg.Generator(3).random(3)
    generator = tg.Generator(3)
    found = derive(lambda x: x * generator.random(3))(np.ones(3))
    np.testing.assert_allclose(found, np.diag(drawn))


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match='it must be "error" or "same"'):
        tg.vmap(np.sin, randomness="different")
