"""Sums at places, as NumPy computes them but where `np.add.at` is slow: many elements of arrays of
several axes, and long rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

MANY = 1 << 12
"""Fewer elements are added by `np.add.at`."""
IN_ROWS = 1 << 16
"""As many elements in rows are added as a product with a sparse matrix (SciPy's is loaded then)."""
WIDE = 4


def add_elements(x: Any, updates: Any, places: Any) -> Any:
    """A new array: x with each update added at its place, of which `places` has the number in C
    order. `np.add.at` has a quick way for vectors only, three times as fast."""
    out = np.array(x, order="C")
    np.add.at(out.reshape(-1), places.reshape(-1), updates.reshape(-1))
    return out


def add_rows(x: Any, updates: Any, rows: Any) -> Any:
    """A new array: x with `updates[k]` added to the row `rows[k]`; None where it is no quicker.

    As the product of a sparse matrix of ones with the rows, in the order of `np.add.at` (so with
    its bits), which takes 4 to 14 times as long.
    """
    n, width = x.shape[0], math.prod(x.shape[1:])
    if updates.size < IN_ROWS or width < WIDE or x.dtype.kind not in "fc":
        return None
    if rows.min() < -n or rows.max() >= n:
        return None
    from scipy.sparse import csc_array

    places = np.where(rows < 0, rows + n, rows).reshape(-1)
    terms, start = updates.reshape(-1, width), x.reshape(n, width)
    named = np.ones(n, np.bool_)
    if x.any():
        named[...] = False
        named[places] = True
        terms, places = np.concatenate([start, terms]), np.concatenate([np.arange(n), places])
    count = len(places)
    # A column for each update, with one element: nothing is to be sorted.
    columns = (np.ones(count, terms.real.dtype), places, np.arange(count + 1))
    ones = csc_array(columns, shape=(n, count))
    # As real numbers: 1 times an infinite complex number has a part that is NaN.
    parts = ones @ np.ascontiguousarray(terms).view(terms.real.dtype)
    total = parts.view(terms.dtype)
    # A row that nothing is added to keeps the signs of its zeros.
    found = total if named.all() else np.where(named[:, None], total, start)
    return found.reshape(x.shape)


__all__ = ["MANY", "add_elements", "add_rows"]
