"""One element of what is put together of boxes, as a concatenation is: from the box that its index
is known to be in, or behind a branch for each that it may be in."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._codegen import integers, kernel, lowering
from ..ir.graph import Node, Var
from ..sizes import same_shape
from ..types import Int
from .bounds import Ranges, least_and_most, nonnegative
from .indices import Index
from .steps import Steps
from .turned import turned
from .values import BOOL, converted, nothing

if TYPE_CHECKING:
    from .lower import Emitter

LONGER = 8
"""A loop is cut for the sake of a window's elements where it is so many times as long as they."""


def piecewise(
    e: Emitter, node: Node, rule: lowering.Piecewise, var: Var, index: Index
) -> Steps[kernel.Expression]:
    possible: list[tuple[lowering.Box, list[tuple[Int, Int, Int]]]] = []
    for box in rule.boxes(tuple(a.type.shape for a in node.inputs), var.type.shape, node.params):
        known, unknown = _inside(e, index, box.lo, box.hi)
        if known:
            return converted((yield node.inputs[box.source], box.index(index)), var.type.dtype)
        if known is None:
            possible.append((box, unknown))
    dtype = var.type.dtype
    other: kernel.Expression = replace(nothing(dtype), absent=rule.absent(node.params))
    if not possible:
        return other
    whole = turned(e, node, index)
    if whole is not None:
        return converted((yield whole), var.type.dtype)
    if e.probe is not None:
        _wish_cuts(e, possible)
    below = [b for b, _ in possible if _is_below(b, node, var, index)]
    if below:
        # Once, also where something lies on it: in a branch of its own for each box around what was
        # written, a chain of writes would be a tree.
        possible = [(b, unknown) for b, unknown in possible if b not in below]
        other = converted((yield node.inputs[below[0].source], index), dtype)
    made: list[tuple[kernel.Expression, Any, kernel.Expression]] = []
    for box, unknown in possible:
        with e.scope(barrier=True) as inner:
            value = converted((yield node.inputs[box.source], box.index(index)), dtype)
        if value != other or inner.statements:
            made.append((_guard(unknown), inner.statements, value))
    if not made:
        return other
    result = e.declare(e.names.of(var), other)
    for condition, statements, value in made:
        then = (*statements, kernel.Update(result.name, value, None))
        e.emit(kernel.If(condition, then))
    return result


def _is_below(box: lowering.Box, node: Node, var: Var, index: Index) -> bool:
    """Whether a box shows an array of the result's shape as it is: other boxes lie on that."""
    shape = node.inputs[box.source].type.shape
    return box.index(index) == index and same_shape(shape, var.type.shape)


def _inside(
    e: Emitter, index: Index, lo: Index, hi: Index
) -> tuple[bool | None, list[tuple[Int, Int, Int]]]:
    """Whether an index is in a box: True, False, or None with the (index, lo, hi) that are not
    decided."""
    unknown: list[tuple[Int, Int, Int]] = []
    for i, a, b in zip(index, lo, hi, strict=True):
        if (
            nonnegative(a - 1 - i, e.ranges)
            or nonnegative(i - b, e.ranges)
            or nonnegative(a - b, e.ranges)
        ):
            return False, []
        if not (nonnegative(i - a, e.ranges) and nonnegative(b - 1 - i, e.ranges)):
            unknown.append((i, a, b))
    return (None, unknown) if unknown else (True, [])


def _guard(unknown: list[tuple[Int, Int, Int]]) -> kernel.Expression:
    """`lo <= i < hi` for all that is not known, on signed values."""
    parts: list[str] = []
    arguments: list[tuple[str, kernel.Expression]] = []
    for k, (i, a, b) in enumerate(unknown):
        names = (f"i{k}", f"a{k}", f"b{k}")
        arguments.extend(
            zip(names, (kernel.Index(i), kernel.Index(a), kernel.Index(b)), strict=True)
        )
        parts.append(f"({{{names[1]}}} <= {{{names[0]}}}) & ({{{names[0]}}} < {{{names[2]}}})")
    return kernel.Apply(" & ".join(parts), tuple(arguments), BOOL)


def _wish_cuts(e: Emitter, possible: list[tuple[lowering.Box, list[tuple[Int, Int, Int]]]]) -> None:
    assert e.probe is not None
    for _, unknown in possible:
        for i, lo, hi in unknown:
            names = [n for n in integers.symbols(i) if n in e.ranges]
            if len(names) == 1:
                period = _period(i, names[0])
                if period:
                    known = e.probe.periods.get(names[0], 1)
                    e.probe.periods[names[0]] = math.lcm(known, period)
            for name, cuts in _cuts(i, names, lo, hi, e.ranges).items():
                e.probe.cuts.setdefault(name, set()).update(cuts)


def _cuts(i: Int, names: list[str], lo: Int, hi: Int, ranges: Ranges) -> dict[str, set[Int]]:
    """Where to cut a loop, so that it is certain between the cuts whether `lo <= i < hi`. Of an
    index made of several, as that of a window's elements is, the loop is the longest by far, and
    the others may be anywhere."""
    extents = {n: extent for n in names if isinstance(extent := ranges[n][1], int)}
    if not names or 1 < len(names) > len(extents):
        return {}
    name = names[0] if len(names) == 1 else max(names, key=extents.__getitem__)
    factor, rest = integers.coefficient(i, name), integers.substitute(i, {name: 0})
    ends = (rest, rest) if len(names) == 1 else least_and_most(rest, ranges)
    if factor not in (1, -1) or ends is None:
        return {}
    least, most = ends
    if len(names) > 1 and extents[name] < LONGER * (most - least):
        return {}
    return {name: {lo - least, hi - most} if factor == 1 else {least - lo + 1, most - hi + 1}}


def _period(i: Int, name: str) -> int:
    """n where an index is `(name + c) % n`, 0 elsewhere."""
    if isinstance(i, int) or len(i.terms) != 1:
        return 0
    ((monomial, factor),) = i.terms
    atom = monomial[0] if len(monomial) == 1 and factor == 1 else None
    if not isinstance(atom, integers.Binary) or atom.op != "%" or not isinstance(atom.right, int):
        return 0
    return atom.right if integers.coefficient(atom.left, name) in (1, -1) else 0


__all__ = ["piecewise"]
