"""`map`: a function of one slice, applied to all of them in a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .region import check_functions
from .scan import scan


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """`f(x)` for each slice x along the leading axis, each by itself, the results stacked; `vmap`
    computes them side by side.

    xs          a tree of arrays with the same leading size

    Less memory than `vmap` where `f` has large intermediate values; branches and loops inside
    (`cond`, `while_loop`) run for each x by itself. In compiled code threads share the slices;
    eagerly `f` is called for one after the other.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.map(lambda x: tg.cond(x > 0, np.sqrt, np.negative, x), np.array([4.0, -1.0]))
    array([2., 1.])
    """
    check_functions("map", f=f)
    return scan(lambda carry, x: (carry, f(x)), (), xs)[1]


__all__ = ["map"]
