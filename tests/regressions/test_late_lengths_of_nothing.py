"""Lengths that only a run knows may turn out to be zero: what Python and NumPy raise then is raised
at the user's line, and rows that are not there take no part in a result."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

in_python = pytest.mark.usefixtures("kernels_in_python")
SOME, NONE = np.array([1.0, -2.0, 3.0]), np.array([-1.0, -2.0, -3.0])


def _count(a: Any) -> Any:
    n = 0
    for v in a:
        if v > 0:
            n += 1
    return n


def _in_a_branch(a: Any) -> Any:
    total = sum(v for v in a if v > 0)
    if a[0] != 0:
        total = 1 / total
    return total


def _mean(x: list[Any]) -> Any:
    return sum(x) / len(x)


QUOTIENTS: dict[str, Callable[[Any], Any]] = {
    "sum of a generator": lambda a: 1 / sum(1 for v in a if v > 0),
    "sum of a list": lambda a: 1 / sum([1 for v in a if v > 0]),
    "sum of floats": lambda a: 2.5 / sum([1.5 for v in a if v > 0]),
    "counted": lambda a: 1 / _count(a),
    "float of a length": lambda a: 1 // float(len(a[a > 0])),
    "remainder by a float": lambda a: 7 % float(len(a[a > 0])),
    "length of a list": lambda a: 1 // float(len([v for v in a if v > 0])),
    "sum of elements": lambda a: 1 / sum(v for v in a if v > 0),
    "sum of elements, whole": lambda a: 7 // sum([v for v in a if v > 0]),
    "remainder by elements": lambda a: 7 % sum(v for v in a if v > 0),
    "mean of harmonies": lambda a: len(a[a > 0]) / sum(1 / v for v in a if v > 0),
    "largest or 0": lambda a: 1 / max([v for v in a if v > 0], default=0),
    "in a branch": lambda a: _in_a_branch(a),
    "mean": lambda a: _mean([v for v in a if v > 0]),
    "mean by a count": lambda a: sum(v for v in a if v > 0) / sum(1 for v in a if v > 0),
    "mean, whole": lambda a: sum(v for v in a if v > 0) // len(a[a > 0]),
    "share": lambda a: max([v for v in a if v > 0], default=0) / sum(v for v in a if v > 0),
    "power": lambda a: sum(v for v in a if v > 0) ** -1,
    "whole": lambda a: 7 // sum(1 for v in a if v > 0),
    "of a product": lambda a: 1 / (2 * sum(v for v in a if v > 0)),
    "of a product and a sum": lambda a: 1 / (sum(v for v in a if v > 0) * 0.5 - 0),
    "of a negative": lambda a: 1 / -sum(v for v in a if v > 0),
    "of abs": lambda a: 1 / abs(sum(v for v in a if v > 0)),
    "of a square": lambda a: 1 / sum(v for v in a if v > 0) ** 2,
    "of a root": lambda a: 1 / math.sqrt(sum(v for v in a if v > 0)),
    "of float": lambda a: 1 / float(sum(v for v in a if v > 0)),
    "of int": lambda a: 7 // int(sum(v for v in a if v > 0)),
    "of round": lambda a: 7 % round(sum(v for v in a if v > 0), 3),
    "of two totals": lambda a: (
        1 / (sum(v for v in a if v > 0) + 2 * sum(1 / v for v in a if v > 0))
    ),
    "of a share": lambda a: (2 * sum(v for v in a if v > 0)) / (3 * sum(1 / v for v in a if v > 0)),
    "power of a product": lambda a: (2 * sum(v for v in a if v > 0)) ** -2,
}


@in_python
@pytest.mark.parametrize("name", QUOTIENTS)
def test_divided_by_what_may_be_nothing(name: str) -> None:
    f = QUOTIENTS[name]
    compiled = tg.jit(f)
    for _ in range(2):
        np.testing.assert_allclose(compiled(SOME), f(SOME))
        with pytest.raises(ZeroDivisionError):
            f(NONE)
        with pytest.raises(ZeroDivisionError, match="by zero"):
            compiled(NONE)


@in_python
def test_totals_of_something_divide_as_numpys() -> None:
    def f(a: Any) -> Any:
        total = sum(v for v in a if v > -9)
        none = [v for v in a if v > 9]
        started = 1 / sum(none, abs(a[0]) * 0), 1 / max(none, default=a[0] * 0)
        return 1 / total, total / len(none), total / sum(none), a[0] / sum(none), *started

    with np.errstate(all="ignore"):
        for a in (SOME, np.array([-1.0, 1.0])):
            for got, expected in zip(tg.jit(f)(a), f(a), strict=True):
                np.testing.assert_array_equal(got, expected)


OF_NUMPY: dict[str, Callable[[Any], Any]] = {
    "times an element": lambda a, total: 1 / (total * a[0]),
    "plus an element": lambda a, total: 1 / (total + a[0] * 0),
    "NumPy's product": lambda a, total: 1 / np.multiply(2, total),
    "NumPy's absolute value": lambda a, total: 1 / np.abs(total),
    "NumPy's number": lambda a, total: 1 / np.float64(2 * total),
    "as an operand": lambda a, total: a[0] / (2 * total),
    "of an array": lambda a, total: np.ones(2) / (2 * total),
    "logarithm": lambda a, total: np.log(2 * total),
}


@pytest.mark.parametrize("name", OF_NUMPY)
def test_what_meets_numpys_numbers_divides_as_those(name: str) -> None:
    """In native code: CPython's quotient of its own numbers raises."""

    def f(a: Any) -> Any:
        return OF_NUMPY[name](a, sum(v for v in a if v > 0))

    with np.errstate(all="ignore"):
        for a in (SOME, NONE):
            np.testing.assert_allclose(tg.jit(f)(a), f(a))


LOGARITHMS: dict[str, Callable[[Any], Any]] = {
    "of a total": lambda a: math.log(sum(v for v in a if v > 0)),
    "of a product": lambda a: math.log10(0.5 * sum(v for v in a if v > 0)),
    "of a length": lambda a: math.log2(len(a[a > 0])),
    "of a list": lambda a: math.log(len([v for v in a if v > 0]), 2),
    "gamma": lambda a: math.lgamma(sum(v for v in a if v > 0)),
}


@in_python
@pytest.mark.parametrize("name", LOGARITHMS)
def test_logarithms_of_what_may_be_nothing(name: str) -> None:
    f = LOGARITHMS[name]
    compiled = tg.jit(f)
    np.testing.assert_allclose(compiled(SOME), f(SOME))
    with pytest.raises(ValueError) as wanted:
        f(NONE)
    with pytest.raises(ValueError, match=re.escape(str(wanted.value))):
        compiled(NONE)


@in_python
def test_arrays_divide_as_numpys() -> None:
    """A total of an array is NumPy's number, which is infinite or NaN."""

    def f(a: Any) -> Any:
        b = a[a > 0]
        return b.sum() / b.size, np.ones(2) / b.size

    with np.errstate(all="ignore"):
        for a in (SOME, NONE):
            for got, expected in zip(tg.jit(f)(a), f(a), strict=True):
                np.testing.assert_array_equal(got, expected)


@in_python
def test_python_integers_among_the_arguments() -> None:
    def f(x: Any, n: Any) -> Any:
        return x * (1 / n)

    compiled = tg.jit(f)
    assert compiled(3.0, 2) == 1.5
    with pytest.raises(ZeroDivisionError, match="by zero"):
        compiled(3.0, 0)


@in_python
def test_rows_that_are_not_there() -> None:
    def f(a: Any) -> Any:
        return np.ptp([v for v in a if v > 0])

    compiled = tg.jit(f)
    for a in (SOME, np.array([-1.0, 2.5, -3.0]), np.array([1.0, 4.0, 9.0])):
        assert compiled(a) == f(a)
    with pytest.raises(ValueError, match="zero-size array"):
        compiled(NONE)


@pytest.mark.parametrize("function", [np.median, lambda b: np.quantile(b, 0.3), np.nanmedian])
def test_quantiles_of_nothing(function: Callable[[Any], Any]) -> None:
    """In native code, which records the first failure; CPython raises where it stands."""

    def f(a: Any) -> Any:
        return function(a[a > 0])

    compiled = tg.jit(f)
    np.testing.assert_allclose(compiled(SOME), f(SOME))
    with pytest.raises(tg.ShapeError, match="a quantile of no elements") as caught:
        compiled(NONE)
    assert caught.traceback[-1].name in ("f", "<lambda>")


@in_python
@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.unique(a[a > 0]).sum(),
        lambda a: np.cross(a[a > 0], a[a > 0]).sum(),
        lambda a: a[a > 0].nonzero()[0].sum(),
    ],
)
def test_messages_have_no_names_of_ours(f: Callable[[Any], Any]) -> None:
    with pytest.raises(Exception, match="unknown") as caught:
        tg.jit(f)(SOME)
    assert not re.search(r"steps\d", str(caught.value))
