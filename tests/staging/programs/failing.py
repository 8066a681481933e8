"""Programs that raise. (They stand in a file of their own, since a test runner rewrites the
assertions of its test files.)"""

from __future__ import annotations

from typing import Any

import numpy as np

import tracegrad as tg


class Unphysical(ValueError):
    def __init__(self, what: str, size: int) -> None:
        super().__init__(what, size)
        self.size = size


def at_once(x: Any) -> Any:
    if x[0] < 0:
        raise Unphysical("negative", 3)
    return x[0] * x[1]


def at_some_step(x: Any) -> Any:
    s = 0.0
    for i in range(40):
        if x[i % 3] < 0:
            raise ValueError("step")
        s += x[i % 3] ** 2
    return s


def in_a_function(x: Any) -> Any:
    s, t = 0.0, x[0]
    while t < 50:
        t = t + positive(x[1])
        s += t
    return s


def positive(v: Any) -> Any:
    if v < 0:
        raise KeyError("v")
    return v * 2


def without_end_otherwise(x: Any) -> Any:
    steps, t = 0, x[0]
    while t < 100:
        t = t * x[1]
        steps += 1
        if steps > 50:
            raise RuntimeError("no convergence")
    return t


def asserted(x: Any) -> Any:
    assert x[0] > 0, "must be positive"
    return x[0] ** 2 * x[2]


def asserted_at_each_step(x: Any) -> Any:
    s = 0.0
    for v in x:
        assert v > 0
        s += v**2
    return s


def last_choice(x: Any) -> Any:
    if x[0] > 0:
        return x[0] * x[1]
    elif x[1] > 0:
        return x[1]
    else:
        raise ValueError("none", x.shape[0])


def after_a_write(x: Any) -> Any:
    y = x.copy()
    if x[0] < 0:
        raise ValueError("a")
    if x[1] < 0:
        raise TypeError("b")
    y[0] = x[1]
    return np.sum(y * x)


def of_no_integer(x: Any) -> Any:
    return x[int(x[2])] * x[0]


def in_a_loop_of_ours(x: Any) -> Any:
    return tg.fori_loop(0, 9, lambda i, s: s + positive(x[i % 3]), 0.0)


def in_a_function_of_ours(x: Any) -> Any:
    return np.sum(tg.vmap(positive)(x))


def in_two_loops(x: Any) -> Any:
    s = 0.0
    for i in range(20):
        for j in range(i):
            if x[j % 3] > 0:
                s += x[j % 3] * i
            elif x[j % 3] < -5:
                raise ZeroDivisionError
    return s


def the_first_of_several(x: Any) -> Any:
    for k in range(60):
        if x[k % 3] < 0:
            raise ValueError(k % 3)
        assert x[k % 3] < 5, "large"
    return x[0]


def a_range_without_step(x: Any) -> Any:
    s = x[2]
    for i in range(0, 3, int(x[1])):
        s += x[i] ** 2
    return s
