"""Recursive filters along the last axis."""

from __future__ import annotations

from typing import Any

from .bridge import implements
from .support import index

__all__ = ["recursive_filter"]


def recursive_filter(c: Any, x: Any, out: Any, reverse: bool) -> None:
    """`out[i] = x[i] - sum(c[k] * out[i - 1 - k])` for each row of each matrix of a stack, from the
    end of the row where `reverse`."""
    rows, given = (out[..., ::-1], x[..., ::-1]) if reverse else (out, x)
    p = c.shape[-1]
    for i in range(x.shape[-1]):
        rows[..., i] = given[..., i]
        for k in range(min(p, i)):
            rows[..., i] -= c[:, None, k] * rows[..., i - 1 - k]


@implements(recursive_filter, inline=False)
def _type_filter(c: Any, x: Any, out: Any, reverse: Any) -> Any:
    def body(c: Any, x: Any, out: Any, reverse: bool) -> None:
        count, rows, n = x.shape
        p = c.shape[1]
        for s in range(index(0), index(count)):
            for r in range(index(0), index(rows)):
                for step in range(n):
                    i = n - 1 - step if reverse else step
                    value = x[s, r, index(i)]
                    for k in range(min(p, step)):
                        before = i + 1 + k if reverse else i - 1 - k
                        value -= c[s, index(k)] * out[s, r, index(before)]
                    out[s, r, index(i)] = value

    return body
