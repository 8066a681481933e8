"""Sums of exponentials with SciPy's arguments: without an axis they are of all elements (those of
`tracegrad` itself are of the last axis, or take `keepdims` first)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import flag
from ..define import as_array
from ..elementwise.elementary import sign
from ..totals import log_sum_exp
from ..totals.axes import Axis


def softmax(x: Any, axis: Axis = None) -> Any:
    """`exp(x) / sum(exp(x))` over axes (all of them by default), without overflow.

    >>> import tracegrad as tg
    >>> tg.special.softmax([[0.0, 0.0], [0.0, 0.0]])
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    return log_sum_exp.softmax(as_array(x), axis)


def log_softmax(x: Any, axis: Axis = None) -> Any:
    """`log(softmax(x))` over axes (all of them by default), exact where softmax underflows.

    >>> import tracegrad as tg
    >>> tg.special.log_softmax([0.0, 1000.0])
    array([-1000.,     0.])
    """
    return log_sum_exp.log_softmax(as_array(x), axis)


def logsumexp(
    a: Any, axis: Axis = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """`log(sum(b * exp(a)))` over axes (all of them by default) without overflow; of nothing but
    -inf it is -inf, with derivative 0. return_sign: the logarithm of the sum's size, and its sign;
    without it the logarithm of a negative sum is NaN.

    >>> import tracegrad as tg
    >>> size, sign = tg.special.logsumexp([0.0, 0.0], b=[1.0, -3.0], return_sign=True)
    >>> round(float(size), 6), float(sign)
    (0.693147, -1.0)
    """
    a = as_array(a)
    if isinstance(b, (int, float)):  # takes no part in the dtype
        b = np.asarray(b, np.result_type(a.dtype, b))
    over = (axis, flag("keepdims", keepdims), None if b is None else as_array(b))
    found, total = log_sum_exp.log_and_sum(a, *over, flag("return_sign", return_sign))
    return (found, sign(total)) if return_sign else found


__all__ = ["log_softmax", "logsumexp", "softmax"]
