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


def _trigamma(x: Any) -> Any:
    value = scipy.special.polygamma(1, x)
    return np.float32(value) if isinstance(x, np.float32) else np.float64(value)


SEVERAL = (
    "airy_ai airy_aip airy_bi airy_bip airye_ai airye_aip airye_bi airye_bip cosh_integral "
    "cosine_integral elliptic_amplitude fresnel_cosine fresnel_sine sine_integral sinh_integral"
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
