"""Vectors made of arrays are written from the arrays' side: random nests of joints, stacks and
reshapes, with sizes known and not, by generated source run as plain Python, and one of them
compiled; writes one after the other share one place."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad.transforms.rewrite import optimize

BASES = (
    lambda x: x,
    lambda x: x * 2 + 1,
    lambda x: np.sin(x[::-1]),
    lambda x: np.float32(3) * x,
)


def nest(rng: Any, x: Any, depth: int) -> Any:
    """A random array made of parts."""
    if depth == 0:
        return BASES[rng.integers(len(BASES))](x)
    kind = rng.integers(6)
    if kind == 0:
        parts = [nest(rng, x, depth - 1).reshape(-1) for _ in range(rng.integers(1, 4))]
        return np.concatenate([*parts, x[:0].reshape(-1)])
    first = nest(rng, x, depth - 1)
    if kind == 1:
        return np.stack([first + k for k in range(rng.integers(1, 6))], rng.choice([0, -1]))
    if kind == 2:
        axis = int(rng.integers(-first.ndim, first.ndim))
        return np.concatenate([first, first * 2, np.zeros_like(first)], axis)
    if kind == 3:
        return first.reshape(-1)
    if kind == 4:
        return first.reshape(2, -1) if first.size % 2 == 0 else first[None] * np.ones((3, 1))[0]
    return np.pad(first, 1).T


def program(seed: int) -> Any:
    def run(x: Any) -> Any:
        rng = np.random.default_rng(seed)
        return nest(rng, x, int(rng.integers(1, 5))).reshape(-1)

    return run


def test_random_nests() -> None:
    rng = np.random.default_rng(0)
    for seed in range(50):
        shape = [(4,), (6, 1), (2, 3), (3, 2, 2)][rng.integers(4)]
        x = rng.normal(size=shape).astype([np.float64, np.float32][rng.integers(2)])
        f = program(seed)
        wanted = f(x)
        if wanted.size > 3000:
            continue
        entry, leaves = tg.jit(f)._alone_for((x,), {}, False)
        inputs = [*leaves, *(entry.captured() or ())]
        (found,) = run_unjitted(optimize(entry.graph), inputs)
        tolerance = 1e-12 if wanted.dtype == np.float64 else 1e-5
        np.testing.assert_allclose(found, wanted, rtol=tolerance, err_msg=str(seed))


@tg.jit
def several(x: Any, i: Any) -> tuple[Any, ...]:
    a, b = np.sin(x), x * x
    side = np.stack([a, b, x, a + b, x - a], -1).reshape(-1)
    behind = np.stack([a, b]).reshape(-1)
    lines = np.concatenate([np.stack([a, b], -1).reshape(2, -1), np.zeros((2, 7))], 1).reshape(-1)
    wide = np.stack([x + k for k in range(40)], -1).reshape(-1)
    mixed = np.concatenate([side, np.arange(3), behind])
    puts = side * 1
    puts[i] = 1.0
    puts[i + 1] = x[i]
    puts[2] = -1.0
    again = puts * 2
    puts[3] = 7.0
    return side, behind, lines, wide, mixed, puts, again


def test_compiled() -> None:
    """In one function, at two sizes."""
    plain: Any = several.__wrapped__
    for n in (6, 1000):
        x, i = np.linspace(-1, 1, n), np.array([0, 3])
        for found, wanted in zip(several(x, i), plain(x, i), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15)
            assert found.dtype == wanted.dtype


def test_nothing_is_divided() -> None:
    """Interleaved columns are stored by one loop, without a division or a branch."""

    def f(x: Any) -> Any:
        u, v = x.reshape(2, -1)
        return np.stack([np.stack([u, v, u * v], -1), np.stack([u - v, u, v], -1)]).reshape(-1)

    text = tg.jit(f).source(np.ones(80))
    body = text.rpartition('"""')[2]
    assert body.count("for ") == 1, body
    assert not re.search(r"\bif\b(?! phase)| % |//", body), body


def writes(seed: int) -> Any:
    """A program that writes at places again and again, and reads some of what was there before."""

    def run(x: Any, i: Any) -> Any:
        rng = np.random.default_rng(seed)
        arrays = [x * 1.5, np.stack([x, x + 1], -1).reshape(-1)[:6]]
        old: list[Any] = []
        for _ in range(rng.integers(2, 9)):
            k = int(rng.integers(2))
            a = arrays[k]
            if rng.random() < 0.3:
                old.append(a.copy() if rng.random() < 0.5 else a * 2)
            values = [x[:3], a[i], arrays[1 - k][i] * 2, np.ones(3), a[::-1][:3] + 1]
            value = values[rng.integers(len(values))]
            if rng.random() < 0.5:
                a[i] = value
            elif rng.random() < 0.5:
                a[i] += value
            else:
                a[(i + 1) % 6] = value
            if rng.random() < 0.2:
                arrays[k] = np.sin(a)
        return (*arrays, *old)

    return run


def test_random_writes() -> None:
    """Writes one after the other share a place, and nobody reads what is there no more."""
    x, i = np.linspace(0.1, 0.9, 6), np.array([4, 0, 2])
    for seed in range(40):
        f = writes(seed)
        entry, leaves = tg.jit(f)._alone_for((x, i), {}, False)
        found = run_unjitted(optimize(entry.graph), [*leaves, *(entry.captured() or ())])
        for a, b in zip(found, f(x, i), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=str(seed))
