"""Objects that several functions name, and methods that variables hold: once an object was asked
only for what the first of the functions names of its class, and a held method stayed that of the
object which it had been bound to."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.state_programs import loaded

pytestmark = pytest.mark.usefixtures("kernels_in_python")

X = np.array([0.5, 1.5])
HEAD = """
import collections, functools, operator, types
import numpy as np
import tracegrad as tg

class C:
    a, b, k = 1.0, 2.0, 3.0
    def m(self): return self.k
    def times(self, x): return x * self.k
    @property
    def p(self): return self.k * 2
    @classmethod
    def of_class(cls): return cls.k

class D(C):
    def m(self): return super().m() + self.b

c, d = C(), D()
"""
OF_CLASS = ["C.k = 3.5", "C.a = 9.0", "c.k = 4.0", "c.a = 2.0", "C.b = 0.5", "c = C()"]
OF_BASES = [*OF_CLASS[:2], "D.k = 1.0", "D.a = 2.0", "d.k = 0.5", "C.b = 7.0", "d = D()"]
METHODS = ["C.m = lambda self: 7.0", "C.p = 8.0", "C.of_class = classmethod(lambda cls: 5.0)"]
HELD = ["c.k = 5.0", "h = C().times", "h = C().times; h.__self__.k = 9.0", "h = D().times"]
HELD += ["C.times = lambda self, x: x + self.k", "h = c.times", "h = np.cos", "h = c.times"]
SEVERAL: dict[str, tuple[str, list[str]]] = {
    "attributes": ("def g(x): return x * c.b\ndef f(x): return g(x) * c.a", OF_CLASS),
    "attributes, later": ("def g(x): return x * c.b\ndef f(x): return c.a * g(x)", OF_CLASS),
    "three": (
        "def e(x): return x * c.k\ndef g(x): return e(x) * c.b\ndef f(x): return c.a * g(x)",
        OF_CLASS,
    ),
    "method": ("def g(x): return x * c.m()\ndef f(x): return c.a * g(x)", OF_CLASS + METHODS),
    "property": ("def g(x): return x * c.p\ndef f(x): return c.a * g(x)", OF_CLASS + METHODS),
    "given": ("def g(x, o): return x * o.m()\ndef f(x): return c.a * g(x, c)", OF_CLASS + METHODS),
    "default": ("def g(x, o=c): return x * o.k\ndef f(x): return c.a * g(x)", OF_CLASS[:4]),
    "closure": (
        "def made(o): return lambda x: x * o.k\ng = made(c)\ndef f(x): return c.a * g(x)",
        OF_CLASS[:4],
    ),
    "in a list": (
        "L = [c]\ndef g(x): return x * L[0].k\ndef f(x): return L[0].a * g(x)",
        [*OF_CLASS, "L[0] = D()"],
    ),
    "of the object's own": (
        "c.fn = lambda x: x * c.k\ndef f(x): return c.fn(x) * c.a",
        OF_CLASS[:4],
    ),
    "inherited": ("def g(x): return x * d.k\ndef f(x): return d.a * g(x)", OF_BASES),
    "super": (
        "def g(x): return x * d.m()\ndef f(x): return d.a * g(x)",
        [*OF_BASES, *METHODS, "D.m = C.m"],
    ),
    "of the class": (
        "def g(x): return x * C.of_class()\ndef f(x): return C.a * g(x)",
        [*OF_CLASS[:2], *METHODS, "C.k = 1.0"],
    ),
    "attrgetter": (
        "h = operator.attrgetter('k')\ndef f(x): return x * h(c)",
        ["c.k = 4.0", "C.a = 3.0", "h = operator.attrgetter('a')", "c.a = 5.0"],
    ),
    "methodcaller": (
        "h = operator.methodcaller('m')\ndef f(x): return x * h(c)",
        ["c.k = 4.0", *METHODS[:1], "h = operator.methodcaller('of_class')", *METHODS[2:]],
    ),
}
BOUND: dict[str, tuple[str, list[str]]] = {
    "variable": ("h = c.times\ndef f(x): return h(x)", HELD),
    "list": (
        "L = [c.times]\ndef f(x): return L[0](x)",
        [s.replace("h ", "L[0] ") for s in HELD[:2]],
    ),
    "attribute": (
        "c.h = c.times\ndef f(x): return c.h(x)",
        ["c.k = 5.0", "d.k = 7.0; c.h = d.times", "c = d", "d.h = c.times"],
    ),
    "partial": (
        "h = functools.partial(c.times)\ndef f(x): return h(x)",
        ["c.k = 5.0", "h = functools.partial(d.times)", "d.k = 9.0"],
    ),
    "of a class": (
        "h = C.of_class\ndef f(x): return x * h()",
        ["C.k = 5.0", "h = D.of_class", "D.k = 7.0"],
    ),
    "made": (
        "w = np.array([3.0, 4.0])\ndef m(o, x): return x * o\n"
        "h = types.MethodType(m, 2.0)\ndef f(x): return h(x)",
        [
            "h = types.MethodType(m, 3.0)",
            "h = types.MethodType(m, w)",
            "w[0] = 7.0",
            "h = types.MethodType(lambda o, x: x + o, 3.0)",
        ],
    ),
    "of a dict": (
        "t = {'k': 1.0}\nh = t.get\ndef f(x): return x * h('k')",
        ["t['k'] = 3.0", "h = {'k': 7.0}.get", "h = {'k': 8.0}.__getitem__"],
    ),
    "of a list": (
        "t = [1.0, 2.0]\nh = t.__getitem__\ndef f(x): return x * h(0)",
        ["t[0] = 3.0", "h = (5.0, 4.0).__getitem__", "h = t.count", "t.append(0)"],
    ),
    "of a set": (
        "t = {1.0}\nh = t.__contains__\ndef f(x): return x * (2.0 if h(1.0) else 3.0)",
        ["t.discard(1.0)", "h = {1.0}.__contains__"],
    ),
    "of a deque": (
        "t = collections.deque([1.0, 2.0])\nh = t.__getitem__\ndef f(x): return x * h(0)",
        ["t.appendleft(9.0)"],
    ),
    "of an array": (
        "t = np.array([1.0, 2.0])\nh = t.sum\ndef f(x): return x * h()",
        ["t[0] = 3.0", "h = t.max", "t[0] = 9.0", "t = np.ones(2); h = t.sum"],
    ),
    "operator of an array": (
        "t = np.array([1.0, 2.0])\nh = t.__mul__\ndef f(x): return x * h(x)",
        ["t[0] = 3.0", "h = t.__add__", "t = np.ones(2); h = t.__add__"],
    ),
    "of a Tensor": (
        "t = tg.tensor([1.0, 2.0])\nh = t.sum\ndef f(x): return x * h()",
        ["t[0] = 3.0", "h = t.max", "t = tg.tensor([4.0, 5.0]); h = t.sum"],
    ),
    "of a text": ("h = '2.5'.strip\ndef f(x): return x * float(h())", ["h = '4.5'.strip"]),
}
_COUNT = itertools.count()


@pytest.mark.parametrize("name", [*SEVERAL, *BOUND])
def test_changes_are_seen(name: str, tmp_path: Path) -> None:
    text, changes = {**SEVERAL, **BOUND}[name]
    for order in (changes, changes[::-1]):
        plain, compiled = (
            loaded(HEAD + text, f"named_{next(_COUNT)}", str(tmp_path)) for _ in range(2)
        )
        f = tg.jit(compiled.f)
        for change in ("pass", *order):
            for module in (plain, compiled):
                exec(change, module.__dict__)
            for _ in range(2):
                assert outcome(f) == outcome(plain.f), change


def outcome(f: Any) -> Any:
    """The numbers that a function gives, or the class of its error."""
    try:
        found = f(X)
    except AttributeError as error:
        return type(error)
    return np.asarray(found).tolist()
