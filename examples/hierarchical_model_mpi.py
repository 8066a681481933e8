"""The Hessian of a hierarchical model by MPI
==========================================

Groups of measurements have means of their own, which scatter around a common one. The group means
are integrated out exactly, and the ranks of an MPI program share the groups:

    mpirun -n 2 python examples/hierarchical_model_mpi.py

Every rank runs this whole file; each computes its own groups, and all get the sum and its Hessian.
Without `mpirun` there is one rank. Needs `pip install 'tracegrad[mpi]'`.
"""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
from scipy.optimize import minimize

import tracegrad as tg

TRUE = np.array([1.5, np.log(0.8), np.log(0.5)])


def minus_log_likelihood(theta, y):
    """Of one group: y = mean + tau group + sigma noise, without the group's own number."""
    mean, log_tau, log_sigma = theta
    n, tau2, sigma2 = y.shape[0], np.exp(2.0 * log_tau), np.exp(2.0 * log_sigma)
    r = y - mean
    inner = np.sum(r * r) - tau2 / (sigma2 + n * tau2) * np.sum(r) ** 2
    return 0.5 * (inner / sigma2 + (n - 1) * np.log(sigma2) + np.log(sigma2 + n * tau2))


def group(number):
    """What the rank that has this group reads; here it is drawn."""

    def opened():
        rng = np.random.default_rng(number)
        own = TRUE[0] + np.exp(TRUE[1]) * rng.normal()
        return own + np.exp(TRUE[2]) * rng.normal(size=5 + number % 3)

    return opened


def main():
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    total = tg.scale.sum_over(minus_log_likelihood, [group(k) for k in range(120)], client=comm)
    fit = minimize(tg.value_and_grad(total), np.zeros(3), jac=True, method="BFGS")
    hessian = tg.hessian(total)(fit.x)
    errors = np.sqrt(np.diag(np.linalg.inv(hessian)))
    if comm.Get_rank() == 0:
        print(f"{comm.Get_size()} ranks")
        for name, value, error in zip(("mean", "log tau", "log sigma"), fit.x, errors, strict=True):
            print(f"{name}: {value:+.3f} +- {error:.3f}")
    assert np.all(np.abs(fit.x - TRUE) < 5.0 * errors)


if __name__ == "__main__":
    if importlib.util.find_spec("mpi4py") is None:
        sys.exit(print("skipped: mpi4py is not installed"))
    main()
