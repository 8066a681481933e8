"""What is written one part behind the other in a vector: each part by loops over its own axes.

An element of a vector that was made of arrays is found by dividing its number by their sizes, and
the part that it is in by comparing. Written from the arrays' side, its number is a sum of products:
`np.stack([a, b, c], -1).ravel()` is one loop that stores three numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from .._codegen import lowering
from ..ir.graph import Atom, Node, Var
from ..ops.arrays.concatenation import concatenate_op
from ..ops.arrays.shape import reshape_op
from ..sizes import same
from ..types import Int, Shape
from .indices import is_empty, is_one

RECORD = 32
"""Of a joint along a last axis of at most this static size, all parts are written together."""
MOST = 64
"""Vectors of more parts are written from their own side."""

Definitions = Mapping[Var, tuple[Node, int]]


class FlatPart(NamedTuple):
    """An array whose element i is written at `offset + sum(i * steps)`."""

    source: Atom
    offset: Int
    steps: tuple[Int, ...]


def parts_of(var: Var, definitions: Definitions, stored: Callable[[Var], bool]) -> list[FlatPart]:
    """The parts of a vector; none where it is best written element by element."""
    if var.type.ndim != 1:
        return []
    found: list[FlatPart] = []
    todo, joined = [FlatPart(var, 0, (1,))], False
    while todo and len(todo) + len(found) <= MOST:
        part = todo.pop(0)
        inner = _inside(part, definitions, stored, part.source is var)
        if inner is None:
            found.append(part)
        else:
            joined |= len(inner) > 1 and len(part.steps) > 1
            todo = [*inner, *todo]
    if todo or not (joined or any(_has_axes(p, definitions, stored) for p in found)):
        return []
    return found


def _inside(
    part: FlatPart, definitions: Definitions, stored: Callable[[Var], bool], first: bool
) -> list[FlatPart] | None:
    """The parts of a part."""
    a = part.source
    if not isinstance(a, Var) or a not in definitions or (stored(a) and not first):
        return None
    node = definitions[a][0]
    if node.op is reshape_op:
        steps = _refined(node.inputs[0].type.shape, a.type.shape, part.steps)
        return None if steps is None else [FlatPart(node.inputs[0], part.offset, steps)]
    if node.op is not concatenate_op:
        return None
    if is_record(node):
        return None
    axis = node.params["axis"]
    result, begin = [], part.offset
    for x in node.inputs:
        if not is_empty(x.type.shape):
            result.append(FlatPart(x, begin, part.steps))
        begin = begin + x.type.shape[axis] * part.steps[axis]
    return result


def is_record(node: Node) -> bool:
    """Whether a node puts a few numbers side by side, for each element of other axes."""
    if node.op is not concatenate_op:
        return False
    axis, shape = node.params["axis"], node.outputs[0].type.shape
    width = shape[axis]
    return (
        all(map(is_one, shape[axis + 1 :]))
        and not all(map(is_one, shape[:axis]))
        and isinstance(width, int)
        and width <= RECORD
    )


def in_parts(node: Node) -> bool:
    """Whether no element of the result is made of all that the operands are made of."""
    return node.op is reshape_op or is_record(node)


def _refined(inner: Shape, outer: Shape, steps: Sequence[Int]) -> tuple[Int, ...] | None:
    """The steps along the axes of an array before it was reshaped, where each axis of the result
    is made of whole ones of its own."""
    found: list[Int] = []
    mine = list(inner)
    for size, step in zip(reversed(outer), reversed(steps), strict=True):
        if is_one(size):
            continue
        done: Int = 1
        while mine and not same(done, size):
            n = mine.pop()
            found.insert(0, step * done)
            done = done * n
        if not same(done, size):
            return None
    if not all(map(is_one, mine)):
        return None
    return (*[0] * len(mine), *found)


def _has_axes(part: FlatPart, definitions: Definitions, stored: Callable[[Var], bool]) -> bool:
    """Whether a part has several axes, and more to do than to go through its elements in turn."""
    if sum(not is_one(n) for n in part.source.type.shape) < 2:
        return False
    return isinstance(part.source, Var) and bool(_moving(part.source, definitions, stored))


def _moving(var: Var, definitions: Definitions, stored: Callable[[Var], bool]) -> Collection[Node]:
    """The nodes behind a value that is not stored which show elements elsewhere."""
    todo, seen, found = [var], {var}, []
    while todo:
        v = todo.pop()
        if v not in definitions or stored(v):
            continue
        node = definitions[v][0]
        if not isinstance(node.op.lowering, lowering.Pointwise) and node.op is not reshape_op:
            found.append(node)
        for a in node.inputs:
            if isinstance(a, Var) and a not in seen:
                seen.add(a)
                todo.append(a)
    return found


def place(part: FlatPart, index: Sequence[Int]) -> Int:
    """The number of an element of a part."""
    number = part.offset
    for i, s in zip(index, part.steps, strict=True):
        number = number + i * s
    return number


__all__ = ["RECORD", "FlatPart", "in_parts", "is_record", "parts_of", "place"]
