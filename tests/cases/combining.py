"""What meets at places that are named several times: extremes and products."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases import Case
from tests.cases.indexing import KEYS, X, repeated_lanes, target_and_values
from tracegrad import ops
from tracegrad.ops.places.along import scattered
from tracegrad.ops.places.combining import max_at, min_at, mul_at
from tracegrad.ops.places.indexing import written

NAN, INF = np.nan, np.inf


def at(ufunc: np.ufunc, x: Any, key: Any, value: Any) -> Any:
    x = x.copy()
    ufunc.at(x, key, value)
    return x


def lanes(ufunc: np.ufunc, x: Any, i: Any, v: Any) -> Any:
    a, _, c = np.ogrid[:2, :1, :4]
    return at(ufunc, x, (a, i, c), v)


def apart(make: Any) -> Any:
    """The same arrays, their floats so far from each other that nothing ties nearly."""

    def made(rng: np.random.Generator) -> tuple[Any, ...]:
        given = make(rng)
        floats = [k for k, a in enumerate(given) if a.dtype.kind == "f"]
        flat = np.concatenate([given[k].ravel() for k in floats])
        steps = (np.argsort(np.argsort(flat)) - len(flat) / 2) * (4 / len(flat))
        parts = np.split(steps, np.cumsum([given[k].size for k in floats])[:-1])
        spread = dict(zip(floats, parts, strict=True))
        return tuple(spread[k].reshape(a.shape) if k in spread else a for k, a in enumerate(given))

    return made


CHOSEN = (
    "int",
    "slices",
    "array",
    "list",
    "empty array",
    "broadcast arrays",
    "separated arrays",
    "array and slice",
    "three arrays",
    "zero-dimensional",
    "mask beside array",
)

CASES: tuple[Case, ...] = tuple(
    case
    for kind, ufunc, write, combine in (
        ("scatter_max", np.maximum, max_at, ops.maximum),
        ("scatter_min", np.minimum, min_at, ops.minimum),
        ("product at", np.multiply, mul_at, ops.mul),
    )
    for case in (
        *(
            Case(
                f"{kind} {name}",
                lambda x, v, k=k, write=write, combine=combine: written(x, k, v, write, combine),
                apart(target_and_values(k)),
                lambda x, v, k=k, ufunc=ufunc: at(ufunc, x, k, v),
                device=False,
            )
            for name, k in ((name, KEYS[name]) for name in CHOSEN)
        ),
        Case(
            f"{kind} lanes",
            lambda x, i, v, write=write: scattered(x, 1, i, v, write),
            apart(repeated_lanes),
            lambda x, i, v, ufunc=ufunc: lanes(ufunc, x, i, v),
            () if kind == "product at" else (kind,),
            special=(
                (
                    np.full((2, 3, 4), -INF),
                    np.arange(40).reshape(2, 5, 4) % 3,
                    np.where(np.arange(40).reshape(2, 5, 4) % 7 == 0, NAN, 1.0),
                ),
                (
                    np.ones((2, 3, 4), np.float32),
                    np.arange(40).reshape(2, 5, 4) % 3,
                    np.linspace(-1, 3, 40, dtype=np.float32).reshape(2, 5, 4),
                ),
                (
                    np.ones((2, 3, 4), np.int8),
                    np.arange(40).reshape(2, 5, 4) % 3,
                    np.arange(-20, 20, dtype=np.int8).reshape(2, 5, 4),
                ),
                (np.ones((2, 3, 4)), np.ones((2, 0, 4), np.int64), np.ones((2, 0, 4))),
            ),
            errors=(((X, np.full((2, 3, 4), 9), np.ones((2, 3, 4))), IndexError, "bounds"),),
        ),
    )
)
