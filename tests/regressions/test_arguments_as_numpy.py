"""Arguments that NumPy takes in a way of its own: nested lists, limits, conditions, options. They
were given results of another shape, or of other numbers, without a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

ROWS = [[3.0, 1.0, 2.0], [5.0, 6.0, 4.0]]
MATRIX = np.array([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0]])
SIDE = np.array([1.0, 2.0, 0.5])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (tg.argsort, np.argsort),
        (tg.transpose, np.transpose),
        (tg.squeeze, np.squeeze),
        (lambda x: tg.moveaxis(x, 0, 1), lambda x: np.moveaxis(x, 0, 1)),
        (lambda x: tg.swapaxes(x, 0, 1), lambda x: np.swapaxes(x, 0, 1)),
        (lambda x: tg.permute(x, (1, 0)), np.transpose),
        (lambda x: tg.expand_dims(x, 1), lambda x: np.expand_dims(x, 1)),
        (tg.nan_to_num, np.nan_to_num),
        (lambda x: tg.linear_recurrence(np.zeros((2, 3)), x), np.asarray),
        (lambda x: tg.xlogy(x, x), lambda x: np.asarray(x) * np.log(x)),
    ],
)
@pytest.mark.parametrize("kind", [list, tuple])
def test_nested_lists_have_axes(ours: Any, theirs: Any, kind: Any) -> None:
    found, expected = ours(kind(map(kind, ROWS))), theirs(ROWS)
    assert isinstance(found, np.ndarray)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("rcond", [None, -1, 0, 1e-3, 0.5, 1, 1.5, np.inf])
def test_lstsq_cuts_off_as_lapack_does(rcond: Any) -> None:
    expected = np.linalg.lstsq(MATRIX, SIDE, rcond)
    for x in (MATRIX, tg.tensor(MATRIX)):
        found = np.linalg.lstsq(x, SIDE, rcond)
        for k in (0, 2, 3):  # the residuals are those of full rank
            np.testing.assert_allclose(np.asarray(found[k]), expected[k], atol=1e-12)


@pytest.mark.parametrize("rtol", [None, 0.5, [1e-9, 0.9], np.array([1e-9, 0.9])])
def test_matrix_rank_with_a_limit_for_each(rtol: Any) -> None:
    stack = np.stack([MATRIX[:2], MATRIX[1:]])
    expected = np.linalg.matrix_rank(stack, rtol=rtol)
    np.testing.assert_array_equal(np.linalg.matrix_rank(tg.tensor(stack), rtol=rtol), expected)
    np.testing.assert_array_equal(tg.linalg.matrix_rank(stack, rtol=rtol), expected)


PIECES: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "one condition": (lambda x: x > 2, [-1, 1]),
    "a list of one": (lambda x: [x > 2], [-1, 1]),
    "an array of rows": (lambda x: np.array([x < 2, x > 4]), [-1, 1]),
    "rows and a default": (lambda x: np.array([x < 2, x > 4]), [-1, 1, 7]),
    "that overlap": (lambda x: [x > 1, x > 3], [-1, np.square]),
    "numbers": (lambda x: [(x > 2) * 2.0], [3.0, 4.0]),
}


@pytest.mark.parametrize("pieces", PIECES)
@pytest.mark.parametrize("x", [np.array([1.0, 3.0, 5.0]), np.array([[1.0, 3.0], [5.0, 2.0]])])
def test_piecewise(pieces: str, x: np.ndarray[Any, Any]) -> None:
    conditions, functions = PIECES[pieces]
    if x.ndim > 1 and pieces == "one condition":
        pytest.skip("to NumPy these are conditions on rows, which are refused (below)")
    expected = np.piecewise(x, conditions(x), functions)
    np.testing.assert_array_equal(
        np.asarray(np.piecewise(tg.tensor(x), conditions(x), functions)), expected
    )
    jitted = tg.jit(lambda v: np.piecewise(v, conditions(x), functions))
    np.testing.assert_array_equal(jitted(x), expected)


def test_piecewise_refuses_what_it_would_get_wrong() -> None:
    x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    for conditions, functions in (
        ([np.array([True, False])], [1, 2]),  # chooses rows
        ([x > 1], [np.array([1.0, 2.0, 3.0])]),  # one after the other
        ([x > 1], [1, 2, 3]),
    ):
        with pytest.raises((TypeError, ValueError), match="piecewise"):
            np.piecewise(x, conditions, functions)


@pytest.mark.parametrize("names", [("float32", "float64"), ("float64", "float32")])
@pytest.mark.parametrize("jit", [False, True])
def test_logaddexp2_in_the_dtype_of_both(names: tuple[str, str], jit: bool) -> None:
    x, y = (np.linspace(0.1, 9, 50).astype(name) for name in names)
    found = (tg.jit(tg.logaddexp2) if jit else tg.logaddexp2)(x, y[::-1].copy())
    np.testing.assert_allclose(found, np.logaddexp2(x, y[::-1]), rtol=1e-15)


@pytest.mark.parametrize("kind", ["sum", "prod"])
def test_cumulative_sums_and_products(kind: str) -> None:
    function = getattr(np, f"cumulative_{kind}")
    x = np.array([[2.0, 3.0], [4.0, 5.0]])
    for options in ({"axis": 0}, {"axis": 1, "include_initial": True}):
        np.testing.assert_array_equal(
            np.asarray(function(tg.tensor(x), **options)), function(x, **options)
        )
    for v in (x, tg.tensor(x)):
        with pytest.raises(ValueError, match="axis"):
            function(v)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.copyto(x, 1 + 2j),
        lambda x: np.copyto(x, 1.0, where=np.array([1, 0])),
        lambda x: np.putmask(x, x > 0, 1j),
        lambda x: np.ediff1d(x, to_end=1j),
        lambda x: np.where(x > 0, None, x),
        lambda x: np.sum(x, where=None),
        lambda x: np.round(x, 1.5),
        lambda x: np.cov(x, ddof=0.5),
        lambda x: np.clip(x, 0, 1, min=0.5),
        lambda x: np.exp(x, casting=None),
        lambda x: np.split(x, [0.5]),
        lambda x: np.gradient(x[:1]),
        lambda x: np.add.reduce(x, out=np.zeros((2, 2))),
        lambda x: np.linalg.outer(x[None], x),
        lambda x: np.linalg.cross(x, x),
        lambda x: np.percentile(x, 1j),
        lambda x: np.linspace(x, 1.0, -3),
    ],
)
def test_refused_as_numpy_refuses(call: Callable[[Any], Any]) -> None:
    for make in (lambda: tg.tensor([1.0, 2.0]), lambda: tg.ones(2, requires_grad=True) * 2):
        with pytest.raises((TypeError, ValueError)):
            call(make())


def test_empty_covariance_is_nan() -> None:
    with np.errstate(all="ignore"):
        assert np.isnan(float(np.cov(tg.tensor(np.ones(1)))))


def test_out_takes_what_numpy_writes() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    for dtype in (np.float64, np.complex128):
        plain, ours = np.zeros(2, dtype), np.zeros(2, dtype)
        np.add.reduce(x, out=plain)
        assert np.add.reduce(tg.tensor(x), out=ours) is ours
        np.testing.assert_array_equal(ours, plain)
        boxed = tg.tensor(np.zeros(2, dtype))
        assert np.add.reduce(tg.tensor(x), out=boxed) is boxed
        np.testing.assert_array_equal(np.asarray(boxed), plain)
