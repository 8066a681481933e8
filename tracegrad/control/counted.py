"""The steps of a `fori_loop`: at once where they do not need each other, else a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ir.forms import about
from ..ir.graph import Graph
from ..ir.loops import Parts
from ..transforms.at_once import as_map
from ..types import Int
from .region import closed, strong
from .scan_rules import NUMBER, bound, loop


def counted_steps(
    step: Callable[..., Any],
    values: Sequence[Any],
    constants: int,
    length: Int,
    spans: Sequence[Int],
    like: Graph,
) -> Sequence[Any]:
    """The carries after so many steps.

    step        as `loop` takes it, without slices and results
    values      constants, and the first carries
    spans       how long the segments are that reverse mode computes again
    """
    given = Parts(values[:constants], values[constants:], ())
    if spans:
        return loop("body", step, given, like, length, False, spans)[0]

    def body(*v: Any) -> list[Any]:
        found: list[Any] = step(v[:constants], v[constants:-1], v[-1], ())[0]
        return found

    def items(item: Callable[..., list[Any]], parts: Parts) -> Sequence[Any]:
        return loop("items", lambda k, _, i, s: ([], item(k, i, s)), parts, like, length, False)[1]

    graph = closed("body", body, [*map(strong, values), NUMBER], like)
    known = about([*given.constants, *[None] * (len(given.carries) + 1)], {len(values): length})
    found = as_map(graph, given, length, known, items)
    return bound(graph, given, length, False)[0] if found is None else found


__all__ = ["counted_steps"]
