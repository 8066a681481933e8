"""Traced integers are NumPy's int64: what passes 64 bits wraps around, in kept loops as in arrays.
(LLVM was told that it does not; of a loop's numbers it knows the range, and drew conclusions.)
Sizes are Python's integers, which do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.ways import by_source

N = 6


def family(m: Any) -> list[Any]:
    """Every operator on products that may pass 64 bits."""
    p = m * m * m * m
    q = p - 5 * m * m * m
    return [
        *(p, -p, q, p + p, p - q * q, p * 2**40, p * 2**62 * 4 + 1),
        *(p // 7, q // -7, q // (m * m + 1), (3 * p) // 3, (p * p) // (p | 1)),
        *(p % 12, q % -12, q % (m * m + 1), (p // 7) % 12, (p * m) % (p | 1)),
        *(p >> 3, q >> 70, p << 5, q << 61, p & 255, p | m, q ^ m, ~p),
        *(abs(p), abs(-p), min(p, m), max(-p, m), min(p, q), max(p * p, q)),
        *(m * (p + 1 > p), m * (p * 3 < p), m * (p >= 0), m * (q == p - 5 * m * m * m)),
    ]


def each_apart(x: Any, first: int) -> Any:
    out = np.zeros((N, 40), np.int64)
    for k in range(N):
        for j, v in enumerate(family(first + k)):
            out[k, j] = v + x[0]
    return out


def in_strides(x: Any, first: int) -> Any:
    out = np.zeros((N, 40), np.int64)
    for k in range(N):
        for j, v in enumerate(family(1_000 * k + first)):
            out[k, j] = v + x[0]
    return out


def handed_on(x: Any, first: int) -> Any:
    out = np.zeros((N, 40), np.int64)
    m = first + x[0]
    for k in range(N):
        for j, v in enumerate(family(m)):
            out[k, j] = v + out[k - 1, j] * x[0]
        m = m + 1
    return out


def expected(program: Any, first: int) -> Any:
    step = 1_000 if program is in_strides else 1
    found = np.zeros((N, 40), np.int64)
    with np.errstate(over="ignore"):
        for k in range(N):
            row = family(np.int64(first + step * k))
            found[k, : len(row)] = row
    return found


@pytest.mark.parametrize(
    ("program", "first", "compiled"),
    [
        (each_apart, 60_000, True),
        (in_strides, -3, True),
        (handed_on, -100_000, True),
        (each_apart, 2**40, False),
        (in_strides, -100_000, False),
    ],
)
def test_of_loops(program: Callable[..., Any], first: int, compiled: bool) -> None:
    """Kept: written out, they are plain Python's, whose integers NumPy refuses past 64 bits."""
    f = tg.jit(lambda x: program(x, first), stage=True)
    with np.errstate(over="ignore"):
        found = (f if compiled else by_source(f))(np.zeros(1, np.int64))
    np.testing.assert_array_equal(found, expected(program, first))


UNARY = (
    np.reciprocal,
    np.negative,
    np.absolute,
    np.sign,
    np.invert,
    np.square,
    np.cumsum,
    np.cumprod,
)
BINARY = (
    *(np.add, np.subtract, np.multiply, np.floor_divide, np.remainder, np.fmod, np.maximum),
    *(np.left_shift, np.right_shift, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.less),
)


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_of_each_kind(kind: str) -> None:
    """All numbers of 8 bits; of the others those at the ends, and powers of two."""
    ends = np.iinfo(kind)
    powers = [p + k for p in [2**n for n in range(ends.bits)] for k in (-1, 0, 1)]
    chosen = [*range(-128, 256), *powers, *[-p for p in powers], ends.max, ends.min]
    x = np.array(sorted({c for c in chosen if ends.min <= c <= ends.max and c}), kind)
    a, b = (x[:, None], x) if kind in ("i1", "u1") else (x[:, None], x[::5])
    found = tg.jit(lambda x, a, b: [*[f(x) for f in UNARY], *[f(a, b) for f in BINARY]])(x, a, b)
    with np.errstate(all="ignore"):
        expected = [*[f(x) for f in UNARY], *[f(a, b) for f in BINARY]]
    for f, one, other in zip((*UNARY, *BINARY), found, expected, strict=True):
        np.testing.assert_array_equal(one, other, f.__name__, strict=True)


def test_of_places() -> None:
    """The index is inside whatever it wraps to."""

    def read(x: Any) -> Any:
        out = np.zeros(300)
        for m in range(60_000, 60_300):
            out[m - 60_000] = x[(m * m * m * m // 7) % 12]
        return out

    x, m = np.arange(12.0), np.arange(60_000, 60_300)
    np.testing.assert_array_equal(tg.jit(read, stage=True)(x), x[(m * m * m * m // 7) % 12])


def test_quotients_of_sizes_are_exact() -> None:
    """A dividend of more than 64 bits makes the size a number."""

    def read(x: Any) -> Any:
        n = x.shape[0]
        return x[(n * n * n * n // 7) % 12] + n**4 // 11 % 1_000 + (n**3 // 2) // n

    jitted = tg.jit(read)
    for n in (20, 30, 60_000, 70_000):
        x = np.arange(float(n))
        assert jitted(x) == read(x)
