"""A Gaussian process for the Nile
===============================

A Gaussian process for the yearly flow of the Nile at Aswan, 1871-1970: hyperparameters by
maximum marginal likelihood.

The likelihood goes through a Cholesky factor of a 100 x 100 covariance matrix; its gradient is
compiled with it.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import tracegrad as tg

# Annual discharge in 10^8 cubic metres (Cobb, 1978).
# fmt: off
flow = np.array([
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180,
    799, 958, 1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833,
    701, 916, 692, 1020, 1050, 969, 831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845,
    864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649,
    846, 812, 742, 801, 1040, 860, 874, 848, 890, 744, 749, 838, 1050, 918, 986, 797, 923, 975, 815,
    1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740
], dtype=float)
# fmt: on
year = np.arange(1871.0, 1971.0)
y = (flow - flow.mean()) / flow.std()
distance = np.abs(year[:, None] - year[None, :])


def kernel(r, amplitude, length):
    """Matern covariance of smoothness 3/2."""
    s = np.sqrt(3.0) * r / length
    return amplitude**2 * (1.0 + s) * np.exp(-s)


@tg.jit
def negative_log_likelihood(logs, distance, y):
    amplitude, length, noise = np.exp(logs[0]), np.exp(logs[1]), np.exp(logs[2])
    covariance = kernel(distance, amplitude, length) + noise**2 * np.eye(len(y))
    factor = np.linalg.cholesky(covariance)
    alpha = np.linalg.solve(factor, y)
    return (
        0.5 * np.sum(alpha**2)
        + np.sum(np.log(np.diagonal(factor)))
        + 0.5 * len(y) * np.log(2 * np.pi)
    )


both = tg.value_and_grad(negative_log_likelihood)
start = np.log([1.0, 10.0, 1.0])
fit = minimize(both, start, args=(distance, y), jac=True, method="BFGS")
amplitude, length, noise = np.exp(fit.x)
print(
    f"log-likelihood {-both(start, distance, y)[0]:.4f} at the start, {-fit.fun:.4f} "
    f"after {fit.nit} steps"
)
print(
    f"amplitude {amplitude * flow.std():.0f}, noise {noise * flow.std():.0f} (10^8 m3), "
    f"correlation length {length:.1f} years\n"
)

weights = np.linalg.solve(kernel(distance, amplitude, length) + noise**2 * np.eye(100), y)
smooth = flow.mean() + flow.std() * kernel(distance, amplitude, length) @ weights
for k in range(0, 100, 11):
    print(
        f"{year[k]:.0f}  measured {flow[k]:5.0f}  smoothed {smooth[k]:5.0f}  "
        + "#" * round((smooth[k] - 700) / 10)
    )

h = 1e-6
differences = [
    (both(fit.x + h * e, distance, y)[0] - both(fit.x - h * e, distance, y)[0]) / (2 * h)
    for e in np.eye(3)
]
assert np.allclose(both(fit.x, distance, y)[1], differences, atol=1e-6)
assert np.isclose(flow.mean(), 919.35)
assert np.linalg.norm(fit.jac) < 1e-3

# %%
# The flow of each year, its mean under the fitted process, and two standard deviations of that.
covariance = kernel(distance, amplitude, length)
known = np.linalg.solve(covariance + noise**2 * np.eye(100), covariance)
band = 2 * flow.std() * np.sqrt(np.diag(covariance - covariance @ known))
figure, axes = plt.subplots(layout="constrained")
axes.plot(year, flow, ".", color="black")
axes.plot(year, smooth)
axes.fill_between(year, smooth - band, smooth + band, alpha=0.3)
axes.set(xlabel="year", ylabel="flow of the Nile, 10^8 cubic metres")
plt.show()
