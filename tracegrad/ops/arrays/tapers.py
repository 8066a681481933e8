"""NumPy's window functions, of sizes that are not known while a function is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...sizes import larger_of
from ..elementwise.arithmetic import div, sub
from ..elementwise.derived import add, mul
from ..elementwise.elementary import absolute, sqrt
from ..elementwise.trigonometric import cos
from ..scipy_special.bessel import i0
from .creation import arange


def _gaps(size: Any) -> Any:
    """How many gaps there are between places, of one place one."""
    return larger_of(size - 1, 1)


def _cosines(first: float, *weights: float) -> Callable[[Any], Any]:
    """A sum of cosines of an angle's multiples. The angle goes from -pi to pi."""

    def window(size: Any) -> Any:
        places, total = arange(1 - size, size, 2), None
        for k, weight in enumerate(weights, 1):
            term = mul(weight, cos(div(mul(k * np.pi, places), _gaps(size))))
            total = add(first if total is None else total, term)
        return total

    return window


hanning = _cosines(0.5, 0.5)
hamming = _cosines(0.54, 0.46)
blackman = _cosines(0.42, 0.5, 0.08)


def bartlett(size: Any) -> Any:
    side = div(arange(1 - size, size, 2), _gaps(size))
    return sub(1.0, absolute(side))


def kaiser(size: Any, beta: Any) -> Any:
    side = div(arange(1 - size, size, 2), _gaps(size))
    return div(i0(mul(beta, sqrt(sub(1.0, mul(side, side))))), i0(beta))
