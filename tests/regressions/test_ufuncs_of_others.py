"""Ufuncs are known by identity: those of others are refused by name, where a derivative would be
lost."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
import pytest
import scipy.special as special

import tracegrad as tg
from tests.regressions.ufuncs import X
from tracegrad.errors import UnsupportedFunctionError
from tracegrad.faces.numpy.ufuncs import KNOWN, SCIPY


@numba.vectorize
def gamma(b: Any) -> Any:
    return 1 / np.sqrt(1 - b * b)


@numba.vectorize(["float64(float64)"])
def sigmoid(b: Any) -> Any:
    return b * b


@numba.vectorize(["float64(float64, float64)"])
def mv(a: Any, b: Any) -> Any:
    return a - b


NUMBAS = {"numba.vectorize": (gamma, 1), "numba.vectorize typed": (sigmoid, 1),
          "numba.vectorize binary": (mv, 2)}  # fmt: skip
OTHERS: dict[str, tuple[Any, int]] = {
    "np.frompyfunc": (np.frompyfunc(lambda b: b * b, 1, 1), 1),
    "np.frompyfunc binary": (np.frompyfunc(operator.add, 2, 1), 2),
}


def modes() -> Iterator[Callable[[Callable[..., Any]], Any]]:
    x = np.array([0.3, 0.8])
    yield lambda f: tg.jit(f)(x)
    yield lambda f: tg.grad(f)(x)
    yield lambda f: tg.jit(tg.grad(f))(x)
    yield lambda f: tg.jvp(f, (x,), (x,))
    yield lambda f: tg.vmap(f)(np.stack([x, x]))
    yield lambda f: f(tg.tensor(x, requires_grad=True))


@pytest.mark.parametrize("name", OTHERS)
def test_ufuncs_of_others_are_refused_by_name(name: str) -> None:
    ufunc, count = OTHERS[name]
    text = (
        r"test_ufuncs_of_others.py:\d+: the ufunc "
        rf"'{ufunc.__name__.replace('(', '.').replace(')', '.')}'.*custom_vjp"
    )
    for mode in modes():
        with pytest.raises(UnsupportedFunctionError, match=text):
            mode(lambda v: np.sum(ufunc(*[v] * count)))


@pytest.mark.parametrize("name", NUMBAS)
def test_vectorized_by_numba_where_a_function_is_not_rewritten(name: str) -> None:
    """Staged code calls their Python functions (tests/staging/test_numba_functions.py)."""
    ufunc, count = NUMBAS[name]
    with pytest.raises(UnsupportedFunctionError, match=r"numba\.vectorize"):
        tg.jit(lambda v: np.sum(ufunc(*[v] * count)), stage=False)(np.array([0.3, 0.8]))


def test_ufuncs_of_others_where_nothing_is_lost() -> None:
    np.testing.assert_allclose(np.asarray(gamma(tg.tensor([0.6]))), [1.25])

    @tg.custom_vjp
    def lorentz(b: Any) -> Any:
        return gamma(b)

    lorentz.defvjp(lambda b: (gamma(b), b), lambda b, ct: (ct * b * gamma(b) ** 3,))
    np.testing.assert_allclose(
        tg.grad(lambda v: np.sum(lorentz(v)))(np.array([0.6])), [0.6 * 1.25**3]
    )


def test_unknown_ufuncs_of_numpy() -> None:
    with pytest.raises(
        UnsupportedFunctionError,
        match=r"test_ufuncs_of_others.py:\d+: np.isnat has no counterpart",
    ):
        tg.jit(np.isnat)(X)


def test_every_function_of_scipy_is_known_or_refused() -> None:
    x = np.array([0.3, 0.8])
    for name in dir(special):
        ufunc = getattr(special, name)
        if not isinstance(ufunc, np.ufunc) or ufunc.__name__ in SCIPY or ufunc in KNOWN:
            continue
        with pytest.raises(
            UnsupportedFunctionError, match=rf"scipy\.special\.{ufunc.__name__} has no counterpart"
        ):
            tg.vjp(lambda v, f=ufunc: f(*[v] * f.nin), x)


@pytest.mark.parametrize(
    "function", [np.emath.sqrt, np.emath.log, np.emath.arccos, lambda v: np.emath.power(v, 2)]
)
def test_functions_of_the_same_name_elsewhere(function: Any) -> None:
    for mode in modes():
        with pytest.raises(
            UnsupportedFunctionError, match=r"np\.emath\.\w+ has no counterpart.*astype\(complex\)"
        ):
            mode(lambda v: np.sum(np.real(function(v))))
