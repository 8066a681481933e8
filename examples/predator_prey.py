"""Fitting an ordinary differential equation
=========================================

Fitting an ordinary differential equation: Lotka and Volterra's model to the Hudson Bay Company's
pelts of hare and lynx, 1900-1920.

The solver is a loop of Runge-Kutta steps; the gradient of the misfit with respect to the four rates
and the two initial populations goes back through all of it, exactly. `tg.scan` keeps the loop over
the steps a loop in the compiled code; a Python loop would be unrolled.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import tracegrad as tg

# Thousands of pelts, hare and lynx (Howard, 2009, after Hewitt, 1921).
hare = [
    30.0,
    47.2,
    70.2,
    77.4,
    36.3,
    20.6,
    18.1,
    21.4,
    22.0,
    25.4,
    27.1,
    40.3,
    57.0,
    76.6,
    52.3,
    19.5,
    11.2,
    7.6,
    14.6,
    16.2,
    24.7,
]
lynx = [
    4.0,
    6.1,
    9.8,
    35.2,
    59.4,
    41.7,
    19.0,
    13.0,
    8.3,
    9.1,
    7.4,
    8.0,
    12.3,
    19.5,
    45.7,
    51.1,
    29.7,
    15.8,
    9.7,
    10.1,
    8.6,
]
pelts = np.column_stack([hare, lynx])
log_pelts = np.log(pelts)
STEPS_A_YEAR = 4
H = 1.0 / STEPS_A_YEAR
SIGN = np.array([1.0, -1.0])


def rate(u, growth, contact):
    """Hare grow and are eaten, lynx starve and eat: du/dt = +-u (growth - contact * the other)."""
    return SIGN * u * (growth - contact * u[::-1])


def step(u, growth, contact):
    """One classical Runge-Kutta step."""
    k1 = rate(u, growth, contact)
    k2 = rate(u + H / 2 * k1, growth, contact)
    k3 = rate(u + H / 2 * k2, growth, contact)
    k4 = rate(u + H * k3, growth, contact)
    return u + H / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def solve(growth, contact, u):
    """Populations at the start of each year."""
    _, path = tg.scan(
        lambda u, _: (step(u, growth, contact), u), u, length=STEPS_A_YEAR * len(pelts)
    )
    return path[::STEPS_A_YEAR]


@tg.jit
def misfit(logs):
    """Sum of squared errors of log pelts; all six parameters are positive, so their logarithms are
    fitted."""
    parameters = np.exp(logs)
    return np.sum(
        (np.log(solve(parameters[0:2], parameters[2:4], parameters[4:6])) - log_pelts) ** 2
    )


start = np.log([0.5, 0.8, 0.03, 0.03, 30.0, 4.0])
fit = minimize(tg.value_and_grad(misfit), start, jac=True, method="BFGS", options={"gtol": 1e-6})
curvature = tg.hessian(misfit)(fit.x)
variance = fit.fun / (pelts.size - len(fit.x))
errors = np.sqrt(np.diag(np.linalg.inv(curvature / 2)) * variance)

print(
    f"misfit {misfit(start):.3f} at the start, {fit.fun:.3f} after {fit.nit} steps; noise "
    f"of log pelts {np.sqrt(variance):.3f}\n"
)
labels = ["hare growth", "lynx decline", "hare eaten", "lynx fed", "hare in 1900", "lynx in 1900"]
for label, value, error in zip(labels, np.exp(fit.x), errors, strict=True):
    print(f"{label:14}{value:9.4f}  (+- {100 * error:.0f}%)")

fitted = solve(np.exp(fit.x[:2]), np.exp(fit.x[2:4]), np.exp(fit.x[4:]))
print("\nyear      hare  fitted      lynx  fitted")
for k in range(0, 21, 4):
    print(f"{1900 + k} {pelts[k, 0]:9.1f}{fitted[k, 0]:8.1f} {pelts[k, 1]:9.1f}{fitted[k, 1]:8.1f}")
assert np.linalg.norm(fit.jac) < 1e-3
assert fit.fun < 3.0

# %%
# Pelts and the fitted solution.
figure, axes = plt.subplots(layout="constrained")
years = 1900 + np.arange(len(pelts))
for k, (name, colour) in enumerate([("hare", "C0"), ("lynx", "C1")]):
    axes.plot(years, pelts[:, k], "o", color=colour)
    axes.plot(years, fitted[:, k], color=colour, label=name)
axes.set(xlabel="year", ylabel="thousands of pelts")
axes.legend()
plt.show()
