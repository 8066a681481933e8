"""Options of NumPy's functions, and arguments that have to do with each other, which were given
other numbers than NumPy's without a word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

INF = np.inf
FALLING = np.array([2.0, 1.0, 0.0, -1.0])
PLACES = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 2.0, 3.0])
BYTES = np.array([0, 3, 4, 0, 0], np.uint8)
RISING, STEPS = np.array([0, 3, 2, 5]), np.arange(4.0)
SIXTHS = np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9], np.float32)
PLANE = np.arange(6.0).reshape(2, 3)
WHERE = np.array([-1, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4, np.nan])

ROWS = {
    "digitize, falling": (np.digitize, (PLACES, FALLING), {}),
    "digitize, falling, right": (np.digitize, (PLACES, FALLING, True), {}),
    "digitize, falling integers": (np.digitize, (RISING, np.array([3, 2, 0])), {}),
    "digitize, one bin": (np.digitize, (PLACES, FALLING[:1]), {}),
    "polysub, bytes": (np.polysub, (np.array([-1.25]), BYTES), {}),
    "polyadd, bytes": (np.polyadd, (BYTES, np.array([-1.25])), {}),
    "cov, too few": (np.cov, (PLANE,), {"ddof": 4, "fweights": np.array([1, 1, 1])}),
    "cov, two weights": (
        np.cov, (PLANE,), {"ddof": 3, "fweights": [1, 1, 1], "aweights": [0.5, 1, 2]},
    ),
    "diff of order 0": (np.diff, (STEPS,), {"n": 0, "prepend": 1.0, "append": STEPS}),
    "nanvar of integers": (np.nanvar, (RISING,), {"ddof": 4}),
    "nanstd of integers": (np.nanstd, (RISING,), {"ddof": 5}),
    "histogram of float32": (np.histogram, (SIXTHS,), {"bins": 10, "range": (0, 1)}),
    "histogram of integers": (np.histogram, (np.array([-5, -2, -2, 5, 1, 3, -3]),), {}),
    "unwrap of integers": (np.unwrap, (RISING,), {"period": 4}),
    "unwrap, odd period": (np.unwrap, (RISING,), {"period": 3}),
    "linspace of integers": (np.linspace, (np.array([2.5, -0.2]), -4, 4), {"dtype": int}),
    "linspace of one": (np.linspace, (STEPS, 2.0, 1), {"retstep": True}),
    "interp, infinite first": (np.interp, (WHERE, STEPS, np.array([INF, 1, 2, 3])), {}),
    "interp, infinite inside": (np.interp, (WHERE, STEPS, np.array([1, -INF, -INF, 3])), {}),
    "interp, infinite all": (np.interp, (WHERE, STEPS, np.full(4, INF)), {}),
    "interp, both infinite": (np.interp, (WHERE[:-1], STEPS, np.array([1, INF, -INF, 3])), {}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("recorded", [False, True])
def test_options_mean_what_numpy_means(name: str, recorded: bool) -> None:
    call, args, words = ROWS[name]
    expected = [np.asarray(x) for x in parts_of(call(*args, **words))]
    boxed = [
        tg.tensor(x, requires_grad=recorded and x.dtype.kind == "f")
        if isinstance(x, np.ndarray)
        else x
        for x in args
    ]
    result = call(*boxed, **words)
    found = [x.detach().numpy() if isinstance(x, tg.Tensor) else x for x in parts_of(result)]
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(np.asarray(b), a)
        assert np.asarray(b).dtype == a.dtype


def parts_of(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("right", [False, True])
def test_bins_go_down_in_transforms(right: bool) -> None:
    rows = np.stack([FALLING, FALLING[::-1], FALLING + 0.5])
    expected = np.stack([np.digitize(PLACES, row, right) for row in rows])
    found = tg.vmap(lambda row: np.digitize(PLACES, row, right))(rows)
    np.testing.assert_array_equal(found, expected)
    compiled = tg.jit(lambda row: np.digitize(PLACES, row, right))
    for row, counts in zip(rows, expected, strict=True):
        np.testing.assert_array_equal(compiled(row), counts)


def test_steps_are_numpys_to_the_last_bit() -> None:
    rng = np.random.default_rng(5)
    for start, stop in rng.standard_normal((50, 2)).round(1):
        for last in (True, False):
            found = np.linspace(tg.tensor(start), stop, 11, last)
            np.testing.assert_array_equal(found.numpy(), np.linspace(start, stop, 11, last))


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (2,), (3,)])
@pytest.mark.parametrize("ends", [5.0, [7.0], [1.0, 2.0], [[8.0, 9.0]], [[1.0, 2.0], [3.0, 4.0]]])
@pytest.mark.parametrize("mode", ["constant", "linear_ramp"])
def test_what_is_padded_with_is_of_a_side(shape: tuple[int, ...], ends: Any, mode: str) -> None:
    x, given = np.arange(6.0)[: int(np.prod(shape))].reshape(shape), np.array(ends)
    word = {"constant": "constant_values", "linear_ramp": "end_values"}[mode]
    if given.ndim == 2 and given.shape[0] > len(shape):
        return
    for width in (1, 2, [(1, 1)] + [(0, 0)] * (len(shape) - 1)):
        expected = np.pad(x, width, mode, **{word: given})
        for recorded in (False, True):
            end = tg.tensor(given, requires_grad=recorded)
            found = np.pad(tg.tensor(x), width, mode, **{word: end})
            np.testing.assert_allclose(found.detach().numpy(), expected)


def test_as_many_steps_as_an_axis_has_elements() -> None:
    def steps(x: Any) -> Any:
        n = len(x)
        return (
            np.linspace(x[0], x[1], n),
            np.linspace(x[0], 3.0, 2 * n - 1, endpoint=False, retstep=True)[1],
            np.logspace(x[0], x[1], n + 1, base=2.0),
        )

    compiled = tg.jit(steps)
    for n in (3, 5, 4, 2):
        x = np.arange(1.0, n + 1) * 1.7
        for found, expected in zip(compiled(x), steps(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_no_derivative_is_made_of_a_division_by_zero() -> None:
    points, values = np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 2.0, 4.0, 3.0])
    found = tg.grad(lambda *p: np.sum(np.interp(*p)), argnums=(0, 1, 2))(WHERE[:5], points, values)
    assert all(np.isfinite(g).all() for g in found)
    np.testing.assert_allclose(found[0], [0, 2, 2, 0, 0])
    for x in (np.array([1.5]), np.array([2.0, 2.0, np.nan])):
        assert not tg.grad(lambda x: np.nanstd(x))(x).any()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.einsum("cbc->", x), ValueError),
        (lambda x: np.einsum("aa", x[:, :, 0]), ValueError),
        (lambda x: np.gradient(x[:, 0, 0] > 0), TypeError),
        (lambda x: np.digitize(x, np.array([1.0, 3.0, 2.0])), ValueError),
        (lambda x: np.digitize(1.5, x[:, 0, 0]), ValueError),
    ],
)
def test_what_numpy_refuses(call: Any, error: type[Exception]) -> None:
    cube = np.array([1.0, 3.0, 2.0]).reshape(3, 1, 1)
    for x in (cube, tg.tensor(cube)):
        with pytest.raises(error):
            call(x)


@pytest.mark.parametrize("function", [np.sort, np.argsort, np.partition, np.argpartition])
@pytest.mark.parametrize(
    "words",
    [{"order": "f"}, {"order": ["f"]}, {"kind": "bad"}, {"kind": "stable", "stable": True}],
    ids=str,
)
def test_ways_of_sorting_that_numpy_refuses(function: Any, words: dict[str, Any]) -> None:
    place = (1,) if "partition" in function.__name__ else ()
    x = np.array([3.0, 1.0, 2.0, 7.0])
    with pytest.raises((ValueError, TypeError)) as refused:
        function(x, *place, **words)
    compiled = tg.jit(lambda x: function(x, *place, **words))
    for call in (compiled, lambda x: function(tg.tensor(x), *place, **words)):
        with pytest.raises(refused.type):
            call(x)


@pytest.mark.parametrize("function", [np.sort, np.argsort])
def test_ways_of_sorting_that_are_one_here(function: Any) -> None:
    x = np.array([3.0, 1.0, 2.0, 1.0])
    expected = function(x, kind="stable")
    for words in ({"stable": True}, {"stable": False}, {"kind": "heapsort"}, {"order": None}):
        found = tg.jit(lambda x, words=words: function(x, **words))(x)
        np.testing.assert_array_equal(found, expected)


def test_sorting_in_place_refuses_what_numpy_refuses() -> None:
    def in_place(x: Any, **words: Any) -> Any:
        y = x.copy()
        y.sort(**words)
        return y

    x = np.array([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(tg.jit(in_place)(x), np.sort(x))
    for words in ({"order": "f"}, {"kind": "bad"}):
        with pytest.raises(ValueError, match=next(iter(words))):
            tg.jit(lambda x, words=words: in_place(x, **words))(x)
