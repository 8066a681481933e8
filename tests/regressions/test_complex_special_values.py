"""Complex numbers with hostile parts: compiled code as NumPy, and nothing that ends a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

PARTS = (0.0, -0.0, 1.0, -2.5, 30.0, -800.0, 1e-200, 1e200, np.inf, -np.inf, np.nan)
GRID = np.array([complex(a, b) for a in PARTS for b in PARTS])
FINITE = np.isfinite(GRID)

ONE = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "exp2", "log"),
    *("log10", "log2", "negative", "positive", "reciprocal", "sign", "sin", "sinh", "sqrt"),
    *("square", "tan", "tanh", "conjugate", "absolute"),
)
TWO = ("add", "divide", "multiply", "power", "subtract")


def agree(found: Any, wanted: Any, rtol: float = 1e-13) -> Any:
    """Where parts are alike: NaN, infinities and zeros too."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype
    with np.errstate(all="ignore"):

        def alike(a: Any, b: Any) -> Any:
            near = np.abs(a - b) <= rtol * np.abs(wanted)
            return (np.isnan(a) & np.isnan(b)) | (a == b) | near

        return alike(found.real, wanted.real) & alike(found.imag, wanted.imag)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_one() -> None:
    functions = [getattr(np, name) for name in ONE]
    found = tg.jit(lambda x: [f(x) for f in functions])(GRID)
    for name, f, value in zip(ONE, functions, found, strict=True):
        wanted = f(GRID)
        # Beyond what is finite C libraries differ in which part is NaN; no finite number is lost.
        here = (FINITE | np.isfinite(wanted)) & ~(np.abs(GRID) > 1e300)
        if name == "square":
            here &= np.isfinite(np.abs(GRID) ** 2)
        wrong = here & ~agree(value, wanted)
        assert not wrong.any(), (name, GRID[wrong], np.asarray(value)[wrong], wanted[wrong])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_functions_of_two(dtype: Any) -> None:
    with np.errstate(over="ignore"):
        grid = GRID[FINITE].astype(dtype)
    x, y = np.repeat(grid, len(grid)), np.tile(grid, len(grid))
    functions = [getattr(np, name) for name in TWO]
    found = tg.jit(lambda x, y: [f(x, y) for f in functions])(x, y)
    small = (np.abs(x) < 1e30) & (np.abs(y) < 1e30)
    for name, f, value in zip(TWO, functions, found, strict=True):
        wanted = f(x, y)
        # Powers past the largest number, where NumPy's own are of the C library.
        here = small & np.isfinite(wanted) if name == "power" else small
        wrong = here & ~agree(value, wanted, 1e-10 if dtype == np.complex128 else 2e-3)
        assert not wrong.any(), (name, x[wrong][:4], y[wrong][:4], np.asarray(value)[wrong][:4])


def quotient(x: Any, y: Any) -> Any:
    return x / y


def of_sums(x: Any, y: Any) -> Any:
    return np.sum(x) / np.sum(y)


def behind_a_loop(x: Any, y: Any) -> Any:
    total = 1 + 0j
    for k in range(len(x)):
        total = total + x[k] / y[k]
    return total


def by_a_number(x: Any, y: Any) -> Any:
    return x / 0.0 + 0 * y


def of_numbers(x: Any, y: Any) -> Any:
    return x[0] / y[0]


def what_follows(x: Any, y: Any) -> Any:
    """A second result: nothing of the kernel is left out behind the quotient."""
    return np.real(x / y) * 0 + 1, np.abs(x) + 1


def to_the_power(x: Any, y: Any) -> Any:
    return np.asarray(x) ** -2 + y ** (-1 + 0j)


WAYS: list[Callable[..., Any]] = [
    quotient,
    of_sums,
    behind_a_loop,
    by_a_number,
    of_numbers,
    what_follows,
    to_the_power,
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("f", WAYS, ids=lambda f: f.__name__)
def test_divisors_that_are_zero(f: Any, dtype: Any) -> None:
    x = np.array([1 + 1j, 2, 0, 0.5j, -1], dtype)
    for y in (np.zeros(5, dtype), np.array([0, 1j, 0, 0, 2], dtype), x):
        wanted = f(x, y)
        for found in (tg.jit(f)(x, y), tg.vmap(f)(x[None], y[None])):
            for a, b in zip(
                found if isinstance(wanted, tuple) else [found],
                wanted if isinstance(wanted, tuple) else [wanted],
                strict=True,
            ):
                one = np.asarray(a).reshape(np.shape(b))
                assert agree(one, b, 1e-6).all(), (y, one, b)
