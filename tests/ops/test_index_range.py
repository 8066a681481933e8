"""Indices out of range: an IndexError in every mode, nothing written outside, and nothing read
outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

N = 1000
X = np.linspace(0.0, 1.0, N)


def put(x: Any, i: Any) -> Any:
    y = x * 1.0
    y[i] = 2.0
    return y


def added(x: Any, i: Any) -> Any:
    y = x * 1.0
    np.add.at(y, i, 2.0)
    return y


def own(x: Any, i: Any) -> Any:
    x[i] = 5.0
    return np.sum(x)


def in_loop(x: Any, i: Any) -> Any:
    total, products = tg.scan(lambda s, k: (s + x[k], s * x[k]), 0.0, i)
    return total + products


def counted(x: Any, i: Any) -> Any:
    return tg.fori_loop(i[0], i[-1], lambda k, s: s + x[k], 0.0)


def written_in_loop(x: Any, i: Any) -> Any:
    def step(y: Any, k: Any) -> Any:
        y[k] += 1.0
        return y, None

    return tg.scan(step, x * 1.0, i)[0]


USES: dict[str, Callable[[Any, Any], Any]] = {
    "read": lambda x, i: x[i],
    "sum": lambda x, i: np.sum(x[i] * 2.0),
    "many": lambda x, i: np.sum(x[np.concatenate([np.zeros(20000, int), i])]),
    "rows": lambda x, i: np.reshape(x, (N, 1))[i, :],
    "columns": lambda x, i: np.reshape(x, (1, N))[:, i] * 2.0,
    "two": lambda x, i: np.stack([x, x])[i * 0, i],
    "five": lambda x, i: np.reshape(x, (N, 1, 1, 1, 1))[i, i * 0, i * 0, i * 0, i * 0],
    "take": np.take,
    "take along": lambda x, i: np.take_along_axis(x, i, 0),
    "gather": lambda x, i: tg.gather(x, 0, i),
    "put": put,
    "add": added,
    "written argument": own,
    "index_update": lambda x, i: tg.index_update(x, i, 1.0),
    "scan": in_loop,
    "counted": counted,
    "written in a loop": written_in_loop,
    "gradient": lambda x, i: tg.grad(lambda x: np.sum(x[i] ** 2))(x),
}


@pytest.mark.parametrize("use", USES)
def test_out_of_range(use: str) -> None:
    f = USES[use]
    jitted = tg.jit(f)
    ranges = {"int64": (N, N + 7, -N - 1, 2**40, -(2**62)), "int32": (N, -N - 1), "uint8": ()}
    good = np.array([3, 7, 9])
    expected = f(X.copy(), good)
    for g, e in zip(np.atleast_1d(jitted(X.copy(), good)), np.atleast_1d(expected), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-12)
    for dtype, outside in ranges.items():
        for bad in outside if use != "counted" else outside[:1]:
            x, i = X.copy(), np.array([3, bad, 5] if use != "counted" else [3, bad + 1], dtype)
            with pytest.raises(
                IndexError,
                match=(
                    rf"index {'-?[0-9]+' if use in ('five', 'counted') else bad} is out of "
                    r"bounds for axis . with size"
                ),
            ):
                jitted(x, i)
            np.testing.assert_array_equal(x, X)
    # The error of one call is none of the next.
    for g, e in zip(np.atleast_1d(jitted(X.copy(), good)), np.atleast_1d(expected), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-12)
    if use not in ("counted", "written argument", "add"):
        with pytest.raises(IndexError):
            f(X.copy(), np.array([3, N, 5]))


def test_several_of_them() -> None:
    """Which index a loop names is not said, but it is one of those outside."""
    f = tg.jit(lambda x, i: np.sum(x[i]))
    with pytest.raises(IndexError, match=r"index (-1001|5000|1000) .*\(test_index_range.py:\d+\)"):
        f(X, np.array([1, 5000, 2, -1001, 1000]))
    assert f(X, np.array([-N, -1, N - 1])) == 2.0


def test_batches() -> None:
    x = X[:6]
    for f in (lambda x, i: x[i], put, lambda x, i: tg.fori_loop(0, i, lambda k, s: s + x[k], 0.0)):
        for batch in (tg.vmap(f, (None, 0)), tg.jit(tg.vmap(f, (None, 0)))):
            with pytest.raises(IndexError, match="out of bounds"):
                batch(x, np.array([1, 7, 2]))
    with pytest.raises(IndexError, match="index 6 is out of bounds for axis 1 with size 6"):
        tg.jit(tg.vmap(lambda x, i: x[i]))(np.stack([x, x]), np.array([1, 6]))


def test_kinds_of_indices() -> None:
    x = X[:6]
    for i in (1.0, np.array([1.0]), np.array([]), np.array(1j)):
        with pytest.raises(IndexError, match="integer"):
            tg.jit(lambda x, i: x[i])(x, i)
    assert tg.jit(lambda x, i: x[i])(x, np.array([], np.int8)).shape == (0,)
    assert tg.jit(lambda x, i: x[i])(x, np.array([], np.int8).reshape(0, 3)).shape == (0, 3)
    np.testing.assert_array_equal(tg.jit(put)(x, np.array([], int)), x)
    assert tg.jit(lambda x, i: x[i])(x, np.uint8(5)) == x[5]
    with pytest.raises(IndexError, match="index 250"):
        tg.jit(lambda x, i: x[i])(x, np.array([3, 250], np.uint8))
    big = np.arange(300.0)
    np.testing.assert_array_equal(
        tg.jit(lambda x, i: x[i])(big, np.array([3, 250], np.uint8)), [3.0, 250.0]
    )


@pytest.mark.parametrize(
    "f",
    [lambda x, i: x[i], lambda x, i: np.sum(x[i]), put, lambda x, i: x[i : i + 1]],
    ids=["read", "sum", "put", "slice"],
)
def test_an_empty_axis_has_no_index(f: Callable[..., Any]) -> None:
    with pytest.raises(IndexError, match="out of bounds"):
        tg.jit(f)(np.zeros(0), 0)
    # Where it is not asked for, it does no harm.
    assert (
        tg.jit(lambda x, i: tg.cond(i > 0, lambda: np.sum(x[i]), lambda: 3.0))(np.zeros(0), 0)
        == 3.0
    )


def test_not_taken() -> None:
    """An index counts where the program comes to it."""
    f = tg.jit(lambda x, i: tg.cond(i < x.shape[0], lambda: x[i], lambda: -1.0))
    assert f(X, N) == -1.0
    assert f(X, N - 1) == 1.0
    with pytest.raises(IndexError):
        f(X, -N - 1)


def test_in_numba() -> None:
    """The functions for one's own Numba code raise as well."""
    kernel = tg.jit(lambda x, i: np.sum(x[i])).njit(X, np.array([1, 2]))
    assert kernel(X, np.array([N - 1, 0])) == 1.0
    with pytest.raises(IndexError):
        kernel(X, np.array([N, 0]))


def test_unchecked() -> None:
    """On request an index out of range means the nearest place; nothing beyond the array is
    touched."""
    x, i = X[:6].copy(), np.array([-100, -1, 6, 2**62, 3])
    nearest = np.array([0, 5, 5, 5, 3])
    read = tg.jit(lambda x, i: x[i], checked=False)
    assert "status[0]" not in read.source(x, i)
    np.testing.assert_array_equal(read(x, i), x[nearest])
    expected = np.zeros(6)
    np.add.at(expected, nearest, 2 * x[nearest])
    unchecked = tg.jit(lambda x, i: np.sum(x[i] ** 2), checked=False)
    np.testing.assert_allclose(tg.grad(unchecked)(x, i), expected)
    t = tg.tensor(x, requires_grad=True)
    unchecked(t, i).backward()
    np.testing.assert_allclose(t.grad.numpy(), expected)
    guarded = np.full(8, 7.0)
    write = tg.jit(own, checked=False)
    write(guarded[1:7], i)
    np.testing.assert_array_equal(guarded, [7.0, 5.0, 7.0, 7.0, 5.0, 7.0, 5.0, 7.0])
    cut = tg.jit(lambda x, i: x[i - 1 : i + 2], checked=False)
    np.testing.assert_array_equal([cut(x, 0), cut(x, 9), cut(x, 2)], [x[:3], x[3:], x[1:4]])
    with pytest.raises(IndexError):
        tg.jit(lambda x, i: read(x, i))(x, i)  # what calls it decides
    with pytest.raises(IndexError):
        tg.jit(lambda x, i: x[i], checked=False)(np.zeros(0), 0)
