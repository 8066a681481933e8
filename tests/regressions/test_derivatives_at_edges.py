"""Derivatives to third order at the ends of domains, at poles, and where closed formulas cancel:
in every nesting of modes the exact ones, where rules had 0 in reverse mode and NaN in forward mode,
or digits of rounding alone. The values are of mpmath, or of polynomials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import special as sp

One = Callable[[Any], Any]
PI = np.pi

ROWS: dict[str, tuple[One, float, tuple[float, float, float]]] = {
    "betainc at 1": (lambda x: sp.betainc(0.5, 2.0, x), 1.0, (0.0, -0.75, 0.75)),
    "betainc at 0": (lambda x: sp.betainc(2.0, 3.0, x), 0.0, (0.0, 12.0, -48.0)),
    "betaincc at 0": (lambda x: sp.betaincc(3.0, 1.0, x), 0.0, (0.0, 0.0, -6.0)),
    "gammainc at 0": (lambda x: sp.gammainc(1.0, x), 0.0, (1.0, -1.0, 1.0)),
    "gammaincc at 0": (lambda x: sp.gammaincc(2.0, x), 0.0, (0.0, -1.0, 2.0)),
    "gdtr at 0": (lambda x: sp.gdtr(2.0, 1.0, x), 0.0, (2.0, -4.0, 8.0)),
    "fdtr by degrees": (
        lambda n: sp.fdtr(n, 0.5, 1.0), 1.0, (-0.12202501, 0.20020762, -0.47686785),
    ),
    "log_ndtr far above": (sp.log_ndtr, 40.0, (0.0, 0.0, 0.0)),
    "log_ndtr at 0": (sp.log_ndtr, 0.0, (0.7978846, -0.6366198, 0.2180136)),
    "zeta at -1": (sp.zeta, -1.0, (-0.1654211, -0.2502044, -0.3825315)),
    "zeta at -3": (sp.zeta, -3.0, (0.005378576, -0.014257862, -0.030953604)),
    "rgamma at a pole": (sp.rgamma, -2.0, (2.0, -3.6911373, -12.2604192)),
    "beta at a zero": (lambda a: sp.beta(a, 0.5), -0.5, (-2 * PI, -7.7120525, -144.5101717)),
    "poch at a zero": (lambda z: sp.poch(z, 0.5), -1.0, (3.5449077, -2.7387561, 68.4779554)),
    "binom at a zero": (lambda k: sp.binom(0.3, k), -1.0, (0.7692308, 1.8111624, -1.8497098)),
    "voigt_profile, narrow": (
        lambda s: sp.voigt_profile(0.3, s, 0.3), 1e-4, (5.8946268e-4, 5.8946218, -0.11789266),
    ),
    "dawsn far out": (sp.dawsn, 1e4, (-5e-9, 1e-12, -3e-16)),
    "boxcox of 0": (lambda p: sp.boxcox(0.0, p), 0.5, (4.0, -16.0, 96.0)),
    "boxcox1p of -1": (lambda p: sp.boxcox1p(-1.0, p), 0.5, (4.0, -16.0, 96.0)),
    "boxcox at 0": (lambda x: sp.boxcox(x, 2.0), 0.0, (0.0, 1.0, 0.0)),
}  # fmt: skip


def along(f: One) -> One:
    return lambda x: tg.jvp(f, (x,), (1.0,))[1]


NESTINGS: list[tuple[str, Callable[[One], One]]] = [
    ("r", tg.grad),
    ("f", along),
    ("rr", lambda f: tg.grad(tg.grad(f))),
    ("fr", lambda f: along(tg.grad(f))),
    ("rf", lambda f: tg.grad(along(f))),
    ("rrr", lambda f: tg.grad(tg.grad(tg.grad(f)))),
    ("fff", lambda f: along(along(along(f)))),
    ("rfr", lambda f: tg.grad(along(tg.grad(f)))),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ROWS)
def test_derivatives_are_exact_in_every_nesting(name: str) -> None:
    f, x, exact = ROWS[name]
    for word, nested in NESTINGS:
        found, wanted = float(nested(f)(x)), exact[len(word) - 1]
        assert found == pytest.approx(wanted, rel=2e-6, abs=1e-13 * bool(wanted == 0)), word


def test_integrals_of_numbers_beside_one_that_is_differentiated() -> None:
    slope = tg.grad(lambda x: np.sum(sp.elliprj(x, 1.0, 2.0, 3.0)))(np.ones(2))
    step = 1e-6
    ends = [float(sp.elliprj(1 + s, 1.0, 2.0, 3.0)) for s in (step, -step)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-7)
