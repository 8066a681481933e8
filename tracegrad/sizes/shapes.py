"""Arithmetic with sizes that no operator of Python's says: of ints, of a graph's expressions, or of
what a traced function sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._codegen import integers
from .owners import SIZES, Int, is_count, is_late
from .signs import not_negative
from .size import Size, at_most, form, less, seen


def numel(values: Iterable[Any]) -> Any:
    """The number of elements of a shape: the product of sizes of either kind, and what a traced
    function sees where one is."""
    total: Any = 1
    for value in values:
        total = total * value
    return total


def smaller_of(a: Any, b: Any) -> Any:
    """The smaller of two sizes; what a traced function sees stays an expression where neither can
    be negative, else it is asked which."""
    if _doubtful(a, b):
        return a if at_most(a, b) else b
    return _as_seen(integers.minimum, a, b)


def larger_of(a: Any, b: Any) -> Any:
    """The larger of two sizes, as `smaller_of` gives the smaller."""
    if _doubtful(a, b):
        return b if at_most(a, b) else a
    for size, other in ((a, b), (b, a)):
        if type(other) is int and other <= 0 and (is_late(form(size)) or not_negative(form(size))):
            return size
    return _as_seen(integers.maximum, a, b)


def at_most_of(size: Any, number: int) -> Any:
    """So many of the elements of an axis, or all where only a run knows that it has fewer."""
    # A rule for derivatives gets the sizes of a finished graph, of which nobody has the ranges.
    if not is_count(form(size)) or (
        SIZES.open and SIZES.open[-1].proven("<=", number - form(size))
    ):
        return number
    # Of what is left behind a cut, as of the whole: one form for a[1:][1:] and a[2:].
    for atom in {atom for monomial, _ in form(size).terms for atom in monomial}:
        if isinstance(atom, integers.Binary) and atom.op == "min" and type(atom.right) is int:
            whole = atom.left
            if form(size) == integers.minimum(whole, atom.right):
                return at_most_of(seen(whole), min(atom.right, number))
            if form(size) == whole - integers.minimum(whole, atom.right):
                return at_most_of(seen(whole), atom.right + number) - seen(
                    integers.minimum(whole, atom.right)
                )
    return seen(integers.minimum(form(size), number))


def known_less(a: Any, b: Any) -> bool:
    """Whether one size is less than another. It is asked of sizes; what only a run knows is taken
    not to be."""
    difference = form(a - b)
    if not isinstance(difference, integers.Integer):
        return bool(difference < 0)
    return not is_late(difference) and less(a, b)


def number_of(size: Any) -> Any:
    """A size as a number in arithmetic: itself, or a number of the graph where only a run knows
    it."""
    return SIZES.open[-1].box(late) if is_late(late := form(size)) else size


def traced_number(size: Any) -> Any:
    """A size that is not known as a number of the graph; else the number."""
    size = form(size)
    return SIZES.open[-1].box(size) if isinstance(size, integers.Integer) else size


def quotient_of(a: Any, b: Any) -> Any:
    """The floor of a quotient of sizes, of which the divisor is positive."""
    return a // b if type(a) is Size or type(b) is Size else integers.floordiv(a, b)


def _doubtful(a: Any, b: Any) -> bool:
    """Whether one of two sizes may be negative. The code computes in unsigned words, where
    differences come out right, and quotients, remainders and comparisons of negative numbers do
    not."""
    if type(a) is not Size and type(b) is not Size:
        return False
    return not all(not_negative(x) for x in map(form, (a, b)))


def root_of(value: Any) -> Any:
    """The largest size of which the square is at most `value`."""
    return seen(integers.root(value.form)) if type(value) is Size else integers.root(value)


def _as_seen(function: Callable[[Int, Int], Int], a: Any, b: Any) -> Any:
    result = function(form(a), form(b))
    return seen(result) if type(a) is Size or type(b) is Size else result
