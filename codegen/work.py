"""How much work the phases of a program are, in additions, as expressions over its sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from . import kernel
from .integers import Int, add, floordiv, maximum, mul, substitute, symbols
from .scalars import SCALARS, cost_of

FUNCTION, DIVISION, MEMORY = 20, 4, 3
"""A function (at least, by `codegen.scalars`), a division or square root, an access to memory,
against one addition in a vectorised loop."""
COARSE = (kernel.Loop, kernel.While, kernel.Call)
"""A loop around one of these is cut anywhere."""
UNKNOWN = 8
"""Iterations of a loop whose range is only known while it runs."""
_DIVISION = re.compile(r"/|%")
ROOT = SCALARS["sqrt"].cost


@dataclass(frozen=True)
class Share:
    """A parallel phase as something to divide: iterations [lo, hi) in multiples of `granule`, and
    the work of all of them."""

    phase: int
    lo: Int
    hi: Int
    granule: int
    work: Int


def shares(program: kernel.Program) -> tuple[Share, ...]:
    """One per phase; the work of a phase that is not to be divided is 0.

    A loop without loops inside is vectorised, and is cut where full vectors end: so its last,
    partial vector is the same however it is cut. A phase that calls a routine with threads of its
    own stays whole.
    """
    sizes = {name for name, _ in program.sizes}
    found = []
    for number, phase in enumerate(program.phases):
        loop = phase.body[0]
        if (
            phase.kind == "parallel"
            and isinstance(loop, kernel.Loop)
            and not _has_threads(phase.body)
        ):
            inner: list[kernel.Statement] = []

            def note(s: kernel.Statement, inner: list[kernel.Statement] = inner) -> None:
                if isinstance(s, COARSE):
                    inner.append(s)

            kernel.walk(loop.body, note)
            work = mul(
                add(loop.hi, mul(-1, loop.lo)),
                _body(loop.body, {loop.index: _middle(loop.lo, loop.hi)}, sizes),
            )
            found.append(Share(number, loop.lo, loop.hi, 1 if inner else 64, work))
        else:
            found.append(Share(number, 0, 0, 1, 0))
    return tuple(found)


def of_body(body: Iterable[kernel.Statement]) -> Int:
    """That of one pass of a loop, with loops inside over ranges that are numbers."""
    return _body(body, {}, set())


def _has_threads(body: tuple[kernel.Statement, ...]) -> bool:
    found: list[str] = []
    kernel.walk(
        body,
        lambda s: (
            found.append(s.routine) if isinstance(s, kernel.Call) and has_threads(s) else None
        ),
    )
    return bool(found)


def has_threads(call: kernel.Call) -> bool:
    """Whether a routine may use threads of its own: one of a library of which nothing else is
    known."""
    return call.work == 0 and call.routine.startswith("library.")


def _body(body: Iterable[kernel.Statement], bound: Mapping[str, Int], sizes: set[str]) -> Int:
    total: Int = 0
    for s in body:
        total = add(total, _statement(s, bound, sizes))
    return total


def _statement(s: kernel.Statement, bound: Mapping[str, Int], sizes: set[str]) -> Int:
    match s:
        case kernel.Let(_, value, _) | kernel.Declare(_, value):
            return _expression(value)
        case kernel.Update(_, value, _, _):
            return 1 + _expression(value)
        case kernel.Store(_, _, value, _):
            return MEMORY + _expression(value)
        case kernel.Check(condition, _, _):
            return _expression(condition)
        case kernel.If(condition, then, otherwise):
            return add(
                _expression(condition),
                maximum(_body(then, bound, sizes), _body(otherwise, bound, sizes)),
            )
        case kernel.While(condition, body):
            return mul(UNKNOWN, add(_expression(condition), _body(body, bound, sizes)))
        case kernel.Loop(index, lo, hi, body, _):
            # As long as it is in the middle of the loops around it: the first and the last pass are
            # often special.
            lo, hi = substitute(lo, bound), substitute(hi, bound)
            known = symbols(lo) | symbols(hi) <= sizes
            count = maximum(0, add(hi, mul(-1, lo))) if known else UNKNOWN
            return mul(count, _body(body, {**bound, index: _middle(lo, hi)}, sizes))
        case kernel.Allocate() | kernel.Grow():
            return 0
        case kernel.Call(_, _, _, work):
            # Of a routine over part of an array, where the part depends on the pass.
            work = substitute(work, bound)
            return work if symbols(work) <= sizes else UNKNOWN


def _middle(lo: Int, hi: Int) -> Int:
    return floordiv(add(lo, hi), 2)


def _expression(e: kernel.Expression) -> int:
    match e:
        case kernel.Load(_, at, _):
            return MEMORY + sum(
                _expression(i) for i in at if isinstance(i, (kernel.Load, kernel.Apply))
            )
        case kernel.Apply(code, arguments, _):
            return of_call(code) + sum(_expression(a) for _, a in arguments)
        case _:
            return 0


def of_call(code: str) -> int:
    """That of a code template."""
    cost = cost_of(code)
    return (
        max(FUNCTION, cost)
        if cost > ROOT
        else DIVISION
        if cost > 1 or _DIVISION.search(code)
        else 1
    )
