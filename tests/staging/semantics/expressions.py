"""Programs of the rows of the table of semantics, as people write them."""

# ruff: noqa: E731, RUF021 - as people write them
from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

# --- expressions ----------------------------------------------------------------------------------


def lazy_and(x: Any) -> Any:
    i = 5
    if i < len(x) and x[i] > 0:
        return x[0]
    if x[0] > 0 and np.log(x[0]) > 0:
        return np.log(x[0])
    return x[1]


def lazy_or(x: Any) -> Any:
    if x[0] < 0 or np.sqrt(x[0]) > 1:
        return x[0] * 2
    return x[1]


def and_value(x: Any) -> Any:
    y = x[0] and x[1]
    z = x[2] or x[3]
    w = (x[0] > 0) and x[1]
    v = 0.0 or x[1]
    u = x[3] and 2.0
    return y * 2 + z + w + v * u


def and_or_mixed(x: Any) -> Any:
    a, b, c = x[0] > 0, x[1] > 0, x[2] > 0
    s = 0.0
    if a and b or c:
        s += x[0]
    if a and (b or c):
        s += x[1]
    if not a or not (b and c):
        s += x[2]
    if a or b and c:
        s += x[3]
    return s


def chained_cmp(x: Any) -> Any:
    s = 0.0
    for v in x:
        if -0.5 < v <= 1.5 != 0:
            s += v
        if 3 > v > 0 < 1:
            s += v * v
        if x[1] < v == v:
            s += 1
    return s


def ternary(x: Any) -> Any:
    return (x[0] if x[0] > x[1] else x[1]) * (2 if x[2] > 0 else 3 if x[3] > 0 else x[3])


def ternary_lazy(x: Any) -> Any:
    return np.sqrt(x[0]) if x[0] > 0 else np.sqrt(-x[0]) * 2


def min_max(x: Any) -> Any:
    return (
        min(x[0], x[1])
        + max(x[0], x[1], 0.5) * min(x)
        + max(list(x))
        + max(x[0], 1)
        + min(2, x[2])
        + max([x[1], 0])
    )


def min_max_ties(x: Any) -> Any:
    return max(x[0], x[0]) * 2 + min(x[1], x[1] + 0.0)


def min_default(x: Any) -> Any:
    return max([], default=x[0]) + min([x[1]], default=1.0)


def abs_sum(x: Any) -> Any:
    return (
        abs(x[1])
        + sum(x)
        + sum([x[0], x[1]], x[2])
        + abs(-x[3]) ** 2
        + np.sum(abs(x))
        + sum(x > 0) * x[0]
    )


def any_all(x: Any) -> Any:
    s = 0.0
    if any(x > 2):
        s += x[0]
    if all(x > -1):
        s += x[1]
    if any([x[0] > 0, x[1] > 0]):
        s += x[2]
    if all([x[0] > 0, True]):
        s += x[3]
    if all([]) and not any([]):
        s += x[0] * 3
    return s


def rounds(x: Any) -> Any:
    return round(x[0]) * x[0] + round(x[2], 1) * x[1] + round(x[1] * 10, -1) * x[2]


def round_half(x: Any) -> Any:
    return (
        round(2.5 + 0 * x[0]) * x[0] + round(3.5 + 0 * x[0]) * x[1] + round(-0.5 + x[0] * 0) * x[2]
    )


def divmods(x: Any) -> Any:
    q, r = divmod(x[0], 0.7)
    q2, r2 = divmod(x[1], x[2])
    k, m = divmod(int(x[0] * 10), 3)
    return q * x[1] + r + r2 * 2 + q2 * x[0] + k * x[2] + m


def pows(x: Any) -> Any:
    k = int(abs(x[2]))
    return (
        pow(x[0], 2)
        + pow(abs(x[1]), 0.5)
        + x[0] ** k
        + 2 ** x[1]
        + pow(2, k) * x[0]
        + pow(7, 3, 5) * x[1]
    )


def ints(x: Any) -> Any:
    return (
        int(x[0] * 3) * x[1]
        + int(x[1] * 3) * x[0]
        + int(x[2])
        + int(True) * x[3]
        + int(x[0] > 0) * x[2]
    )


def int_index(x: Any) -> Any:
    return x[int(abs(x[0]))] * x[int(x[2]) % 4]


def floats(x: Any) -> Any:
    return float(x[0]) * 2 + float(int(x[2])) * x[0] + float(x[1] > 0) * x[1] + float("1.5") * x[0]


def bools(x: Any) -> Any:
    s = 0.0
    if bool(x[0]):
        s += x[1]
    if not bool(x[3] > 1):
        s += x[2]
    return s + bool(x[0] > 0) * x[1]


def lens(x: Any) -> Any:
    y = [x[0], x[1]]
    return len(x) * x[0] + len(y) * x[1] + len(x[1:]) + len(np.outer(x, x)[0])


def maths(x: Any) -> Any:
    a = abs(x[0]) + 0.1
    return (
        math.sin(x[0])
        + math.cos(x[1])
        + math.exp(x[1])
        + math.log(a)
        + math.log(a, 2)
        + math.log10(a)
        + math.log2(a)
        + math.log1p(a)
        + math.expm1(x[3])
        + math.sqrt(a)
        + math.tan(x[3])
        + math.atan(x[0])
        + math.atan2(x[0], x[1])
        + math.sinh(x[3])
        + math.tanh(x[0])
        + math.hypot(x[0], x[1])
        + math.fabs(x[1])
        + math.pow(a, 1.5)
        + math.erf(x[0])
        + math.gamma(a)
        + math.lgamma(a)
        + math.copysign(x[2], x[1])
        + math.fmod(x[0], 0.4)
        + math.degrees(x[0]) * 0.01
        + math.radians(x[1])
    )


def maths_int(x: Any) -> Any:
    return (
        math.floor(x[0]) * x[0]
        + math.ceil(x[1]) * x[1]
        + math.trunc(x[2]) * x[2]
        + math.isnan(x[0]) * x[0]
        + math.isinf(x[1])
        + math.isfinite(x[0]) * x[3]
    )


def maths_more2(x: Any) -> Any:
    return (
        math.asin(x[3] * 0.3)
        + math.acos(x[3] * 0.3)
        + math.asinh(x[0])
        + math.acosh(1.5 + abs(x[0]))
        + math.atanh(x[3] * 0.3)
        + math.erfc(x[0])
        + math.cosh(x[1])
        + math.exp2(x[1])
        + math.cbrt(abs(x[0]) + 1)
    )


def operators(x: Any) -> Any:
    f = operator.itemgetter(1)
    return (
        operator.add(x[0], x[1]) * operator.mul(x[2], 2)
        + f(x)
        + functools.reduce(operator.mul, x)
        + functools.reduce(lambda a, b: a + b if b > 0 else a, x, 0.0)
    )


def itertools_(x: Any) -> Any:
    s = 0.0
    for a, b in itertools.product(x[:2], x[2:]):
        if a > b:
            s += a * b
    for i, j in itertools.combinations(range(4), 2):
        if x[i] > x[j]:
            s += x[i] * x[j]
    for v in itertools.chain(x[:2], [1.0]):
        if v > 0:
            s += v
    for p, q in itertools.pairwise(x):
        s += p * q if p > q else 0.0
    for v in itertools.accumulate(x):
        s += v if v > 0 else 0.0
    return s


def not_values(x: Any) -> Any:
    s = 0.0
    if not x[0]:
        s += 1
    if not (x[0] > 0):
        s += x[1]
    s += (not x[1] > 0) * x[2]
    return s


def in_contains(x: Any) -> Any:
    k = int(abs(x[0]))
    s = 0.0
    if k in (1, 3):
        s += x[0]
    if k not in [0, 2]:
        s += x[1]
    if x[0] in x:
        s += x[2]
    return s


def match_known(x: Any) -> Any:
    s = 0.0
    for k in range(3):
        match k:
            case 0:
                s += x[0]
            case 1 if k > 5:
                s += 100
            case _:
                s += x[1]
    return s if x[0] > 0 else -s


def floor_mod(x: Any) -> Any:
    return (
        x[0] // 0.4 * x[1]
        + x[0] % 0.4
        + -x[2] // 0.7
        + -x[2] % 0.7
        + x[1] % -0.3
        + int(x[2]) % 3
        + -int(x[2]) // 2
    )


def lambdas(x: Any) -> Any:
    f = lambda v: v if v > 0 else -v * 2
    return sum(f(v) for v in x) + (lambda a, b=x[1]: a * b)(x[0])


def condition_1elem(x: Any) -> Any:
    if x[:1] > 0:
        return x[1]
    return x[2]


def complex_builtin(x: Any) -> Any:
    z = complex(x[0], x[1])
    return abs(z) + z.real * z.imag + (z * z.conjugate()).real + np.angle(z)


def number_methods(x: Any) -> Any:
    return (
        x[0].real * 2
        + x[1].conjugate()
        + x[2].item()
        + x.max() * x.argmax()
        + float(x[0].astype(float))
        + x[0].sum()
    )


def sums_and_products_of_math(x: Any) -> Any:
    y = math.prod([x[0], x[1], 2.0]) + math.fsum([x[0], x[1], x[2]])
    return y + math.dist([x[0], x[1]], [1.0, 2.0]) + math.hypot(x[0], x[1], x[2])


def extremes_by_a_key(x: Any) -> Any:
    return max(x, key=lambda v: v * v if v > 0 else -v) * 2 + min([x[0], x[1]], key=abs)


def scalars_of_numpy(x: Any) -> Any:
    s = np.float64(x[0]) * 2 + np.int64(x[2]) * x[1]
    return s + np.float64(np.float32(0.5)) if np.bool_(x[3] > 0) else s * np.float64(x[1])


ROWS: dict[str, list[Callable[..., Any]]] = {
    "expressions": [
        lazy_and,
        lazy_or,
        and_value,
        and_or_mixed,
        chained_cmp,
        ternary,
        ternary_lazy,
        min_max,
        min_max_ties,
        min_default,
        abs_sum,
        any_all,
        rounds,
        round_half,
        divmods,
        pows,
        ints,
        int_index,
        floats,
        bools,
        lens,
        maths,
        maths_int,
        maths_more2,
        operators,
        itertools_,
        not_values,
        in_contains,
        match_known,
        floor_mod,
        lambdas,
        condition_1elem,
        complex_builtin,
        number_methods,
        sums_and_products_of_math,
        extremes_by_a_key,
        scalars_of_numpy,
    ],
}
