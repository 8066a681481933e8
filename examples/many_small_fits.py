"""One hundred thousand small fits
===============================

One hundred thousand small fits in parallel: a compiled gradient and Hessian called from the
user's own Numba code.

Each fit finds amplitude and decay of an exponential from twelve noisy counts (as for the pixels of
a fluorescence-lifetime image) by Newton's method. `njit()` turns value, gradient and Hessian into
functions that `@njit` code calls without going through Python.
"""

from __future__ import annotations

import time

import matplotlib.pyplot as plt
import numpy as np
from numba import njit, prange
from scipy.optimize import minimize

import tracegrad as tg

t = np.linspace(0.0, 5.5, 12)


@tg.jit
def deviance(p, t, counts):
    """Minus the Poisson log-likelihood of counts with mean exp(p0) exp(-exp(p1) t), up to a
    constant."""
    log_mean = p[0] - np.exp(p[1]) * t
    return np.sum(np.exp(log_mean) - counts * log_mean)


example = (np.zeros(2), t, np.zeros(12))
value_and_gradient = tg.value_and_grad(deviance).njit(*example)
hessian = tg.hessian(deviance).njit(*example)


@njit(parallel=True)
def fit_all(t, counts, estimates):
    for k in prange(len(counts)):
        p = estimates[k]
        p[0], p[1] = np.log(counts[k].max() + 1.0), -0.5
        step = np.empty(2)
        for _ in range(50):
            value, g = value_and_gradient(p, t, counts[k])
            H = hessian(p, t, counts[k])
            # A ridge keeps the step a descent direction far from the minimum, where the Hessian may
            # be indefinite.
            ridge = max(
                0.0,
                1e-3 * (H[0, 0] + H[1, 1])
                - min(H[0, 0], H[1, 1], (H[0, 0] * H[1, 1] - H[0, 1] ** 2) / (H[0, 0] + H[1, 1])),
            )
            a, b, d = H[0, 0] + ridge, H[0, 1], H[1, 1] + ridge
            step[0], step[1] = (
                (d * g[0] - b * g[1]) / (a * d - b * b),
                (a * g[1] - b * g[0]) / (a * d - b * b),
            )
            length = 1.0
            while length > 1e-6 and value_and_gradient(p - length * step, t, counts[k])[0] > value:
                length *= 0.5
            p -= length * step
            if abs(g[0]) + abs(g[1]) < 1e-8 * counts[k].sum():
                break


rng = np.random.default_rng(0)
n = 100_000
truth = np.column_stack([np.log(rng.uniform(150.0, 400.0, n)), np.log(rng.uniform(0.4, 1.2, n))])
counts = rng.poisson(np.exp(truth[:, :1] - np.exp(truth[:, 1:]) * t)).astype(float)
estimates = np.empty((n, 2))
fit_all(t, counts[:10], estimates[:10])  # compiles

began = time.perf_counter()
fit_all(t, counts, estimates)
seconds = time.perf_counter() - began
lifetimes, true_lifetimes = np.exp(-estimates[:, 1]), np.exp(-truth[:, 1])
print(f"{n} fits in {seconds:.2f} s, {1e6 * seconds / n:.1f} microseconds each")
ratios = lifetimes / true_lifetimes
print(
    f"lifetimes: median relative error {np.median(np.abs(ratios - 1)):.3%}, bias "
    f"{np.mean(ratios - 1):+.3%}"
)

both = tg.value_and_grad(deviance)
largest = max(np.abs(both(estimates[k], t, counts[k])[1]).max() for k in range(0, n, 1000))
one = minimize(both, estimates[0] + 0.1, args=(t, counts[0]), jac=True)
print(f"largest gradient entry left in 100 of them: {largest:.1e}")
assert np.allclose(one.x, estimates[0], atol=1e-5)
assert largest < 1e-4

# %%
# Fitted against true lifetimes.
figure, axes = plt.subplots(layout="constrained")
axes.hexbin(true_lifetimes, lifetimes, gridsize=60, mincnt=1, bins="log")
axes.plot([0.8, 2.6], [0.8, 2.6], color="red", linewidth=0.8)
axes.set(xlabel="true lifetime", ylabel="fitted lifetime")
plt.show()
