"""`A[[k, p]] = A[[p, k]]`, the exchange of rows: lists of places as keys, known and traced ones
mixed, where they are read, written, added to and looked up, in programs that are staged as well."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose as close

import tracegrad as tg
from tests.staging.ways import differences

X = np.array([[0.5, -1.25, 2.0], [3.0, 0.25, -0.75], [1.5, 2.5, -2.0], [0.125, 1.0, 4.0]])


def exchanged(x: Any, i: Any, j: Any) -> Any:
    y = x * 1.0
    y[[i, j]] = y[[j, i]]
    return y


def written_twice(x: Any, i: Any, j: Any) -> Any:
    y = x * 1.0
    y[[0, i, j]] *= 2.0
    y[[i, i], [0, 1]] = x[[j, j], [2, 1]]
    return y


def columns(x: Any, i: Any, j: Any) -> Any:
    return x[:, [0, i % 3]] * x[[i, j, -1, 0]][:, [j % 3, 1]]


def nested(x: Any, i: Any, j: Any) -> Any:
    return x[[[i, 0], [j, i]]] * np.take(x, [i, j], 0)


def pivoted(x: Any, i: Any, j: Any) -> Any:
    a = x[:3].copy()
    det = 1.0
    for k in range(3):
        p = k
        for row in range(k + 1, 3):
            if abs(a[row, k]) > abs(a[p, k]):
                p = row
        if p != k:
            a[[k, p]] = a[[p, k]]
            det = -det
        det = det * a[k, k]
        for row in range(k + 1, 3):
            a[row] = a[row] - a[row, k] / a[k, k] * a[k]
    return det * (1 + i - j)


PROGRAMS: list[Callable[..., Any]] = [exchanged, written_twice, columns, nested, pivoted]
PLACES = [(1, 3), (2, 2), (0, -1)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_equal_to_plain_python(program: Callable[..., Any]) -> None:
    def loss(x: Any, i: Any, j: Any) -> Any:
        return np.sum(np.sin(program(x, i, j)))

    compiled, gradient = tg.jit(program), tg.jit(tg.grad(loss))
    for i, j in PLACES:
        close(compiled(X, i, j), program(X, i, j), rtol=1e-14)
        expected = differences(partial(loss, i=i, j=j), X)
        close(gradient(X, i, j), expected, atol=1e-7)
    close(tg.grad(loss)(X, 1, 3), differences(partial(loss, i=1, j=3), X), atol=1e-7)
    first, second = (np.array(p) for p in zip(*PLACES, strict=True))
    mapped = tg.vmap(program, (None, 0, 0))(X, first, second)
    close(mapped, np.stack([program(X, i, j) for i, j in PLACES]), rtol=1e-14)


def test_what_is_no_index() -> None:
    x, i = tg.tensor(X), tg.tensor(1)
    for key in ([1.0, i], [tg.tensor(1.0), 0], [i, None], [slice(1), i]):
        for write in (False, True):
            with pytest.raises(IndexError, match=r"index|indices"):
                x.__setitem__(key, 0.0) if write else x[key]
    with pytest.raises(ValueError, match="one shape"):
        x[[i, [0, 1]]]
