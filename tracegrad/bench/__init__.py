"""Benchmarks: derivatives of the functions that people differentiate, timed and checked.

Each workload is one short module. A contestant (eager, jit, another library, loops written by hand)
runs in a process of its own with the same number of threads, and every entry of every result is
checked against a derivative written by hand. `python -m tracegrad bench --help` says how to run
them.
"""

from __future__ import annotations

from . import wide
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
SUITES = {"public": WORKLOADS, "wide": wide.WORKLOADS}
"""The suites by the names that `--suite` takes: the functions that libraries are compared by, and
those of other fields."""
SIZES = ("small", "default", "large")


def find(key: str) -> Workload:
    """The workload with this key."""
    return next(w for suite in SUITES.values() for w in suite if w.key == key)


__all__ = ["SIZES", "SUITES", "WORKLOADS", "Workload", "disagreement", "find"]
