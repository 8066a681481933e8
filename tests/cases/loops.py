"""Loops and branches: every structured operation, with bodies that are rows of their own: carries
of all kinds, closures, indices, zero trips."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import tracegrad as tg
from tests.cases import Case
from tracegrad.errors import ShapeError

F32 = np.float32


def rows(rng: np.random.Generator) -> tuple[Any, ...]:
    """A start, a factor, and three slices."""
    return rng.normal(size=2), rng.uniform(0.5, 1.5, size=2), rng.normal(size=(3, 2))


def none_and_one(*more: Any) -> tuple[tuple[Any, ...], ...]:
    """No slice, one slice, and three in float32."""
    start, factor, xs = (
        np.array([0.3, -0.2]),
        np.array([0.7, 1.1]),
        np.array([[0.1, -0.4], [0.9, 0.2], [-0.3, 0.5]]),
    )
    return (
        (start, factor, xs[:0], *more),
        (start, factor, xs[:1], *more),
        (start.astype(F32), factor.astype(F32), xs.astype(F32), *more),
    )


def python_scan(
    f: Callable[..., Any], init: Any, xs: Any, reverse: bool = False
) -> tuple[Any, Any]:
    carry, ys = init, np.zeros_like(xs)
    for i in range(len(xs))[:: -1 if reverse else 1]:
        carry, ys[i] = f(carry, xs[i])
    return carry, ys


def python_while(test: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any) -> Any:
    while test(carry):
        carry = body(carry)
    return carry


def damped(w: Any) -> Callable[..., Any]:
    return lambda c, x: (np.tanh(c * w + x), c * x)


def scan_row(name: str, *ops: str, **params: Any) -> Case:
    return Case(
        name,
        lambda s, w, xs: tg.scan(damped(w), s, xs, **params),
        rows,
        lambda s, w, xs: python_scan(damped(w), s, xs, params.get("reverse", False)),
        ("scan", *ops),
        special=none_and_one(),
        errors=(
            ((np.ones(2), np.ones(2), np.ones(())), ShapeError, "needs a leading axis"),
            (
                (np.ones(()), np.ones(()), np.ones((2, 2))),
                TypeError,
                r"the carry itself changes from f64\[\] to f64\[2\]",
            ),
        ),
    )


def mixed_carry(s: Any, w: Any, xs: Any) -> Any:
    """Floats, a count, a flag, one that is handed on, one that nobody changes, and two that change
    places."""

    def step(c: Any, x: Any) -> Any:
        k = c["k"] + np.sum(x > 0)
        new = {
            "a": np.where(c["p"], np.sin(c["b"]), c["a"] * x),
            "b": c["a"],
            "k": k,
            "p": k % 2 == 0,
            "w": c["w"],
        }
        return new, (c["a"] * c["w"], c["k"])

    last, (ys, counts) = tg.scan(
        step, {"a": s, "b": s * w, "k": np.int64(1), "p": np.True_, "w": w}, xs
    )
    return last["a"], last["b"], ys, counts, last["k"]


def mixed_carry_python(s: Any, w: Any, xs: Any) -> Any:
    a, b, k, p, ys, counts = (
        s,
        s * w,
        np.int64(1),
        True,
        np.zeros((len(xs), 2), s.dtype),
        np.zeros(len(xs), np.int64),
    )
    for i, x in enumerate(xs):
        ys[i], counts[i] = a * w, k
        k = k + np.sum(x > 0)
        a, b, p = (np.sin(b) if p else a * x), a, k % 2 == 0
    return a, b, ys, counts, k


def counted(rng: np.random.Generator) -> tuple[Any, ...]:
    """Another number of steps for each seed, a vector."""
    return np.int64(1 + rng.integers(4)), rng.uniform(0.5, 1.5, size=3)


COUNTS = tuple(
    (np.int64(n), np.array([0.5, -0.8, 1.2], t)) for n, t in ((0, float), (1, float), (3, F32))
)


def filled(n: Any, x: Any) -> Any:
    """Elements written and read at the number of the step."""

    def step(i: Any, y: Any) -> Any:
        y[i % 3] = y[(i + 1) % 3] * x[i % 3] + i
        return y

    return tg.fori_loop(0, n, step, x * 1.0)


def filled_python(n: Any, x: Any) -> Any:
    y = x * 1
    for i in range(n):
        y[i % 3] = y[(i + 1) % 3] * x[i % 3] + i
    return y


def fori_python(lower: int, upper: int, x: Any) -> Any:
    y = x
    for i in range(lower, upper):
        y = np.sin(y) * x + x.dtype.type(i)
    return y


def below(limit: float, x: Any) -> Any:
    return tg.while_loop(
        lambda c: np.sum(c[1]) < limit, lambda c: (c[0] + 1, c[1] * (1.1 + x * x)), (0, x * x)
    )


def below_python(limit: float, x: Any) -> Any:
    return python_while(
        lambda c: np.sum(c[1]) < limit,
        lambda c: (c[0] + 1, c[1] * (1.1 + x * x)),
        (np.int64(0), x * x),
    )


def nested(n: Any, x: Any) -> Any:
    """A loop to a condition inside of a loop to a count, with a branch in it."""

    def inner(c: Any) -> Any:
        return tg.while_loop(
            lambda y: np.sum(y * y) > 1.0,
            lambda y: y * tg.cond(y[0] > 0, lambda: 0.7 * x, lambda: np.cos(x)),
            c,
        )

    return tg.fori_loop(0, n, lambda i, c: inner(c + x * 2.0), x)


def nested_python(n: Any, x: Any) -> Any:
    c = x
    for _ in range(n):
        c = c + x * 2
        while np.sum(c * c) > 1:
            c = c * (x.dtype.type(0.7) * x if c[0] > 0 else np.cos(x))
    return c


def small(rng: np.random.Generator) -> tuple[Any, ...]:
    return np.int64(1 + rng.integers(3)), rng.uniform(0.2, 0.6, size=3)


def chosen(rng: np.random.Generator) -> tuple[Any, ...]:
    """The number of a branch, a vector of positive numbers."""
    return np.int64(rng.integers(3)), rng.uniform(0.5, 1.5, size=3)


def flagged(rng: np.random.Generator) -> tuple[Any, ...]:
    return np.bool_(rng.integers(2)), rng.uniform(0.5, 1.5, size=3)


def vector(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=3),)


def matrix(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=(3, 2)),)


BRANCHES: list[Callable[[Any], Any]] = [
    lambda v: (np.sin(v), np.sum(v)),
    lambda v: (v * v[0], v[1]),
    lambda v: (np.ones_like(v), np.max(v)),
]
EACH = tuple((np.int64(k), np.array([0.5, 1.5, 1.0], t)) for k in range(3) for t in (float, F32))


def affine(a: Any, b: Any) -> Any:
    return a[0] * b[0], b[0] * a[1] + b[1]


def affine_python(decay: Any, gain: Any, reverse: bool = False) -> Any:
    order = range(len(decay))[:: -1 if reverse else 1]
    first, second = decay * 1, gain * 1
    for before, k in pairwise(order):
        first[k], second[k] = affine((first[before], second[before]), (decay[k], gain[k]))
    return first, second


def decays(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.uniform(0.5, 0.9, size=(4, 2)), rng.normal(size=(4, 2))


CASES: tuple[Case, ...] = (
    scan_row("scan"),
    scan_row("scan in reverse", reverse=True),
    scan_row("scan in segments", "checkpoint", "recompute", checkpoint=2),
    Case(
        "scan with carries of all kinds",
        mixed_carry,
        rows,
        mixed_carry_python,
        ("scan",),
        special=none_and_one(),
    ),
    Case(
        "scan without slices",
        lambda s, w, xs: tg.scan(lambda c, _: (c * w, c), s, None, length=4),
        rows,
        lambda s, w, xs: python_scan(lambda c, _: (c * w, c), s, np.zeros((4, 2), s.dtype)),
        wrt=(0, 1),
        special=none_and_one(),
    ),
    Case(
        "fori_loop",
        lambda x: tg.fori_loop(1, 4, lambda i, y: np.sin(y) * x + i, x),
        vector,
        lambda x: fori_python(1, 4, x),
        ("scan",),
        special=((np.ones(0),), (np.float64(0.3),)),
    ),
    Case(
        "fori_loop without steps",
        lambda x: tg.fori_loop(2, 1, lambda i, y: y / 0.0, x * 2.0),
        vector,
        lambda x: x * 2.0,
    ),
    Case(
        "fori_loop to a computed end",
        lambda n, x: tg.fori_loop(n - 1, 2 * n, lambda i, y: np.sin(y) * x + i.astype(x.dtype), x),
        counted,
        lambda n, x: fori_python(n - 1, 2 * n, x),
        ("sized",),
        special=COUNTS,
        errors=(
            ((1.5, np.ones(2)), TypeError, "a bound must be one integer"),
            ((np.arange(2), np.ones(2)), TypeError, "a bound must be one integer"),
        ),
    ),
    Case("fori_loop that writes", filled, counted, filled_python, ("sized",), special=COUNTS[:2]),
    Case(
        "while_loop",
        lambda x: below(9.0, x),
        vector,
        lambda x: below_python(9.0, x),
        ("while_loop", "sized"),
        special=((np.full(3, 9.0),), (np.full(3, 1.2),), (np.full(3, 0.5, F32),)),
    ),
    Case(
        "while_loop to a count",
        lambda n, x: tg.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, np.cos(c[1]) * x), (0, x), max_steps=5
        )[1],
        counted,
        lambda n, x: python_while(
            lambda c: c[0] < n, lambda c: (c[0] + 1, np.cos(c[1]) * x), (0, x)
        )[1],
        ("while_loop",),
        special=COUNTS,
        errors=(((6, np.ones(2)), RuntimeError, "still going after max_steps=5"),),
    ),
    Case(
        "while_loop in segments",
        lambda n, x: tg.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, np.cos(c[1]) * x), (0, x), checkpoint=2
        )[1],
        counted,
        lambda n, x: python_while(
            lambda c: c[0] < n, lambda c: (c[0] + 1, np.cos(c[1]) * x), (0, x)
        )[1],
        ("while_loop",),
        special=COUNTS,
    ),
    Case(
        "while_loop in fori_loop",
        nested,
        small,
        nested_python,
        ("while_loop", "switch"),
        special=((np.int64(0), np.full(3, 0.4)), (np.int64(2), np.full(3, 0.4))),
    ),
    Case(
        "cond of a flag",
        lambda p, x: tg.cond(p, lambda v: (np.sqrt(v), v[0]), lambda v: (v * v, 2.0), x),
        flagged,
        lambda p, x: (np.sqrt(x), x[0]) if p else (x * x, x.dtype.type(2)),
        ("switch",),
        special=tuple((np.bool_(p), np.array([1.0, 4.0])) for p in (False, True)),
        errors=(
            ((np.array([True, False]), np.ones(2)), ShapeError, "must be one value"),
            ((1j, np.ones(2)), TypeError, "must be a bool or a number"),
        ),
    ),
    Case(
        "cond by the data",
        lambda x: tg.cond(np.sum(x) > 0, lambda: np.exp(x), lambda: x * x[0]),
        vector,
        lambda x: np.exp(x) if np.sum(x) > 0 else x * x[0],
        ("switch",),
        special=((np.ones(2),), (-np.ones(2),), (np.zeros(1),), (-np.ones(2, F32),)),
    ),
    Case(
        "switch",
        lambda k, x: tg.switch(k, BRANCHES, x),
        chosen,
        lambda k, x: BRANCHES[k](x),
        ("switch",),
        special=EACH,
        errors=(
            ((3, np.ones(2)), IndexError, "index 3 is out of range for 3 branches"),
            ((-1, np.ones(2)), IndexError, "index -1 is out of range for 3 branches"),
            ((1.0, np.ones(2)), TypeError, "must be an integer, not of dtype float64"),
            ((np.arange(2), np.ones(2)), ShapeError, "must be one value"),
        ),
    ),
    Case(
        "map",
        lambda x: tg.map(lambda r: (tg.cond(r[0] > 0, np.sin, np.square, r), np.sum(r)), x),
        matrix,
        lambda x: (np.where(x[:, :1] > 0, np.sin(x), x * x), x.sum(1)),
        ("switch",),
        special=((np.ones((0, 2)),), (np.ones((1, 2), F32),)),
    ),
    Case(
        "associative_scan",
        lambda a, b: tg.associative_scan(affine, (a, b)),
        decays,
        affine_python,
        special=(
            (np.ones((0, 2)), np.ones((0, 2))),
            (np.ones((1, 2)), np.ones((1, 2))),
            (np.full((3, 1), 0.5, F32), np.ones((3, 1), F32)),
        ),
    ),
    Case(
        "associative_scan in reverse",
        lambda a, b: tg.associative_scan(affine, (a, b), reverse=True),
        decays,
        lambda a, b: affine_python(a, b, True),
        errors=(((np.ones((3, 2)), np.ones((2, 2))), ShapeError, "size"),),
    ),
    Case(
        "checkpoint",
        lambda x: tg.checkpoint(lambda v: np.sin(v) * v[0])(x) * x,
        vector,
        lambda x: np.sin(x) * x[0] * x,
        ("checkpoint", "recompute"),
    ),
)
