"""Colours of the columns of sparse matrices, greedily and one after another: compiled loops over
the rows and columns of a pattern.

Distance-2 colouring (Curtis, Powell and Reid 1974), star colouring (Gebremedhin, Manne and Pothen
2005), acyclic colouring with sets of trees (Gebremedhin, Tarafdar, Manne and Pothen 2007),
in a given order of the columns. Orders by degree: Matula and Beck (1983), Coleman and
More (1983).
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
def star(starts: Any, others: Any, order: Any, early: Any) -> Any:  # pragma: no cover - compiled
    """Colours of a symmetric pattern such that neighbours differ and no path of four vertices has
    two colours: then each entry stands alone in one of its two rows.

    With `early` neighbours of a vertex differ among themselves as long as it has no colour, which
    takes more colours of some patterns and fewer of others.
    """
    n = len(starts) - 1
    colours = np.full(n, -1, np.int64)
    taken = np.full(n + 1, -1, np.int64)
    once, twice = np.full(n + 1, -1, np.int64), np.full(n + 1, -1, np.int64)
    for v in order:
        for a in range(starts[v], starts[v + 1]):
            w = others[a]
            if w == v or colours[w] < 0:
                continue
            k = colours[w]
            taken[k] = v
            if once[k] == v:
                twice[k] = v
            once[k] = v
        for a in range(starts[v], starts[v + 1]):
            w = others[a]
            if w == v or (colours[w] < 0 and not early):
                continue
            for b in range(starts[w], starts[w + 1]):
                x = others[b]
                if x == v or x == w or colours[x] < 0 or taken[colours[x]] == v:  # noqa: SIM109
                    continue
                if colours[w] < 0 or twice[colours[w]] == v:  # x - w - v - another of w's colour
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
def by_degree(  # pragma: no cover - compiled
    column_starts: Any, rows: Any, row_starts: Any, columns: Any, degrees: Any, last: Any
) -> Any:
    """The columns in an order of their neighbours, which are those that they share a row with.

    Again and again the column of the least number is taken out, and its neighbours' numbers go
    down by one. With degrees for numbers, from the `last` on, each has as few neighbours as can be
    among those before it (smallest last); with equal ones, from the first on, as many as can be
    (incidence degree).
    """
    n = len(column_starts) - 1
    degree = degrees.copy()
    most = 0
    for v in range(n):
        most = max(most, degree[v])
    head = np.full(most + 1, -1, np.int64)
    after, before = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for v in range(n):
        d = degree[v]
        after[v] = head[d]
        if head[d] >= 0:
            before[head[d]] = v
        head[d] = v
    order = np.empty(n, np.int64)
    seen = np.full(n, -1, np.int64)
    done = np.zeros(n, np.bool_)
    low = 0
    for k in range(n):
        low = max(low - 1, 0)
        while head[low] < 0:
            low += 1
        v = head[low]
        head[low] = after[v]
        if after[v] >= 0:
            before[after[v]] = -1
        order[n - 1 - k if last else k] = v
        done[v] = True
        for a in range(column_starts[v], column_starts[v + 1]):
            r = rows[a]
            for b in range(row_starts[r], row_starts[r + 1]):
                w = columns[b]
                if done[w] or seen[w] == v:
                    continue
                seen[w] = v
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


@njit
def degrees(  # pragma: no cover - compiled
    column_starts: Any, rows: Any, row_starts: Any, columns: Any
) -> Any:
    """How many other columns each shares a row with."""
    n = len(column_starts) - 1
    found = np.zeros(n, np.int64)
    seen = np.full(n, -1, np.int64)
    for v in range(n):
        seen[v] = v
        for a in range(column_starts[v], column_starts[v + 1]):
            r = rows[a]
            for b in range(row_starts[r], row_starts[r + 1]):
                w = columns[b]
                if seen[w] != v:
                    seen[w] = v
                    found[v] += 1
    return found


@njit
def _root(parents: Any, k: Any) -> Any:  # pragma: no cover - compiled
    """The one that stands for the set of k."""
    while parents[k] != k:
        parents[k] = parents[parents[k]]
        k = parents[k]
    return k


@njit
def acyclic(starts: Any, others: Any, edges: Any, order: Any) -> Any:  # pragma: no cover
    """Colours of a symmetric pattern such that neighbours differ and no circle has two colours;
    `edges` numbers each entry as its mirror. The edges of any two colours are trees, which are
    kept as sets."""
    n = len(starts) - 1
    colours = np.full(n, -1, np.int64)
    taken = np.full(n + 1, -1, np.int64)
    parents = np.arange(len(others))
    met_by, met_from = np.full(len(others), -1, np.int64), np.full(len(others), -1, np.int64)
    last_by, last_edge = np.full(n + 1, -1, np.int64), np.empty(n + 1, np.int64)
    for v in order:
        for a in range(starts[v], starts[v + 1]):
            w = others[a]
            if w != v and colours[w] >= 0:
                taken[colours[w]] = v
        for a in range(starts[v], starts[v + 1]):
            w = others[a]
            if w == v or colours[w] < 0:
                continue
            for b in range(starts[w], starts[w + 1]):
                x = others[b]
                if x == w or x == v or colours[x] < 0 or taken[colours[x]] == v:  # noqa: SIM109
                    continue
                tree = _root(parents, edges[b])
                if met_by[tree] != v:
                    met_by[tree], met_from[tree] = v, w
                elif met_from[tree] != w:
                    taken[colours[x]] = v  # from two sides: this colour would close a circle
        c = 0
        while taken[c] == v:
            c += 1
        colours[v] = c
        for a in range(starts[v], starts[v + 1]):
            w = others[a]
            if w == v or colours[w] < 0:
                continue
            k = colours[w]
            if last_by[k] == v:
                parents[_root(parents, edges[a])] = _root(parents, last_edge[k])
            last_by[k], last_edge[k] = v, edges[a]
            for b in range(starts[w], starts[w + 1]):
                x = others[b]
                if x != w and x != v and colours[x] == c:
                    parents[_root(parents, edges[a])] = _root(parents, edges[b])
    return colours


@njit
def leaves_first(starts: Any, others: Any, mirror: Any, slots: Any) -> Any:  # pragma: no cover
    """The entries beside the diagonal, of each and its mirror one, in an order of substitution:
    each stands alone in its row, among those of its column's colour, but for entries before it.

    `slots` numbers the pairs of an entry's row and its column's colour. These pairs are the
    vertices of trees, whose edges are the entries with their mirrors.
    """
    count = slots.max() + 1 if len(slots) else 0
    waiting, left = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for v in range(len(starts) - 1):
        for a in range(starts[v], starts[v + 1]):
            if others[a] != v:
                waiting[slots[a]] += 1
                left[slots[a]] ^= a  # of one that is left, this is its number
    found, number = np.empty(len(others), np.int64), 0
    todo, end = np.empty(count, np.int64), 0
    for s in range(count):
        if waiting[s] == 1:
            todo[end] = s
            end += 1
    at = 0
    while at < end:
        s = todo[at]
        at += 1
        if waiting[s] != 1:
            continue
        a = left[s]
        found[number] = a
        number += 1
        other = slots[mirror[a]]
        waiting[s] = 0
        waiting[other] -= 1
        left[other] ^= mirror[a]
        if waiting[other] == 1:
            todo[end] = other
            end += 1
    return found[:number]


__all__ = ["acyclic", "by_degree", "columns_apart", "degrees", "leaves_first", "star"]
