"""Functions that Numba compiles, of the kinds that its documentation shows, as they are: values,
gradients, and both in compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import differences
from tracegrad.staging import numba_objects


@numba.njit
def trace_of_tanh(a: Any) -> Any:
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return np.sum((a + trace) ** 2)


@numba.njit
def sum_of_elements(a: Any) -> Any:
    total = 0.0
    rows, columns = a.shape
    for i in range(rows):
        for j in range(columns):
            total += a[i, j] * (i + 1)
    return total


@numba.njit(fastmath=True)
def identity_of_angles(a: Any) -> Any:
    return np.sum(np.cos(a) ** 2 + np.sin(a) * a)


@numba.njit(parallel=True)
def in_parallel(a: Any) -> Any:
    total = 0.0
    for i in numba.prange(a.shape[0]):
        if a[i, 0] > 0:
            total += math.sqrt(a[i, 0]) * a[i, 1]
        else:
            total -= a[i, 0] ** 2
    return total


@numba.njit
def logistic_steps(a: Any) -> Any:
    weights = np.zeros(a.shape[1])
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    for _ in range(15):
        weights = weights + 0.1 * np.dot(signs / (1 + np.exp(signs * np.dot(a, weights))), a)
    return np.sum(weights**2)


@numba.njit(inline="always")
def larger(p: Any, q: Any) -> Any:
    return p if p > q else q


@numba.njit
def escapes(re: Any, im: Any) -> Any:
    z = complex(0.0, 0.0)
    steps = 0
    while steps < 20 and abs(z) < 2:
        z = z * z + complex(re, im)
        steps += 1
    return abs(z) * steps


@numba.njit
def of_other_functions(a: Any) -> Any:
    best = -1e9
    for row in a:
        best = larger(best, row[0] * row[1])
    return best + escapes(0.3 * a[0, 0], 0.2 * a[1, 1])


@numba.vectorize
def soft_step(x: Any, y: Any) -> Any:
    return math.tanh(x) * y if x > y else y * y


@numba.vectorize(["float64(float64)", "float32(float32)"])
def bump(x: Any) -> Any:
    return math.exp(-x * x)


@numba.njit
def of_vectorized(a: Any) -> Any:
    return np.sum(soft_step(a, 0.3) * bump(a[0]) + soft_step(a[:, :1], a))


@numba.guvectorize([(numba.float64[:], numba.float64, numba.float64[:])], "(n),()->(n)")
def scaled(x: Any, y: Any, result: Any) -> None:
    for i in range(x.shape[0]):
        result[i] = x[i] * y + x[i] if x[i] > 0 else x[i] ** 2


@numba.guvectorize(
    [(numba.float64[:, :], numba.float64[:, :], numba.float64[:, :])], "(m,n),(n,p)->(m,p)"
)
def matrix_product(a: Any, b: Any, c: Any) -> None:
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = 0
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


@numba.guvectorize([(numba.float64[:], numba.float64[:], numba.float64[:])], "(n),()->()")
def last_scaled(x: Any, weight: Any, result: Any) -> None:
    result[0] = x[-1] * weight[0]


@numba.njit
def of_generalized(a: Any) -> Any:
    out = np.empty_like(a)
    scaled(a, 3.0, out)
    product = np.empty((a.shape[0], a.shape[0]))
    matrix_product(out, a.T, product)
    last = np.empty(a.shape[0])
    last_scaled(product, a[:, 0], last)
    return product.sum() + (last**2).sum()


@numba.njit
def bubbles(a: Any) -> Any:
    x = a.copy().ravel()
    for end in range(x.size, 1, -1):
        for i in range(end - 1):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
    return np.sum(x * np.arange(x.size))


@numba.stencil
def four_neighbours(a: Any) -> Any:
    return 0.25 * (a[0, 1] + a[1, 0] + a[0, -1] + a[-1, 0])


@numba.stencil(neighborhood=((-2, 0), (0, 1)), cval=1.5)
def moving(a: Any, w: Any, factor: Any) -> Any:
    total = 0.0
    for i in range(-2, 1):
        total += a[i, 0] * w[0, 1]
    return total * factor


@numba.stencil
def upwind(a: Any) -> Any:
    if a[0, 0] > 0:
        return a[0, 0] - a[-1, 0]
    return a[1, 0] * a[0, 0]


@numba.njit
def of_stencils(a: Any) -> Any:
    b = four_neighbours(a)
    return np.sum(b * b) + np.sum(moving(a, a * a, 2.0) * a) + np.sum(upwind(a) ** 2)


@numba.njit
def of_typed_lists(a: Any) -> Any:
    found = numba.typed.List()
    for row in a:
        found.append(row[0] * row[1])
    total = 0.0
    for x in found:
        total += x * x
    return total * len(found)


@numba.njit
def at_all_places(a: Any) -> Any:
    out = np.empty_like(a)
    for place in np.ndindex(a.shape):
        out[place] = a[place] ** 2
    for place, x in np.ndenumerate(a):
        out[place] += x * place[1]
    return np.sum(out * a)


FUNCTIONS: list[Callable[..., Any]] = [
    of_generalized,
    bubbles,
    trace_of_tanh,
    sum_of_elements,
    identity_of_angles,
    in_parallel,
    logistic_steps,
    of_other_functions,
    of_vectorized,
    of_stencils,
    of_typed_lists,
    at_all_places,
]
A = np.random.default_rng(3).normal(size=(4, 4))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_of_numba(function: Any) -> None:
    # A stencil that plain Python calls is compiled anew at each call.
    known = function if function is of_stencils else function.py_func
    expected, slopes = known(A), differences(known, A)
    np.testing.assert_allclose(tg.jit(function)(A), expected, rtol=1e-12)
    for gradient in (tg.grad(function), tg.jit(tg.grad(function))):
        np.testing.assert_allclose(gradient(A), slopes, rtol=2e-5, atol=2e-6)


def test_vectorized_and_stencils_by_themselves() -> None:
    """What is given to a transform itself; plain arrays are Numba's."""

    @numba.njit
    def compiled_once(a: Any) -> Any:
        return four_neighbours(a)

    by_two = lambda a: soft_step(a, 0.2)  # noqa: E731
    for f, known in ((four_neighbours, compiled_once), (by_two, by_two), (bump, bump)):
        np.testing.assert_allclose(tg.jit(f)(A), known(A), rtol=1e-14)
        found = tg.grad(lambda a, f=f: np.sum(f(a) ** 2))(A)
        np.testing.assert_allclose(
            found, differences(lambda a, f=known: np.sum(f(a) ** 2), A), rtol=1e-5, atol=1e-7
        )
    for x in (A.astype(np.float32), np.arange(3)):
        assert tg.jit(bump)(x).dtype == bump(x).dtype


def test_stencil_smaller_than_its_neighbourhood() -> None:
    a = np.ones((2, 5))
    np.testing.assert_array_equal(tg.jit(four_neighbours)(a), four_neighbours(a))


def test_stencil_at_computed_places_is_refused() -> None:
    @numba.stencil(neighborhood=((-1, 1),))
    def jumping(a: Any, k: Any) -> Any:
        return a[k]

    with pytest.raises(tg.ConcretizationError, match="integers that are known"):
        tg.jit(lambda a, k: jumping(a, k))(np.ones(5), np.int64(1))


@numba.experimental.jitclass([("value", numba.float64)])
class Account:
    def __init__(self, value: Any) -> None:
        self.value = value


def test_compiled_classes_are_refused_by_name() -> None:
    with pytest.raises(tg.ConcretizationError, match="Account is a class that numba"):
        tg.grad(lambda x: Account(x[0]).value)(A[0])


def test_containers_of_numba_are_pythons() -> None:
    """Numba's own take seconds to compile, and hold no traced values."""
    of = numba.typed.Dict
    assert type(numba_objects.by_python(None, of.empty, (1, 2), {})) is dict  # type: ignore[arg-type]
    assert numba_objects.is_of_numba(numba.typed.List.empty_list)
