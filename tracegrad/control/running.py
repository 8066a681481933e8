"""Loops that run outside of compiled functions: step by step in Python while that is quick, else as
native code.

Eagerly `scan`, `while_loop` and the others are Python loops over the user's own function. Where a
transform has traced them (`vmap`, a derivative of one) the function is not run again anyhow, and a
batch of a thousand Newton iterations would be some million calls of NumPy.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from .._codegen import locks, lowering
from ..ir import upward
from ..ir.graph import Graph, Node, Var
from ..ir.op import Op
from ..types import ArrayType

WORTH = 50_000
"""What running in Python may take, in us: a few times that of loading a loop, a fraction of that of
compiling it, which is done once per machine."""
NODE, ELEMENTS = 5, 1000
"""What one operation takes, in us, and how many elements NumPy works off in 1 us."""
UNKNOWN = 8
"""The steps of a loop inside a loop of which nobody knows how many there will be."""
KEPT = 128
"""The loops of which native code is kept."""

STAMPS = re.compile(r"  # after .*")
"""What a printed graph says of the passes that made it, with the time that they took."""
MADE: OrderedDict[str, Graph] = OrderedDict()
_MAKING = locks.lock()
_BRIEF: ContextVar[bool] = ContextVar("tracegrad.brief", default=False)


class SlowError(Exception):
    """Raised inside of `briefly` by a loop that is not run in Python."""


@contextmanager
def briefly() -> Iterator[None]:
    """A block in which no loop is compiled by itself: one for which that pays is a SlowError."""
    before = _BRIEF.set(True)
    try:
        yield
    finally:
        _BRIEF.reset(before)


def work(graph: Graph) -> float:
    """About how long a graph runs in Python, in us."""
    if "work" not in graph.derived:
        graph.derived["work"] = sum(map(_work_of, graph.nodes))
    found: float = graph.derived["work"]
    return found


def _work_of(node: Node) -> float:
    if node.op.lowering is lowering.HOST:
        # What Python does is no part of native code, whatever work is around it.
        return -math.inf
    inner = [work(g) for g in node.subgraphs()]
    if not inner:
        return (
            NODE + sum(v.type.size for v in node.outputs if isinstance(v.type.size, int)) / ELEMENTS
        )
    if node.op.lowering is lowering.SWITCH:
        return NODE + (max(inner) if min(inner) > 0 else -math.inf)
    length = node.params.get("length", UNKNOWN if node.op.lowering is lowering.WHILE else 1)
    return (length if isinstance(length, int) and length else UNKNOWN) * (NODE + sum(inner))


def worth(cost: float, inputs: Sequence[Any]) -> bool:
    """Whether native code pays: for much work on arrays in this machine's memory."""
    pays = cost > WORTH and all(
        isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)) for x in inputs
    )
    if pays and _BRIEF.get():
        raise SlowError
    return pays


def natively(op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> tuple[Any, ...]:
    """The results of one operation on plain arrays, by native code. Equal operations share it,
    whichever trace they are from."""
    arrays = list(map(np.asarray, inputs))
    given = tuple([Var(ArrayType(x.dtype, x.shape), f"x{k}") for k, x in enumerate(arrays)])
    outputs = tuple([Var(t) for t in op.infer(*given, **params)])
    graph = Graph(op.name, given, (Node(op, given, params, outputs),), outputs)
    text = STAMPS.sub("", str(graph))
    with _MAKING:
        graph = MADE.setdefault(text, graph)
        MADE.move_to_end(text)
        if len(MADE) > KEPT:
            MADE.popitem(last=False)
    return tuple(upward.COMPILER.run(graph, arrays))


__all__ = ["SlowError", "briefly", "natively", "work", "worth"]
