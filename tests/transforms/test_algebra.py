"""Constants that become formulas, and rules that do less work for the same value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad._codegen import integers
from tracegrad.errors import TracegradError

pytestmark = pytest.mark.usefixtures("kernels_in_python")

RNG = np.random.default_rng(3)


def names(f: Any, *args: Any) -> list[str]:
    """The operations of the optimized graph."""
    return [node.op.name for node in tg.jit(f).graphs(*args)[1].nodes]


# --- constants ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [lambda: np.arange(5), lambda: np.arange(5.0), lambda: np.arange(5, dtype=np.float32)[:, None]],
)
def test_counting_constant_becomes_a_formula(make: Any) -> None:
    x = RNG.normal(size=5)
    f = tg.jit(lambda x: x * make())
    assert "iota" in names(lambda x: x * make(), x)
    np.testing.assert_array_equal(f(x), x * make())
    assert not f.captures()


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, np.inf, True, 3, 2 + 1j])
def test_repeated_constant_becomes_a_number(value: Any) -> None:
    x = RNG.normal(size=4)
    f = tg.jit(lambda x: (x * np.full(4, value), np.full((1, 3), value) + x[0]))
    with np.errstate(invalid="ignore"):
        for found, expected in zip(
            f(x), (x * np.full(4, value), np.full((1, 3), value) + x[0]), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(np.real(found)), np.signbit(np.real(expected)))
            assert found.dtype == expected.dtype
    assert not f.captures()


@pytest.mark.parametrize(
    "constant",
    [
        np.array([0.0, -0.0]),
        np.array([np.nan, np.nan]),
        np.array([0, 2]),
        np.array([1, 2]),
        np.zeros(1),
    ],
)
def test_other_constants_stay_arrays(constant: Any) -> None:
    f = tg.jit(lambda x: x + constant.copy())
    np.testing.assert_array_equal(f(1.0), 1.0 + constant)
    np.testing.assert_array_equal(
        np.signbit(tg.jit(lambda x: x * constant.copy())(1.0)), np.signbit(constant)
    )


def test_array_that_somebody_holds_is_read_again() -> None:
    held = {"a": np.zeros(3), "view": np.arange(6)}
    store: list[Any] = []

    def f(x: Any) -> Any:
        made = np.ones(3)
        store.append(made)
        return x + held["a"] + held["view"][:3] + made

    jitted = tg.jit(f)
    np.testing.assert_array_equal(jitted(np.zeros(3)), [1.0, 2.0, 3.0])
    held["a"] += 1
    held["view"][:] = 5
    np.testing.assert_array_equal(jitted(np.zeros(3)), [7.0, 7.0, 7.0])


def test_formula_computed_from_the_surroundings_is_computed_again() -> None:
    weights = np.array([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        return x * weights + np.argsort(weights)

    jitted = tg.jit(f)
    np.testing.assert_array_equal(jitted(np.zeros(3)), [0.0, 1.0, 2.0])
    weights[:] = [3.0, 2.0, 1.0]
    np.testing.assert_array_equal(jitted(np.zeros(3)), [2.0, 1.0, 0.0])


# --- powers of a count ----------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 16, 17, 100, 128, 129, 1000])
def test_powers_of_a_count(count: int) -> None:
    t = np.concatenate(
        [RNG.uniform(-1.5, 1.5, 60), [0.0, -0.0, 1.0, -1.0, 1e-200, -1e30, np.inf, -np.inf, np.nan]]
    )

    def powers(t: Any) -> Any:
        return t[:, None] ** np.arange(count)

    assert "pow_below" in names(powers, t)
    with np.errstate(over="ignore", under="ignore"):
        expected = (t.astype(np.longdouble)[:, None] ** np.arange(count)).astype(np.float64)
        found = tg.jit(powers)(t)
    bound = 4 if count <= 16 else 5 if count <= 128 else 7
    normal = np.isfinite(expected) & (np.abs(expected) > 1e-290)
    assert np.all(
        np.abs(found[normal] - expected[normal]) <= bound * np.spacing(np.abs(expected[normal]))
    )
    np.testing.assert_array_equal(found[~np.isfinite(expected)], expected[~np.isfinite(expected)])
    np.testing.assert_allclose(found[np.abs(expected) <= 1e-290], 0, atol=1e-289)


def test_powers_of_a_count_have_derivatives_of_both_orders() -> None:
    t, x = RNG.normal(size=6), RNG.normal(size=5)

    def fit(x: Any, t: Any) -> Any:
        return np.sum((np.sum(x * t[:, None] ** np.arange(x.shape[0]), axis=1) - 1.0) ** 2)

    for argnum in (0, 1):
        np.testing.assert_allclose(
            tg.jit(tg.grad(fit, argnums=argnum))(x, t),
            tg.grad(fit, argnums=argnum)(x, t),
            rtol=1e-12,
        )
        np.testing.assert_allclose(
            tg.jit(tg.hessian(fit, argnums=argnum))(x, t),
            tg.hessian(fit, argnums=argnum)(x, t),
            rtol=1e-10,
        )


def test_float32_and_integer_bases_keep_their_dtype() -> None:
    for base in (np.float32([0.5, 2.0]), np.array([2, 3]), np.array([1 + 1j, 2.0])):
        found = tg.jit(lambda t: t[:, None] ** np.arange(4, dtype=np.int8))(base)
        expected = base[:, None] ** np.arange(4, dtype=np.int8)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


# --- sums -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.sum(x[:, None, :] * y[None, :, None], axis=0),
        lambda x, y: np.sum(x[:, None, :] * y[None, :, None], axis=(0, 2)),
        lambda x, y: np.sum(y[None, :, None] * x[:, None, :], axis=1, keepdims=True),
        lambda x, y: np.sum(-x, axis=1) + np.sum(x, axis=1),
        lambda x, y: (np.sum(x), np.sum(x * y[0]), np.sum(y[1] * x)),
        lambda x, y: np.sum(x * np.arange(3)[:, None], axis=0),
        lambda x, y: np.sum((x > 0)[:, None, :] * y[None, :, None], axis=0),
    ],
)
def test_factor_leaves_the_sum(f: Any) -> None:
    x, y = RNG.normal(size=(3, 4)), RNG.normal(size=5)
    for found, expected in zip(np.atleast_1d(tg.jit(f)(x, y)), np.atleast_1d(f(x, y)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.int64])
def test_negative_small_integers_are_summed_as_they_are(dtype: Any) -> None:
    x = np.array([1, 2, np.iinfo(dtype).min], dtype)
    assert tg.jit(lambda x: np.sum(-x))(x) == np.sum(-x)


@pytest.mark.parametrize("x", [3.0, 3, 2j])
def test_sum_of_a_product_of_numbers(x: Any) -> None:
    assert tg.jit(lambda x: np.sum(x * x * 2))(x) == x * x * 2
    assert tg.jit(lambda x: np.sum(-x, axis=()))(x) == -x


def test_powers_of_a_count_that_wraps_around() -> None:
    x = np.array([1.5, 2.0])
    f = tg.jit(lambda x: x[:, None] ** tg.convert(tg.arange(200), np.int8))
    np.testing.assert_allclose(f(x), x[:, None] ** np.arange(200).astype(np.int8), rtol=1e-13)


def test_product_of_a_smaller_factor_is_summed_without_it() -> None:
    x, y = RNG.normal(size=(3, 4)), RNG.normal(size=5)
    graph = tg.jit(lambda x, y: np.sum(x[:, None, :] * y[None, :, None], axis=0)).graphs(x, y)[1]
    (total,) = (node for node in graph.nodes if node.op.name == "sum")
    assert integers.product(total.inputs[0].type.shape) == 12


def test_scaled_sum_stays_as_written() -> None:
    """The sum alone might overflow where the scaled one does not."""
    x = np.full(10, 1e308)
    assert tg.jit(lambda x: np.sum(x * 1e-10))(x) == pytest.approx(1e299)


def test_gradient_through_the_maximum_of_logsumexp_needs_no_extra_pass() -> None:
    def lse(x: Any) -> Any:
        top = np.max(x)
        return top + np.log(np.sum(np.exp(x - top)))

    x = RNG.normal(size=50)
    assert names(tg.grad(lse), x).count("sum") == 2
    np.testing.assert_allclose(tg.jit(tg.grad(lse))(x), np.exp(x) / np.exp(x).sum(), rtol=1e-13)


def test_errors_of_traced_code_are_unchanged() -> None:
    with pytest.raises((TracegradError, ValueError)):
        tg.jit(lambda x: x[:, None] ** np.arange(3) + np.ones(7))(np.ones(2))


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("f", "products"),
    [
        (lambda x: 0.5 * (2 * x), 0),
        (lambda x: 100 * (2.0 * x), 1),
        (lambda x: 0.25 * (x * 0.1), 1),
        (lambda x: -(3 * x), 1),
        (lambda x: 3 * (-x), 1),
        (lambda x: -(0.5 * (2 * -x)), 0),
        (lambda x: 0.1 * (0.3 * x), 2),
        (lambda x: 2.0 * (0.0 * x), 2),
    ],
)
def test_numbers_merge_where_nothing_is_rounded_otherwise(
    f: Any, products: int, dtype: Any
) -> None:
    x = np.concatenate([RNG.normal(size=50), [0.0, -0.0, 1e30, np.inf, -np.inf, np.nan]]).astype(
        dtype
    )
    assert names(f, x).count("mul") == products
    with np.errstate(invalid="ignore"):
        found, expected = tg.jit(f)(x), f(x)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[:-1]), np.signbit(expected[:-1]))


def test_integers_keep_their_products() -> None:
    x = np.arange(5)
    assert names(lambda x: 3 * (2 * x), x).count("mul") == 2
    np.testing.assert_array_equal(tg.jit(lambda x: 3 * (2 * x))(x), 6 * x)


def test_derivative_of_a_reciprocal_divides_once() -> None:
    def f(x: Any) -> Any:
        return np.sum(1 / x)

    x = np.array([3.0, -0.7, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e200, -1e-200, 5e-324])
    assert names(tg.grad(f), x).count("div") == 1
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        found, expected = tg.jit(tg.grad(f))(x), -(1 / x) / x
    np.testing.assert_allclose(found, expected, rtol=3e-16 * 2)
    # Another numerator, and another denominator, stay.
    assert "square" not in names(lambda x: (2 / x) / x, x)
    assert "square" not in names(lambda x, y: (1 / x) / y, x, x)


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_added_zero_keeps_the_sign_of_zero(zero: Any) -> None:
    x = np.array([0.0, -0.0, 1.0, np.nan, np.inf])
    for f in (lambda x: x + zero, lambda x: zero + x, lambda x: x - zero):
        found, expected = tg.jit(f)(x), f(x)
        np.testing.assert_array_equal(np.signbit(found[:3]), np.signbit(expected[:3]))
        np.testing.assert_array_equal(found, expected)
