"""Lists of lists of numbers that are read and written at places which only a run knows: as Python
has them, whoever else knows a row."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.test_semantics import POINTS, check_as_plain_python
from tests.staging.ways import Function, Programs
from tracegrad.staging import loops

program = Programs()


def at(v: Any, n: int) -> Any:
    return int(abs(v) * 2) % n


@program
def knapsack(x: Any) -> Any:
    weights = [1, 3, 2, 2]
    d = [[0.0 for _ in range(6)] for _ in range(5)]
    for i in range(1, 5):
        for c in range(6):
            d[i][c] = d[i - 1][c]
            if weights[i - 1] <= c:
                d[i][c] = max(d[i][c], d[i - 1][c - weights[i - 1]] + x[i - 1] ** 2)
    return d[4][5] + 0.1 * sum(d[3])


@program
def shortest(x: Any) -> Any:
    n = len(x)
    d = [[(x[i] - x[j]) ** 2 + 0.1 * ((i + 2 * j) % 3) for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i][k] + d[k][j] < d[i][j]:
                    d[i][j] = d[i][k] + d[k][j]
    return sum(sum(row) for row in d) + np.sum(np.array(d) ** 2)


@program
def counted(x: Any) -> Any:
    h = [[0] * 2 for _ in range(3)]
    for v in x:
        h[at(v, 3)][at(v, 2)] += 1
    return sum(x[0] * h[k][0] + x[1] * h[k][1] for k in range(3)) + len(h) * len(h[0])


@program
def integers_become_floats(x: Any) -> Any:
    h = [[0] * 2 for _ in range(3)]
    for v in x:
        h[at(v, 3)][1] += v * v
    return h[0][1] + 2 * h[1][1] + 3 * h[2][1] + h[-1][-1]


@program
def rows_have_names(x: Any) -> Any:
    d = [[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]]
    for k, v in enumerate(x):
        row = d[at(v, 3)]
        row[k % 2] *= v
        row[0] += d[k % 3][1]
    e, last = d, d[-1]
    e[at(x[0], 3)][0] += 10.0
    last[1] += x[1]
    return sum(k * a + b * b for k, (a, b) in enumerate(d))


@program
def copies_are_others(x: Any) -> Any:
    d = [[1.0, 2.0], [3.0, 4.0]]
    rows, whole, names = [r[:] for r in d], copy.deepcopy(d), list(d)
    more = d[0] + [5.0]
    for v in x:
        d[at(v, 2)][0] += v
    names[1][1] += x[2]
    return sum(d[0]) + 3 * sum(d[1]) + 5 * rows[1][0] + 7 * whole[0][0] + sum(more) + names[0][0]


@program
def gone_through(x: Any) -> Any:
    d = [[1.0, 2.0, 0.5], [3.0, 4.0, 0.25]]
    for row in d:
        row[at(x[0], 3)] += x[0]
    for k, row in enumerate(d):
        row[k] *= x[1]
    s = 0.0
    for row, v in zip(d, x, strict=False):
        for a in row:
            s += a * v
    for row in reversed(d):
        s = 0.5 * s + max(row) - min(row)
    return s


def fill(d: Any, k: Any, v: Any) -> None:
    d[k][0] = v
    row = d[k]
    row[1] = 2 * v


@program
def in_functions_and_branches(x: Any) -> Any:
    d = [[0.0, 1.0] for _ in range(3)]
    for v in x:
        if v > 0:
            fill(d, at(v, 3), v)
        else:
            d[2][at(v, 2)] -= v
    i = 0
    while d[i][0] <= 0 and i < 2:
        i += 1
    return d[i][0] * d[2][1] + d[0][1] + (1.0 if isinstance(d[0], list) else 1e9)


@pytest.mark.parametrize("name", program)
def test_as_plain_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    check_as_plain_python(program[name])


def test_a_list_of_lists_is_returned() -> None:
    def f(x: Any) -> Any:
        d = [[0.0] * 2 for _ in range(2)]
        d[at(x[0], 2)][at(x[1], 2)] = x[2]
        return d

    found = tg.jit(f)(POINTS[0])
    assert type(found) is list
    assert type(found[0]) is list
    np.testing.assert_allclose(found, f(POINTS[0]))


def products(a: Any, b: Any) -> Any:
    n = len(a)
    c = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                c[i][j] += a[i][k] * b[k][j]
    return sum(c[i][i] * c[i][0] for i in range(n))


@pytest.mark.parametrize("n", [5, 18])
def test_one_loop_for_all_sizes(n: int) -> None:
    """Written out, 18 took 45 s."""
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((2, n, n))
    value, (da, db) = tg.jit(tg.value_and_grad(products, (0, 1)))(a, b)
    c = a @ b
    dc = np.diag(c[:, 0])
    dc[:, 0] += np.diag(c)
    np.testing.assert_allclose(value, np.sum(np.diag(c) * c[:, 0]), rtol=1e-11)
    np.testing.assert_allclose(da, dc @ b.T, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(db, a.T @ dc, rtol=1e-11, atol=1e-11)
    if n > 5:
        assert tg.jit(products).source(a, b).count("\n") < 300


def exchanged(x: Any) -> Any:
    d = [[x[0], 1.0], [x[1], 2.0]]
    k = at(x[2], 2)
    d[k], d[0] = d[0], d[k]
    return d[0][0]


def put(x: Any) -> Any:
    d = [[0.0, 1.0], [1.0, 2.0]]
    d[at(x[0], 2)] = [x[1], x[2]]
    return d[0][0] + d[1][0]


def known_elsewhere(x: Any) -> Any:
    row = [1.0, 2.0]
    d = [row, [3.0, 4.0]]
    d[at(x[0], 2)][0] = x[1]
    return row[0] + d[1][0]


def asked_for(x: Any) -> Any:
    d = [[0.0, 1.0], [1.0, 2.0]]
    d[at(x[0], 2)][0] = x[1]
    return x[2] if d[0] in d else x[1]


def one_list(x: Any) -> Any:
    d = [[0.0, 1.0]] * 2
    d[at(x[0], 2)][0] = x[1]
    return d[0][0] + d[1][0]


@pytest.mark.parametrize("f", [exchanged, put, known_elsewhere, asked_for, one_list])
def test_refused(f: Function) -> None:
    """Where a row is another list than it was, or has a name of its own."""
    written = r"a list.*is not known while the function is traced\. Use an array"
    read = r"this list is an item of another one.*cannot be changed any more\..*use an array"
    with pytest.raises(tg.ConcretizationError, match=f"{written}|{read}"):
        tg.jit(f)(POINTS[0])
    assert np.isfinite(f(POINTS[0]))
