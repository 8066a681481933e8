"""What a function reads, and another part of the program changes between calls where no assignment
to one of the function's variables is seen: Python's own functions that a module hides, memory of
ctypes, functions chosen by type, large buffers."""

from __future__ import annotations

import array
import ctypes
import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

X = np.array([1.0, -2.0, 3.0])
SPACE = globals()
FACTOR = 2.0


def _helper(v: Any) -> Any:
    return max(v[0], v[1])


def hides(name: str, by: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    return lambda: SPACE.__setitem__(name, by), lambda: SPACE.pop(name)


def of_python() -> Any:
    return lambda x: np.sum(abs(x) * len([1, 2])), *hides("abs", lambda v: 10 * v)


def of_python_twice() -> Any:
    return lambda x: np.sum(abs(x) * len([1, 2])), *hides("len", lambda v: 7)


def in_a_helper() -> Any:
    return lambda x: _helper(x) * 2, *hides("max", lambda a, b: a - b)


class Pair(ctypes.Structure):
    _fields_ = (("base", ctypes.c_double), ("power", ctypes.c_int))


def _writes(holder: Any, name: str, value: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    before = getattr(holder, name)
    return lambda: setattr(holder, name, value), lambda: setattr(holder, name, before)


def number_of_c() -> Any:
    c = ctypes.c_double(2.0)
    return lambda x: np.sum(x * c.value), *_writes(c, "value", 5.0)


def held_number_of_c() -> Any:
    c = ctypes.c_int(2)
    holder = SimpleNamespace(c=c)
    return lambda x: np.sum(x**holder.c.value), *_writes(c, "value", 3)


def structure() -> Any:
    p = Pair(1.5, 3)
    return lambda x: np.sum(x * p.base**p.power), *_writes(p, "power", 1)


def array_of_c() -> Any:
    a = (ctypes.c_double * 3)(1, 2, 3)
    change, back = (lambda: a.__setitem__(1, 9.0)), (lambda: a.__setitem__(1, 2.0))
    return lambda x: np.sum(x * np.array(list(a))), change, back


def pointer() -> Any:
    c = ctypes.c_double(2.0)
    p = ctypes.pointer(c)
    return lambda x: np.sum(x * p.contents.value), *_writes(c, "value", 5.0)


def pointer_by_index() -> Any:
    c = ctypes.c_double(2.0)
    p = ctypes.pointer(c)
    return lambda x: np.sum(x * p[0]), *_writes(c, "value", 5.0)


def large_array() -> Any:
    a = array.array("d", np.arange(20000.0))
    change, back = (lambda: a.__setitem__(1, 50.0)), (lambda: a.__setitem__(1, 1.0))
    return lambda x: np.sum(np.array(a)[:3] * x), change, back


def large_bytes() -> Any:
    a = bytearray(100_000)
    change, back = (lambda: a.__setitem__(2, 50)), (lambda: a.__setitem__(2, 0))
    return lambda x: np.sum(a[2] * x), change, back


def _binds(value: float) -> Callable[[], Any]:
    return lambda: SPACE.__setitem__("FACTOR", value)


class _Base:
    pass


class _Derived(_Base):
    pass


def _rule() -> Any:
    @functools.singledispatch
    def rule(kind: Any, x: Any) -> Any:
        return x

    @rule.register
    def _(kind: _Base, x: Any) -> Any:
        return x * 2

    @rule.register
    def _(kind: str, x: Any) -> Any:
        return x * FACTOR

    return rule


def registered_later() -> Any:
    rule, kind = _rule(), _Derived()
    change = functools.partial(rule.register, _Derived, lambda kind, x: x * 5)
    return lambda x: np.sum(rule(kind, x)), change, lambda: None


def chosen_by_type() -> Any:
    rule = _rule()
    return lambda x: np.sum(rule("text", x)), _binds(3.0), _binds(2.0)


def _methods() -> Any:
    class Methods:
        @functools.singledispatchmethod
        def go(self, kind: Any, x: Any) -> Any:
            return x

        @go.register
        def _(self, kind: int, x: Any) -> Any:
            return x * FACTOR

        part = functools.partialmethod(lambda self, k, x: x * k * FACTOR, 2)

    return Methods


def method_chosen_by_type() -> Any:
    m = _methods()()
    return lambda x: np.sum(m.go(1, x)), _binds(3.0), _binds(2.0)


def method_registered_later() -> Any:
    cls = _methods()
    m = cls()
    change = functools.partial(vars(cls)["go"].register, str, lambda self, kind, x: x * 4)
    return lambda x: np.sum(m.go("text", x)), change, lambda: None


def part_of_a_method() -> Any:
    m = _methods()()
    return lambda x: np.sum(m.part(x)), _binds(3.0), _binds(2.0)


CASES = [
    of_python, of_python_twice, in_a_helper, number_of_c, held_number_of_c, structure, array_of_c,
    pointer, pointer_by_index, large_array, large_bytes, registered_later, chosen_by_type,
    method_chosen_by_type, method_registered_later, part_of_a_method,
]  # fmt: skip


def _rows(f: Any) -> Any:
    return lambda rows: np.array([f(row) for row in rows])


WAYS: dict[str, tuple[Any, Any, Any]] = {
    "jit": (tg.jit, lambda f: f, X),
    "jit of grad": (lambda f: tg.jit(tg.grad(f)), tg.grad, X),
    "grad of jit": (lambda f: tg.grad(tg.jit(f)), tg.grad, X),
    "jit of vmap": (lambda f: tg.jit(tg.vmap(f)), _rows, np.stack([X, 2 * X])),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_is_read_at_each_call(case: Any, way: str) -> None:
    f, change, back = case()
    compiled, plain, x = WAYS[way]
    g, expected = compiled(f), plain(f)
    np.testing.assert_allclose(g(x), expected(x), rtol=1e-12)
    before = np.array(expected(x))
    change()
    try:
        after = np.array(expected(x))
        assert not np.allclose(before, after)
        np.testing.assert_allclose(g(x), after, rtol=1e-12)
    finally:
        back()
    np.testing.assert_allclose(g(x), expected(x), rtol=1e-12)


def test_memory_of_c_that_the_function_changes() -> None:
    """It would be changed once, while the function is traced."""
    c, p = ctypes.c_double(2.0), Pair(1.5, 3)
    a = (ctypes.c_double * 2)(1.0, 2.0)
    q = ctypes.pointer(c)

    def number(x: Any) -> Any:
        c.value += 1
        return np.sum(x) * c.value

    def structure(x: Any) -> Any:
        p.power += 1
        return np.sum(x) * p.power

    def element(x: Any) -> Any:
        a[0] = 5.0
        return np.sum(x) * a[0]

    def pointed(x: Any) -> Any:
        q[0] = 7.0
        return np.sum(x) * q[0]

    for f in (number, structure, element, pointed):
        with pytest.raises(tg.errors.TracegradError, match=f"{f.__name__} changes"):
            tg.jit(f)(X)
        assert (c.value, p.power, a[0]) == (2.0, 3, 1.0)
