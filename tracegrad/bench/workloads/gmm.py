"""The log-likelihood of a Gaussian mixture with a Wishart prior, as in ADBench."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..workload import Floats, Floor, Function, Workload

# The prior's two parameters, gamma and m of ADBench.
PRECISION, EXTRA_FREEDOM = 1.0, 0


def log_likelihood(alpha: Floats, mu: Floats, q: Floats, strict: Floats, x: Floats) -> Any:
    """alpha[K], mu[K, D], q[K, D] (the logarithms of the diagonals), strict[K, D(D-1)/2] (below
    them, column by column), x[N, D]."""
    n, d = x.shape
    roots = lower_triangles(q, strict, d)
    products = (x[None, :, :] - mu[:, None, :]) @ np.swapaxes(roots, 1, 2)
    inner = (alpha + np.sum(q, axis=1))[:, None] - 0.5 * np.sum(products**2, axis=2)
    likelihood = -n * (d / 2 * math.log(2 * math.pi) + logsumexp(alpha)) + np.sum(logsumexp(inner))
    prior = 0.5 * PRECISION**2 * (
        np.sum(np.exp(q) ** 2) + np.sum(strict**2)
    ) - EXTRA_FREEDOM * np.sum(q)
    return likelihood + prior_constant(mu.shape[0], d) - prior


def lower_triangles(q: Floats, strict: Floats, d: int) -> Any:
    """The matrices Q_k: exp(q_k) on the diagonal, the entries of `strict` below it, zeros above."""
    padded = np.concatenate([np.zeros((q.shape[0], 1)), strict], axis=1)
    return padded[:, places(d)] + np.eye(d) * np.exp(q)[:, :, None]


def places(d: int) -> Any:
    """For each entry of a d x d matrix its column in `padded`: 0 on and above the diagonal, then
    column by column."""
    rows, columns = below_diagonal(d)
    result = [[0] * d for _ in range(d)]
    for position, (r, c) in enumerate(zip(rows, columns, strict=True)):
        result[r][c] = 1 + position
    return np.array(result)


def below_diagonal(d: int) -> tuple[list[int], list[int]]:
    """Rows and columns of the entries below the diagonal, column by column."""
    pairs = [(r, c) for c in range(d) for r in range(c + 1, d)]
    return [r for r, _ in pairs], [c for _, c in pairs]


def logsumexp(x: Any) -> Any:
    """Over the first axis."""
    largest = np.max(x, axis=0)
    return largest + np.log(np.sum(np.exp(x - largest), axis=0))


def prior_constant(k: int, d: int) -> float:
    """K (n D (log gamma - log(2)/2) - log Gamma_D(n/2)) with n = D + m + 1."""
    freedom = d + EXTRA_FREEDOM + 1
    log_gamma = d * (d - 1) / 4 * math.log(math.pi) + sum(
        math.lgamma((freedom - j) / 2) for j in range(d)
    )
    return k * (freedom * d * (math.log(PRECISION) - 0.5 * math.log(2)) - log_gamma)


def data(d: int, k: int, n: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(0)
    normal = rng.standard_normal
    return (
        normal(k),
        rng.random((k, d)),
        normal((k, d)),
        normal((k, d * (d - 1) // 2)),
        normal((n, d)),
    )


def reference(alpha: Any, mu: Any, q: Any, strict: Any, x: Any) -> list[Any]:
    """By hand, one component of the mixture at a time; analytic, so that it takes complex arguments
    too."""
    n, d = x.shape
    rows, columns = below_diagonal(d)
    roots = []
    for k in range(len(alpha)):
        root = np.diag(np.exp(q[k]))
        root[rows, columns] = strict[k]
        roots.append(root)
    inner = np.stack(
        [
            alpha[k] + q[k].sum() - 0.5 * (((x - mu[k]) @ root.T) ** 2).sum(axis=1)
            for k, root in enumerate(roots)
        ]
    )
    weights, prior_weights = softmax(inner), softmax(alpha)
    d_alpha, d_mu, d_q, d_strict = (
        weights.sum(axis=1) - n * prior_weights,
        np.zeros_like(mu),
        np.zeros_like(q),
        np.zeros_like(strict),
    )
    for k, root in enumerate(roots):
        difference = x - mu[k]
        weighted = weights[k][:, None] * (difference @ root.T)
        d_mu[k] = (weighted @ root).sum(axis=0)
        d_root = -weighted.T @ difference
        d_q[k] = (
            weights[k].sum()
            + np.diag(d_root) * np.exp(q[k])
            - PRECISION**2 * np.exp(2 * q[k])
            + EXTRA_FREEDOM
        )
        d_strict[k] = d_root[rows, columns] - PRECISION**2 * strict[k]
    return [d_alpha, d_mu, d_q, d_strict]


def softmax(x: Any) -> Any:
    """Over the first axis."""
    e = np.exp(x - x.real.max(axis=0))
    return e / e.sum(axis=0)


def to_softmax(inner: Floats) -> None:
    """In place, over the first axis."""
    for i in range(inner.shape[1]):
        largest, total = -np.inf, 0.0
        for k in range(inner.shape[0]):
            largest = max(largest, inner[k, i])
        for k in range(inner.shape[0]):
            inner[k, i] = math.exp(inner[k, i] - largest)
            total += inner[k, i]
        for k in range(inner.shape[0]):
            inner[k, i] /= total


def loops(alpha: Floats, mu: Floats, q: Floats, strict: Floats, x: Floats) -> tuple[Floats, ...]:
    """One component at a time; a point is a column, so that the loops over points are vectors."""
    components, d, n = alpha.size, mu.shape[1], x.shape[0]
    d_alpha, d_mu, d_q, d_strict = (
        np.empty_like(alpha),
        np.empty_like(mu),
        np.empty_like(q),
        np.empty_like(strict),
    )
    roots, product, inner = (
        np.zeros((components, d, d)),
        np.empty((components, d, n)),
        np.zeros((components, n)),
    )
    columns, sums = x.T.copy(), np.empty(d)
    for k in range(components):
        at = 0
        for c in range(d):
            roots[k, c, c] = math.exp(q[k, c])
            for r in range(c + 1, d):
                roots[k, r, c] = strict[k, at]
                at += 1
        np.dot(roots[k], columns - mu[k].reshape((d, 1)), product[k])
        for r in range(d):
            inner[k] += product[k, r] ** 2
        inner[k] = alpha[k] + q[k].sum() - 0.5 * inner[k]
    to_softmax(inner)
    prior = np.exp(alpha - alpha.max())
    prior /= prior.sum()
    for k in range(components):
        product[k] *= inner[k]
        weight, at = inner[k].sum(), 0
        for r in range(d):
            sums[r] = product[k, r].sum()
        d_alpha[k] = weight - n * prior[k]
        d_mu[k] = sums @ roots[k]
        d_root = product[k] @ x
        for c in range(d):
            # What is subtracted from x before the product is subtracted from its sums after it.
            d_q[k, c] = (
                weight
                - (d_root[c, c] - sums[c] * mu[k, c]) * roots[k, c, c]
                - (PRECISION * roots[k, c, c]) ** 2
                + EXTRA_FREEDOM
            )
            for r in range(c + 1, d):
                d_strict[k, at] = sums[r] * mu[k, c] - d_root[r, c] - PRECISION**2 * strict[k, at]
                at += 1
    return d_alpha, d_mu, d_q, d_strict


def products(
    alpha: Floats, mu: Floats, q: Floats, strict: Floats, x: Floats
) -> tuple[Floats, Floats]:
    """Two products per component, of matrices of the same shapes and layouts."""
    components, d, n = alpha.size, mu.shape[1], x.shape[0]
    ahead, back, root = np.empty((n, d)), np.empty((d, d)), x[:d].copy()
    for _ in range(components):
        np.dot(x, root.T, ahead)
        np.dot(ahead.T, x, back)
    return ahead, back


def in_torch(torch: Any) -> Function:
    def f(alpha: Any, mu: Any, q: Any, strict: Any, x: Any) -> Any:
        n, d = x.shape
        rows, columns = below_diagonal(d)
        roots = torch.diag_embed(torch.exp(q)).index_put(
            (slice_all(torch, q), torch.tensor(rows), torch.tensor(columns)), strict
        )
        products = (x[None] - mu[:, None]) @ roots.mT
        inner = (alpha + q.sum(1))[:, None] - 0.5 * (products**2).sum(2)
        likelihood = (
            -n * (d / 2 * math.log(2 * math.pi) + torch.logsumexp(alpha, 0))
            + torch.logsumexp(inner, 0).sum()
        )
        prior = (
            0.5 * PRECISION**2 * ((torch.exp(q) ** 2).sum() + (strict**2).sum())
            - EXTRA_FREEDOM * q.sum()
        )
        return likelihood + prior_constant(mu.shape[0], d) - prior

    return f


def slice_all(torch: Any, q: Any) -> Any:
    """An index of all components that broadcasts against the positions in the matrices."""
    return torch.arange(q.shape[0])[:, None]


# --- the Hessian with respect to all parameters in one vector -------------------------------------

D, K = 2, 5


def unpack(theta: Any) -> tuple[Any, Any, Any, Any]:
    """alpha, mu, q, strict of the mixture with D = 2 and K = 5 from a vector of 30."""
    ends = K, K + K * D, K + 2 * K * D
    mu, q = theta[ends[0] : ends[1]], theta[ends[1] : ends[2]]
    return theta[: ends[0]], mu.reshape(K, D), q.reshape(K, D), theta[ends[2] :].reshape(K, -1)


def packed(theta: Floats, x: Floats) -> Any:
    return log_likelihood(*unpack(theta), x)


def packed_data(n: int) -> tuple[Floats, Floats]:
    alpha, mu, q, strict, x = data(D, K, n)
    return np.concatenate([alpha, mu.ravel(), q.ravel(), strict.ravel()]), x


def packed_hessian(theta: Floats, x: Floats) -> list[Any]:
    """The complex step through the gradient written by hand: exact to rounding, since nothing is
    subtracted."""
    step, columns = 1e-30, []
    for j in range(theta.size):
        moved = theta.astype(complex)
        moved[j] += step * 1j
        columns.append(
            np.concatenate([g.imag.ravel() for g in reference(*unpack(moved), x)]) / step
        )
    return [np.stack(columns, axis=1)]


def packed_hessian_loops(theta: Floats, x: Floats) -> tuple[Floats]:
    """From the slopes of z = Q (x - mu) in the six parameters (alpha, mu, q, strict) of a
    component; a component meets others in slopes only."""
    n, size, columns = x.shape[0], theta.size, x.T.copy()
    at, inner, z = np.empty((K, 6), np.int64), np.empty((K, n)), np.empty((K, 2, n))
    slope, z_slope, weighted = np.empty((K, 6, n)), np.zeros((K, 2, 6, n)), np.empty((size, n))
    result = np.zeros((size, size))
    for k in range(K):
        at[k] = np.array([k, K + 2 * k, K + 2 * k + 1, 3 * K + 2 * k, 3 * K + 2 * k + 1, 5 * K + k])
        e0, e1, below = math.exp(theta[at[k, 3]]), math.exp(theta[at[k, 4]]), theta[at[k, 5]]
        d0, d1 = columns[0] - theta[at[k, 1]], columns[1] - theta[at[k, 2]]
        z[k, 0], z[k, 1] = e0 * d0, below * d0 + e1 * d1
        z_slope[k, 0, 1], z_slope[k, 0, 3] = -e0, z[k, 0]
        z_slope[k, 1, 1], z_slope[k, 1, 2], z_slope[k, 1, 4], z_slope[k, 1, 5] = (
            -below,
            -e1,
            e1 * d1,
            d0,
        )
        inner[k] = (
            theta[k] + theta[at[k, 3]] + theta[at[k, 4]] - 0.5 * (z[k, 0] ** 2 + z[k, 1] ** 2)
        )
        for a in range(6):
            slope[k, a] = (
                (1.0 if a in (0, 3, 4) else 0.0)
                - z[k, 0] * z_slope[k, 0, a]
                - z[k, 1] * z_slope[k, 1, a]
            )
    to_softmax(inner)
    prior = np.exp(theta[:K] - theta[:K].max())
    prior /= prior.sum()
    for k in range(K):
        for a in range(6):
            for i in range(np.uint64(n)):
                weighted[at[k, a], i] = inner[k, i] * slope[k, a, i]
            for b in range(6):
                total = 0.0
                for i in range(np.uint64(n)):
                    products = (
                        z_slope[k, 0, a, i] * z_slope[k, 0, b, i]
                        + z_slope[k, 1, a, i] * z_slope[k, 1, b, i]
                    )
                    total += inner[k, i] * (slope[k, a, i] * slope[k, b, i] - products)
                result[at[k, a], at[k, b]] = total
        # Where z itself is bent: its second derivatives times -z.
        for a, b, j, c in ((1, 3, 0, 1), (3, 3, 0, 3), (1, 5, 1, 0), (2, 4, 1, 2), (4, 4, 1, 4)):
            total = 0.0
            for i in range(np.uint64(n)):
                total -= inner[k, i] * z[k, j, i] * (z_slope[k, j, c, i] if c > 0 else -1.0)
            result[at[k, a], at[k, b]] += total
            if a != b:
                result[at[k, b], at[k, a]] += total
        for a in range(3, 6):
            result[at[k, a], at[k, a]] -= PRECISION**2 * (
                2.0 * math.exp(2.0 * theta[at[k, a]]) if a < 5 else 1.0
            )
        result[k, k] -= n * prior[k]
        for j in range(K):
            result[k, j] += n * prior[k] * prior[j]
    return (result - weighted @ weighted.T,)


def packed_in_torch(torch: Any) -> Function:
    whole = in_torch(torch)

    def f(theta: Any, x: Any) -> Any:
        return whole(*unpack(theta), x)

    return f


GRADIENT = Workload(
    name="gmm",
    derivative="grad",
    doc="ADBench's Gaussian mixture: batched products, triangular matrices, log-sum-exp",
    function=log_likelihood,
    data=data,
    sizes={
        "small": {"d": 2, "k": 5, "n": 100},
        "default": {"d": 10, "k": 25, "n": 1_000},
        "large": {"d": 20, "k": 50, "n": 10_000},
    },
    argnums=(0, 1, 2, 3),
    reference=reference,
    numba=loops,
    torch=in_torch,
)
WIDE = replace(
    GRADIENT,
    variant="wide",
    doc="the same mixture in 64 dimensions, where products take the time",
    sizes={
        "small": {"d": 6, "k": 2, "n": 50},
        "default": {"d": 64, "k": 10, "n": 1_000},
        "large": {"d": 64, "k": 25, "n": 10_000},
    },
    floor=Floor("BLAS", products, products),
)
WORKLOADS = (
    GRADIENT,
    WIDE,
    replace(
        WIDE,
        variant="wide flushed",
        doc="the wide mixture, denormal numbers taken for 0 (as JAX does by default)",
        flush_denormals=True,
    ),
    Workload(
        name="gmm",
        derivative="hessian",
        doc="dense 30 x 30 Hessian of ADBench's Gaussian mixture (D = 2, K = 5)",
        function=packed,
        data=packed_data,
        sizes={"small": {"n": 50}, "default": {"n": 1_000}, "large": {"n": 10_000}},
        reference=packed_hessian,
        numba=packed_hessian_loops,
        torch=packed_in_torch,
    ),
)
