"""All powers of one number from the 0th on: of the first few, and of every so-manieth, in place of
each by itself.

    for k in 0 .. 128:                           for r in 0 .. 32: row[r] = x**r
        p = x**k                           ->    for q in 1 .. 4:
        ...                                          y = x**(32 q)
                                                     for r in 0 .. 32: row[32 q + r] = y * row[r]
                                                 for k in 0 .. 128:
                                                     p = row[k]
                                                     ...

A power by itself takes a product and a sum for each bit of its exponent, here it is one product of
two that are nearly exact. Where the loop keeps its powers, the row is where it keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._codegen import integers, kernel, owners, traversal

FIRST = 32
"""So many powers are computed by themselves."""
FEWEST = 2 * FIRST
POWER = "pow_below_"


def rows_of_powers(
    phases: Sequence[kernel.Phase], buffers: dict[str, kernel.Buffer], fresh: Callable[[str], str]
) -> list[kernel.Phase]:
    """The phases with such powers in a row of their own before the loop."""

    def of(phase: kernel.Phase) -> kernel.Phase:
        rows: list[kernel.Allocate] = []

        def room(dtype: np.dtype, length: int) -> str:
            """Memory for a row: each thread's own where threads share the phase."""
            name = fresh("powers")
            parallel = phase.kind == "parallel"
            role = "local" if parallel else "temp"
            buffers[name] = kernel.Buffer(name, dtype, (length,), role)  # type: ignore[arg-type]
            if parallel:
                rows.append(kernel.Allocate(name, dtype, (length,)))
            return name

        def changed(body: Sequence[kernel.Statement]) -> tuple[kernel.Statement, ...]:
            result: list[kernel.Statement] = []
            for s in body:
                s = traversal.with_bodies(s, changed)
                if isinstance(s, kernel.Loop):
                    result += _with_row(s, buffers, room, fresh)
                else:
                    result.append(s)
            return tuple(result)

        body = changed(phase.body)
        if not body:
            return phase
        return traversal.with_parts(phase, body=body, local=(*phase.local, *rows))

    return [of(p) for p in phases]


def _with_row(
    loop: kernel.Loop,
    buffers: Mapping[str, kernel.Buffer],
    room: Callable[[np.dtype, int], str],
    fresh: Callable[[str], str],
) -> list[kernel.Statement]:
    """The loop, behind others that compute the powers that it asks for."""
    if loop.lo != 0 or not isinstance(loop.hi, int) or loop.hi < FEWEST or loop.own is not None:
        return [loop]
    counter = kernel.Index(integers.symbol(loop.index))
    made = {
        s.name for s in traversal.within(loop.body) if isinstance(s, kernel.Let | kernel.Declare)
    }
    made |= {s.name for s in traversal.within(loop.body) if isinstance(s, kernel.Update)}
    counts = {s.name for s in loop.body if isinstance(s, kernel.Let) and _same(s.value) == counter}
    before: list[kernel.Statement] = []
    body: list[kernel.Statement] = []
    kept: list[kernel.Store | None] = []
    for s in loop.body:
        if (
            isinstance(s, kernel.Let)
            and isinstance(s.value, kernel.Apply)
            and s.value.code.startswith(POWER)
        ):
            power = s.value
            given = dict(power.arguments)
            x, n = given["x"], given["n"]
            counted = n == counter or (isinstance(n, kernel.Name) and n.name in counts)
            if counted and isinstance(x, kernel.Name) and x.name not in made:
                keeps = _keeps(loop, s.name, buffers)
                row = keeps or kernel.Store(
                    room(power.dtype, loop.hi), (integers.symbol(loop.index),), power
                )
                before += _filled(row, loop.hi, power, fresh)
                kept.append(keeps)
                s = replace(s, value=kernel.Load(row.buffer, row.index, power.dtype))
        body.append(s)
    if not before:
        return [loop]
    read: set[str] = set()
    for s in traversal.within(body):
        for e in traversal.expressions(s):
            read |= traversal.names_in(e)
    left = [
        s
        for s in body
        if s not in kept and not (isinstance(s, kernel.Let) and s.name in counts - read)
    ]
    return [*before, replace(loop, body=tuple(left))]


def _same(value: kernel.Expression) -> kernel.Expression:
    """What an expression hands on as it is."""
    if isinstance(value, kernel.Apply) and value.code == "{0}" and value.dtype.kind == "i":
        ((_, inner),) = value.arguments
        return inner
    return value


def _keeps(
    loop: kernel.Loop, name: str, buffers: Mapping[str, kernel.Buffer]
) -> kernel.Store | None:
    """The statement that keeps what has this name in a temporary's row, each pass at its place, if
    the loop does nothing else with the temporary."""
    owner, j = owners.Owners(buffers), integers.symbol(loop.index)
    for s in loop.body:
        if (
            isinstance(s, kernel.Store)
            and isinstance(s.value, kernel.Name)
            and s.value.name == name
            and s.combine is None
            and s.index[-1:] == (j,)
            and not any(loop.index in traversal.names_in(i) for i in s.index[:-1])
            and all(isinstance(i, int | integers.Integer) for i in s.index)
            and buffers[s.buffer].role == "temp"
            and buffers[s.buffer].dtype == s.value.dtype
            and owner.of(s.buffer)
            not in owner.all(traversal.mentioned(t for t in loop.body if t is not s))
        ):
            return s
    return None


def _filled(
    row: kernel.Store, length: int, power: kernel.Apply, fresh: Callable[[str], str]
) -> list[kernel.Statement]:
    """The loops that write the powers into the row that a statement of the loop writes."""
    x, dtype = dict(power.arguments)["x"], power.dtype

    def at(k: integers.Integer | int) -> tuple[Any, ...]:
        return (*row.index[:-1], k)

    def by_itself(exponent: integers.Integer | int) -> kernel.Apply:
        return replace(power, arguments=(("x", x), ("n", kernel.Index(exponent))))

    def block(start: integers.Integer | int, count: int) -> list[kernel.Statement]:
        name, index = fresh("high"), fresh("r")
        r = integers.symbol(index)
        low = kernel.Load(row.buffer, at(r), dtype)
        value = kernel.Apply("{x} * {y}", (("x", kernel.Name(name, dtype)), ("y", low)), dtype)
        store = kernel.Store(row.buffer, at(start + r), value)
        return [
            kernel.Let(name, by_itself(start)),
            kernel.Loop(index, 0, count, (store,), apart=True),
        ]

    first, outer = fresh("r"), fresh("q")
    r = integers.symbol(first)
    result: list[kernel.Statement] = [
        kernel.Loop(
            first,
            0,
            FIRST,
            (kernel.Store(row.buffer, at(r), by_itself(r)),),
            apart=True,
        )
    ]
    whole, rest = divmod(length, FIRST)
    blocks = block(FIRST * integers.symbol(outer), FIRST)
    result.append(kernel.Loop(outer, 1, whole, tuple(blocks)))
    return [*result, *block(FIRST * whole, rest)] if rest else result


__all__ = ["rows_of_powers"]
