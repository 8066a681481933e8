"""Items of lists that loops fill, which are known by other names too: what is written through one
of them is seen through all, or refused."""

# ruff: noqa: B007, PERF401 - the programs are as people write them
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.test_lists_that_grow import N, X
from tracegrad.errors import ConcretizationError


def written_after_it_was_appended(x: Any) -> Any:
    out = []
    for i in range(N):
        u = x * i
        out.append(u)
        u[0] = 7.0
    return np.sum(np.array(out))


def the_same_array_each_time(x: Any) -> Any:
    u, out = np.zeros(4), []
    for i in range(N):
        u += x * i
        out.append(u)
    return np.sum(np.array(out))


def written_in_the_next_pass(x: Any) -> Any:
    u, out = x * 1.0, []
    for i in range(N):
        u[0] = i * x[1]
        out.append(u)
        u = u if i < 0 else out[-1]
    return np.sum(np.array(out))


def first_one_written_behind_the_loop(x: Any) -> Any:
    u, out = x * 1.0, []
    first = u
    for i in range(N):
        out.append(u)
        u = u * 0.9
    first[1] = 5.0 * x[0]
    return np.sum(np.array(out))


def last_one_written_behind_the_loop(x: Any) -> Any:
    u, out = x * 1.0, []
    for i in range(N):
        u = u * 0.9
        out.append(u)
    u[1] = 5.0 * x[0]
    return np.sum(np.array(out)) * out[-1][1]


def written_through_a_view(x: Any) -> Any:
    out = []
    for i in range(N):
        u = x * i
        out.append(u[1:3])
        u[1] = 9.0 * x[0]
    return np.sum(np.array(out))


def an_item_is_written(x: Any) -> Any:
    out = []
    for i in range(N):
        out.append(x * i)
    out[3][2] = 9.0 * x[0]
    a = out[4]
    a += 1.0
    return np.sum(np.array(out) * np.arange(4.0))


def an_item_is_written_in_the_loop(x: Any) -> Any:
    out = [x * 1.0]
    for i in range(N):
        out[-1][1] = 2.0 * x[0]
        out.append(x * i)
    return np.sum(np.array(out))


def captured(x: Any) -> Any:
    w, out = x * 2, []
    for i in range(N):
        out.append(w)
    w[2] = x[0]
    return np.sum(np.array(out) * np.arange(4.0))


@pytest.mark.parametrize(
    "f",
    [
        written_after_it_was_appended, the_same_array_each_time, written_in_the_next_pass,
        first_one_written_behind_the_loop, last_one_written_behind_the_loop,
        written_through_a_view, an_item_is_written, an_item_is_written_in_the_loop, captured,
    ],
)  # fmt: skip
def test_writes_are_seen_or_refused(f: Any) -> None:
    want, refusal = f(X.copy()), ""
    try:
        found = tg.jit(f)(X.copy())
    except ConcretizationError as error:
        found, refusal = want, str(error)
    assert not refusal or "test_items_of_lists.py" in refusal
    np.testing.assert_allclose(found, want, rtol=1e-12)


# --- lists in lists: known by reference ----------------------------------------------------------


def first_then_fill(x: Any) -> Any:
    rows = []
    for i in range(N):
        row = []
        rows.append(row)
        for j in range(3):
            row.append(x[j] * i)
    return np.sum(np.array(rows))


def pair_changed(x: Any) -> Any:
    out = []
    for i in range(N):
        p = [x[0] * i, x[1]]
        out.append(p)
        p[0] = x[2]
    return sum(a + b for a, b in out)


def same_row(x: Any) -> Any:
    rows, row = [], [x[0]]
    for i in range(N):
        row.append(x[1] * i)
        rows.append(row)
    return rows[0][5] + len(rows[3])


def dict_item(x: Any) -> Any:
    out = []
    for i in range(N):
        d = {"a": x[0] * i}
        out.append(d)
        d["a"] = x[1]
    return sum(d["a"] for d in out)


def item_list_changed(x: Any) -> Any:
    rows = []
    for i in range(N):
        rows.append([x[0] * i, x[1]])
    rows[2][0] = x[3] * 100
    r = rows[3]
    r.append(x[2])
    return sum(a[0] for a in rows) + len(rows[3])


def grown_item(x: Any) -> Any:
    rows = []
    for i in range(N):
        rows.append([x[j] * i for j in range(40)] if False else [x[0] * i])
    for r in rows:
        r[0] = x[1]
    return sum(r[0] for r in rows)


def two_names(x: Any) -> Any:
    a = []
    b = a
    for i in range(N):
        a.append(x[0] * i)
    return sum(b) + len(b)


def in_dict(x: Any) -> Any:
    d = {"h": []}
    for i in range(N):
        d["h"].append(x[0] * i)
    return sum(d["h"])


def read_while(x: Any) -> Any:
    out = [0.0]
    for i in range(N):
        out.append(out[-1] + x[0])
        out[-1] = out[-1] * 2 if i < 0 else out[-1]
    return out[-1]


def inner_rows(x: Any) -> Any:
    rows = [[x[0]]]
    for i in range(N):
        new = [v * 0.5 for v in rows[-1]]
        rows.append(new)
    return rows[4][0]


def obj(x: Any) -> Any:
    class H:
        v: Any = None

    h = H()
    h.v = []
    for i in range(N):
        h.v.append(x[0] * i)
    return sum(h.v)


def two_objs(x: Any) -> Any:
    a = []
    for i in range(N):
        t = (x * i, a)
        a.append(x[0])
    return len(t[1]) + a[3]


def last_row_after(x: Any) -> Any:
    rows = []
    for i in range(N):
        row = [x[0] * i]
        rows.append(row)
    row.append(x[1])
    row[0] = x[2] * 1000
    return len(rows[-1]) + rows[-1][0]


REFERENCES: list[Callable[[Any], Any]] = [
    first_then_fill, pair_changed, same_row, dict_item, item_list_changed, grown_item,
    two_names, in_dict, read_while, inner_rows, obj, two_objs,
    last_row_after,
]  # fmt: skip


@pytest.mark.parametrize("f", REFERENCES)
def test_changes_of_items_are_seen_or_refused(f: Any) -> None:
    want, refusal = f(X.copy()), ""
    try:
        found = tg.jit(f)(X.copy())
    except ConcretizationError as error:
        found, refusal = want, str(error)
    assert not refusal or "test_items_of_lists.py" in refusal
    np.testing.assert_allclose(found, want, rtol=1e-12)
