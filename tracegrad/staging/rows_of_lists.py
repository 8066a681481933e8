"""Rows of a list or dict of lists, of different length, at a place that only a run knows: the
neighbours of a node in a list of adjacency. A row is a list of which only a run knows the
length."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..tensor import inside
from .item_forms import Form
from .items import parts_of, wider
from .late_lists import of_places
from .listed import stacked_column
from .lists import Grown, Stacked
from .regions import Refused


def row_of(rows: Any, at: Any, line: str) -> Any:
    """The row at a place that is inside, which nobody may change; NotImplemented where not all are
    lists or tuples with items of one form."""
    rows = list(rows)
    if not all(map(_is_written_out, rows)):
        return NotImplemented
    items = [x for row in rows for x in row]
    try:
        parts = [parts_of(x, line, "a row") for x in items]
        form: Form | None = parts[0][0] if parts else None
        for other, _ in parts[1:]:
            assert form is not None
            form = wider(form, other, line, "a row")
    except (Refused, TypeError):
        return NotImplemented
    if form is None or not form.kinds or any(k.dtype.kind not in "biufc" for k in form.kinds):
        return NotImplemented
    columns = zip(*[leaves for _, leaves in parts], strict=True)
    arrays = [stacked_column(form, k, c) for k, c in enumerate(columns)]
    lengths = np.array([len(row) for row in rows])
    starts = inside(np.cumsum(lengths) - lengths)
    first, count = starts[at], inside(lengths)[at]
    whole = Stacked(form, arrays, len(items))
    found = of_places(whole, lambda k: first + k, count, int(lengths.max()))
    found.name, found.frozen = "a row", True
    before = [tuple(row) for row in rows]

    def unchanged() -> None:
        for row, was in zip(rows, before, strict=True):
            if len(row) != len(was) or any(a is not b for a, b in zip(row, was, strict=True)):
                raise Refused(
                    f"{line}: a row of a list of lists is read here at a place that only a run "
                    "knows, and one of the lists changes before the row is used. Read it behind "
                    "the change, or a copy: list(a[k])"
                )

    found.check = unchanged
    return found


def row_of_dict(entries: dict[Any, Any], key: Any, check: Any, line: str) -> Any:
    """`entries[key]` of a dict of lists by whole numbers; else NotImplemented."""
    keys = list(entries)
    if not keys or not all(type(k) is int for k in keys) or getattr(key, "shape", None) != ():
        return NotImplemented
    equal = ops.equal(np.array(keys), key)
    found = row_of(entries.values(), ops.argmax(equal), line)
    if found is not NotImplemented:
        check(ops.any(equal), lambda: KeyError("a key that only a run knows"))
    return found


def _is_written_out(row: Any) -> bool:
    return type(row) in (list, tuple) or (type(row) is Grown and row.stacked is None)


__all__ = ["row_of", "row_of_dict"]
