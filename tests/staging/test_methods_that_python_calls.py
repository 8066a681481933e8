"""Operators, properties and other methods that Python calls by itself, with conditions, loops and
writes on traced values in them."""

from __future__ import annotations

import math
import sys
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import Programs, check_gradients, check_values
from tracegrad.staging import reached

POINTS = (np.array([0.63, 0.28, 0.9]), np.array([-0.4, 0.71, 0.35]))
PROGRAMS = Programs()


class Interval:
    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = low, high

    def __add__(self, other: Any) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Interval):
            ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
            return Interval(min(ends), max(ends))
        if other > 0:
            return Interval(self.low * other, self.high * other)
        return NotImplemented

    def __rmul__(self, factor: Any) -> Interval:
        return self * Interval(factor, factor)

    def __contains__(self, v: Any) -> bool:
        return bool(self.low <= v <= self.high)

    def __abs__(self) -> Any:
        return math.hypot(self.low, self.high)

    def __getitem__(self, k: int) -> Any:
        if self.low < 0:
            return self.high * (k + 1)
        return self.low

    def __neg__(self) -> Any:
        return -self.low if self.low < 0 else self.high


@PROGRAMS
def intervals(x: Any) -> Any:
    a, b = Interval(x[0] - 1, x[0]), Interval(x[1], x[1] + x[2])
    for _ in range(3):
        a = a * b + b
    a = 0.5 * a
    inside = 1.0 if 0.7 in a else 0.25
    outside = 2.0 if 0.3 not in a else 0.5
    return abs(a) + a[1] + -b + inside * x[2] + outside * x[1]


class Rows:
    """A sparse matrix by rows."""

    def __init__(self, data: Any, columns: list[list[int]]) -> None:
        self.data, self.columns = data, columns

    def __matmul__(self, v: Any) -> Any:
        out, k = np.zeros(len(self.columns)), 0
        for i, row in enumerate(self.columns):
            for j in row:
                out[i] += self.data[k] * v[j]
                k += 1
        return out


@PROGRAMS
def products(x: Any) -> Any:
    a = Rows(x, [[0, 2], [1]])
    v = np.ones(3)
    for _ in range(3):
        w = a @ v
        v = np.array([w[0], w[1], w[0] - w[1]])
        if w[0] > w[1]:
            v = v / 2
    return np.sum(v**2)


class Reservoir:
    def __init__(self, volume: Any) -> None:
        self._volume, self.spilled = volume, 0.0

    @property
    def volume(self) -> Any:
        return self._volume

    @volume.setter
    def volume(self, v: Any) -> None:
        if v > 1:
            self.spilled += v - 1
            v = 1.0
        self._volume = v

    @property
    def head(self) -> Any:
        return np.sqrt(self._volume) if self._volume > 0.5 else 2 * self._volume


@PROGRAMS
def properties(x: Any) -> Any:
    r = Reservoir(abs(x[0]))
    total = 0.0
    for k in range(12):
        r.volume = r.volume + 0.4 * x[1] * (1 + math.sin(k)) - 0.2 * r.head
        if x[2] > 0.5:
            r.volume *= 1.1
        total += r.head
    return total + r.spilled


class Thermometer:
    """What is set is another number than what is read."""

    def __init__(self) -> None:
        self.kelvin, self.times_set = 273.15, 0

    @property
    def t(self) -> Any:
        return self.kelvin

    @t.setter
    def t(self, celsius: Any) -> None:
        self.kelvin = celsius + 273.15
        self.times_set += 1


@PROGRAMS
def a_setter_that_converts(x: Any) -> Any:
    m = Thermometer()
    if x[0] > 0:
        m.t = x[1]
    for k in range(4):
        if m.t > 273.2 + 0.1 * k:
            m.t = x[2] * k
    return m.t + m.times_set


class Account:
    def __init__(self) -> None:
        self.balance, self.calls = 1.0, 0

    def __iadd__(self, amount: Any) -> Account:  # noqa: PYI034
        self.balance = self.balance + amount
        self.calls += 1
        if self.balance < 0:
            self.balance *= 1.5
        return self

    def __setitem__(self, k: int, v: Any) -> None:
        self.balance = self.balance + k * v


@PROGRAMS
def operators_in_place(x: Any) -> Any:
    a = Account()
    for k in range(6):
        a += x[1] * math.sin(3 * k)
        if a.balance > x[0]:
            a += -x[2]
            a[k] = 0.1
    return a.balance + a.calls


@dataclass
class Clipped:
    v: Any

    def __post_init__(self) -> None:
        if self.v > 0.5:
            self.v = 0.5 + 0.1 * self.v

    @cached_property
    def doubled(self) -> Any:
        return 2 * self.v if self.v > 0 else self.v


@PROGRAMS
def what_dataclasses_call(x: Any) -> Any:
    return sum(Clipped(v).doubled for v in x)


class Shadowed:
    """Has attributes of its own under the names of its methods."""

    def __init__(self) -> None:
        self.calls = 1.0

    def scale(self, v: Any) -> Any:
        self.calls = 100.0
        return v

    @property
    def doubled(self) -> Any:
        return self.calls

    @doubled.setter
    def doubled(self, v: Any) -> None:
        if v > 0:
            self.calls = 2 * v


@PROGRAMS
def attributes_that_hide_methods(x: Any) -> Any:
    s = Shadowed()
    v = x[0]
    if v > 0:
        v = v * 2
    s.scale = v * 3
    first = s.calls
    s.doubled = x[1]
    return first * v + s.calls + s.scale


@pytest.mark.parametrize("way", ["jit", "vmap"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_python(name: str, way: str) -> None:
    check_values(PROGRAMS[name], way, [(x,) for x in POINTS])


@pytest.mark.parametrize("way", ["grad", "jit of grad"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_differences(name: str, way: str) -> None:
    check_gradients(PROGRAMS[name], way, [(x,) for x in POINTS])


def test_classes_have_their_own_methods_afterwards() -> None:
    before = [dict(vars(c)) for c in (Interval, Reservoir, Clipped)]
    for name in ("intervals", "properties", "what_dataclasses_call"):
        tg.jit(PROGRAMS[name])(POINTS[0])
    assert before == [dict(vars(c)) for c in (Interval, Reservoir, Clipped)]


def test_after_an_error_too() -> None:
    def program(x: Any) -> Any:
        found = abs(Interval(x[0], x[1]))
        raise KeyError(type(found).__name__)

    before = Interval.__abs__
    with pytest.raises(KeyError):
        tg.jit(program)(POINTS[0])
    assert Interval.__abs__ is before


def test_several_threads() -> None:
    before, found = dict(vars(Interval)), []
    x = POINTS[0]

    def run() -> None:
        found.append(tg.jit(lambda x: PROGRAMS["intervals"](x))(x))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    np.testing.assert_allclose(found, [PROGRAMS["intervals"](x)] * 4)
    assert before == dict(vars(Interval))


@pytest.mark.parametrize("entered", ["install", "restore"])
def test_an_interrupt_leaves_classes_as_they_are(entered: str) -> None:
    """Ctrl-C where the classes are given other methods, or get their own back: what could not be
    done is done before the next call."""
    own = Interval.__add__
    code = getattr(reached, entered).__code__
    state = {"came": False}

    def interrupt(frame: Any, event: str, _: Any) -> Any:
        session = frame.f_locals.get("session") if frame.f_code is code else None
        due = session is not None and (
            session.methods if entered == "install" else session.installed
        )
        if event == "call" and due:
            sys.settrace(None)
            state["came"] = True
            raise KeyboardInterrupt
        return None

    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            tg.jit(intervals)(POINTS[0])
    finally:
        sys.settrace(before)
    assert state["came"]
    np.testing.assert_allclose(tg.jit(intervals)(POINTS[0]), intervals(POINTS[0]))
    assert Interval.__add__ is own
    assert not reached._HELD
