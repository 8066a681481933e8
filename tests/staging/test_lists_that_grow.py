"""Lists to which loops append, and comprehensions: one loop of the graph, read as Python reads
lists."""

# ruff: noqa: B007, B905, C408, PERF401 - the programs are as people write them
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import CALLS, VALUES, by_source, check_gradient, check_value

X = np.array([1.45, -0.45, 2.55, 0.3])
N = 90
"""So many steps are not written out."""


def plain(x: Any) -> Any:
    out = []
    for i in range(N):
        out.append(x[i % 4] ** 2)
    return np.sum(np.array(out) * np.arange(N))


def from_the_last(x: Any) -> Any:
    h = [x[0]]
    for i in range(1, N):
        h.append(h[-1] * 0.9 + x[i % 4])
    return h[-1] * h[3] + sum(h) / len(h)


def two_back(x: Any) -> Any:
    f = [x[0], x[1]]
    for i in range(N):
        f.append(0.5 * f[-1] + 0.25 * f[-2] + 0.1 * f[i])
    return f[-1] + np.max(f) + f[7]


def of_lists(x: Any) -> Any:
    rows = []
    for i in range(N):
        row = []
        for j in range(30):
            row.append(x[(i + j) % 4] * i)
        rows.append(row)
    a = np.array(rows)
    return np.sum(a[3] * a[4]) + rows[2][5] + len(rows[0])


def through_two_loops(x: Any) -> Any:
    out = list()
    for i in range(20):
        for j in range(30):
            out.append(x[(i + j) % 4] * i)
        out.append(x[0])
    return np.sum(np.array(out) * np.arange(620.0))


def in_both_branches(x: Any) -> Any:
    out = []
    for i in range(N):
        if x[i % 4] > 0:
            out.append(x[i % 4])
        else:
            out.append(0.0)
    return np.sum(np.array(out) ** 2)


def arrays(x: Any) -> Any:
    u, us = x.copy(), []
    for i in range(N):
        us.append(u)
        u = u + 0.1 * np.sin(u)
    a, b = np.stack(us), np.concatenate(us)
    c, d = np.vstack(us), np.column_stack(us)
    return np.sum(a * c) + np.sum(b[5:9]) + d[1, 2] + np.stack(us, axis=1)[0, 3] + len(us)


def tuples(x: Any) -> Any:
    out = []
    for i in range(N):
        out.append((x[i % 4], i * x[0]))
    s = 0.0
    for a, b in out:
        s += a * b
    return s + np.sum(np.array(out)[:, 1]) + out[-1][0]


def two_lists(x: Any) -> Any:
    ts, ys = [0.0], [x[0]]
    for i in range(N):
        ts.append(ts[-1] + 0.1)
        ys.append(ys[-1] + 0.1 * (x[1] - ys[-1]) * np.cos(ts[-1]))
    return np.mean(ys) + ys[50] + np.interp(x[3] + 0.05, ts, ys)


def behind_an_assert(x: Any) -> Any:
    out = []
    for i in range(N):
        assert x[i % 4] < 100
        out.append(x[i % 4])
    return sum(out)


def extended(x: Any) -> Any:
    out = []
    for i in range(N):
        out.extend([x[i % 4], 2.0 * x[0]])
        out += [x[1] * i]
    return np.dot(out, np.arange(3 * N))


def by_a_helper(x: Any) -> Any:
    out = []

    def push(value: Any) -> None:
        out.append(np.sin(value))

    for i in range(N):
        push(x[i % 4])
    return np.prod(np.array(out[:6])) + sum(out[10:])


def fill(into: list[Any], x: Any) -> None:
    for i in range(N):
        into.append(x[i % 4] * i)


def by_another_function(x: Any) -> Any:
    out: list[Any] = []
    fill(out, x)
    fill(out, 2 * x)
    return np.sum(out) + out[N + 3] * out[1]


def changed_afterwards(x: Any) -> Any:
    out = []
    for i in range(N):
        out.append(x[i % 4] * i)
    out[3] = x[0]
    out.insert(0, x[1])
    out.reverse()
    last = out.pop()
    more = [*out[:5], last, *(out[7:9] * 2)]
    return np.sum(np.array(more) * np.arange(10)) + max(out) - min(out)


def comprehensions(x: Any) -> Any:
    v = np.array([np.sin(x[k % 4]) * x[0] for k in range(N)])
    w = [a * b for a, b in zip(v, v[::-1])]
    table = np.array([[x[i] * i * j for i in range(4)] for j in range(N)])
    return sum(w) + np.max(v) + sum(np.cos(t) for t in v) + np.sum(table**2)


def first_pass_apart(x: Any) -> Any:
    out = []
    for i in range(N):
        if i == 0:
            out.append(x[0])
        else:
            out.append(out[-1] * 0.5 + x[i % 4])
    return out[-1] + out[5]


def read_at_places_that_are_computed(x: Any) -> Any:
    out = [x[0]]
    for i in range(N):
        k = int(len(out) / 2)
        out.append(0.5 * out[k] + x[i % 4])
    return out[-1] + out[int(x[2])]


def whole_numbers(x: Any) -> Any:
    places = []
    for i in range(N):
        places.append(i % 4)
    return np.sum(x[np.array(places)] * np.arange(N))


PROGRAMS: list[Callable[[Any], Any]] = [
    plain, from_the_last, two_back, of_lists, through_two_loops, in_both_branches, arrays, tuples,
    two_lists, behind_an_assert, extended, by_a_helper, by_another_function, changed_afterwards,
    comprehensions, first_pass_apart, read_at_places_that_are_computed, whole_numbers,
]  # fmt: skip


@pytest.mark.parametrize("way", VALUES)
@pytest.mark.parametrize("f", PROGRAMS)
def test_value(f: Any, way: str) -> None:
    check_value(f, way, X)


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradient(f: Any) -> None:
    check_gradient(f, "jvp", X)
    check_gradient(f, "grad", X)


@pytest.mark.parametrize("way", ["jit of grad", "grad of jit"])
def test_compiled_gradients(way: str) -> None:
    """Of all in one function, so that one kernel is compiled."""
    some = [plain, two_back, of_lists, in_both_branches, arrays, tuples, two_lists, extended]

    def total(x: Any) -> Any:
        return sum([f(x) for f in some])

    check_gradient(total, way, X)


def test_second_derivatives() -> None:
    for f in (from_the_last, arrays, tuples):
        found = tg.hessian(f)(X)
        columns = [(tg.grad(f)(X + d) - tg.grad(f)(X - d)) / 2e-5 for d in 1e-5 * np.eye(X.size)]
        np.testing.assert_allclose(found, columns, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("f", PROGRAMS)
def test_one_loop(f: Any) -> None:
    """A step more or less is the same graph."""
    if f in (changed_afterwards, first_pass_apart):
        return
    assert len(tg.jit(f).graphs(X)[-1].nodes) < 100


def test_the_list_is_given_back() -> None:
    def f(x: Any) -> Any:
        out, others = [], [1.0]
        for i in range(N):
            out.append(x[i % 4] * i)
        return out, others

    found, others = tg.jit(f)(X)
    assert type(found) is list
    assert others == [1.0]
    np.testing.assert_array_equal(np.array(found), X[np.arange(N) % 4] * np.arange(N))


def test_sizes_stay_open() -> None:
    @tg.jit
    def f(x: Any) -> Any:
        out = []
        for i in range(len(x)):
            out.append(x[i] * len(out))
        return np.array(out), out[-1], len(out)

    for n in (40, 41, 77, 1, 2):
        x = np.linspace(1, 2, n)
        found, last, length = f(x)
        np.testing.assert_array_equal(found, x * np.arange(n))
        assert last == found[-1]
        assert length == n
    assert len({id(e) for e in f._signatures.entries.values()}) <= 3  # of 0, 1 and more items


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64, np.bool_])
def test_dtypes(dtype: Any) -> None:
    x = np.array([1, 0, 3, 2]).astype(dtype)

    def f(x: Any) -> Any:
        out = []
        for i in range(N):
            out.append(x[i % 4])
        return np.array(out), out[2] * np.float32(2)

    for found, want in zip(by_source(f)(x), f(x), strict=True):
        assert found.dtype == want.dtype
        np.testing.assert_array_equal(found, want)


def test_numbers_and_float32_are_not_one_array() -> None:
    """np.array of them is float64, but each of them keeps its own dtype."""
    x = X.astype(np.float32)

    def f(x: Any) -> Any:
        out = [0.0]
        for i in range(N):
            out.append(out[-1] * x[0] * np.float32(0.1) + x[i % 4])
        return np.array(out)

    found, want = by_source(f)(x), f(x)
    assert found.dtype == want.dtype == np.float64
    np.testing.assert_allclose(found, want, rtol=1e-6)


# --- what is refused ------------------------------------------------------------------------------


def before_the_first(x: Any) -> Any:
    out = []
    for i in range(N):
        out.append(out[i] + x[0])
    return out[-1]


def too_far_back(x: Any) -> Any:
    out = [x[0]]
    for i in range(N):
        out.append(out[i - 3] + x[i % 4])
    return out[-1]


@pytest.mark.parametrize("f", [before_the_first, too_far_back])
def test_places_that_are_not_there(f: Any) -> None:
    with pytest.raises(IndexError) as plain_error:
        f(X)
    with pytest.raises(IndexError) as error:
        tg.jit(f)(X)
    assert "list index out of range" in str(error.value)
    assert "list index out of range" in str(plain_error.value)


@pytest.mark.parametrize("way", CALLS)
def test_nothing_is_appended_twice(way: str) -> None:
    """A list around the function is Python's, and grows at each call of it."""
    seen: list[int] = []

    def f(x: Any) -> Any:
        out: list[Any] = []
        for i in range(N):
            out.append(x[0] * i)
        seen.append(len(out))
        return np.sum(out) ** 2

    CALLS[way](f)(X)
    assert set(seen) == {N}
