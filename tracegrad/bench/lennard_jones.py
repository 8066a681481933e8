"""Energy and forces of particles with Lennard-Jones interaction, all pairs, by broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np

from .workload import Floats, Function, Workload


def energy(positions: Floats) -> Any:
    difference = positions[:, None, :] - positions[None, :, :]
    squared = np.sum(difference**2, axis=2)
    # The identity, as "where the distance is zero", so that it need not be stored: a particle's distance to itself becomes 1,
    # which contributes exactly 1 - 1 = 0.
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
        gradient[i] = 2 * np.sum(((6 * inverse6 - 12 * inverse6**2) * inverse2)[:, None] * difference, axis=0)
    return [total, gradient]


def loops(positions: Floats) -> tuple[float, Floats]:
    n = positions.shape[0]
    total, gradient = 0.0, np.zeros_like(positions)
    for i in range(n):
        for j in range(i):
            x, y, z = positions[i, 0] - positions[j, 0], positions[i, 1] - positions[j, 1], positions[i, 2] - positions[j, 2]
            inverse2 = 1.0 / (x * x + y * y + z * z)
            inverse6 = inverse2 * inverse2 * inverse2
            total += 2.0 * (inverse6 * inverse6 - inverse6)
            factor = 2.0 * (6.0 * inverse6 - 12.0 * inverse6 * inverse6) * inverse2
            gradient[i, 0] += factor * x
            gradient[i, 1] += factor * y
            gradient[i, 2] += factor * z
            gradient[j, 0] -= factor * x
            gradient[j, 1] -= factor * y
            gradient[j, 2] -= factor * z
    return total, gradient


def in_torch(torch: Any) -> Function:
    def f(positions: Any) -> Any:
        difference = positions[:, None, :] - positions[None, :, :]
        squared = torch.sum(difference**2, dim=2) + torch.eye(positions.shape[0], dtype=positions.dtype)
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
