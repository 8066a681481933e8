"""Molecular mechanics: the energy of torsions about the bonds of a long chain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..workload import Floats, Ints, Workload
from .torch_text import same_text


def energy(positions: Floats, atoms: Ints, barrier: Floats, fold: Floats, phase: Floats) -> Any:
    """positions[n, 3]; atoms[4, m], the atoms of each torsion; barrier, fold and phase[m]."""
    first, second, third, fourth = (positions[atoms[k]] for k in range(4))
    a, b, c = second - first, third - second, fourth - third
    before, behind = np.cross(a, b), np.cross(b, c)
    length = np.sqrt(np.sum(b * b, axis=1))
    angle = np.arctan2(length * np.sum(a * behind, axis=1), np.sum(before * behind, axis=1))
    return np.sum(barrier * (1.0 + np.cos(fold * angle - phase)))


def data(atoms: int) -> tuple[Any, ...]:
    """A chain that wanders, numbered along itself."""
    rng = np.random.default_rng(0)
    positions = np.cumsum(rng.standard_normal((atoms, 3)), axis=0)
    count = atoms - 3
    return (
        positions,
        np.stack([np.arange(k, count + k) for k in range(4)]),
        rng.uniform(0.5, 2.0, count),
        rng.integers(1, 4, count).astype(np.float64),
        rng.uniform(0.0, math.pi, count),
    )


def loops(
    positions: Floats, atoms: Ints, barrier: Floats, fold: Floats, phase: Floats
) -> tuple[float, Floats]:
    """The slopes of an angle are along the two normals (Blondel and Karplus, 1996)."""
    total, gradient = 0.0, np.zeros_like(positions)
    for m in range(barrier.size):
        i, j, k, l = atoms[0, m], atoms[1, m], atoms[2, m], atoms[3, m]  # noqa: E741
        ax, ay, az = (
            positions[j, 0] - positions[i, 0],
            positions[j, 1] - positions[i, 1],
            positions[j, 2] - positions[i, 2],
        )
        bx, by, bz = (
            positions[k, 0] - positions[j, 0],
            positions[k, 1] - positions[j, 1],
            positions[k, 2] - positions[j, 2],
        )
        cx, cy, cz = (
            positions[l, 0] - positions[k, 0],
            positions[l, 1] - positions[k, 1],
            positions[l, 2] - positions[k, 2],
        )
        px, py, pz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        qx, qy, qz = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
        squared = bx * bx + by * by + bz * bz
        length = math.sqrt(squared)
        angle = math.atan2(length * (ax * qx + ay * qy + az * qz), px * qx + py * qy + pz * qz)
        turned = fold[m] * angle - phase[m]
        total += barrier[m] * (1.0 + math.cos(turned))
        slope = -barrier[m] * fold[m] * math.sin(turned) * length
        of_first = -slope / (px * px + py * py + pz * pz)
        of_last = slope / (qx * qx + qy * qy + qz * qz)
        ahead = (ax * bx + ay * by + az * bz) / squared
        back = (cx * bx + cy * by + cz * bz) / squared
        for axis, p, q in ((0, px, qx), (1, py, qy), (2, pz, qz)):
            at_first, at_last = of_first * p, of_last * q
            gradient[i, axis] += at_first
            gradient[j, axis] += back * at_last - (1.0 + ahead) * at_first
            gradient[k, axis] += ahead * at_first - (1.0 + back) * at_last
            gradient[l, axis] += at_last
    return total, gradient


WORKLOADS = (
    Workload(
        name="torsions",
        derivative="value_and_grad",
        doc="torsions of a molecule: gathers, cross products, angles",
        function=energy,
        data=data,
        sizes={"small": {"atoms": 12}, "default": {"atoms": 20_000}, "large": {"atoms": 300_000}},
        reference=loops,
        numba=loops,
        torch=same_text(energy),
    ),
)
