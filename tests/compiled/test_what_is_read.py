"""What code reads around a jitted function, of every kind that Python has: a change of it is seen
before the next call, as far as facts are compared, which needs no compilation."""

from __future__ import annotations

import argparse
import array
import collections
import contextvars
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import operator
import re
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.surroundings.captures import Surroundings
from tracegrad.surroundings.places import unchanged

Case = tuple[Callable[[Any], Any], Callable[[], Any]]
"""A function, and a change of what it reads."""
CASES: dict[str, Callable[[], Case]] = {}


def _replaced(before: Any, after: Any) -> Callable[[], Case]:
    """A case where one object stands in a list in another one's place."""

    def make() -> Case:
        box = [before]
        return lambda x: (x, box[0]), lambda: box.__setitem__(0, after)

    return make


class Colour(enum.IntEnum):
    RED, BLUE = 1, 2


for _name, _before, _after in (
    ("slice", slice(0, 2), slice(1, 2)),
    ("range", range(2), range(3)),
    ("bytes", b"a", b"b"),
    ("dtype", np.dtype("f4"), np.dtype("f8")),
    ("Fraction", fractions.Fraction(1, 2), fractions.Fraction(1, 3)),
    ("Decimal", decimal.Decimal(1), decimal.Decimal(2)),
    ("date", datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    ("timedelta", datetime.timedelta(1), datetime.timedelta(2)),
    ("pattern", re.compile("a"), re.compile("b")),
    ("ellipsis", ..., None),
    ("itemgetter", operator.itemgetter(0), operator.itemgetter(1)),
    ("methodcaller", operator.methodcaller("sum"), operator.methodcaller("prod")),
    ("IntEnum", Colour.RED, Colour.BLUE),
    ("sign of zero", 0.0, -0.0),
    ("kind of number", 1, True),
    ("numpy number", np.float32(1), np.float64(1)),
    ("weak reference", weakref.ref(Colour), weakref.ref(enum.IntEnum)),
):
    CASES[_name] = _replaced(_before, _after)


def _held(made: Any, change: Callable[[Any], Any]) -> Callable[[], Case]:
    """A case where an object changes."""

    def make() -> Case:
        held = made()
        return lambda x: (x, [*held]), lambda: change(held)

    return make


def _read(made: Any, change: Callable[[Any], Any]) -> Callable[[], Case]:
    """The same of attributes `a` and `b`, the second of which may not be there."""

    def make() -> Case:
        held = made()
        return lambda x: (x, held.a, getattr(held, "b", 2.0)), lambda: change(held)

    return make


class Plain:
    a = 1.0
    table: Any = None

    def __init__(self) -> None:
        self.n = 1.0


class Heir(Plain):
    pass


CASES |= {
    "deque": _held(lambda: collections.deque([1.0, 2.0], 2), lambda d: d.append(3.0)),
    "proxy": _held(lambda: types.MappingProxyType(TABLE), lambda _: TABLE.update(k=TABLE["k"] + 1)),
    "values of a dict": _held({"k": [1.0]}.values, lambda v: next(iter(v)).append(2)),
    "array": _held(lambda: array.array("d", [1.0]), lambda a: a.__setitem__(0, 2.0)),
    "bytearray": _held(lambda: bytearray(b"a"), lambda a: a.__setitem__(0, 2)),
    "memoryview": _held(lambda: memoryview(bytearray(b"a")), lambda a: a.__setitem__(0, 2)),
    "large set": _held(lambda: set(range(200)), lambda s: s.add(300)),
    "long list": _held(lambda: [float(k) for k in range(7000)], lambda v: v.__setitem__(-1, 0.5)),
    "long dict": _held(
        lambda: {k: float(k) for k in range(7000)}, lambda v: v.update({6999: -0.0})
    ),
    "order of a dict": _held(lambda: {"a": 1.0, "b": 2.0}, lambda d: d.update(a=d.pop("a"))),
    "array of objects": _held(
        lambda: np.array([{"k": 1.0}, 2.0], object), lambda o: o[0].update(k=2.0)
    ),
    "attribute of a list": _read(
        lambda: _with(type("Listed", (list,), {})(), a=1.0), lambda o: setattr(o, "a", 2.0)
    ),
    "namespace": _read(lambda: types.SimpleNamespace(a=1.0), lambda o: setattr(o, "b", 3.0)),
    "options": _read(lambda: argparse.Namespace(a=1.0), lambda o: setattr(o, "b", 3.0)),
    "dataclass": _read(
        lambda: dataclasses.make_dataclass("Data", [("a", float)])(1.0),
        lambda o: setattr(o, "a", 2.0),
    ),
    "inherited": _read(lambda: type("Inner", (Plain,), {}), lambda c: setattr(c, "a", 7.0)),
}
TABLE = {"k": 1.0}


def _with(x: Any, **attributes: Any) -> Any:
    for name, value in attributes.items():
        setattr(x, name, value)
    return x


def _case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__.replace("_", " ").strip()] = make
    return make


@_case
def _attribute_of_a_function() -> Case:
    def scaled(x: Any) -> Any:
        return x * scaled.factor  # type: ignore[attr-defined]

    scaled.factor = 1.0  # type: ignore[attr-defined]
    return lambda x: scaled(x), lambda: setattr(scaled, "factor", 2.0)


@_case
def _code_of_a_function() -> Case:
    def inner(x: Any) -> Any:
        return x * 2

    def edited(x: Any) -> Any:
        return x * 3

    return lambda x: inner(x), lambda: setattr(inner, "__code__", edited.__code__)


@_case
def _context_variable() -> Case:
    variable = contextvars.ContextVar("variable", default=1.0)
    return lambda x: x * variable.get(), lambda: variable.set(2.0)


def _of_class(change: Callable[[Any, Any], Any], by_class: bool = False) -> Callable[[], Case]:
    def make() -> Case:
        class Base:
            table: Any = {"a": [1.0]}  # noqa: RUF012
            none = None

            def value(self, x: Any) -> Any:
                return x * self.table["a"][0]

            @classmethod
            def made(cls, x: Any) -> Any:
                return x

        class Made(Base):
            def value(self, x: Any) -> Any:
                return super().value(x), self.none, Base.table["a"], Made.made(x)

        held = Made()
        return held.value, lambda: change(Base if by_class else Made, held)

    return make


CASES |= {
    "dict of a class": _of_class(lambda c, _: c.table.update(a=[2.0])),
    "list in a dict of a class": _of_class(lambda c, _: c.table["a"].append(2.0)),
    "none of a class": _of_class(lambda _, held: setattr(held, "none", 2.0)),
    "method behind super": _of_class(lambda c, _: setattr(c, "value", lambda *_: 1), True),
    "method of a class": _of_class(
        lambda c, _: setattr(c, "made", classmethod(lambda *_: 2)), True
    ),
    "shadowed method of a class": _of_class(
        lambda c, _: setattr(c, "made", staticmethod(lambda *_: 2))
    ),
}


@_case
def _descriptor() -> Case:
    class Descriptor:
        value = 1.0

        def __get__(self, it: Any, kind: Any) -> Any:
            return self.value

        def __set__(self, it: Any, value: Any) -> None:
            self.value = value

    class Holder:
        a: Any = Descriptor()

    holder = Holder()
    return lambda x: x * holder.a, lambda: setattr(holder, "a", 2.0)


@_case
def _what_getattr_answered() -> Case:
    class Answering:
        def __getattr__(self, name: str) -> Any:
            if name == "a":
                return 1.0
            raise AttributeError(name)

    held: Any = Answering()
    return lambda x: x * held.a, lambda: setattr(held, "a", 2.0)


@_case
def _order_of_attributes() -> Case:
    held = types.SimpleNamespace(a=1.0, b=2.0)

    def turn() -> None:
        a = held.a
        del held.a
        held.a = a

    return lambda x: functools.reduce(lambda s, v: s * x + v, vars(held).values(), 0.0), turn


@pytest.mark.parametrize("name", CASES)
def test_changes_are_seen(name: str) -> None:
    function, change = CASES[name]()
    facts = Surroundings(function).facts
    assert all(unchanged(place, value) for place, value in facts)
    change()
    assert any(not unchanged(place, value) for place, value in facts)
    again = Surroundings(function).facts
    assert all(unchanged(place, value) for place, value in again)


def test_compiled() -> None:
    order, queue = {"a": 2.0, "b": 3.0}, collections.deque([1.0])
    window, numbers = [slice(0, 2)], [1.0] * 100
    buffer, variable = array.array("d", [1.0]), contextvars.ContextVar("v", default=1.0)

    def function(x: Any) -> Any:
        total = x[window[0]].sum() + queue[-1] + numbers[-1] + buffer[0] + variable.get()
        for value in order.values():
            total = total * x[0] + value
        return total

    x = np.array([2.0, 3.0, 5.0])
    compiled = tg.jit(function)

    def others() -> None:
        queue.append(4.0)
        window[0] = slice(1, 3)
        numbers[-1], buffer[0] = 7.0, 9.0
        variable.set(6.0)

    changes: list[Callable[[], Any]] = [
        lambda: None,
        lambda: order.update(a=order.pop("a")),
        others,
    ]
    for change in changes:
        change()
        for _ in range(2):
            assert compiled(x) == function(x)


def test_numbers_of_other_classes() -> None:
    x = np.array([2.0, 3.0], np.float32)
    found = tg.jit(lambda x: np.maximum(x, Colour.BLUE) ** Colour.BLUE)(x)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, [4.0, 9.0])
