"""The largest, the least and the order of things by traced keys, as Python's `max`, `min`,
`sorted`, `list.sort` and `bisect` give them; long lists, and lists of arrays of different length,
that a loop goes over. In loops that are kept, at two points, with all derivatives."""

from __future__ import annotations

import bisect
import re
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.test_semantics import POINTS, check_as_plain_python
from tests.staging.ways import Function, Programs, evaluated
from tracegrad.staging import listed, loops

program = Programs()


@program
def by_a_key(x: Any) -> Any:
    m = max(range(len(x)), key=lambda i: abs(x[i]))
    k = min(range(len(x)), key=lambda i: x[i] ** 2)
    return x[m] * (m + 2) + x[k] * k * x[0]


@program
def of_numbers_by_a_key(x: Any) -> Any:
    return max(x, key=abs) * min(list(x), key=lambda v: (v - 1) ** 2) + max(x[0], x[1], key=abs)


@program
def where_there_may_be_none(x: Any) -> Any:
    """Of some, of none at either point, and of some in each pass."""
    s = max((v * v for v in x if v > 0.5), default=0) + min([v for v in x if v > 9], default=x[1])
    y = x[x > 2.0]
    s += 0.5 * max(y * y, default=-1.0) + min((v for v in x if v > 9 and v < x[0]), default=3.0)
    for k in range(4):
        s += max((x[j] * x[k] for j in range(4) if x[j] > x[k]), default=x[k])
    return s


@program
def of_tuples(x: Any) -> Any:
    best, j = max((x[i] ** 2, i) for i in range(4))
    least, k = min([(round(v), v) for v in x])
    same = max((0, v) for v in x)[1]
    return best * (j + 1) + least * k * x[0] + same


@program
def of_nested_tuples(x: Any) -> Any:
    (_, v), k = max(((i // 2, x[i]), i) for i in range(4))
    return v * (k + 1)


@program
def of_pairs(x: Any) -> Any:
    k, v = max(enumerate(x), key=lambda p: p[1])
    w, u = min(zip(np.sin(x), x, strict=False))
    return v * (k + 1) * w + u


@program
def ties(x: Any) -> Any:
    floors = [np.floor(v) for v in (x[0], x[0], x[1], x[2], x[2])]
    first = max(range(5), key=lambda i: floors[i])
    last = min(range(5), key=lambda i: -i * (x[0] > 100))
    order = sorted(range(5), key=lambda i: floors[i] > 1)
    turned = sorted(range(5), key=lambda i: floors[i] > 1, reverse=True)
    return x[0] * (first + 10 * last) + order[1] * x[1] + turned[1] * x[2] + turned[-1] * x[3]


@program
def in_order(x: Any) -> Any:
    a, b = sorted(x), sorted(x, key=abs, reverse=True)
    s = a[0] + 2 * a[1] + b[0] * b[3]
    for k, i in enumerate(sorted(range(4), key=lambda i: -x[i])):
        s += x[i] * (k + 1)
    return s


@program
def lists_in_order(x: Any) -> Any:
    a, b = list(x), [v * v for v in x]
    a.sort()
    b.sort(reverse=True)
    pairs = sorted(zip(x, range(4), strict=True))
    s = a[3] * b[1]
    for rank, (v, i) in enumerate(pairs):
        s += v * (i + 1) * rank
    return s


@program
def of_a_list_of_the_loop(x: Any) -> Any:
    out, s = [], 0.3
    for k in range(9):
        s = np.sin(s * x[k % 4] + k)
        out.append(s)
    return max(out) * min(out) + max(out, key=abs) + sorted(out)[5] * x[0]


@program
def in_a_loop(x: Any) -> Any:
    free, waited = np.zeros(3), 0.0
    for k in range(8):
        j = min(range(3), key=lambda q: free[q])
        waited += free[j] * x[0]
        free[j] += abs(x[k % 4])
    return waited


@program
def of_chosen_ones(x: Any) -> Any:
    return sum(v**2 for v in x if v > 0) * x[1] + sum(np.sin(x[i]) for i in range(4) if x[i] < 1)


@program
def by_bisection(x: Any) -> Any:
    grid, s = [0.0, 0.5, 1.0, 1.5, 3.5], 0.0
    for v in x:
        i = bisect.bisect_right(grid, abs(v)) - 1
        s += (abs(v) - grid[i]) / (grid[i + 1] - grid[i]) * (i + 1)
    return s + bisect.bisect_left(grid, x[0]) * x[1]


@program
def numbers_of_a_list(x: Any) -> Any:
    s = x[3]
    for k, y in enumerate([0.1, 0.5, -0.3, 0.2] * 4):
        s = np.sin(s + y * x[k % 4])
    return s


@program
def rows_of_a_table(x: Any) -> Any:
    s = 0.0
    for i, (j, w), n in [(k % 4, (k * 3 % 4, 0.1 * k), k) for k in range(14)]:
        s += w * x[i] * x[j] / (n + 1)
    return s


@program
def neighbours(x: Any) -> Any:
    times, s = [0.1 * k * k for k in range(15)], x[0]
    later = times[1:]
    for a, b in zip(times, later, strict=False):
        s += (b - a) * np.cos(x[1] * s)
    for t in reversed(times):
        s += t * np.tanh(x[2] * s)
    return s


@program
def a_list_changed_before(x: Any) -> Any:
    a, s = [0.5] * 14, 0.0
    pairs = zip(a, range(14), strict=True)
    a[3] = 2.0
    for v, k in pairs:
        s += v * x[k % 4] ** 2
    return s


@program
def a_list_changed_meanwhile(x: Any) -> Any:
    a, s = [0.5] * 14, 0.0
    for v in a:
        a[-1] += v * x[0]
        s += a[-1] * x[1]
    return s + a[-1]


@program
def arrays_changed_meanwhile(x: Any) -> Any:
    rows = [x * k for k in range(14)]
    s, last = 0.0, rows[-1]
    for r in rows:
        last[0] += r[1]
        s += r[0] * x[2]
    return s


@program
def groups(x: Any) -> Any:
    parts, s = [np.arange(k % 3 + 1) for k in range(14)], 0.0
    for k, g in enumerate(parts):
        y = x[g]
        s += np.log(np.sum(np.exp(y))) * np.mean(y) + k * len(g)
        for i in g:
            s += np.sin(x[i]) * i
    return s + sum(np.sum(x[g] ** 2) for g in parts)


@program
def groups_with_arrays(x: Any) -> Any:
    parts, out = [np.arange(2.0 + k % 3) for k in range(14)], np.zeros(14)
    means = [np.mean(g * x[0]) for g in parts]
    for k, (g, m) in enumerate(zip(parts, means, strict=True)):
        d = g * x[1] - m
        out[k] = d @ d
        if np.max(d) > 1:
            out[k] += x[2] * len(d)
    return np.sum(out**2)


@program
def groups_of_traced(x: Any) -> Any:
    parts, s = [x[: k % 3 + 1] * k for k in range(14)], 0.0
    for p in parts:
        s += np.sum(p) * np.max(p) + np.sin(s)
    return s


@program
def bound_later(x: Any) -> Any:
    n, s = 0, 1.0 + 0 * x[0]
    while abs(s) > 1e-2 and (n := n + 1) < 20:
        s = s * 0.7 * np.cos(x[0])
    if x[1] > -10 and (m := x[2] * 2) > -100:
        s += m
    return s + n * x[0]


@pytest.mark.parametrize("name", program)
def test_as_plain_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    check_as_plain_python(program[name])


@pytest.mark.parametrize("where", [0, 1, 4])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: max(x, key=lambda v: 2 * v),
        lambda x: min(x, key=lambda v: v),
        lambda x: max((v, i) for i, v in enumerate(x))[1],
        lambda x: min((0, v, i) for i, v in enumerate(x))[2],
    ],
)
def test_nan_as_python_has_it(f: Function, where: int) -> None:
    """A first one stays, others are passed."""
    x = np.array([1.0, -2.0, 3.0, 3.0, -2.0])
    x[where] = np.nan
    np.testing.assert_array_equal(evaluated(f, x)[0], f(list(x)))


def test_sizes_of_one_executable() -> None:
    """Loops over lists of arrays, and orders of all elements, are compiled for all sizes at the
    second one."""

    @tg.jit
    def total(parts: Any, x: Any) -> Any:
        s = x[max(range(len(x)), key=lambda i: x[i])] + sorted(x, key=abs)[1]
        for p in parts:
            s = s + np.sum(p) * np.max(p) + np.sin(s)
        return s

    rng = np.random.default_rng(0)
    for n in (3, 4, 6):
        parts = [rng.normal(size=n + k % 3) for k in range(14)]
        x = rng.normal(size=n)
        want = total.__wrapped__(parts, x)
        np.testing.assert_allclose(total(parts, x), want, rtol=1e-12)
    assert len({id(e) for e in total._signatures.entries.values()}) == 2


def test_what_is_read_of_lists_does_not_grow_with_them() -> None:
    def total(x: Any, parts: Any) -> Any:
        s = 0.0
        for p in parts:
            s += np.sum(x[p] ** 2)
        return s

    many = tuple(np.arange(k % 3 + 1) for k in range(90))
    few, more = (
        len(tg.jit(tg.grad(lambda x, n=n: total(x, many[:n])), stage=True).source(np.ones(4)))
        for n in (30, 90)
    )
    assert more < 1.5 * few


def of_texts(x: Any) -> Any:
    return max(("a", "b"), key=lambda k: x[ord(k) - 97])


def of_complex(x: Any) -> Any:
    return max(range(2), key=lambda k: x[k] * 1j)


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (of_texts, tg.ConcretizationError, "things that are not numbers"),
        (of_complex, TypeError, "not supported between instances of 'complex'"),
    ],
)
def test_refused(f: Function, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        tg.jit(f)(np.array([1.0, 2.0]))


def test_changed_lists_are_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a loop changes of the list that it goes over the loop does not read from a copy."""
    monkeypatch.setattr(listed.Least, "items", 1)
    for name in ("a_list_changed_meanwhile", "arrays_changed_meanwhile"):
        x = POINTS[0]
        np.testing.assert_allclose(evaluated(program[name], x)[0], program[name](x.copy()))
