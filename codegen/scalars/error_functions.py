"""The error functions of complex numbers, by the Faddeeva function.

w(z) = exp(-z^2) erfc(-iz) in the first quadrant is the midpoint or the trapezoidal rule for its
integral, with what the poles add where they are near (Al Azah and Chandler-Wilde, "Computation of
the complex error function using modified trapezoidal rules", 2021): 12 terms, a relative error
below 3e-15. Elsewhere follow w(-conj z) = conj w(z) and w(-z) = 2 exp(-z^2) - w(z).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from .value import Body, Scalar

STEP = math.sqrt(math.pi / 12)
HIGH = math.pi / STEP
"""From this imaginary part on the poles add nothing."""
FAR = 1e8
SMALL = 1.2
"""Up to this size erf is its power series, where 1 - exp(-z^2) w(iz) would cancel."""
ROOT_PI = math.sqrt(math.pi)
W, ERF, ERFC = 0, 1, 2


def _scipy(name: str) -> Callable[[Any], Any]:
    """A function of `scipy.special`, which is loaded at its first use."""
    return lambda x: getattr(scipy.special, name)(x)


def _body(which: int) -> Body:
    """One of the three functions of one complex number, all in one text: a body calls no other."""

    def body(given: Any) -> Any:
        z = np.complex128(given)
        a, b = z.real, z.imag
        if which != W and b == 0:
            return complex(
                math.erf(a) if which == ERF else math.erfc(a), -b if which == ERFC else b
            )
        if which == ERF and a * a + b * b < SMALL * SMALL:
            term = z * (2 / ROOT_PI)
            series = term
            for n in range(1, 32):
                term = term * (-(z * z)) / n
                series += term / (2 * n + 1)
            return series
        # w is asked for at x + iy: iz or, for z in the left half, -iz.
        turned = which != W and a < 0
        x = a if which == W else (b if turned else -b)
        y = b if which == W else abs(a)
        below = y < 0
        if below:
            x, y = -x, -y
        left = x < 0
        x = abs(x)
        size = math.hypot(x, y)
        if size > FAR:
            w = complex(y / size / size / ROOT_PI, x / size / size / ROOT_PI)
            if size == math.inf:
                w = complex(0.0, 0.0)
        else:
            place: Any = complex(x, y)
            square: Any = complex((x - y) * (x + y), 2 * x * y)
            phase = x / STEP - math.floor(x / STEP)
            whole = y < x and abs(phase - 0.5) <= 0.25
            total = complex(0.0, 0.0)
            for k in range(1 if whole else 0, 12):
                t = k * STEP if whole else (k + 0.5) * STEP
                total += math.exp(-t * t) / (square - t * t)
            w = complex(0.0, 2 * STEP / math.pi) * place * total
            if whole:
                w += complex(0.0, STEP / math.pi) / place
            if y < HIGH:
                size = math.exp((y - x) * (y + x))
                bell = complex(size * math.cos(2 * x * y), -size * math.sin(2 * x * y))
                size = math.exp(2 * math.pi / STEP * y)
                angle = 2 * math.pi / STEP * x
                turn = complex(size * math.cos(angle), -size * math.sin(angle))
                w += 2 * bell / (1 - turn if whole else 1 + turn)
        if left:
            w = complex(w.real, -w.imag)
        if which == W and not below:
            return w
        power = (b - a) * (b + a)
        # Beyond the range of floats it is infinite, and no error.
        size = math.exp(power) if power < 709.7 else (math.inf if power == power else power)
        bell = complex(size * math.cos(2 * a * b), -size * math.sin(2 * a * b))
        if which == W:
            return 2 * bell - w
        tail = bell * w
        if which == ERFC:
            return 2 - tail if turned else tail
        return tail - 1 if turned else 1 - tail

    return body


SCALARS = (
    Scalar("erf", _scipy("erf"), "vector", _body(ERF), "math.erf", cost=30, ulp=(2.0, 2.0)),
    Scalar("erfc", _scipy("erfc"), "vector", _body(ERFC), "math.erfc", cost=33, ulp=(3.6, 3.6)),
    Scalar("wofz", _scipy("wofz"), "complex", _body(W), cost=400),
)
