"""Settings in an object around a jitted function: each change of what it reads is seen by the next
call, and a dataclass costs no more than a plain object, whatever Python keeps of its fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.surroundings.captures import Surroundings

X = np.arange(1.0, 4.0)


class Plain:
    def __init__(self, a: float, b: float = 1.0) -> None:
        self.a, self.b = a, b


@dataclass
class Open:
    a: float
    b: float = 1.0


@dataclass(frozen=True)
class Frozen:
    a: float
    b: float = 1.0


@dataclass(slots=True)
class Slotted:
    a: float
    b: float = 1.0


@dataclass(frozen=True, slots=True)
class FrozenSlotted:
    a: float
    b: float = 1.0


@dataclass
class Computed:
    half: float
    b: float = 1.0

    @property
    def a(self) -> float:
        return self.half * 2


@dataclass(eq=False)
class AllEqual:
    a: float
    b: float = 1.0

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Outer:
    inner: Any

    @property
    def a(self) -> float:
        return self.inner.a  # type: ignore[no-any-return]


@dataclass
class Defaulted:
    b: float = 1.0
    a = 2.0


def loss_of(box: list[Any]) -> Callable[..., Any]:
    return tg.jit(tg.value_and_grad(lambda x: (x * x * box[0].a).sum()))


def expected(a: float) -> tuple[float, Any]:
    return float((X * X * a).sum()), 2 * X * a


def check(f: Callable[..., Any], a: float) -> None:
    value, slope = f(X)
    assert (float(value), slope.tolist()) == (expected(a)[0], expected(a)[1].tolist())


KINDS = [Plain, Open, Frozen, Slotted, FrozenSlotted, AllEqual]


@pytest.mark.parametrize("kind", KINDS)
def test_an_attribute_that_changes_is_seen(kind: Any) -> None:
    one = kind(2.0)
    f = loss_of([one])
    for a in (2.0, 2.0, 3.0, 3.0, 2.0):
        object.__setattr__(one, "a", a)
        check(f, a)


@pytest.mark.parametrize("kind", [*KINDS, Computed])
def test_another_object_is_seen(kind: Any) -> None:
    box = [kind(2.0)]
    f = loss_of(box)
    for k in (1.0, 1.0, 1.5, 1.0):
        box[0] = kind(2.0 * k)
        check(f, box[0].a)


def test_what_a_property_reads_and_what_is_deeper_is_seen() -> None:
    one, outer = Computed(1.0), Outer(Outer(Frozen(2.0)))
    for f, change in (
        (loss_of([one]), lambda a: setattr(one, "half", a / 2)),
        (loss_of([outer]), lambda a: setattr(outer.inner, "inner", Frozen(a))),
    ):
        for a in (2.0, 2.0, 5.0, 2.0):
            change(a)
            check(f, a)


def test_what_a_class_has_for_all_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    f = loss_of([Defaulted()])
    for a in (2.0, 4.0, 4.0, 2.0):
        monkeypatch.setattr(Defaulted, "a", a)
        check(f, a)


def test_a_dataclass_is_compared_by_what_it_holds() -> None:
    """Of a field its value and its name for `match`, not all that `dataclasses` keeps of it."""

    def compared(fields: int) -> int:
        kind = make_dataclass("Settings", [(f"a{k}", float) for k in range(fields)])
        kind.__module__ = __name__
        one: Any = kind(*[1.0] * fields)
        return len(Surroundings(lambda x: x * one.a0).facts)

    assert compared(12) - compared(2) == 2 * 10
