"""Programs of the rows of the table of semantics, as people write them."""

# ruff: noqa: B007 - as people write them
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# --- range ----------------------------------------------------------------------------------------


def step_minus(x: Any) -> Any:
    s = 0.0
    for i in range(3, -1, -1):
        s = s * x[i] + 1 if s < 2 else s + x[i]
    return s + i


def step_minus_two(x: Any) -> Any:
    s = 0.0
    for i in range(len(x) - 1, 0, -2):
        if x[i] > 0:
            s += x[i] * i
    return s * i


def step_of_len(x: Any) -> Any:
    s = 0.0
    for i in range(0, 8, len(x) // 2):
        if s < 3:
            s += x[i % 4] ** 2
    return s + i


def last_after_none(x: Any) -> Any:
    i = 7
    for i in range(3, 3):
        pass
    s = 0.0
    n = int(abs(x[0]))
    for j in range(n):
        s += x[j]
    return s * i


def last_after_some(x: Any) -> Any:
    i = 7
    for i in range(int(abs(x[0]))):
        pass
    return x[1] * i


def changed_in_body(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        i = i * 2
        if x[i % 4] > 0:
            i += 1
        s += x[i % 4] * i
    return s + i


def bound_once(x: Any) -> Any:
    n = int(abs(x[0])) + 2
    s = 0.0
    for i in range(n):
        n = 0
        s += x[i % 4]
    return s + n


def traced_start(x: Any) -> Any:
    k = int(abs(x[0]))
    s = 0.0
    for i in range(k, 4):
        s += x[i] ** 2
    for j in range(3, k - 1, -1):
        s = s * 0.5 + x[j]
    return s


def start_after_stop(x: Any) -> Any:
    k = int(abs(x[2]) * 2)
    s = x[0]
    for i in range(k, 1):
        s += 5 * x[1]
    for i in range(1, k, -1):
        s += 3 * x[1]
    return s


def step_three_traced(x: Any) -> Any:
    k = int(abs(x[2]) * 4)
    s, m = 0.0, 0
    for i in range(0, k, 3):
        s += x[i % 4] * i
        m = m + 1
    for i in range(k, -2, -3):
        s += x[i % 4] * i
        m = m * 2 + 1
    return s * m


def traced_steps(x: Any) -> Any:
    """Of both signs, also in a loop that changes them."""
    s, k, m = 0.0, 2 * int(x[0]) + 1, 0
    for i in range(k, 9, abs(k) + 1):
        s += x[i % 4] * (i + 1)
    for i in range(7, -4, -k):
        s = 0.5 * s + x[i % 4] ** 2
        m = i
    for i in range(0, -1, k):
        s += 0.1 * i
    for i in range(0, 4, int(x[1] * 9)):
        s += x[3] * i
    while abs(x[0]) * k < 9 and k < 12:
        for i in range(12 - k, k, 2 - k):
            s += x[i % 4] * i
        k += 4
    return s + m


def range_kept_by_name(x: Any) -> Any:
    r = range(3)
    s = 0.0
    for i in r:
        for j in r:
            if x[i] > x[j]:
                s += x[i] * x[j]
    return s * len(r)


def range_item_in(x: Any) -> Any:
    s = 0.0
    for i in range(10):
        if i in range(2, 8, 3) and s < 2:
            s += x[i % 4] ** 2
    return s


def nested_triangle(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        for j in range(i, -1, -1):
            for k in range(j, i, 2):
                if x[k] > 0:
                    s += x[i] * x[j]
    return s


# --- while ----------------------------------------------------------------------------------------


def on_both(x: Any) -> Any:
    n, s = 0, x[0] ** 2
    while n < 5 and s < 4:
        s = s * 1.5 + 0.1
        n += 1
    return s * n


def flag_python(x: Any) -> Any:
    going, s, n = True, 0.0, 0
    while going:
        s += x[n % 4] ** 2
        n += 1
        going = s < 3 and n < 20
    return s


def flag_negated(x: Any) -> Any:
    done, n, t = False, 0, abs(x[0]) + 0.5
    while not done:
        t = t * 1.3
        n += 1
        if t > 3:
            done = True
    return t * n


def toggled(x: Any) -> Any:
    flag, t, n = False, abs(x[0]) + 0.3, 0
    while t < 6:
        flag = not flag
        t = t * 1.7 if flag else t + 0.1 * x[1] ** 2
        n += 1
    return t * 2 if flag else t


def no_pass(x: Any) -> Any:
    t = x[0]
    while t > 100:
        t = t / x[1]
    return t * x[2]


def integer_condition(x: Any) -> Any:
    n, s = int(abs(x[0]) * 3), 0.0
    while n:
        s += x[n % 4]
        n -= 1
    return s


def array_state(x: Any) -> Any:
    y = x.copy()
    while np.max(np.abs(y)) > 0.1:
        y = 0.5 * y
        y[0] = y[0] * 0.9
    return np.sum(y * x)


def walrus(x: Any) -> Any:
    s = 0.1
    while (d := abs(x[0]) - s) > 0.2:
        s += 0.5 * d
    return s + d


def two_arrays_swapped(x: Any) -> Any:
    u, v, n = x.copy(), np.zeros(4), 0
    while n < 3 or u[0] > 5:
        v[:] = 0.5 * u + 0.1 * x
        u, v = v, u
        n += 1
        if n > 8:
            break
    return np.sum(u) + 2 * np.sum(v)


def for_in_while(x: Any) -> Any:
    t, n = abs(x[0]) + 0.3, 0
    while t < 5:
        for i in range(3):
            if x[i] > 0:
                t += 0.3 * x[i]
            t += 0.2
        n += 1
    return t * n


def condition_by_function(x: Any) -> Any:
    def more(t: Any, n: Any) -> Any:
        return t < 4 and n < 10

    t, n = abs(x[0]), 0
    while more(t, n):
        t = t + 0.7
        n += 1
    return t * x[1]


def any_condition(x: Any) -> Any:
    y = np.abs(x)
    while (y > 1).any():
        y = np.where(y > 1, y * 0.7, y)
    while not np.all(y < 0.5):
        y = y * 0.8
    return np.sum(y)


def collatz(x: Any) -> Any:
    n, c = int(abs(x[0]) * 5) + 3, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        c += 1
    return x[1] * c


ROWS: dict[str, list[Callable[..., Any]]] = {
    "range": [
        step_minus,
        step_minus_two,
        step_of_len,
        last_after_none,
        last_after_some,
        changed_in_body,
        bound_once,
        traced_start,
        start_after_stop,
        step_three_traced,
        traced_steps,
        range_kept_by_name,
        range_item_in,
        nested_triangle,
    ],
    "while": [
        on_both,
        flag_python,
        flag_negated,
        toggled,
        no_pass,
        integer_condition,
        array_state,
        walrus,
        two_arrays_swapped,
        for_in_while,
        condition_by_function,
        any_condition,
        collatz,
    ],
}
