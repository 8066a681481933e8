"""What libraries cannot take is refused by name, with the line and what to write, in every way to
call them: C code of brentq and brenth goes on after such an error and raised anything (SystemError,
AttributeError), conditions inside of libraries advised on tg.cond."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import tracegrad as tg

X = np.array([0.7, 1.3])


def cubic(x: Any) -> Callable[[Any], Any]:
    return lambda z: z**3 + x[0] * z - x[1]


def caught(x: Any) -> Callable[[Any], Any]:
    """An error that a function catches clears the one that C code has not seen."""

    def of(z: Any) -> Any:
        with contextlib.suppress(KeyError):
            {}["a"]
        return x[0] * z - x[1]

    return of


CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "brentq": (lambda x: optimize.brentq(cubic(x), -5, 5), "tg.root"),
    "brentq, caught": (lambda x: optimize.brentq(caught(x), -5, 5), "tg.root"),
    "brenth": (lambda x: optimize.brenth(cubic(x), -5, 5), "tg.root"),
    "root_scalar": (
        lambda x: optimize.root_scalar(cubic(x), bracket=(-5, 5)).root,
        "tg.root",
    ),
    "quad": (
        lambda x: integrate.quad(lambda t: np.exp(-x[0] * t), 0, 1)[0],
        r"tg\.integrate\.quad",
    ),
    "mean": (lambda x: statistics.mean(x) * x[0], "its formula"),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "grad": tg.grad,
    "jacfwd": tg.jacfwd,
    "hessian": tg.hessian,
    "jit": tg.jit,
    "jit of grad": lambda f: tg.jit(tg.grad(f)),
    "grad of jit": lambda f: tg.grad(tg.jit(f)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CALLS)
def test_a_function_of_a_library_is_refused_by_name(name: str, way: str) -> None:
    function, instead = CALLS[name]
    called = f"(?s)test_refused_by_libraries.py:.*{name.partition(',')[0]} works on.*{instead}"
    with pytest.raises(tg.ConcretizationError, match=called):
        WAYS[way](function)(X)


def test_errors_of_plain_calls_stay_their_own() -> None:
    def far(x: Any) -> Any:
        return x[0] * optimize.brentq(lambda z: z**2 + 1.0, -5, 5)

    def missing(x: Any) -> Any:
        with pytest.raises(tg.ConcretizationError):
            float(x[0])
        return x[0] * optimize.brentq(lambda z: {}["a"], -5, 5)

    with pytest.raises(ValueError, match="different signs"):
        tg.grad(far)(X)
    with pytest.raises(KeyError, match="a"):
        tg.grad(missing)(X[:1])


@pytest.mark.parametrize("way", ["grad", "jacfwd", "jit of grad", "grad of jit"])
def test_arrays_are_made_of_iterators(way: str) -> None:
    def function(x: Any) -> Any:
        squares = np.fromiter((v * v for v in x), float)
        first = np.fromiter(map(np.sin, x), np.float64, count=1)
        plain = np.fromiter(range(2), float)
        return np.sum(squares * plain) + np.sum(first)

    np.testing.assert_allclose(WAYS[way](function)(X), [np.cos(X[0]), 2 * X[1]], rtol=1e-15)
    with pytest.raises(ValueError, match="iterator too short"):
        WAYS[way](lambda x: np.sum(np.fromiter(list(x), float, count=3)))(X)


def test_whole_numbers_are_told() -> None:
    whole = tg.jit(lambda x: x.is_integer())(np.array([1.0, 1.5, -0.0, np.inf, np.nan]))
    assert np.asarray(whole).tolist() == [
        np.float64(v).is_integer() for v in (1.0, 1.5, -0.0, np.inf, np.nan)
    ]
    chosen = tg.grad(lambda x: x[0] * x[1] if x[1].is_integer() else x[1])
    assert chosen(np.array([2.0, 3.0])).tolist() == [3.0, 2.0]
    assert chosen(np.array([2.0, 3.5])).tolist() == [0.0, 1.0]
