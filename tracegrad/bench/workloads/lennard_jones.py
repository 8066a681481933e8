"""Energy and forces of particles with Lennard-Jones interaction, all pairs, by broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workload import Floats, Function, Workload


def energy(positions: Floats) -> Any:
    difference = positions[:, None, :] - positions[None, :, :]
    squared = np.sum(difference**2, axis=2)
    # The identity, as "where the distance is zero", so that it need not be stored: a particle's
    # distance to itself becomes 1, which contributes exactly 1 - 1 = 0.
    squared = squared + (squared == 0.0)
    inverse6 = 1 / squared**3
    return np.sum(inverse6**2 - inverse6)


def data(n: int) -> tuple[Floats]:
    return (np.random.default_rng(0).uniform(0.0, 10.0, (n, 3)),)


def reference(positions: Floats) -> list[Any]:
    total, gradient = 0.0, np.zeros_like(positions)
    for i in range(len(positions)):
        difference = positions[i] - np.delete(positions, i, axis=0)
        inverse2 = 1 / np.einsum("ij,ij->i", difference, difference)
        inverse6 = inverse2**3
        total += np.sum(inverse6**2 - inverse6)
        gradient[i] = 2 * np.sum(
            ((6 * inverse6 - 12 * inverse6**2) * inverse2)[:, None] * difference, axis=0
        )
    return [total, gradient]


def loops(positions: Floats) -> tuple[float, Floats]:
    """Coordinates apart and all pairs, each twice: what is saved by visiting a pair once is less
    than what vectors gain."""
    n = np.uint64(positions.shape[0])
    xs, ys, zs = positions[:, 0].copy(), positions[:, 1].copy(), positions[:, 2].copy()
    energies, dx, dy, dz = (
        np.zeros_like(xs),
        np.zeros_like(xs),
        np.zeros_like(xs),
        np.zeros_like(xs),
    )
    for i in range(n):
        for j in range(n):
            x, y, z = xs[j] - xs[i], ys[j] - ys[i], zs[j] - zs[i]
            squared = x * x + y * y + z * z
            inverse2 = 1.0 / squared if squared > 0.0 else 0.0
            inverse6 = inverse2 * inverse2 * inverse2
            energies[j] += inverse6 * inverse6 - inverse6
            factor = (12.0 * inverse6 - 24.0 * inverse6 * inverse6) * inverse2
            dx[j] += factor * x
            dy[j] += factor * y
            dz[j] += factor * z
    return energies.sum(), np.stack((dx, dy, dz), axis=1)


def in_torch(torch: Any) -> Function:
    def f(positions: Any) -> Any:
        difference = positions[:, None, :] - positions[None, :, :]
        squared = torch.sum(difference**2, dim=2) + torch.eye(
            positions.shape[0], dtype=positions.dtype
        )
        inverse6 = 1 / squared**3
        return torch.sum(inverse6**2 - inverse6)

    return f


WORKLOADS = (
    Workload(
        name="lennard_jones",
        derivative="value_and_grad",
        doc="energy and forces of all pairs of particles: what is broadcast need not be stored",
        function=energy,
        data=data,
        sizes={"small": {"n": 50}, "default": {"n": 1_000}, "large": {"n": 4_000}},
        reference=reference,
        numba=loops,
        torch=in_torch,
    ),
)
