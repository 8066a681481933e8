"""A mixture of distributions by Newton's method
=============================================

A mixture of three normal distributions for the velocities of 82 galaxies in the Corona Borealis
region, by Newton's method.

Mixtures are usually fitted by expectation-maximisation because their Hessian is tedious to write.
Here it is one call, so the fit converges in a few steps and comes with standard errors.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import tracegrad as tg

# Kilometres per second (Postman, Huchra and Geller, 1986; Roeder, 1990).
# fmt: off
velocity = np.array([
    9172, 9350, 9483, 9558, 9775, 10227, 10406, 16084, 16170, 18419, 18552, 18600, 18927, 19052,
    19070, 19330, 19343, 19349, 19440, 19473, 19529, 19541, 19547, 19663, 19846, 19856, 19863,
    19914, 19918, 19973, 19989, 20166, 20175, 20179, 20196, 20215, 20221, 20415, 20629, 20795,
    20821, 20846, 20875, 20986, 21137, 21492, 21701, 21814, 21921, 21960, 22185, 22209, 22242,
    22249, 22314, 22374, 22495, 22746, 22747, 22888, 22914, 23206, 23241, 23263, 23484, 23538,
    23542, 23666, 23706, 23711, 24129, 24285, 24289, 24366, 24717, 24990, 25633, 26690, 26995,
    32065, 32789, 34279
], dtype=float)
# fmt: on
x = velocity / 1000.0
K = 3


@tg.jit
def negative_log_likelihood(parameters, x):
    logits = np.concatenate([np.zeros(1), parameters[: K - 1]])
    means, log_deviations = parameters[K - 1 : 2 * K - 1], parameters[2 * K - 1 :]
    log_weights = logits - np.log(np.sum(np.exp(logits)))
    z = (x[:, None] - means) / np.exp(log_deviations)
    terms = log_weights - log_deviations - 0.5 * np.log(2 * np.pi) - 0.5 * z**2
    largest = np.max(terms, axis=1)
    return -np.sum(largest + np.log(np.sum(np.exp(terms - largest[:, None]), axis=1)))


start = np.array([2.0, 0.0, 10.0, 21.0, 33.0, 0.0, 0.7, 0.0])
hessian = tg.hessian(negative_log_likelihood)
value_and_gradient = tg.value_and_grad(negative_log_likelihood)
fit = minimize(
    value_and_gradient,
    start,
    args=(x,),
    jac=True,
    hess=hessian,
    method="trust-exact",
    options={"gtol": 1e-8},
)
errors = np.sqrt(np.diag(np.linalg.inv(hessian(fit.x, x))))
weights = np.exp(np.concatenate([[0.0], fit.x[:2]]))
weights /= weights.sum()

print(
    f"{len(x)} galaxies, log-likelihood {-fit.fun:.4f} after {fit.nit} Newton steps, BIC "
    f"{2 * fit.fun + 8 * np.log(len(x)):.2f}\n"
)
print("weight       mean (1000 km/s)        deviation")
for k in range(K):
    deviation = np.exp(fit.x[5 + k])
    print(
        f"{weights[k]:6.3f} {fit.x[2 + k]:12.3f} +- {errors[2 + k]:.3f} {deviation:14.3f} "
        f"+- {deviation * errors[5 + k]:.3f}"
    )
assert len(x) == 82
assert np.linalg.norm(fit.jac) < 1e-6
assert np.all(np.linalg.eigvalsh(hessian(fit.x, x)) > 0)

# %%
# The velocities, and the density with its three parts.
figure, axes = plt.subplots(layout="constrained")
axes.hist(x, bins=40, density=True, alpha=0.4)
at = np.linspace(8.0, 36.0, 600)
deviations = np.exp(fit.x[5:])
parts = weights * np.exp(-0.5 * ((at[:, None] - fit.x[2:5]) / deviations) ** 2)
parts /= deviations * np.sqrt(2 * np.pi)
axes.plot(at, parts, linewidth=0.8)
axes.plot(at, parts.sum(axis=1), color="black")
axes.set(xlabel="velocity (1000 km/s)", ylabel="density")
plt.show()
