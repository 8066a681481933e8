"""All ranks call: a program, which `test_scale_clusters.py` runs."""

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
assert bits(tg.scale.sum_over(logistic, shards, client=comm)) == expected
assert bits(tg.scale.sum_over(logistic, shards, client=comm, limit=60.0)) == expected


def failing():
    raise OSError("no such table")


# Every rank raises, also those whose shards are well.
raised(
    tg.scale.ShardError,
    lambda: tg.scale.sum_over(logistic, [shards[0], shards[1], failing], client=comm)(theta),
    "shard 2",
    "no such table",
)
# Ranks that do not agree are told so: about the parameters, and about the sum.
one, other = (tg.scale.sum_over(logistic, shards, client=comm) for _ in range(2))
one(theta), other(theta)
rank, size = comm.Get_rank(), comm.Get_size()
for call in (lambda: one(theta * (1 + rank)), lambda: (one if rank else other)(theta)):
    if size == 1:
        continue
    raised(tg.scale.ShardError, call, "every rank")


# After one that took too long no answer of it is taken for one to the next.
def slow():
    time.sleep(1.0 if rank == size - 1 else 0.0)
    return shards[0]


late = tg.scale.sum_over(logistic, [slow] * size, client=comm, limit=0.4)
for k in range(3):
    try:
        late(theta * k)
    except tg.scale.EvaluationTimeoutError:
        pass
    else:
        assert k
comm.Barrier()
assert bits(tg.scale.sum_over(logistic, shards, client=comm, limit=60.0)) == expected
print(f"well {rank}\n", end="", flush=True)
