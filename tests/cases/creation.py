"""Arrays made from sizes and numbers, and random draws (whose stream is part of the contract)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases import Case
from tracegrad import ops
from tracegrad.errors import ShapeError


def pair(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.normal(size=3), rng.normal(size=3)


def one(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=(3, 4)),)


def made(
    name: str, function: Callable[[], Any], numpy: Callable[[], Any], *covers: str, errors: Any = ()
) -> Case:
    """Something made from nothing, added to an argument so that there is something to trace."""
    return Case(
        name,
        lambda x: (function(), x * 2),
        lambda rng: (rng.normal(size=2),),
        lambda x: (numpy(), x * 2),
        covers,
        0,
        errors=errors,
    )


def philox_uniform(key: int, counter: int, count: int) -> Any:
    """Philox4x32-10 in Python integers, one element at a time: an independent implementation of the
    published algorithm."""
    result = []
    for index in range(count):
        c, k = [index, 0, counter, 0], [key & 0xFFFFFFFF, key >> 32]
        for _ in range(10):
            a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
            k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
        result.append(((c[1] << 32 | c[0]) >> 11) * 2.0**-53)
    return np.array(result)


KEY = int(np.random.SeedSequence(5).generate_state(1, np.uint64)[0])

CASES: tuple[Case, ...] = (
    made(
        "zeros",
        lambda: ops.zeros((2, 3)) + ops.zeros(3, np.float32),
        lambda: np.zeros((2, 3)),
        "broadcast_to",
    ),
    made("zeros int", lambda: ops.zeros((), np.int32) + 0, lambda: np.zeros((), np.int32) + 0),
    made("ones", lambda: ops.ones(3, dtype=np.float32), lambda: np.ones(3, np.float32)),
    made("full", lambda: ops.full((2, 2), 7), lambda: np.full((2, 2), 7)),
    made(
        "full dtype",
        lambda: ops.full((2, 2), 7, np.float32),
        lambda: np.full((2, 2), 7, np.float32),
    ),
    made("arange", lambda: ops.arange(5), lambda: np.arange(5), "iota"),
    made("arange start", lambda: ops.arange(2, 9, 3), lambda: np.arange(2, 9, 3), "iota"),
    made("arange down", lambda: ops.arange(9, 2, -3), lambda: np.arange(9, 2, -3), "iota"),
    made("arange empty", lambda: ops.arange(3, 1), lambda: np.arange(3, 1), "iota"),
    made(
        "arange float", lambda: ops.arange(0.0, 1.0, 0.3), lambda: np.arange(0.0, 1.0, 0.3), "iota"
    ),
    made(
        "arange dtype",
        lambda: ops.arange(1, 5, dtype=np.float32),
        lambda: np.arange(1, 5, dtype=np.float32),
        "iota",
    ),
    made("linspace", lambda: ops.linspace(0, 2, 7), lambda: np.linspace(0, 2, 7), "iota"),
    made(
        "linspace open",
        lambda: ops.linspace(0, 2, 7, endpoint=False),
        lambda: np.linspace(0, 2, 7, endpoint=False),
        "iota",
    ),
    made("linspace one", lambda: ops.linspace(3.0, 2, 1), lambda: np.linspace(3.0, 2, 1), "iota"),
    made("logspace", lambda: ops.logspace(0, 2, 4), lambda: np.logspace(0, 2, 4), "iota"),
    made("eye", lambda: ops.eye(3), lambda: np.eye(3), "iota", "equal"),
    made("eye k", lambda: ops.eye(2, 4, 1, np.int64), lambda: np.eye(2, 4, 1, np.int64), "iota"),
    made("identity", lambda: ops.identity(2), lambda: np.identity(2), "iota"),
    made("tri", lambda: ops.tri(3, 4, -1), lambda: np.tri(3, 4, -1), "iota", "greater_equal"),
    made("indices", lambda: ops.indices((2, 3, 2)), lambda: np.indices((2, 3, 2)), "iota"),
    Case(
        "tril",
        lambda x: ops.tril(x, 1),
        one,
        lambda x: np.tril(x, 1),
        ("where", "iota"),
        2,
        special=((np.arange(9).reshape(3, 3),),),
        errors=(((np.zeros(3),), ShapeError, "needs a matrix"),),
    ),
    Case("triu", lambda x: ops.triu(x, -1), one, lambda x: np.triu(x, -1), ("where", "iota"), 2),
    Case(
        "zeros_like",
        lambda x: ops.zeros_like(x) + x,
        one,
        lambda x: np.zeros_like(x) + x,
        (),
        2,
        special=((np.array([1, 2], np.int16),),),
    ),
    Case("ones_like", lambda x: ops.ones_like(x) * x, one, lambda x: np.ones_like(x) * x, (), 2),
    Case(
        "full_like",
        lambda x: ops.full_like(x, 3) * x,
        one,
        lambda x: np.full_like(x, 3) * x,
        (),
        2,
        special=((np.array([1, 2], np.int16),),),
    ),
    Case(
        "full of an array",
        lambda x: ops.full((2, 3), x),
        lambda rng: (rng.normal(size=3),),
        lambda x: np.full((2, 3), x),
        ("broadcast_to",),
        2,
    ),
    Case(
        "linspace between arrays",
        lambda a, b: ops.linspace(a, b, 5),
        pair,
        lambda a, b: np.linspace(a, b, 5),
        ("iota", "where"),
        2,
    ),
    Case(
        "linspace along an axis",
        lambda a, b: ops.linspace(a, b, 4, axis=-1),
        pair,
        lambda a, b: np.linspace(a, b, 4, axis=-1),
        ("iota",),
        2,
    ),
    Case(
        "meshgrid",
        lambda a, b: tuple(ops.meshgrid(a, b)),
        pair,
        lambda a, b: tuple(np.meshgrid(a, b)),
        ("broadcast_to", "reshape"),
        2,
    ),
    Case(
        "meshgrid ij",
        lambda a, b: tuple(ops.meshgrid(a, b, a, indexing="ij")),
        pair,
        lambda a, b: tuple(np.meshgrid(a, b, a, indexing="ij")),
        (),
        2,
    ),
    Case(
        "meshgrid sparse",
        lambda a, b: tuple(ops.meshgrid(a, b, sparse=True)),
        pair,
        lambda a, b: tuple(np.meshgrid(a, b, sparse=True)),
        (),
        2,
    ),
    Case(
        "sizes cannot be negative",
        lambda n: ops.zeros(n),
        lambda rng: (2,),
        lambda n: np.zeros(n),
        (),
        0,
        vmap=False,
        jit=False,
        errors=(((-1,), ShapeError, "negative"),),
    ),
    Case(
        "random uniform",
        lambda low: ops.default_rng(5).uniform(low, 3.0, size=4),
        lambda rng: (rng.uniform(0, 1, 4),),
        lambda low: low + (3.0 - low) * philox_uniform(KEY, 0, 4),
        ("random_bits", "right_shift"),
        2,
        vmap=False,
    ),
    Case(
        "random draws differ",
        lambda x: (lambda g: (g.random(3) * x, g.random(3) * x))(ops.default_rng(5)),
        lambda rng: (rng.normal(size=3),),
        lambda x: (philox_uniform(KEY, 0, 3) * x, philox_uniform(KEY, 1, 3) * x),
        ("random_bits",),
        2,
        vmap=False,
    ),
    Case(
        "random normal",
        lambda m, s: ops.default_rng(5).normal(m, s),
        pair,
        lambda m, s: m + s * np.asarray(ops.default_rng(5).standard_normal(3)),
        ("random_bits",),
        2,
        vmap=False,
        errors=(((np.zeros(2), np.zeros(3)), ShapeError, "cannot be broadcast"),),
    ),
    Case(
        "random dtype",
        lambda x: ops.default_rng(5).random(3, np.float32) + x,
        lambda rng: (np.float32(1.0),),
        lambda x: np.asarray(ops.default_rng(5).random(3, np.float32)) + x,
        ("random_bits",),
        0,
        vmap=False,
    ),
    Case(
        "random integers",
        lambda low: ops.default_rng(5).integers(low, 7, size=9, endpoint=True),
        lambda rng: (-6,),
        lambda low: (
            (np.asarray(ops.default_rng(5).bits(9)) % np.uint64(8 - low)).astype(np.int64) + low
        ),
        ("random_bits", "mod"),
        0,
        vmap=False,
    ),
    Case(
        "random permutation",
        lambda x: np.sort(ops.default_rng(5).permutation(x)),
        lambda rng: (rng.normal(size=7),),
        np.sort,
        ("random_bits",),
        2,
        vmap=False,
    ),
    Case(
        "random choice",
        lambda x: np.sort(ops.default_rng(5).choice(x, 7, replace=False)),
        lambda rng: (rng.normal(size=7),),
        np.sort,
        ("random_bits",),
        2,
        vmap=False,
        errors=(((np.zeros(3),), ShapeError, "cannot choose 7 of 3"),),
    ),
    Case(
        "random choice by probability",
        lambda p: ops.default_rng(5).choice(4, (2, 3), p=p),
        lambda rng: (np.array([0.0, 0.0, 1.0, 0.0]),),
        lambda p: np.full((2, 3), 2),
        ("random_bits",),
        0,
        vmap=False,
    ),
)
