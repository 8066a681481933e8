"""Programs of the rows of the table of semantics, as people write them."""

# ruff: noqa: B905, C417 - as people write them
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

# --- iterables ------------------------------------------------------------------------------------


def over_array(x: Any) -> Any:
    s = 1.0
    for v in x:
        if v > 0:
            s = s * v
    return s + v


def over_rows_of_rows(x: Any) -> Any:
    m = np.outer(x, x)
    s = 0.0
    for row in m:
        for v in row[1:]:
            if v > 0:
                s += v * v
            else:
                s += 0.1 * v
    return s


def over_columns(x: Any) -> Any:
    m = np.outer(x, x[:3])
    s = 0.0
    for col in m.T:
        if col[1] > 0:
            s += np.max(col)
    return s


def zipped_unequal(x: Any) -> Any:
    s = 0.0
    for a, b, i in zip(x, x[1:], range(10)):
        s += a * b * i if a > b else a
    return s + i


def zipped_with_list(x: Any) -> Any:
    s = 0.0
    for a, w in zip(x, [1.0, 2.0, 0.5]):
        if a > 0:
            s += a * w
    return s


def zip_strict(x: Any) -> Any:
    s = 0.0
    for a, b in zip(x, x * 2, strict=True):
        if a > 0:
            s += a * b
    return s


def enumerated_from(x: Any) -> Any:
    s = 0.0
    for i, v in enumerate(x, start=3):
        if v > 0:
            s += v * i
    for i, v in enumerate(x[1:], 2):
        s += x[i % 4] * v
    return s + i


def enumerated_zip(x: Any) -> Any:
    s = 0.0
    for i, (a, b) in enumerate(zip(x, np.arange(4) * 0.5)):
        if a > b:
            s += a * i - b
    return s


def reversed_range(x: Any) -> Any:
    s = 0.0
    for i in reversed(range(4)):
        s = s * 0.5 + (x[i] if x[i] > 0 else i)
    return s + i


def reversed_range_traced(x: Any) -> Any:
    k = int(abs(x[2])) + 1
    s = 0.0
    for i in reversed(range(1, k, 2)):
        s = s * 0.5 + x[i]
    return s


def negative_stride(x: Any) -> Any:
    s = 0.0
    for v in x[::-1]:
        if s < 3:
            s = s * 0.5 + v * v
    for v in x[-2::-2]:
        if s < 3:
            s += v
    return s


def unlike_items(x: Any) -> Any:
    s = 0.0
    for v in [x[0], 2, x[1:3], np.float64(0.5)]:
        s += np.sum(v) if np.sum(v) > 0 else -1.0
    return s


def over_tuple_of_functions(x: Any) -> Any:
    s = 0.0
    for f in (np.sin, np.cos, abs, math.exp):
        if s < 2:
            s += f(x[0])
    return s


def over_dict(x: Any) -> Any:
    s = 0.0
    for k, v in {"a": x[0], "b": x[1], "c": 2.0}.items():
        if v > 0:
            s += v * (2 if k == "a" else 3)
    return s


def over_string(x: Any) -> Any:
    s = 0.0
    for c in "abca":
        if s < 3:
            s += x[0] if c == "a" else x[2]
    return s


def unpacked_rows(x: Any) -> Any:
    m = np.outer(x, x)[:, :2]
    s = 0.0
    for a, b in m:
        if a > b:
            s += a * b
    return s


def starred_rows(x: Any) -> Any:
    m = np.outer(x, x)
    s = 0.0
    for a, *rest in m:
        if a > 0:
            s += a * sum(rest)
    return s


def empty_array(x: Any) -> Any:
    s = x[0]
    for v in x[4:]:
        s += v if v > 0 else 1.0
    for v in np.zeros((0, 3)):
        s += v[0]
    return s


def iter_by_hand(x: Any) -> Any:
    it = iter(x)
    s = next(it)
    for v in it:
        s += v if v > 0 else 0.5
    return s


def map_filter(x: Any) -> Any:
    s = 0.0
    for v in map(lambda u: u * u if u > 0 else -u, x):
        s += v
    return s


def written_while_iterated(x: Any) -> Any:
    y = x.copy()
    s = 0.0
    for i, v in enumerate(y):
        s += v
        if v > 0 and i < 3:
            y[i + 1] = v * 0.5
    return s


def row_is_a_view(x: Any) -> Any:
    m = np.outer(x, x)
    for row in m:
        if row[0] > 0:
            row[1:] *= 0.5
        row[0] = x[2]
    return np.sum(m * m)


def nditer_flat(x: Any) -> Any:
    s = 0.0
    for v in np.outer(x, x).flat:
        if v > 0:
            s += v
    for (i, j), v in np.ndenumerate(np.outer(x, x)):
        if v < 0:
            s += v * i * j
    return s


# --- shapes ---------------------------------------------------------------------------------------


def by_len(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s += x[i] if x[i] > 0 else 1
    return s / len(x)


def by_shape(x: Any) -> Any:
    n = x.shape[0]
    if n > 3:
        return x[3]
    return x[0] if n % 2 == 0 else np.sum(x)


def by_size_loop(x: Any) -> Any:
    (n,) = x.shape
    m = np.outer(x, x)
    p, q = m.shape
    s = 0.0
    for i in range(p):
        for j in range(i, q):
            if m[i, j] > 0:
                s += m[i, j] / (n + j)
    return s


def half_size(x: Any) -> Any:
    h = len(x) // 2
    a, b = x[:h], x[h:]
    s = 0.0
    for i in range(h):
        s += a[i] * b[i] if a[i] > 0 else b[i]
    return s


def size_arith(x: Any) -> Any:
    n = x.size
    w = np.zeros(n + 2)
    for i in range(n):
        w[i + 1] = x[i]
    s = 0.0
    for i in range(1, n + 1):
        if w[i] > 0:
            s += w[i - 1] + w[i + 1]
    return s / (n - 1) + x.ndim


def last_of(x: Any) -> Any:
    n = len(x)
    return x[n - 1] * x[-1] if x[n - 2] > 0 else x[n // 2]


def odd_even_sum(x: Any) -> Any:
    n, s = len(x), 0.0
    for i in range(0, n, 2):
        s += x[i]
    for i in range(n - 1 - n % 2, 0, -2):
        s -= x[i] * 2 if x[i] > 0 else 1
    return s


def log2_steps(x: Any) -> Any:
    n, k = len(x), 0
    while 2**k < n:
        k += 1
    return k * x[0] if x[0] > 0 else x[1]


ROWS: dict[str, list[Callable[..., Any]]] = {
    "iterables": [
        over_array,
        over_rows_of_rows,
        over_columns,
        zipped_unequal,
        zipped_with_list,
        zip_strict,
        enumerated_from,
        enumerated_zip,
        reversed_range,
        reversed_range_traced,
        negative_stride,
        unlike_items,
        over_tuple_of_functions,
        over_dict,
        over_string,
        unpacked_rows,
        starred_rows,
        empty_array,
        iter_by_hand,
        map_filter,
        written_while_iterated,
        row_is_a_view,
        nditer_flat,
    ],
    "shapes": [
        by_len,
        by_shape,
        by_size_loop,
        half_size,
        size_arith,
        last_of,
        odd_even_sum,
        log2_steps,
    ],
}
