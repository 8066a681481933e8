"""Colours of structured and random patterns: how many there are, and that every entry is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tracegrad.sparse.colouring import ORDERS, colour_columns, colour_symmetric, seeds


def grid(n: int, corners: bool) -> Any:
    line = sp.diags_array([np.ones(n - 1), np.ones(n), np.ones(n - 1)], offsets=[-1, 0, 1])
    one = sp.eye_array(n)
    return sp.kron(line, line) if corners else sp.kron(line, one) + sp.kron(one, line)


def arrow(n: int) -> Any:
    dense = np.eye(n)
    dense[0] = dense[:, 0] = 1
    return sp.csr_array(dense)


def random(n: int) -> Any:
    made = sp.random_array((n, n), density=0.05, rng=1)
    return made + made.T


PATTERNS: tuple[tuple[str, Any, int, int], ...] = (
    (
        "tridiagonal",
        sp.diags_array([np.ones(39), np.ones(40), np.ones(39)], offsets=[-1, 0, 1]),
        3,
        3,
    ),
    ("five points", grid(8, False), 9, 7),
    ("nine points", grid(8, True), 12, 16),
    ("arrow", arrow(20), 20, 2),
    ("blocks", sp.kron(sp.eye_array(6), np.ones((4, 4))), 4, 4),
    ("diagonal", sp.eye_array(9), 1, 1),
    ("random", random(60), 60, 60),
)
"""Name, pattern, and the most colours that columns and star may take."""


@pytest.mark.parametrize("case", PATTERNS, ids=lambda c: c[0])
def test_every_entry_is_found(case: tuple[str, Any, int, int]) -> None:
    _, found, most, most_star = case
    pattern = sp.csr_array(found != 0)
    pattern.sort_indices()
    n = pattern.shape[0]
    values = np.random.default_rng(0).normal(size=(n, n))
    symmetric = np.where(pattern.toarray(), values + values.T, 0)
    other = np.where(pattern.toarray(), values, 0)
    rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
    for order in ORDERS:
        for colour, matrix, bound in (
            (colour_columns, other, most),
            (colour_symmetric, symmetric, most_star),
        ):
            colours = colour(pattern, order)
            assert colours.number <= bound, (order, colour.__name__, colours.number)
            products = seeds(colours, float) @ matrix.T
            np.testing.assert_array_equal(
                products.reshape(-1)[colours.place], matrix[rows, pattern.indices]
            )
