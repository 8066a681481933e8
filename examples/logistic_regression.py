"""Logistic regression with standard errors
========================================

Logistic regression on the Wisconsin breast-cancer table: fitted with SciPy, standard errors from
the exact Hessian.

The loss is a plain NumPy function. SciPy's trust-region Newton method gets its value, gradient and
Hessian compiled; the inverse of the Hessian at the optimum is the covariance of the estimates,
which finite differences would only approximate.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer

import tracegrad as tg

table = load_breast_cancer()
names = ["mean radius", "mean texture", "mean smoothness", "mean concavity", "mean symmetry"]
columns = [list(table.feature_names).index(name) for name in names]
X = table.data[:, columns]
X = np.column_stack([np.ones(len(X)), (X - X.mean(0)) / X.std(0)])
malignant = (table.target == 0).astype(float)


@tg.jit
def negative_log_likelihood(w, X, y):
    z = X @ w
    return np.sum(np.logaddexp(0.0, z) - y * z)


fit = minimize(
    tg.value_and_grad(negative_log_likelihood),
    np.zeros(X.shape[1]),
    args=(X, malignant),
    jac=True,
    hess=tg.hessian(negative_log_likelihood),
    method="trust-exact",
    options={"gtol": 1e-9},
)
information = tg.hessian(negative_log_likelihood)(fit.x, X, malignant)
errors = np.sqrt(np.diag(np.linalg.inv(information)))

print(
    f"{len(X)} tumours, log-likelihood {-fit.fun:.4f} after {fit.nit} Newton steps, "
    f"largest gradient entry {np.abs(fit.jac).max():.0e}\n"
)
print(f"{'':18}{'log odds':>10}{'std. error':>12}{'z':>8}")
for name, estimate, error in zip(["intercept", *names], fit.x, errors, strict=True):
    print(f"{name:18}{estimate:10.3f}{error:12.3f}{estimate / error:8.2f}")

# At the maximum the score vanishes and the expected Hessian X' diag(p(1-p)) X is the observed one.
p = 1 / (1 + np.exp(-X @ fit.x))
assert np.allclose(information, (X.T * (p * (1 - p))) @ X, rtol=1e-10)
assert np.abs(fit.jac).max() < 1e-6

# %%
# Each coefficient with two standard errors.
figure, axes = plt.subplots(layout="constrained")
axes.errorbar(fit.x, ["intercept", *names], xerr=2 * errors, fmt="o", capsize=4)
axes.axvline(0.0, color="grey", linewidth=0.8)
axes.set(xlabel="log odds of a malignant tumour, per standard deviation")
plt.show()
