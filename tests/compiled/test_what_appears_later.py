"""What code asks for that is not there yet: what appears between two calls is seen by the second,
in the numbers."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn.metrics

import tracegrad as tg
from tracegrad.surroundings.captures import _MOST_ASKED, Surroundings
from tracegrad.surroundings.members import names_found
from tracegrad.surroundings.places import unchanged

Case = tuple[Callable[[Any], Any], Callable[[], Any]]
"""A function, and a change of what it reads."""
CASES: dict[str, Callable[[], Case]] = {}
X = np.array([1.0, 2.0, 3.0])


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__.replace("_", " ").strip()] = make
    return make


def asked(x: Any, it: Any) -> Any:
    return x * 2 if hasattr(it, "later") else x


def by_default(x: Any, it: Any) -> Any:
    return x * getattr(it, "later", 3.0)


def by_error(x: Any, it: Any) -> Any:
    try:
        return x * it.later
    except AttributeError:
        return x


def by_any_error(x: Any, it: Any) -> Any:
    try:
        return x * it.later
    except Exception:
        return x


def without_a_name(x: Any, it: Any) -> Any:
    try:
        return x * it.later
    except:  # noqa: E722
        return x


def behind_another(x: Any, it: Any) -> Any:
    try:
        return x * it.later
    except ZeroDivisionError:
        return x * 7
    except:  # noqa: E722
        return x


def suppressed(x: Any, it: Any) -> Any:
    with contextlib.suppress(Exception):
        x = x * it.later
    return x


WAYS = (asked, by_default, by_error, by_any_error, without_a_name, behind_another, suppressed)


def _asks(way: Callable[[Any, Any], Any], kind: str) -> Callable[[], Case]:
    def make() -> Case:
        class Holder:
            pass

        def function() -> None:
            pass

        held = Holder()
        it = {
            "object": held,
            "class": Holder,
            "module": types.ModuleType("made_for_this"),
            "function": function,
            "class of an object": held,
        }[kind]
        owner: Any = Holder if kind == "class of an object" else it
        return lambda x: way(x, it), lambda: setattr(owner, "later", 5.0)

    return make


CASES |= {
    f"{way.__name__} {kind}": _asks(way, kind)
    for way in WAYS
    for kind in ("object", "class", "module", "function", "class of an object")
}


def _in_module(handler: str, name: str = "later") -> Callable[[], Case]:
    def make() -> Case:
        space: dict[str, Any] = {}
        exec(f"def f(x):\n try:\n  return x * {name}\n except{handler}:\n  return x", space)
        return space["f"], lambda: space.update(later=5.0)

    return make


CASES |= {f"global{handler}": _in_module(handler) for handler in ("", " NameError", " Exception")}


@case
def _variable_without_a_value() -> Case:
    def function(x: Any) -> Any:
        try:
            return x * later
        except NameError:
            return x

    def change() -> None:
        nonlocal later
        later = 5.0

    if X.ndim > 1:
        later = 1.0
    return function, change


@case
def _module_that_is_loaded() -> Case:
    sys.modules.pop("tracegrad_later", None)

    def function(x: Any) -> Any:
        try:
            import tracegrad_later
        except ImportError:
            return x
        return x * tracegrad_later.number

    def change() -> None:
        module: Any = types.ModuleType("tracegrad_later")
        module.number = 2.0
        sys.modules["tracegrad_later"] = module

    return function, change


@case
def _protocol() -> Case:
    @typing.runtime_checkable
    class Walks(typing.Protocol):
        def walk(self) -> None: ...

    class Animal:
        pass

    held = Animal()
    return (
        lambda x: x * 2 if isinstance(held, Walks) else x,
        lambda: setattr(Animal, "walk", lambda self: None),
    )


@case
def _all_of_a_module() -> Case:
    module: Any = types.ModuleType("made_for_this")
    module.a = 1.0

    def function(x: Any) -> Any:
        return x * sum(v for k, v in module.__dict__.items() if k[0] != "_")

    return function, lambda: setattr(module, "b", 3.0)


def _listed(kind: str) -> Callable[[], Case]:
    def make() -> Case:
        class Holder:
            a = 1.0

        it = {"object": Holder(), "class": Holder, "module": types.ModuleType("made_for_this")}[
            kind
        ]
        return lambda x: x * len(dir(it)), lambda: setattr(it, "b", 1.0)

    return make


CASES |= {f"dir of a {kind}": _listed(kind) for kind in ("object", "class", "module")}


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


class Slotted:
    __slots__ = ("there", "unset")

    def __init__(self) -> None:
        self.there = 1


class Answering:
    """Answers to any name, which is not asked."""

    def __getattr__(self, name: str) -> int:
        raise AssertionError(name)

    @property
    def computed(self) -> int:
        raise AssertionError


class Meta(type):
    def of_the_metaclass(cls) -> None: ...


class Made(Answering, metaclass=Meta):
    inherited = 3


OBJECTS: list[Any] = [
    Slotted(), Answering(), Made(), Slotted, Made, Meta, type, object, 3, "text", X, np.sum, len,
    np, sys, functools.partial(asked, X), asked, types.SimpleNamespace(there=1), typing.Protocol,
    contextlib.suppress, list[int], contextlib.nullcontext(), Exception(), None, ...,
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(OBJECTS)))
def test_names_are_found_as_one_by_one(k: int) -> None:
    x, missing = OBJECTS[k], object()
    names = {*dir(type(x)), "there", "unset", "computed", "inherited", "of_the_metaclass", "no"}
    names |= set() if isinstance(x, Answering) else {*dir(x)}
    names |= names_found(x)
    found = {n for n in names if inspect.getattr_static(x, n, missing) is not missing}
    assert names_found(x) == found


def test_beside_a_large_package() -> None:
    """Whose functions ask thousands of objects for hundreds of names."""

    class Holder:
        later: float

    holder = Holder()

    def f(x: Any) -> Any:
        if len(x) > 5:
            return sklearn.metrics.mean_squared_error(x, x)
        return x * holder.later if hasattr(holder, "later") else x

    read = Surroundings(f)
    assert len(read._asked) * len(read._objects) > _MOST_ASKED
    assert len(read.facts) < _MOST_ASKED
    run = tg.jit(f)
    np.testing.assert_array_equal(run(X), X)
    holder.later = 3.0
    np.testing.assert_array_equal(run(X), 3 * X)
