"""One rank drives: a program, which `test_scale_clusters.py` runs."""

from __future__ import annotations

import time

import numpy as np
from mpi4py import MPI

import tracegrad as tg
from tests.shard_functions import bits, logistic, raised, rows

theta = np.array([0.3, -0.2, 0.5])
shards = rows()
expected = bits(tg.scale.sum_over(logistic, shards))


comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()


weight = np.ones(1)


def waves(t, s):
    return np.sum(np.sin(t)) * s[0] * weight[0]


def failing():
    raise OSError("no such table")


def slow():
    time.sleep(0.6)
    return shards[0]


for root in (0, size - 1):
    with tg.scale.mpi_driver(comm, root) as client:
        assert (client is not None) == (rank == root)
        if client is not None:
            weight[0] = 1.0
            total = tg.scale.sum_over(logistic, shards, client=client)
            assert bits(total) == expected
            assert len(tg.scale.report()[-1].workers) == min(size, len(shards))
            n = 200_000
            large = tg.scale.sum_over(waves, [np.ones(1)] * size, client=client)
            t = np.ones(n)
            np.testing.assert_allclose(tg.grad(large)(t), size * np.cos(t), rtol=1e-13)
            weight[0] = 2.0
            np.testing.assert_allclose(tg.grad(large)(t), 2 * size * np.cos(t), rtol=1e-13)
            raised(
                tg.scale.ShardError,
                lambda: tg.scale.sum_over(logistic, [shards[0], failing, failing], client=client)(
                    theta
                ),
                "shard 1",
                "no such table",
            )
            late = tg.scale.sum_over(logistic, [slow] * size, client=client, limit=0.3, keep=0)
            for k in range(2):
                try:
                    late(theta * k)
                except tg.scale.EvaluationTimeoutError:
                    assert size > 1
                else:
                    assert size == 1
            assert bits(total) == expected
            problems = [np.full(k % 3 + 1, k * 1.0) for k in range(9)]
            found = tg.scale.map_over(lambda p: np.sum(p * p), problems, client=client, batch=2)
            assert found == [np.sum(p * p) for p in problems]
if rank == size - 1:
    raised(ValueError, lambda: total(theta), "have been let go")
print(f"well {rank}\n", end="", flush=True)
