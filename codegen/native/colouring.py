"""Colours of the columns of sparse matrices, greedily and one after another: compiled loops over
the rows and columns of a pattern.

Distance-2 colouring (Curtis, Powell and Reid 1974) and star colouring (Gebremedhin, Manne and
Pothen 2005, algorithm 4.1), in a given order of the columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit
def columns_apart(  # pragma: no cover - compiled
    column_starts: Any, rows: Any, row_starts: Any, columns: Any, order: Any
) -> Any:
    """Colours such that no two columns of one colour meet in a row; the pattern is given by columns
    and by rows."""
    n = len(column_starts) - 1
    colours = np.full(n, -1, np.int64)
    taken = np.full(n + 1, -1, np.int64)
    for j in order:
        for a in range(column_starts[j], column_starts[j + 1]):
            r = rows[a]
            for b in range(row_starts[r], row_starts[r + 1]):
                c = colours[columns[b]]
                if c >= 0:
                    taken[c] = j
        c = 0
        while taken[c] == j:
            c += 1
        colours[j] = c
    return colours


@njit
def star(starts: Any, others: Any, order: Any) -> Any:  # pragma: no cover - compiled
    """Colours of a symmetric pattern such that neighbours differ and no path of four vertices has
    two colours: then each entry stands alone in one of its two rows."""
    n = len(starts) - 1
    colours = np.full(n, -1, np.int64)
    taken = np.full(n + 1, -1, np.int64)
    for v in order:
        for a in range(starts[v], starts[v + 1]):
            w = others[a]
            if w == v:
                continue
            if colours[w] >= 0:
                taken[colours[w]] = v
            for b in range(starts[w], starts[w + 1]):
                x = others[b]
                if x == v or x == w or colours[x] < 0:  # noqa: SIM109
                    continue
                if colours[w] < 0:
                    taken[colours[x]] = v
                    continue
                for d in range(starts[x], starts[x + 1]):
                    y = others[d]
                    if y != w and y != x and colours[y] == colours[w]:
                        taken[colours[x]] = v
                        break
        c = 0
        while taken[c] == v:
            c += 1
        colours[v] = c
    return colours


@njit
def smallest_last(starts: Any, others: Any) -> Any:  # pragma: no cover - compiled
    """The vertices of a symmetric pattern, such that each has as few neighbours as can be among
    those before it (Matula and Beck 1983)."""
    n = len(starts) - 1
    degree = np.empty(n, np.int64)
    for v in range(n):
        degree[v] = starts[v + 1] - starts[v]
    most = 0
    for v in range(n):
        most = max(most, degree[v])
    head = np.full(most + 1, -1, np.int64)
    after, before = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for v in range(n - 1, -1, -1):
        d = degree[v]
        after[v] = head[d]
        if head[d] >= 0:
            before[head[d]] = v
        head[d] = v
    order = np.empty(n, np.int64)
    done = np.zeros(n, np.bool_)
    low = 0
    for k in range(n - 1, -1, -1):
        low = max(low - 1, 0)
        while head[low] < 0:
            low += 1
        v = head[low]
        head[low] = after[v]
        if after[v] >= 0:
            before[after[v]] = -1
        order[k] = v
        done[v] = True
        for a in range(starts[v], starts[v + 1]):
            w = others[a]
            if done[w]:
                continue
            d = degree[w]
            if before[w] >= 0:
                after[before[w]] = after[w]
            else:
                head[d] = after[w]
            if after[w] >= 0:
                before[after[w]] = before[w]
            d -= 1
            degree[w] = d
            before[w] = -1
            after[w] = head[d]
            if head[d] >= 0:
                before[head[d]] = w
            head[d] = w
    return order


__all__ = ["columns_apart", "smallest_last", "star"]
