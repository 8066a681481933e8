"""Python's integers beside arrays whose dtype does not hold them: comparisons have the result that
is true, everything else is an OverflowError, as in NumPy; compiled code let them wrap around."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.ir.evaluate import evaluate

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "mod": operator.mod, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "lshift": operator.lshift, "rshift": operator.rshift, "maximum": np.maximum,
    "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "divmod": divmod,
    "truediv": operator.truediv,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")
}
DTYPES = ("uint8", "int8", "int16", "uint32", "int32", "uint64", "int64", "bool", "float32")
NUMBERS = (-1, 300, 70_000, 2**33, -(2**40), 2**63, 2**64, 44, 0)


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            found = f(*args)
    except (OverflowError, TypeError):
        return "refused"
    return [(x.dtype, np.asarray(x).tolist()) for x in (found if type(found) is tuple else [found])]


def check(functions: dict[str, Callable[[Any], Any]], a: Any) -> None:
    for name, f in functions.items():
        assert outcome(tg.jit(f), a) == outcome(f, a), (a.dtype, name)


@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons(dtype: str) -> None:
    """In one function each: a comparison of each kind with each number, on both sides."""
    a = np.array([1, 44, 0], dtype)
    for number in NUMBERS:

        def both(x: Any, number: int = number) -> Any:
            found = [f(*s) for f in COMPARISONS.values() for s in ((x, number), (number, x))]
            return tuple(found)

        assert outcome(tg.jit(both), a) == outcome(both, a), number


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint64", "int64"])
def test_arithmetic(dtype: str) -> None:
    a = np.array([1, 3, 5], dtype)
    too_large = 2 ** (8 * a.dtype.itemsize)
    for number in (too_large, -1 if a.dtype.kind == "u" else -too_large):
        check(
            {
                f"{name} {number} {side}": lambda x, f=f, number=number, side=side: (
                    f(number, x) if side else f(x, number)
                )
                for name, f in ARITHMETIC.items()
                for side in (False, True)
                if not (name == "truediv" and abs(number) < 2**63)
            },
            a,
        )


def changed(how: Callable[[Any, int], Any], number: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        x = x.copy()
        how(x, number)
        return x

    return f


def outcome_of_trace(f: Callable[..., Any], a: Any, number: int) -> Any:
    """That of the graph of a function whose number is an argument, run by NumPy."""
    entry = tg.jit(f)._entry((a, 0), {})[0]
    return outcome(
        lambda x: tuple(evaluate(entry.graph, [x, np.int64(number), *entry.traced.captures])), a
    )


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint64", "int64"])
def test_arguments(dtype: str) -> None:
    a = np.array([1, 3, 5], dtype)
    for name, f in {**ARITHMETIC, **COMPARISONS}.items():
        for side in (False, True):

            def g(x: Any, n: Any, f: Any = f, side: bool = side) -> Any:
                return f(n, x) if side else f(x, n)

            for number in (7, 3, 300, -1, -40_000, 2**33):
                expected = outcome(g, a, number)
                assert outcome_of_trace(g, a, number) == expected, (name, side, number)


@pytest.mark.parametrize("dtype", ["uint8", "uint64"])
def test_arguments_of_compiled_functions(dtype: str) -> None:
    """All comparisons, and all that refuses a number."""
    a = np.array([1, 3, 5], dtype)
    too_large = 300 if dtype == "uint8" else -1

    @tg.jit
    def compared(x: Any, n: Any) -> Any:
        return tuple([f(*s) for f in COMPARISONS.values() for s in ((x, n), (n, x))])

    ways: dict[str, Callable[[Any, Any], Any]] = {
        "add": lambda x, n: x + n,
        "a list": lambda x, n: changed(lambda x, n: operator.setitem(x, slice(0, 2), [n, 1]), n)(x),
        "full": lambda x, n: np.full_like(x, n),
        "array": lambda x, n: x[:2] + np.array([n, 1], dtype),
        "computed": lambda x, n: x * (2 * n - n),
        "a carry": carried,
        "in a loop": written_in_a_loop,
        "in a branch": lambda x, n: x + n if x[0] > 0 else x,
        "lanes": lambda x, n: tg.vmap(lambda y: y - n)(x),
    }
    for number in (too_large, 3, 200):
        assert outcome(compared, a, number) == outcome(
            lambda x, n=number: compared.function(x, n), a
        )
    for name, f in ways.items():
        jitted = tg.jit(f)
        for number in (3, too_large, 4):
            expected = "refused" if number == too_large else outcome(f, a, number)
            assert outcome(jitted, a, number) == expected, (name, number)


def carried(x: Any, n: Any) -> Any:
    for _ in range(3):
        n = n + 0
    return x + n


def written_in_a_loop(x: Any, n: Any) -> Any:
    x = x.copy()
    k = 0
    while k < n and k < 3:
        x[k] = n
        k += 1
    if n < 0:
        x[0] = n
    return x


def test_sizes_beside_narrow_integers() -> None:
    """A size is such a number, too."""
    f = tg.jit(lambda x: x + x.shape[0])
    for n in (3, 4, 255, 256):
        a = np.zeros(n, np.uint8)
        assert outcome(f, a) == outcome(f.function, a), n


def test_numbers_that_a_loop_counts_need_no_check() -> None:
    def f(x: Any) -> Any:
        for k in range(100):
            x[k] = k
        return x

    graph = tg.jit(f, stage=True)._entry((np.zeros(100, np.uint8),), {})[0].graph
    assert "check" not in str(graph)


def test_nested_lists() -> None:
    a = np.zeros((2, 2), np.uint8)
    for value in ([[1, 2], [3, 300]], [[1], [-1]], ((1, 2), (3, 4))):
        f = changed(lambda x, k, value=value: operator.setitem(x, slice(None), value), 0)
        assert outcome(tg.jit(f), a) == outcome(f, a)


def test_arguments_past_64_bits_are_refused_at_every_call() -> None:
    f = tg.jit(lambda x, n: (x < n, x + n))
    a = np.array([1])
    for number in (5, 2**63, -5, 2**64, -(2**63) - 1):
        if -(2**63) <= number < 2**63:
            assert outcome(f, a, number) == outcome(lambda x, n=number: f.function(x, n), a)
        else:
            with pytest.raises(OverflowError, match="which int64 does not hold"):
                f(a, number)


WRITES: dict[str, Callable[[Any, int], Any]] = {
    "element": lambda x, k: operator.setitem(x, 1, k),
    "slice": lambda x, k: operator.setitem(x, slice(None), k),
    "mask": lambda x, k: operator.setitem(x, x > 2, k),
    "places": lambda x, k: operator.setitem(x, [0, 2], k),
    "list": lambda x, k: operator.setitem(x, slice(0, 2), [k, 1]),
    "fill": lambda x, k: x.fill(k),
    "add": lambda x, k: operator.iadd(x, k),
}
MADE: dict[str, Callable[[Any, int], Any]] = {
    "full_like": lambda x, k: np.full_like(x, k),
    "full": lambda x, k: np.full(3, k, x.dtype) + x,
    "clip": lambda x, k: np.clip(x, k, k),
}


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64"])
def test_writes_and_new_arrays(dtype: str) -> None:
    a = np.array([1, 3, 5], dtype)
    for number in (2 ** (8 * a.dtype.itemsize - (dtype[0] == "i")), 7):
        check({name: changed(how, number) for name, how in WRITES.items()}, a)
        check({name: lambda x, f=f, k=number: f(x, k) for name, f in MADE.items()}, a)


def test_the_message_says_where_and_what_to_do() -> None:
    with pytest.raises(OverflowError, match=r"test_numbers_that_do_not_fit.py:\d+: add: .*int64"):
        tg.jit(lambda x: x + 300)(np.zeros(3, np.uint8))
