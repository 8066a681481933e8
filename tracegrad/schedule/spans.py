"""Between which numbers integers lie that are places of arrays, where clipping, remainders and
counts tell: a number made by floor(clip(x, 0, n - 1)) is below n, whatever x is.

Arithmetic on the ends rounds as arithmetic on the elements does, and rounding keeps the order of
numbers. A float may be NaN where it is not made of integers; as an integer that is some number
outside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from .._codegen import lowering
from ..dtypes import INT64
from ..ir.graph import Atom, Literal, Node, Var
from ..ops.arrays.creation import iota_op
from ..ops.elementwise.arithmetic import sub_op, where_op
from ..ops.elementwise.comparison import (
    ceil_op,
    clip_max_op,
    clip_min_op,
    floor_op,
    maximum_op,
    minimum_op,
    rint_op,
    trunc_op,
)
from ..ops.elementwise.derived import add_op, convert_op, mul_op
from ..ops.elementwise.remainders import mod_op
from ..sizes import same_shape

DEPTH = 24
"""So many operations are followed back."""
WIDEST = 1 << 62
"""Integers beyond are not followed: sums of them may wrap around."""
ROUNDED = {floor_op: np.floor, ceil_op: np.ceil, trunc_op: np.trunc, rint_op: np.rint}
ARITHMETIC = {add_op: lambda x, y: x + y, sub_op: lambda x, y: x - y, mul_op: lambda x, y: x * y}


class Span(NamedTuple):
    """The ends of what elements may be; `always` where none is outside as NaN is."""

    least: Any
    most: Any
    always: bool


ANY = Span(-(1 << 63), (1 << 63) - 1, True)
"""Of an integer of which nothing is known."""


class Bounded(NamedTuple):
    """An integer as one whose ends are known, and a number."""

    base: Var
    beyond: int
    span: Span
    """Of the first."""


Definitions = Mapping[Var, tuple[Node, int]]


def place_between(atom: Atom, made: Definitions) -> Bounded | None:
    """Between which numbers a place is, if that is known."""
    beyond = 0
    while isinstance(atom, Var) and atom.type.dtype == INT64 and atom in made:
        node, _ = made[atom]
        if node.op not in (add_op, sub_op):
            break
        x, y = node.inputs
        if isinstance(x, Literal) and node.op is add_op:
            x, y = y, x
        number = y.value if isinstance(y, Literal) and y.type.dtype.kind in "iu" else None
        if not isinstance(number, (int, np.integer)) or not same_shape(
            x.type.shape, atom.type.shape
        ):
            break
        beyond += int(number) if node.op is add_op else -int(number)
        atom = x
    if not isinstance(atom, Var) or atom.type.dtype != INT64 or abs(beyond) > WIDEST:
        return None
    span = _Search(made).of(atom)
    return None if span is None else Bounded(atom, beyond, span)


class _Search:
    """The spans of a value and of what it is made of, each looked for once."""

    def __init__(self, made: Definitions) -> None:
        self.made = made
        self.known: dict[Var, Span | None] = {}

    def of(self, atom: Atom, depth: int = DEPTH) -> Span | None:
        """The span of a value; None where nothing is known of it."""
        kind = atom.type.dtype
        if kind.kind == "f":
            anything: Span | None = Span(kind.type(-np.inf), kind.type(np.inf), False)
        else:
            anything = None
        if isinstance(atom, Literal):
            value = atom.value
            if kind.kind == "f" and isinstance(value, (int, float, np.floating, np.integer)):
                number = kind.type(value)
                return anything if math.isnan(number) else Span(number, number, True)
            if kind.kind in "iu" and isinstance(value, (int, np.integer)):
                return Span(int(value), int(value), True)
            return None
        found = self.made.get(atom) if isinstance(atom, Var) else None
        if found is None or depth == 0 or (kind.kind != "f" and kind != INT64):
            return anything
        if atom not in self.known:
            self.known[atom] = self._made(found[0], kind, depth - 1) or anything
        return self.known[atom]

    def _made(self, node: Node, kind: np.dtype[Any], depth: int) -> Span | None:
        op = node.op
        if op is iota_op:
            size = node.params["size"]
            known = isinstance(size, int) and size and kind == INT64
            return Span(0, size - 1, True) if known else None
        if isinstance(op.lowering, lowering.View):
            return self.of(node.inputs[0], depth)
        if op is convert_op:
            return _converted(node.inputs[0].type.dtype, self.of(node.inputs[0], depth), kind)
        values = node.inputs[1:] if op is where_op else node.inputs
        if any(a.type.dtype != kind for a in values if isinstance(a, Var)):
            return None
        spans = [self.of(_as(a, kind), depth) for a in values]
        if op is mod_op and kind == INT64:
            divisor = spans[1]
            known = divisor is not None and divisor.least == divisor.most and divisor.least > 0
            return Span(0, divisor.most - 1, True) if known and divisor is not None else None
        if op in (maximum_op, clip_min_op, minimum_op, clip_max_op) and kind == INT64:
            # One end is enough to know one, and a number outside is brought inside.
            spans = [s if s is not None and s.always else ANY for s in spans]
        known_spans = [s for s in spans if s is not None]
        if len(known_spans) < len(spans) or not spans:
            return None
        return _combined(node, kind, known_spans)


def _combined(node: Node, kind: np.dtype[Any], spans: list[Span]) -> Span | None:
    op = node.op
    always = all(s.always for s in spans)
    if op is where_op:
        return Span(min(s.least for s in spans), max(s.most for s in spans), always)
    if op in (maximum_op, clip_min_op):
        return Span(max(s.least for s in spans), max(s.most for s in spans), always)
    if op in (minimum_op, clip_max_op):
        return Span(min(s.least for s in spans), min(s.most for s in spans), always)
    if op in ROUNDED and kind.kind == "f":
        (s,) = spans
        return Span(ROUNDED[op](s.least), ROUNDED[op](s.most), s.always)
    if op not in ARITHMETIC:
        return None
    if kind == INT64 and not always:
        return None
    with np.errstate(all="ignore"):
        ends = [ARITHMETIC[op](x, y) for x, y in product(*[(s.least, s.most) for s in spans])]
    if kind == INT64:
        fits = all(abs(e) < WIDEST for e in ends)
        return Span(min(ends), max(ends), True) if fits else None
    if any(map(np.isnan, ends)):
        return None
    # What is infinite may become NaN.
    return Span(min(ends), max(ends), always and all(map(np.isfinite, ends)))


def _converted(of: np.dtype[Any], span: Span | None, kind: np.dtype[Any]) -> Span | None:
    """The span of numbers of the dtype `of` as numbers of another one."""
    if span is None:
        return None
    if kind == INT64:
        if of.kind == "f":
            if not (abs(span.least) < WIDEST and abs(span.most) < WIDEST):
                return None
            return Span(int(np.trunc(span.least)), int(np.trunc(span.most)), span.always)
        return span
    with np.errstate(all="ignore"):
        return Span(kind.type(span.least), kind.type(span.most), span.always)


def _as(atom: Atom, kind: np.dtype[Any]) -> Atom:
    """A number of Python as one of the dtype that it is used as."""
    if isinstance(atom, Literal) and atom.type.dtype != kind and kind.kind == "f":
        value = atom.value
        if isinstance(value, (int, float, np.floating, np.integer)):
            return Literal(kind.type(value))
    return atom


__all__ = ["Bounded", "Span", "place_between"]
