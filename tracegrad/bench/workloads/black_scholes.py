"""Black and Scholes' price of a call option, and its five sensitivities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from ..workload import Floats, Function, Workload


def total_price(
    spot: Floats, strike: Floats, time: Floats, rate: Floats, volatility: Floats
) -> Any:
    spread = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread
    d2 = d1 - spread
    return np.sum(spot * normal(d1) - strike * np.exp(-rate * time) * normal(d2))


def normal(x: Any) -> Any:
    """The distribution function of the standard normal."""
    return 0.5 * (1 + special.erf(x / math.sqrt(2)))


def data(n: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(0)
    ranges = ((50.0, 150.0), (50.0, 150.0), (0.1, 2.0), (0.0, 0.1), (0.1, 0.6))
    return tuple(rng.uniform(low, high, n) for low, high in ranges)


def reference(
    spot: Floats, strike: Floats, time: Floats, rate: Floats, volatility: Floats
) -> list[Any]:
    root = np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / (volatility * root)
    n1, n2 = special.ndtr(d1), special.ndtr(d1 - volatility * root)
    density = np.exp(-0.5 * d1 * d1) / math.sqrt(2 * math.pi)
    discounted = strike * np.exp(-rate * time)
    theta = spot * density * volatility / (2 * root) + rate * discounted * n2
    return [
        np.sum(spot * n1 - discounted * n2),
        n1,
        -discounted / strike * n2,
        theta,
        time * discounted * n2,
        spot * density * root,
    ]


def loop(
    spot: Floats, strike: Floats, time: Floats, rate: Floats, volatility: Floats
) -> tuple[Any, ...]:
    n = spot.size
    delta, kappa, theta, rho, vega = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    total = 0.0
    for i in range(n):
        root = math.sqrt(time[i])
        spread = volatility[i] * root
        d1 = (
            math.log(spot[i] / strike[i]) + (rate[i] + 0.5 * volatility[i] ** 2) * time[i]
        ) / spread
        n1 = 0.5 * (1.0 + math.erf(d1 * 0.7071067811865476))
        n2 = 0.5 * (1.0 + math.erf((d1 - spread) * 0.7071067811865476))
        density = math.exp(-0.5 * d1 * d1) * 0.3989422804014327
        discount = math.exp(-rate[i] * time[i])
        later = strike[i] * discount * n2
        total += spot[i] * n1 - later
        delta[i] = n1
        kappa[i] = -discount * n2
        theta[i] = spot[i] * density * volatility[i] / (2.0 * root) + rate[i] * later
        rho[i] = time[i] * later
        vega[i] = spot[i] * density * root
    return total, delta, kappa, theta, rho, vega


def in_torch(torch: Any) -> Function:
    def f(spot: Any, strike: Any, time: Any, rate: Any, volatility: Any) -> Any:
        spread = volatility * torch.sqrt(time)
        d1 = (torch.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread
        d2 = d1 - spread
        n1, n2 = 0.5 * (1 + torch.erf(d1 / math.sqrt(2))), 0.5 * (1 + torch.erf(d2 / math.sqrt(2)))
        return torch.sum(spot * n1 - strike * torch.exp(-rate * time) * n2)

    return f


def in_casadi(ca: Any) -> Function:
    def f(spot: Any, strike: Any, time: Any, rate: Any, volatility: Any) -> Any:
        spread = volatility * ca.sqrt(time)
        d1 = (ca.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread
        n1, n2 = (
            0.5 * (1 + ca.erf(d1 / math.sqrt(2))),
            0.5 * (1 + ca.erf((d1 - spread) / math.sqrt(2))),
        )
        return ca.sum1(spot * n1 - strike * ca.exp(-rate * time) * n2)

    return f


WORKLOADS = (
    Workload(
        name="black_scholes",
        derivative="value_and_grad",
        doc=(
            "price of many call options and all five sensitivities: "
            "a long elementwise chain with log, exp, erf"
        ),
        function=total_price,
        data=data,
        sizes={"small": {"n": 1_000}, "default": {"n": 1_000_000}, "large": {"n": 4_000_000}},
        argnums=(0, 1, 2, 3, 4),
        reference=reference,
        numba=loop,
        elementwise=True,
        torch=in_torch,
        casadi=in_casadi,
    ),
)
