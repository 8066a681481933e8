"""Errors of habits name what to write instead."""

from __future__ import annotations

import numba
import numpy as np
import pytest
import scipy.stats

import tracegrad as tg

K = np.array([1, 2])


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("nbinom.logpmf", lambda p: scipy.stats.nbinom.logpmf(K, p, 0.5)),
        ("nbinom.logpmf", lambda p: scipy.stats.nbinom(p, 0.5).logpmf(K)),
        ("gamma.logpdf", lambda p: scipy.stats.gamma.logpdf(K, p)),
        ("t.cdf", lambda p: scipy.stats.t.cdf(K, p)),
        ("norm.ppf", lambda p: scipy.stats.norm(p).ppf(0.5)),
    ],
)
def test_distributions_are_named(name: str, call: object) -> None:
    with pytest.raises(tg.ConcretizationError, match=rf"Write tg\.stats\.{name} in its place"):
        tg.grad(lambda p: np.sum(call(p)))(2.0)  # type: ignore[operator]


def test_a_distribution_that_there_is_none_of() -> None:
    with pytest.raises(tg.ConcretizationError, match="Write its formula"):
        tg.grad(lambda p: scipy.stats.levy_stable.logpdf(1.0, p, 0.0))(1.5)


@pytest.mark.parametrize("name", ["njit", "cfunc", "graphs", "source", "explain"])
def test_what_only_compiled_functions_have(name: str) -> None:
    for made in (tg.grad(np.sum), tg.vmap(np.sum), tg.hessian(np.sum)):
        with pytest.raises(TypeError, match=rf"tg\.jit\(tg\.grad\(f\)\)\.{name}"):
            getattr(made, name)(np.ones(3))
    compiled = tg.jit(tg.grad(np.sum))
    assert getattr(compiled, name).__self__ is compiled
    assert callable(tg.jit(tg.grad(tg.jit(tg.grad(lambda x: x**3.0)))).njit)


def test_a_jitted_function_inside_of_numbas() -> None:
    energy = tg.jit(lambda x: np.sum(x**2))

    @numba.njit
    def calls_it(x):  # type: ignore[no-untyped-def]
        return energy(x)

    with pytest.raises(TypeError, match=r"compiled = f\.njit\(\*example\)"):
        calls_it(np.ones(3))


def test_integers_that_floats_were_written_into() -> None:
    def steps(rate, start):  # type: ignore[no-untyped-def]
        u = start.copy()
        u[0] += rate
        return np.sum(u)

    with pytest.raises(tg.DTypeError, match=r"start from u\.astype\(float\)"):
        tg.grad(steps)(0.5, np.array([1, 2]))
