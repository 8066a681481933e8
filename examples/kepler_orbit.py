"""An orbit, and a derivative of one's own
=======================================

A derivative of one's own: Kepler's equation is solved by iteration and differentiated by the
implicit function theorem.

An orbit's position follows from E - e sin(E) = M. Newton's iteration finds E, but the derivative
needs none of the iterates: dE = (dM + sin(E) de) / (1 - e cos(E)). `custom_jvp` says so once;
reverse mode, Hessians and jit follow from that one rule.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import tracegrad as tg


@tg.custom_jvp
def eccentric_anomaly(e, M):
    """E with E - e sin(E) = M."""
    E = M + e * np.sin(M)
    for _ in range(12):
        E = E - (E - e * np.sin(E) - M) / (1.0 - e * np.cos(E))
    return E


@eccentric_anomaly.defjvp
def _(primals, tangents):
    (e, M), (de, dM) = primals, tangents
    E = eccentric_anomaly(e, M)
    return E, (dM + np.sin(E) * de) / (1.0 - e * np.cos(E))


def radial_velocity(orbit, t):
    """Velocity of a star along the line of sight, in m/s, that a planet pulls around: (period,
    eccentricity, K, phase, direction)."""
    period, e, K, phase, omega = orbit[0], orbit[1], orbit[2], orbit[3], orbit[4]
    E = eccentric_anomaly(e, 2 * np.pi * (t / period - phase))
    cosine, sine = (
        (np.cos(E) - e) / (1 - e * np.cos(E)),
        np.sqrt(1 - e**2) * np.sin(E) / (1 - e * np.cos(E)),
    )
    return K * (np.cos(omega) * (cosine + e) - np.sin(omega) * sine)


@tg.jit
def residuals(orbit, t, measured):
    return radial_velocity(orbit, t) - measured


# Measurements as of a planet on an eccentric orbit, with an error of 3 m/s each.
rng = np.random.default_rng(1)
truth = np.array([58.1, 0.6, 120.0, 0.3, 1.1])
t = np.sort(rng.uniform(0.0, 400.0, 60))
measured = radial_velocity(truth, t) + rng.normal(0.0, 3.0, 60)

jacobian = tg.jacobian(residuals)
fit = least_squares(
    residuals, [58.0, 0.4, 100.0, 0.32, 1.0], jac=jacobian, args=(t, measured), x_scale="jac"
)
J = jacobian(fit.x, t, measured)
errors = 3.0 * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
print(f"{'':14}{'true':>8}{'fitted':>10}")
for name, true, value, error in zip(
    ["period", "eccentricity", "amplitude", "phase", "direction"], truth, fit.x, errors, strict=True
):
    print(f"{name:14}{true:8.3f}{value:10.4f} +- {error:.4f}")

slope = tg.grad(eccentric_anomaly)(0.6, 1.0)
E = eccentric_anomaly(0.6, 1.0)
h = 1e-6
print(f"\ndE/de at e = 0.6, M = 1: {slope:.12f}")
print(f"d2E/de2:                {tg.grad(tg.grad(eccentric_anomaly))(0.6, 1.0):.12f}")
assert np.isclose(slope, np.sin(E) / (1 - 0.6 * np.cos(E)), rtol=1e-12)
assert np.isclose(
    tg.grad(tg.grad(eccentric_anomaly))(0.6, 1.0),
    (tg.grad(eccentric_anomaly)(0.6 + h, 1.0) - tg.grad(eccentric_anomaly)(0.6 - h, 1.0)) / (2 * h),
    rtol=1e-7,
)
assert np.all(np.abs(fit.x - truth) < 5 * errors)

# %%
# The measurements and the fitted orbit.
figure, axes = plt.subplots(layout="constrained")
times = np.linspace(0.0, 400.0, 800)
axes.plot(times, radial_velocity(fit.x, times))
axes.errorbar(t, measured, 3.0, fmt=".", color="black")
axes.set(xlabel="days", ylabel="radial velocity, m/s")
plt.show()
