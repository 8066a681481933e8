"""Programs of the rows of the table of semantics, as people write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# --- jumps ----------------------------------------------------------------------------------------


def for_break_else(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        if x[i] * s > 1.5:
            s = s + 10 * x[i]
            break
        s = s * 0.5 + x[i] ** 2
    else:
        s = s * x[0]
    return s + i


def for_continue_else(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            continue
        s = s * x[i] + i
    else:
        s = s - x[1]
    return s * x[2]


def else_that_returns(x: Any) -> Any:
    for v in x:
        if v > 2:
            break
    else:
        return x[0] * x[1]
    return v * 3 + x[0]


def else_that_breaks_the_outer(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        for j in range(4):
            if x[i] * x[j] > 1.0:
                s += x[i]
                break
            s += 0.1 * x[j]
        else:
            break
        s = s * 1.1
    return s + 0.5 * i + 0.25 * j


def else_that_continues_the_outer(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        for j in range(i):
            if x[i] + x[j] < 0:
                break
        else:
            s += x[i]
            continue
        s -= x[i] * 2 * x[j]
    return s


def while_break_else(x: Any) -> Any:
    t, n = x[0] ** 2 + 0.1, 0
    while t < 20:
        n += 1
        if n > 6:
            t = t + x[1]
            break
        t = t * (1.2 + x[2] ** 2)
    else:
        t = -t
    return t * n


def while_continue(x: Any) -> Any:
    n, s = 0, 0.0
    while n < 7 and s < 5:
        n += 1
        if x[n % 4] < 0:
            s += 0.1
            continue
        s += x[n % 4] ** 2
    return s * n


def while_return(x: Any) -> Any:
    t = x[0]
    while t * t < 50:
        t = t * 1.5 + 0.3 * x[1]
        if t < -3:
            return t * x[2]
    return t + x[3]


def while_else_return(x: Any) -> Any:
    t = abs(x[0]) + 0.2
    while t < 10:
        t *= 2
        if t * x[1] > 3:
            break
    else:
        return t * x[2]
    return -t


def while_true_several_exits(x: Any) -> Any:
    n, t = 0, x[0]
    while True:
        n += 1
        if t > 4:
            t = t + 1
            break
        if n > 5:
            t = t * x[3]
            break
        if t < -4:
            return t + n
        if n % 2:
            t = t - 0.2
            continue
        t = t * 1.5 + x[1] * 0.1
    return t * n


def return_in_nested_both(x: Any) -> Any:
    for i in range(3):
        n = 0
        while n < 4:
            if x[n] > x[i] + 1.2:
                return x[n] * x[i] + i
            n += 1
            if x[n - 1] < -2:
                break
        else:
            if x[i] < -0.4:
                return x[i] * 7
    return x[0] + n


def break_inner_continue_outer(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        if x[i] < -0.4:
            continue
        n = 0
        while True:
            s += x[i] * 0.3
            n += 1
            if s > 1 or n == 3:
                break
        if s > 2.2:
            break
        s += 0.01 * n
    return s * (i + 1)


def jump_behind_statements(x: Any) -> Any:
    s = 0.0
    for i in range(6):
        y = x[i % 4]
        if y > 0:
            y = y * 2
            if y > 2:
                s += y
                continue
            s += 0.5
        else:
            y = y - 1
            if y < -1.6:
                break
        s += y
    return s


def empty_break(x: Any) -> Any:
    for i in range(5):
        if x[0] * i > 3:
            break
    return x[1] * i


def return_nothing_inside(x: Any) -> Any:
    out = np.zeros(3)

    def fill() -> Any:
        for i in range(3):
            if x[i] > 2:
                return
            out[i] = x[i] ** 2

    fill()
    return np.sum(out)


def return_tuple_inside(x: Any) -> Any:
    def find() -> Any:
        for i in range(4):
            if x[i] < 0:
                return i, x[i] * 2
        return -1, 0.0

    i, v = find()
    return v * x[0] + i


def loop_in_else(x: Any) -> Any:
    s = 0.0
    for i in range(3):
        if x[i] > 5:
            break
    else:
        for j in range(3):
            if x[j] < 0:
                break
            s += x[j]
        else:
            s = s * 2
    return s + x[3]


def three_deep(x: Any) -> Any:
    s = 0.0
    for i in range(3):
        for j in range(3):
            for k in range(3):
                if k > j:
                    break
                if x[i] * x[j] * x[k] < -0.8:
                    continue
                s += x[i] * x[j] * x[k]
                if s > 4:
                    return s * i + j + k
            else:
                s += 0.01
        if s > 2:
            break
    return s


def pass_only(x: Any) -> Any:
    for i in range(3):
        if x[i] > 0:
            pass
        else:
            break
    return x[i] ** 2


def nested_while(x: Any) -> Any:
    a, n = abs(x[0]) + 0.1, 0
    while a < 5:
        b = 0.2
        while b < a:
            b = b * (1.5 + 0.1 * x[1] ** 2)
            n += 1
            if n > 30:
                break
        a = a + b
        if n > 30:
            break
    return a * n + x[2]


ROWS: dict[str, list[Callable[..., Any]]] = {
    "jumps": [
        for_break_else,
        for_continue_else,
        else_that_returns,
        else_that_breaks_the_outer,
        else_that_continues_the_outer,
        while_break_else,
        while_continue,
        while_return,
        while_else_return,
        while_true_several_exits,
        return_in_nested_both,
        break_inner_continue_outer,
        jump_behind_statements,
        empty_break,
        return_nothing_inside,
        return_tuple_inside,
        loop_in_else,
        three_deep,
        pass_only,
        nested_while,
    ],
}
