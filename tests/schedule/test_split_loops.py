"""Loops of which one step changes what all read: in two halves they give the bits of the program as
it stands, whichever row, place and order meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg


def paths(d: Any) -> Any:
    d = d.copy()
    n = d.shape[0]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                through = d[j, i] + d[i, k]
                if through < d[j, k]:
                    d[j, k] = through
    return d


def along_columns(d: Any) -> Any:
    d = d.copy()
    n = d.shape[0]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                d[k, j] = max(d[k, j], d[i, j] - d[k, i])
    return d


def eliminated(a: Any) -> Any:
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                a[j, k] = 0.5 * a[j, k] - 0.01 * a[j, i] * a[i, k]
    return a


def behind(a: Any) -> Any:
    """What is read at one place changes before the loop, or behind it."""
    a = a.copy()
    n = a.shape[0]
    for i in range(n - 1):
        for j in range(n):
            for k in range(i + 1, n):
                a[j, k] = a[j, k] - 0.01 * a[j, i] * a[n - 1 - j, k]
    return a


def waits(a: Any) -> Any:
    """Each step reads what the one before it wrote, in row i."""
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            for k in range(1, n):
                a[j, k] = 0.5 * a[j, k] + 0.25 * a[i, k - 1] - 0.1 * a[j, i]
    return a


def two_places(a: Any) -> Any:
    """Two steps change what all read."""
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                a[j, k] = 0.5 * a[j, k] - 0.01 * a[j, i] * a[j, j]
    return a


def kept(a: Any) -> Any:
    """What the last step set is read behind the loop."""
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            last = 0.0
            for k in range(n):
                last = 0.5 * a[j, k] - 0.01 * a[j, i] * a[i, k]
                a[j, k] = last
            a[j, 0] += last
    return a


HALVES = {paths: 2, along_columns: 2, eliminated: 2, behind: 1, waits: 0, two_places: 0}


@pytest.mark.parametrize("program", [*HALVES, kept], ids=lambda f: f.__name__)
def test_bits_are_those_of_the_program_in_order(program: Callable[[Any], Any]) -> None:
    f = tg.jit(program)
    for n, dtype in ((19, float), (40, float), (33, np.float32), (3, float)):
        # Below zero on the diagonal: every step changes what it reads.
        a = np.random.default_rng(n).standard_normal((n, n)).astype(dtype)
        found, expected = f(a), program(a)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("program", HALVES, ids=lambda f: f.__name__)
def test_which_loops_are_cut(program: Callable[[Any], Any]) -> None:
    f, a = tg.jit(program), np.zeros((40, 40))
    assert f.source(a).count(" in apart(") == HALVES[program]
