"""Rows and slices of arrays at places that only a run knows are views, as NumPy's: who writes into
one writes into the array, plain or traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import Programs, differences, evaluated
from tracegrad.errors import ConcretizationError
from tracegrad.staging import loops

X = np.array([1.45, -0.45, 2.55, 0.3])
PROGRAMS = program = Programs()


@program
def over_rows_of_zeros(x: Any) -> Any:
    m = np.zeros((4, 4))
    for row in m:
        row[0] = x[0] if x[1] > 0 else x[2]
    return np.sum(m * m)


@program
def row_by_number(x: Any) -> Any:
    m = np.zeros((4, 4))
    for i in range(4):
        row = m[i]
        row[:] = x * i
    return np.sum(m * m)


@program
def row_by_a_value(x: Any) -> Any:
    m = np.zeros((4, 4))
    k = int(abs(x[0]))
    row = m[k]
    row[:] = x
    return np.sum(m * m)


@program
def enumerated_rows(x: Any) -> Any:
    m = np.zeros((4, 4))
    for i, row in enumerate(m):
        row[i] = x[i] if x[i] > 0 else 2.0
    return np.sum(m * m)


@program
def zipped_rows(x: Any) -> Any:
    m, n = np.zeros((4, 4)), np.outer(x, x)
    for a, b in zip(m, n, strict=True):
        a[:] = b * 2
        b[0] = a[1] if x[0] > 0 else 0.0
    return np.sum(m * n)


@program
def reversed_rows(x: Any) -> Any:
    m = np.outer(x, x)
    for row in reversed(m):
        row += x
        if row[0] > 0:
            row[1] = 0.0
    return np.sum(m * m)


@program
def rows_of_a_transpose(x: Any) -> Any:
    m = np.outer(x, x)
    for row in m.T[1:]:
        row[1] = row[0] if row[0] > 0 else x[0]
    return np.sum(m * m)


@program
def rows_of_blocks(x: Any) -> Any:
    m = np.zeros((2, 2, 4))
    for b in m:
        for row in b:
            row[:] = x
            if x[0] > 0:
                row[2] = x[1]
    return np.sum(m * m)


@program
def elements_of_rows(x: Any) -> Any:
    m = np.outer(x, x)
    for row in m:
        for i in range(4):
            if row[i] > 0:
                row[i] = np.sqrt(row[i])
    return np.sum(m)


@program
def row_in_a_while(x: Any) -> Any:
    m = np.ones((3, 4))
    t = abs(x[0]) + 0.1
    k = 0
    while t < 9:
        r = m[k % 3]
        r *= x
        t = t * 2
        k += 1
    return np.sum(m)


@program
def row_for_a_helper(x: Any) -> Any:
    m = np.zeros((3, 4))

    def set_(row: Any, v: Any) -> None:
        row[1] = v

    for i in range(3):
        set_(m[i], x[i] if x[i] > 0 else 1.0)
    return np.sum(m * x)


@program
def slice_of_rows(x: Any) -> Any:
    m = np.zeros((3, 4))
    for i in range(3):
        r = m[i : i + 1]
        r[0, i] = x[i] if x[i] > 0 else 1.0
    return np.sum(m * x)


@program
def tail_of_a_vector(x: Any) -> Any:
    y = np.zeros(8)
    for i in range(4):
        v = y[i:]
        v[0] += x[i] if x[i] > 0 else 1.0
        np.add(v[:2], x[:2], out=v[:2])
    return np.sum(y * y)


@program
def methods_of_rows(x: Any) -> Any:
    m = np.zeros((3, 4))
    for row in m:
        row.sort()
        row.fill(x[0] if x[0] > 0 else x[1])
    return np.sum(m * x)


@program
def halves_swapped(x: Any) -> Any:
    m = np.outer(x, x)
    for row in m:
        row[:2], row[2:] = row[2:].copy(), row[:2].copy() * (2 if x[0] > 0 else 1)
    return np.sum(m * x)


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_writes_reach_the_array(f: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    value, gradient = evaluated(tg.value_and_grad(f), X)[:2]
    np.testing.assert_allclose(value, f(X.copy()), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(tg.grad(f)(X), gradient, rtol=1e-10, atol=1e-12)


def test_compiled() -> None:
    f = row_by_number
    np.testing.assert_allclose(tg.jit(tg.grad(f))(X), differences(f, X), rtol=1e-5, atol=1e-6)


TABLE = np.ones((3, 4))


def row_of_a_table_around(x: Any) -> Any:
    for row in TABLE:
        row[0] = x[0] if x[0] > 0 else 1.0
    return np.sum(TABLE)


def item_of_a_list(x: Any) -> Any:
    rows = [x * 1, x * 2]
    row = rows[int(x[0])]
    row[0] = 5.0
    return np.sum(rows[0]) + np.sum(rows[1])


REFUSED: dict[Callable[[Any], Any], str] = {
    row_of_a_table_around: r"plain array of shape .* that was made elsewhere",
    item_of_a_list: r"an item of a list is written to, .* np.stack",
}


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_refused(f: Callable[[Any], Any]) -> None:
    with pytest.raises(ConcretizationError, match=rf"^test_rows_are_views.py:\d+: .*{REFUSED[f]}"):
        tg.jit(f, stage=True)(X)
    np.testing.assert_array_equal(TABLE, 1.0)
