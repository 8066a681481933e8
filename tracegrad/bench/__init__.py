"""Benchmarks: derivatives of the functions that people differentiate, timed and checked.

Each workload is one short module. A contestant (eager, jit, another library, loops written by hand)
runs in a process of its own with the same number of threads, and every entry of every result is
checked against a derivative written by hand. `python -m tracegrad bench --help` says how to run
them.
"""

from __future__ import annotations

from .workload import Workload, disagreement
from .workloads import (
    black_scholes,
    dispatch,
    gmm,
    kmeans,
    lennard_jones,
    llsq,
    logistic,
    lorenz,
    lse,
    lstm,
    mlp,
    newton,
    ode,
    rosenbrock,
    training,
)

WORKLOADS: tuple[Workload, ...] = (
    *dispatch.WORKLOADS,
    *rosenbrock.WORKLOADS,
    *black_scholes.WORKLOADS,
    *lse.WORKLOADS,
    *llsq.WORKLOADS,
    *gmm.WORKLOADS,
    *kmeans.WORKLOADS,
    *logistic.WORKLOADS,
    *lennard_jones.WORKLOADS,
    *mlp.WORKLOADS,
    *training.WORKLOADS,
    *lorenz.WORKLOADS,
    *lstm.WORKLOADS,
    *newton.WORKLOADS,
    *ode.WORKLOADS,
)
SIZES = ("small", "default", "large")


def find(key: str) -> Workload:
    """The workload with this key."""
    return next(w for w in WORKLOADS if w.key == key)


__all__ = ["SIZES", "WORKLOADS", "Workload", "disagreement", "find"]
