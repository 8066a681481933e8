"""Whether captured arrays are operands only, or NumPy has computed with their elements while the
function was traced, so that what was recorded depends on these."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from ..ir.graph import Graph, Literal
from ..surroundings.places import Fact
from ..surroundings.reach import Reach
from ..tensor import Boxed
from ..transforms.tracing import Traced

_USUAL = frozenset((-2, -1, 0, 1, 2, 0.5))


def asks(graph: Graph, reach: Reach, facts: Sequence[Fact]) -> bool:
    """Whether elements of an array may have gone into what was recorded without being seen there:
    the code has conditions, or the graph numbers that stand nowhere in it."""
    numbers: set[Any] = {x for _, x in facts if isinstance(x, (int, float, complex))}
    for code in reach.codes:
        numbers.update(_numbers(code.co_consts))
        if any(i.opname.startswith(_CONDITIONS) for i in dis.get_instructions(code)):
            return True
    return any(
        isinstance(a, Literal) and a.value not in numbers and a.value not in _USUAL
        for node in graph.nodes
        for a in node.inputs
    )


@lru_cache(maxsize=1024)
def asks_identity(code: CodeType) -> bool:
    """Whether code asks whether two things are one object, neither of them None or the like."""
    before = ""
    for i in dis.get_instructions(code):
        if i.opname == "IS_OP" and before != "LOAD_CONST":
            return True
        before = i.opname
    return False


_CONDITIONS = ("POP_JUMP", "JUMP_IF", "RAISE_VARARGS")


def _numbers(constants: Any) -> Iterator[Any]:
    for x in constants:
        if isinstance(x, (tuple, frozenset)):
            yield from _numbers(x)
        elif isinstance(x, (int, float, complex)):
            yield from (x, -x)
        elif isinstance(x, CodeType):
            yield from _numbers(x.co_consts)


def same_operations(one: Traced, other: Traced) -> bool:
    """Whether two traces recorded the same of the same captured values, which may be boxed."""
    pairs = list(zip(one.graph.inputs, other.graph.inputs, strict=False))
    if len(one.graph.inputs) != len(other.graph.inputs) or one.out_spec != other.out_spec:
        return False
    for v, w in pairs:
        w.name = v.name
    return str(one.graph) == str(other.graph) and all(
        _same(x, y) for x, y in zip(one.captures, other.captures, strict=True)
    )


def _same(x: Any, y: Any) -> bool:
    if isinstance(y, Boxed) and not isinstance(x, Boxed):
        y = y._data
    if x is y:
        return True
    return (
        isinstance(x, np.ndarray)
        and isinstance(y, np.ndarray)
        and x.dtype == y.dtype
        and x.tobytes() == y.tobytes()
    )
