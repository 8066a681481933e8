"""Leaves that got another shape after something had read them: what was recorded before would send
them gradients of the shape that they had."""

from __future__ import annotations

from functools import partial
from typing import Any
from weakref import ref

from .tape import Node, next_number

RESHAPED: dict[int, tuple[ref[Any], list[tuple[int, Any]]]] = {}
"""By a leaf's number: until when on the tape's clock it had which shapes. Nearly always empty."""


def note_shape(leaf: Any) -> None:
    """Remember the shape of a leaf that is about to get another one."""
    if leaf._order and leaf._grad_fn is None:
        gone = ref(leaf, partial(_forget, leaf._order))
        _, shapes = RESHAPED.setdefault(leaf._order, (gone, []))
        shapes.append((next_number(), leaf._data.shape))


def _forget(number: int, _: Any) -> None:
    RESHAPED.pop(number, None)


def check_shapes(behind: dict[int, Any]) -> None:
    """A RuntimeError where one of these nodes has read a leaf under another shape than it has."""
    for node in behind.values():
        for edge in node.edges if isinstance(node, Node) else ():
            if edge is None or edge[0]._order not in RESHAPED:
                continue
            _, shapes = RESHAPED[edge[0]._order]
            then = next((shape for until, shape in shapes if node._order < until), None)
            if then is not None and then != edge[0].shape:
                raise RuntimeError(
                    f"{node.name().rpartition('::')[2]} has read a leaf of shape {tuple(then)}, "
                    f"which has the shape {tuple(edge[0].shape)} since: its data or its shape was "
                    "set in place. Compute the result again from the leaf as it is now."
                )


__all__ = ["RESHAPED", "check_shapes", "note_shape"]
