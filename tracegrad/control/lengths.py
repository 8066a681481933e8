"""Lengths that a loop changes: `A[i, :i]` has as many elements as the number of the step.

The body becomes a graph over that number as a size (`sized`). Inside, slices between such ends are
arrays like any other, and so they are in derivatives and batches; no result has that size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._codegen import integers
from ..errors import ConcretizationError
from ..ir.dispatch import STATE
from ..ir.forms import ENDLESS, form_of, largest
from ..ir.trace import user_line
from ..ops import convert
from ..ops.elementwise.arithmetic import number
from ..ops.late_shapes import MEETINGS
from ..transforms.sizes import with_sizes
from ..transforms.tracing import leaf_type, plain
from ..types import COUNT, show
from .region import region, strong
from .sized import sized, unused_symbol

OPEN = 1_000_000
"""Numbers of such sizes while the graph over them is traced: more than any other gets."""


class Outlived(ConcretizationError):
    """An array of a computed length is read where that length is not a size any more."""


def over_size(
    value: Any, function: Callable[[Sequence[Any]], Sequence[Any]], leaves: Sequence[Any]
) -> list[Any]:
    """`function(leaves)`, in which a traced integer of the open trace that is not negative may be
    the size of arrays. The leaves are values of the open trace; no result may have that size."""
    count = convert(value, "int64")
    name = name_of(value)
    opened = f"{COUNT}{OPEN + sum(bool(t.forms.named) for t in STATE.traces)}"
    symbol = integers.symbol(opened)
    ranges = {k: v for trace in STATE.traces for k, v in trace.forms.ranges.items()}

    def body(given: Sequence[Any]) -> list[Any]:
        trace = STATE.traces[-1]
        for inner, outer in zip(given, leaves, strict=True):
            # This runs once, for what the leaves are.
            trace.forms.is_outer(getattr(inner, "_data", None), getattr(outer, "_data", None))
        trace.forms.named[name] = symbol
        trace.forms.ranges[opened] = ranges[name]
        trace.sizes.late |= {opened}
        trace.meet = MEETINGS
        trace.sizes.symbolic = True
        return list(function(given))

    traced = region(body, (list(leaves),), list(map(leaf_type, leaves)), "a loop", "lengths")
    for kind in traced.kinds:
        if any(opened in integers.symbols(n) for n in kind.shape):
            raise Outlived(
                f"{user_line()}: an array of shape {show(kind.shape)}, which changes from pass to "
                "pass, is wanted after the pass. Keep it in one of the largest size."
            )
    own = unused_symbol(traced.graph)
    graph = with_sizes(traced.graph, {opened: integers.symbol(own)})
    most = largest(form_of(value))
    if isinstance(most, int) and most >= ENDLESS - 1:
        most = None
    found = sized(count, [*map(_operand, leaves), *traced.captures], graph, own, most)
    return [number(o) if t.weak else plain(o) for o, t in zip(found, traced.kinds, strict=True)]


def _operand(x: Any) -> Any:
    return convert(x, strong(x).dtype)


def name_of(number: Any) -> str:
    """The name of a step's number in expressions of the open trace."""
    (name,) = integers.symbols(form_of(number))
    return name


__all__ = ["Outlived", "name_of", "over_size"]
