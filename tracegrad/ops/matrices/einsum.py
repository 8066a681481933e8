"""Einstein summation, as transposes, products and sums: no rules of its own.

The operands are contracted two at a time, cheapest pair first. Inside, an index is a number and an
operand is a pair of an array and the tuple of its indices, each at most once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import describe, explained_here
from ...errors import ShapeError
from ...sizes import meeting, same
from ...types import Int, show
from ..arrays.diagonals import diagonal
from ..arrays.shape import moveaxis, reshape, sum_axes, transpose
from ..define import shape_of
from ..elementwise.derived import convert, mul
from .contractions import fold
from .products import alike, operand, product, size_hint, sum_products

Label = int
"""Letters are their code points; axes of an ellipsis are negative, -1 for the last one."""
Labelled = tuple[Any, tuple[Label, ...]]


def einsum(subscripts: Any, *operands: Any, optimize: Any = True, dtype: Any = None) -> Any:
    """Sum of products over named axes, in any form that np.einsum takes.

    subscripts  "ij,jk->ik", or without "->" (then the indices that occur once, sorted), with "..."
                for further axes that broadcast, with repeated indices for diagonals; or operands
                and lists of integers in turn: einsum(x, [0, 1], y, [1, 2], [0, 2])
    optimize    False contracts from left to right, anything else the cheapest pair first

    Sizes of one index must agree (in one operand) or be 1 (in others), otherwise ShapeError.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.einsum("ij,j->i", np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    text, arrays = (
        (subscripts, list(operands))
        if isinstance(subscripts, str)
        else _from_lists([subscripts, *operands])
    )
    if not (isinstance(optimize, (bool, str)) or type(optimize) in (list, tuple)):
        raise explained_here(
            TypeError(f"optimize is {describe(optimize)}; it must be True, False or a path")
        )
    arrays = [operand(x) for x in arrays]
    inputs, output = parse(text, [shape_of(x) for x in arrays])
    arrays = alike(*arrays) if dtype is None else [convert(x, dtype) for x in arrays]
    arrays = _met(text, arrays, inputs)
    sizes = _sizes(text, arrays, inputs)
    parts: list[Labelled] = [
        _once(x, labels, sizes) for x, labels in zip(arrays, inputs, strict=True)
    ]
    if len(parts) == 1:
        parts = [_reduce(parts[0], set(output))]
    while len(parts) > 1:
        i, j = (0, 1) if optimize is False else _cheapest(parts, set(output), sizes)
        rest = [p for k, p in enumerate(parts) if k not in (i, j)]
        needed = set(output).union(*[labels for _, labels in rest])
        parts = [*rest, _contract(parts[i], parts[j], needed, output if not rest else None)]
    value, labels = parts[0]
    present = [c for c in output if c in labels]
    value = transpose(value, [labels.index(c) for c in present])
    if len(present) != len(output):
        value = reshape(value, tuple(sizes[c] if c in labels else 1 for c in output))
    return value


# --- subscripts -----------------------------------------------------------------------------------


def _from_lists(items: list[Any]) -> tuple[str, list[Any]]:
    """The form with lists of integers, as text."""
    arrays, lists = items[: len(items) // 2 * 2 : 2], items[1::2]
    if not lists:
        raise ShapeError(
            "einsum needs subscripts: a string first, or a list of integers behind each operand"
        )

    def word(labels: Sequence[Any]) -> str:
        if not isinstance(labels, (list, tuple, range)) or not all(
            c is Ellipsis or isinstance(c, (int, np.integer)) for c in labels
        ):
            wants = "a string ahead of the operands, or a list of integers behind each"
            raise TypeError(f"einsum: subscripts are {wants}, not {describe(labels)}")
        for c in labels:
            if c is not Ellipsis and not 0 <= int(c) < 52:
                raise ShapeError(f"einsum: an index number must be in 0..51, not {c}")
        return "".join(
            "..." if c is Ellipsis else chr(65 + int(c) + (6 if int(c) >= 26 else 0))
            for c in labels
        )

    text = ",".join(word(labels) for labels in lists)
    return (f"{text}->{word(items[-1])}" if len(items) % 2 else text), arrays


def parse(
    text: str, shapes: Sequence[Sequence[Int]]
) -> tuple[list[tuple[Label, ...]], tuple[Label, ...]]:
    """The labels of each operand's axes, and those of the result."""
    spoken = text.replace(" ", "")
    left, arrow, right = spoken.partition("->")
    words = left.split(",")
    for c in left.replace("...", "").replace(",", "") + right.replace("...", ""):
        if not (c.isascii() and c.isalpha()):
            raise ShapeError(
                f"einsum: the subscripts {text!r} contain {c!r}; an index is one letter, "
                "'...' stands for further axes"
            )
    if len(words) != len(shapes):
        raise ShapeError(
            f"einsum: the subscripts {text!r} name {len(words)} operands, "
            f"but {len(shapes)} were given"
        )
    inputs = [
        _labels(text, word, shape, k)
        for k, (word, shape) in enumerate(zip(words, shapes, strict=True))
    ]
    further = sorted({c for labels in inputs for c in labels if c < 0})
    named = [c for labels in inputs for c in labels if c >= 0]
    if not arrow:
        return inputs, (*further, *sorted(c for c in set(named) if named.count(c) == 1))
    if right.count("...") > 1:
        raise ShapeError(f"einsum: the result of {text!r} has more than one '...'")
    before, dots, after = right.partition("...")
    if further and not dots:
        raise ShapeError(
            f"einsum: the '...' of {text!r} stands for {len(further)} axes, "
            "so the result needs '...' too"
        )
    letters = before + after
    for c in letters:
        if letters.count(c) > 1:
            raise ShapeError(f"einsum: the result of {text!r} has the index {c!r} twice")
        if ord(c) not in named:
            raise ShapeError(
                f"einsum: the result of {text!r} has the index {c!r}, which no operand has"
            )
    return inputs, (*map(ord, before), *(further if dots else ()), *map(ord, after))


def _labels(text: str, word: str, shape: Sequence[Int], k: int) -> tuple[Label, ...]:
    before, dots, after = word.partition("...")
    named = len(before) + len(after)
    if "." in before + after:
        raise ShapeError(
            f"einsum: operand {k} of {text!r} has more than one '...', or one that is incomplete"
        )
    if named > len(shape) or (not dots and named < len(shape)):
        raise ShapeError(
            f"einsum: operand {k} of shape {show(tuple(shape))} has {len(shape)} axes, "
            f"but {word!r} names {named}"
        )
    return (*map(ord, before), *(range(named - len(shape), 0) if dots else ()), *map(ord, after))


def _met(text: str, arrays: list[Any], inputs: Sequence[tuple[Label, ...]]) -> list[Any]:
    """The operands with axes of one length for each index, where only a run knows it."""
    meet = meeting()
    if meet is None:
        return arrays
    places = [(c, k, axis) for k, labels in enumerate(inputs) for axis, c in enumerate(labels)]
    for c in {c: None for c, _, _ in places}:
        own = [(k, axis) for label, k, axis in places if label == c]
        name = "an axis of '...'" if c < 0 else f"the index {chr(c)!r}"
        wrong = f"einsum: {name} of {text!r} has lengths that differ, and neither is 1"
        size = meet.common([shape_of(arrays[k])[axis] for k, axis in own], wrong)
        if size is not None:
            for k, axis in own:
                arrays[k] = meet.spread(arrays[k], axis, size)
    return arrays


def _sizes(
    text: str, arrays: Sequence[Any], inputs: Sequence[tuple[Label, ...]]
) -> dict[Label, Int]:
    sizes: dict[Label, Int] = {}
    for x, labels in zip(arrays, inputs, strict=True):
        shape = shape_of(x)
        for c, n in zip(labels, shape, strict=True):
            first = shape[labels.index(c)]
            if isinstance(n, int) and isinstance(first, int) and n != first:
                raise ShapeError(
                    f"einsum: the index {chr(c)!r} of {text!r} stands for sizes {first} and {n} of "
                    f"one operand, of shape {show(tuple(shape))}; they must agree"
                )
            known = sizes.get(c, 1)
            if _is_one(known):
                sizes[c] = n
            elif not _is_one(n) and not same(known, n):
                name = "an axis of '...'" if c < 0 else f"the index {chr(c)!r}"
                shapes = " and ".join(show(tuple(shape_of(y))) for y in arrays)
                raise ShapeError(
                    f"einsum: {name} of {text!r} has sizes {known} and {n}; "
                    f"they must agree, or be 1. The operands' shapes are {shapes}"
                )
    return sizes


def _is_one(n: Int) -> bool:
    return isinstance(n, int) and n == 1


# --- contraction ----------------------------------------------------------------------------------


def _once(x: Any, labels: tuple[Label, ...], sizes: dict[Label, Int]) -> Labelled:
    """Axes of size 1 that others are longer in are dropped; of a repeated index, the diagonal is
    taken."""
    shape = shape_of(x)
    kept = [
        k
        for k, c in enumerate(labels)
        if not (_is_one(shape[k]) and (not _is_one(sizes[c]) or labels.index(c) != k))
    ]
    x, labels = reshape(x, tuple(shape[k] for k in kept)), tuple(labels[k] for k in kept)
    while len(set(labels)) != len(labels):
        second = next(k for k, c in enumerate(labels) if labels.index(c) != k)
        first = labels.index(labels[second])
        x = moveaxis(diagonal(x, 0, first, second), -1, first)
        labels = labels[:second] + labels[second + 1 :]
    return x, labels


def _reduce(part: Labelled, needed: set[Label]) -> Labelled:
    """Without the indices that nothing else needs, which are summed."""
    x, labels = part
    axes = tuple(k for k, c in enumerate(labels) if c not in needed)
    if not axes:
        return part
    return convert(sum_axes(x, axes), x.dtype), tuple(c for c in labels if c in needed)


def _cheapest(
    parts: Sequence[Labelled], output: set[Label], sizes: dict[Label, Int]
) -> tuple[int, int]:
    """The pair whose contraction shrinks what is left the most; ties go to the one with the least
    work."""
    guess = {c: size_hint(n) for c, n in sizes.items()}

    def volume(labels: set[Label]) -> int:
        return math.prod(guess[c] for c in labels)

    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        i, j = pair
        a, b = set(parts[i][1]), set(parts[j][1])
        needed = output.union(*[p[1] for k, p in enumerate(parts) if k not in pair])
        return volume((a | b) & needed) - volume(a) - volume(b), volume(a | b)

    return min(itertools.combinations(range(len(parts)), 2), key=cost)


def _contract(
    first: Labelled, second: Labelled, needed: set[Label], wanted: tuple[Label, ...] | None
) -> Labelled:
    """Two operands as one: an elementwise product, a sum of products, or a (stacked) matrix
    product."""
    x, a = _reduce(first, needed | set(second[1]))
    y, b = _reduce(second, needed | set(a))
    both = [c for c in a if c in b]
    summed = [c for c in both if c not in needed]
    shared = [c for c in both if c in needed]
    left, right = [c for c in a if c not in b], [c for c in b if c not in a]
    if not summed or not (left or right):
        return _aligned(x, a, y, b, summed, wanted)
    if wanted is not None and _swapped(wanted, left, right):
        x, y, a, b, left, right = y, x, b, a, right, left
    sizes = dict(zip((*a, *b), (*shape_of(x), *shape_of(y)), strict=True))
    if shared:
        shared.sort(key=(wanted or a).index)
        groups_x, groups_y = [shared, left, summed], [shared, summed, right]
    else:
        groups_x, groups_y = [left, summed], [summed, right]
    value = product(
        fold(x, [[a.index(c) for c in g] for g in groups_x]),
        fold(y, [[b.index(c) for c in g] for g in groups_y]),
    )
    labels = (*shared, *left, *right)
    return reshape(value, tuple(sizes[c] for c in labels)), labels


def _swapped(wanted: Sequence[Label], left: Sequence[Label], right: Sequence[Label]) -> bool:
    """Whether the result has the second operand's own indices before the first's."""
    return bool(left) and bool(right) and wanted.index(right[0]) < wanted.index(left[0])


def _aligned(
    x: Any,
    a: tuple[Label, ...],
    y: Any,
    b: tuple[Label, ...],
    summed: list[Label],
    wanted: tuple[Label, ...] | None,
) -> Labelled:
    """The elementwise product over all indices of both, and its sum over some."""
    union = [*a, *[c for c in b if c not in a]]
    if wanted is not None:
        union.sort(key=lambda c: wanted.index(c) if c in wanted else len(wanted))

    def spread(v: Any, labels: tuple[Label, ...]) -> Any:
        present = [c for c in union if c in labels]
        v = transpose(v, [labels.index(c) for c in present])
        shape = iter(shape_of(v))
        return reshape(v, tuple(next(shape) if c in labels else 1 for c in union))

    x, y = spread(x, a), spread(y, b)
    axes = tuple(k for k, c in enumerate(union) if c in summed)
    value = sum_products(x, y, axes) if axes else mul(x, y)
    return value, tuple(c for c in union if c not in summed)
