"""Solving, inverting and factorising stacks of small matrices: as many side by side as a vector
register has lanes.

Each entry of a matrix is a slot, one vector that holds this entry of all the matrices at hand, so
that nothing is done lane by lane. Rows are exchanged by selection, as LAPACK exchanges them: the
largest entry of a column becomes the pivot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.np import numpy_support

from .bridge import primitive
from .by_address import REGISTER, get, make_scratch, put, word
from .support import index, wide

__all__ = [
    "CHOLESKY_KINDS",
    "DET",
    "ELIMINATE_KINDS",
    "IDENTITY",
    "LARGEST",
    "LOWER",
    "TRIANGULAR_KINDS",
    "TURNED",
    "UNIT",
]

LARGEST = 8
"""The most rows, and right-hand sides."""
IDENTITY, DET = 1, 2
LOWER, TURNED, UNIT = 1, 2, 4
ELIMINATE_KINDS, CHOLESKY_KINDS, TRIANGULAR_KINDS = "lllaaalo", "llaao", "lllaaalo"

_Build = Callable[[Any, Any, list[Any]], Any]


def _on_slots(name: str, slots: int, build: _Build) -> Callable[..., Any]:
    """`f(pointer, slots...)`: `build(builder, types, vectors)` returns the vectors that go back
    into the first slots, or an integer of lanes' bits."""

    def function(*args: Any) -> Any:
        raise TypeError(f"{name}: compiled code only")

    bits = name.startswith("lanes")

    def typer(pointer: Any, *at: Any) -> Any:
        return signature(types.uintp if bits else types.none, pointer, *[types.uintp] * slots)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        element = context.get_value_type(sig.args[0].dtype)
        lanes = REGISTER // context.get_abi_sizeof(element)
        vector = ir.VectorType(element, lanes)
        first = builder.bitcast(args[0], vector.as_pointer())
        places = [builder.gep(first, [at]) for at in args[1:]]
        made = build(builder, vector, [builder.load(p) for p in places])
        if bits:
            return builder.zext(builder.bitcast(made, ir.IntType(lanes)), ir.IntType(64))
        for place, value in zip(places, made, strict=False):
            builder.store(value, place)
        return context.get_dummy_value()

    named = ", ".join(f"s{k}" for k in range(slots))
    primitive(
        function, eval(f"lambda pointer, {named}: typer(pointer, {named})", {"typer": typer})
    )(lower)
    return function


def _zero(vector: Any) -> Any:
    return ir.Constant(vector, [0.0] * vector.count)


def _intrinsic(builder: Any, name: str, vector: Any, value: Any) -> Any:
    kind = {"float": "f32", "double": "f64"}[str(vector.element)]
    full = f"llvm.{name}.v{vector.count}{kind}"
    function = builder.module.globals.get(full) or ir.Function(
        builder.module, ir.FunctionType(vector, [vector]), full
    )
    return builder.call(function, [value])


def _larger(builder: Any, vector: Any, x: Any, y: Any) -> Any:
    return builder.fcmp_ordered(
        ">", _intrinsic(builder, "fabs", vector, x), _intrinsic(builder, "fabs", vector, y)
    )


def _swap(builder: Any, vector: Any, v: list[Any]) -> list[Any]:
    larger = _larger(builder, vector, v[2], v[3])
    return [builder.select(larger, v[1], v[0]), builder.select(larger, v[0], v[1])]


def _divide(builder: Any, vector: Any, v: list[Any]) -> list[Any]:
    none = builder.fcmp_ordered("==", v[1], _zero(vector))
    return [builder.select(none, _zero(vector), builder.fdiv(v[0], v[1]))]


def _negate(builder: Any, vector: Any, v: list[Any]) -> list[Any]:
    return [builder.select(_larger(builder, vector, v[1], v[2]), builder.fneg(v[0]), v[0])]


subtract_product = _on_slots(
    "subtract_product",
    3,
    lambda b, t, v: [b.fsub(v[0], b.fmul(v[1], v[2], flags=("contract",)), flags=("contract",))],
)
times = _on_slots("times", 2, lambda b, t, v: [b.fmul(v[0], v[1])])
divide = _on_slots("divide", 2, _divide)
"""0 where the divisor is 0: a column without a pivot is passed over."""
root = _on_slots("root", 1, lambda b, t, v: [_intrinsic(b, "sqrt", t, v[0])])
swap_where_larger = _on_slots("swap_where_larger", 4, _swap)
negate_where_larger = _on_slots("negate_where_larger", 3, _negate)
lanes_of_zeros = _on_slots(
    "lanes_of_zeros", 1, lambda b, t, v: b.fcmp_ordered("==", v[0], _zero(t))
)
lanes_not_positive = _on_slots(
    "lanes_not_positive", 1, lambda b, t, v: b.fcmp_ordered("<=", v[0], _zero(t))
)
"""A NaN is no statement of that: it spreads."""


def _types(dtype: str) -> tuple[Any, Any, Any]:
    return (
        types.CPointer(types.int64),
        types.CPointer(numpy_support.from_dtype(np.dtype(dtype))),
        types.CPointer(types.int32),
    )


def eliminate_signature(dtype: str) -> Any:
    """count, n, k, a[count, n, n], b[count, n, k], x[count, n, k], flags; the number of the first
    pivot that is 0."""
    i, t, o = _types(dtype)
    return types.void(i, i, i, t, t, t, i, o)


def cholesky_signature(dtype: str) -> Any:
    """count, n, a[count, n, n], out[count, n, n]; the number of the first pivot that is not
    positive."""
    i, t, o = _types(dtype)
    return types.void(i, i, t, t, o)


def triangular_signature(dtype: str) -> Any:
    """count, n, k, a[count, n, n], b[count, n, k], x[count, n, k], flags; the number of the first
    zero on the diagonal."""
    return eliminate_signature(dtype)


class _Parts:
    """What the three routines share, for one dtype."""

    def __init__(self, dtype: str) -> None:
        self.lanes = REGISTER // np.dtype(dtype).itemsize
        self.scratch = make_scratch((2 * LARGEST * LARGEST + 1) * self.lanes)
        self.t = np.dtype(dtype).type


def eliminate(dtype: str) -> Callable[..., None]:
    """x = a^-1 b; with IDENTITY b is the identity, with DET x[count] are the determinants."""
    parts = _Parts(dtype)
    lanes, scratch, t = parts.lanes, parts.scratch, parts.t
    zero, one, bad_value = t(0), t(1), t(np.nan)

    def function(of_count, of_n, of_k, a, b, x, of_flags, info):  # type: ignore[no-untyped-def]
        wide()
        o, unit, side = index(0), index(1), index(lanes)
        count, n, k, flags = word(of_count), word(of_n), word(of_k), word(of_flags)
        make, only_det = (flags & index(IDENTITY)) != o, (flags & index(DET)) != o
        columns = o if only_det else k
        width = n + columns
        work = scratch(a)
        det = n * width
        put(info, o, 0)
        for first in range(o, count, side):
            left = min(side, count - first)
            for lane in range(o, side):
                which = first + min(lane, left - unit)
                for i in range(o, n):
                    for j in range(o, n):
                        put(work, (i * width + j) * side + lane, get(a, (which * n + i) * n + j))
                    for j in range(o, columns):
                        value = zero
                        if not make:
                            value = get(b, (which * n + i) * k + j)
                        elif i == j:
                            value = one
                        put(work, (i * width + n + j) * side + lane, value)
                put(work, det * side + lane, one)
            bad = o
            for c in range(o, n):
                pivot = c * width + c
                for r in range(c + unit, n):
                    other = r * width + c
                    negate_where_larger(work, det, other, pivot)
                    for j in range(c + unit, width):
                        swap_where_larger(work, r * width + j, c * width + j, other, pivot)
                    swap_where_larger(work, other, pivot, other, pivot)
                bad = bad | lanes_of_zeros(work, pivot)
                times(work, det, pivot)
                for r in range(c + unit, n):
                    divide(work, r * width + c, pivot)
                    for j in range(c + unit, width):
                        subtract_product(work, r * width + j, r * width + c, c * width + j)
            if only_det:
                for lane in range(o, left):
                    put(x, first + lane, get(work, det * side + lane))
                continue
            for back in range(o, n):
                i = n - unit - back
                for j in range(n, width):
                    for r in range(i + unit, n):
                        subtract_product(work, i * width + j, i * width + r, r * width + j)
                    divide(work, i * width + j, i * width + i)
            for lane in range(o, left):
                failed = ((bad >> lane) & unit) != o
                for i in range(o, n):
                    for j in range(o, k):
                        put(
                            x,
                            ((first + lane) * n + i) * k + j,
                            bad_value if failed else get(work, (i * width + n + j) * side + lane),
                        )
                if failed and get(info, o) == 0:
                    at = o
                    while get(work, (at * width + at) * side + lane) != zero:
                        at += unit
                    put(info, o, at + unit)

    return function


def cholesky(dtype: str) -> Callable[..., None]:
    """The lower factor; the upper triangle of `a` is not read."""
    parts = _Parts(dtype)
    lanes, scratch, t = parts.lanes, parts.scratch, parts.t
    zero, bad_value = t(0), t(np.nan)

    def function(of_count, of_n, a, out, info):  # type: ignore[no-untyped-def]
        wide()
        o, unit, side = index(0), index(1), index(lanes)
        count, n = word(of_count), word(of_n)
        work = scratch(a)
        put(info, o, 0)
        for first in range(o, count, side):
            left = min(side, count - first)
            for lane in range(o, side):
                which = first + min(lane, left - unit)
                for i in range(o, n):
                    for j in range(o, i + unit):
                        put(work, (i * n + j) * side + lane, get(a, (which * n + i) * n + j))
            bad = o
            for j in range(o, n):
                for i in range(j, n):
                    for r in range(o, j):
                        subtract_product(work, i * n + j, i * n + r, j * n + r)
                    if i == j:
                        bad = bad | lanes_not_positive(work, j * n + j)
                        root(work, j * n + j)
                    else:
                        divide(work, i * n + j, j * n + j)
            for lane in range(o, left):
                failed = ((bad >> lane) & unit) != o
                for i in range(o, n):
                    for j in range(o, n):
                        value = zero
                        if failed:
                            value = bad_value
                        elif j <= i:
                            value = get(work, (i * n + j) * side + lane)
                        put(out, ((first + lane) * n + i) * n + j, value)
                if failed and get(info, o) == 0:
                    at = o
                    while get(work, (at * n + at) * side + lane) > zero:
                        at += unit
                    put(info, o, at + unit)

    return function


def triangular(dtype: str) -> Callable[..., None]:
    """x = op(a)^-1 b; the triangle that LOWER does not name is not read, with TURNED op transposes,
    with UNIT the diagonal counts as ones."""
    parts = _Parts(dtype)
    lanes, scratch, t = parts.lanes, parts.scratch, parts.t
    zero, bad_value = t(0), t(np.nan)

    def function(of_count, of_n, of_k, a, b, x, of_flags, info):  # type: ignore[no-untyped-def]
        wide()
        o, unit, side = index(0), index(1), index(lanes)
        count, n, k, flags = word(of_count), word(of_n), word(of_k), word(of_flags)
        turned, ones = (flags & index(TURNED)) != o, (flags & index(UNIT)) != o
        forward = ((flags & index(LOWER)) != o) != turned
        width = n + k
        work = scratch(a)
        put(info, o, 0)
        for first in range(o, count, side):
            left = min(side, count - first)
            for lane in range(o, side):
                which = first + min(lane, left - unit)
                for i in range(o, n):
                    for j in range(o, n):
                        row, column = j if turned else i, i if turned else j
                        put(
                            work,
                            (i * width + j) * side + lane,
                            get(a, (which * n + row) * n + column),
                        )
                    for j in range(o, k):
                        put(
                            work, (i * width + n + j) * side + lane, get(b, (which * n + i) * k + j)
                        )
            bad = o
            for step in range(o, n):
                i = step if forward else n - unit - step
                start, stop = o if forward else i + unit, i if forward else n
                if not ones:
                    bad = bad | lanes_of_zeros(work, i * width + i)
                for j in range(n, width):
                    for r in range(start, stop):
                        subtract_product(work, i * width + j, i * width + r, r * width + j)
                    if not ones:
                        divide(work, i * width + j, i * width + i)
            for lane in range(o, left):
                failed = ((bad >> lane) & unit) != o
                for i in range(o, n):
                    for j in range(o, k):
                        put(
                            x,
                            ((first + lane) * n + i) * k + j,
                            bad_value if failed else get(work, (i * width + n + j) * side + lane),
                        )
                if failed and get(info, o) == 0:
                    at = o
                    while get(work, (at * width + at) * side + lane) != zero:
                        at += unit
                    put(info, o, at + unit)

    return function
