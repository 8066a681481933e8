"""By which method the values of one sparse derivative are computed: direct where all is made of
terms, else by colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.graph import Graph
from ..transforms.rewrite import remove_dead
from .by_colours import COLOURINGS, by_colours
from .direct import direct
from .plan import SparsePlan, Wish
from .terms import NoTerms

METHODS = ("auto", "direct", *COLOURINGS)


def make_plan(
    graph: Graph, wanted: Sequence[int], inputs: Sequence[Any], captured: int, wish: Wish
) -> SparsePlan:
    """The plan for a graph by its inputs with the numbers `wanted`; those from number `captured` on
    are what the function reads around it."""
    graph = remove_dead(graph)
    known = [
        v if k >= captured or (k not in wanted and _decides(v)) else None
        for k, v in enumerate(inputs)
    ]
    known = [v if isinstance(v, (np.ndarray, np.generic, int)) else None for v in known]
    if wish.method in ("auto", "direct"):
        try:
            return direct(graph, wanted, inputs, known, wish)
        except NoTerms as error:
            if wish.method == "direct":
                raise ValueError(
                    f"method='direct': {error} is no elementwise operation, slice, gather or sum; "
                    "method='auto' takes colours there"
                ) from None
    return by_colours(graph, wanted, inputs, known, wish)


def _decides(x: Any) -> bool:
    """Whether an argument may say where something is: of integers and booleans the values count."""
    return isinstance(x, int) or getattr(getattr(x, "dtype", None), "kind", "") in "biu"


__all__ = ["METHODS", "make_plan"]
