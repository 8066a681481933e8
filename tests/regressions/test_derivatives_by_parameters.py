"""Derivatives of elliptic integrals by m and of zeta by x, where differences see least: against
numbers of 50 digits (mpmath's quadrature and zeta)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

# phi, m, dF/dm, d2F/dm2, dE/dm, d2E/dm2
ELLIPTIC = (
    (
        0.3,
        0.0,
        0.00441969082562058,
        0.00034920231578773804,
        -0.00441969082562058,
        -0.00011640077192924601,
    ),
    (
        1.2,
        1e-09,
        0.21556710261860917,
        0.18750304593805556,
        -0.21556710249360714,
        -0.06250101527122033,
    ),
    (
        1.5,
        0.9999999999,
        49.00218424849443,
        7377.492399055601,
        -1.1715912757055984,
        -23.915296488785945,
    ),
    (4.5, 0.9, 11.317372954364583, 109.39617686863676, -2.1434373242543914, -5.096630905616774),
    (
        -20.1,
        -30.0,
        -0.07992744597587866,
        -0.0033002078860219996,
        1.1077893240267498,
        0.01713103130084785,
    ),
    (
        0.001,
        0.5,
        1.666667083333343e-10,
        1.5000006250000366e-16,
        -1.666666583333313e-10,
        -5.0000002976188223e-17,
    ),
)
# x, q, and the derivatives of two orders by x
ZETA = (
    (1.0001, 0.4, -99999997.7470035, 2000000000002.7627),
    (2.0, 1.0, -0.9375482543158438, 1.989280234298901),
    (5.5, 0.001, 2.1844240200635402e17, 1.50894665561293e18),
    (30.0, 40.0, -6.250469661389718e-48, 2.3205780312837847e-47),
)


def both(f: Any, x: float) -> list[float]:
    once = tg.grad(f)
    return [float(once(x)), float(tg.grad(once)(x))]


@pytest.mark.parametrize("row", ELLIPTIC, ids=str)
def test_elliptic(row: Any) -> None:
    phi, m, *expected = row
    found = [d for f in (tg.special.ellipkinc, tg.special.ellipeinc)
             for d in both(lambda m, f=f: f(phi, m), m)]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    with np.errstate(all="raise"):
        tg.jvp(lambda m: tg.grad(lambda p: tg.special.ellipkinc(p, m))(phi), (m,), (1.0,))


def test_complete_are_halves_of_a_turn() -> None:
    m = np.array([-40.0, -1e-9, 0.0, 0.4, 0.999999])
    for whole, part in ((tg.special.ellipk, tg.special.ellipkinc),
                        (tg.special.ellipe, tg.special.ellipeinc)):  # fmt: skip
        for order in (tg.grad, lambda f: tg.grad(tg.grad(f))):
            one = tg.vmap(order(whole))(m)
            turn = tg.vmap(order(lambda m, f=part: f(7 * np.pi, m)))(m)
            np.testing.assert_allclose(turn, 14 * one, rtol=1e-11)


@pytest.mark.parametrize("row", ZETA, ids=str)
def test_zeta(row: Any) -> None:
    x, q, *expected = row
    np.testing.assert_allclose(both(lambda x: tg.special.zeta(x, q), x), expected, rtol=1e-12)
