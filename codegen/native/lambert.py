"""Lambert's function of complex numbers, on any branch, as SciPy computes it: a guess, and Halley's
steps (Corless, Gonnet, Hare, Jeffrey and Knuth, "On the Lambert W function", 1996)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy
from numba.core import types

from .bridge import implements, is_complex

OMEGA = 0.5671432904097838
TOLERANCE = 1e-8
"""Of the last step, SciPy's: the steps converge cubically."""


def lambertw(z: Any, k: Any) -> Any:
    """The w with w exp(w) = z, on the branch k."""
    return type(z)(scipy.special.lambertw(z, int(k)))


def _log(z: Any) -> Any:
    """The logarithm, of numbers of any size."""
    size = math.hypot(z.real, z.imag)
    return complex(np.log(size), math.atan2(z.imag, z.real))


def _guess(z: Any, k: Any) -> Any:
    size = math.hypot(z.real, z.imag)
    if k == 0:
        near = complex(z.real + 1 / math.e, z.imag)
        if math.hypot(near.real, near.imag) < 0.3:
            # The series about the branch point -1 / e.
            p = np.sqrt(complex(2.0 * (math.e * z.real + 1.0), 2.0 * math.e * z.imag))
            return -1.0 + p - p * p / 3.0
        leftmost = -2.5 * abs(z.imag) - 0.2
        if -1.0 < z.real < 1.5 and abs(z.imag) < 1.0 and leftmost < z.real:
            above = 12.85106382978723404255 + z * (12.34042553191489361902 + z)
            below = 32.53191489361702127660 + z * (14.34042553191489361702 + z)
            return z * above / below
    elif k == -1 and size <= 1 / math.e and z.imag == 0.0 and z.real < 0.0:
        return complex(np.log(-z.real), 0.0)
    w = _log(z) + complex(0.0, 2.0 * math.pi * k)
    return w - _log(w)


def _lambertw(z: Any, k: Any) -> Any:
    if z.real != z.real or z.imag != z.imag:
        return z
    if z.real == math.inf:
        return z + complex(0.0, 2.0 * math.pi * k)
    if z.real == -math.inf:
        return complex(-z.real, 2.0 * math.pi * k + math.pi - z.imag)
    if z.real == 0.0 and z.imag == 0.0:
        return z if k == 0 else complex(-math.inf, 0.0)
    if z.real == 1.0 and z.imag == 0.0 and k == 0:
        return complex(OMEGA, 0.0)
    w = _guess(z, k)
    for _ in range(100):
        above = w + 1.0
        if above.real == 0.0 and above.imag == 0.0:
            return w  # the branch point
        if w.real >= 0.0:
            rest = w - z * np.exp(-w)
        else:
            large = np.exp(w)
            rest = w * large - z
            above = above * large
        slope = above - (w + 2.0) * rest / (2.0 * w + 2.0)
        if slope.real == 0.0 and slope.imag == 0.0:
            return w
        step = rest / slope
        w = w - step
        if math.hypot(step.real, step.imag) <= TOLERANCE * math.hypot(w.real, w.imag):
            return w
    return complex(math.nan, math.nan)


implements(_log, inline=False)(lambda z: _log)
implements(_guess, inline=False)(lambda z, k: _guess)
implements(_lambertw, inline=False)(lambda z, k: _lambertw)


@implements(lambertw, inline=False)
def _native_lambertw(z: Any, k: Any) -> Any:
    if not is_complex(z):
        return None
    kind = np.complex64 if z == types.complex64 else np.complex128
    return lambda z, k: kind(_lambertw(np.complex128(z), np.float64(k)))
