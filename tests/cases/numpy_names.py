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
    named(
        "partition of many",
        lambda x: np.stack([np.partition(x, [-3, 5], 0)[k] for k in (5, 37)]),
        normal((40, 2)),
        order=1,
        ops=("partitioned",),
    ),
    named("partition by one", lambda x: np.partition(x, 16)[16], normal((32,)), ops=("parted",)),
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
TINY = np.array([5e-324, -5e-324, 2.3e-308, -2.2250738585072014e-308, 1e-300, 0.0, -0.0, 1.0, -2.0])
LARGE = np.array([1.7976931348623157e308, -1e308, np.inf, -np.inf, np.nan, 3.0, 0.1, 4.5, -1024.0])
FLOATS32 = np.array([1e-45, 1.1754944e-38, -2e-38, 3.4028235e38, 1.0, -0.0, 7e-30], np.float32)
MASK = np.array([[0, 1, 2], [2, 1, 0]])


def neighbours(x: Any, to: Any) -> Any:
    return np.nextafter(x, to), np.spacing(x)


def along_axes(x: Any, p: Any) -> Any:
    """What is made of lines, of repeated and chosen elements, and of stacks."""
    return (
        np.apply_over_axes(np.sum, x * x, [0, -1]),
        np.choose(MASK, [x, x * x, 2.0], mode="wrap"),
        np.choose(MASK - 1, [np.sin(x), x], mode="clip"),
        np.resize(x * x, (3, 5)),
        x[np.tril_indices_from(x)] * x[np.triu_indices_from(x, 1)].sum(),
        np.matvec(x, p) * np.vecmat(p[:2], x).sum(),
        np.real_if_close(x * x),
    )


def sequences(x: Any, p: Any) -> Any:
    return (
        np.unwrap(x * 9.0, axis=0),
        np.unwrap(p, period=1.5, discont=1.0),
        np.geomspace(p[0] ** 2 + 1, np.array([2.0, 7.0]), 4),
        np.geomspace(-1.0, -(p[1] ** 2) - 3, 3, endpoint=False, axis=-1),
        np.poly(p),
        np.modf(x * 3.0)[0],
        np.nextafter(x, 0.0),
    )


def slopes(x: Any, p: Any) -> Any:
    """Differences over coordinates, correlations of longer arrays, periodic interpolation."""
    t = np.cumsum(p * p + 1)
    return (
        np.gradient(x, t, axis=1),
        np.gradient(x, t, axis=1, edge_order=2),
        np.gradient(p, 0.3, edge_order=2),
        *[np.correlate(p[:2], x[0], mode) for mode in ("full", "same", "valid")],
        np.interp(p * 5.0, [0.3, 2.9, 1.4], x[0, :3], period=3.0),
    )


def drawn(shape: tuple[int, ...], n: int) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda rng: (rng.uniform(0.4, 1.6, size=shape), rng.uniform(0.4, 1.6, size=n))


MORE_NAMES = (
    named("nextafter", neighbours,
          lambda rng: (rng.normal(size=(2, 3)), rng.normal(size=3)), order=0,
          special=((TINY, LARGE), (LARGE, TINY), (LARGE, -LARGE), (TINY, np.array(0.0)),
                   (TINY, np.array(-np.inf)), (FLOATS32, FLOATS32[::-1]),
                   (FLOATS32, np.zeros(1, np.float32)), (np.zeros((0, 2)), np.zeros(2)))),
    named("along_axes", along_axes, drawn((2, 3), 3)),
    named("sequences", sequences, drawn((4, 2), 4), tolerance=1e-5),
    named("slopes", slopes, drawn((2, 5), 5)),
    named("modf", lambda x: np.modf(x), spread, order=0, special=((LARGE,), (TINY,))),
    named("nanargmax", lambda x: (np.nanargmax(x, 1), np.nanargmin(x, keepdims=True)),
          normal((2, 4)), order=0, special=((GAPS,),)),
    named("isin", lambda x: (np.isin(x, [1.25, np.nan, 2.15]), np.isin(x, x[:1], invert=True)),
          spread, order=0, special=((LARGE,), (np.zeros(0),))),
    named("ldexp", lambda x, n: np.ldexp(x, n), lambda rng: (rng.normal(size=3), PLACES[:3] * 7),
          wrt=(0,), special=((TINY, np.array(60)), (TINY, np.array(1024)), (LARGE, np.array(-2090)),
                   (LARGE, np.array(-1060)), (TINY[:, None], np.arange(-1080, 1100, 7)),
                   (LARGE[:, None], np.arange(-2200, 2200, 7)), (FLOATS32, np.array([[-9], [33]])),
                   (np.zeros((0, 2)), np.array([1, 2])), (np.array(3, np.int16), np.array(5)))),
    named("frexp", lambda x: np.frexp(x), normal((3,)), special=((TINY,), (LARGE,), (FLOATS32,),
          (2.0 ** np.arange(-1074.0, 1024.0),), (np.nextafter(2.0 ** np.arange(-1022.0, 1024), 0),),
          (np.zeros((0, 2)),), (np.array(-3),))),
    named("bitwise_count", lambda x: np.bitwise_count(x), lambda rng: (rng.integers(-99, 99, 6),),
          order=0, special=((np.array([-(2**63), 2**63 - 1, -1]),), (np.array([-128], np.int8),),
                   (np.array([2**64 - 1, 5], np.uint64),), (np.array([True, False]),))),
    named("polydiv", lambda u, v: np.polydiv(u, v), lambda rng: (rng.normal(size=5),
          rng.uniform(1, 2, size=3)), special=((np.arange(1, 5), np.array([2, 1])),)),
    named("sort_complex", lambda x: np.sort_complex(x),
          lambda rng: (np.array([2 + 1j, 1 - 1j, 2 - 1j, 1 + 0j]) + 0.1 * rng.normal(size=4),),
          special=((np.array([[np.nan, 1, 1j * np.nan, complex(1, np.nan), 2 + 1j, 2 - 1j]]),),
                   (np.array([3, 1, 2], np.int8),), (np.zeros((0,)),))),
    named("histogram2d weights", lambda w: np.histogram2d(np.arange(5.0), PLACES, 2, weights=w)[0],
          normal((5,)), special=((np.arange(5),),)),
    named("unravel_index", lambda i: np.unravel_index(i, (3, 4, 2), "F"),
          lambda rng: (rng.integers(0, 24, (2, 3)),), order=0),
    named("packbits", lambda x: (np.packbits(x, 0), np.unpackbits(np.packbits(x), count=-2)),
          lambda rng: (rng.integers(0, 2, (3, 4)),), order=0, special=((np.zeros((1, 1), int),),)),
    named("lexsort", lambda x: np.lexsort((x, np.floor(x / 2), np.ones(6))), spread, order=0),
    named("roots", lambda p: np.prod(np.roots(p) ** 2 + 1.0 + 0j), normal((4,)), tolerance=1e-5,
          vmap=False, jit=False),
)  # fmt: skip
CASES = off_device(*MORE_NAMES, *WITHOUT_NAN, *COUNTED, *POLYNOMIALS, *BY_COLUMNS)
