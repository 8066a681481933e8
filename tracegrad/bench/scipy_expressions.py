"""Functions of NumPy and SciPy for `bench --scipy`, a line each: the argument that is derived by
and an expression, which NumPy and SciPy, tracegrad and JAX evaluate on modules and data of the same
names. Behind a bar, what to write for JAX; "-" where it has no such function.

This module uses no other part of tracegrad, so that it also runs in the interpreter of another
environment.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np

TEXT = """
x   np.fft.fft(x)
x   np.fft.ifft(x)
x   np.fft.rfft(x)
x   np.fft.irfft(np.fft.rfft(x))
G   np.fft.fft2(G)
G   np.fft.fftn(G)
A   np.linalg.eig(A) | -
A   np.linalg.eigvals(A)
A   np.linalg.pinv(A)
A   np.linalg.cond(A)
A   np.linalg.inv(A)
A   np.linalg.det(A)
A   np.linalg.slogdet(A)
P   np.linalg.eigh(P)
P   np.linalg.eigvalsh(P)
P   np.linalg.cholesky(P)
A   np.linalg.svd(A)
A   np.linalg.qr(A)
A   np.linalg.solve(A, b)
A   np.linalg.lstsq(A, b, None)[0]
A   np.linalg.matrix_power(A, 5)
A   linalg.expm(A / 10)
P   linalg.logm(P) | -
P   linalg.sqrtm(P) | -
A   linalg.solve_sylvester(A, P, B) | -
A   linalg.solve_continuous_lyapunov(A, P) | -
U   linalg.solve_triangular(U, b)
A   linalg.block_diag(A, B)
b   linalg.toeplitz(b)
A   linalg.lu(A)
A   linalg.lu_solve(linalg.lu_factor(A), b)
P   linalg.cho_solve(linalg.cho_factor(P), b)
T   linalg.solve_banded((1, 1), T, x) | tridiagonal(T, x)
H   linalg.solveh_banded(H, x) | -
H   linalg.cholesky_banded(H) | -
H   linalg.cho_solve_banded((linalg.cholesky_banded(H), False), x) | -
d   linalg.solve_toeplitz(d, e) | -
A   linalg.polar(A) | -
m   np.interp(m, g, h)
x   np.convolve(x, k)
x   np.correlate(x, k)
x   np.gradient(x)
x   np.median(x)
x   np.nanmean(x)
x   np.sort(x)
x   np.cumsum(x)
x   np.diff(x)
x   np.percentile(x, w)
x   np.partition(x, 50)
k   np.polyval(k, x)
h   np.polyfit(g, h, 3)
x   np.vander(x, 4)
p   np.histogram(x, 20, weights=p)[0]
p   np.bincount(i, p) | np.bincount(i, p, length=100)
p   special.gamma(p)
p   special.gammaln(p)
p   special.digamma(p)
p   special.expit(p)
p   special.ndtr(p)
p   special.log_ndtr(p)
p   special.entr(p)
p   special.erf(p)
p   special.erfc(p)
p   special.i0(p)
p   special.i1(p)
p   special.i0e(p)
p   special.i1e(p)
p   special.j0(p) | -
p   special.j1(p) | -
p   special.k0(p) | -
p   special.k1(p) | -
p   special.ellipk(p) | -
p   special.ellipe(p) | -
u   special.logit(u)
u   special.ndtri(u)
u   special.erfinv(u)
p   special.xlogy(p, q)
p   special.rel_entr(p, q)
p   special.gammainc(a, p)
p   special.gammaincc(a, p)
p   special.zeta(a, p)
u   special.betainc(a, q, u)
p   special.betaln(p, q)
x   special.logsumexp(x)
x   special.softmax(x)
x   special.log_softmax(x)
u   special.hyp1f1(p, q, u)
p   special.multigammaln(p + 3, 3)
p   special.jv(1.5, p) | -
p   special.yv(1.5, p) | -
p   special.kv(1.5, p) | -
p   special.iv(1.5, p) | -
p   special.spence(p)
x   stats.norm.logpdf(x, 0.1, 1.3)
x   stats.norm.cdf(x, 0.1, 1.3)
x   stats.norm.logcdf(x, 0.1, 1.3)
x   stats.cauchy.logpdf(x, 0.1, 1.3)
x   stats.laplace.logpdf(x, 0.1, 1.3)
x   stats.logistic.logpdf(x, 0.1, 1.3)
x   stats.gumbel_r.logpdf(x, 0.1, 1.3)
p   stats.expon.logpdf(p, 0, 1.3)
p   stats.gamma.logpdf(p + 1, 1.7)
p   stats.t.logpdf(p + 1, 1.7)
p   stats.chi2.logpdf(p + 1, 1.7)
p   stats.pareto.logpdf(p + 1, 1.7)
p   stats.lognorm.logpdf(p + 1, 1.7) | -
p   stats.weibull_min.logpdf(p + 1, 1.7) | -
p   stats.invgamma.logpdf(p + 1, 1.7) | -
u   stats.beta.logpdf(u, 1.7, 2.5)
u   stats.uniform.logpdf(u, 0, 1.3)
p   stats.poisson.logpmf(i, p)
u   stats.binom.logpmf(i, 100, u)
u   stats.nbinom.logpmf(i, 5, u)
X   stats.multivariate_normal.logpdf(X, b, P)
P   stats.wishart.logpdf(P, 40, C) | -
k   stats.dirichlet.logpdf(W, k)
h   interpolate.CubicSpline(g, h)(x) | -
h   interpolate.PchipInterpolator(g, h)(x) | -
h   interpolate.make_interp_spline(g, h)(x) | -
x   signal.convolve(x, k)
x   signal.fftconvolve(x, x)
x   signal.lfilter(v, [1.0, -0.5, 0.2], x) | -
x   signal.sosfilt(S, x) | -
x   signal.resample_poly(x, 3, 2) | -
x   integrate.trapezoid(x)
x   integrate.simpson(x) | -
x   integrate.cumulative_trapezoid(x) | -
G   ndimage.map_coordinates(G, c, order=1)
G   ndimage.gaussian_filter(G, 2) | -
G   ndimage.shift(G, (1.5, 2.5)) | -
G   ndimage.zoom(G, 1.5, order=1) | -
"""

CONSTANT = ("i", "w")
"""Data that sizes of results and places depend on: they stay known to the compilers."""


@dataclass(frozen=True)
class Expression:
    """A function of NumPy or SciPy: the argument that is derived by, the expression, and JAX's
    ("" for none)."""

    argument: str
    text: str
    jax: str

    @classmethod
    def read(cls, line: str) -> Expression:
        """From a line of the text."""
        argument, both = line.split(maxsplit=1)
        text, _, other = (part.strip() for part in both.partition(" | "))
        return cls(argument, text, "" if other == "-" else other or text)

    @property
    def arguments(self) -> list[str]:
        """The argument that is derived by, and all other data of the expression but `CONSTANT`, so
        that nothing of it can be computed where it is compiled."""
        names = {node.id for node in ast.walk(ast.parse(self.text)) if isinstance(node, ast.Name)}
        others = {name for name in names if len(name) == 1} - {self.argument, *CONSTANT}
        return [self.argument, *sorted(others)]


EXPRESSIONS = tuple(Expression.read(line) for line in TEXT.splitlines() if line)


@dataclass(frozen=True)
class Extents:
    """Numbers, rows of matrices, samples of splines and rows of images."""

    n: int
    rows: int
    samples: int
    image: int


SIZES = {
    "small": Extents(200, 6, 40, 12),
    "default": Extents(10_000, 30, 1_000, 100),
    "large": Extents(100_000, 100, 10_000, 300),
}


def data(size: str) -> dict[str, np.ndarray[Any, Any]]:
    """The data by the letters of the expressions.

    x, p, q, u, a, i  numbers: normal, of (0.1, 0.9), (0.1, 2), (0.05, 0.95), (1.5, 3); counts
    A, B, P, C, U, b  matrices: diagonally dominant, normal, two positive definite, triangular; a
                      vector
    T, H              three diagonals of a general and of a positive definite matrix
    d, e              the first column of a Toeplitz matrix, and a right-hand side
    G, c              an image, and places inside
    g, h, m           knots, samples, and places between knots: away from kinks
    k, v, S, w        coefficients of polynomials and filters; percentages
    X, W              points, and a point of the simplex
    """
    rng, s = np.random.default_rng(0), SIZES[size]
    a, b = rng.normal(size=(2, s.rows, s.rows))
    half = rng.uniform(0.1, 0.3, size=(3, s.n))
    half[2] += 2
    half[0, :2] = half[1, 0] = 0  # above the first rows
    banded = rng.normal(size=(3, s.n))
    banded[1] += 5
    positive = a @ a.T / s.rows + np.diag(np.linspace(1.0, 2.0, s.rows))
    return {
        "x": rng.normal(size=s.n),
        "p": rng.uniform(0.1, 0.9, s.n),
        "q": rng.uniform(0.1, 2, s.n),
        "u": rng.uniform(0.05, 0.95, s.n),
        "a": rng.uniform(1.5, 3, s.n),
        "i": rng.integers(0, 100, s.n),
        "A": a + 6 * np.eye(s.rows),
        "B": b,
        "P": positive,
        "C": b @ b.T / s.rows + np.eye(s.rows),
        "U": np.triu(positive),
        "b": rng.normal(size=s.rows),
        "T": banded,
        "H": half,
        "d": 0.5 ** np.arange(min(s.n, 500)),
        "e": rng.normal(size=min(s.n, 500)),
        "G": rng.normal(size=(s.image, s.image)),
        "c": rng.uniform(1, s.image - 2, size=(2, s.n)),
        "g": np.linspace(-3, 3, s.samples),
        "h": np.sin(2 * np.linspace(-3, 3, s.samples)),
        "m": _between(np.linspace(-3, 3, s.samples), s.n),
        "k": rng.uniform(0.5, 2, 30),
        "v": np.array([0.1, 0.2]),
        "S": np.array([[0.2, 0.3, 0.1, 1, -0.5, 0.2], [0.3, 0.1, 0.2, 1, -0.3, 0.1]]),
        "w": np.array([5.0, 50.0, 95.0]),
        "X": rng.normal(size=(10 * s.rows, s.rows)),
        "W": np.full(30, 1 / 30),
    }


def _between(knots: Any, n: int) -> Any:
    """So many places in random intervals, in the middle parts of these."""
    rng = np.random.default_rng(2)
    k = rng.integers(0, len(knots) - 1, n)
    return knots[k] + rng.uniform(0.1, 0.9, n) * (knots[k + 1] - knots[k])
