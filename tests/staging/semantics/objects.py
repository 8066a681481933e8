"""Programs of the rows of the table of semantics, as people write them."""

# ruff: noqa: B009, B010 - as people write them
from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass
class Point:
    a: Any
    b: Any = 2.0

    def norm(self) -> Any:
        return self.a if self.a > self.b else self.b * 2


# --- objects --------------------------------------------------------------------------------------


def dict_counts(x: Any) -> Any:
    d = {"p": 0, "s": 0.0}
    for v in x:
        if v > 0:
            d["p"] += 1
            d["s"] += v
        else:
            d["s"] -= 2 * v
    return d["p"] * d["s"]


def dataclass_object(x: Any) -> Any:
    p = Point(x[0])
    for v in x:
        if v > 0:
            p.a += v
        else:
            p.b = p.a * 0.5
    return p.a * p.b + p.norm()


def dataclass_replaced(x: Any) -> Any:
    p = Point(x[0], 1.0)
    for v in x:
        p = Point(p.b, p.a + v) if v > 0 else dataclasses.replace(p, b=p.b * 0.5)
    return p.a * 2 + p.b


def objects_in_list(x: Any) -> Any:
    ps = [Point(v) for v in x]
    s = 0.0
    for p in ps:
        if p.a > 0:
            p.b = p.a**2
        s += p.b
    return s


def dict_of_arrays(x: Any) -> Any:
    d = {"u": x.copy(), "v": np.zeros(4)}
    for i in range(4):
        if d["u"][i] > 0:
            d["v"][i] = d["u"][i] * 2
        d["u"][i] -= 0.1
    d["u"], d["v"] = d["v"], d["u"]
    return d["u"] @ x + np.sum(d["v"] ** 2)


def nested_attr(x: Any) -> Any:
    o = types.SimpleNamespace(p=types.SimpleNamespace(q=[0.0, x[1]]), k=0)
    for v in x:
        if v > 0:
            o.p.q[0] += v
            o.k += 1
    return o.p.q[0] * o.k + o.p.q[1]


def closure_state(x: Any) -> Any:
    total, calls = 0.0, 0

    def add(v: Any) -> Any:
        nonlocal total, calls
        calls += 1
        if v > 0:
            total += v
        return total

    s = 0.0
    for v in x:
        s += add(v)
    return s * calls


def getattr_setattr(x: Any) -> Any:
    o = types.SimpleNamespace(a=0.0)
    for v in x:
        if v > 0:
            setattr(o, "a", getattr(o, "a") + v)
    return o.a


def object_in_branch(x: Any) -> Any:
    if x[0] > 0:
        p = Point(x[0], x[1])
    else:
        p = Point(x[2], x[3])
    return p.a * p.b


def flag_attribute(x: Any) -> Any:
    o = types.SimpleNamespace(done=False, n=0)
    t = abs(x[0]) + 0.2
    while not o.done:
        t = t * 1.5
        o.n += 1
        o.done = t > 3
    return t * o.n


# --- try, with, generators ------------------------------------------------------------------------


def _gen(x: Any) -> Any:
    for i in range(len(x)):
        yield x[i] * 2


def gen_untouched(x: Any) -> Any:
    return sum(_gen(x)) if x[0] > 0 else x[1]


def try_untouched(x: Any) -> Any:
    try:
        k = [1, 2][5]
    except IndexError:
        k = 3
    finally:
        m = 2
    return x[0] * k if x[1] > 0 else x[2] * m


def try_else(x: Any) -> Any:
    try:
        y = x[0] * 2
    except ZeroDivisionError:
        y = 0.0
    else:
        y = y + x[1]
    return y if y > 0 else -y * 2


def with_errstate(x: Any) -> Any:
    with np.errstate(all="ignore"):
        y = np.log(np.abs(x) + 1)
        if y[0] > 0.5:
            z = y[1]
        else:
            z = y[2]
        for i in range(3):
            if z < 2:
                z += y[i]
    return z


def try_raise_own(x: Any) -> Any:
    def check(n: Any) -> Any:
        if n > 2:
            raise KeyError("n")
        return n

    s = 0.0
    for n in range(4):
        try:
            s += check(n) * x[n]
        except KeyError:
            s += 5 * x[0]
    return s if s > 0 else x[0]


# --- recursion ------------------------------------------------------------------------------------


def _rec(x: Any, d: Any) -> Any:
    if d == 0:
        return x[0]
    if x[0] > 0:
        return _rec(x * 0.9, d - 1) + x[1]
    return x[2]


def rec_known(x: Any) -> Any:
    return _rec(x, 4)


def _fib(n: Any, x: Any) -> Any:
    return x if n < 2 else _fib(n - 1, x) + _fib(n - 2, x * 0.5)


def rec_fib(x: Any) -> Any:
    return _fib(6, x[0]) if x[0] > 0 else _fib(5, x[1])


def _quad(f: Any, a: Any, b: Any, d: Any) -> Any:
    m = 0.5 * (a + b)
    if d == 0:
        return f(m) * (b - a)
    return _quad(f, a, m, d - 1) + _quad(f, m, b, d - 1)


def rec_quad(x: Any) -> Any:
    return _quad(lambda t: t * t if t > 0 else -t * x[1], x[0], x[2], 3)


def _even(n: Any, x: Any) -> Any:
    return x[0] if n == 0 else _odd(n - 1, x) * 1.1


def _odd(n: Any, x: Any) -> Any:
    return x[1] if n == 0 else (_even(n - 1, x) if x[2] > 0 else x[3])


def rec_mutual(x: Any) -> Any:
    return _even(5, x)


def _merge(v: Any) -> Any:
    if len(v) <= 1:
        return v
    h = len(v) // 2
    a, b = _merge(v[:h]), _merge(v[h:])
    out = np.zeros(len(v))
    i = j = 0
    for k in range(len(v)):
        if j >= len(b) or (i < len(a) and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
    return out


def rec_mergesort(x: Any) -> Any:
    return np.sum(_merge(x) * np.arange(4))


# --- the branch not taken -------------------------------------------------------------------------


def nan_sqrt(x: Any) -> Any:
    return np.sqrt(x[1]) if x[1] > 0 else x[0] * x[1]


def nan_log_loop(x: Any) -> Any:
    s = 0.0
    for v in x:
        if v > 0:
            s += np.log(v)
        else:
            s += v
    return s


def nan_divide(x: Any) -> Any:
    y = x[0] - x[0]
    if y != 0:
        z = 1 / y
    else:
        z = x[1]
    return z * x[2]


def nan_after_break(x: Any) -> Any:
    s = 1.0
    for v in x:
        if v < 0:
            break
        s = s * np.sqrt(v)
    return s


def nan_while(x: Any) -> Any:
    t = abs(x[0]) + 1.0
    while t > 0.2:
        t = t - 0.3
        if t > 0:
            t = np.sqrt(t) * t**0.5
    return t


def nan_power(x: Any) -> Any:
    b = x[0] - x[0]
    return b**0.5 * 2 + x[1] if b > 0 else x[1] * 3


def nan_and(x: Any) -> Any:
    return x[2] if x[1] > 0 and np.log(x[1]) > -5 else x[3]


def nan_oob(x: Any) -> Any:
    k = int(abs(x[2])) + 5
    return x[k] if k < 4 else x[0]


def nan_early_return(x: Any) -> Any:
    if x[1] <= 0:
        return x[0]
    return np.log(x[1]) / x[1]


def inf_norm(x: Any) -> Any:
    y = x - x
    n = np.sum(y * y)
    return np.sqrt(n) if n > 0 else x[0]


ROWS: dict[str, list[Callable[..., Any]]] = {
    "objects": [
        dict_counts,
        dataclass_object,
        dataclass_replaced,
        objects_in_list,
        dict_of_arrays,
        nested_attr,
        closure_state,
        getattr_setattr,
        object_in_branch,
        flag_attribute,
    ],
    "try, with, generators": [gen_untouched, try_untouched, try_else, with_errstate, try_raise_own],
    "recursion": [rec_known, rec_fib, rec_quad, rec_mutual, rec_mergesort],
    "the branch not taken": [
        nan_sqrt,
        nan_log_loop,
        nan_divide,
        nan_after_break,
        nan_while,
        nan_power,
        nan_and,
        nan_oob,
        nan_early_return,
        inf_norm,
    ],
}
