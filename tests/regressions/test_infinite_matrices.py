"""Infinite numbers in matrices: LAPACK's decomposition with singular vectors may not come back from
them, so it is not asked; and what is known of them is NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

WIDE = np.random.default_rng(0).normal(size=(3, 4))
WIDE[0, 1] = np.inf


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.linalg.svd(x, False)[0],
        np.linalg.pinv,
        lambda x: np.linalg.lstsq(x, np.ones(3))[0],
        lambda x: tg.grad(lambda y: np.linalg.norm(y, 2))(x),
        lambda x: tg.jvp(lambda y: np.linalg.svd(y, compute_uv=False), (x,), (x * 0 + 1,))[1],
    ],
)
@pytest.mark.parametrize("kind", [np.float64, np.complex128])
@pytest.mark.parametrize("sign", [1, -1])
def test_decompositions_end(call: Callable[[Any], Any], kind: type, sign: int) -> None:
    x = (WIDE * sign).astype(kind)
    with np.errstate(all="ignore"):
        for run in (lambda: tg.vjp(call, x), lambda: tg.jit(call)(x)):
            with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
                run()


@pytest.mark.parametrize("p", [None, 2, -2, 1, np.inf, "fro"])
def test_condition_numbers(p: Any) -> None:
    x = WIDE[:, :3].copy()
    with np.errstate(all="ignore"):
        for function in (lambda a: np.linalg.cond(a, p), tg.jit(lambda a: np.linalg.cond(a, p))):
            assert function(x) == np.inf
        assert tg.vjp(lambda a: np.linalg.cond(a, p), x)[0] == np.inf
