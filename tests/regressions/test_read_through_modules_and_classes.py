"""What a function reads through modules inside of modules, and in the methods of objects that it
makes, is read at each call. The first gave the numbers of the first call: modules were looked into
where a function names them, and not what they hold of the kind; of a class only those methods were
read that code names, and `__init__` is none."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")
Case = Callable[[], tuple[Callable[[Any], Any], Callable[[float], None]]]
PACKAGE = types.ModuleType("package")
for name in "abcd":
    inner = types.ModuleType(f"package.{name}")
    setattr(PACKAGE, name, inner)
    inner.package, inner.k = PACKAGE, 1.0  # type: ignore[attr-defined]
PACKAGE.a.b, PACKAGE.a.b.c, PACKAGE.a.b.c.d = PACKAGE.b, PACKAGE.c, PACKAGE.d


def module_in_module() -> Any:
    return (lambda x: x * PACKAGE.a.k), lambda v: setattr(PACKAGE.a, "k", v)


def module_far_inside() -> Any:
    return (lambda x: x * PACKAGE.a.b.c.d.k), lambda v: setattr(PACKAGE.a.b.c.d, "k", v)


def module_replaced() -> Any:
    def change(v: float) -> None:
        made = types.ModuleType("package.d")
        made.k = v  # type: ignore[attr-defined]
        PACKAGE.d = made

    return (lambda x: x * PACKAGE.d.k), change


def read_when_made() -> Any:
    k = [1.0]

    class Made:
        def __init__(self) -> None:
            self.k = k[0]

    return (lambda x: x * Made().k), lambda v: k.__setitem__(0, v)


def read_by_an_operator() -> Any:
    k = [1.0]

    class Made:
        __array_ufunc__ = None

        def __rmul__(self, x: Any) -> Any:
            return x * k[0]

    return (lambda x: x * Made()), lambda v: k.__setitem__(0, v)


def read_when_a_base_is_made() -> Any:
    k = [1.0]

    class Base:
        def __init__(self) -> None:
            self.k = k[0]

    class Made(Base):
        pass

    return (lambda x: x * Made().k), lambda v: k.__setitem__(0, v)


CASES: list[Case] = [
    module_in_module,
    module_far_inside,
    module_replaced,
    read_when_made,
    read_by_an_operator,
    read_when_a_base_is_made,
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("transform", [lambda f: f, tg.grad, lambda f: tg.grad(tg.jit(f))])
def test_changes_are_seen(case: Case, transform: Callable[[Any], Any]) -> None:
    f, change = case()
    slope = tg.jit(transform(f))
    for v in (1.0, 3.0, 1.0, 2.5):
        change(v)
        assert slope(1.0) == v
