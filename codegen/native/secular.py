"""The zeros of secular equations, 1 / rho + sum(z_i^2 / (D_i - x)) = 0 with ascending D and rho
above 0: the eigenvalues of D + rho z z^T, one above each pole.

Each is counted from the nearer of its two poles, so that its distances from all poles keep their
digits, and found by steps to the zero of a sum of two poles that has the value and the slopes of
the whole (Bunch, Nielsen and Sorensen, Rank-one modification of the symmetric eigenproblem, 1978;
Li, Solving secular equations stably and efficiently, 1993), in an interval that is halved where
steps are slow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .bridge import compiled
from .by_address import get, put, shifted
from .support import acc, fabs_float, index, outlined, select, sqrt_float

__all__ = ["LANES", "secular"]

LANES = 16
"""What is read along vectors has weights of zero behind it, up to a multiple of these."""
ROUNDS = 80
"""Steps to a zero: three to six are usual."""


def secular(dtype: str) -> Callable[..., Any]:
    """The function that finds all zeros, ascending."""
    t = np.dtype(dtype).type
    zero, one, two, eight = t(0), t(1), t(2), t(8)
    half, four, tenth, eps = t(0.5), t(4), t(0.1), t(np.finfo(dtype).eps / 2)

    @compiled
    def sums(padded, z, poles, x):  # type: ignore[no-untyped-def]
        """Of z_i^2 / (p_i - x) and its derivative, over poles below x and over those above."""
        outlined()
        below, above, slope_below, slope_above = zero, zero, zero, zero
        for i in range(index(0), padded):
            weight = get(z, i)
            ratio = weight / (get(poles, i) - x)
            value, slope = weight * ratio, ratio * ratio
            under = value < zero
            below = acc(below, select(under, value, zero))
            above = acc(above, select(under, zero, value))
            slope_below = acc(slope_below, select(under, slope, zero))
            slope_above = acc(slope_above, select(under, zero, slope))
        return below, above, slope_below, slope_above

    @compiled
    def from_pole(padded, diagonal, origin, poles):  # type: ignore[no-untyped-def]
        outlined()
        for i in range(index(0), padded):
            put(poles, i, get(diagonal, i) - origin)

    @compiled
    def first_guess(c, f, gap, near, far, last):  # type: ignore[no-untyped-def]
        """The zero of c and two poles alone, from the pole that the interval is counted from: one
        is there, with the weight `near`, and the other `gap` away."""
        a, b = near + far, near * gap
        if last:
            a = a - c * gap
        elif f >= zero:
            a = a + c * gap
        else:
            a = c * gap - a
        if last:
            root = sqrt_float(fabs_float(a * a + four * b * c))
            found = two * b / (root - a) if a < zero else (a + root) / (two * c)
        elif f >= zero:
            root = sqrt_float(fabs_float(a * a - four * b * c))
            found = two * b / (a + root) if a > zero else (a - root) / (two * c)
        else:
            root = sqrt_float(fabs_float(a * a + four * b * c))
            found = two * b / (a - root) if a < zero else -(a + root) / (two * c)
        return found

    @compiled
    def step(f, left, right, slope_left, slope_right, last, rest):  # type: ignore[no-untyped-def]
        """To the zero of a sum of two poles, `left` and `right` from here, that has the value and
        the slopes of now: each pole stands for all on its side."""
        both, slopes = left * right, slope_left + slope_right
        a, b = (left + right) * f - both * slopes, both * f
        c = f - left * slope_left - right * slope_right
        root = sqrt_float(fabs_float(a * a - four * b * c))
        if last:
            c = fabs_float(c)
            if c == zero:
                found = rest
            else:
                root = sqrt_float(fabs_float(a * a - four * b * c))
                found = (a + root) / (two * c) if a >= zero else two * b / (a - root)
        elif a <= zero:
            found = (a - root) / (two * c) if c != zero else b / a
        else:
            found = two * b / (a + root)
        return found if f * found < zero else -f / slopes

    @compiled
    def zeros(k, padded, diagonal, z, rho, found, rows, apart):  # type: ignore[no-untyped-def]
        """The k zeros into `found`, and the poles as seen from each into its row."""
        outlined()
        o, unit, inverse = index(0), index(1), one / rho
        for j in range(o, k):
            row, last = shifted(rows, j * apart), j + unit == k
            gap = rho if last else get(diagonal, j + unit) - get(diagonal, j)
            origin, middle = get(diagonal, j), half * gap
            if k == unit:
                put(found, j, origin + rho)
                put(row, o, -rho)
                return
            from_pole(padded, diagonal, origin, row)  # type: ignore[no-untyped-call]
            of_middle = sums(padded, z, row, middle)  # type: ignore[no-untyped-call]
            f = inverse + of_middle[0] + of_middle[1]
            left, right = (j - unit, j) if last else (j, j + unit)
            weight_left, weight_right = get(z, left), get(z, right)
            weight_left, weight_right = weight_left * weight_left, weight_right * weight_right
            c = (
                f
                - weight_left / (get(row, left) - middle)
                - weight_right / (get(row, right) - middle)
            )
            low, high = (zero, middle) if f >= zero else (middle, gap)
            if last:
                x = first_guess(c, f, -get(row, left), weight_right, weight_left, True)  # type: ignore[no-untyped-call]
            elif f >= zero:
                x = first_guess(c, f, gap, weight_left, weight_right, False)  # type: ignore[no-untyped-call]
            else:
                origin = get(diagonal, right)
                low, high = -middle, zero
                from_pole(padded, diagonal, origin, row)  # type: ignore[no-untyped-call]
                x = first_guess(c, f, gap, weight_right, weight_left, False)  # type: ignore[no-untyped-call]
            if not (x > low and x < high):
                x = half * (low + high)
            before, rounds = inverse, o
            while rounds < index(ROUNDS):
                rounds += unit
                now = sums(padded, z, row, x)  # type: ignore[no-untyped-call]
                below, above, slope_below, slope_above = now[0], now[1], now[2], now[3]
                f, slopes = inverse + below + above, slope_below + slope_above
                if fabs_float(f) <= eps * (
                    eight * (above - below + inverse) + fabs_float(x) * slopes
                ):
                    rounds = index(ROUNDS)
                else:
                    if f < zero:
                        low = x
                    else:
                        high = x
                    to_left, to_right = get(row, left) - x, get(row, right) - x
                    if last:
                        # Of poles that are all below, the last stands for itself.
                        slope_above = weight_right / (to_right * to_right)
                        slope_below = max(slopes - slope_above, zero)
                    new = x + step(  # type: ignore[no-untyped-call]
                        f, to_left, to_right, slope_below, slope_above, last, gap - x
                    )
                    slow = rounds > unit + unit and fabs_float(f) > tenth * before
                    if slow or not (new > low and new < high):
                        new = half * (low + high)
                    if new == x:
                        rounds = index(ROUNDS)
                    before, x = fabs_float(f), new
            for i in range(o, padded):
                put(row, i, get(row, i) - x)
            put(found, j, origin + x)

    return zeros
