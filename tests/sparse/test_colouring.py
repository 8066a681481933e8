"""Colours of structured and random patterns: how many there are, and that every entry is found."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import tracegrad as tg
from tracegrad.sparse.colouring import (
    ORDERS,
    Colours,
    colour_acyclic,
    colour_both,
    colour_columns,
    colour_rows,
    colour_symmetric,
    seeds,
)


def line(n: int) -> Any:
    return sp.diags_array([np.ones(n - 1), np.ones(n), np.ones(n - 1)], offsets=[-1, 0, 1])


def grid(n: int, corners: bool) -> Any:
    along, one = line(n), sp.eye_array(n)
    return sp.kron(along, along) if corners else sp.kron(along, one) + sp.kron(one, along)


def arrow(n: int) -> Any:
    dense = np.eye(n)
    dense[0] = dense[:, 0] = 1
    return sp.csr_array(dense)


def random(n: int) -> Any:
    made = sp.random_array((n, n), density=0.05, rng=1)
    return made + made.T


def bordered(n: int) -> Any:
    """Two dense rows and a dense column beside a tridiagonal matrix."""
    dense = line(n).toarray()
    dense[[0, n // 2]] = dense[:, n - 1] = 1
    return sp.csr_array(dense)


class Case(NamedTuple):
    """A pattern, and the most colours of columns, rows, both, star and acyclic colourings. Known
    to be the fewest: those of tridiagonal matrices, arrows, blocks, diagonals and nine points by
    columns."""

    pattern: Any
    most: tuple[int, int, int, int, int]


CASES = {
    "tridiagonal": Case(line(40), (3, 3, 3, 3, 2)),
    "five points": Case(grid(8, False), (7, 7, 7, 6, 4)),
    "nine points": Case(grid(8, True), (9, 9, 9, 12, 6)),
    "arrow": Case(arrow(20), (20, 20, 3, 2, 2)),
    "bordered": Case(bordered(30), (30, 30, 6, 8, 6)),
    "blocks": Case(sp.kron(sp.eye_array(6), np.ones((4, 4))), (4, 4, 4, 4, 4)),
    "diagonal": Case(sp.eye_array(9), (1, 1, 1, 1, 1)),
    "random": Case(random(60), (22, 22, 22, 18, 9)),
    "no entries": Case(sp.csr_array((5, 5)), (0, 0, 0, 1, 1)),
}
COLOURINGS = (colour_columns, colour_rows, colour_both, colour_symmetric, colour_acyclic)


def recovered(colours: Colours, matrix: np.ndarray) -> np.ndarray:
    """The entries, from products with seeds and steps."""
    parts = [seeds(colours.columns, float) @ matrix.T, seeds(colours.rows, float) @ matrix]
    found = np.concatenate([p.reshape(-1) for p in parts])
    if colours.steps is not None:
        known, later = np.zeros(colours.steps.slots), []
        for place, slot, other in zip(*colours.steps[:3], strict=True):
            later.append(found[place] - known[slot])
            known[other] += later[-1]
        found = np.append(found, later)
    return found[colours.place]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_entry_is_found(case: Case) -> None:
    there = sp.csr_array(case.pattern).toarray() != 0
    n = len(there)
    values = np.random.default_rng(0).normal(size=(n, n))
    for k, colour in enumerate(COLOURINGS):
        if k < 3:
            matrix = np.where(there, values, 0)
        else:
            matrix = np.where(there | there.T, values + values.T, 0)
        pattern = sp.csr_array(matrix != 0)
        rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
        numbers = []
        for order in (*ORDERS, None):
            colours = colour(pattern, order)
            numbers.append(colours.number)
            np.testing.assert_allclose(
                recovered(colours, matrix), matrix[rows, pattern.indices], rtol=1e-9, atol=1e-12
            )
        assert min(numbers) == numbers[-1] <= case.most[k], (colour.__name__, numbers)


@pytest.mark.parametrize("shape", [(7, 30), (30, 7), (0, 4), (4, 0), (1, 1)])
def test_patterns_that_are_not_square(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    matrix = np.where(rng.random(shape) < 0.2, rng.normal(size=shape), 0.0)
    matrix[:1] = 1.0
    pattern = sp.csr_array(matrix != 0)
    rows = np.repeat(np.arange(shape[0]), np.diff(pattern.indptr))
    for colour in COLOURINGS[:3]:
        for order in (*ORDERS, None):
            colours = colour(pattern, order)
            np.testing.assert_array_equal(recovered(colours, matrix), matrix[rows, pattern.indices])


def test_random_patterns() -> None:
    """Every entry of random symmetric patterns, of any number of neighbours."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 25))
        dense = rng.random((n, n)) < rng.choice([0.05, 0.2, 0.6])
        values = np.where(dense | dense.T, (v := rng.normal(size=(n, n))) + v.T, 0)
        pattern = sp.csr_array(values != 0)
        rows = np.repeat(np.arange(n), np.diff(pattern.indptr))
        for colour in COLOURINGS:
            colours = colour(pattern)
            np.testing.assert_allclose(
                recovered(colours, values), values[rows, pattern.indices], rtol=1e-7, atol=1e-9
            )


def bordered_function(x: Any) -> Any:
    """A dense row, a dense column, and a diagonal in a loop."""
    inner, _ = tg.scan(lambda c, _: (np.sin(c) * x[0], None), x, length=2)
    return np.concatenate([np.prod(x)[None], inner[1:]])


def looped(x: Any) -> Any:
    """A Hessian that no terms describe."""
    waves, _ = tg.scan(lambda c, _: (np.sin(c), None), x[1:] * x[:-1], length=2)
    return np.sum(waves)


def test_values_by_each_colouring() -> None:
    x = np.linspace(0.5, 1.5, 9)
    dense = tg.jacobian(bordered_function)(x)
    for method, format, number in (("auto", "csr", 3), ("both", "csc", 3), ("rows", "csc", 9)):
        J = tg.sparse_jacobian(bordered_function, method=method, format=format)
        assert J.colours(x) == number, (method, J.colours(x))
        np.testing.assert_allclose(J(x).toarray(), dense, rtol=1e-12)
    dense = tg.hessian(looped)(x)
    for method, lower, number in (("auto", False, 3), ("acyclic", False, 2), ("acyclic", True, 2)):
        H = tg.sparse_hessian(looped, lower=lower, method=method)
        assert H.colours(x) == number
        expected = np.tril(dense) if lower else dense
        np.testing.assert_allclose(H(x).toarray(), expected, rtol=1e-10, atol=1e-12)
    found = tg.sparsity(looped, of="hessian")(x)
    assert (found.method, found.colours) == ("star", 3)


def test_colourings_of_one_kind() -> None:
    for make, method in (
        (tg.sparse_jacobian, "star"),
        (tg.sparse_jacobian, "acyclic"),
        (tg.sparse_hessian, "rows"),
        (tg.sparse_hessian, "both"),
    ):
        with pytest.raises(ValueError, match=r"Hessian"):
            make(np.sum, method=method)
