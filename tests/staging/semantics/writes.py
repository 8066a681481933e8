"""Programs of the rows of the table of semantics, as people write them."""

# ruff: noqa: B007 - as people write them
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# --- writes and views -----------------------------------------------------------------------------


def write_negative_index(x: Any) -> Any:
    y = x.copy()
    for i in range(4):
        y[-i] = y[i - 1] * 0.5 + x[-i - 1]
    return np.sum(y * x)


def write_rows(x: Any) -> Any:
    m = np.zeros((3, 4))
    for i in range(3):
        m[i, :] += x * i
        m[i] *= x[i]
        m[:, i] = m[:, i + 1] - 1
        m[i, ::2] -= 0.5
    return np.sum(m * m)


def row_view(x: Any) -> Any:
    m = np.outer(x, x)
    for i in range(3):
        row = m[i]
        row[:] = row[::-1] * 0.5
        row[0] += x[i]
        if row[1] > 0:
            row += 1
    return np.sum(m * m)


def col_view_of_view(x: Any) -> Any:
    m = np.outer(x, x)
    for i in range(3):
        c = m[:, i][1:]
        c[::2] = c[::2] * 2 + x[i]
        d = m.T[i]
        d[0] = 1.0 if d[1] > 0 else x[0]
    return np.sum(m * m * x)


def reversed_view(x: Any) -> Any:
    y = x.copy()
    r = y[::-1]
    for i in range(4):
        r[i] = r[i] + y[i] * 0.5
    return np.sum(y * x)


def overlapping(x: Any) -> Any:
    y = x.copy()
    for i in range(3):
        y[1:] = y[:-1] * 0.5 + y[1:]
        y[:-1] += y[1:]
        y[:] = y[::-1]
    return np.sum(y * x)


def swap_elements(x: Any) -> Any:
    y = x.copy()
    for i in range(4):
        for j in range(3):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return np.sum(y * np.arange(4))


def swap_rows(x: Any) -> Any:
    m = np.outer(x, x + 1)
    for i in range(3):
        if m[i, 0] < m[i + 1, 0]:
            m[[i, i + 1]] = m[[i + 1, i]]
        t = m[i].copy()
        m[i] = m[i + 1]
        m[i + 1] = t
    return np.sum(m * np.arange(4))


def swap_rows_views(x: Any) -> Any:
    m = np.outer(x, x + 1)
    for i in range(3):
        m[i], m[i + 1] = m[i + 1], m[i]  # NumPy: both rows become the same
    return np.sum(m * np.arange(4))


def mask_write(x: Any) -> Any:
    y = x.copy()
    for i in range(3):
        y[y > 1] *= 0.5
        y[y < 0] = x[i]
    return np.sum(y * y)


def fancy_write(x: Any) -> Any:
    y = np.zeros(4)
    for i in range(3):
        y[[0, i, i]] += x[i]
        np.add.at(y, [i, i, 1], x[i])
    return np.sum(y * x)


def traced_index_write(x: Any) -> Any:
    y = x.copy()
    k = int(abs(x[0]))
    for i in range(4):
        y[k] = y[k] * 0.5 + i
        k = (k + 1) % 4 if y[k] > 0 else (k + 2) % 4
    return np.sum(y * x)


def traced_slices(x: Any) -> Any:
    y = x.copy()
    for i in range(1, 4):
        y[i:] -= y[i - 1] * 0.5
        y[:i] *= 0.9
    return np.sum(y * y)


def chained_assign(x: Any) -> Any:
    y = np.zeros(4)
    for i in range(3):
        a = b = y[i] = x[i] * 2
        y[i + 1] += a * b
    return np.sum(y)


def aug_ops(x: Any) -> Any:
    y = np.abs(x) + 1
    for i in range(4):
        y[i] **= 2
        y[i] /= 3
        y[i] //= 0.5
        y[i] %= 2.3
        y[i] -= x[i]
    return np.sum(y)


def star_unpack(x: Any) -> Any:
    a, *b = x
    c, (d, e) = b[0], (b[1], a)
    if c > 0:
        a, c = c, a
    [p, *_, q] = [a, c, d, e]
    return p * 2 + q * 3 + c * d


def write_0d(x: Any) -> Any:
    a = np.array(0.0)
    for v in x:
        if v > 0:
            a[()] = a + v
        a[...] = a * 0.9
    return a * 1.0


def ndim3(x: Any) -> Any:
    m = np.zeros((2, 2, 3))
    for i in range(2):
        for j in range(2):
            m[i, j, ...] = x[i] * x[j]
            m[..., j] += x[1]
            m[i, :, None, 1] -= 0.5
    return np.sum(m * m)


def stencil(x: Any) -> Any:
    u = np.concatenate([x, x * 0.5])
    for t in range(5):
        v = u.copy()
        for i in range(1, 7):
            v[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1])
        u = v
    return np.sum(u * u)


def diag_view(x: Any) -> Any:
    m = np.outer(x, x)
    for i in range(4):
        m[i, i] += 1
        m[i, 3 - i] = m[3 - i, i] if x[i] > 0 else 0.0
    return np.sum(m**2)


def real_imag_view(x: Any) -> Any:
    z = x + 1j * x[::-1]
    for i in range(3):
        z.real[i] = z.imag[i + 1] * 2
        z.imag[i] -= x[i] if x[i] > 0 else 0
    return np.sum(np.abs(z) ** 2)


def ravel_view(x: Any) -> Any:
    m = np.outer(x, x)
    f = m.ravel()
    g = m.reshape(2, 8)
    for i in range(4):
        f[i * 2] = x[i]
        g[1, i] *= 2
    return np.sum(m * m)


def helper_writes_slice(x: Any) -> Any:
    def scale(v: Any, c: Any) -> Any:
        for i in range(len(v)):
            if v[i] > 0:
                v[i] *= c

    m = np.outer(x, x)
    for k in range(3):
        scale(m[k, 1:], 0.5)
        scale(m[:, k], x[k])
    return np.sum(m * m)


ROWS: dict[str, list[Callable[..., Any]]] = {
    "writes and views": [
        write_negative_index,
        write_rows,
        row_view,
        col_view_of_view,
        reversed_view,
        overlapping,
        swap_elements,
        swap_rows,
        swap_rows_views,
        mask_write,
        fancy_write,
        traced_index_write,
        traced_slices,
        chained_assign,
        aug_ops,
        star_unpack,
        write_0d,
        ndim3,
        stencil,
        diag_view,
        real_imag_view,
        ravel_view,
        helper_writes_slice,
    ],
}
