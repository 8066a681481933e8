"""A logistic regression over shards, by tracegrad's engines, by hand with NumPy on a Dask cluster
and on one core, with JAX and with dask-glm: value and gradient, medians of rounds that take turns.

    python -m tracegrad.bench.sharded_peers [--rows N] [--peer-python PYTHON]

Needs Dask; JAX and dask-glm are measured by another interpreter, of an environment that has them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._codegen import loading
from ..derivatives.reverse import value_and_grad
from ..scale import close, sum_over
from .sharded import negative_log_likelihood

COLUMNS, SHARDS, ROUNDS = 10, 8, 40
DATA = """
import json, sys, time, numpy as np
rows, shards, columns = (int(x) for x in sys.argv[1:])
rng = np.random.default_rng(0)
data = []
for _ in range(shards):
    part = rng.normal(size=(rows // shards, columns + 1))
    part[:, -1] = part[:, -1] > 0.3
    data.append(part)
theta = np.linspace(-1.0, 1.0, columns)
"""
ROUNDS_OF_PEER = """
for _ in range(3):
    value, gradient = way()
print(json.dumps([float(value), *map(float, gradient)]), flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    value, gradient = way()
    float(value), np.asarray(gradient)
    print(json.dumps(time.perf_counter() - start), flush=True)
"""
JAX = """
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
data = [jnp.asarray(x) for x in data]
def one(t, s):
    z = s[:, :-1] @ t
    return jnp.sum(jnp.logaddexp(0.0, z) - s[:, -1] * z)
f = jax.jit(jax.value_and_grad(lambda t: sum(one(t, s) for s in data)))
way = lambda: f(theta)
"""
DASK_GLM = """
import dask, dask.array as da
from dask_glm.families import Logistic
from distributed import Client, LocalCluster, wait
def main():
    global way
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    x = da.concatenate([da.from_array(s[:, :-1], chunks=-1) for s in data])
    y = da.concatenate([da.from_array(s[:, -1], chunks=-1) for s in data])
    x, y = client.persist([x, y])
    wait([x, y])
    # What its algorithms ask for in each step.
    way = lambda: dask.compute(
        Logistic.pointwise_loss(theta, x, y), Logistic.pointwise_gradient(theta, x, y)
    )
if __name__ == "__main__":
    main()
"""
PEERS = {"JAX": JAX, "dask-glm, two processes": DASK_GLM}


class Peer:
    """Another interpreter, which measures one round for each line that it is given."""

    def __init__(self, python: str, text: str, rows: int) -> None:
        whole = DATA + text + ROUNDS_OF_PEER
        self.process = subprocess.Popen(
            [python, "-W", "ignore", "-c", whole, str(rows), str(SHARDS), str(COLUMNS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.first = self._read()

    def _read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def seconds(self) -> float:
        """Those of one round."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self._read())

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def by_numpy(theta: Any, rows: Any) -> tuple[Any, Any]:
    """What one writes by hand."""
    x, y = rows[:, :-1], rows[:, -1]
    z = x @ theta
    p = 1.0 / (1.0 + np.exp(-z))
    return np.sum(np.logaddexp(0.0, z) - y * z), x.T @ (p - y)


def data(rows: int) -> list[Any]:
    """The shards."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(SHARDS):
        part = rng.normal(size=(rows // SHARDS, COLUMNS + 1))
        part[:, -1] = part[:, -1] > 0.3
        found.append(part)
    return found


def _nothing(k: int) -> int:
    return k


def measured(rows: int, peer_python: str | None) -> dict[str, float]:
    """Median seconds by name."""
    distributed: Any = loading.imported("distributed")
    shards = data(rows)
    theta = np.linspace(-1.0, 1.0, COLUMNS)
    ways: dict[str, Callable[[], Any]] = {}
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        for backend in ("serial", "threads", "processes"):
            total = sum_over(negative_log_likelihood, shards, backend=backend, workers=2)
            ways[f"sum_over, {backend}"] = partial(value_and_grad(total), theta)
        total = sum_over(negative_log_likelihood, shards, client=client)
        ways["sum_over, Dask"] = partial(value_and_grad(total), theta)
        held = client.scatter(shards)
        distributed.wait(held)

        def by_hand() -> Any:
            found = client.gather([client.submit(by_numpy, theta, s, pure=False) for s in held])
            return sum(v for v, _ in found), sum(g for _, g in found)

        ways["by hand, NumPy on Dask"] = by_hand
        ways["by hand, NumPy"] = lambda: tuple(
            sum(x) for x in zip(*[by_numpy(theta, s) for s in shards], strict=True)
        )
        addresses = sorted(client.scheduler_info(n_workers=-1)["workers"])
        ways["Dask's round trip of two tasks"] = lambda: client.gather(
            [client.submit(_nothing, k, pure=False, workers=[a]) for k, a in enumerate(addresses)]
        )
        expected = by_hand()
        for name, way in ways.items():
            for _ in range(3):
                found = way()
            if "round trip" not in name:
                np.testing.assert_allclose(found[0], expected[0], rtol=1e-11)
                np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)
        peers = {}
        for name, text in PEERS.items() if peer_python else ():
            peers[name] = Peer(str(peer_python), text, rows)
            np.testing.assert_allclose(peers[name].first, [expected[0], *expected[1]], rtol=1e-9)
        times: dict[str, list[float]] = {name: [] for name in (*ways, *peers)}
        for _ in range(ROUNDS):
            for name, way in ways.items():
                start = time.perf_counter()
                way()
                times[name].append(time.perf_counter() - start)
            for name, peer in peers.items():
                times[name].append(peer.seconds())
        for peer in peers.values():
            peer.close()
    close()
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m tracegrad.bench.sharded_peers")
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--peer-python", default=None)
    given = parser.parse_args()
    found = measured(given.rows, given.peer_python)
    print(f"| {given.rows:,} rows, {COLUMNS} columns, {SHARDS} shards | value and gradient |")
    print("|---|---|")
    for name, seconds in sorted(found.items(), key=lambda x: x[1]):
        print(f"| {name} | {1e3 * seconds:.3g} ms |", flush=True)


if __name__ == "__main__":
    main()
