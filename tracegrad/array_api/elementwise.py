"""Functions of the standard that compute element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .results import all_of, given, operand

_ONE = """
abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag
isfinite isinf isnan log log10 log1p log2 logical_not negative positive real reciprocal round
sign signbit sin sinh sqrt square tan tanh trunc
""".split()  # noqa: SIM905 - a list of names
_TWO = """
add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign
divide equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and
logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract
""".split()  # noqa: SIM905 - a list of names
globals().update(all_of(np, _ONE))
globals().update(all_of(np, _TWO, 2))


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """The elements, no smaller than `min` and no larger than `max`, in the dtype of `x`.

    >>> import tracegrad as tg
    >>> tg.array_api.clip(tg.tensor([1.0, 5.0]), max=2.0)
    tensor([1., 2.])
    """
    operand(x)
    if min is None and max is None:
        return given(ops.positive(x))
    found = given(np.clip(x, min, max))
    return found if found.dtype == x.dtype else ops.convert(found, x.dtype)


__all__ = [*_ONE, *_TWO, "clip"]
