"""Programs in plain Python, as people write them for Numba: nothing in them knows of tracegrad."""

# Each is compiled by Numba and by tracegrad as it stands.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import fields, matrices, searches, series
from .distances import distance

Array = Any


class Text(NamedTuple):
    """A program; `data(generator, n)` makes arguments of a size for it, by default `n`."""

    function: Callable[..., Any]
    data: Callable[[Any, int], tuple[Any, ...]]
    n: int
    distance: Callable[[Callable[..., Any]], Callable[..., Any]] = distance

    @property
    def total(self) -> Callable[..., Any]:
        """The squared distance of its result from ones."""
        return self.distance(self.function)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What it is measured with."""
        return self.at(self.n)

    def at(self, n: int) -> tuple[Any, ...]:
        """Arguments of another size."""
        return self.data(np.random.default_rng(n), n)


def well_posed(rng: Any, n: int) -> Array:
    a = rng.standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


def dominant(rng: Any, n: int) -> Array:
    return rng.standard_normal((n, n)) + 2 * n * np.eye(n)


def three_diagonals(rng: Any, n: int) -> tuple[Any, ...]:
    low, up, b = rng.standard_normal((3, n))
    return low, 3.0 + np.abs(low) + np.abs(up), up, b


def correlations(rng: Any, n: int) -> tuple[Any, ...]:
    x = rng.standard_normal(3 * n)
    sums = np.array([x[: x.size - k] @ x[k:] for k in range(n + 1)])
    return (sums[1:] / sums[0],)


def field(rng: Any, n: int) -> Array:
    return rng.standard_normal((n, n))


def knots(rng: Any, n: int) -> tuple[Any, ...]:
    x = np.cumsum(rng.uniform(0.5, 1.5, n))
    return x, rng.standard_normal(n), rng.uniform(x[0], x[-1], n)


def weights(rng: Any, n: int) -> tuple[Any, ...]:
    scale = 1.0 / np.sqrt(16)
    shapes = (n, 4), (16, 16), (16, 4), (16,)
    return tuple(scale * rng.standard_normal(shape) for shape in shapes)


def two_columns(rng: Any, n: int, first: tuple[float, float], second: tuple[float, float]) -> Any:
    return np.stack([rng.uniform(*first, n), rng.uniform(*second, n)], 1)


def texts() -> dict[str, Text]:
    """All programs by name."""
    return {
        "LU": Text(matrices.lu, lambda r, n: (dominant(r, n),), 60),
        "Cholesky": Text(matrices.cholesky, lambda r, n: (well_posed(r, n),), 100),
        "Gram-Schmidt": Text(matrices.gram_schmidt, lambda r, n: (field(r, n),), 60),
        "tridiagonal": Text(matrices.tridiagonal, three_diagonals, 2_000),
        "Durbin": Text(matrices.durbin, correlations, 200),
        "FFT": Text(
            matrices.fourier, lambda r, n: (r.standard_normal(1 << (n.bit_length() - 1)),), 1_024
        ),
        "Gauss-Seidel": Text(
            matrices.gauss_seidel, lambda r, n: (dominant(r, n), r.standard_normal(n)), 40
        ),
        "relaxation": Text(fields.relaxation, lambda r, n: (field(r, n),), 40),
        "red-black": Text(fields.red_black, lambda r, n: (field(r, n), field(r, n), 1.5), 40),
        "filter": Text(fields.filter_rows, lambda r, n: (field(r, n), 0.3), 256),
        "columns": Text(
            fields.columns,
            lambda r, n: (r.standard_normal((n, n, n)), r.uniform(1, 2, (n, n, n))),
            24,
        ),
        "ADI": Text(fields.alternating, lambda r, n: (field(r, n),), 60),
        "sandpile": Text(fields.sandpile, lambda r, n: (r.uniform(0, 1.5, (n, n)),), 40),
        "spline": Text(searches.spline, knots, 2_000),
        "recurrence": Text(series.recurrence, lambda r, n: (r.standard_normal(n), 0.9), 16_000),
        "RNN": Text(series.network, weights, 200),
        "GARCH": Text(
            series.garch, lambda r, n: (r.standard_normal(n), np.array([0.1, 0.1, 0.8])), 5_000
        ),
        "Kalman": Text(
            series.kalman,
            lambda r, n: (np.cumsum(r.standard_normal(n)), np.array([0.1, 0.5])),
            5_000,
        ),
        "Metropolis": Text(
            series.metropolis,
            lambda r, n: (r.standard_normal(n), r.uniform(size=n), np.array([0.8, 0.5, 0.1])),
            5_000,
        ),
        "queue": Text(
            series.waits, lambda r, n: (r.exponential(1.0, n), r.exponential(2.5, n)), 5_000
        ),
        "Viterbi": Text(series.viterbi, lambda r, n: (r.standard_normal((n, 8)), field(r, 8)), 500),
        "warping": Text(
            series.warping, lambda r, n: (r.standard_normal(n), r.standard_normal(n)), 100
        ),
        "shortest paths": Text(
            matrices.shortest_paths, lambda r, n: (r.uniform(1, 9, (n, n)),), 60
        ),
        "sorting network": Text(
            searches.sorting_network, lambda r, n: (r.standard_normal(n),), 200
        ),
        "bodies": Text(
            searches.bodies, lambda r, n: (r.uniform(0, 2, (n, 2)), r.standard_normal((n, 2))), 32
        ),
        "option lattice": Text(series.lattice, lambda r, n: (np.array([0.95, 0.3, 0.05]),), 200),
        "escape": Text(searches.escape, lambda r, n: (r.uniform(-0.3, 0.3, (n, 2)),), 2_000),
        "ray marching": Text(
            searches.marching, lambda r, n: (two_columns(r, n, (-0.5, 0.5), (-0.5, 0.2)),), 500
        ),
        "quadrature": Text(searches.quadrature, lambda r, n: (np.array([0.3, n / 8]),), 40),
        "bisection": Text(
            searches.bisection, lambda r, n: (two_columns(r, n, (0, 0.8), (-3, 3)),), 500
        ),
        "Newton": Text(searches.newton, lambda r, n: (r.uniform(-2, 2, (n, 2)),), 500),
    }


__all__ = ["Text", "texts"]
