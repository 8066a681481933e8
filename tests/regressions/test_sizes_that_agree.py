"""Arrays whose sizes are other expressions and have to be equal, as `w` of `m` elements and two `x`
of `n`: what is compiled for all sizes is right at each, and the same text in each process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def halves(x: Any, w: Any) -> Any:
    c = np.concatenate([x, x])
    return np.sum(np.polyval(c[:3] * 0.5, c) * w)


def padded(x: Any, w: Any) -> Any:
    return np.sum(np.tanh(np.pad(x, (1, 2))) * w) + np.sum(w**2)


def shorter(x: Any, w: Any) -> Any:
    return np.sum(np.diff(x) * w) * np.sum(w) + np.sum(np.sin(x))


def three(x: Any, w: Any) -> Any:
    c = np.concatenate([x, 2 * x, x[::-1]])
    return np.sum(c * w) + np.sum(np.cumsum(c) * w) + np.sum(w)


def flat(x: Any, w: Any) -> Any:
    return np.sum(np.outer(x, x).reshape(-1) * w) + np.sum(w) * np.sum(x)


def between(x: Any, w: Any) -> Any:
    c = np.concatenate([x, x])
    return np.sum(np.exp(-c[1:-1] * w)) + np.sum(w * w) + np.sum(c[: x.shape[0]] * 3)


OTHER: dict[str, tuple[Callable[..., Any], Callable[[int], int]]] = {
    "halves": (halves, lambda n: 2 * n),
    "padded": (padded, lambda n: n + 3),
    "shorter": (shorter, lambda n: n - 1),
    "three": (three, lambda n: 3 * n),
    "flat": (flat, lambda n: n * n),
    "between": (between, lambda n: 2 * n - 2),
}


def arguments(name: str, n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    return rng.standard_normal(n), rng.standard_normal(OTHER[name][1](n))


@pytest.mark.parametrize("name", OTHER)
def test_every_size(name: str) -> None:
    f = OTHER[name][0]
    compiled = tg.jit(tg.value_and_grad(f, (0, 1)))
    for n in (3, 5, 4, 9):
        args = arguments(name, n)
        value, gradient = compiled(*args)
        np.testing.assert_allclose(value, f(*args), rtol=1e-12)
        for mine, taped in zip(gradient, tg.grad(f, (0, 1))(*args), strict=True):
            np.testing.assert_allclose(mine, taped, rtol=1e-10, atol=1e-12)


TEXTS = """
import hashlib, sys
import tracegrad as tg
from tests.regressions.test_sizes_that_agree import OTHER, arguments
for name, (f, _) in OTHER.items():
    compiled = tg.jit(tg.value_and_grad(f, (0, 1)))
    compiled(*arguments(name, 3))
    print(name, hashlib.sha256(compiled.source(*arguments(name, 5)).encode()).hexdigest())
"""


def test_texts_are_those_of_every_process() -> None:
    """Python gives text another hash in each process; sets of sizes are met in another order."""
    root = Path(__file__).parent.parent.parent
    found = []
    for seed in ("1", "4"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(Path(tg.__file__).parent.parent), str(root), environment.get("PYTHONPATH", "")]
        )
        command = [sys.executable, "-c", TEXTS]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=240, cwd=root
        )
        assert done.returncode == 0, done.stderr
        found.append(done.stdout)
    assert found[0] == found[1]
