"""Values that Python takes for equal, and functions tell apart: code that was compiled for one of
them is not used for another, whether they are static arguments, parts of them, keys of dicts, or
read around the function."""

from __future__ import annotations

import dataclasses
import decimal
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracegrad as tg

X = np.array([0.5, 2.0])


class Pair(NamedTuple):
    a: float
    b: float


class Other(NamedTuple):
    a: float
    b: float


@dataclasses.dataclass(frozen=True)
class Held:
    value: Any
    shown: str = dataclasses.field(default="", compare=False)


def sign(v: Any) -> Any:
    return np.copysign(1.0, v)


def kind(v: Any) -> float:
    return {bool: 2.0, int: 3.0, float: 5.0, np.float64: 7.0}[type(v)]


FAMILIES: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "zeros": (sign, [0.0, -0.0, np.float64(0.0), np.float64(-0.0)]),
    "complex zeros": (lambda v: sign(v.real) * 2 + sign(v.imag), [0j, -0j, complex(-0.0, 0.0)]),
    "signs of nan": (sign, [np.float64(np.nan), -np.float64(np.nan)]),
    "ones": (kind, [1, True, 1.0, np.float64(1)]),
    "zeros in tuples": (lambda v: sign(v[1][0]), [(1, (0.0,)), (1, (-0.0,))]),
    "ones in tuples": (lambda v: kind(v[0]), [(1,), (True,), (1.0,)]),
    "kinds of tuples": (lambda v: len(type(v).__name__), [(1, 2), Pair(1, 2), Other(1, 2)]),
    "ones in sets": (lambda v: kind(next(iter(v))), [frozenset([1]), frozenset([True])]),
    "ones in dataclasses": (lambda v: kind(v.value), [Held(1), Held(True), Held(1.0)]),
    "ranges": (lambda v: v.step, [range(1), range(0, 1, 5), range(0, 1, 7)]),
    "digits": (lambda v: len(str(v)), [decimal.Decimal("1"), decimal.Decimal("1.00")]),
}
WAYS = ["static", "static keyword", "read", "grad"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("way", WAYS)
def test_of_values(family: str, way: str) -> None:
    of, values = FAMILIES[family]
    around: list[Any] = [None]

    def f(x: Any, v: Any = None) -> Any:
        return x[0] * of(around[0] if v is None else v)

    made = tg.jit(f, static_argnames="v")
    calls: dict[str, Callable[[Any], Any]] = {
        "static": lambda v: made(X, v),
        "static keyword": lambda v: made(X, v=v),
        "read": lambda v: made(X),
        "grad": lambda v: tg.grad(made)(X, v)[0] * 0.5,
    }
    for v in values * 2:
        around[0] = v
        assert calls[way](v) == 0.5 * of(v), v


def test_equal_ones_share_code() -> None:
    f = tg.jit(lambda x, v: x * 2, static_argnames="v")
    for k in range(3):
        f(X, Held((1.5, "a"), shown=str(k)))
        f(X, (float("nan"), k * 0))
    assert len(f._signatures.entries) == 2


def in_order(d: Any) -> Any:
    """Keys and values by their place, and keys by their kind."""
    return sum((k + 1) * len(str(key)) * v for k, (key, v) in enumerate(d.items()))


DICTS: list[list[dict[Any, float]]] = [
    [{"a": 1.0, "bb": 2.0}, {"bb": 1.0, "a": 2.0}, {"a": 2.0, "bb": 1.0}],
    [{1: 2.0}, {True: 2.0}, {1.0: 2.0}],
]
PLACES: dict[str, Callable[[Callable[..., Any], Any], Any]] = {
    "argument": lambda f, d: f(d),
    "inside": lambda f, d: f([(d,)]),
    "dataclass": lambda f, d: f(Holder(d)),
    "keyword": lambda f, d: f(d=d),
    "keywords": lambda f, d: f(**{str(k): v for k, v in d.items()}),
}


@dataclasses.dataclass
class Holder:
    d: Any


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dicts", DICTS, ids=["order", "keys"])
def test_of_dicts(place: str, dicts: Any) -> None:
    check_dicts(tg.jit, PLACES[place], dicts)


def check_dicts(by: Callable[..., Any], call: Callable[..., Any], dicts: Any) -> None:
    def f(tree: Any = None, d: Any = None, **rest: Any) -> Any:
        given = rest or d or (tree if isinstance(tree, (dict, list)) else tree.d)
        return in_order(given[0][0] if isinstance(given, list) else given)

    made = by(f)
    for d in dicts * 2:
        assert float(call(made, d)) == pytest.approx(float(call(f, d))), d


@pytest.mark.parametrize("bridge", ["jax", "torch"])
def test_of_dicts_in_bridges(bridge: str) -> None:
    pytest.importorskip(bridge)
    for call in PLACES.values():
        check_dicts(getattr(tg, bridge).wrap, call, DICTS[0])


@pytest.mark.parametrize("dicts", DICTS, ids=["order", "keys"])
def test_of_dicts_that_are_read(dicts: Any) -> None:
    around: list[Any] = [None]
    f = tg.jit(lambda x: x * in_order(around[0]))
    for d in dicts * 2:
        around[0] = d
        assert f(2.0) == 2.0 * in_order(d), d


def test_declared_keywords_have_no_order() -> None:
    f = tg.jit(lambda x, a, b: x * a - b)
    assert f(1.0, a=2.0, b=3.0) == f(1.0, b=3.0, a=2.0) == -1.0
    assert len(f._signatures.entries) == 1


def test_sets_that_are_read() -> None:
    around: list[Any] = [None]
    f = tg.jit(lambda x: x * kind(next(iter(around[0]))))
    for held in [{1}, {True}, {1}, {1.0}] * 2:
        around[0] = held
        assert f(2.0) == 2.0 * kind(next(iter(held)))
