"""Substitution of a few rows by columns that stay in registers, with the reciprocals of the pivots.

Row by row each pair of rows costs two reads and a write of memory for one operation a number; here
a number is read and written once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from .bridge import primitive
from .by_address import REGISTER, ROWS

__all__ = ["NARROW", "SEVERAL", "row_substituted", "substituted_1", "substituted_several"]

NARROW = 8
"""The rows of a triangle."""
SEVERAL = 3 if ROWS == NARROW else 1
"""Vectors of columns at a time, as many as the registers hold: each number waits for the one above
it, and several do so side by side."""


def _make_substituted(vectors: int) -> Callable[..., None]:
    """`b = a^-1 b` for NARROW rows and so many vectors of columns: a[i * row + q * col] is a lower
    triangle, the reciprocals of its diagonal are given. An upper one is a lower one whose distances
    are negative."""

    def substituted(*args: Any) -> None:
        raise TypeError("compiled code only")

    def typer(a, row, col, inverses, b, step):  # type: ignore[no-untyped-def]
        u = types.uintp
        return signature(types.none, a, u, u, a, b, u)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, row, col, inverses, b, step = args
        element = context.get_value_type(sig.args[0].dtype)
        size = context.get_abi_sizeof(element)
        lanes, number, fuse = REGISTER // size, ir.IntType(32), ("contract",)
        vector = ir.VectorType(element, lanes)
        undefined = ir.Constant(vector, ir.Undefined)
        spread = ir.Constant(ir.VectorType(number, lanes), [0] * lanes)

        def times(count: Any, n: int) -> Any:
            return builder.mul(count, ir.Constant(count.type, n))

        def everywhere(place: Any) -> Any:
            first = builder.insert_element(undefined, builder.load(place), ir.Constant(number, 0))
            return builder.shuffle_vector(first, undefined, spread)

        def places(r: int) -> list[Any]:
            start = times(step, r)
            offsets = [builder.add(start, start.type(v * lanes)) for v in range(vectors)]
            return [builder.bitcast(builder.gep(b, [x]), vector.as_pointer()) for x in offsets]

        known: list[list[Any]] = []
        for i in range(NARROW):
            targets = places(i)
            values = [builder.load(place) for place in targets]
            for value in values:
                value.align = size
            for q, above in enumerate(known):
                offset = builder.add(times(row, i), times(col, q))
                factor = everywhere(builder.gep(a, [offset]))
                values = [
                    builder.fsub(y, builder.fmul(factor, x, flags=fuse), flags=fuse)
                    for x, y in zip(above, values, strict=True)
                ]
            inverse = everywhere(builder.gep(inverses, [ir.Constant(row.type, i)]))
            known.append([builder.fmul(value, inverse) for value in values])
            for value, place in zip(known[-1], targets, strict=True):
                builder.store(value, place).align = size
        return context.get_dummy_value()

    primitive(substituted, typer)(lower)
    return substituted


substituted_1, substituted_several = _make_substituted(1), _make_substituted(SEVERAL)


def row_substituted(u: Any, step: Any, x: Any) -> None:
    """`x = x u^-1` for a row of NARROW elements: u is an upper triangle with ones on the diagonal,
    which are not read, and rows `step` elements apart."""
    raise TypeError("compiled code only")


@primitive(row_substituted, lambda u, step, x: signature(types.none, u, types.uintp, x))
def _lower_row_substituted(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    u, step, x = args
    element = context.get_value_type(sig.args[0].dtype)
    size, fuse = context.get_abi_sizeof(element), ("contract",)
    vector, number = ir.VectorType(element, NARROW), ir.VectorType(ir.IntType(32), NARROW)
    undefined = ir.Constant(vector, ir.Undefined)

    def load(place: Any) -> Any:
        value = builder.load(builder.bitcast(place, vector.as_pointer()))
        value.align = size
        return value

    row = load(x)
    for c in range(NARROW - 1):
        known = load(builder.gep(u, [builder.mul(step, step.type(c))]))
        factor = builder.shuffle_vector(row, undefined, ir.Constant(number, [c] * NARROW))
        less = builder.fsub(row, builder.fmul(factor, known, flags=fuse), flags=fuse)
        # What is left of the next column stays, whatever stands below the diagonal.
        behind = ir.Constant(ir.VectorType(ir.IntType(1), NARROW), [q > c for q in range(NARROW)])
        row = builder.select(behind, less, row)
    builder.store(row, builder.bitcast(x, vector.as_pointer())).align = size
    return context.get_dummy_value()
