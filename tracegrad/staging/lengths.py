"""A traced integer as the length of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from .._codegen import integers
from ..control.facts import known_integer
from ..ir.forms import ENDLESS, UNKNOWN, bounded, form_of, largest, smallest, unknown
from ..ir.trace import user_line
from ..ops.places.spans import ComputedLength
from ..sizes import number_of, seen
from ..tensor import Boxed
from ..types import COUNT
from .places import any_in
from .places import unknown as is_unknown

SHAPED: Any = (np.zeros, np.ones, np.empty, np.full)
"""NumPy's functions that make arrays of a shape."""


def size_of(count: Any, instead: str = "Name the number in a statement before (n = ...)") -> Any:
    """A traced integer, which is not negative, as a size; ComputedLength where nothing is open that
    has it as one. `instead` is what the message says to do."""
    form = form_of(count)
    if not unknown(form):
        return seen(form)
    if (fact := known_integer(count)) is not None:
        return max(fact, 0)
    least = smallest(form)
    if str(form) not in integers.symbols(form) or not (isinstance(least, int) and least >= 0):
        # A number of its own, of which a graph can be.
        most = largest(form, COUNT)
        count = ops.maximum(count, 0)
        form = form_of(count)
        if not unknown(form):
            return seen(form)
        bounded(
            count,
            least if isinstance(least, int) and least > 0 else 0,
            ENDLESS if most is None else most + 1,
        )
    names = frozenset(s for s in integers.symbols(form) if s.startswith(UNKNOWN))
    raise ComputedLength(
        f"{user_line()}: how long this array is is known only when the function runs. {instead}, "
        "and use the array in this block alone. To return it, write into an array of the largest "
        "size (out = np.zeros(k), out[n] = x, n += 1), and return that and n.",
        names,
    )


def length_of(x: Any) -> Any:
    """`len(x)` of an array: a number of the graph where only a run knows it."""
    return number_of(x.shape[0])


def is_count(x: Any) -> bool:
    """Whether it is an integer that only a run knows."""
    return isinstance(x, Boxed) and not x.shape and x.dtype.kind in "iu" and is_unknown(x)


def sized_call(
    function: Any, args: Any, kwargs: Any, check: Callable[[Any, Callable[[], Any]], None]
) -> Any:
    """A new array of lengths that only a run knows; None for all other calls. `check(holds,
    error)`."""
    if function not in SHAPED and function is not np.arange:
        return None
    if not any_in((args, kwargs), is_count):
        return None

    def size(n: Any) -> Any:
        if not is_count(n):
            return n
        least = smallest(form_of(n))
        if not (isinstance(least, int) and least >= 0):
            fine = ops.greater_equal(n, 0)
            check(fine, lambda: ValueError("negative dimensions are not allowed"))
        return size_of(n)

    if function is np.arange:
        start, stop = (0, *args) if len(args) == 1 else (*args, None)[:2]
        whole = all(isinstance(x, (int, np.integer)) or is_count(x) for x in (start, stop))
        if not whole or len(args) > 2 or kwargs.keys() - {"dtype"}:
            return None
        return start + ops.arange(size_of(stop - start), **kwargs)
    options = {k: v for k, v in kwargs.items() if k not in ("shape", "order", "like")}
    shape, *others = args if args else (kwargs["shape"],)
    if not any_in(shape, is_count):
        return None  # it is the number to fill an array with
    shape = tuple(map(size, shape)) if isinstance(shape, (tuple, list)) else size(shape)
    return getattr(ops, function.__name__)(shape, *others, **options)


__all__ = ["is_count", "length_of", "size_of", "sized_call"]
