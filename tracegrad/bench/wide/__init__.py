"""Workloads of other fields than those that tracegrad was made with: what is good here is good in
general."""

from __future__ import annotations

from ..workload import Workload
from . import (
    black_litterman,
    cox,
    elements,
    ising,
    mixture_regression,
    optical_flow,
    ornstein,
    phylogeny,
    radial,
    spheres,
    svar,
    tomography,
    torsions,
)

WORKLOADS: tuple[Workload, ...] = (
    *black_litterman.WORKLOADS,
    *cox.WORKLOADS,
    *elements.WORKLOADS,
    *ising.WORKLOADS,
    *mixture_regression.WORKLOADS,
    *optical_flow.WORKLOADS,
    *ornstein.WORKLOADS,
    *phylogeny.WORKLOADS,
    *radial.WORKLOADS,
    *spheres.WORKLOADS,
    *svar.WORKLOADS,
    *tomography.WORKLOADS,
    *torsions.WORKLOADS,
)
