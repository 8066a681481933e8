"""Products with sparse matrices and systems of them, against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import tracegrad as tg
from tests.cases import Case, off_device
from tests.cases.products import normal
from tracegrad.errors import ShapeError

INDICES, INDPTR = np.array([0, 3, 1, 0, 2, 4]), np.array([0, 2, 3, 3, 6])
ROWS, COLUMNS = np.array([2, 0, 0, 1, 2, 1, 0]), np.array([0, 1, 0, 1, 2, 0, 1])
"""The last entry stands where the second one does."""


def by_rows(data: Any) -> Any:
    """Four rows, of which one is empty, and five columns."""
    return tg.sparse.array((data, INDICES, INDPTR), (4, 5))


def square(data: Any) -> Any:
    return tg.sparse.array((data, (ROWS, COLUMNS)), (3, 3)) + sp.eye_array(3) * 5


FAR = sp.random_array((120, 120), density=0.05, rng=0) + 5 * sp.eye_array(120)
"""No order makes few diagonals of it."""


def general(data: Any, b: Any) -> Any:
    corner = tg.sparse.array((data, (ROWS, COLUMNS)), (120, 120))
    return tg.sparse.solve(corner + FAR, np.concatenate([b, np.ones(117)]))[:4]


def plain_general(data: Any, b: Any) -> Any:
    corner = sp.coo_array((data, (ROWS, COLUMNS)), shape=(120, 120))
    return sla.spsolve((corner + FAR).tocsc(), np.concatenate([b, np.ones(117)]))[:4]


def plain(data: Any) -> Any:
    return sp.csr_array((data, INDICES, INDPTR), shape=(4, 5))


def plain_square(data: Any) -> Any:
    return sp.csr_array(sp.coo_array((data, (ROWS, COLUMNS)), shape=(3, 3)) + sp.eye_array(3) * 5)


CASES = off_device(
    Case("sparse product", lambda d, x: by_rows(d) @ x, normal((6,), (5,)),
         lambda d, x: plain(d) @ x, ops=("sparse_product", "sparse_entries"),
         special=((np.ones(6, np.float32), np.ones(5, np.float32)),
                  (np.arange(6), np.ones(5)), (np.full(6, np.nan), np.ones(5))),
         errors=(((np.ones(6), np.ones(4)), ShapeError, "has 5 columns"),
                 ((np.ones(5), np.ones(5)), ShapeError, "5 numbers of data"))),
    Case("sparse product transposed", lambda d, x: x @ by_rows(d), normal((6,), (3, 4)),
         lambda d, x: x @ plain(d)),
    Case("sparse product matrix", lambda d, x: by_rows(d) @ x, normal((6,), (5, 2)),
         lambda d, x: plain(d) @ x),
    Case("sparse scaled", lambda d, w: (by_rows(d) * w).toarray(), normal((6,), (4, 1)),
         lambda d, w: (plain(d) * w).toarray()),
    Case("sparse_solve", general, normal((7,), (3,)), plain_general, ops=("sparse_solve",)),
    Case("banded_solve", lambda d, b: tg.sparse.solve(square(d), b), normal((7,), (3,)),
         lambda d, b: sla.spsolve(plain_square(d), b), ops=("banded_solve",),
         errors=(((np.ones(7), np.ones(4)), ShapeError, "as A has 3 rows"),)),
    Case("banded_solve transposed", lambda d, b: tg.sparse.solve(square(d).T, b),
         normal((7,), (3, 2)), lambda d, b: np.linalg.solve(plain_square(d).toarray().T, b)),
)  # fmt: skip
