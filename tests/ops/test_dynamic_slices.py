"""Slices between traced ends: read and written, in every mode, against the same Python code without
compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

RNG = np.random.default_rng(5)
X = RNG.normal(size=(6, 8))
ROW, COLUMN = np.int64(3), np.int64(2)


def use(key: Any, x: Any) -> Any:
    """What is read, x with something written to the same places, and x with something added to
    them."""
    y, z = x * 1.0, np.sin(x)
    y[key] = 0.5 * y[key] ** 2
    z[key] += x[key] * 2.0
    return np.cos(x[key]) * 2.0, y, z


def weighted(results: Any) -> Any:
    return sum(np.sum(r * np.cos(np.arange(r.size)).reshape(r.shape)) for r in results)


# Of a matrix of 6 rows and 8 columns.
KEYS: dict[str, Callable[[Any, Any], Any]] = {
    "around": lambda i, j: slice(i - 1, i + 2),
    "steps of both axes": lambda i, j: (slice(i - 3, i + 3, 2), slice(j, j + 3)),
    "row and columns": lambda i, j: (i, slice(j, j + 4)),
    "columns of a known row": lambda i, j: (-1, slice(2 * j - 1, 3 + 2 * j)),
    "backwards": lambda i, j: (..., slice(j + 3, j - 1, -1)),
    "backwards by two": lambda i, j: (..., slice(j + 4, j - 2, -2), None),
    "from the end": lambda i, j: slice(i - 8, i - 5),
    "none": lambda i, j: slice(i, i),
    "beside an index array": lambda i, j: (slice(i - 1, i + 2), np.array([0, 5, 2])),
    "behind an index array": lambda i, j: (np.array([[0], [5]]), slice(j, j + 3)),
    "computed twice": lambda i, j: slice((i // 2) * 2 - j, (i // 2) * 2 - j + 3),
    "new axes and a mask": lambda i, j: (None, np.arange(6) % 2 == 0, None, slice(j, j + 1)),
    "through the other": lambda i, j: slice(i + j - 3, j + i),
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("name", KEYS)
def test_is_what_numpy_gives(name: str) -> None:
    key, v = KEYS[name], np.sin(X * 3)

    def everything(x: Any, i: Any, j: Any) -> Any:
        def loss(x: Any) -> Any:
            return weighted(use(key(i, j), x))

        gradient, along = tg.jvp(tg.grad(loss), (x,), (v,))
        return (
            *use(key(i, j), x),
            gradient,
            along,
            tg.jvp(loss, (x,), (v,))[1],
            tg.grad(lambda x: np.sum(tg.grad(loss)(x) * v))(x),
        )

    expected = *use(key(ROW, COLUMN), X), *everything(X, ROW, COLUMN)[3:]
    for found, e in zip(tg.jit(everything)(X, ROW, COLUMN), expected, strict=True):
        np.testing.assert_allclose(found, e, rtol=1e-12, atol=1e-14)
    jitted = tg.jit(lambda x, i, j: weighted(use(key(i, j), x)))
    np.testing.assert_allclose(tg.grad(jitted)(X, ROW, COLUMN), expected[3], rtol=1e-12)


@pytest.mark.parametrize("name", ["row and columns", "backwards by two", "beside an index array"])
def test_batches(name: str) -> None:
    def f(x: Any, i: Any, j: Any) -> Any:
        results = use(KEYS[name](i, j), x)
        return *results, tg.grad(lambda x: weighted(use(KEYS[name](i, j), x)))(x)

    xs, rows, columns = np.stack([X, X * 2, X - 1]), np.array([1, 3, 4]), np.array([2, 3, 2])
    cases = [
        ((0, None, None), (xs, ROW, COLUMN)),
        ((None, 0, 0), (X, rows, columns)),
        ((0, 0, None), (xs, rows, COLUMN)),
    ]
    for axes, args in cases:
        single = [
            f(*[a if k is None else a[n] for k, a in zip(axes, args, strict=True)])
            for n in range(3)
        ]
        for batch in (tg.vmap(f, axes), tg.jit(tg.vmap(f, axes))):
            for found, expected in zip(batch(*args), zip(*single, strict=True), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-12)


def smooth(x: Any) -> Any:
    """Three neighbours at a time, read and written in their places."""

    def step(i: Any, y: Any) -> Any:
        y[i - 1 : i + 2] = y[i - 1 : i + 2] * 0.5 + x[i]
        return y

    return tg.fori_loop(1, x.shape[0] - 1, step, np.sin(x))


def pairs(x: Any) -> Any:
    """Two at a time from two ends, the loop's number coming from outside of the inner loop."""

    def outer(i: Any, y: Any) -> Any:
        def inner(k: Any, s: Any) -> Any:
            return s + np.sum(x[i + k : i + k + 2] * y[2 * i : 2 * i + 2])

        y[2 * i : 2 * i + 2] += tg.fori_loop(0, 3, inner, 0.0)
        return y

    return tg.fori_loop(0, x.shape[0] // 2, outer, x * 2.0)


def walk(x: Any) -> Any:
    """A place that the values decide."""

    def body(carry: Any) -> Any:
        i, y = carry
        y[i : i + 3] *= 0.9
        return i + tg.cond(y[i] > 0, lambda: 1, lambda: 2), y

    return tg.while_loop(lambda carry: carry[0] + 3 <= x.shape[0], body, (0, np.cos(x)))[1]


@pytest.mark.parametrize("f", [smooth, pairs, walk])
def test_loops(f: Callable[..., Any]) -> None:
    x = RNG.normal(size=8)

    def everything(x: Any) -> Any:
        def loss(x: Any) -> Any:
            return np.sum(f(x) ** 2)

        return (
            f(x),
            tg.grad(loss)(x),
            tg.hvp(loss, (x,), (np.cos(x),)),
            tg.jvp(f, (x,), (np.cos(x),))[1],
        )

    for found, expected in zip(tg.jit(everything)(x), everything(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11)
    xs = np.stack([x, -x])
    np.testing.assert_allclose(tg.jit(tg.vmap(f))(xs), [f(x), f(-x)], rtol=1e-13)


def test_a_loop_copies_no_array_for_a_slice() -> None:
    """Forwards and backwards a step touches the slice alone."""
    n = 1000
    for f in (tg.jit(smooth), tg.jit(tg.grad(lambda x: np.sum(smooth(x))))):
        source = f.source(np.ones(n))
        depths = [
            (len(line) - len(line.lstrip()), line.split(", ")[-1].rstrip("):"))
            for line in source.splitlines()
            if "for " in line and "range(" in line
        ]
        assert [size for depth, size in depths if depth == 4 and size == str(n - 2)], source
        assert not [size for depth, size in depths if depth > 4 and size == str(n)], source
    tape = str(tg.jit(tg.grad(lambda x: np.sum(smooth(x) ** 2))).graphs(np.ones(n))[1])
    assert f"f64[{n - 2}, {n}]" not in tape


def views(x: Any, i: Any) -> Any:
    """What NumPy shows through a basic key is a view: writes go both ways, even if the index
    changes later."""
    y = np.stack([x * 1.0, x * 2.0])
    row = y[i]
    part = row[i - 1 : i + 2]
    part *= 3.0
    part[1:] += 1.0
    number = y[i, i]
    number += 5.0
    y[i, i - 1] = 7.0
    i += 1
    part[::-1][:1] = x[0]
    return y, row, part, number


def test_views() -> None:
    x = np.linspace(1.0, 2.0, 5)
    for found, expected in zip(tg.jit(views)(x, 1), views(x, 1), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-15)

    def loss(x: Any, i: Any) -> Any:
        return weighted(views(x, i))

    np.testing.assert_allclose(tg.jit(tg.grad(loss))(x, 1), tg.grad(loss)(x, 1), rtol=1e-13)
    np.testing.assert_allclose(
        tg.jit(lambda x, i: tg.jvp(lambda x: loss(x, i), (x,), (x,))[1])(x, 1),
        tg.grad(loss)(x, 1) @ x,
        rtol=1e-13,
    )


def test_sizes_are_symbols() -> None:
    f = tg.jit(lambda x, i: np.sum(x[i : i + x.shape[0] // 2]))
    for n in (4, 6, 8, 9, 20):
        x = np.arange(float(n))
        assert f(x, 1) == np.sum(x[1 : 1 + n // 2])


@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint64", "int64"])
def test_dtypes(dtype: str) -> None:
    x = np.arange(10.0, dtype=np.float32)
    f = tg.jit(lambda x, i: x[i - 1 : i + 2])
    wide = tg.jit(lambda x, i: f(x, i.astype(np.int64)))
    assert wide(x, np.dtype(dtype).type(4)).tolist() == [3.0, 4.0, 5.0]
    if dtype != "int64":
        # Its ends may be any two, since i may wrap around.
        with pytest.raises(tg.ConcretizationError, match="a length that only a run knows"):
            f(x, np.dtype(dtype).type(4))
    assert tg.jit(lambda x, i: x[i])(x.astype(int), np.array([4, 9], dtype)).tolist() == [4, 9]


def test_dynamic_slice() -> None:
    x = X
    for g in (tg.dynamic_slice, tg.jit(tg.dynamic_slice, static_argnames=["size", "axis"])):
        np.testing.assert_array_equal(g(x, (2, 3), size=(3, 4)), x[2:5, 3:7])
        np.testing.assert_array_equal(g(x, -3, size=2, axis=1), x[:, -3:-1])
        np.testing.assert_array_equal(g(x, 6, size=0, axis=0), x[6:6])
        np.testing.assert_array_equal(g(x[0], 2, size=3), x[0, 2:5])
    y, v = x.copy(), np.ones((2, 8))
    y[3:5] = v
    for h in (tg.dynamic_update_slice, tg.jit(tg.dynamic_update_slice, static_argnames="axis")):
        np.testing.assert_array_equal(h(x, v, 3, axis=0), y)
        np.testing.assert_array_equal(h(x, v.astype(int), (3, 0)), y)
    np.testing.assert_array_equal(
        tg.grad(lambda x: np.sum(tg.dynamic_slice(x, 1, 2, axis=0) ** 2))(x),
        np.where([[0], [1], [1], [0], [0], [0]], 2 * x, 0),
    )
    five = RNG.normal(size=(3,) * 5)
    cut = tg.jit(lambda x, i: tg.dynamic_slice(x, (i,) * 5, (2,) * 5))
    np.testing.assert_array_equal(cut(five, 1), five[1:, 1:, 1:, 1:, 1:])
    filled = tg.jit(lambda x, i: tg.dynamic_update_slice(x, np.zeros((2,) * 5), (i,) * 5))(five, 1)
    assert np.count_nonzero(filled) == 3**5 - 2**5
    assert tg.jit(tg.dynamic_slice, static_argnames="size")(np.array(5.0), (), size=()) == 5.0


def key_error(f: Callable[..., Any], *args: Any) -> str:
    with pytest.raises((IndexError, tg.ConcretizationError, tg.ShapeError)) as found:
        f(*args)
    return f"{found.type.__name__}: {found.value}"


def test_errors_of_slices() -> None:
    x = np.arange(10.0)
    text = key_error(tg.jit(lambda x, i: x[i:]), x, 3)
    assert text.startswith("ConcretizationError: test_dynamic_slices.py:")
    assert "a length that only a run knows" in text
    f = tg.jit(lambda x, i, k: x[i : i + k])
    assert "a length that only a run knows" in key_error(f, x, 3, 2)
    assert "a length that only a run knows" in key_error(tg.jit(lambda x, i: x[1:i]), x, 3)
    # Empty but for i = -1.
    assert "count from the end" in key_error(tg.jit(lambda x, i: x[i + 1 : i]), x, 3)
    assert "the step of a slice" in key_error(tg.jit(lambda x, i: x[1:5:i]), x, 3)
    assert "must be an integer, not float64" in key_error(tg.jit(lambda x, i: x[i : i + 2]), x, 3.0)
    assert "11 apart" in key_error(tg.jit(lambda x, i: x[i : i + 11]), x, 3)
    assert "tg.getitem" in key_error(tg.jit(lambda i: x[i : i + 2], stage=False), 3)
    assert tg.jit(lambda i: x[i : i + 2])(3).tolist() == [3.0, 4.0]
    assert "one integer" in key_error(tg.jit(lambda x, i: tg.dynamic_slice(x, i, 2)), x, 1.5)
    assert "Python int" in key_error(tg.jit(lambda x, i: tg.dynamic_slice(x, i, i)), x, 2)
    assert "11 elements" in key_error(tg.dynamic_slice, x, 0, 11)
    assert "from 8 on" in key_error(tg.dynamic_slice, x, 8, 3)
    assert "2 starts" in key_error(tg.dynamic_slice, x, (0, 1), (2, 2))
    assert "values of shape (2, 2)" in key_error(tg.dynamic_update_slice, x, np.ones((2, 2)), 3)


@pytest.mark.parametrize("i", [0, 9, -1, -2, -10, 100])
def test_ends_outside(i: int) -> None:
    """Compiled code gives what NumPy gives or raises; -1:2 is to NumPy no slice of three
    elements."""
    x = np.arange(10.0)
    text = key_error(tg.jit(lambda x, i: x[i - 1 : i + 2]), x, i)
    assert text.startswith(f"IndexError: index {i - 1} of a slice")
    assert "test_dynamic_slices.py:" in text
    assert "IndexError" in key_error(
        tg.vmap(lambda i: tg.getitem(x, slice(i - 1, i + 2))), np.array([4, i])
    )


def test_ends_outside_backwards() -> None:
    x = np.arange(10.0)
    f = tg.jit(lambda x, i: x[i + 2 : i - 1 : -1])
    assert f(x, 1).tolist() == x[3:0:-1].tolist()
    assert f(x, -4).tolist() == x[-2:-5:-1].tolist()
    for i in (0, 8):
        assert "IndexError" in key_error(f, x, i)
