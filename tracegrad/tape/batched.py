"""A function of one row over all rows at once, by the operations' batching rules: how many sweeps
become one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from ..autograd.anomaly_mode import ANOMALY
from ..errors import TracegradError
from ..ir import upward
from ..ir.aside import AsideTrace
from ..ir.evaluate import evaluate_batched
from ..ir.trace import Trace
from ..ops.random import draws
from ..sizes import forms
from ..types import ArrayType
from .modes import restoring


@restoring
def over_rows(
    function: Callable[[list[Any]], Sequence[Any]], stacked: Sequence[Any], aside: bool = False
) -> list[Any]:
    """`function` of a list of rows for every row of the arrays in `stacked`; its results stacked
    along a new first axis.

    The function runs once, on variables of a trace, and what it recorded is evaluated for all rows.
    Where it cannot be traced (a hook asks for a number, an operation has no batching rule, random
    numbers are drawn, anomalies are looked for) it runs once per row. A result that is None stays
    None; all rows must agree on which are. With `aside` only what depends on the rows is recorded,
    all else is computed as the function runs, so that it may branch on values.
    """
    size = stacked[0].shape[0]
    trace = AsideTrace("rows") if aside else Trace("rows")
    try:
        if ANOMALY.enabled:
            raise TracegradError("anomaly detection looks at numbers")
        with trace:
            rows = [
                upward.FACES.box(
                    trace.input(ArrayType(x.dtype, forms(tuple(x.shape[1:])))), None, 0
                )
                for x in stacked
            ]
            try:
                results = function(rows)
            finally:
                random = bool(draws(trace))
            graph, captures = trace.finish([r for r in results if r is not None], "rows")
        if random:
            raise TracegradError("random numbers are drawn for each row")
        places = [*[0] * len(stacked), *[None] * len(captures)]
        values, axes = evaluate_batched(graph, [*stacked, *captures], places, size)
    except TracegradError:
        if not isinstance(size, int) or size == 0:
            raise
        columns = list(zip(*[function([x[k] for x in stacked]) for k in range(size)], strict=True))
        return [None if column[0] is None else ops.stack(column) for column in columns]
    found = iter(zip(values, axes, strict=True))
    return [None if r is None else _first(*next(found), size) for r in results]


def _first(value: Any, axis: int | None, size: Any) -> Any:
    """The value with its batch axis in front; repeated where it does not depend on the rows."""
    if axis is None:
        return ops.broadcast_to(value, (size, *getattr(value, "shape", ())))
    return ops.moveaxis(value, axis, 0) if axis else value
