"""What code reads without spelling its name, of classes, and of numbers and arrays of the user's
classes: what changes between two calls is seen by the second, in the numbers."""

from __future__ import annotations

import collections
import dataclasses
import inspect
import types
import typing
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
X = np.array([1.0, 2.0, 3.0])


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__.replace("_", " ").strip()] = make
    return make


# --- what is read without its name --------------------------------------------------------------


@case
def _answers_of_a_module() -> Case:
    module: Any = types.ModuleType("made_for_this")
    table = {"number": 2.0}
    module.__getattr__ = lambda name: table[name]
    return lambda x: x * module.number, lambda: table.update(number=3.0)


@case
def _variable_before_the_answer() -> Case:
    module: Any = types.ModuleType("made_for_this")
    module.__getattr__ = lambda name: 2.0
    return lambda x: x * module.number, lambda: setattr(module, "number", 3.0)


@case
def _attribute_in_a_pattern() -> Case:
    class Point:
        a = 1.0

    point = Point()

    def function(x: Any) -> Any:
        match point:
            case Point(a=1.0):
                return x * 2
            case Point(a=a):
                return x * a
        return x

    return function, lambda: setattr(point, "a", 4.0)


@case
def _arguments_of_a_pattern() -> Case:
    class Point:
        __match_args__ = ("a", "b")
        a, b = 1.0, 3.0

    point = Point()

    def function(x: Any) -> Any:
        match point:
            case Point(a):
                return x * a
        return x

    return function, lambda: setattr(Point, "a", 4.0)


def _shown(show: Callable[[Any], str]) -> Callable[[], Case]:
    def make() -> Case:
        class Named:
            name = "a"

            def __repr__(self) -> str:
                return self.name

        named = Named()
        return lambda x: x * len(show(named)), lambda: setattr(Named, "name", "abc")

    return make


CASES |= {
    "repr": _shown(lambda it: repr(it)),
    "str": _shown(lambda it: str(it)),
    "f-string": _shown(lambda it: f"{it}"),
    "f-string of repr": _shown(lambda it: f"{it!r}"),
    "format": _shown(lambda it: "{}".format(it)),  # noqa: UP032
}


def _of_dataclass(read: Callable[[Any], float], change: Callable[[Any], Any]) -> Any:
    def make() -> Case:
        @dataclasses.dataclass
        class Data:
            a: float = dataclasses.field(default=2.0, metadata={"scale": [2.0]})

        return lambda x: x * read(Data), lambda: change(Data)

    return make


CASES |= {
    "default of a field": _of_dataclass(
        lambda c: dataclasses.fields(c)[0].default,
        lambda c: setattr(c.__dataclass_fields__["a"], "default", 6.0),
    ),
    "metadata of a field": _of_dataclass(
        lambda c: dataclasses.fields(c)[0].metadata["scale"][0],
        lambda c: (
            c.__dataclass_fields__["a"].metadata["scale"].append(c)
            or c.__dataclass_fields__["a"].metadata["scale"].__setitem__(0, 6.0)
        ),
    ),
    "hints": _of_dataclass(
        lambda c: len(typing.get_type_hints(c)), lambda c: c.__annotations__.update(b=int)
    ),
    "annotations": _of_dataclass(
        lambda c: len(inspect.get_annotations(c)), lambda c: c.__annotations__.update(b=int)
    ),
    "parameters": _of_dataclass(
        lambda c: 2.0 if c.__dataclass_params__.frozen else 1.0,
        lambda c: setattr(c.__dataclass_params__, "frozen", True),
    ),
}


def _described(attribute: str, value: Any) -> Callable[[], Case]:
    def make() -> Case:
        def inner(y: float) -> None:
            """Text."""

        return (
            {
                "__name__": lambda x: x * len(inner.__name__),
                "__doc__": lambda x: x * len(inner.__doc__ or ""),
                "__annotations__": lambda x: x * len(inner.__annotations__),
            }[attribute],
            lambda: setattr(inner, attribute, value),
        )

    return make


CASES |= {
    f"{name} of a function": _described(name, value)
    for name, value in (("__name__", "another"), ("__doc__", "Another."), ("__annotations__", {}))
}


@case
def _name_of_the_class_of_an_object() -> Case:
    class Named:
        pass

    named = Named()
    return lambda x: x * len(type(named).__name__), lambda: setattr(Named, "__name__", "A")


@case
def _bases() -> Case:
    class A:
        pass

    class B(A):
        pass

    return lambda x: x * len(B.__mro__), lambda: setattr(B, "__bases__", (type("C", (A,), {}),))


# --- classes ------------------------------------------------------------------------------------


@case
def _class_in_a_class() -> Case:
    class Model:
        class Options:
            class More:
                rate = 2.0

            scale = 3.0

        def __call__(self, x: Any) -> Any:
            return x * self.Options.scale * self.Options.More.rate

    return Model(), lambda: setattr(Model.Options.More, "rate", 5.0)


class Meta(type):
    factor = 2.0

    def __getitem__(cls, key: str) -> Any:
        return cls.table[key]  # type: ignore[attr-defined]

    def __instancecheck__(cls, it: Any) -> bool:
        return cls.factor == 2.0

    def __call__(cls, x: Any) -> Any:
        return x * cls.factor


def _of_metaclass(read: Callable[[Any, Any], Any], change: Callable[[Any], Any]) -> Any:
    def make() -> Case:
        class Made(metaclass=Meta):
            table: Any = {"a": 1.0}  # noqa: RUF012

        return lambda x: read(Made, x), lambda: change(Made)

    return make


CASES |= {
    "item of a class": _of_metaclass(lambda c, x: x * c["a"], lambda c: c.table.update(a=4.0)),
    "instance check": _of_metaclass(
        lambda c, x: x * 2 if isinstance(3, c) else x, lambda c: setattr(c, "factor", 3.0)
    ),
    "call of a class": _of_metaclass(lambda c, x: c(x), lambda c: setattr(c, "factor", 3.0)),
}


@case
def _class_getitem() -> Case:
    class Made:
        table: Any = {"a": 1.0}  # noqa: RUF012

        def __class_getitem__(cls, key: str) -> Any:
            return cls.table[key]

    return lambda x: x * Made["a"], lambda: Made.table.update(a=4.0)


@case
def _new() -> Case:
    class Made:
        factor = 2.0

        def __new__(cls, x: Any) -> Any:
            return x * cls.factor

    return lambda x: Made(x), lambda: setattr(Made, "factor", 3.0)


# --- values of the user's classes ---------------------------------------------------------------


def _value(kind: type, *args: Any) -> Callable[[str], Callable[[], Case]]:
    def of(change: str) -> Callable[[], Case]:
        def make() -> Case:
            def scale(self: Any) -> float:
                return float(self.own * self.shared)

            made: Any = type("Own", (kind,), {"shared": 2.0, "scale": scale})
            it = np.ones(3).view(made) if kind is np.ndarray else made(*args)
            it.own = 3.0
            return (
                lambda x: x * it.scale(),
                {
                    "attribute": lambda: setattr(it, "own", 5.0),
                    "attribute of the class": lambda: setattr(made, "shared", 5.0),
                    "method": lambda: setattr(made, "scale", lambda self: 7.0),
                }[change],
            )

        return make

    return of


CASES |= {
    f"{change} of a {kind.__name__}": _value(kind, *args)(change)
    for kind, *args in (
        (float, 2.0), (int, 2), (str, "a"), (tuple, (1.0,)), (list, [0.0] * 100),
        (frozenset, (1,)), (np.ndarray,), (np.float64, 2.0),
    )
    for change in ("attribute", "attribute of the class", "method")
}  # fmt: skip


@case
def _arguments_of_an_exception() -> Case:
    error = ValueError(2.0)
    return lambda x: x * error.args[0], lambda: setattr(error, "args", (3.0,))


@case
def _factory_of_a_defaultdict() -> Case:
    found: Any = collections.defaultdict(lambda: 2.0)
    return (
        lambda x: x * found.copy()["a"],
        lambda: setattr(found, "default_factory", lambda: 3.0),
    )


@case
def _weak_proxy() -> Case:
    class Parent:
        scale = 2.0

    parent = Parent()
    proxy = weakref.proxy(parent)
    return lambda x: x * proxy.scale, lambda: setattr(parent, "scale", 3.0)


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("name", CASES)
def test_changes_are_seen(name: str) -> None:
    function, change = CASES[name]()
    facts = Surroundings(function).facts
    assert all(unchanged(place, value) for place, value in facts)
    compiled = tg.jit(function)
    before = function(X)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), before)
    change()
    after = function(X)
    assert not np.array_equal(before, after), "the change has to be one"
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), after)


def test_proxy_of_nothing() -> None:
    class Parent:
        scale = 2.0

    parent = Parent()
    box = [weakref.proxy(parent)]
    compiled = tg.jit(lambda x: x * box[0].scale)
    np.testing.assert_array_equal(compiled(X), X * 2)
    del parent
    with pytest.raises(ReferenceError):
        compiled(X)
