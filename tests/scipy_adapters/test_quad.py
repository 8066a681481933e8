"""`quad`: SciPy's integrals of compiled integrands, and their derivatives."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import tracegrad as tg


def wave(x: Any, a: Any, b: Any) -> Any:
    return np.exp(-a * x * x) * np.cos(b * x) + np.log(1 + x * x)


CASES = {
    "finite": ((0.0, 3.0), {}),
    "reversed": ((3.0, -1.0), {}),
    "points": ((0.0, 3.0), {"points": [1.0, 2.0]}),
    "weighted": ((0.0, 3.0), {"weight": "cos", "wvar": 3.0}),
    "full output": ((0.0, 3.0), {"full_output": 1, "limit": 70}),
}


@pytest.mark.parametrize("case", CASES)
def test_is_scipys(case: str) -> None:
    limits, options = CASES[case]
    ours = tg.scipy.quad(wave, *limits, args=(1.0, 2.0), **options)
    theirs = scipy.integrate.quad(wave, *limits, args=(1.0, 2.0), **options)
    assert len(ours) == len(theirs)
    np.testing.assert_allclose(ours[:2], theirs[:2], rtol=1e-12, atol=1e-16)


def test_infinite_limits() -> None:
    value, _ = tg.scipy.quad(lambda x: np.exp(-x * x), -np.inf, np.inf)
    assert value == pytest.approx(math.sqrt(math.pi), rel=1e-12)


def test_parameters_in_a_tree_and_one_number() -> None:
    f = tg.jit(lambda x, p: np.sum(p["c"] * x ** np.arange(3)) * p["s"])
    value, _ = tg.scipy.quad(f, 0, 1, args=({"c": np.array([1.0, 2.0, 3.0]), "s": 2.0},))
    assert value == pytest.approx(6.0)
    assert tg.scipy.quad(lambda x, a: a * x, 0, 1, args=3)[0] == pytest.approx(1.5)


def test_what_is_read_around_it_is_read_again() -> None:
    """As an operand, as a constant that NumPy computes while it is traced, and as a number."""
    weights, factor = np.array([1.0, 2.0]), [1.0]
    for f in (
        lambda x: np.sum(weights * x),
        lambda x: np.sum(weights) * x,
        lambda x: 3 * factor[0] * x,
    ):
        weights[:], factor[0] = (1.0, 2.0), 1.0
        assert tg.scipy.quad(f, 0, 1)[0] == pytest.approx(1.5)
        weights[:], factor[0] = 5.0, 10 / 3
        assert tg.scipy.quad(f, 0, 1)[0] == pytest.approx(5.0)


def test_inside_another_integral() -> None:
    found = scipy.integrate.quad(lambda y: tg.scipy.quad(lambda x, y: x * y, 0, y, args=y)[0], 0, 1)
    assert found[0] == pytest.approx(1 / 8)


class TestDerivatives:
    P = np.array([0.1, 3.0, 1.0, 2.0])

    @staticmethod
    def f(p: Any) -> Any:
        return tg.scipy.quad(wave, p[0], p[1], args=(p[2], p[3]))[0]

    def differences(self, f: Any) -> Any:
        steps = 1e-5 * np.eye(4)
        return np.stack([(f(self.P + s) - f(self.P - s)) / 2e-5 for s in steps], -1)

    def test_by_limits_and_parameters(self) -> None:
        np.testing.assert_allclose(tg.grad(self.f)(self.P), self.differences(self.f), rtol=1e-7)
        for way in (tg.jacfwd, tg.jacrev):
            np.testing.assert_allclose(way(self.f)(self.P), tg.grad(self.f)(self.P), rtol=1e-10)

    def test_of_second_order(self) -> None:
        found = tg.hessian(self.f)(self.P)
        np.testing.assert_allclose(found, self.differences(tg.grad(self.f)), rtol=1e-6, atol=1e-8)

    def test_only_what_is_asked_for(self) -> None:
        """An infinite limit has no part in it."""
        found = tg.grad(lambda r: tg.scipy.quad(lambda x, r: np.exp(-r * x), 0, np.inf, args=r)[0])
        assert found(2.0) == pytest.approx(-1 / 4, rel=1e-9)
        upper = tg.grad(lambda b: tg.scipy.quad(np.cos, 0.0, b)[0])
        assert upper(0.5) == pytest.approx(math.cos(0.5), rel=1e-12)

    def test_backward_through_tensors(self) -> None:
        rate = tg.tensor(2.0, dtype=tg.float64, requires_grad=True)
        tg.scipy.quad(lambda x, r: np.exp(-r * x), 0.0, 1.0, args=rate)[0].backward()
        e = math.exp(-2.0)
        assert rate.grad.item() == pytest.approx(-(1 - 3 * e) / 4, rel=1e-9)

    def test_refusals(self) -> None:
        with pytest.raises(tg.ConcretizationError, match="outside of jit"):
            tg.jit(lambda b: tg.scipy.quad(np.cos, 0.0, b)[0])(1.0)
        with pytest.raises(ValueError, match="no weight"):
            tg.grad(
                lambda b: tg.scipy.quad(np.exp, 0.0, b, weight="cos", wvar=1.0)[0]
            )(1.0)  # fmt: skip


class TestErrors:
    def test_not_one_number(self) -> None:
        with pytest.raises(TypeError, match="one"):
            tg.scipy.quad(lambda x: np.stack([x, x]), 0, 1)

    def test_not_a_number(self) -> None:
        """As SciPy has it."""
        with pytest.warns(scipy.integrate.IntegrationWarning, match="roundoff"):
            assert np.isnan(tg.scipy.quad(lambda x: np.sqrt(x), -1.0, 1.0)[0])

    def test_failures_of_the_integrand_are_raised(self) -> None:
        table = np.arange(3.0)
        f = lambda x: tg.take(table, tg.convert(x, np.int64))  # noqa: E731
        with pytest.raises(IndexError):
            tg.scipy.quad(f, 0.0, 9.0)
        assert tg.scipy.quad(f, 0.1, 0.9)[0] == pytest.approx(0.0)


def test_four_times_as_fast_as_python() -> None:
    """Of an integrand that SciPy asks for at 609 places."""

    def plain(x: float, a: float, b: float) -> float:
        return math.exp(-a * x * x) * math.cos(b * x) + math.log(1 + x * x)

    def best(function: Any, f: Any) -> float:
        times = []
        for _ in range(30):
            start = time.perf_counter()
            function(f, 0.0, 30.0, args=(1.0, 20.0), limit=200)
            times.append(time.perf_counter() - start)
        return min(times)

    best(tg.scipy.quad, wave)
    ours = best(tg.scipy.quad, wave)
    assert ours * 4 < best(scipy.integrate.quad, wave)
    c = tg.jit(wave).cfunc(0.5, 1.0, 20.0, signature="quad")
    assert best(scipy.integrate.quad, c.scipy) * 4 < best(scipy.integrate.quad, plain)
