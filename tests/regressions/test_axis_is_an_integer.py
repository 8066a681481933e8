"""An axis is an integer: no float, no array, wherever a function takes one.

`tg.min(x, y)` with one element in y was once taken for a minimum along an axis, and gave numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.arange(6.0).reshape(2, 3)
NO_AXES: dict[str, Any] = {
    "a float": 0.0,
    "True": True,
    "NumPy's False": np.False_,
    "a NumPy float": np.float64(0),
    "a list of a float": [0.0],
    "a tuple of a float": (1.0,),
    "an array without axes": np.array(0.0),
    "an array of one float": np.array([0.0]),
    "an array of one integer": np.array([0]),
    "a Tensor without axes": tg.tensor(0.0),
    "a Tensor of one float": tg.tensor([0.0]),
    "a Tensor of one integer": tg.tensor([0]),
}


def takers(namespace: Any, names: set[str]) -> list[tuple[str, str]]:
    """(function, parameter) of all that take an axis."""
    found = []
    for name in sorted(set(getattr(namespace, "__all__", dir(namespace)))):
        function = getattr(namespace, name, None)
        if name.startswith("_") or not callable(function) or isinstance(function, type):
            continue
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            continue
        found += [(name, p) for p in parameters if p in names]
    return found


FUNCTIONS = takers(tg.ops, {"axis", "axis1"})
METHODS = takers(tg.Tensor, {"dim", "dim0"})
UNBIASED = {"std", "var"}
"""Methods of which a boolean in the place of a dimension says whether Bessel's correction is
made."""
OPERANDS = {"max", "min"}
"""Methods that take a Tensor in the place of a dimension."""


def refuses(name: str, call: Callable[[], Any]) -> None:
    try:
        result = call()
    except TypeError:
        return
    pytest.fail(f"{name} gives {result!r}")


@pytest.mark.parametrize("kind", NO_AXES)
def test_functions_refuse(kind: str) -> None:
    assert len(FUNCTIONS) > 40
    for name, parameter in FUNCTIONS:
        function = getattr(tg.ops, name)
        operand: Any = [X, X] if name in ("stack", "concatenate") else X
        for given in (operand, [tg.tensor(X)] * 2 if operand is not X else tg.tensor(X)):
            refuses(name, lambda g=given, f=function, p=parameter: f(g, **{p: NO_AXES[kind]}))


@pytest.mark.parametrize("kind", NO_AXES)
def test_methods_refuse(kind: str) -> None:
    assert len(METHODS) > 40
    for name, parameter in METHODS:
        if name in OPERANDS and isinstance(NO_AXES[kind], tg.Tensor):
            continue
        if name in UNBIASED and NO_AXES[kind] is True:
            continue
        refuses(name, lambda n=name, p=parameter: getattr(tg.tensor(X), n)(**{p: NO_AXES[kind]}))


@pytest.mark.parametrize("function", [tg.max, tg.min], ids=["max", "min"])
@pytest.mark.parametrize("other", [0, 0.0, [0], [0.0], [[0.0, 1.0, 2.0]]], ids=repr)
def test_extremes_of_two_tensors_are_refused_by_name(
    function: Callable[..., Any], other: Any
) -> None:
    with pytest.raises(TypeError, match=rf"tracegrad.{function.__name__}imum"):
        function(tg.tensor(X), tg.tensor(other))


def test_methods_of_two_tensors_are_elementwise() -> None:
    x = tg.tensor([[1.0], [5.0]])
    np.testing.assert_array_equal(x.min(tg.tensor([0.0])), [[0.0], [0.0]])
    np.testing.assert_array_equal(x.max(tg.tensor(2.0)), [[2.0], [5.0]])


@pytest.mark.parametrize("axis", [0, -1, np.int64(0), np.array(1)])
def test_integers_are_axes(axis: Any) -> None:
    np.testing.assert_array_equal(tg.sum(X, axis), np.sum(X, int(axis)))
    np.testing.assert_array_equal(tg.cumsum(X, axis), np.cumsum(X, int(axis)))
    np.testing.assert_array_equal(np.max(tg.tensor(X), axis=int(axis)), np.max(X, int(axis)))


def test_shifts_are_integers() -> None:
    with pytest.raises(TypeError, match="integer"):
        tg.roll(X, 1.0, 0)


SHIFTS: dict[str, Any] = {
    "one": lambda x, k: np.roll(x, k, axis=1),
    "flat": lambda x, k: np.roll(x, -k),
    "for each axis": lambda x, k: np.roll(x, (k, 1), axis=(0, 1)),
    "the second": lambda x, k: np.roll(x, [2, k], axis=(0, 1)),
    "twice": lambda x, k: np.roll(x, (k, -3 * k)),
    "an array": lambda x, k: np.roll(x, np.array([1, -2]), axis=(0, 1)),
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_of_a_roll(name: str) -> None:
    """Integers that only a run knows among those that are known, and arrays of them."""
    x = np.arange(6.0).reshape(2, 3)
    rolled = tg.jit(SHIFTS[name])
    for k in (np.int64(2), np.int64(-5)):
        np.testing.assert_array_equal(rolled(x, k), SHIFTS[name](x, k))
    with pytest.raises(TypeError, match="a shift is an integer, not the number"):
        tg.roll(x, 1.5, 0)
