"""Python's integers beside arrays whose dtype does not hold them: comparisons have the result that
is true, everything else is an OverflowError, as in NumPy; compiled code let them wrap around."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

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


def outcome(f: Callable[[Any], Any], a: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            found = f(a)
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
