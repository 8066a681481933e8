"""Reductions and running combinations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases import Case
from tracegrad import ops
from tracegrad.errors import DTypeError, ShapeError

CUBE = np.arange(24.0).reshape(2, 3, 4)
EMPTY = np.zeros((0, 3))
HOLES = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan], [-np.inf, np.inf, 0.0]])
INF = np.array([[-np.inf, -np.inf], [-np.inf, 0.0], [np.inf, 1.0]])


def cube(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=(2, 3, 4)),)


def positive(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.uniform(0.5, 2, size=(3, 4)),)


def with_zeros(rng: np.random.Generator) -> tuple[Any, ...]:
    x = rng.normal(size=(3, 4))
    x[0, 1] = x[2, 0] = x[2, 3] = 0
    return (x,)


def many_zeros(rng: np.random.Generator) -> tuple[Any, ...]:
    x = rng.normal(size=5)
    x[[1, 3, 4]] = 0
    return (x,)


def complexes(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4)),)


def whole(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.integers(-5, 5, size=(3, 4)),)


def number(rng: np.random.Generator) -> tuple[Any, ...]:
    return (np.asarray(rng.normal()),)


def pair(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.normal(size=(3, 4)), rng.uniform(0.5, 2, size=(3, 4))


def reduction(
    name: str, function: Callable[..., Any], numpy: Callable[..., Any], *covers: str, **more: Any
) -> tuple[Case, ...]:
    """A reduction over all, one, several and no axes, and of a number."""
    special = more.pop("special", ())
    return (
        Case(name, function, cube, numpy, covers, special=special, **more),
        Case(
            f"{name} axis",
            lambda x: function(x, 1),
            cube,
            lambda x: numpy(x, axis=1),
            covers,
            **more,
        ),
        Case(
            f"{name} last keepdims",
            lambda x: function(x, -1, keepdims=True),
            cube,
            lambda x: numpy(x, axis=-1, keepdims=True),
            covers,
            **more,
        ),
        Case(
            f"{name} axes",
            lambda x: function(x, (0, -1), keepdims=True),
            cube,
            lambda x: numpy(x, axis=(0, -1), keepdims=True),
            covers,
            **more,
        ),
        Case(
            f"{name} no axes",
            lambda x: function(x, ()),
            cube,
            lambda x: numpy(x, axis=()),
            covers,
            **more,
        ),
        Case(f"{name} of a number", function, number, numpy, covers, **more),
    )


def cumulative(
    name: str,
    function: Callable[..., Any],
    numpy: Callable[..., Any],
    *covers: str,
    special: Any = (),
) -> tuple[Case, ...]:
    return (
        Case(name, function, cube, numpy, covers, special=special),
        Case(f"{name} axis", lambda x: function(x, 1), cube, lambda x: numpy(x, axis=1), covers),
        Case(
            f"{name} last",
            lambda x: function(x, -1),
            with_zeros,
            lambda x: numpy(x, axis=-1),
            covers,
        ),
        Case(
            f"{name} reverse",
            lambda x: function(x, 0, reverse=True),
            with_zeros,
            lambda x: np.flip(numpy(np.flip(x, 0), axis=0), 0),
            covers,
        ),
        Case(f"{name} zeros", function, many_zeros, numpy, covers),
        Case(
            f"{name} complex",
            lambda x: function(x, 0),
            complexes,
            lambda x: numpy(x, axis=0),
            covers,
        ),
        Case(
            f"{name} ints",
            lambda x: function(x, 0),
            whole,
            lambda x: numpy(x, axis=0),
            covers,
            0,
            special=((CUBE > 5,), (EMPTY,)),
        ),
    )


def recurrence(a: Any, b: Any) -> Any:
    out = b.copy()
    for i in range(1, len(b)):
        out[i] = a[i] * out[i - 1] + b[i]
    return out


NARROW = (
    (np.array([100, 100, 100], np.int8),),
    (np.array([True, True]),),
    (np.ones(3, np.float32),),
    (np.array([200, 200], np.uint8),),
)

CASES: tuple[Case, ...] = (
    *reduction("sum", ops.sum, np.sum, "sum", special=(*NARROW, (HOLES,), (EMPTY,))),
    Case(
        "sum dtype",
        lambda x: ops.sum(x, 0, dtype=np.float32),
        whole,
        lambda x: np.sum(x, 0, dtype=np.float32),
        ("sum",),
        0,
    ),
    Case(
        "sum where initial",
        lambda x: ops.sum(x, 0, where=CUBE > 7, initial=2.0),
        cube,
        lambda x: np.sum(x, 0, where=CUBE > 7, initial=2.0),
    ),
    Case("sum complex", lambda x: ops.sum(x, 1), complexes, lambda x: np.sum(x, 1), ("sum",)),
    Case(
        "sum errors",
        ops.sum,
        cube,
        np.sum,
        ("sum",),
        0,
        errors=(((CUBE, 3), ShapeError, "axis 3"), ((CUBE, (0, 0)), ShapeError, "repeated")),
    ),
    *reduction("prod", ops.prod, np.prod, "prod", special=(*NARROW, (HOLES,), (EMPTY,))),
    Case("prod zeros", lambda x: ops.prod(x, 1), with_zeros, lambda x: np.prod(x, 1), ("prod",)),
    Case("prod many zeros", ops.prod, many_zeros, np.prod, ("prod",)),
    Case("prod complex", lambda x: ops.prod(x, 0), complexes, lambda x: np.prod(x, 0), ("prod",)),
    Case(
        "prod where",
        lambda x: ops.prod(x, 0, where=CUBE > 7, initial=2.0),
        cube,
        lambda x: np.prod(x, 0, where=CUBE > 7, initial=2.0),
    ),
    *reduction(
        "max",
        ops.max,
        np.max,
        "max",
        special=((HOLES,), (np.array([3, 1], np.int8),), (np.array([True, False]),), (-INF,)),
    ),
    *reduction(
        "min",
        ops.min,
        np.min,
        "min",
        special=((HOLES,), (np.array([3, 1], np.uint8),), (np.array([True, False]),), (INF,)),
    ),
    Case(
        "max empty",
        ops.max,
        cube,
        np.max,
        ("max",),
        0,
        errors=(((EMPTY,), ShapeError, "no elements"), ((np.ones(2) * 1j,), DTypeError, "complex")),
    ),
    Case(
        "max empty axis kept",
        lambda x: ops.max(x, 1),
        lambda rng: (EMPTY,),
        lambda x: np.max(x, 1),
        ("max",),
        0,
        vmap=False,
    ),
    Case(
        "max initial",
        lambda x: ops.max(x, (0, 2), initial=0.3),
        cube,
        lambda x: np.max(x, (0, 2), initial=0.3),
        ("max",),
    ),
    Case(
        "min where",
        lambda x: ops.min(x, 1, where=CUBE > 7, initial=0.3),
        cube,
        lambda x: np.min(x, 1, where=CUBE > 7, initial=0.3),
        ("min",),
    ),
    Case("ptp", lambda x: ops.ptp(x, 1), cube, lambda x: np.ptp(x, 1)),
    *(
        Case(
            f"{f.__name__} {k}",
            lambda x, f=f, k=k: f(x, **k),
            cube,
            lambda x, g=g, k=k: g(x, **k),
            (f.__name__,),
            0,
            special=((CUBE * 0,),),
        )
        for f, g in ((ops.argmax, np.argmax), (ops.argmin, np.argmin))
        for k in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"keepdims": True})
    ),
    Case(
        "argmax values",
        ops.argmax,
        number,
        np.argmax,
        ("argmax",),
        0,
        special=((HOLES,), (np.array([True, True]),), (np.array([1, 3, 3], np.int8),)),
        errors=(
            ((np.zeros(0),), ShapeError, "no elements"),
            ((np.ones(2) * 1j,), DTypeError, "complex"),
        ),
    ),
    *(
        Case(
            f"{f.__name__} {k}",
            lambda x, f=f, k=k: f(x > 0, **k),
            cube,
            lambda x, g=g, k=k: g(x > 0, **k),
            (f.__name__,),
            0,
        )
        for f, g in ((ops.all, np.all), (ops.any, np.any))
        for k in ({}, {"axis": 1}, {"axis": (0, -1), "keepdims": True})
    ),
    Case(
        "all of numbers",
        ops.all,
        number,
        np.all,
        ("all",),
        0,
        special=((EMPTY,), (HOLES,), (np.array([0, 1]),)),
    ),
    Case(
        "any of numbers",
        ops.any,
        number,
        np.any,
        ("any",),
        0,
        special=((EMPTY,), (HOLES,), (np.array([0, 0]),)),
    ),
    Case(
        "count_nonzero",
        lambda x: ops.count_nonzero(x, 1),
        with_zeros,
        lambda x: np.count_nonzero(x, 1),
        (),
        0,
    ),
    *cumulative("cumsum", ops.cumsum, np.cumsum, "cumsum", special=(*NARROW, (HOLES,), (EMPTY,))),
    *cumulative(
        "cumprod", ops.cumprod, np.cumprod, "cumprod", special=(*NARROW, (HOLES,), (EMPTY,))
    ),
    Case(
        "linear_recurrence",
        lambda a, b: ops.linear_recurrence(a, b, 0),
        pair,
        recurrence,
        ("linear_recurrence",),
    ),
    Case(
        "linear_recurrence reverse",
        lambda a, b: ops.linear_recurrence(a, b, -1, reverse=True),
        pair,
        lambda a, b: recurrence(a.T[::-1], b.T[::-1])[::-1].T,
        ("linear_recurrence",),
    ),
    Case(
        "linear_recurrence complex",
        lambda a, b: ops.linear_recurrence(a * (1 + 2j), b, 0),
        pair,
        lambda a, b: recurrence(a * (1 + 2j), b + 0j),
        ("linear_recurrence",),
        errors=(((np.ones(2), np.ones(3)), ShapeError, "one shape"),),
    ),
    Case(
        "cummax",
        lambda x: ops.cummax(x, 1)[0],
        cube,
        lambda x: np.maximum.accumulate(x, 1),
        ("running_cummax",),
        special=((np.ones((2, 3, 1)),),),
    ),
    Case(
        "cummin",
        lambda x: ops.cummin(x, -1)[0],
        cube,
        lambda x: np.minimum.accumulate(x, -1),
        ("running_cummin",),
    ),
    Case(
        "cummax indices",
        lambda x: ops.cummax(x)[1],
        whole,
        lambda x: np.array(
            [
                max(j for j in range(i + 1) if x.ravel()[j] == x.ravel()[: i + 1].max())
                for i in range(x.size)
            ]
        ),
        ("running_cummax",),
        0,
    ),
    Case(
        "diff",
        ops.diff,
        cube,
        np.diff,
        special=((np.array([1, 4, 9]),), (np.array([True, False, False]),), (np.ones(1),)),
    ),
    Case("diff twice", lambda x: ops.diff(x, 2, axis=1), cube, lambda x: np.diff(x, 2, axis=1)),
    Case(
        "diff ends",
        lambda x: ops.diff(x, axis=0, prepend=1.0, append=x),
        cube,
        lambda x: np.diff(x, axis=0, prepend=1.0, append=x),
    ),
    Case(
        "trapezoid",
        lambda y: ops.trapezoid(y, dx=0.5, axis=0),
        cube,
        lambda y: np.trapezoid(y, dx=0.5, axis=0),
    ),
    Case(
        "trapezoid places", lambda y, x: ops.trapezoid(y, x), pair, lambda y, x: np.trapezoid(y, x)
    ),
    Case(
        "trapezoid vector",
        lambda y, x: ops.trapezoid(y, x[:, 0], axis=0),
        pair,
        lambda y, x: np.trapezoid(y, x[:, 0], axis=0),
    ),
)
