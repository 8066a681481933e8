"""Functions of shards that the tests of `tg.scale` send to workers, and shards for them."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from typing import Any

import numpy as np

import tracegrad as tg
from tracegrad.scale.session import ShardedFunction
from tracegrad.scale.sources import openers_of
from tracegrad.scale.sums import Total

SIZES = (4, 5, 7, 4, 1, 0, 9, 3, 3, 6, 2)
"""Rows of the shards: uneven, one, none."""


def rows(dtype: Any = np.float64, sizes: tuple[int, ...] = SIZES) -> list[Any]:
    rng = np.random.default_rng(len(sizes))
    return [
        {
            "x": rng.normal(size=(n, 3)).astype(dtype),
            "y": rng.integers(0, 2, size=n).astype(dtype),
        }
        for n in sizes
    ]


def logistic(theta, shard):
    """A number: the negative log likelihood."""
    z = shard["x"] @ theta
    return np.sum(np.logaddexp(0.0, z) - shard["y"] * z)


def statistics(theta, shard):
    """A tree: sums, and how many."""
    z = np.tanh(shard["x"] @ theta["w"] + theta["b"])
    return {"moments": np.stack([np.sum(z), np.sum(z * z)]), "rows": np.sum(shard["y"] >= 0.0)}


def per_row(theta, shard):
    """An array with a row for each of the shard's."""
    return np.sin(shard["x"] * theta)


def lowest(theta, shard):
    """What logsumexp is of: a number of any size."""
    return -800.0 + 500.0 * np.sum(theta) + 0.1 * np.sum(shard["x"] @ theta)


THETA = np.array([0.3, -0.2, 0.5])


def bits(total: Any) -> bytes:
    """Value, gradient and a product with the Hessian."""
    value, gradient = tg.value_and_grad(total)(THETA)
    product = tg.hvp(total, THETA, np.ones(3))
    return value.tobytes() + gradient.tobytes() + product.tobytes()


def raised(kind: Any, call: Any, *texts: str) -> None:
    """An AssertionError unless the call raises this, and says this; for programs without pytest."""
    try:
        call()
    except kind as error:
        found = str(error)
    else:
        raise AssertionError("nothing was raised")
    assert all(t in found for t in texts), found


def killed_at_random(engine: Any, moments: int) -> None:
    """A worker of the engine is killed at so many moments while it evaluates, or starts to: there
    is the right result or a WorkerLostError, of small and of large arrays."""
    theta, rng = THETA, random.Random(0)
    shards = rows()
    wide = [np.linspace(0.0, 1.0, 9000) + k for k in range(3)]
    small = Total(
        ShardedFunction(logistic, openers_of(shards), engine, 1 << 30, 60.0, "sum_over"), "sum"
    )
    large = Total(
        ShardedFunction(product, openers_of(wide), engine, 1 << 30, 60.0, "sum_over"), "sum"
    )
    expected = tg.grad(tg.scale.sum_over(logistic, shards))(theta).tobytes()
    np.testing.assert_array_equal(large(2.0), 2.0 * (wide[0] + wide[1] + wide[2]))
    wanted = large(2.0).tobytes()
    right = lost = 0
    for _ in range(moments):
        pids = engine.pids()
        victim = rng.choice(pids) if pids else None

        def kill(victim: Any = victim) -> None:
            if victim is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)

        timer = threading.Timer(rng.uniform(0.0, 0.02), kill)
        timer.start()
        try:
            for _ in range(4):
                assert tg.grad(small)(theta).tobytes() == expected
                assert large(2.0).tobytes() == wanted
            right += 1
        except tg.scale.WorkerLostError:
            lost += 1
        timer.join()
    assert right >= moments // 2
    print(f"killed at {moments} moments: {right} times all right, {lost} times an error")


def product(theta, shard):
    """An array."""
    return theta * shard
