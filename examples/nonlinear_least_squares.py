"""Least squares against certified values
======================================

Non-linear least squares on NIST's Misra1a data (dental adsorption), against the certified
values.

Gauss-Newton needs the Jacobian of the residuals; `tg.jacobian` chooses forward mode here, as two
parameters face 14 residuals. The same Jacobian serves `scipy.optimize.least_squares`, from the more
distant of NIST's two starting points.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import tracegrad as tg

# Statistical Reference Datasets, NIST: volume adsorbed against pressure (Misra, 1978).
volume = np.array(
    [
        10.07,
        14.73,
        17.94,
        23.93,
        29.61,
        35.18,
        40.02,
        44.82,
        50.76,
        55.05,
        61.01,
        66.40,
        75.47,
        81.78,
    ]
)
pressure = np.array(
    [
        77.6,
        114.9,
        141.1,
        190.8,
        239.9,
        289.0,
        332.8,
        378.4,
        434.8,
        477.3,
        536.8,
        593.1,
        689.1,
        760.0,
    ]
)
CERTIFIED = np.array([2.3894212918e02, 5.5015643181e-04])
CERTIFIED_DEVIATIONS = np.array([2.7070075241e00, 7.2668688436e-06])
CERTIFIED_SUM_OF_SQUARES = 1.2455138894e-01


@tg.jit
def residuals(b, x, y):
    return b[0] * (1.0 - np.exp(-b[1] * x)) - y


jacobian = tg.jacobian(residuals)

b = np.array([250.0, 0.0005])
print("Gauss-Newton      b1            b2        sum of squares")
for step in range(10):
    r, J = residuals(b, pressure, volume), jacobian(b, pressure, volume)
    print(f"{step:6d} {b[0]:16.8f} {b[1]:13.6e} {r @ r:16.10f}")
    change = np.linalg.lstsq(J, -r, rcond=None)[0]
    b = b + change
    if np.all(np.abs(change) < 1e-12 * np.abs(b)):
        break

r, J = residuals(b, pressure, volume), jacobian(b, pressure, volume)
deviations = np.sqrt(np.diag(np.linalg.inv(J.T @ J)) * (r @ r) / (len(r) - len(b)))
far = least_squares(
    residuals,
    [500.0, 0.0001],
    jac=jacobian,
    args=(pressure, volume),
    x_scale="jac",
    xtol=1e-15,
    ftol=1e-15,
    gtol=1e-15,
)

titles = "estimate", "certified", "deviation", "certified", "least_squares"
print(f"\n{'':14}" + "".join(f"{title:>18}" for title in titles))
for k, row in enumerate(zip(b, CERTIFIED, deviations, CERTIFIED_DEVIATIONS, far.x, strict=True)):
    print(f"b{k + 1:<13}" + "".join(f"{number:18.10e}" for number in row))
assert np.allclose(b, CERTIFIED, rtol=1e-9)
assert np.allclose(deviations, CERTIFIED_DEVIATIONS, rtol=1e-8)
assert np.isclose(r @ r, CERTIFIED_SUM_OF_SQUARES, rtol=1e-9)
assert np.allclose(far.x, CERTIFIED, rtol=1e-6)

# %%
# The data with the curve, and what is left.
figure, (above, below) = plt.subplots(2, sharex=True, height_ratios=[3, 1], layout="constrained")
at = np.linspace(0.0, 800.0, 200)
above.plot(at, b[0] * (1.0 - np.exp(-b[1] * at)))
above.plot(pressure, volume, ".", color="black")
above.set(ylabel="volume")
below.stem(pressure, r)
below.set(xlabel="pressure", ylabel="residual")
plt.show()
