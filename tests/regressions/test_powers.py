"""Derivatives of x**y to second order in both, in every mode: at 0, of negative and infinite bases,
and of complex numbers (against mpmath)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import tracegrad as tg

INF, NAN = float("inf"), float("nan")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def power(z: Any) -> Any:
    return np.power(z[0], z[1])


FIRST: dict[str, Callable[..., Any]] = {
    "reverse": tg.grad(power),
    "forward": tg.jacfwd(power),
    "compiled": tg.jit(tg.grad(power)),
    "batched": lambda z: tg.vmap(tg.grad(power))(z[None])[0],
}
SECOND: dict[str, Callable[..., Any]] = {
    "reverse of reverse": tg.jacrev(tg.grad(power)),
    "forward of reverse": tg.jacfwd(tg.grad(power)),
    "reverse of forward": tg.jacrev(tg.jacfwd(power)),
    "forward of forward": tg.jacfwd(tg.jacfwd(power)),
    "hessian": tg.hessian(power),
    "compiled": tg.jit(tg.jacrev(tg.grad(power))),
    "compiled forward": tg.jit(tg.hessian(power)),
}
# x, y: the derivatives by x, by y, by x twice and by y twice, as limits from above.
ROWS = [
    (0.0, 3.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 2.0, 0.0, 0.0, 2.0, 0.0),
    (0.0, 1.5, 0.0, 0.0, INF, 0.0),
    (0.0, 1.0, 1.0, 0.0, 0.0, 0.0),
    (0.0, 0.5, INF, 0.0, -INF, 0.0),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, -1.0, -INF, -INF, INF, INF),
    (0.0, -0.5, -INF, -INF, INF, INF),
    (-0.0, 2.0, 0.0, 0.0, 2.0, 0.0),
    (-2.0, 3.0, 12.0, NAN, -12.0, NAN),
    (-2.0, 2.0, -4.0, NAN, 2.0, NAN),
    (-2.0, -1.0, -0.25, NAN, -0.25, NAN),
    (-2.0, 0.5, NAN, NAN, NAN, NAN),
    (INF, -1.0, 0.0, 0.0, 0.0, 0.0),
    (INF, -0.5, 0.0, 0.0, 0.0, 0.0),
    (1e-300, 2.0, 2e-300, 0.0, 2.0, 0.0),
    (1.0, 2.5, 2.5, 0.0, 3.75, 0.0),
    (2.0, 0.0, 0.0, np.log(2.0), 0.0, np.log(2.0) ** 2),
]


@pytest.mark.parametrize("row", ROWS, ids=[f"{r[0]}**{r[1]}" for r in ROWS])
def test_real_limits(row: tuple[float, ...]) -> None:
    z = np.array(row[:2])
    for name, mode in FIRST.items():
        np.testing.assert_allclose(mode(z), row[2:4], rtol=1e-12, atol=1e-290, err_msg=name)
    for name, mode in SECOND.items():
        np.testing.assert_allclose(np.diag(mode(z)), row[4:], rtol=1e-12, atol=1e-290, err_msg=name)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("base", [0.0, 2.0])
def test_higher_derivatives_in_the_exponent(base: float, order: int) -> None:
    function: Callable[..., Any] = lambda y: np.power(base, y)  # noqa: E731
    for _ in range(order):
        function = tg.grad(function)
    expected = 0.0 if base == 0 else 4.0 * np.log(base) ** order
    assert np.isclose(function(2.0), expected)
    assert np.isclose(tg.jit(function)(2.0), expected)


@pytest.mark.parametrize("order", ["xy", "yx"])
@pytest.mark.parametrize(
    ("x", "y"),
    [(0.0, 2.0), (0.0, 3.5), (0.0, -1.0), (0.7, 1.3), (2.0, 0.0), (1.5, -2.0), (1e-300, 1.5)],
)
def test_mixed_derivatives(x: float, y: float, order: str) -> None:
    expected = (INF if y < 0 else 0.0) if x == 0 else x ** (y - 1) * (1 + y * np.log(x))
    inner, outer = (0, 1) if order == "xy" else (1, 0)
    mixed = tg.grad(tg.grad(np.power, inner), outer)
    for function in (
        mixed,
        tg.jit(mixed),
        lambda a, b: tg.jacfwd(tg.grad(np.power, inner), outer)(a, b),
    ):
        np.testing.assert_allclose(function(x, y), expected, rtol=1e-10, atol=1e-280)


COMPLEX = [
    (0.6 - 0.4j, 1.3 + 0.2j),
    (-0.7 + 0.1j, -0.4 + 0.5j),
    (-1.0 + 0j, 0.3 + 0.4j),
    (1e-3j, 2.5 + 1j),
    (-2.0 - 1e-9j, 0.5 - 0.5j),
]
REAL = [-1.0, -0.5, 0.7, 2.0]


def derivatives(x: Any, y: Any) -> dict[str, complex]:
    a, b = mpmath.mpmathify(x), mpmath.mpmathify(y)
    a = mpmath.mpc(a)
    p, q, log = a**b, a ** (b - 1), mpmath.log(a)
    found = {
        "x": b * q,
        "y": p * log,
        "xx": b * (b - 1) * a ** (b - 2),
        "yy": p * log**2,
        "xy": q * (1 + b * log),
    }
    return {k: complex(v) for k, v in found.items()}


@pytest.mark.parametrize("compiled", [False, True])
def test_complex_against_mpmath(compiled: bool) -> None:
    """`grad` of the real part of a holomorphic function is the conjugate of its derivative; for a
    real argument its real part."""
    wrap: Callable[..., Any] = tg.jit if compiled else lambda f: f
    f: Callable[..., Any] = lambda x, y: np.real(np.power(x, y))  # noqa: E731
    by = {"x": wrap(tg.grad(f, 0)), "y": wrap(tg.grad(f, 1))}
    g: Callable[..., Any] = lambda x, y: np.real(tg.grad(f, 0)(x, y))  # noqa: E731
    h: Callable[..., Any] = lambda x, y: np.real(tg.grad(f, 1)(x, y))  # noqa: E731
    second = {
        "xx": wrap(tg.grad(g, 0)),
        "xy": wrap(tg.grad(g, 1)),
        "yx": wrap(tg.grad(h, 0)),
        "yy": wrap(tg.grad(h, 1)),
    }
    points = [
        *COMPLEX,
        *itertools.product(REAL, [y for _, y in COMPLEX]),
        *itertools.product([x for x, _ in COMPLEX], REAL),
    ]
    for x, y in points:
        expected = derivatives(x, y)
        expected["yx"] = expected["xy"]
        for name, function in {**by, **second}.items():
            wanted = np.conj(expected[name])
            if not isinstance((x, y)["xy".index(name[-1])], complex):
                wanted = wanted.real
            np.testing.assert_allclose(
                function(x, y), wanted, rtol=1e-9, atol=1e-12, err_msg=f"{name} at {x}, {y}"
            )


@pytest.mark.parametrize("mode", ["jvp", "linearize", "vmap"])
def test_complex_exponents_of_negative_bases_in_other_modes(mode: str) -> None:
    e, t = 0.3 + 0.4j, 0.2 - 0.7j
    expected = derivatives(-1.0, e)["y"]
    f: Callable[..., Any] = lambda y: np.power(-1.0, y)  # noqa: E731
    if mode == "jvp":
        found = tg.jvp(f, (e,), (t,))[1]
    elif mode == "linearize":
        found = tg.linearize(f, e)[1](t)
    else:
        found = tg.vmap(lambda y: tg.jvp(f, (y,), (t,))[1])(np.array([e]))[0]
    assert np.isclose(found, expected * t)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_dtypes(dtype: Any) -> None:
    x, y = np.array([0.5, 2.0]).astype(dtype), np.array([2.0, 0.5]).astype(dtype)
    f: Callable[..., Any] = lambda a, b: np.sum(np.real(a**b))  # noqa: E731
    for gradient in (tg.grad(f, (0, 1)), tg.jit(tg.grad(f, (0, 1)))):
        for g in gradient(x, y):
            assert g.dtype == dtype
    np.testing.assert_allclose(tg.grad(f, 1)(x, y), np.real(x**y * np.log(x)), rtol=1e-5)


C = 1.3 + 0.2j
WITH_PYTHON_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "x * c": lambda x, c: x * x * c,
    "c / x": lambda x, c: c / x,
    "x / c": lambda x, c: x * x / c,
    "x - c": lambda x, c: (x - c) * (c - x),
    "x ** c": lambda x, c: x**c,
    "c ** x": lambda x, c: c**x,
    "conj": lambda x, c: np.conj(c) * x * x + np.conj(x * x * c),
    "real, imag": lambda x, c: tg.ops.real(c) * x * x + tg.ops.imag(c) * x,
    "where": lambda x, c: np.where(np.real(x) > 0, x * x * c, c),
    "exp": lambda x, c: np.exp(c * x) * c,
    "strong product": lambda x, c: tg.ops.strong_mul(c, x * x) + tg.ops.strong_mul(x * x, c),
    "matmul": lambda x, c: np.stack([x, c]) @ np.stack([x * c, x * x]),
}


@pytest.mark.parametrize("name", WITH_PYTHON_NUMBERS)
def test_second_derivatives_beside_pythons_complex_numbers(name: str) -> None:
    """They are constants as NumPy's complex numbers are: both must be conjugated where a rule says
    so."""
    function = WITH_PYTHON_NUMBERS[name]
    x = 0.6 - 0.4j
    found = []
    for c in (C, np.complex128(C), np.array(C)):
        second = tg.grad(lambda u, c=c: np.real(tg.grad(lambda v: np.real(function(v, c)))(u)))
        third = tg.grad(lambda u, second=second: np.real(second(u)))
        found += [(second(x), third(x))]
    second = tg.grad(lambda u: np.real(tg.grad(lambda v: np.real(function(v, C)))(u)))
    found.append((tg.jit(second)(x), tg.jit(tg.grad(lambda u: np.real(second(u))))(x)))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-10, atol=1e-12)
