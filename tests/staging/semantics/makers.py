"""Programs of the rows of the table of semantics, as people write them."""

# ruff: noqa: B007, PERF401 - as people write them
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# --- constructors ---------------------------------------------------------------------------------


def zeros_like_(x: Any) -> Any:
    y = np.zeros_like(x)
    z = np.ones_like(x)
    w = np.empty_like(x)
    v = np.full_like(x, 2.0)
    for i in range(4):
        y[i] = x[i] * 2
        z[i] *= x[i]
        w[i] = x[i] ** 2
        v[i] -= x[i]
    return np.sum(y + z * w - v * v)


def shapes_forms(x: Any) -> Any:
    a = np.zeros((2, 2))
    b = np.ones(2)
    c = np.full((2,), 3.0)
    d = np.empty([2, 1])
    for i in range(2):
        a[i, 0] = x[i]
        b[i] = x[i]
        c[i] += x[i]
        d[i] = x[i]
    return np.sum(a) + b @ c + np.sum(d * 2)


def eye_arange_linspace(x: Any) -> Any:
    a = np.eye(3)
    b = np.arange(4.0)
    c = np.linspace(0, 1, 4)
    d = np.identity(3)
    e = np.diag(np.ones(3))
    for i in range(3):
        a[i, i] = x[i]
        b[i] *= x[i]
        c[i] += x[i]
        d[0, i] = x[i]
        e[i, 0] -= x[i]
    return np.sum(a @ d @ e) + b @ c


def arange_int_is_int(x: Any) -> Any:
    b = np.arange(4)
    for i in range(3):
        b[i] = x[i] * 3
    return np.sum(b * x)


def sized_by_trace(x: Any) -> Any:
    n = x.shape[0]
    a = np.zeros((n, n))
    b = np.arange(n)
    c = np.linspace(0.0, 1.0, n + 1)
    d = np.ones(2 * n - 1)
    e = np.tile(x, 2)
    for i in range(n):
        for j in range(n):
            a[i, j] = x[i] * b[j] + c[i + 1] + d[i + j]
    return np.sum(a) + np.sum(e)


def arrays_of_values(x: Any) -> Any:
    m = np.array([[x[0], 1.0], [x[1], x[2]]])
    v = np.array((x[0], x[3]))
    w = np.asarray([x[0] * 2, 3])
    u = np.array([x, x * 2])
    if m[0, 0] > 0:
        m[1] = v
    return np.sum(m @ v) + w @ v + u[1, 2]


def array_copy_of(x: Any) -> Any:
    y = np.array(x)
    z = np.copy(x)
    w = x.copy()
    v = np.asarray(x)
    u = np.array(x, copy=True)
    for i in range(4):
        y[i] += 1
        z[i] *= 2
        w[i] = 0
        u[i] -= x[0]
    return y @ z + w @ x + v @ u


def dtype_args(x: Any) -> Any:
    a = np.zeros(4, dtype=np.float32)
    b = np.zeros(4, "i4")
    c = np.zeros(4, complex)
    d = np.zeros(4, bool)
    for i in range(4):
        a[i] = x[i] / 3
        b[i] = 5 * x[i]
        c[i] = 1j * x[i]
        d[i] = x[i]
    return np.sum(a) + np.sum(b) + np.sum(c.imag) + np.sum(d) * x[0]


def stacked(x: Any) -> Any:
    return (
        np.sum(np.stack([x[i] * x for i in range(3)]) ** 2)
        + np.sum(np.hstack([x[:2], x[1:]]))
        + np.sum(np.vstack([x, x])[1])
        + np.sum(np.concatenate([x[:1], [1.0, x[2]]]))
    )


def zeros_in_branch(x: Any) -> Any:
    if x[0] > 0:
        y = np.zeros(3)
        y[0] = x[1]
    else:
        y = np.ones(3)
        y[2] = x[0] ** 2
    y[1] = x[2]
    return np.sum(y * y)


def zeros_in_loop(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        y = np.zeros(2)
        y[0] = x[i]
        if y[0] > 0:
            y[1] = x[i] ** 2
        s += y @ y
    return s


def size_computed(x: Any) -> Any:
    k = int(abs(x[2])) + 1
    y = np.zeros(k)
    for i in range(k):
        y[i] = x[i % 4] * 2
    return np.sum(y)


# --- lists ----------------------------------------------------------------------------------------


def append_plain(x: Any) -> Any:
    out = []
    for v in x:
        out.append(v * 2 if v > 0 else 0.5)
    return sum(out) + out[-1]


def append_some(x: Any) -> Any:
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return sum(out) * len(out)


def append_pair(x: Any) -> Any:
    out = []
    for i, v in enumerate(x):
        out.append((i, v if v > 0 else 0.0))
    s = 0.0
    for i, v in out:
        s += i * v
    return s


def append_rows(x: Any) -> Any:
    out = [x]
    for i in range(3):
        out.append(out[-1] * 0.5 if out[-1][0] > 0 else out[-1] + 1)
    return np.sum(np.array(out))


def list_item_set(x: Any) -> Any:
    p = [0.0] * 4
    for i in range(4):
        p[i] = x[i] ** 2 if x[i] > 0 else p[i - 1]
    return sum(p) + p[1]


def list_aug(x: Any) -> Any:
    p = [0.0, 1.0]
    for v in x:
        p[0] += v if v > 0 else 0.1
        p[1] *= 1.1
    return p[0] * p[1]


def list_pop_known(x: Any) -> Any:
    p = [x[0], x[1], x[2]]
    p.pop()
    p.insert(0, x[3])
    p.reverse()
    p.extend([1.0])
    return p[0] * 2 + p[1] + p[3] + p[2] * 5 if x[0] > 0 else p[0]


def append_while(x: Any) -> Any:
    out, t = [], abs(x[0]) + 0.2
    while t < 4:
        out.append(t)
        t = t * 1.6
    return sum(out) * len(out) + x[1]


def append_break(x: Any) -> Any:
    out = []
    for v in x:
        if v < 0:
            break
        out.append(v)
    return sum(out) + len(out) * x[0]


def list_of_lists(x: Any) -> Any:
    rows = [[0.0] * 3 for _ in range(3)]
    for i in range(3):
        for j in range(3):
            rows[i][j] = x[i] * x[j] if x[i] > x[j] else 1.0
    return sum(sum(r) for r in rows) + rows[1][2]


ROWS: dict[str, list[Callable[..., Any]]] = {
    "constructors": [
        zeros_like_,
        shapes_forms,
        eye_arange_linspace,
        arange_int_is_int,
        sized_by_trace,
        arrays_of_values,
        array_copy_of,
        dtype_args,
        stacked,
        zeros_in_branch,
        zeros_in_loop,
        size_computed,
    ],
    "lists": [
        append_plain,
        append_some,
        append_pair,
        append_rows,
        list_item_set,
        list_aug,
        list_pop_known,
        append_while,
        append_break,
        list_of_lists,
    ],
}
