"""Operators in place with objects that have their own answers, as NumPy's arrays ask them: what
another name of the array shows is written, or it is an error. (`w += x` bound `w` anew.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")


class Reflected:
    """A number without anything of NumPy's."""

    def __radd__(self, other: Any) -> Any:
        return other * 2.0

    __rsub__ = __rmul__ = __radd__


class Refusing(Reflected):
    __array_ufunc__ = None


class Prior(Reflected):
    __array_priority__ = 1000


class Quantity(Reflected):
    """A number that takes part in ufuncs."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*[3.0 if x is self else x for x in inputs], **kwargs)


def _added(w: Any, x: Any) -> Any:
    w += x
    return w


def _subtracted(w: Any, x: Any) -> Any:
    w -= x
    return w


def _multiplied(w: Any, x: Any) -> Any:
    w[:1] *= x
    return w


def _outcome(way: Any, operator: Callable[..., Any], operand: Any) -> Any:
    def f(w: Any) -> Any:
        w = w * 1.0
        view = w[:1]
        return operator(w, operand), view

    try:
        return [np.asarray(x).tolist() for x in way(f)(np.array([1.0, 2.0]))]
    except TypeError:
        return "refused"


@pytest.mark.parametrize("kind", [Reflected, Refusing, Prior, Quantity])
@pytest.mark.parametrize("operator", [_added, _subtracted, _multiplied])
def test_in_place(operator: Callable[..., Any], kind: type) -> None:
    expected = _outcome(lambda f: f, operator, kind())
    assert _outcome(tg.jit, operator, kind()) == expected
    forwards = lambda f: lambda w: tg.jvp(f, (w,), (w,))[0]  # noqa: E731
    assert _outcome(forwards, operator, kind()) == expected
