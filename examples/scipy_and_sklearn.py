"""SciPy and scikit-learn, differentiated
======================================

Functions of SciPy and scikit-learn, differentiated: both take arrays of the array API standard,
and Tensors are such arrays.

Each gradient below is compared with differences; what is not followed is an error, never a silent
zero. Run it with `python examples/scipy_and_sklearn.py`.
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.cluster.vq
import scipy.integrate
import scipy.optimize
import scipy.signal
import scipy.special
import scipy.stats
import sklearn
from sklearn.linear_model import Ridge
from sklearn.metrics import pairwise
from sklearn.preprocessing import MinMaxScaler

import tracegrad as tg

RNG = np.random.default_rng(0)
A = RNG.normal(size=(6, 3))
POSITIVE = np.abs(A) + 0.3
ROW = A[:, 0]

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "special.logsumexp": (lambda x: scipy.special.logsumexp(x, axis=1), (A,)),
    "special.softmax": (lambda x: scipy.special.softmax(x, axis=1), (A,)),
    "special.xlogy": (scipy.special.xlogy, (POSITIVE, POSITIVE + 1)),
    "stats.zscore": (lambda x: scipy.stats.zscore(x, axis=0), (A,)),
    "stats.skew": (lambda x: scipy.stats.skew(x, axis=0), (A,)),
    "stats.kurtosis": (lambda x: scipy.stats.kurtosis(x, axis=0), (A,)),
    "stats.gmean": (lambda x: scipy.stats.gmean(x, axis=0), (POSITIVE,)),
    "stats.circmean": (lambda x: scipy.stats.circmean(x, axis=0), (A,)),
    "integrate.trapezoid": (lambda x: scipy.integrate.trapezoid(x, axis=0), (A,)),
    "optimize.rosen": (scipy.optimize.rosen, (ROW,)),
    "signal.hilbert": (lambda x: abs(scipy.signal.hilbert(x)), (ROW,)),
    "cluster.whiten": (scipy.cluster.vq.whiten, (A,)),
    "euclidean_distances": (pairwise.euclidean_distances, (A, POSITIVE)),
    "rbf_kernel": (pairwise.rbf_kernel, (A, POSITIVE)),
    "MinMaxScaler": (lambda x: MinMaxScaler().fit_transform(x), (A,)),
    "Ridge": (
        lambda x, y: Ridge(solver="svd", alpha=0.5).fit(x, y).coef_,
        (A, POSITIVE[:, 0]),
    ),
}
"""The last is the gradient of fitted coefficients by the data that they were fitted to."""


def agrees(function: Callable[..., Any], arrays: tuple[np.ndarray, ...]) -> bool:
    """Whether values and gradients on Tensors are those on arrays, and of their differences."""
    tensors = [tg.tensor(a, requires_grad=True) for a in arrays]
    result = function(*tensors)
    weights = RNG.normal(size=result.shape)
    gradients = tg.autograd.grad((result * tg.tensor(weights)).sum(), tensors)
    good = np.allclose(result.detach().numpy(), function(*arrays))
    for k, a in enumerate(arrays):
        direction, step = RNG.normal(size=a.shape), 1e-6
        ends = [
            np.sum(
                weights
                * function(*[x + s * direction if j == k else x for j, x in enumerate(arrays)])
            )
            for s in (step, -step)
        ]
        expected = (ends[0] - ends[1]) / (2 * step)
        found = np.sum(gradients[k].numpy() * direction)
        good = good and np.isclose(found, expected, rtol=1e-4, atol=1e-6)
    return bool(good)


def main() -> None:
    with sklearn.config_context(array_api_dispatch=True):
        for name, (function, arrays) in FUNCTIONS.items():
            good = agrees(function, arrays)
            print(f"{name:22} {'as differences say' if good else 'WRONG'}")
            assert good, name


if __name__ == "__main__":
    main()
