"""Workloads of other fields than those that tracegrad was made with: what is good here is good in
general."""

from __future__ import annotations

from ..workload import Workload
from . import (
    attention,
    black_litterman,
    bundle,
    cox,
    elements,
    harmonics,
    hidden_markov,
    ising,
    kalman,
    lotka_volterra,
    mixture_regression,
    optical_flow,
    ornstein,
    phylogeny,
    radial,
    registration,
    spheres,
    svar,
    tomography,
    torsions,
)

WORKLOADS: tuple[Workload, ...] = (
    *attention.WORKLOADS,
    *black_litterman.WORKLOADS,
    *bundle.WORKLOADS,
    *cox.WORKLOADS,
    *elements.WORKLOADS,
    *harmonics.WORKLOADS,
    *hidden_markov.WORKLOADS,
    *ising.WORKLOADS,
    *kalman.WORKLOADS,
    *lotka_volterra.WORKLOADS,
    *mixture_regression.WORKLOADS,
    *optical_flow.WORKLOADS,
    *ornstein.WORKLOADS,
    *phylogeny.WORKLOADS,
    *radial.WORKLOADS,
    *registration.WORKLOADS,
    *spheres.WORKLOADS,
    *svar.WORKLOADS,
    *tomography.WORKLOADS,
    *torsions.WORKLOADS,
)
