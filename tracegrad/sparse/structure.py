"""Which entries a sparse matrix has, and in which order their values stand."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

WIDEST_BLOCK = 16
"""Rows and columns that a block may have."""


@dataclass(frozen=True, eq=False)
class SparseStructure:
    """Which entries there are: coordinates, counted from 0, in the order of the values."""

    rows: np.ndarray
    columns: np.ndarray
    shape: tuple[int, int]
    order: str = "csr"
    """Sorted by rows ("csr", "coo"), by columns ("csc") or block by block ("bsr")."""
    block: tuple[int, int] = (1, 1)
    """The rows and columns of each block."""

    def __len__(self) -> int:
        return len(self.rows)

    def same(self, other: SparseStructure) -> bool:
        """Whether values of one may stand at the places of the other."""
        return self is other or (
            self.shape == other.shape
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.columns, other.columns)
        )

    @property
    def minor(self) -> np.ndarray:
        """The column (row) of each entry; of blocks theirs."""
        if self.order == "bsr":
            r, c = self.block
            return self.columns[:: r * c] // c
        return self.rows if self.order == "csc" else self.columns

    @functools.cached_property
    def starts(self) -> np.ndarray:
        """Where each row (column, row of blocks) begins."""
        r, c = self.block
        by_columns = self.order == "csc"
        major, count = (self.columns, self.shape[1]) if by_columns else (self.rows, self.shape[0])
        lengths = np.bincount(major[:: r * c] // r, minlength=count // r)
        return np.append(0, np.cumsum(lengths)).astype(major.dtype)

    def matrix(self, values: Any, format: str) -> Any:
        """The sparse array with these values; its arrays are its own."""
        if format == "coo":
            return sp.coo_array((values, (self.rows.copy(), self.columns.copy())), self.shape)
        kind = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[format]
        if format == "bsr":
            values = values.reshape(-1, *self.block)
        made = kind((values, self.minor.copy(), self.starts.copy()), shape=self.shape)
        made.has_canonical_format = True
        return made


class Order:
    """The order of the entries of a matrix: numbers by which they are sorted, and coordinates from
    these."""

    def __init__(self, name: str, shape: tuple[int, int], block: tuple[int, int] = (1, 1)) -> None:
        self.name, self.shape, self.block = name, shape, block

    def keys(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        m, n = self.shape
        rows, columns = (k.astype(np.int64, copy=False) for k in (rows, columns))
        made: np.ndarray
        if self.name == "csc":
            made = columns * m + rows
        elif self.block != (1, 1):
            r, c = self.block
            number = rows // r * (n // c) + columns // c
            made = (number * r + rows % r) * c + columns % c
        else:
            made = rows * n + columns
        return made

    def at(self, rows: np.ndarray, columns: np.ndarray) -> SparseStructure:
        """These coordinates, which are in order."""
        kind = np.int32 if max(len(rows), *self.shape) < 2**31 else np.int64
        rows, columns = rows.astype(kind), columns.astype(kind)
        return SparseStructure(rows, columns, self.shape, self.name, self.block)


def sorted_once(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each number that occurs, in ascending order, where it occurs first; and of each element
    which of these numbers it is. Keys come in a few ascending runs, which a stable sort merges."""
    order = np.argsort(keys, kind="stable")
    ascending = keys[order]
    new = np.ones(len(keys), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    which = np.empty(len(keys), np.int64)
    which[order] = np.cumsum(new) - 1
    return order[new], which


def order_of(name: str, shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray) -> Order:
    """The order of that name; of "bsr" the blocks are the largest that these entries, each given
    once or more, fill."""
    if name != "bsr" or not len(rows):
        return Order(name, shape)
    n, best = shape[1], (1, 1)
    keys = np.unique(rows * n + columns)
    rows, columns = np.divmod(keys, n)
    sizes = [[k for k in range(1, WIDEST_BLOCK + 1) if length % k == 0] for length in shape]
    for r in sizes[0]:
        for c in sizes[1]:
            if r * c > best[0] * best[1] and len(keys) % (r * c) == 0:
                blocks = np.unique(rows // r * (n // c) + columns // c)
                if len(blocks) * r * c == len(keys):
                    best = r, c
    return Order(name, shape, best)


__all__ = ["Order", "SparseStructure", "order_of", "sorted_once"]
