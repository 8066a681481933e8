"""Derivatives of reductions and indexing at zeros, ties, infinities and repeated places, to second
order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import ops

ROWS: tuple[tuple[str, Callable[..., Any], Any, Any], ...] = (
    ("max ties share", ops.max, [1.0, 3.0, 3.0], [0, 0.5, 0.5]),
    (
        "max ties over several axes",
        lambda x: ops.max(ops.reshape(x, (2, 2))),
        [3.0, 3.0, 1.0, 3.0],
        [1 / 3, 1 / 3, 0, 1 / 3],
    ),
    ("min of infinities", ops.min, [-np.inf, -np.inf, 0.0], [0.5, 0.5, 0]),
    ("std of equals", ops.std, [2.0, 2.0, 2.0], [0, 0, 0]),
    ("norm at zero", ops.norm, [0.0, 0.0], [0, 0]),
    ("norm of one zero", ops.norm, [0.0, 2.0], [0, 1]),
    ("3-norm at zero", lambda x: ops.vector_norm(x, 3), [0.0, 0.0], [0, 0]),
    ("prod of one zero", ops.prod, [2.0, 0.0, 3.0], [0, 6, 0]),
    ("prod of two zeros", ops.prod, [0.0, 0.0, 3.0], [0, 0, 0]),
    ("logsumexp of -inf", ops.logsumexp, [-np.inf, -np.inf], [0, 0]),
    ("logsumexp with -inf", ops.logsumexp, [-np.inf, 1.0], [0, 1]),
    ("logsumexp large", ops.logsumexp, [1000.0, 1000.0], [0.5, 0.5]),
    ("log_softmax far apart", lambda x: ops.log_softmax(x)[0], [-1000.0, 1000.0], [1, -1]),
    (
        "cummax ties take the last",
        lambda x: ops.sum(ops.cummax(x)[0] * np.array([1.0, 2.0, 4.0])),
        [1.0, 1.0, 0.0],
        [1, 6, 0],
    ),
    (
        "sort ties keep their order",
        lambda x: ops.sum(ops.sort(x) * np.array([1.0, 2.0, 4.0])),
        [2.0, 1.0, 1.0],
        [4, 1, 2],
    ),
    ("getitem twice", lambda x: ops.sum(ops.getitem(x, [0, 0, 1])), [1.0, 2.0], [2, 1]),
    ("nansum skips", ops.nansum, [1.0, np.nan], [1, 0]),
    (
        "mean where skips",
        lambda x: ops.mean(x, where=np.array([True, False])),
        [1.0, np.nan],
        [1, 0],
    ),
)


@pytest.mark.parametrize(
    ("function", "at", "expected"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS]
)
@pytest.mark.parametrize("compiled", [False, True])
def test_first_derivative(
    function: Callable[..., Any], at: Any, expected: Any, compiled: bool
) -> None:
    gradient = tg.grad(function)
    found = (tg.jit(gradient) if compiled else gradient)(np.array(at))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_last_of_repeated_writes_has_the_derivative() -> None:
    def written(x: Any, v: Any) -> Any:
        return ops.sum(ops.index_update(x, [1, 1, 0], v) * np.array([1.0, 10.0, 100.0]))

    dx, dv = tg.grad(written, argnums=(0, 1))(np.ones(3), np.ones(3))
    np.testing.assert_array_equal(dx, [0, 0, 100])
    np.testing.assert_array_equal(dv, [0, 10, 1])


@pytest.mark.parametrize("zeros", [(), (1,), (1, 3), (0, 1, 3)])
def test_second_derivative_of_products(zeros: tuple[int, ...]) -> None:
    x = np.array([2.0, 3.0, 5.0, 7.0])
    x[list(zeros)] = 0
    expected = np.array(
        [[0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(4)] for i in range(4)]
    )
    np.testing.assert_allclose(tg.hessian(ops.prod)(x), expected)
    np.testing.assert_allclose(tg.hessian(lambda x: ops.cumprod(x)[3])(x), expected)


@pytest.mark.parametrize(
    "at", [[1.0, 2.0, 3.0], [1000.0, 1000.0, 0.0], [-np.inf, 0.0, 1.0], [-np.inf] * 3]
)
def test_second_derivative_of_logsumexp(at: Any) -> None:
    x = np.array(at)
    p = np.exp(x - x.max()) / np.exp(x - x.max()).sum() if np.isfinite(x.max()) else np.zeros(3)
    np.testing.assert_allclose(
        tg.hessian(ops.logsumexp)(x), np.diag(p) - np.outer(p, p), atol=1e-12
    )


def test_second_derivative_at_zero_norm_and_deviation() -> None:
    np.testing.assert_array_equal(tg.hessian(ops.norm)(np.zeros(2)), np.zeros((2, 2)))
    np.testing.assert_array_equal(tg.hessian(ops.std)(np.ones(2)), np.zeros((2, 2)))


def test_a_traced_mask_names_the_line_and_the_alternative() -> None:
    with pytest.raises(
        tg.ConcretizationError, match=r"test_awkward_points.*boolean mask.*tg\.where"
    ):
        tg.jit(lambda x: ops.getitem(x, x > 0))(np.ones(3))
    np.testing.assert_array_equal(
        tg.jit(lambda x: ops.index_update(x, x > 1, 0.0))(np.array([1.0, 2.0])), [1, 0]
    )


def test_an_index_out_of_range_is_an_error_when_compiled_too() -> None:
    compiled = tg.jit(lambda x, i: ops.getitem(x, i))
    assert compiled(np.arange(3.0), np.array(-1)) == 2
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(np.arange(3.0), np.array(3))


@pytest.mark.parametrize("step", [2, -2, 3])
def test_strided_slices_of_several_sizes(step: int) -> None:
    gradient = tg.grad(lambda x: ops.sum(ops.getitem(x, slice(None, None, step)) ** 3))
    compiled = tg.jit(gradient)
    for size in (5, 7, 8, 9):
        x = np.arange(float(size))
        np.testing.assert_array_equal(compiled(x), gradient(x))


def test_quotients_by_the_number_zero() -> None:
    """The derivative by the dividend is infinite, as the quotient is, also where the divisor is
    Python's 0."""
    x = np.array([1.0, 2.0])
    for f in (lambda x: np.sum(x / 0), lambda x: np.sum(x / 0.0)):
        with np.errstate(divide="ignore"):
            assert np.array_equal(tg.grad(f)(x), [np.inf, np.inf])
            assert np.array_equal(tg.jvp(lambda x: x / 0, (x,), (np.ones(2),))[1], [np.inf, np.inf])
            assert np.array_equal(tg.jit(tg.grad(f))(x), [np.inf, np.inf])
