"""Programs of the rows of the table of semantics, as people write them."""

# ruff: noqa: B007 - as people write them
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# --- names bound in one place ---------------------------------------------------------------------


def bound_in_one_branch_unread(x: Any) -> Any:
    if x[0] > 0:
        y = x[1]
        z = y * 2
    else:
        z = x[2]
    return z * x[0]


def bound_in_loop_unread(x: Any) -> Any:
    s = 0.0
    for i in range(int(abs(x[0]))):
        t = x[i] * 2
        s += t
    return s + x[1]


def bound_in_first_pass(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        if i == 0:
            p = x[0]
        s += p * x[i] if x[i] > 0 else p
        p = x[i] * 0.5
    return s


def deleted(x: Any) -> Any:
    y = x[0]
    if x[1] > 0:
        s = y * 2
    else:
        s = y
    del y
    return s


def bound_in_else_raise(x: Any) -> Any:
    if x[0] > -100:
        y = x[0] ** 2
    else:
        raise ValueError("no")
    return y


def comprehension_scope(x: Any) -> Any:
    i = 10
    s = sum([x[i] for i in range(3) if x[i] > 0])
    return s * i


# --- dtypes of carries ----------------------------------------------------------------------------


def int_then_float(x: Any) -> Any:
    s = 0
    for i in range(3):
        if x[i] > 0:
            s += x[i]
    return s


def int_then_float_while(x: Any) -> Any:
    s, n = 1, 0
    while s < 4:
        s = s + x[2] ** 2 + 0.3
        n += 1
    return s * n


def chain_of_three(x: Any) -> Any:
    a, b, c = 0, 0, 0
    for i in range(6):
        c = c + b
        b = b + a
        a = a + x[0] * i
        if c > 100:
            c = 0
    return a + b + c


def bool_then_int(x: Any) -> Any:
    n = False
    for i in range(4):
        n = n + (x[i] > 0)
    return n * x[0]


def int_to_complex(x: Any) -> Any:
    z = 0
    for i in range(4):
        z = z * 0.5 + x[i] * 1j
        if abs(z) > 3:
            z = z / 2
    return z.imag**2 + z.real


def mixed_branch(x: Any) -> Any:
    if x[0] > 0:
        y = 1
    else:
        y = x[1]
    return y * x[2]


def int_division(x: Any) -> Any:
    n = 7
    k = 0
    while n > 1:
        n = n / 2
        k += 1
    m = 7
    while m > abs(x[0]):
        m = m / 2
    return m * x[1] + k


def truncating_write(x: Any) -> Any:
    c = np.zeros(4, dtype=np.int32)
    for i in range(4):
        c[i] = x[i] * 3
    return np.sum(c * x)


def f32_array_from_f64(x: Any) -> Any:
    c = np.zeros(4, np.float32)
    for i in range(4):
        if x[i] > 0:
            c[i] = x[i] / 3
    return np.sum(c)


# --- shapes and trees of carries ------------------------------------------------------------------


def tuple_carry(x: Any) -> Any:
    p = (x[0], 1.0)
    for i in range(4):
        if x[i] > 0:
            p = (p[1], p[0] + x[i])
        else:
            p = p[1] * 0.5, p[0]
    return p[0] * 2 + p[1]


def list_carry(x: Any) -> Any:
    p = [x[0], 1.0, 2]
    for i in range(4):
        if x[i] > 0:
            p = [p[1], p[2], p[0] + x[i]]
    return p[0] * 2 + p[1] + 3 * p[2]


def nested_tree_carry(x: Any) -> Any:
    p = {"a": (x[0], [x[1], 0])}
    for i in range(4):
        if x[i] > 0:
            p = {"a": (p["a"][0] * 0.5, [x[i], p["a"][1][1] + 1])}
    return p["a"][0] + p["a"][1][0] * p["a"][1][1]


def grows_unrolled_with_branch(x: Any) -> Any:
    y = x[:1]
    for i in range(3):
        y = np.append(y, x[i] if x[i] > 0 else 0.0)
    return np.sum(y * np.arange(4))


def shrinks(x: Any) -> Any:
    y = x * 1.0
    while y.size > 1:
        y = y[::2] + y[1::2]
        if y[0] > 5:
            y = y * 0.5
    return y[0]


def scalar_to_array_start(x: Any) -> Any:
    s = 0.0
    for i in range(40):
        s = s * 0.5 + x
        if s[0] > 3:
            s = s * 0.1
    return np.sum(s)


def none_then_value(x: Any) -> Any:
    best = None
    for v in x:
        if best is None or v > best:
            best = v
    return best * 2


def none_first_pass(x: Any) -> Any:
    prev, s = None, 0.0
    for v in x:
        if prev is not None:
            s += abs(v - prev)
        prev = v
    return s


# --- kinds of carries -----------------------------------------------------------------------------


def complex_state(x: Any) -> Any:
    z = np.zeros(3, complex)
    for i in range(3):
        z[i] = x[i] + 1j * x[i + 1]
        if x[i] > 0:
            z[i] *= 1j
    return np.sum(np.abs(z) ** 2) + z[0].real


def complex_while(x: Any) -> Any:
    z, n = complex(0.1, 0.2), 0
    while abs(z) < 2 and n < 20:
        z = z * z + complex(x[0], x[1])
        n += 1
    return z.real + n


def bool_carry(x: Any) -> Any:
    seen = False
    s = 0.0
    for v in x:
        if v < 0:
            seen = True
        if seen:
            s += v * 2
        else:
            s += v
    return s


def bool_ops(x: Any) -> Any:
    a, b = True, False
    s = 0.0
    for v in x:
        a = a and v > -1
        b = b or v > 2
        a, b = b, a
        s += v if a else v * v if b else 1
    return s


def bool_xor(x: Any) -> Any:
    p = False
    for v in x:
        p ^= v > 0.1
        p = p | False
    return x[0] if p else x[1] * 2


def bool_array_carry(x: Any) -> Any:
    m = np.zeros(4, bool)
    for i in range(4):
        m[i] = x[i] > 0
        if m[0]:
            m[3] = not m[3]
    return np.sum(np.where(m, x, 0.5 * x))


def int_carry_steers(x: Any) -> Any:
    k = 0
    s = 0.0
    for i in range(6):
        s += x[k]
        k = (k + 3) % 4 if s > 0 else (k + 1) % 4
    return s + k


def int_bits(x: Any) -> Any:
    k = 5
    for v in x:
        if v > 0:
            k = (k << 1) ^ 3
        k = k & 31 | 1
    return k * x[0]


def int_floor_neg(x: Any) -> Any:
    k = 0
    for v in x:
        k = (k - 7) // 2 if v > 0 else (k + 3) % -4
    return k * x[0] + divmod(k, 3)[1]


def int_true_power(x: Any) -> Any:
    k, s = 2, 0.0
    for v in x:
        s += k**2 * v + 2 ** (k % 5)
        if v > 0:
            k += 1
    return s


def int_array_carry(x: Any) -> Any:
    c = np.zeros(4, dtype=int)
    for i in range(4):
        if x[i] > 0:
            c[i] += i + 1
            c[0] -= 1
    return np.sum(c * x)


ROWS: dict[str, list[Callable[..., Any]]] = {
    "names bound in one place": [
        bound_in_one_branch_unread,
        bound_in_loop_unread,
        bound_in_first_pass,
        deleted,
        bound_in_else_raise,
        comprehension_scope,
    ],
    "dtypes of carries": [
        int_then_float,
        int_then_float_while,
        chain_of_three,
        bool_then_int,
        int_to_complex,
        mixed_branch,
        int_division,
        truncating_write,
        f32_array_from_f64,
    ],
    "shapes and trees of carries": [
        tuple_carry,
        list_carry,
        nested_tree_carry,
        grows_unrolled_with_branch,
        shrinks,
        scalar_to_array_start,
        none_then_value,
        none_first_pass,
    ],
    "kinds of carries": [
        complex_state,
        complex_while,
        bool_carry,
        bool_ops,
        bool_xor,
        bool_array_carry,
        int_carry_steers,
        int_bits,
        int_floor_neg,
        int_true_power,
        int_array_carry,
    ],
}
