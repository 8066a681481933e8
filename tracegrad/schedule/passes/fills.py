"""Loops that write a box of an array and do nothing else, and parts of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from ..._codegen import integers, kernel, traversal
from ...types import Int
from ..bounds import Ranges, nonnegative

Interval = tuple[Int, Int]


@dataclass(frozen=True)
class Fill:
    """Nested loops around one store: along some axes all of an interval, along the others one
    place."""

    loop: kernel.Loop
    buffer: str
    at: tuple[Any, ...]
    """Where it writes; along axes of loops the index of that loop and a number."""
    axes: Mapping[int, tuple[str, int]]
    """The loop of each such axis, and the number that is added to its index."""
    box: Mapping[int, Interval]
    """What is written along these axes."""


def fills(loop: kernel.Loop, known: Mapping[str, Int]) -> list[Fill]:
    """The boxes that all passes of nested loops write, if they do nothing but compute and write;
    `known` are expressions for sizes that a program finds out."""
    nest, body = [loop], loop.body
    while len(body) == 1 and isinstance(body[0], kernel.Loop):
        nest.append(body[0])
        body = body[0].body
    if not all(isinstance(s, kernel.Let | kernel.Store) for s in body):
        return []
    indices = {s.index for s in nest}
    ends = {s.index: (_plain(s.lo, known), _plain(s.hi, known)) for s in nest}
    own = indices | {s.name for s in body if isinstance(s, kernel.Let)}
    if any(integers.symbols(e) & own for both in ends.values() for e in both):
        return []
    return [
        f
        for s in body
        if isinstance(s, kernel.Store) and s.combine is None
        for f in [_fill(loop, s, ends, own, known)]
        if f is not None
    ]


def _fill(
    loop: kernel.Loop,
    store: kernel.Store,
    ends: Mapping[str, Interval],
    own: set[str],
    known: Mapping[str, Int],
) -> Fill | None:
    axes: dict[int, tuple[str, int]] = {}
    at = tuple([_plain(i, known) if _is_form(i) else i for i in store.index])
    for d, i in enumerate(at):
        if not _is_form(i):
            return None
        mine = integers.symbols(i) & own
        if not mine:
            continue
        (name,) = mine if len(mine) == 1 else ("",)
        apart = integers.sub(i, integers.symbol(name)) if name in ends else None
        if not isinstance(apart, int) or name in [n for n, _ in axes.values()]:
            return None
        axes[d] = name, apart
    if len(axes) != len(ends):
        return None
    box = {d: (ends[n][0] + apart, ends[n][1] + apart) for d, (n, apart) in axes.items()}
    return Fill(loop, store.buffer, at, axes, box)


def without(
    box: Mapping[int, Interval], hole: Mapping[int, Interval], ranges: Ranges
) -> list[dict[int, Interval]] | None:
    """The boxes that are left of one without another; None where it is not known how they lie."""
    left: list[dict[int, Interval]] = []
    rest = dict(box)
    for d, (lo, hi) in box.items():
        begin, end = hole[d]
        before, behind = nonnegative(lo - begin, ranges), nonnegative(end - hi, ranges)
        if not before:
            if not nonnegative(hi - begin, ranges):
                return None
            left.append({**rest, d: (lo, begin)})
        if not behind:
            if not nonnegative(end - lo, ranges):
                return None
            left.append({**rest, d: (end, hi)})
        rest[d] = (lo if before else begin, hi if behind else end)
    return left


def part(fill: Fill, box: Mapping[int, Interval], fresh: Callable[[str], str]) -> kernel.Loop:
    """The loops that write that box alone, with names of their own."""
    ends = {name: (box[d][0] - apart, box[d][1] - apart) for d, (name, apart) in fill.axes.items()}

    def cut(s: kernel.Statement) -> kernel.Statement:
        if not isinstance(s, kernel.Loop):
            return s
        lo, hi = ends[s.index]
        return traversal.with_parts(s, lo=lo, hi=hi, body=tuple(map(cut, s.body)))

    found = cut(fill.loop)
    for s in traversal.within([found]):
        if isinstance(s, kernel.Let):
            (found,) = traversal.renamed([found], s.name, fresh(s.name))
    assert isinstance(found, kernel.Loop)
    return found


def _plain(value: Int, known: Mapping[str, Int]) -> Int:
    return integers.substitute(value, known)


def _is_form(index: Any) -> TypeGuard[Int]:
    return isinstance(index, int | integers.Integer)


__all__ = ["Fill", "Interval", "fills", "part", "without"]
