"""Logistic regression over files on a cluster
===========================================

Logistic regression over a table that lies in Parquet files, each read by the worker of a Dask
cluster that has it, fitted by SciPy.

The cluster here is one of two processes on this machine; a `Client` of any other is used the same
way. A step of the optimizer sends four parameters to each worker, and a number and a gradient come
back. Needs `pip install 'tracegrad[scale]'`.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import tracegrad as tg

ROWS, FILES = 4000, 6
TRUE = np.array([-0.5, 1.0, -2.0, 0.3])


def negative_log_likelihood(w, table):
    X = np.stack([np.ones_like(table["a"]), table["a"], table["b"], table["c"]], axis=1)
    z = X @ w
    return np.sum(np.logaddexp(0.0, z) - table["won"] * z)


def write_files(folder):
    """Parquet files of uneven sizes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    paths = []
    for k in range(FILES):
        n = ROWS // FILES + 50 * k
        x = rng.normal(size=(n, 3))
        p = 1.0 / (1.0 + np.exp(-(TRUE[0] + x @ TRUE[1:])))
        won = (rng.uniform(size=n) < p).astype(float)
        paths.append(Path(folder) / f"part-{k}.parquet")
        pq.write_table(pa.table({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "won": won}), paths[-1])
    return paths


def main():
    from distributed import Client, LocalCluster

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        total = tg.scale.sum_over(negative_log_likelihood, write_files(folder), client=client)
        fit = minimize(tg.value_and_grad(total), np.zeros(4), jac=True, method="BFGS")
        errors = np.sqrt(np.diag(np.linalg.inv(tg.hessian(total)(fit.x))))
        for name, value, error, true in zip("1abc", fit.x, errors, TRUE, strict=True):
            print(f"{name}: {value:+.3f} +- {error:.3f}   (true {true:+.1f})")
        print(tg.scale.report()[-1])
        assert np.all(np.abs(fit.x - TRUE) < 5.0 * errors)


if __name__ == "__main__":
    missing = [m for m in ("distributed", "pyarrow") if importlib.util.find_spec(m) is None]
    if missing:
        sys.exit(print(f"skipped: {', '.join(missing)} not installed"))
    main()
