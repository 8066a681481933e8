"""What is written in place although it is read there: element by element where each is read in its
own place, or by later passes only; through a copy where an earlier pass would change it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted

N, STEPS = 6, 3


def own(k: Any, a: Any) -> Any:
    a[1:] = np.sin(a[1:]) + k
    return a


def own_by_columns_again(k: Any, a: Any) -> Any:
    a[:, k] = np.sin(a[:, k]) + a[:, k] * np.sum(a[:, k])
    return a


def of_two_columns(k: Any, a: Any) -> Any:
    a[:, k] = a[::-1, k] + a[:, k + 1]
    return a


def own_by_columns(k: Any, a: Any) -> Any:
    a[:, k] = a[:, k] * a[0, k]
    return a


def ahead(k: Any, a: Any) -> Any:
    a[:-1] = a[1:] * 0.5 + a[:-1]
    return a


def behind(k: Any, a: Any) -> Any:
    a[1:] = a[:-1] * 0.5 + a[1:]
    return a


def both_sides(k: Any, a: Any) -> Any:
    a[1:-1] = a[2:] - a[:-2] * 0.3
    return a


def ahead_in_one_axis(k: Any, a: Any) -> Any:
    a[:-1, 1:] = a[1:, :-1] * 0.5
    return a


def turned(k: Any, a: Any) -> Any:
    a[1:4] = a[1:4][::-1] * 2
    return a


def transposed(k: Any, a: Any) -> Any:
    a[:, :] = a.T + k
    return a


def at_indices(k: Any, a: Any) -> Any:
    at = np.array([1, 1, 2])
    a[at] = a[at] + np.arange(3.0)[:, None]
    return a


def of_a_total(k: Any, a: Any) -> Any:
    a[1:] = a[1:] - np.sum(a[1:] * a[0], axis=0)
    return a


PROGRAMS = [
    own, own_by_columns, own_by_columns_again, of_two_columns, ahead, behind, both_sides,
    ahead_in_one_axis, turned, transposed, at_indices, of_a_total,
]  # fmt: skip
IN_PLACE = {own_by_columns, own_by_columns_again}


@pytest.mark.parametrize("step", PROGRAMS)
def test_value(step: Any) -> None:
    x = np.linspace(-0.7, 0.9, N * N).reshape(N, N) ** 2
    expected = x.copy()
    for k in range(STEPS):
        expected = step(k, expected)
    jitted: Any = tg.jit(lambda x: tg.fori_loop(0, STEPS, step, x + 0.0))
    captures = jitted._entry((x,), {}).entry.traced.captures
    (found,) = run_unjitted(jitted.graphs(x)[-1], [x, *captures])
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    if step in IN_PLACE:
        assert "_next" not in jitted.source(x)
