"""Inverses of error functions, and gamma functions, SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from .value import Scalar


def _scipy(name: str) -> Callable[[Any], Any]:
    """A function of `scipy.special`, which is loaded at its first use."""
    return lambda x: getattr(scipy.special, name)(x)


FAR_BELOW = -20.0
"""Below, derivatives of digamma are found by reflection: recurrences take a step a unit."""


def scipys_polygamma(n: int, x: Any) -> Any:
    """SciPy's, whose sum takes a step a unit below 0 (years, at -1e16), with reflection there."""
    x = np.asarray(x)
    far = x < FAR_BELOW
    if n == 0 or not far.any():
        return scipy.special.polygamma(n, x)
    with np.errstate(invalid="ignore"):
        part = np.where(far, x - np.floor(x), x)
    value = scipy.special.polygamma(n, np.where(far & np.isnan(part), 0.0, part))
    mirrored = np.where(far & (part > 0), part, 0.5)
    # Both halves of the sum over all integers first: they may cancel.
    sign = 1.0 if n % 2 else -1.0
    all_of_them = value + sign * scipy.special.polygamma(n, 1 - mirrored)
    beyond = sign * scipy.special.polygamma(n, 1 - np.where(far, x, 0.0))
    return np.where(far & (part > 0), all_of_them - beyond, value)


def _trigamma(x: Any) -> Any:
    value = scipys_polygamma(1, x)
    return np.float32(value) if isinstance(x, np.float32) else np.float64(value)


SEVERAL = (
    "airy_ai airy_aip airy_bi airy_bip airye_ai airye_aip airye_bi airye_bip cosh_integral "
    "cosine_integral elliptic_amplitude fresnel_cosine fresnel_sine integral_i0 "
    "integral_i0_over integral_j0 integral_j0_over "
    "integral_k0 integral_k0_over integral_y0 integral_y0_over sine_integral sinh_integral "
    "weber_w weber_wp"
)
SCALARS = (
    Scalar(
        "erfinv",
        _scipy("erfinv"),
        "scipy erfinv",
        device=("libdevice.erfinv", "libdevice.erfinvf"),
        cost=240,
    ),
    Scalar(
        "ndtri",
        _scipy("ndtri"),
        "scipy ndtri",
        device=("libdevice.normcdfinv", "libdevice.normcdfinvf"),
        cost=240,
    ),
    Scalar("gamma", _scipy("gamma"), "scipy gamma", device="math.gamma", cost=120),
    Scalar("lgamma", _scipy("gammaln"), "scipy gammaln", device="bodies.lgamma", cost=180),
    Scalar("digamma", _scipy("psi"), "scipy psi", device="double bodies.digamma", cost=170),
    Scalar(
        "trigamma", _trigamma, "vector", device="double bodies.trigamma", cost=60, ulp=(4.0, 4.0)
    ),
    Scalar("polygamma", native="special", cost=60),
    Scalar("zeta", native="special", cost=60),
    Scalar("lambertw", native="lambert", cost=400),
    *[
        Scalar(name, native="guarded", cost=400)
        for name in ("ellipeinc_by_m", "ellipkinc_by_m", "expn", "hyp0f1", "hyp1f1", "kn", "yn")
    ],
    *[Scalar(name, native="several", cost=400) for name in SEVERAL.split()],
)
