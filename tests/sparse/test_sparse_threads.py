"""Kernels of values share their rows among threads, and give the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.runtime import threads

N = 20_000


@pytest.fixture(autouse=True)
def eager_to_share(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Share every parallel phase, however small."""
    for name in ("CALL", "PHASE", "PIECE", "HELPER"):
        monkeypatch.setattr(threads, name, 1)
    before = tg.get_num_threads()
    yield
    tg.set_num_threads(before)


def records(x: Any) -> Any:
    return np.roll(x, 1) * x + x * np.roll(x, -1) ** 2


def at_places(x: Any) -> Any:
    return np.sum(np.exp(x[1:] - x[:-1]) * x[1:])


def duplicates(x: Any) -> Any:
    i, j = (np.random.default_rng(k).integers(0, 500, N) for k in range(2))
    return np.sum(np.exp(x[i] * x[j]) + (x[i] - x[j]) ** 2 * x[i])


def by_colours(x: Any) -> Any:
    return tg.scan(lambda c, _: (np.sin(c), None), x[1:] * x[:-1], length=2)[0]


CASES = {
    "records": (lambda: tg.sparse_jacobian(records), N),
    "at places": (lambda: tg.sparse_hessian(at_places), N),
    "duplicates": (lambda: tg.sparse_hessian(duplicates), 500),
    "colours": (lambda: tg.sparse_jacobian(by_colours), N),
}


@pytest.mark.parametrize(("make", "n"), CASES.values(), ids=CASES)
def test_same_bits(make: Any, n: int) -> None:
    x = np.random.default_rng(0).normal(size=n)
    derivative = make()
    found = []
    for count in (1, 2, 3):
        tg.set_num_threads(count)
        found.append(derivative.values(x).tobytes())
        out = np.empty(len(derivative.structure(x)))
        for _ in range(3):
            derivative.values(x, out=out)
        found.append(out.tobytes())
    assert len(set(found)) == 1
