"""NumPy's functions that are compositions, called by NumPy's own names on boxed values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases import Case, off_device
from tests.cases.products import normal

PLACES = np.array([0, 2, 2, 5, 0])
GAPS = np.array([[1.0, np.nan, 3.0, -0.5], [np.nan, 2.0, 0.7, np.nan]])


def named(
    name: str,
    function: Callable[..., Any],
    inputs: Callable[[np.random.Generator], tuple[Any, ...]],
    order: int = 2,
    **more: Any,
) -> Case:
    return Case(name, function, inputs, function, order=order, **more)


def holed(rng: np.random.Generator) -> tuple[Any, ...]:
    """Numbers with holes at fixed places."""
    return (rng.normal(size=(2, 4)), np.where(np.isnan(GAPS), np.nan, 1.0))


def spread(rng: np.random.Generator) -> tuple[Any, ...]:
    """Numbers away from one another and from edges."""
    return (rng.permutation(6) * 0.9 + 0.35,)


WITHOUT_NAN = tuple(
    named(
        f"{f.__name__} {options}",
        lambda x, holes, f=f, options=options: f(np.where(np.isnan(holes), np.nan, x), **options),
        holed,
        wrt=(0,),
        vmap=False,
    )
    for f, options in (
        (np.nanprod, {"axis": 1}),
        (np.nancumsum, {"axis": 0}),
        (np.nancumprod, {}),
        (np.nanvar, {"axis": 1}),
        (np.nanvar, {"axis": 0, "keepdims": True}),
        (np.nanstd, {"axis": 1, "ddof": 1}),
    )
)
COUNTED = (
    named("partition", lambda x: np.sort(np.partition(x, 2)[:3]), spread, order=1),
    named("argpartition", lambda x: np.sort(np.argpartition(x, 2)[:3]), spread, order=0),
    named("bincount", lambda w: np.bincount(PLACES, w, 8), normal((5,)), order=1),
    named("digitize", lambda x: np.digitize(x, [0.0, 1.0, 2.5]), spread, order=0),
    named("digitize right", lambda x: np.digitize(x, [3.0, 1.0, 0.0], True), spread, order=0),
    named("dsplit", lambda x: tuple(np.dsplit(x, 2)), normal((2, 1, 4)), order=1),
    named("delete", lambda x: np.delete(x, [0, -1], 1), normal((2, 4)), order=1),
    named("delete mask", lambda x: np.delete(x, x.shape[0] > np.arange(3) + 1, 0), normal((3, 2)),
          order=1),
    named("insert", lambda x, v: np.insert(x, 1, v, 1), normal((2, 3), (2,)), order=1),
    named("insert several", lambda x, v: np.insert(x * x, [4, 0, 0, -1], v), normal((2, 2), (4,))),
    named("histogram", lambda x: np.histogram(x, 4, (0.0, 4.0)), spread, order=0, vmap=False),
    named("histogram of all", lambda x: np.histogram(x, 4), spread, order=0, vmap=False),
    named("histogram density", lambda x: np.histogram(x, [0.0, 1.0, 4.0], density=True), spread,
          order=0, vmap=False),
    named("histogram weights",
          lambda x, w: np.histogram(x, [0.0, 1.0, 4.0, 5.0], weights=w * np.exp(w))[0],
          lambda rng: (*spread(rng), rng.normal(size=6)), wrt=(1,), vmap=False),
)  # fmt: skip
POLYNOMIALS = (
    named("polyfit", lambda x, y: np.polyfit(x, y, 2),
          lambda rng: (*spread(rng), rng.normal(size=6)), tolerance=1e-5, vmap=False),
    named("polyfit weights", lambda y, w: np.polyfit(np.arange(5.0), y, 1, w=w),
          lambda rng: (rng.normal(size=(5, 2)), rng.uniform(1, 2, size=5)), vmap=False),
    named("polyadd", lambda p, q: np.polyadd(p, q), normal((3,), (2,)), order=1),
    named("polysub", lambda p, q: np.polysub(p, q), normal((2,), (4,)), order=1),
    named("polymul", lambda p, q: np.polymul(p, q), normal((2,), (4,))),
    named("polyder", lambda p: np.polyder(p, 2), normal((5,)), order=1),
    named("polyint", lambda p: np.polyint(p, 2, [1.0, 2.0]), normal((3,)), order=1),
)  # fmt: skip
BY_COLUMNS = (
    named("ravel by columns", lambda x: (x * x).ravel(order="F"), normal((2, 3))),
    named("flatten by columns", lambda x: (x * x).flatten(order="F"), normal((2, 3))),
    named("reshape by columns", lambda x: (x * x).reshape((3, -1), order="F"), normal((2, 3, 2))),
    named(
        "reshape by columns in words", lambda x: (x * x).reshape(3, 2, order="F"), normal((2, 3))
    ),
    named("copy by columns", lambda x: (x * x).copy(order="F"), normal((2, 3))),
)
CASES = off_device(*WITHOUT_NAN, *COUNTED, *POLYNOMIALS, *BY_COLUMNS)
