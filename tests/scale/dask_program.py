"""Sums over shards on Dask clusters: a program, which `test_scale_clusters.py` runs."""

from __future__ import annotations

import os
import sys
import time

import numpy as np

import tracegrad as tg
from tests.shard_functions import bits, logistic, raised, rows

theta = np.array([0.3, -0.2, 0.5])
shards = rows()
expected = bits(tg.scale.sum_over(logistic, shards))


def squares(t, s):
    return np.sum((s[0] @ t - s[1]) ** 2)


def waves(t, s):
    return np.sum(np.sin(t)) * s[0]


def of_table(t, s):
    return squares(t, (s["x"], s["y"]))


def failing():
    raise OSError("no such table")


def main(client):
    total = tg.scale.sum_over(logistic, shards, client=client)
    assert bits(total) == expected
    assert len(tg.scale.report()[-1].workers) == 2
    # Parameters that are scattered.
    n = 200_000
    large = tg.scale.sum_over(waves, [np.ones(1)] * 3, client=client)
    np.testing.assert_allclose(tg.grad(large)(np.ones(n)), 3 * np.cos(np.ones(n)), rtol=1e-14)
    # Blocks of arrays, on the cluster and elsewhere; delayed objects.
    x, y = np.random.default_rng(0).normal(size=(20, 3)), np.ones(20)
    blocks = da.from_array(x, chunks=(6, 3)), da.from_array(y, chunks=6)
    g = tg.grad(lambda t: squares(t, (x, y)))(theta)
    held = tuple(client.persist(b) for b in blocks)
    for given, on in ((blocks, client), (held, client), (blocks, None)):
        found = tg.scale.sum_over(squares, given, client=on)
        np.testing.assert_allclose(tg.grad(found)(theta), g, rtol=1e-12)
    uneven = blocks[0], da.ones(20, chunks=3)
    raised(ValueError, lambda: tg.scale.sum_over(squares, uneven), "rechunk")
    delayed = [dask.delayed(np.ones)(k) for k in (2, 3)]
    assert tg.scale.sum_over(lambda t, s: np.sum(s) * t, delayed, client=client)(2.0) == 10.0
    # Futures: what the cluster has computed already.
    futures = client.scatter([s["x"] for s in shards[:3]])
    summed = tg.scale.sum_over(lambda t, x: np.sum(x @ t), futures, client=client)
    np.testing.assert_allclose(summed(theta), sum(np.sum(s["x"] @ theta) for s in shards[:3]))
    bad = tg.scale.sum_over(logistic, [shards[0], failing], client=client)
    raised(tg.scale.ShardError, lambda: bad(theta), "shard 1", "no such table")
    # Another version of what driver and worker must have alike.
    odd = tg.scale.sum_over(logistic, shards, client=client)
    session = odd._session
    others = (*session.setup.versions[:-1], ("tracegrad", "0"))
    session.setup = session.setup._replace(versions=others)
    raised(tg.scale.ShardError, lambda: odd(theta), "the driver has 0")
    # xarray, in chunks, of a file where zarr is there.
    try:
        import xarray
    except ImportError:
        print("no xarray")
    else:
        table = xarray.Dataset({"x": (("r", "c"), x), "y": ("r", y)}).chunk({"r": 7})
        np.testing.assert_allclose(
            tg.grad(tg.scale.sum_over(of_table, table, client=client))(theta), g
        )
    # A worker is killed: its shards are computed again.
    for k in range(KILLS):
        pids = sorted(client.run(os.getpid).values())
        if pids:
            os.kill(pids[k % len(pids)], 9)
        time.sleep(0.01 * (k % 7))
        assert bits(total) == expected
    # And when it has its answer, which the driver has not.
    pids, gathered = list(client.run(os.getpid).values()), client.gather

    def killed_when_done(futures, **how):
        client.gather = gathered
        wait(futures)
        for pid in pids:
            os.kill(pid, 9)
        return gathered(futures, **how)

    client.gather = killed_when_done
    assert bits(total) == expected
    assert client.gather is gathered


def without_memory():
    """What the system does to a process that takes too much."""
    os.kill(os.getpid(), 9)


def hungry():
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    return np.ones(1 << 30)


if __name__ == "__main__":
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    KILLS, COUNTS = int(sys.argv[1]), [int(n) for n in sys.argv[2].split(",")]
    # A LocalCluster lets workers go that take longer than that to start again.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"})
    dask.config.set({"distributed.scheduler.allowed-failures": 1})
    options = {"threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(n_workers=2, **options) as cluster, Client(cluster) as client:
        main(client)
        # Workers that have no memory: an error where it says so, and where it is ended.
        call = tg.scale.sum_over(logistic, [hungry], client=client)
        raised(tg.scale.ShardError, lambda: call(theta), "shard 0", "MemoryError")
        call = tg.scale.sum_over(logistic, [shards[0], without_memory], client=client, limit=60.0)
        raised(tg.scale.WorkerLostError, lambda: call(theta), "out of memory")
        # None is left: the limit holds, and it says so.
        client.wait_for_workers(2)
        call = tg.scale.sum_over(logistic, shards, client=client, limit=3.0)
        cluster.scale(0)
        while client.scheduler_info(n_workers=-1)["workers"]:
            time.sleep(0.05)
        time.sleep(1.0)  # the number of workers is asked for once a second
        raised(tg.scale.EvaluationTimeoutError, lambda: call(theta), "has had no worker")
        cluster.scale(2)
        client.wait_for_workers(2)
        assert bits(tg.scale.sum_over(logistic, shards, client=client)) == expected
        # A client that is closed.
        total = tg.scale.sum_over(logistic, shards, client=client, limit=60.0)
        started = time.monotonic()
        client.close()
        raised(tg.scale.WorkerLostError, lambda: total(theta), "lost")
        assert time.monotonic() - started < 30.0
    for n in (1, 2, 3, 7):
        kind = {"processes": n in COUNTS, "n_workers": n}
        with LocalCluster(**kind, **options) as cluster, Client(cluster) as client:
            assert bits(tg.scale.sum_over(logistic, shards, client=client)) == expected, n
            assert len(tg.scale.report()[-1].workers) == n
    print("well", flush=True)
